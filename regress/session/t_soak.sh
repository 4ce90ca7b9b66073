# Much by one session: bytes and files in numbers that would show whoever keeps
# them.  Only a soak has the large ones.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

atf_test_case much cleanup
much_head()
{
	atf_set descr '4 MiB both ways, 300 files; soak: 1 GiB and 100000'
	atf_set timeout 3600
}
much_body()
{
	large=$((4 * 1048576)) files=300
	[ "${SOAK:-no}" = no ] || large=$((1024 * 1048576)) files=100000
	world
	box
	atf_check -o save:out /usr/bin/python3 -I -B \
	    "$(atf_get_srcdir)/soak.py" "$CTL" "$BOX" "$large" "$files"
	cat out
	# Who passes the bytes on has kept none of them.
	for p in frontend runner store; do
		hwm=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' \
		    "/proc/$(daemon_child $p)/status")
		echo "$p: VmHWM $hwm KiB"
		[ "$hwm" -lt 131072 ] || [ -n "${ASAN_OPTIONS:-}" ] ||
		    atf_fail "$p: $hwm KiB"
	done
	atf_check "$CTL" delete "$BOX"
	await '[ -z "$(ls "$STATE/work")" ]' 600
	daemon_stop
}
much_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case much
}
