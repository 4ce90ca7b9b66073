# System calls that are interrupted, do less than they were asked to, or find
# the table of files full.
#
#	of whom			what must come of it
#	---------------------	---------------------------------------------
#	each child, the parent	nothing: what is written and read is the
#	and sandboxctl		same, byte for byte, and nobody is replaced
#
#	the guest		the same
#	each child, the parent	ENFILE, or a message that lost its
#	and sandboxctl		descriptor: the request is refused or the
#				process replaced; then all is served again
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
storm_flow()	# ctl id
{
	"$1" create -i "$2" >id 2>err || atf_fail "create: $(cat err)"
	atf_check_equal "$2" "$(cat id)"
	timeout 300 "$1" exec "$2" cat <input >output 2>err ||
	    atf_fail "exec: $(cat err)"
	cmp input output || atf_fail "another output"
	timeout 300 "$1" put "$2" input there 2>err ||
	    atf_fail "put: $(cat err)"
	timeout 300 "$1" get "$2" there back 2>err ||
	    atf_fail "get: $(cat err)"
	cmp input back || atf_fail "another file"
	rm back
	s=0
	timeout 300 "$1" exec "$2" sh -c \
	    'head -c 300000 /dev/zero; echo word >&2; exit 7' >output \
	    2>err || s=$?
	atf_check_equal 7 $s
	atf_check_equal 300000 "$(wc -c <output)"
	atf_check_equal word "$(cat err)"
	e=$(timeout 60 "$1" exec -d "$2" sh -c 'echo done; exit 5' 2>err) ||
	    atf_fail "exec -d: $(cat err)"
	s=0
	timeout 60 "$1" wait "$e" 2>err || s=$?
	atf_check_equal 5 $s
	atf_check_equal done "$("$1" logs "$e")"
	timeout 60 "$1" events "$2" >events.1 || atf_fail "no events"
	timeout 60 "$1" delete "$2" >out 2>err || atf_fail "delete: $(cat err)"
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
		storm_flow "$SHIMCTL" "box$every"
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

atf_test_case guest cleanup
guest_head()
{
	atf_set descr '(c40) calls of the guest are interrupted and cut short'
	atf_set timeout 900
}
guest_body()
{
	BIN=$SBX_FAULTBIN
	head -c "$(figure 2000000 20000000)" /dev/urandom >input
	for every in $(figure 3 "2 3 5 7 11"); do
		DAEMON_ENV="SANDBOXD_GUEST_FAULT=guest.io:$every"
		daemon_use "every.$every"
		world
		storm_flow "$CTL" box
		nothing_left
		daemon_stop
	done
}
guest_cleanup()
{
	daemon_cleanup
}

# full ctl: work whose outcome is not looked at, but for a hang
full_work()
{
	for c in "exec box head -c 100000 /dev/zero" "exec -d box true" \
	    "events box" "create -I no-such-image"; do
		s=0
		# shellcheck disable=SC2086
		timeout 60 "$1" $c </dev/null >out 2>err || s=$?
		[ $s -ne 124 ] || atf_fail "$2: it hangs: $c"
		[ $s -eq 0 ] || [ -s err ] || atf_fail "$2: $c: $s"
	done
}

# what role calls: each of the calls fails, every time
FULL="ENFILE parent accept open
ENFILE runner accept open pipe socket
ENFILE broker socket
ENFILE store open
ENFILE sandboxctl socket
nofd frontend recvmsg
nofd runner recvmsg
nofd sandboxctl recvmsg"

atf_test_case full cleanup
full_head()
{
	atf_set descr '(c39) ENFILE, and descriptors that get lost'
	atf_set timeout 900
}
full_body()
{
	shim_use
	world "restart 1000 per 1s"
	atf_check -o ignore "$CTL" create -i box
	atf_check -o save:exec "$CTL" exec -d box sh -c \
	    'until [ -e go ]; do usleep 100000; done; exit 5'
	echo "$FULL" >table
	while read -r what role calls; do
		for c in $calls; do
			case $what in
			nofd)	shim $role $c nofd 0 1 2 ;;
			*)	shim $role $c error $what 1 1 ;;
			esac
		done
		# Those that wait for the table to have room are not failed.
		if [ $role != parent ]; then
			ctl=$CTL
			[ $role != sandboxctl ] || ctl=$SHIMCTL
			full_work "$ctl" "$what $role"
		else
			timeout 60 "$CTL" list >out 2>err </dev/null &
			waiting=$!
			await 'hit parent accept'
		fi
		for c in $calls; do
			! hit $role $c || echo "$what $role $c" >>hits
		done
		shim all off
		if [ $role = parent ]; then
			wait $waiting || atf_fail "it was forgotten"
		fi
		await 'timeout 20 "$CTL" exec box true 2>/dev/null </dev/null'
	done <table
	grep -q "ENFILE runner" hits && grep -q "ENFILE sandboxctl" hits &&
	    grep -q "nofd frontend" hits && grep -q "nofd sandboxctl" hits ||
	    atf_fail "only hit: $(cat hits)"
	touch "$STATE/work/1/go"
	atf_check -s exit:5 timeout 120 "$CTL" wait "$(cat exec)"
	await '! "$CTL" list -a | grep -q pending'
	atf_check -o ignore "$CTL" delete box
	nothing_left
	atf_check -o match:"^events" "$CTL" log verify
	daemon_stop
}
full_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case full
	atf_add_test_case guest
	atf_add_test_case storm
}
