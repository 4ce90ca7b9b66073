# What a sandbox is given when it is made comes before it is ready, to whoever
# looks, and one whose maker has gone does not stay.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# making id [option ...]: a create that has copied a file, and copies one that
# has no end until descriptor 4 is closed.
making()
{
	n=$1
	shift
	[ -p in ] || mkfifo in
	echo first >f
	: >pid
	sh -c 'echo $$ >&3; exec 3>&-; exec "$0" "$@"' "$CTL" create -i "$n" \
	    "$@" -C f:f -C in:in >out 2>err 3>pid 4>&- </dev/null &
	made=$!
	exec 4<>in
	await '[ -s pid ]'
	await '"$CTL" stat "$n" f >/dev/null 2>&1 ||
	    ! kill -0 "$(cat pid)"'
	kill -0 "$(cat pid)" || atf_fail "create ended: $(cat err)"
}

# given: the rest of it, and its end.
given()
{
	echo second >&4
	exec 4>&-
	s=0
	wait $made || s=$?
	atf_check_equal "0 $(cat err)" "$s "
}

atf_test_case before cleanup
before_head()
{
	atf_set descr 'while it is given something it is pending to all'
	atf_set timeout 180
}
before_body()
{
	world
	making box
	atf_check -o match:'^box  *pending' "$CTL" list
	atf_check -o match:'fail' -o match:'create' "$CTL" -j show box
	atf_check -s not-exit:0 -e match:'wrong_state' "$CTL" exec box true
	"$CTL" events box >events
	! grep -q sandbox.ready events || atf_fail "ready before it has all"
	"$CTL" wait -t 60 box ready >waited 2>&1 4>&- &
	waits=$!
	given
	atf_check_equal box "$(cat out)"
	wait $waits || atf_fail "nobody was told: $(cat waited)"
	atf_check -o match:'^box  *ready' "$CTL" list
	atf_check -o inline:'second\n' "$CTL" exec box cat in
	atf_check -o inline:'first\n' "$CTL" cat box f
	atf_check -o match:'sandbox.ready' "$CTL" events box
	atf_check -o inline:'' "$CTL" diff -M seed box
	# What is printed of it is what it is then.
	atf_check -o match:'"state":"ready"' "$CTL" -j create -C f:f
	atf_check -o ignore "$CTL" delete box
	# A delete ends it, and its maker hears of that.
	making gone
	atf_check -o ignore "$CTL" delete gone
	exec 4>&-
	s=0
	wait $made || s=$?
	atf_check test $s -ne 0
	atf_check -o empty cat out
	daemon_stop
}
before_cleanup()
{
	daemon_cleanup
}

atf_test_case late cleanup
late_head()
{
	atf_set descr 'whose maker is killed fails; who takes long is not late'
	atf_set timeout 180
}
late_body()
{
	world "timeouts { create 8s }"
	making slow
	# Longer than that, since this is about the time itself.
	sleep 10
	atf_check -o match:'^slow  *pending' "$CTL" list
	given
	atf_check -o match:'^slow  *ready' "$CTL" list
	atf_check -o ignore "$CTL" delete slow
	making lost
	kill -KILL "$(cat pid)"
	wait $made || :
	exec 4>&-
	await '"$CTL" list | grep -q "^lost  *failed"' 60
	atf_check -o match:'it was held, and not resumed in time' \
	    "$CTL" show lost
	atf_check -o ignore "$CTL" delete lost
	nothing_left
	daemon_stop
}
late_cleanup()
{
	daemon_cleanup
}

atf_test_case runner cleanup
runner_head()
{
	atf_set descr 'a process of the daemon dies meanwhile: none stays'
	atf_set timeout 180
}
runner_body()
{
	world
	for p in store runner; do
		making "a$p"
		kill -KILL "$(daemon_child $p)"
		exec 4>&-
		s=0
		wait $made || s=$?
		atf_check test $s -ne 0
		atf_check -o empty cat out
		atf_check -o match:"a$p: it is removed" cat err
		await '[ -z "$("$CTL" list 2>&1)" ]' 60
		nothing_left
	done
	daemon_stop
}
runner_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case before
	atf_add_test_case late
	atf_add_test_case runner
}
