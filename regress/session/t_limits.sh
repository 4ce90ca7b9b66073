# Limits tell: a full disk, a place that is read-only, files and arguments that
# are too large or too many, by put, by the tools and by a session alike.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

atf_test_case limits cleanup
limits_head()
{
	atf_set descr 'each limit has its code, and leaves nothing half written'
	atf_set timeout 600
}
limits_body()
{
	world
	box -r
	root=$BOX
	box
	atf_check /usr/bin/python3 -I -B "$(atf_get_srcdir)/limits.py" \
	    "$CTL" "$BOX" "$root"
	daemon_stop
}
limits_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case limits
}
