# Signals from outside.
#
#	what is done			what must come of it
#	-----------------------------	--------------------------------------
#	STOP, then CONT of each		requests wait and are answered; output
#	process in turn, with work	is complete; no process is replaced
#	under way
#	STOP, then CONT of a guest	the same; other sandboxes go on
#	300 HUPs, with work under way	no process is replaced, no descriptor
#					is lost, the last file is in force
#	HUP with a file that is wrong	the one in force is kept, with a line
#	the same while a set is		the new one has what the file said
#	started anew
#	HUP with a user taken away	his sandboxes go on; he may no more
#	TERM in the middle of creates	the next start has each of them once,
#					ready or failed; who waited is told
#	a second TERM at once		the same end
#	the same, with children that	the end comes at once
#	do not end
#	two starts at the same moment	one daemon, the other names its pid

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

children()
{
	cat "/proc/$(daemon_pid)/task/$(daemon_pid)/children"
}

# How many descriptors each has.  Of the broker's sockets some are connections
# to the Engine that are kept, which may be one more or less.
fds()
{
	for p in $(daemon_pid) $(children); do
		if [ "$p" = "$(daemon_child broker)" ]; then
			find "/proc/$p/fd" -type l ! -lname 'socket:*' | wc -l
			echo "$(($(find "/proc/$p/fd" -lname 'socket:*' |
			    wc -l) < 20))"
		else
			ls "/proc/$p/fd" | wc -l
		fi
	done
}

process()
{
	case $1 in
	parent)	daemon_pid ;;
	*)	daemon_child "$1" ;;
	esac
}

stopped()
{
	grep -q '^State:.*T' "/proc/$1/status"
}

asleep()
{
	[ "$(cat "/proc/$1/comm")" = sandboxctl ] &&
	    grep -q '^State:.*S' "/proc/$1/status"
}

# What others do without the one that is stopped.
beside()
{
	case $1 in
	broker)
		atf_check -o inline:"hi\n" timeout 60 "$CTL" exec "$BOX" echo hi
		atf_check -o match:"ready" timeout 60 "$CTL" list
		;;
	runner)
		atf_check -o match:"ready" timeout 60 "$CTL" list
		atf_check -o match:"sandbox.ready" timeout 60 "$CTL" \
		    events "$BOX"
		;;
	# It has asked, and waits.
	*)	await 'asleep "$client"' ;;
	esac
}

atf_test_case stop cleanup
stop_head()
{
	atf_set descr '(c08) each process is stopped for a while'
	atf_set timeout 600
}
stop_body()
{
	world
	box
	before=$(children)
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'until [ -e go ]; do echo tick; usleep 20000; done; exit 5'
	"$CTL" logs -f "$(cat exec)" >followed 2>&1 &
	follower=$!
	for r in parent frontend store broker runner; do
		p=$(process $r) || atf_fail "no $r"
		kill -STOP "$p"
		await 'stopped "$p"'
		"$CTL" exec "$BOX" sh -c "echo $r; exit 7" >out.$r 2>err.$r &
		client=$!
		beside $r
		kill -CONT "$p"
		s=0
		wait $client || s=$?
		[ "$s $(cat out.$r)" = "7 $r" ] || {
			_show_log
			atf_fail "$r: $s, $(cat out.$r err.$r)"
		}
	done
	touch "$(find "$STATE/work" -mindepth 1 -maxdepth 1)/go"
	atf_check -s exit:5 timeout 120 "$CTL" wait "$(cat exec)"
	wait $follower || atf_fail "the follower: $(tail -n 2 followed)"
	"$CTL" logs "$(cat exec)" >all || atf_fail "logs"
	cmp all followed || atf_fail "the follower has other output"
	! grep -qvx tick all || atf_fail "bad output"
	atf_check_equal "$before" "$(children)"
	atf_check -o match:"^events" "$CTL" log verify
	daemon_stop
}
stop_cleanup()
{
	daemon_cleanup
}

atf_test_case guest cleanup
guest_head()
{
	atf_set descr '(c29) a guest is stopped for a while'
	atf_set timeout 600
}
guest_body()
{
	world
	box -i still
	box -i other
	c=$(engine_docker ps -q --no-trunc --filter label=sandboxd.id=still \
	    --filter "label=sandboxd.instance=$(cat "$STATE/instance")")
	p=$(engine_docker inspect -f '{{.State.Pid}}' "$c")
	kill -STOP "$p" || atf_fail "no guest"
	await 'stopped "$p"'
	"$CTL" exec still sh -c 'echo late; exit 7' >out 2>err &
	client=$!
	atf_check -o inline:"hi\n" "$CTL" exec other echo hi
	atf_check -o match:"^still .*ready" "$CTL" list
	kill -CONT "$p"
	s=0
	wait $client || s=$?
	atf_check_equal "7 late" "$s $(cat out)"
	daemon_stop
}
guest_cleanup()
{
	daemon_cleanup
}

guest_pid()
{
	engine_docker inspect -f '{{.State.Pid}}' "$(engine_docker ps -q \
	    --no-trunc --filter "label=sandboxd.id=$1" --filter \
	    "label=sandboxd.instance=$(cat "$STATE/instance")")"
}

# A command of the sandbox that has begun: its client, CLIENT, and its output.
begun()
{
	"$CTL" exec "$1" sh -c 'echo out; sleep 100000' >"out.$1" 2>"err.$1" &
	CLIENT=$!
	await "[ -s out.$1 ]"
}

atf_test_case guest_ends cleanup
guest_ends_head()
{
	atf_set descr '(c29) a guest is killed, or is silent for good, mid-exec'
	atf_set timeout 600
}
guest_ends_body()
{
	world
	box -i dead
	box -i silent
	box -i other
	begun dead
	dead=$CLIENT
	begun silent
	silent=$CLIENT
	kill -STOP "$(guest_pid silent)" || atf_fail "no guest"
	kill -KILL "$(guest_pid dead)" || atf_fail "no guest"
	# It is told by what it waits for; nobody else waits.
	s=0
	wait $dead || s=$?
	[ $s -ne 0 ] && grep -Eq "(killed|unknown): " err.dead ||
	    atf_fail "$s, $(cat err.dead)"
	await '"$CTL" list | grep -q "^dead .*stopped"'
	atf_check -o match:"^dead .*stopped" -o match:"^silent .*ready" \
	    -o match:"^other .*ready" "$CTL" list
	atf_check -o inline:"hi\n" "$CTL" exec other echo hi
	atf_check -o match:running "$CTL" ps silent
	# Who does not answer is not waited for when it is to end.
	atf_check -o ignore timeout 120 "$CTL" stop -g 0.1 silent
	s=0
	wait $silent || s=$?
	[ $s -ne 0 ] || atf_fail "a command of a killed guest ends with 0"
	atf_check -o match:cancelled "$CTL" ps -a silent
	atf_check -o ignore "$CTL" resume dead silent
	for id in dead silent; do
		atf_check_equal out "$(cat out.$id)"
		atf_check -o inline:"hi\n" "$CTL" exec $id echo hi
	done
	atf_check -o ignore "$CTL" delete dead silent other
	nothing_left
	daemon_stop
}
guest_ends_cleanup()
{
	daemon_cleanup
}

atf_test_case hups cleanup
hups_head()
{
	atf_set descr '(b89) a storm of HUPs'
	atf_set timeout 600
}
hups_body()
{
	world "limits { sandboxes 4 }"
	box
	before=$(children)
	# Nothing but the daemon's own descriptors.
	await '"$CTL" status | grep -q "^clients  *1$"'
	fds >fds.before
	"$CTL" exec "$BOX" sh -c 'sleep 2; echo out; exit 7' >out 2>err &
	client=$!
	"$CTL" create -i during >during 2>&1 &
	create=$!
	i=0
	while [ $i -lt 300 ]; do
		kill -HUP "$(daemon_pid)"
		i=$((i + 1))
	done
	wait $create || atf_fail "create: $(cat during)"
	s=0
	wait $client || s=$?
	atf_check_equal "7 out" "$s $(cat out)"
	atf_check -o ignore "$CTL" delete during

	daemon_conf "limits { sandboxes four }"
	kill -HUP "$(daemon_pid)"
	await 'log_has "sandboxd.conf:5: "'
	atf_check -o ignore "$CTL" create -i second
	daemon_conf "limits { sandboxes 1 }"
	kill -HUP "$(daemon_pid)"
	await '! "$CTL" create >out 2>err || ! "$CTL" delete "$(cat out)" >out'
	atf_check -o match:"limit_exceeded" cat err
	atf_check_equal "$before" "$(children)"
	atf_check -o ignore "$CTL" delete second
	# Before, who had asked last may not have been forgotten yet.
	await 'fds >fds.after; paste fds.before fds.after |
	    awk "\$2 > \$1 { exit 1 }"'
	daemon_stop
}
hups_cleanup()
{
	daemon_cleanup
}

atf_test_case term cleanup
term_head()
{
	atf_set descr '(b89) TERM in the middle of creates'
	atf_set timeout 600
}
term_body()
{
	world
	# Two who wait, one who does not.
	"$CTL" create -i first >out.1 2>err.1 &
	one=$!
	"$CTL" create -i second >out.2 2>err.2 &
	two=$!
	await '"$CTL" list | grep -q "^first" && "$CTL" list | grep -q "^second"'
	atf_check -o ignore "$CTL" create -d -i third
	p=$(daemon_pid)
	kill -TERM "$p"
	kill -TERM "$p" 2>/dev/null
	await "_gone $p" 60
	atf_check_equal "" "$(_daemon_pids "$D")"
	daemon_start
	await '! "$CTL" list | grep -q pending' 120
	for n in 1 2; do
		[ $n -eq 1 ] && { p=$one; id=first; } || { p=$two; id=second; }
		wait "$p"
		s=$?
		if "$CTL" list | grep -q "^$id .*ready"; then
			[ $s -eq 0 ] || atf_fail "$id: $(cat err.$n)"
			atf_check -o inline:"hi\n" "$CTL" exec $id echo hi
		else
			[ $s -ne 0 ] || atf_fail "$id is not ready"
		fi
	done
	atf_check -o match:"^third .*(ready|failed)" "$CTL" list
	for id in first second third; do
		n=$(engine_docker ps -aq --filter "label=sandboxd.id=$id" \
		    --filter \
		    "label=sandboxd.instance=$(cat "$STATE/instance")" | wc -l)
		[ "$n" -le 1 ] || atf_fail "$id has $n containers"
	done
	atf_check -o ignore "$CTL" delete first second third
	nothing_left
	atf_check -o match:"^events" "$CTL" log verify
	daemon_stop
}
term_cleanup()
{
	daemon_cleanup
}

atf_test_case term_twice cleanup
term_twice_head()
{
	atf_set descr '(c45) a second TERM ends children that do not end'
	atf_set timeout 600
}
term_twice_body()
{
	world
	box
	p=$(daemon_pid)
	for r in store runner; do
		kill -STOP "$(daemon_child $r)" || atf_fail "no $r"
	done
	kill -TERM "$p"
	await 'log_has "stopping$"'
	kill -TERM "$p"
	await "_gone $p"
	log_has "stopping at once$" || atf_fail "it took its time"
	! log_has "does not end" || atf_fail "it took its time"
	atf_check_equal "" "$(_daemon_pids "$D")"
	[ ! -e "$SOCK" ] || atf_fail "the socket is left"
	daemon_start
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
term_twice_cleanup()
{
	daemon_cleanup
}

atf_test_case hup_restart cleanup
hup_restart_head()
{
	atf_set descr '(c44) HUP while the set is started anew'
	atf_set timeout 600
}
hup_restart_body()
{
	MANY="restart 1000 per 1s"
	world "limits { sandboxes 4 }
	    $MANY"
	box -i one
	for r in frontend store broker runner; do
		daemon_conf "limits { sandboxes 1 }
		    $MANY"
		p=$(daemon_child $r) || atf_fail "no $r"
		kill -KILL "$p"
		i=0
		while [ $i -lt 20 ]; do
			kill -HUP "$(daemon_pid)"
			i=$((i + 1))
		done
		await '_gone "$p"'
		await 'daemon_child $r >/dev/null && "$CTL" ping >out 2>&1'
		await 'daemon_engine_is_up'
		atf_check -s not-exit:0 -e match:limit_exceeded "$CTL" create
		atf_check -o inline:"hi\n" "$CTL" exec one echo hi
		daemon_conf "limits { sandboxes 4 }
		    $MANY"
		kill -HUP "$(daemon_pid)"
		await '"$CTL" create >out 2>err'
		atf_check -o ignore "$CTL" delete "$(cat out)"
	done
	atf_check -o ignore "$CTL" delete one
	nothing_left
	daemon_stop
}
hup_restart_cleanup()
{
	daemon_cleanup
}

atf_test_case hup_user cleanup
hup_user_head()
{
	atf_set descr '(c44) HUP with a user taken away, and another range'
	atf_set timeout 600
}
hup_user_body()
{
	new_uid
	world "allow user $NEW_UID all"
	box -i web
	as_user $NEW_UID "$CTL" list >out 2>&1 || atf_fail "list: $(cat out)"
	atf_check -o match:"^web" cat out
	# One who is connected, and one who comes.
	setpriv --reuid $NEW_UID --regid $NEW_UID --groups \
	    "$(getent group sandbox | cut -d: -f3)" "$CTL" events -f \
	    >follow 2>follow.err </dev/null &
	follower=$!
	await 'grep -q sandbox.ready follow'
	# What runs has its uid: all is kept as it was.
	daemon_conf "uid 2100000000 to 2100000999"
	kill -HUP "$(daemon_pid)"
	await 'log_has "uid: changes only with a restart"'
	as_user $NEW_UID "$CTL" list >out 2>&1 || atf_fail "list: $(cat out)"
	atf_check -o match:"^web" cat out
	daemon_conf
	kill -HUP "$(daemon_pid)"
	await '! as_user $NEW_UID "$CTL" list 2>&1 | grep -q "^web"'
	atf_check -o inline:"hi\n" "$CTL" exec web echo hi
	"$CTL" ping >out 2>&1 || atf_fail "ping"
	kill $follower 2>/dev/null
	wait $follower
	atf_check -o ignore "$CTL" delete web
	nothing_left
	daemon_stop
}
hup_user_cleanup()
{
	daemon_cleanup
}

atf_test_case two cleanup
two_head()
{
	atf_set descr '(c46) two daemons are started at the same moment'
	atf_set timeout 600
}
two_body()
{
	daemon_conf
	mkdir -p -m 711 "$STATE"
	for i in 1 2 3; do
		"$BIN/sandboxd" -d -f "$CONF" </dev/null >out.a 2>&1 &
		a=$!
		"$BIN/sandboxd" -d -f "$CONF" </dev/null >out.b 2>&1 &
		b=$!
		await "_gone $a || _gone $b"
		if _gone $a; then
			lost=$a won=$b out=out.a
		else
			lost=$b won=$a out=out.b
		fi
		echo "$won" >"$D/pid"
		s=0
		wait $lost || s=$?
		atf_check_equal 1 $s
		atf_check -o match:"already running, pid $won$" cat $out
		daemon_up
		daemon_stop
		s=0
		wait $won || s=$?
		atf_check_equal 0 $s
	done
}
two_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case stop
	atf_add_test_case guest
	atf_add_test_case guest_ends
	atf_add_test_case hups
	atf_add_test_case hup_restart
	atf_add_test_case hup_user
	atf_add_test_case term
	atf_add_test_case term_twice
	atf_add_test_case two
}
