# The pipes between the processes: nonsense on each of them, and no room.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

BIN=$SBX_FAULTBIN

_number()
{
	case $1 in
	parent) echo 0 ;;
	frontend) echo 1 ;;
	store) echo 2 ;;
	broker) echo 3 ;;
	runner) echo 4 ;;
	esac
}

_process()
{
	if [ "$1" = parent ]; then
		daemon_pid
	else
		daemon_child "$1"
	fi
}

_replaced()
{
	p=$(daemon_child "$1") && [ "$p" != "$2" ] && "$CTL" ping >/dev/null 2>&1
}

# Told by its victim, which dies of it, and with it the set.
nonsense()	# from to kind
{
	old=$(daemon_child store) || atf_fail "no store"
	pid=$(_process "$1") || atf_fail "no $1"
	lines=$(wc -l <"$LOG")
	"$(atf_get_srcdir)/h_nonsense" "$pid" \
	    $((2 * $(_number "$2") + $3)) || atf_fail "no $1"
	await "_replaced store $old"
	tail -n "+$((lines + 1))" "$LOG" >said
	if [ "$2" = parent ] && [ "$3" = 0 ]; then
		want="$1\\[$pid\\]: broke the protocol; killed"
	elif [ "$2" = parent ]; then
		want="$1\\[$pid\\]: sent a malformed frame; killed"
	elif [ "$3" = 0 ]; then
		want="^$2: .*unexpected .*9999.* from $1"
	else
		want="^$2: .*bad frame from $1"
	fi
	grep -q "$want" said || {
		cat said
		atf_fail "$1 to $2, kind $3: not \"$want\""
	}
}

atf_test_case nonsense cleanup
nonsense_head()
{
	atf_set descr '(b14) nonsense of one process to another, each way:' \
	    'fatal by name, and another set'
	atf_set timeout 1200
}
nonsense_body()
{
	# Not one death of the past makes the next set wait.
	daemon_start "restart 1000 per 1s"
	kind=0
	for p in parent:frontend parent:store parent:broker parent:runner \
	    frontend:parent store:parent broker:parent runner:parent \
	    frontend:store store:frontend store:broker broker:store \
	    store:runner runner:store runner:frontend frontend:runner; do
		nonsense "${p%:*}" "${p#*:}" $kind
		[ "${SOAK:-no}" != yes ] ||
		    nonsense "${p%:*}" "${p#*:}" $((1 - kind))
		kind=$((1 - kind))
	done
	daemon_stop
}
nonsense_cleanup()
{
	daemon_cleanup
}

# What goes through all of them in each direction, several at a time.
atf_test_case one_frame cleanup
one_frame_head()
{
	atf_set descr '(c41) buffers between the processes that hold one frame'
	atf_set timeout 1200
}
one_frame_body()
{
	SANDBOXD_SNDBUF=1
	export SANDBOXD_SNDBUF
	world
	"$CTL" events -f >events 2>&1 &
	follower=$!
	box -i one
	box -i two
	# Commands that are larger than a buffer, and what they write.
	big=$(head -c 60000 /dev/zero | tr '\0' x)
	atf_check -o inline:"60000\n" "$CTL" exec one sh -c \
	    'echo ${#1}' sh "$big"
	head -c 3000000 /dev/urandom >in
	n=0
	pids=
	while [ $n -lt 8 ]; do
		n=$((n + 1))
		"$CTL" exec $([ $((n % 2)) = 0 ] && echo one || echo two) \
		    cat <in >out.$n 2>err.$n &
		pids="$pids $!"
	done
	for p in $pids; do
		wait "$p" || atf_fail "a command failed: $(cat err.*)"
	done
	n=0
	while [ $n -lt 8 ]; do
		n=$((n + 1))
		cmp in out.$n || atf_fail "other bytes"
	done
	# Many at a time, of which each makes events.
	pids=
	n=0
	while [ $n -lt 20 ]; do
		n=$((n + 1))
		"$CTL" exec -d one sh -c "echo $n" >d.$n 2>&1 &
		pids="$pids $!"
	done
	for p in $pids; do
		wait "$p" || atf_fail "$(cat d.*)"
	done
	n=0
	while [ $n -lt 20 ]; do
		n=$((n + 1))
		atf_check -o ignore "$CTL" wait "$(cat d.$n)"
		atf_check -o inline:"$n\n" "$CTL" logs "$(cat d.$n)"
	done
	atf_check -o ignore "$CTL" stop two
	atf_check -o ignore "$CTL" resume two
	atf_check -o inline:"back\n" "$CTL" exec two echo back
	atf_check -o ignore "$CTL" delete one
	atf_check -o ignore "$CTL" delete two
	await '[ "$(grep -c "sandbox.deleted" events)" = 2 ]'
	kill "$follower"
	log_has ' died: ' && atf_fail "$(grep ' died: ' "$LOG")"
	daemon_stop
	nothing_left
}
one_frame_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case nonsense
	atf_add_test_case one_frame
}
