# A process is killed at each fault point in turn, while it works; then the
# daemon is killed and started again: nothing that was accepted is missing,
# everything comes to a state of rest, and nothing is left over.
#
# The points are those in the sources, so a new one has its case at once.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# Those of dumps, their restoration and the proof are faults/t_backup's.
points()
{
	grep -rho --include='*.c' 'fault("[a-z_.]*")' "$SBX_TOP/lib" \
	    "$SBX_TOP/sandboxd" | sed 's/.*"\(.*\)".*/\1/' | sort -u |
	    grep -v -e '^restore\.' -e '^store\.dump\.' -e '^store\.verify\.'
}

# Rows of the list of faults that the points stand for.
row_of()
{
	case $1 in
	frontend.*) echo "(c01) " ;;
	broker.create.*|broker.inspect.*) echo "(c02) " ;;
	broker.kill.*|broker.remove.*) echo "(c03) " ;;
	store.commit.*|store.batch.*) echo "(c04) " ;;
	parent.*) echo "(c05) " ;;
	esac
}

# What a client gets an answer to, it notes: these are promises.
ask()
{
	[ ! -e over ] || return 1
	timeout 60 "$CTL" "$@" </dev/null 2>>ask.err
}

# What is asked of files: the first to fail is told so, the rest is not asked.
files_work()
{
	e=$(ask exec -d ten true) || return
	ask wait "$e" >/dev/null || return
	for c in "put -a ten new text" "get ten text -"; do
		s=0
		# shellcheck disable=SC2086
		timeout 60 "$CTL" $c </dev/null >got 2>call.err || s=$?
		echo $s >"${c%% *}.status"
		[ $s -eq 0 ] || break
	done
}

# The caller was told the truth, and a file is the old one or the new one.
files_check()
{
	told=0
	for c in put get; do
		[ -e $c.status ] || continue
		case $(cat $c.status) in
		0)	;;
		69)	told=$((told + 1))
			atf_check -o match:'(unavailable)' cat call.err
			;;
		*)	atf_fail "$c: $(cat $c.status): $(cat call.err)" ;;
		esac
	done
	[ $told -eq 1 ] || atf_fail "$told were told that it failed"
	atf_check -o save:text "$CTL" get ten text -
	case $(cat put.status) in
	0)	cmp text new || atf_fail "it is not the new one" ;;
	*)	cmp text old || cmp text new || atf_fail "neither old nor new" ;;
	esac
	if [ -e get.status ]; then
		cmp -n "$(wc -c <got)" got new || atf_fail "other bytes"
		[ "$(cat get.status)" -ne 0 ] || cmp got new ||
		    atf_fail "it was not all there"
	fi
	await '[ "$("$CTL" exec ten ls -A)" = text ]'
}

workload()
{
	if [ -n "$files" ]; then
		files_work
		: >worked
		return
	fi
	ask image base >/dev/null
	if ask create -d -i first >/dev/null; then
		echo first >>created
	fi
	# shellcheck disable=SC2086
	if ask create -i second $with >/dev/null; then
		echo second >>created
	fi
	if e=$(ask exec -d second sh -c 'echo out; exit 7'); then
		echo "$e" >>execs
		ask wait "$e" >/dev/null
		ask logs "$e" >/dev/null
	fi
	ask exec second cat /etc/passwd >/dev/null
	ask extend -q 1d second >/dev/null
	[ -z "$due" ] || ask create -d -i brief -T 3s >/dev/null
	[ -e over ] || echo in | timeout 60 "$CTL" exec second cat >/dev/null \
	    2>>ask.err
	ask exec second /no/such/file >/dev/null
	# More than its log may hold.
	ask exec second head -c 3000000 /dev/zero >/dev/null
	if e=$(ask exec -d second sleep 1000); then
		ask kill "$e" >/dev/null
	fi
	ask update -m 96M -p 90 -l changed=yes second >/dev/null
	[ -z "$deaf" ] || guest_signal STOP
	ask stop second >/dev/null
	ask resume second >/dev/null
	guest_ends
	ask pause second >/dev/null
	ask unpause second >/dev/null
	ask restart second >/dev/null
	[ -z "$deaf" ] || guest_signal STOP
	ask stop second >/dev/null
	if ask delete second >/dev/null; then
		echo second >>deleted
	fi
	: >worked
}

# A kill is made only if the guest does not end by itself.
guest_signal()
{
	c=$(engine_docker ps -q --no-trunc --filter label=sandboxd.id=second \
	    --filter "label=sandboxd.instance=$(cat "$STATE/instance")")
	[ -n "$c" ] || return 0
	kill -"$1" "$(engine_docker inspect -f '{{.State.Pid}}' "$c")"
}

# It dies, or nobody lets it go on and it is asked: that takes half a minute,
# for these points alone.
guest_ends()
{
	[ -n "$ends" ] || return 0
	guest_signal "$ends"
	ask exec second true >/dev/null
	await '"$CTL" show second 2>&1 | grep -q "^state  *stopped" ||
	    [ -e over ]' 120
	ask resume second >/dev/null
}

# The parent tells the death of a child, and nobody tells its own.  That the
# guest's points are passed is seen to by the guest's own tests.
fired()
{
	case $1 in
	parent.*) _gone "$(daemon_pid)" ;;
	guest.*) [ -e worked ] ;;
	*)	grep -q 'signal 9' "$LOG" ;;
	esac
}

# Ten that run all the while, in a sandbox that is left alone.
LONG='n=0; while [ $n -lt 100 ]; do echo "$1 line $n"; n=$((n + 1))
	usleep 20000; done; exit $1'

ten_start()
{
	daemon_start
	await daemon_engine_is_up
	engine_docker image inspect sandbox-base >/dev/null 2>&1 ||
	    atf_check -o ignore -e ignore "$CTL" image base
	atf_check -o ignore "$CTL" create -i ten
	[ -z "$again" ] || atf_check -o ignore "$CTL" create -R -i again
	i=0
	while [ $i -lt 10 ]; do
		i=$((i + 1))
		"$CTL" exec -d ten sh -c "$LONG" x $i </dev/null >>ten ||
		    atf_fail "exec $i"
	done
	if [ -n "$files" ]; then
		head -c 1048576 "$SBX_BIN/sandboxd" >old
		tr '\000-\377' '\001-\377\000' <old >new
		atf_check -o ignore "$CTL" put ten old text
	fi
	daemon_stop
	[ -z "$again" ] || again_ends
	log_cut
}

# One that is resumed by the daemon: it dies while nobody is there.
again_ends()
{
	engine_docker kill "$(engine_docker ps -q --no-trunc \
	    --filter label=sandboxd.id=again \
	    --filter "label=sandboxd.instance=$(cat "$STATE/instance")")" \
	    >out 2>&1 || atf_fail "$(cat out)"
}

# It runs, and was not resumed twice.
again_check()
{
	await '"$CTL" show again | grep -q "^state  *ready"' 120
	atf_check -o inline:"hello\n" "$CTL" exec again echo hello
	"$CTL" events again >events || atf_fail "no events"
	[ "$(grep -c ' sandbox.resume .*rule=resume-on-start' events)" -eq 1 ] ||
	    atf_fail "resumed again: $(cat events)"
	atf_check -o ignore "$CTL" delete again
}

ten_check()
{
	i=0
	while read -r e; do
		i=$((i + 1))
		s=0
		timeout 120 "$CTL" wait "$e" >out 2>&1 </dev/null || s=$?
		[ $s -eq $i ] ||
		    atf_fail "$e ended with $s, not $i: $(head -n 1 out)"
		n=0
		while [ $n -lt 100 ]; do
			echo "$i line $n"
			n=$((n + 1))
		done >want
		"$CTL" logs "$e" >out 2>err </dev/null ||
		    atf_fail "logs $e: $(cat err)"
		cmp out want || atf_fail "output of $e"
	done <ten
	[ $i -eq 10 ] || atf_fail "$i execs, not 10"
}

# Nothing is on its way any more.
at_rest()
{
	"$CTL" list -a >list 2>/dev/null &&
	    ! grep -qE 'pending|pausing|stopping|resuming|deleting' list
}

# The Engine and the log have the same limits.
same_limits()
{
	c=$(engine_docker ps -aq --no-trunc --filter label=sandboxd.id=second \
	    --filter "label=sandboxd.instance=$(cat "$STATE/instance")")
	[ -n "$c" ] || return 0
	engine_docker inspect -f \
	    '"memory":{{.HostConfig.Memory}},"mcpus":' "$c" >limits
	"$CTL" -j list -a | grep '"id":"second"' | grep -qF "$(cat limits)"
}

check_promises()
{
	touch created deleted execs
	while read -r id; do
		! grep -qx "$id" deleted || continue
		"$CTL" show "$id" >show 2>&1 ||
		    atf_fail "$id was accepted: $(head -n 1 show)"
	done <created
	while read -r e; do
		case $1 in
		guest.*) continue ;;
		esac
		# Its history was to go with the deleted sandbox's.
		[ -z "$retain" ] || ! grep -qx "${e%.*}" deleted || continue
		s=0
		timeout 60 "$CTL" wait "$e" >out 2>&1 </dev/null || s=$?
		[ $s -eq 7 ] ||
		    atf_fail "$e ended with $s: $(head -n 1 out)"
		[ "$("$CTL" logs "$e")" = out ] || atf_fail "output of $e"
	done <execs
}

one_point()
{
	BIN=$SBX_FAULTBIN
	daemon_use main
	# A history's end is waited for by its own points alone.
	case $1 in
	runner.remove.*|store.collect.*) retain="retain { history 1s }" ;;
	*)	retain= ;;
	esac
	case $1 in
	broker.kill.*) deaf="timeouts { stop 1s }" ;;
	*)	deaf= ;;
	esac
	# Nor is the end of a lifetime waited for by others.
	case $1 in
	store.due.*) due=yes ;;
	*)	due= ;;
	esac
	case $1 in
	store.silent.*|runner.silent.*|runner.ping.*) ends=STOP ;;
	store.dead.*|runner.dead.*) ends=KILL ;;
	*)	ends= ;;
	esac
	case $1 in
	store.again.*) again=yes ;;
	*)	again= ;;
	esac
	# Nor has any other a directory of the host's.
	case $1 in
	*.mounts.*)
		host=$(mktemp -d /tmp/sbm.XXXXXX) || atf_fail "no folder"
		echo "$host" >host
		with="-v $host:/mnt/host"
		mounts="policy { image allow \"*\" mount allow \"$host\" }"
		;;
	*)	with= mounts= ;;
	esac
	# Calls about files have a workload of their own.
	case $1 in
	runner.call.*|runner.credit.*|runner.input_end.*|runner.pass.*|\
	runner.result.*|frontend.result.*|frontend.stream.*) files=yes ;;
	*)	files= ;;
	esac
	daemon_conf "limits { log 1M }
$retain
$deaf
$mounts"
	ten_start
	case $1 in
	guest.*) export SANDBOXD_GUEST_FAULT="$1:$2" ;;
	*)	export SANDBOXD_FAULT="$1:$2" ;;
	esac
	daemon_run
	unset SANDBOXD_FAULT SANDBOXD_GUEST_FAULT
	await "daemon_engine_is_up || fired $1" 60
	workload &
	work=$!
	await "[ -e worked ] || fired $1" 300
	[ -z "$retain$due" ] || await "fired $1" 60
	# Who asked about a file is told while the daemon lives.
	[ -z "$files" ] || await "[ -e worked ]"
	fired "$1" || {
		cat ask.err >&2
		"$CTL" events >&2
		atf_fail "the point was not passed"
	}
	: >over
	case $1 in
	parent.*) await '[ -z "$(_daemon_pids "$D")" ]' 60 ;;
	*)	# It ends by itself if the log was not open yet.
		kill -KILL "$(daemon_pid)" 2>/dev/null
		await '[ -z "$(_daemon_pids "$D")" ]' 60
		;;
	esac

	# A client that waits for an answer finds the new one by itself.
	daemon_start
	await daemon_engine_is_up
	wait $work
	await at_rest 120
	await same_limits 60
	[ -z "$retain" ] || await '! "$CTL" show second >/dev/null 2>&1'
	await '! "$CTL" list | grep -q brief' 120
	check_promises "$1"
	ten_check
	[ -z "$files" ] || files_check
	[ -z "$again" ] || again_check
	atf_check -o ignore -e ignore "$CTL" image base
	atf_check -o ignore "$CTL" create -i third
	atf_check -o inline:"hello\n" "$CTL" exec third echo hello
	for id in first second third ten; do
		! "$CTL" show "$id" >/dev/null 2>&1 ||
		    atf_check -o ignore "$CTL" delete "$id"
	done
	nothing_left
	! grep -q " $STATE/mounts/" /proc/self/mountinfo ||
	    atf_fail "mounts are left"
	atf_check -o ignore "$CTL" log verify
	daemon_stop
}

fault_case()
{
	n=$(echo "$1" | tr . _)_$2
	eval "atf_test_case $n cleanup
	${n}_head()
	{
		atf_set descr '$(row_of "$1")killed at pass $2 of $1'
		atf_set timeout 900
	}
	${n}_body()
	{
		one_point $1 $2
	}
	${n}_cleanup()
	{
		daemon_cleanup
		[ ! -f host ] || rmdir \$(cat host)
	}"
	CASES="$CASES $n"
}

CASES=
for p in $(points); do
	# As often as the workload is sure to come by.
	case $p in
	store.again.*|store.checkpoint.*|store.collect.*|store.dead.*|\
	store.due.*|store.extend.*|store.greet.*|store.inventory.*|\
	store.silent.*|store.update.*|\
	store.updated.*) passes=1 ;;
	parent.mounts.*) passes="$(figure 1 "1 2 3")" ;;
	store.mounts.*) passes=1 ;;
	store.commit.*|store.mark.*|store.batch.*|store.change.*|\
	store.engine.*|store.outcome.*)
		passes="$(figure 4 "1 2 3 4 5 6")" ;;
	store.*) passes="$(figure 2 "1 2")" ;;
	broker.import.*|broker.inventory.*|broker.remove.*|broker.update.*|\
	parent.remove.*|runner.dead.*|runner.not_started.*|runner.ping.*|\
	runner.remove.*|runner.silent.*) passes=1 ;;
	runner.credit.*|runner.input_end.*) passes=1 ;;
	# Who puts a file asks first what has its name; to get it is the third.
	runner.pass.after|frontend.stream.after)
		passes="$(figure 3 "1 2 3 4")" ;;
	runner.call.*|runner.pass.*|runner.result.*|frontend.result.*)
		passes="$(figure 2 "1 2 3 4")" ;;
	broker.create.*|broker.freeze.*|broker.image.*|broker.inspect.*|\
	broker.kill.*|\
	runner.gone.*)
		passes="$(figure 1 "1 2")" ;;
	*) passes="$(figure 1 "1 2 3")" ;;
	esac
	for n in $passes; do
		fault_case "$p" "$n"
	done
done

atf_init_test_cases()
{
	for c in $CASES; do
		atf_add_test_case "$c"
	done
}
