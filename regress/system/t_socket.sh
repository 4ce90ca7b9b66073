# The directory of a guest's socket is taken away while the guest runs.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

atf_test_case gone cleanup
gone_head()
{
	atf_set descr '(c30) the socket directory of a sandbox is removed'
	atf_set timeout 300
}
gone_body()
{
	world
	box -i b
	e=$("$CTL" exec -d b sh -c 'echo begun; sleep 1000000')
	await '"$CTL" logs "$e" | grep -q begun'
	dir=$STATE/runner/sock/0/1
	[ -d "$dir" ] || atf_fail "no $dir"
	rm -r "$dir"
	# Who is connected stays so.
	atf_check -o inline:'hi\n' "$CTL" exec b echo hi
	# Who has to come back cannot, and that is told.
	kill -9 "$(daemon_child runner)"
	await '"$CTL" show b | grep -q "^state  *stopped"' 120
	atf_check -o match:'^cause +silent' "$CTL" show b
	atf_check -s not-exit:0 -o ignore -e match:silent "$CTL" wait "$e"
	atf_check -o inline:'begun\n' "$CTL" logs "$e"
	# It is made again before the next start.
	[ ! -e "$dir" ] || atf_fail "it is there already"
	atf_check -o ignore "$CTL" resume b
	[ -d "$dir" ] || atf_fail "no $dir"
	atf_check -o inline:'hi\n' "$CTL" exec b echo hi
	atf_check "$CTL" delete b
	nothing_left
	daemon_stop
}
gone_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case gone
}
