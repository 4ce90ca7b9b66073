# System calls that are interrupted, and do less than they were asked to.
#
#	of whom			what must come of it
#	---------------------	---------------------------------------------
#	each child, the parent	nothing: what is written and read is the
#	and sandboxctl		same, byte for byte, and nobody is replaced
#
# Each call that may be interrupted is, again and again, as long as a sandbox
# is made, used and removed: every third time it is made, in turn with EINTR
# and with fewer bytes.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/shim.subr"

CUT="read readv recv recvmsg write writev send sendmsg splice"
# Those of files are not interrupted.
SHORT="pread pwrite"
INTERRUPTED="wait accept waitpid"

storm()
{
	for c in $CUT; do
		shim "$1" "$c" storm 0 1 "$2"
	done
	for c in $SHORT; do
		shim "$1" "$c" short 0 1 "$2"
	done
	for c in $INTERRUPTED; do
		shim "$1" "$c" error EINTR 1 "$2"
	done
}

# storm_flow ctl: a sandbox's life
storm_flow()
{
	"$1" create -i box >id 2>err || atf_fail "create: $(cat err)"
	atf_check_equal box "$(cat id)"
	timeout 300 "$1" exec box cat <input >output 2>err ||
	    atf_fail "exec: $(cat err)"
	cmp input output || atf_fail "another output"
	s=0
	timeout 300 "$1" exec box sh -c \
	    'head -c 300000 /dev/zero; echo word >&2; exit 7' >output \
	    2>err || s=$?
	atf_check_equal 7 $s
	atf_check_equal 300000 "$(wc -c <output)"
	atf_check_equal word "$(cat err)"
	e=$(timeout 60 "$1" exec -d box sh -c 'echo done; exit 5' 2>err) ||
	    atf_fail "exec -d: $(cat err)"
	s=0
	timeout 60 "$1" wait "$e" 2>err || s=$?
	atf_check_equal 5 $s
	atf_check_equal done "$("$1" logs "$e")"
	timeout 60 "$1" events box >events.1 || atf_fail "no events"
	timeout 60 "$1" delete box >out 2>err || atf_fail "delete: $(cat err)"
}

atf_test_case storm cleanup
storm_head()
{
	atf_set descr '(c40) calls are interrupted and cut short'
	atf_set timeout 900
}
storm_body()
{
	head -c "$(figure 2000000 20000000)" /dev/urandom >input
	shim_use
	world
	pids=$(cat "/proc/$(daemon_pid)/task/$(daemon_pid)/children")
	for every in $(figure 3 "2 3 5 7 11"); do
		storm all "$every"
		# The others' connections do not wait for their peer.
		shim sandboxctl connect error EINTR 1 "$every"
		storm_flow "$SHIMCTL"
		for r in parent frontend store broker runner sandboxctl; do
			hit $r recvmsg && hit $r sendmsg ||
			    atf_fail "nothing was done to $r"
		done
		shim all off
	done
	atf_check_equal "$pids" \
	    "$(cat "/proc/$(daemon_pid)/task/$(daemon_pid)/children")"
	atf_check -o match:"^events" "$CTL" log verify
	nothing_left
	daemon_stop
}
storm_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case storm
}
