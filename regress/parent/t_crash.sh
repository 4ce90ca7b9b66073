# Peers that crash a process: the second time they are shut out.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"

BIN=$SBX_FAULTBIN

atf_test_case client cleanup
client_head()
{
	atf_set descr "a client that crashes the frontend twice is shut out"
}
client_body()
{
	new_uid
	daemon_conf "restart 1000 per 60s"
	SANDBOXD_FAULT=frontend.request.before:1s
	SANDBOXD_FAULT_SETS=2
	export SANDBOXD_FAULT SANDBOXD_FAULT_SETS
	daemon_run
	await 'log_has "^running"'
	await 'as_user $NEW_UID "$CTL" ping 2>&1 | grep -q "shut out"'
	atf_check -o match:"crashed over a client of uid $NEW_UID again" \
	    grep "^the frontend" "$LOG"
	# Nobody else is.
	atf_check -o ignore "$CTL" ping
	new_uid
	as_user $NEW_UID "$CTL" ping >out 2>&1 || atf_fail "$(cat out)"
	daemon_stop
}
client_cleanup()
{
	daemon_cleanup
}

atf_test_case sandbox cleanup
sandbox_head()
{
	atf_set descr "a sandbox that crashes the runner twice has failed"
}
sandbox_body()
{
	daemon_conf "restart 1000 per 60s"
	SANDBOXD_FAULT=runner.output.before:1s
	SANDBOXD_FAULT_SETS=2
	export SANDBOXD_FAULT SANDBOXD_FAULT_SETS
	daemon_run
	daemon_up
	atf_check -o ignore "$CTL" image base
	atf_check -o ignore "$CTL" create -i other
	atf_check -o ignore "$CTL" create -i box
	atf_check -o ignore "$CTL" exec -d box echo hello
	await '"$CTL" show box 2>/dev/null | grep -q "it has crashed the run"'
	atf_check -o match:"failed" "$CTL" show box
	atf_check -o match:"^other  *ready" "$CTL" list
	atf_check -o inline:"hello\n" "$CTL" exec other echo hello
	atf_check -o ignore "$CTL" delete box other
	daemon_stop
}
sandbox_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case client
	atf_add_test_case sandbox
}
