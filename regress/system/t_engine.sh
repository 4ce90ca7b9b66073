# The Engine away at start, killed, stopped and restarted in between, its
# socket replaced, and what it has of others.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/../lib/engine.subr"

status_has()
{
	"$CTL" status >status 2>&1 && grep -Eq "$1" status
}

atf_test_case away_at_start cleanup
away_at_start_head()
{
	atf_set descr '(c17) (aR3) no Engine at start: reads are served, work refused'
	atf_set timeout 600
}
away_at_start_body()
{
	engine_dir
	daemon_start
	atf_check "$CTL" list
	# The first answers come before anybody has looked.
	await 'status_has "^engine .*$RECORDED: No such file"'
	atf_check -o ignore "$CTL" events
	atf_check -s not-exit:0 -e match:unavailable "$CTL" create
	atf_check -s not-exit:0 -e match:unavailable "$CTL" image base
	engine start
	# It comes back by itself.
	await '"$CTL" image base >/dev/null 2>&1' 120
	box
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	daemon_stop
}
away_at_start_cleanup()
{
	engine_tidy
}

atf_test_case killed cleanup
killed_head()
{
	atf_set descr '(c14) kill -9 of the Engine, without live-restore;' \
	    'what is to return does (aL22)'
	atf_set timeout 600
}
killed_body()
{
	engine_dir
	engine start
	world
	box
	atf_check -o ignore "$CTL" create -i back -R
	atf_check -o ignore "$CTL" create -i still -R
	atf_check -o ignore "$CTL" stop still
	atf_check "$CTL" exec "$BOX" sh -c 'echo kept >file'
	atf_check -o save:exec "$CTL" exec -d "$BOX" sleep 100000
	engine kill
	await 'status_has "away|down|unavailable"'
	# What runs goes on; new work is refused.
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	atf_check -s not-exit:0 -e match:unavailable "$CTL" create
	atf_check -o match:"^state +ready" \
	    -o match:"^degraded +the Engine is away" "$CTL" show "$BOX"
	# The Engine that returns ends the container: stopped, not failed.
	engine start
	await '"$CTL" show "$BOX" | grep -q stopped' 120
	# Of those that are to return the one that ran does.
	await '"$CTL" events back | grep -q "sandbox.resume .*rule=resume-on"' 120
	await '"$CTL" list | grep -q "^back .*ready"' 120
	atf_check -o match:"^still .*stopped" "$CTL" list
	atf_check -o inline:"hi\n" "$CTL" exec back echo hi
	atf_check -o match:lost "$CTL" ps -a "$BOX"
	await '"$CTL" resume "$BOX" >out 2>&1' 120
	atf_check -o inline:"kept\n" "$CTL" exec "$BOX" cat file
	atf_check -o ignore "$CTL" delete "$BOX" back still
	nothing_left
	daemon_stop
}
killed_cleanup()
{
	engine_tidy
}

atf_test_case live_restore cleanup
live_restore_head()
{
	atf_set descr '(c15) kill -9 of the Engine, with live-restore'
	atf_set timeout 600
}
live_restore_body()
{
	engine_dir
	engine start --live-restore
	world
	box
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'while [ ! -f go ]; do usleep 20000; done; exit 5'
	engine kill
	await 'status_has "away|down|unavailable"'
	engine start --live-restore
	await '! status_has "away|down|unavailable"' 120
	atf_check -o match:"^state +ready" -o not-match:degraded \
	    "$CTL" show "$BOX"
	atf_check "$CTL" exec "$BOX" touch go
	atf_check -s exit:5 "$CTL" wait "$(cat exec)"
	atf_check -o match:ready "$CTL" show "$BOX"
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
live_restore_cleanup()
{
	engine_tidy
}

atf_test_case stopped cleanup
stopped_head()
{
	atf_set descr '(c16) (aR3) the Engine hangs: calls end, what runs goes on'
	atf_set timeout 600
}
stopped_body()
{
	engine_dir
	engine start
	world
	box -i web
	atf_check -o save:exec "$CTL" exec -d web sh -c \
	    'while [ ! -f go ]; do usleep 20000; done; exit 5'
	# Short only while nothing is to succeed.
	daemon_conf "timeouts { engine 2s }"
	atf_check -o ignore "$CTL" reload
	kill -STOP "$(cat "$E/pid")" || atf_fail "no Engine"
	# Told as late, or as away if that has been found out already.
	atf_check -s not-exit:0 -e match:"deadline_exceeded|unavailable" \
	    timeout 120 "$CTL" create -i late
	atf_check -s not-exit:0 -e match:"deadline_exceeded|unavailable" \
	    timeout 120 "$CTL" image base
	atf_check -o inline:"hi\n" "$CTL" exec web echo hi
	atf_check -o match:"^web .*ready" "$CTL" list
	kill -CONT "$(cat "$E/pid")"
	daemon_conf
	atf_check -o ignore "$CTL" reload
	await 'daemon_engine_is_up' 120
	await '"$CTL" create -i again >out 2>&1' 120
	atf_check "$CTL" exec web touch go
	atf_check -s exit:5 timeout 120 "$CTL" wait "$(cat exec)"
	atf_check -o match:"^web .*ready" "$CTL" list
	# A create that was refused at once has left no name.
	"$CTL" delete late >out 2>&1 || atf_check -o match:not_found cat out
	atf_check -o ignore "$CTL" delete web again
	nothing_left
	daemon_stop
}
stopped_cleanup()
{
	engine_tidy
}

# What the test's Engine consists of, as far as it is its own.
engine_pids()
{
	local f

	for f in "$E/pid" "$E/exec/containerd/containerd.pid"; do
		[ ! -f "$f" ] || echo "$(cat "$f")"
	done
}

guest_of()
{
	engine_docker inspect -f '{{.State.Pid}}' "$(engine_docker ps -q \
	    --no-trunc --filter "label=sandboxd.id=$1")"
}

ends_of()
{
	"$CTL" events "$1" >ends || atf_fail "events $1"
	grep -c "sandbox\.$2 " ends
}

cause_of()
{
	"$CTL" show "$1" | sed -n 's/^cause  *//p'
}

atf_test_case hung cleanup
hung_head()
{
	atf_set descr '(c25) a sandbox that ends behind an Engine that hangs' \
	    '(c16)'
	atf_set timeout 600
}
hung()
{
	engine_dir
	engine start
	world
	box -i one
	box -i two
	box -i three
	atf_check "$CTL" exec one sh -c 'echo kept >file'
	atf_check -s exit:5 "$CTL" exec one sh -c 'exit 5'
	for id in one two three; do
		guest_of $id >guest.$id
	done
	"$CTL" exec one sh -c 'echo out; sleep 100000' >out 2>err &
	client=$!
	await '[ -s out ]'
	# shellcheck disable=SC2046
	kill -STOP $(engine_pids) || atf_fail "no Engine"
	begin=$(date +%s%3N)
	kill -KILL "$(cat guest.one)" || atf_fail "no guest"
	await '"$CTL" list | grep -q "^one .*stopped"'
	counted "stopped $(($(date +%s%3N) - begin)) ms after its guest's death"
	s=0
	wait $client || s=$?
	[ $s -ne 0 ] || atf_fail "a lost command ended with 0"
	atf_check_equal "out" "$(cat out)"
	atf_check -o match:"exited .*5" -o match:"lost" "$CTL" ps -a one
	cause_of one | grep -q "^unknown: its guest is dead" ||
	    atf_fail "cause: $(cause_of one)"
	atf_check -o inline:"hi\n" "$CTL" exec two echo hi
	atf_check -o match:"^two .*ready" "$CTL" list

	# Another one dies while nobody is there to see it.
	daemon_kill
	kill -KILL "$(cat guest.two)" || atf_fail "no guest"
	await '_gone "$(cat guest.two)"'
	daemon_start
	await '"$CTL" list | grep -q "^two .*stopped"'
	cause_of two | grep -q "^unknown: " || atf_fail "cause: $(cause_of two)"
	atf_check -o match:"^three .*ready" "$CTL" list

	# The Engine knows how, and it is told once that they have ended.
	# shellcheck disable=SC2046
	kill -CONT $(engine_pids)
	for id in one two; do
		await 'cause_of $id | grep -q "^killed: .* status 137"' 120
		atf_check_equal "1 1" "$(ends_of $id stopped) $(ends_of $id \
		    cause)"
		atf_check_equal 0 "$(ends_of $id outside)"
	done
	atf_check -o inline:"hi\n" "$CTL" exec three echo hi
	await '"$CTL" resume one >resume 2>&1'
	atf_check -o inline:"kept\n" "$CTL" exec one cat file
	atf_check -o ignore "$CTL" log verify
	atf_check -o ignore "$CTL" delete one two three
	nothing_left
	daemon_stop
}
hung_body()
{
	hung
}
hung_cleanup()
{
	hung_tidy
}

atf_test_case hung_older cleanup
hung_older_head()
{
	atf_set descr '(c25) the same, by a kernel whose sockets tell no process'
	atf_set timeout 600
}
hung_older_body()
{
	BIN=$SBX_FAULTBIN
	DAEMON_ENV=SANDBOXD_LACK=peerpidfd
	hung
}
hung_older_cleanup()
{
	hung_tidy
}

hung_tidy()
{
	# shellcheck disable=SC2046
	[ ! -f .engine ] || { E=$(cat .engine); kill -CONT $(engine_pids); }
	engine_tidy
}

# The run's Engine by a path of the test's own, as seen through the recorder.
link_dir()
{
	L=$(mktemp -d "$SBX_SCRATCH/l.XXXXXX") || atf_fail "no scratch folder"
	echo "$L" >.link
	chmod 755 "$L"
	ln "$SBX_RECORDED" "$L/s" || atf_fail "no link"
	RECORDED=$L/s
}

# A new broker makes new connections.
broker_new()
{
	p=$(daemon_child broker) || atf_fail "no broker"
	kill -KILL "$p"
	await '_gone "$p"'
	await 'daemon_child broker >/dev/null && "$CTL" ping >ping 2>&1'
}

atf_test_case socket cleanup
socket_head()
{
	atf_set descr '(c18) the way to the Engine is closed, and another one'
	atf_set timeout 600
}
socket_body()
{
	link_dir
	world "restart 1000 per 1s"
	box -i web
	chmod 700 "$L"
	broker_new
	await 'status_has "^engine .*$L/s: Permission denied"'
	# Until its guest is back nobody knows whether there is one.
	await '[ "$("$CTL" exec web echo hi 2>err)" = hi ]'
	atf_check -s not-exit:0 -e match:"unavailable" "$CTL" create
	chmod 755 "$L"
	await 'daemon_engine_is_up'

	rm "$L/s"
	broker_new
	await 'status_has "^engine .*$L/s: No such file"'
	atf_check -o match:"^web .*ready" "$CTL" list
	# Nobody behind it.
	: >"$L/s"
	chmod 666 "$L/s"
	await 'status_has "^engine .*$L/s: Connection refused"'
	rm "$L/s"
	ln "$SBX_RECORDED" "$L/s"
	await 'daemon_engine_is_up'
	atf_check -o match:"^web .*ready" "$CTL" list
	atf_check -o inline:"hi\n" "$CTL" exec web echo hi
	atf_check -o ignore "$CTL" delete web
	nothing_left
	daemon_stop
}
socket_cleanup()
{
	daemon_cleanup
	[ ! -f .link ] || rm -rf "$(cat .link)"
}

atf_test_case gap cleanup
gap_head()
{
	atf_set descr '(c24) what ends while nobody listens is known after it'
	atf_set timeout 600
}
gap_body()
{
	world
	box -i one
	box -i two
	box -i three
	for id in one two; do
		engine_docker ps -q --no-trunc \
		    --filter "label=sandboxd.id=$id" --filter \
		    "label=sandboxd.instance=$(cat "$STATE/instance")" >$id
		[ -s $id ] || atf_fail "no container of $id"
	done
	daemon_kill
	engine_docker kill "$(cat one)" >/dev/null || atf_fail "kill"
	engine_docker rm -f "$(cat two)" >/dev/null || atf_fail "rm"
	daemon_start
	await '"$CTL" list | grep -q "^one .*stopped"'
	await '"$CTL" list | grep -q "^two .*failed"'
	atf_check -o match:"^three .*ready" "$CTL" list
	atf_check -o inline:"hi\n" "$CTL" exec three echo hi
	# Each end once.
	for id in one two three; do
		"$CTL" events $id >events || atf_fail "events $id"
		n=$(grep -Ec "sandbox\.(stopped|failed)" events)
		[ $id = three ] && want=0 || want=1
		[ "$n" -eq $want ] || {
			cat events >&2
			atf_fail "$id has $n ends"
		}
	done
	atf_check -o ignore "$CTL" delete one two three
	nothing_left
	daemon_stop
}
gap_cleanup()
{
	daemon_cleanup
}

atf_test_case removed_outside cleanup
removed_outside_head()
{
	atf_set descr '(c23) (c26) a container killed or removed by others is noticed'
	atf_set timeout 600
}
removed_outside_body()
{
	world
	box -i one
	engine_docker kill "$(_ours)" >/dev/null || atf_fail "kill"
	await '"$CTL" show one | grep -q stopped' 60
	atf_check -o ignore "$CTL" resume one
	atf_check "$CTL" exec one sh -c 'echo work >done'
	engine_docker rm -f "$(_ours)" >/dev/null || atf_fail "rm"
	await '! "$CTL" show one | grep -q ready' 60
	# The container can be made again, the work cannot.
	await '"$CTL" events one | grep -q "sandbox.cleaned"'
	atf_check -o inline:"work\n" cat "$STATE"/work/*/done
	daemon_stop
	daemon_start
	atf_check -o match:"^one .*failed" "$CTL" list
	atf_check -o inline:"work\n" cat "$STATE"/work/*/done
	atf_check -o ignore "$CTL" delete one
	nothing_left
	daemon_stop
}
removed_outside_cleanup()
{
	daemon_cleanup
}

atf_test_case two_daemons cleanup
two_daemons_head()
{
	atf_set descr 'two daemons on one Engine never touch what is not theirs'
	atf_set timeout 600
}
two_daemons_body()
{
	world
	box -i web
	theirs=$(engine_docker create sandbox-base /bin/true)
	daemon_use other
	daemon_start
	atf_check -o inline:"web\n" "$CTL" create -i web
	atf_check -o inline:"hi\n" "$CTL" exec web echo hi
	daemon_kill
	daemon_start
	atf_check -o ignore "$CTL" delete web
	daemon_stop
	i=$(cat "$STATE/instance")
	daemon_use main
	atf_check -o inline:"hi\n" "$CTL" exec web echo hi
	daemon_stop
	# One that our labels say is ours, and one that another one's do.
	stray=$(engine_docker create --label "sandboxd.op=1" --label \
	    "sandboxd.instance=$(cat "$STATE/instance")" \
	    sandbox-base /bin/true)
	other=$(engine_docker create --label "sandboxd.op=1" --label \
	    "sandboxd.instance=$i" sandbox-base /bin/true)
	daemon_start
	atf_check -o inline:"hi\n" "$CTL" exec web echo hi
	# It may be of a log that is lost: nothing is done to it yet.
	await 'status_has "^strays  *1"'
	engine_docker inspect "$stray" >/dev/null || atf_fail "gone at once"
	atf_check "$CTL" reconcile -f
	await '! engine_docker inspect "$stray" >/dev/null 2>&1'
	await 'log_has "container $(echo "$stray" | cut -c 1-12) of no sand"'
	atf_check -o match:"stray.removed" "$CTL" events -t stray.removed
	engine_docker rm "$other" >/dev/null || atf_fail "another one's is gone"
	atf_check -o ignore "$CTL" delete web
	nothing_left
	engine_docker rm "$theirs" >/dev/null || atf_fail "a stranger's is gone"
	daemon_stop
}
two_daemons_cleanup()
{
	daemon_cleanup
}

atf_test_case full cleanup
full_head()
{
	atf_set descr '(c31) the disk under the Engine is full'
	atf_set timeout 600
}
full_body()
{
	engine_dir
	mkdir "$E/data"
	mount -t tmpfs -o size=96m,mode=0711 full "$E/data" ||
	    atf_fail "mount"
	engine start
	world
	box -i one
	# To the last byte, as far as the Engine itself writes nothing.
	dd if=/dev/zero of="$E/data/ballast" bs=64k 2>/dev/null
	cat /dev/zero >>"$E/data/ballast" 2>/dev/null
	atf_check -s not-exit:0 -e match:"[Nn]o space left" "$CTL" create -i two
	atf_check -o match:"^two .*failed" "$CTL" list
	# What runs goes on, and its disk is not the Engine's.
	atf_check "$CTL" exec one sh -c 'echo kept >file'
	atf_check -o inline:"kept\n" "$CTL" exec one cat file
	atf_check -o ignore "$CTL" delete one two
	rm "$E/data/ballast"
	box -i three
	atf_check -o inline:"hi\n" "$CTL" exec three echo hi
	atf_check -o ignore "$CTL" delete three
	nothing_left
	daemon_stop
}
full_cleanup()
{
	engine_tidy
}

atf_init_test_cases()
{
	atf_add_test_case away_at_start
	atf_add_test_case killed
	atf_add_test_case live_restore
	atf_add_test_case stopped
	atf_add_test_case hung
	atf_add_test_case hung_older
	atf_add_test_case socket
	atf_add_test_case gap
	atf_add_test_case full
	atf_add_test_case removed_outside
	atf_add_test_case two_daemons
}
