# A command whose output the daemon cannot keep.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/shim.subr"

atf_test_case nolog cleanup
nolog_head()
{
	atf_set descr '(S-32) no log for its output: it runs, ends as it does,' \
	    'and what is missing is told; nothing comes of it later'
}
nolog_body()
{
	shim_use
	world
	box
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	shim runner open error EIO 1 1
	atf_check -o save:job "$CTL" exec -d "$BOX" \
	    sh -c 'echo gone; exit 5'
	atf_check -s exit:5 timeout 60 "$CTL" wait "$(cat job)"
	hit runner open || atf_fail "nothing failed"
	shim runner off
	atf_check -o empty -e match:'bytes 0 to 5 were dropped' "$CTL" logs "$(cat job)"
	# The next has the next number.
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	"$CTL" -j ps -a "$BOX" >after || atf_fail "ps"
	atf_check_equal 3 "$(wc -l <after)"
	for t in create started ended; do
		"$CTL" -j events -t exec.$t "$BOX" >events || atf_fail events
		atf_check_equal "3 $t" "$(wc -l <events) $t"
	done
	daemon_kill
	daemon_start
	atf_check -o file:after "$CTL" -j ps -a "$BOX"
	atf_check -o ignore "$CTL" log verify
	atf_check "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
nolog_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case nolog
}
