# A directory with very many entries: what is asked of it ends or says that it
# is not all, takes no more memory for that, in the guest, the runner and here,
# and other sandboxes are answered meanwhile.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# measured name argument ...: sandboxctl, with its output in the file out, its
# status in $s and the most memory that it has had, in KiB, in $used; whoever
# asks something of another sandbox meanwhile is answered.
measured()
{
	what=$1
	shift
	/usr/bin/python3 -I -B - "$CTL" "$@" >used 2>err <<-'EOT' &
	import resource, subprocess, sys
	with open("out", "wb") as f:
	    s = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL,
	        stdout=f)
	print(s, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
	EOT
	pid=$!
	begin=$(date +%s)
	while kill -0 $pid 2>/dev/null; do
		atf_check -o inline:'ok\n' timeout $((30 * SLOW)) \
		    "$CTL" exec other echo ok
		sees_workers
		[ $(($(date +%s) - begin)) -lt $((300 * SLOW)) ] ||
		    atf_fail "$what: no end"
	done
	wait $pid
	sees_workers
	read -r s used <used || atf_fail "$what: $(cat err)"
	[ "${SOAK:-no}" = no ] || counted "$what:" \
	    "$(($(date +%s) - begin)) s, $used KiB here," \
	    "$most KiB in the guest," \
	    "$(highest "$(daemon_child runner)") KiB in the runner"
	# A sanitizer keeps what was freed.
	[ "$used" -lt 65536 ] || [ -n "${ASAN_OPTIONS:-}" ] ||
	    atf_fail "$what: sandboxctl has $used KiB"
	[ "$most" -lt 65536 ] || [ -n "${ASAN_OPTIONS:-}" ] ||
	    atf_fail "$what: the guest has $most KiB"
}

highest()
{
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status" 2>/dev/null
}

# The most memory that a process of the guest has had.
sees_workers()
{
	local n p

	for p in $(cat "/proc/$GUEST/task/$GUEST/children"); do
		n=$(highest "$p")
		[ "${n:-0}" -le "$most" ] || most=$n
	done
}

# What takes a while, of so many.
the_rest()
{
	measured "ls -R" ls -R many /tmp/d
	atf_check_equal "0 $n" "$s $(wc -l <out)"
	measured glob tool glob many 'f*9' /tmp/d
	grep -q '"truncated":true' out ||
	    atf_check_equal $((n / 10)) "$(grep -o '"path"' out | wc -l)"
	measured grep tool grep many text /tmp/d
	atf_check -o match:'"matches":\[\]' cat out
	measured du du many /tmp/d
	atf_check -o match:'/tmp/d$' cat out
	measured get get -r many /tmp/d -
	atf_check_equal "0 $n" "$s $(tar -tf out | grep -c 'f[0-9]')"
	rm out
	"$CTL" watch many /tmp/d >seen 2>err &
	watch=$!
	await 'grep -q ready seen' 300
	atf_check "$CTL" exec many touch /tmp/d/one-more
	await 'grep -q one-more seen' 60
	kill -TERM $watch
	wait $watch
	measured rm rm -r many /tmp/d
	atf_check_equal 0 $s
}

atf_test_case crowd cleanup
crowd_head()
{
	atf_set descr 'a directory of very many entries, and the other sandboxes'
	atf_set timeout 1800
}
crowd_body()
{
	n=$(figure 20000 1000000)
	world
	box -i other
	box -i many -m 4G
	most=0
	GUEST=$(engine_docker inspect -f '{{.State.Pid}}' "$(engine_docker ps \
	    -q --filter label=sandboxd.id=many \
	    --filter "label=sandboxd.instance=$(cat "$STATE/instance")")")
	had=$(highest "$(daemon_child runner)")
	atf_check "$CTL" exec many sh -c "mkdir /tmp/d; cd /tmp/d
	    seq $n | sed s,^,f, | xargs touch"

	measured ls ls many /tmp/d
	atf_check_equal "0 $n" "$s $(wc -l <out)"
	[ "$(figure 1 0)" = 1 ] || the_rest
	used=$(highest "$(daemon_child runner)")
	[ "$used" -lt $((had + 16384)) ] || [ -n "${ASAN_OPTIONS:-}" ] ||
	    atf_fail "the runner has $used KiB, and had $had"
	daemon_stop
}
crowd_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case crowd
}
