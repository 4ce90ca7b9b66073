# Create, exec at once, delete: again and again, and nothing is left.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# cycles n name: n of them, one after the other.
cycles()
{
	i=0
	while [ $i -lt "$1" ]; do
		i=$((i + 1))
		id=$("$CTL" create -i "$2-$i") || return 1
		[ "$("$CTL" exec "$id" echo "$id" </dev/null)" = "$id" ] ||
		    return 1
		"$CTL" delete "$id" >/dev/null || return 1
	done
}

# Descriptors of each child, by number.  The broker keeps connections to the
# Engine for the next calls, as many as it had at a time: some, not more.
fds()
{
	for c in frontend store runner; do
		echo "$c $(ls "/proc/$(daemon_child $c)/fd" | wc -l)"
	done
	[ "$(ls "/proc/$(daemon_child broker)/fd" | wc -l)" -lt 32 ] ||
		echo "broker has too many"
}

# Not more than before; then, who had asked last may not have been forgotten.
settled()
{
	fds >fds.now
	paste -d ' ' fds.before fds.now | awk '$4 > $2 { exit 1 }
	    /too many/ { exit 1 }'
}

atf_test_case in_a_row cleanup
in_a_row_head()
{
	atf_set descr 'one after the other'
	atf_set timeout 1800
}
in_a_row_body()
{
	world
	cycles 2 warm || atf_fail "a cycle failed"
	nothing_left
	fds >fds.before
	n=$(figure 20 200)
	cycles "$n" row || atf_fail "a cycle failed"
	nothing_left
	await settled 60
	atf_check -o not-match:ready "$CTL" list
	atf_check -o ignore "$CTL" log verify
	echo "$n cycles"
	daemon_stop
}
in_a_row_cleanup()
{
	daemon_cleanup
}

atf_test_case side_by_side cleanup
side_by_side_head()
{
	atf_set descr 'eight at a time'
	atf_set timeout 1800
}
side_by_side_body()
{
	world
	cycles 2 warm || atf_fail "a cycle failed"
	nothing_left
	fds >fds.before
	n=$(figure 5 25)
	pids=
	for w in 1 2 3 4 5 6 7 8; do
		cycles "$n" "w$w" &
		pids="$pids $!"
	done
	failed=0
	for p in $pids; do
		wait "$p" || failed=$((failed + 1))
	done
	[ $failed -eq 0 ] || atf_fail "$failed of 8 failed"
	nothing_left
	await settled 60
	atf_check -o ignore "$CTL" log verify
	echo "$((n * 8)) cycles"
	daemon_stop
}
side_by_side_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case in_a_row
	atf_add_test_case side_by_side
}
