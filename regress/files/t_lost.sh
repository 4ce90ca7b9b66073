# The runner, or the daemon, is killed in the middle of a get: what has come is
# right to its last byte, and the command that runs beside it goes on.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

LINE=16			# bytes of a line of numbered()

# Lines that tell their place, so that none may be lost, doubled or another's.
numbered()
{
	awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%015d\n", i }'
}

# victim_kill: what is named in $1, and it is back
victim_kill()
{
	if [ "$1" = daemon ]; then
		daemon_kill
		daemon_start
	else
		kill -9 "$(daemon_child runner)"
	fi
	await '"$CTL" ping >/dev/null 2>&1'
	await '"$CTL" ls "$BOX" >/dev/null 2>&1'
}

get_over()
{
	lines=$((64 * 1048576 / LINE))
	[ "${SOAK:-no}" = no ] || lines=$((1024 * 1048576 / LINE))
	world
	box
	numbered $lines >want
	atf_check -o ignore "$CTL" put "$BOX" want big
	# It ends when it is told to, whatever happens meanwhile.
	e=$("$CTL" exec -d "$BOX" sh -c \
	    'until [ -e go ]; do usleep 10000; done; echo over; exit 7')
	mkfifo out
	"$CTL" get "$BOX" big - >out 2>err &
	get=$!
	exec 3<out
	# Nobody reads further, so it is in the middle.
	head -c 1000000 <&3 >got
	victim_kill "$1"
	cat <&3 >>got
	exec 3<&-
	s=0
	wait $get || s=$?
	n=$(wc -c <got)
	if [ $s -eq 0 ]; then
		cmp got want || atf_fail "other bytes"
	else
		atf_check_equal 69 $s
		atf_check -o match:'(unavailable)' cat err
		[ $n -lt $((lines * LINE)) ] || atf_fail "it was all there"
		cmp -n "$n" got want || atf_fail "other bytes"
	fi
	atf_check "$CTL" put "$BOX" err go
	atf_check -s exit:7 -o ignore -e ignore "$CTL" wait "$e"
	atf_check -o inline:'over\n' "$CTL" logs "$e"
	# And again, whole.
	atf_check -o save:again "$CTL" get "$BOX" big -
	cmp again want || atf_fail "other bytes the second time"
	daemon_stop
}

atf_test_case runner cleanup
runner_head()
{
	atf_set descr 'the runner is killed in the middle of a get'
	atf_set timeout 600
}
runner_body()
{
	get_over runner
}
runner_cleanup()
{
	daemon_cleanup
}

atf_test_case parent cleanup
parent_head()
{
	atf_set descr 'the daemon is killed in the middle of a get'
	atf_set timeout 600
}
parent_body()
{
	get_over daemon
}
parent_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case runner
	atf_add_test_case parent
}
