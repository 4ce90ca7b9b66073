# Commands on a terminal: tmux is the terminal, and its screen is looked at.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# A terminal of 24 rows and 80 columns, with a shell command in it.
tm()
{
	TMUX='' tmux -S "$PWD/tmux" -f /dev/null "$@"
}

screen_new()
{
	cat >"$1.sh"
	tm new-session -d -s "$1" -x 80 -y 24 "exec sh '$PWD/$1.sh'" ||
	    atf_fail "no tmux"
}

screen()
{
	tm capture-pane -p -t "=$1:"
}

type_in()
{
	local s

	s=$1
	shift
	# A name alone could be a window's first: that is called as its program.
	tm send-keys -t "=$s:" "$@"
}

shows()
{
	local left

	left=$(($(date +%s) + 60 * SLOW))
	until screen "$1" | grep -q -e "$2"; do
		[ "$(date +%s)" -lt "$left" ] && sleep 0.05 && continue
		screen "$1" >&2
		atf_fail "screen $1 has no $2"
	done
}

# To a shell whose prompt is at>.  Its line editor asks the terminal where the
# cursor is, and may lose keys that come together with the answer.
enter()
{
	local left n

	left=$(($(date +%s) + 60 * SLOW))
	while [ "$(date +%s)" -lt "$left" ]; do
		type_in "$1" C-u
		type_in "$1" -l "$2"
		for n in 1 2 3 4 5 6 7 8 9; do
			if screen "$1" | grep -qF -e "at> $2"; then
				type_in "$1" Enter
				return 0
			fi
			sleep 0.1
		done
	done
	screen "$1" >&2
	atf_fail "the shell of $1 does not take: $2"
}

screens_end()
{
	tm kill-server 2>/dev/null
	return 0
}

# What the command leaves of the terminal is to be what it found.
in_terminal()
{
	screen_new "$1" <<-EOF
	stty -g >before.$1
	"$CTL" $2
	echo "status \$?"
	stty -g >after.$1
	exec cat
	EOF
}

ended()
{
	shows "$1" "status $2"
	await "[ -s after.$1 ]" 60
	atf_check -o file:"before.$1" cat "after.$1"
}

atf_test_case programs cleanup
programs_head()
{
	atf_set descr 'a shell, another size, job control, vi, less; and its end'
	atf_set timeout 600
}
programs_body()
{
	world
	box
	in_terminal a "shell -e 'PS1=at> ' $BOX"
	shows a '^at>'
	enter a 'stty size; echo $TERM'
	shows a '^24 80'
	tm resize-window -t =a: -x 100 -y 30
	enter a 'until [ "$(stty size)" = "30 100" ]; do :; done; echo big$((1))'
	shows a '^big1'
	enter a 'sh -c "echo run\$((1 + 1)); exec sleep 1000"'
	shows a '^run2'
	type_in a C-z
	shows a 'Stopped'
	atf_check -o ignore "$CTL" exec "$BOX" pidof sleep
	enter a fg
	await 'type_in a C-c; ! "$CTL" exec "$BOX" pidof sleep >running' 60
	enter a 'echo back $?'
	shows a '^back 130'
	enter a 'vi text'
	shows a '^~'
	type_in a 'ione line' Enter 'and another' Escape
	shows a '^and another'
	type_in a ':wq' Enter
	await '"$CTL" exec "$BOX" test -s text' 60
	atf_check -o inline:'one line\nand another\n' "$CTL" exec "$BOX" \
	    cat text
	enter a 'seq 1000 | sed s/^/line/ >long; less long'
	shows a '^line29'
	type_in a '/line500' Enter
	shows a '^line500'
	type_in a q
	enter a 'exit 3'
	ended a 3
	daemon_stop
}
programs_cleanup()
{
	screens_end
	daemon_cleanup
}

atf_test_case detach cleanup
detach_head()
{
	atf_set descr 'left by keys, watched, and come back to what was missed'
	atf_set timeout 600
}
detach_body()
{
	world "timeouts { reattach 1s }"
	box
	cat >talk <<-'EOF'
	echo first
	until [ -e go ]; do sleep 0.1; done
	echo second
	while read -r x; do echo "got <$x>"; done
	echo over
	exit 4
	EOF
	"$CTL" exec "$BOX" sh -c 'cat >talk' <talk
	in_terminal a "exec -it $BOX sh talk"
	shows a '^first'
	name=$("$CTL" ps "$BOX" | awk '/talk/ { print $1 }')
	# The first key alone is for the command.
	type_in a C-p x C-p C-q
	ended a 0
	shows a "attach $name"
	atf_check "$CTL" exec "$BOX" touch go
	await '"$CTL" logs "$name" | grep -q second' 60
	# It is not ended for the lack of a client.
	sleep 2
	in_terminal b "attach $name"
	shows b 'second'
	screen b | grep -q first && atf_fail "shown again: $(screen b)"
	in_terminal c "attach -r -n 0 $name"
	in_terminal d "logs -f $name"
	type_in b C-u 'to all' Enter
	for s in b c d; do
		shows "$s" '^got <to all>'
	done
	screen c | grep -q first || atf_fail "$(screen c)"
	type_in c C-c
	await '! tm has-session -t =c 2>/dev/null' 60
	type_in b C-d
	ended b 4
	ended d 0
	atf_check -o match:detach "$CTL" events -t exec.detach "$BOX"
	# Nobody on it from the start, and no keys to leave by.
	atf_check -o save:name "$CTL" exec -d -it "$BOX" sh -c 'read x; exit 5'
	in_terminal e "attach -K none $(cat name)"
	type_in e C-p C-q Enter
	ended e 5
	daemon_stop
}
detach_cleanup()
{
	screens_end
	daemon_cleanup
}

atf_test_case killed cleanup
killed_head()
{
	atf_set descr 'sandboxctl is stopped, ended and killed'
	atf_set timeout 600
}
killed_body()
{
	world "timeouts { reattach 1s }"
	box
	runner=$(daemon_child runner)
	fds=$(ls "/proc/$runner/fd" | wc -l)
	in_terminal a "exec -it $BOX sh -c 'echo ready; exec sleep 7001'"
	shows a '^ready'
	await 'host_pids "[e]xec -it $BOX .*7001" >pid && [ -s pid ]' 60
	kill -TERM $(cat pid)
	ended a 143
	in_terminal b "exec -it $BOX sh -c 'echo ready; exec sleep 7002'"
	shows b '^ready'
	await 'host_pids "sandboxctl .*[e]xec -it $BOX .*7002" >pid &&
	    [ -s pid ]' 60
	kill -KILL $(cat pid)
	shows b 'status 137'
	await '! "$CTL" ps "$BOX" | grep -q running' 60
	atf_check -o match:cancelled "$CTL" ps -a "$BOX"
	await '[ "$(ls "/proc/$runner/fd" | wc -l)" -le "$fds" ]' 60
	daemon_stop
}
killed_cleanup()
{
	screens_end
	daemon_cleanup
}

# as_found s: its terminal is as it was before; raw s: it is not
as_found()
{
	stty -g <"$(tm display -p -t "=$1:" '#{pane_tty}')" |
	    cmp -s - "before.$1"
}

raw()
{
	! as_found "$1"
}

# The state of process $1 is $2, as ps(1) has it.
process_is()
{
	grep -q "^State:[^A-Za-z]*$2" "/proc/$1/status"
}

atf_test_case stopped cleanup
stopped_head()
{
	atf_set descr 'TSTP gives the terminal back, CONT takes it again'
	atf_set timeout 600
}
stopped_body()
{
	world
	box
	cat >talk <<-'EOF'
	trap 'stty size' WINCH
	echo ready
	until [ "$x" = over ]; do read -r x && echo "<$x>"; done
	exit 7
	EOF
	"$CTL" exec "$BOX" sh -c 'cat >talk' <talk
	in_terminal a "exec -it $BOX sh talk"
	shows a '^ready'
	await 'host_pids "sandboxctl .*[e]xec -it $BOX sh talk" >pid &&
	    [ -s pid ]' 60
	pid=$(cat pid)
	rows=30
	# One that asks first, and one that is stopped as it stands.
	for signal in TSTP STOP; do
		raw a || atf_fail "$signal: the terminal is not raw"
		kill -$signal "$pid"
		await 'process_is "$pid" T' 60
		[ $signal = STOP ] || as_found a ||
		    atf_fail "$signal: $(stty -a <"$(tm display -p -t =a: \
		    '#{pane_tty}')")"
		# Somebody else has the terminal meanwhile, and changes it.
		stty sane <"$(tm display -p -t =a: '#{pane_tty}')"
		tm resize-window -t =a: -x 90 -y $rows
		kill -CONT "$pid"
		await 'raw a' 60
		shows a "^$rows 90"
		type_in a "after $signal" Enter
		shows a "^<after $signal>"
		rows=$((rows + 1))
	done
	type_in a over Enter
	ended a 7
	# From a shell that has jobs: it is stopped, and comes to the front.
	screen_new b <<-EOF
	stty -g >before.b
	ENV= PS1='host> ' exec sh -i
	EOF
	shows b '^host>'
	type_in b "'$CTL' exec -it $BOX sh talk" Enter
	shows b '^ready'
	await 'host_pids "sandboxctl .*[e]xec -it $BOX sh talk" >pid &&
	    [ -s pid ]' 60
	kill -TSTP $(cat pid)
	shows b 'Stopped'
	type_in b 'echo mine$((1 + 1))' Enter
	shows b '^mine2'
	# In the background it takes nothing from who is in front.
	kill -CONT $(cat pid)
	type_in b 'echo still$((1 + 1))' Enter
	shows b '^still2'
	type_in b fg Enter
	await 'type_in b here Enter; screen b | grep -q "^<here>"' 60
	type_in b over Enter
	await 'type_in b "echo status \$?" Enter; screen b |
	    grep -q "^status [70]"' 60
	daemon_stop
}
stopped_cleanup()
{
	screens_end
	daemon_cleanup
}

# highest pid: the most memory that it has had, in KiB
highest()
{
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"
}

atf_test_case flood cleanup
flood_head()
{
	atf_set descr 'output without an end to a terminal that nobody reads'
	atf_set timeout 600
}
flood_body()
{
	world "limits { log 4M per exec }"
	box
	in_terminal a "exec -it $BOX sh -c 'echo calm; read x; echo back'"
	shows a '^calm'
	runner=$(daemon_child runner)
	had=$(highest "$runner")
	# The other end of its terminal is held, and never read.
	python3 - "$CTL" exec -it "$BOX" yes "$(printf %0200d 0)" <<-'EOF' &
	import os, pty, signal, sys
	pid, fd = pty.fork()
	if pid == 0:
	    os.execv(sys.argv[1], sys.argv[1:])
	with open("flooded", "w") as f:
	    f.write(str(pid))
	os.waitpid(pid, 0)
	EOF
	holder=$!
	await '[ -s flooded ]' 60
	pid=$(cat flooded)
	await '"$CTL" ps "$BOX" | grep -q "yes.*running\|running.*yes"' 60
	name=$("$CTL" ps "$BOX" | awk '/yes/ { print $1 }')
	# It has met its bound: so much is kept for who would read it.
	await '[ "$("$CTL" logs "$name" | wc -c)" -ge 100000 ]' 60
	i=0
	while [ $i -lt 5 ]; do
		i=$((i + 1))
		atf_check -o inline:'ok\n' timeout 60 "$CTL" exec "$BOX" echo ok
	done
	type_in a Enter
	shows a '^back'
	ended a 0
	used=$(highest "$pid")
	[ "$used" -lt 20000 ] || atf_fail "sandboxctl has $used KiB"
	used=$(highest "$runner")
	[ "$used" -lt $((had + 20000)) ] ||
	    atf_fail "the runner has $used KiB, and had $had"
	# One signal is passed on; a second one would be for itself.
	kill -TERM "$pid"
	await '! "$CTL" ps "$BOX" | grep -q running' 60
	kill -KILL "$pid" 2>/dev/null
	wait $holder 2>/dev/null
	daemon_stop
}
flood_cleanup()
{
	[ ! -s flooded ] || kill -KILL $(cat flooded) 2>/dev/null
	screens_end
	daemon_cleanup
}

atf_test_case restart cleanup
restart_head()
{
	atf_set descr 'runner and daemon die under a terminal, which goes on'
	atf_set timeout 600
}
restart_body()
{
	world
	box
	in_terminal a "exec -it $BOX sh -c 'while read -r x; do echo \"<\$x>\"
	    done; stty size'"
	type_in a one Enter
	shows a '^<one>'
	kill -KILL "$(daemon_child runner)"
	await 'type_in a two Enter; screen a | grep -q "^<two>"' 90
	daemon_kill
	shows a 'the daemon is away'
	# The terminal is as it was while nobody hears its keys.
	await 'tm display -p -t =a: "#{pane_tty}" >tty && stty -g <$(cat tty) |
	    cmp -s - before.a' 60
	daemon_run
	await 'type_in a three Enter; screen a | grep -q "^<three>"' 90
	type_in a C-d
	ended a 0
	daemon_stop
}
restart_cleanup()
{
	screens_end
	daemon_cleanup
}

# Lines that tell their place, as the command below writes them.
numbered()
{
	awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%015d\n", i }'
}

size_of()
{
	wc -c <"$1"
}

# victim_dies name: it is killed, and the sandbox can be reached again
victim_dies()
{
	if [ "$1" = daemon ]; then
		daemon_kill
		daemon_start
	else
		kill -KILL "$(daemon_child runner)"
	fi
	await '"$CTL" exec "$BOX" true >/dev/null 2>&1' 90
}

runner_fds()
{
	ls "/proc/$(daemon_child runner)/fd" | wc -l
}

# Once while nobody is at the terminal and once while somebody is: what was
# shown to the two, one after the other, is what the command has written.
lines_go_on()
{
	world
	box
	victim_dies "$1"
	fds=$(runner_fds)
	cat >talk <<-'EOF'
	stty -opost
	n=0
	until [ -e over ]; do
		i=0
		while [ $i -lt 50 ]; do
			printf '%015d\n' $n
			n=$((n + 1))
			i=$((i + 1))
		done
		usleep 10000
	done
	exit 7
	EOF
	"$CTL" exec "$BOX" sh -c 'cat >talk' <talk
	in_terminal a "exec -it $BOX sh talk >a.out"
	await '[ -s a.out ] && [ "$(size_of a.out)" -ge 5000 ]'
	raw a || atf_fail "the terminal is not raw"
	name=$("$CTL" ps "$BOX" | awk '/talk/ { print $1 }')
	type_in a C-p C-q
	ended a 0
	victim_dies "$1"
	"$CTL" logs "$name" >log || atf_fail "no log"
	had=$(size_of log)
	await '"$CTL" logs "$name" >log; [ "$(size_of log)" -gt "$had" ]'
	in_terminal b "attach $name >b.out"
	await '[ -s b.out ] && [ "$(size_of b.out)" -ge "$had" ]'
	raw b || atf_fail "the terminal is not raw again"
	victim_dies "$1"
	had=$(size_of b.out)
	await '[ "$(size_of b.out)" -gt $((had + 5000)) ]' 90
	atf_check "$CTL" exec "$BOX" touch over
	ended b 7
	cat a.out b.out >got
	numbered "$(wc -l <got)" >want
	cmp got want || atf_fail "other bytes, or not all of them"
	"$CTL" logs "$name" >log || atf_fail "no log in the end"
	cmp log want || atf_fail "other bytes in the log"
	await '[ "$(runner_fds)" -le "$fds" ]'
	daemon_stop
}

atf_test_case runner cleanup
runner_head()
{
	atf_set descr 'lines on a terminal, whose runner is killed: none is lost'
	atf_set timeout 600
}
runner_body()
{
	lines_go_on runner
}
runner_cleanup()
{
	screens_end
	daemon_cleanup
}

atf_test_case parent cleanup
parent_head()
{
	atf_set descr 'lines on a terminal, whose daemon is killed: none is lost'
	atf_set timeout 600
}
parent_body()
{
	lines_go_on daemon
}
parent_cleanup()
{
	screens_end
	daemon_cleanup
}

atf_test_case refused cleanup
refused_head()
{
	atf_set descr 'no terminal, and what is on none'
	atf_set timeout 300
}
refused_body()
{
	world
	box
	for c in "exec -it $BOX true" "exec -ti $BOX true" "shell $BOX"; do
		atf_check -s exit:125 -e match:"standard input is no terminal" \
		    "$CTL" $c </dev/null
	done
	atf_check -o save:name "$CTL" exec -d "$BOX" sh -c 'read x; sleep 7003'
	atf_check -o inline:'kept\n' sh -c "'$CTL' exec '$BOX' sh -c \
	    'test -t 0 || test -t 1 || echo kept'"
	atf_check -s exit:125 -e match:'no such exec' "$CTL" attach "$BOX.99" \
	    </dev/null
	atf_check -s exit:125 -e match:'invalid argument of -K' "$CTL" attach \
	    -K ctrl "$BOX.1"
	daemon_stop
}
refused_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case programs
	atf_add_test_case detach
	atf_add_test_case killed
	atf_add_test_case restart
	atf_add_test_case runner
	atf_add_test_case parent
	atf_add_test_case stopped
	atf_add_test_case flood
	atf_add_test_case refused
}
