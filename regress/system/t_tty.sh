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
	atf_add_test_case refused
}
