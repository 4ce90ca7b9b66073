# The Engine away at start, killed and restarted in between.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

engine()
{
	cmd=$1
	shift
	sh "$SBX_TOP/regress/engine/engine.sh" "$cmd" "$E" "$@" \
	    </dev/null >>"$E.out" 2>&1 || {
		cat "$E.out" >&2
		atf_fail "engine $cmd"
	}
}

# An Engine of the test's own; its folder is kept for the cleanup.
engine_dir()
{
	E=$(mktemp -d /tmp/sbx.XXXXXX) || atf_fail "no scratch folder"
	chmod 755 "$E"
	echo "$E" >.engine
	ENGINE=$E/docker.sock
}

engine_cleanup()
{
	[ -f .engine ] || return 0
	E=$(cat .engine)
	ENGINE=$E/docker.sock
	daemon_cleanup
	sh "$SBX_TOP/regress/engine/engine.sh" remove "$E" </dev/null
	rm -rf "$E" "$E.out"
}

status_has()
{
	"$CTL" status >status 2>&1 && grep -Eq "$1" status
}

atf_test_case away_at_start cleanup
away_at_start_head()
{
	atf_set descr 'no Engine at start: reads are served, work is refused'
	atf_set timeout 600
}
away_at_start_body()
{
	engine_dir
	daemon_start
	atf_check "$CTL" list
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
	engine_cleanup
}

atf_test_case killed cleanup
killed_head()
{
	atf_set descr 'kill -9 of the Engine, without live-restore'
	atf_set timeout 600
}
killed_body()
{
	engine_dir
	engine start
	world
	box
	atf_check "$CTL" exec "$BOX" sh -c 'echo kept >file'
	atf_check -o save:exec "$CTL" exec -d "$BOX" sleep 100000
	engine kill
	await 'status_has "away|down|unavailable"'
	# What runs goes on; new work is refused.
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	atf_check -s not-exit:0 -e match:unavailable "$CTL" create
	atf_check -o match:ready "$CTL" show "$BOX"
	# The Engine that returns ends the container: stopped, not failed.
	engine start
	await '"$CTL" show "$BOX" | grep -q stopped' 120
	atf_check -o match:lost "$CTL" ps -a "$BOX"
	await '"$CTL" resume "$BOX" >out 2>&1' 120
	atf_check -o inline:"kept\n" "$CTL" exec "$BOX" cat file
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
killed_cleanup()
{
	engine_cleanup
}

atf_test_case live_restore cleanup
live_restore_head()
{
	atf_set descr 'kill -9 of the Engine, with live-restore'
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
	atf_check "$CTL" exec "$BOX" touch go
	atf_check -s exit:5 "$CTL" wait "$(cat exec)"
	atf_check -o match:ready "$CTL" show "$BOX"
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
live_restore_cleanup()
{
	engine_cleanup
}

atf_test_case removed_outside cleanup
removed_outside_head()
{
	atf_set descr 'a container killed or removed behind our back is noticed'
	atf_set timeout 600
}
removed_outside_body()
{
	world
	box -i one
	engine_docker kill "$(_ours)" >/dev/null || atf_fail "kill"
	await '"$CTL" show one | grep -q stopped' 60
	atf_check -o ignore "$CTL" resume one
	atf_check -o inline:"hi\n" "$CTL" exec one echo hi
	engine_docker rm -f "$(_ours)" >/dev/null || atf_fail "rm"
	await '! "$CTL" show one | grep -q ready' 60
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
	daemon_use main
	atf_check -o inline:"hi\n" "$CTL" exec web echo hi
	daemon_stop
	daemon_start
	atf_check -o inline:"hi\n" "$CTL" exec web echo hi
	atf_check -o ignore "$CTL" delete web
	nothing_left
	engine_docker rm "$theirs" >/dev/null || atf_fail "a stranger's is gone"
	daemon_stop
}
two_daemons_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case away_at_start
	atf_add_test_case killed
	atf_add_test_case live_restore
	atf_add_test_case removed_outside
	atf_add_test_case two_daemons
}
