# What waits costs nothing: subscribers that nothing is told to.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# What the daemon's processes have had of the processors, in us.
used()
{
	for p in $(daemon_pid) $(cat \
	    "/proc/$(daemon_pid)/task/$(daemon_pid)/children"); do
		cat "/proc/$p/task/"*/schedstat || atf_fail "$p is gone"
	done | awk '{ n += $1 } END { printf "%d\n", n / 1000 }'
}

# What they use within so many seconds while nobody asks for anything.
spent()
{
	before=$(used)
	sleep "$1"
	echo $(($(used) - before))
}

atf_test_case subscribers cleanup
subscribers_head()
{
	atf_set descr 'idle subscribers cost no processor time'
	atf_set timeout 600
}
subscribers_body()
{
	n=$(figure 300 1000)
	s=$(figure 5 20)
	daemon_start "limits { clients 1200, 1200 per user }"
	await daemon_engine_is_up
	# What has failed has events, and nothing happens to it any more.
	atf_check -o ignore "$CTL" create -d -i box -I no-such-image
	await '"$CTL" list | grep -q "^box .*failed"'
	await '"$CTL" events box | grep -q sandbox.cleaned'
	none=$(spent "$s")
	"$(atf_get_srcdir)/h_told" "$SOCK" box 0 "$n" >told 2>&1 &
	clients=$!
	await '[ -s told ]' 120
	[ "$(cat told)" = up ] || atf_fail "$(cat told)"
	with=$(spent "$s")
	counted "$n idle subscribers: $with us in $s s, without them $none us"
	# A timer for each, once a second, would be some 10 us of each second.
	most=$((none * 2 + n * s * 4 * SLOW))
	[ "$with" -le "$most" ] || atf_fail "$with us, and $most at most"
	daemon_stop
	wait $clients || atf_fail "$(cat told)"
	head -n 2 told | tail -n 1 | grep -q "^$n of $n once" ||
	    atf_fail "$(cat told)"
}
subscribers_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case subscribers
}
