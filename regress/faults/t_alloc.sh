# Memory that is not there, at the n-th time that a process asks for it.
#
#	of whom			what must come of it
#	---------------------	---------------------------------------------
#	each child, while it	the request is refused, or its process is
#	works			replaced; nothing that was accepted is missing,
#				no answer is wrong, and all is served again
#	each child, at its	it starts, or it does not and says so
#	start
#	sandboxctl		it does what it was asked to, or says why not
#	sandboxctl session	each answer is right, and each request has one
#				end, or the session ends and says why

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/shim.subr"

# Nobody can replace the allocator of the sanitizers.
with_asan()
{
	ldd "$SBX_FAULTBIN/sandboxd" | grep -q libasan || return 1
	untried "the sanitizers have an allocator of their own"
}

# To fail is no error; to hang is.
may()
{
	local s

	s=0
	timeout -k 5 60 "$CTL" "$@" || s=$?
	[ $s -ne 124 ] && [ $s -ne 137 ] || {
		_show_log 2>&9
		atf_fail "it hangs: $*"
	}
	return $s
}

# Work of each kind.  What is answered must be right.
work()
{
	: >work.err
	if may exec "$BOX" cat <input >out 2>>work.err; then
		cmp input out || atf_fail "$1: another output"
	fi
	if may exec -d "$BOX" sh -c 'exit 7' >exec 2>>work.err; then
		e=$(cat exec)
		echo "$e" >>execs
		s=0
		may wait "$e" 2>>work.err || s=$?
		case $s in
		7|125) ;;
		*)	atf_fail "$1: wait: $s: $(cat work.err)" ;;
		esac
	fi
	if may events "$BOX" >events 2>>work.err; then
		awk '$5 != NR { exit 1 } END { exit NR < 2 }' events ||
		    atf_fail "$1: an event is missing"
	fi
	if may list >list 2>>work.err; then
		grep -q "^$BOX .*ready" list || atf_fail "$1: not in the list"
	fi
	may create -i "x$1" -I no-such-image >out 2>>work.err || :
	may delete "x$1" >out 2>>work.err || :
}

# Whatever was accepted has its end, and the next is served.
served()
{
	await '[ "$(timeout -k 5 20 "$CTL" exec "$BOX" echo hi 2>err)" = hi ]'
	! _gone "$(daemon_pid)" || atf_fail "$1: the parent is gone"
}

alloc_world()
{
	# Where what is said can be seen, whatever is redirected then.
	exec 9>&2
	shim_use
	world "restart 1000 per 1s
limits { sandboxes 1000 }
retain { history 1s }"
	head -c 100000 /dev/urandom >input
	accepted=no
	box_begin 0
}

# The same work asks for more memory with each event that there is to read: a
# sandbox that lasted for the whole sweep would have it run after its own end.
box_begin()
{
	BOX=box$1
	atf_check -o ignore "$CTL" create -i "$BOX"
	: >execs
}

box_end()
{
	while read -r e; do
		accepted=yes
		await 's=0; timeout -k 5 60 "$CTL" wait "$e" 2>err </dev/null ||
		    s=$?; [ $s -eq 7 ]'
	done <execs
	atf_check -o ignore "$CTL" delete "$BOX"
}

alloc_end()
{
	box_end
	[ $accepted = yes ] || atf_fail "nothing was accepted"
	atf_check -o match:"^events" "$CTL" log verify
	await '! "$CTL" list -a | grep -q pending'
	nothing_left
	daemon_stop
}

# A sweep goes on until nobody has asked for that much memory twenty times in
# a row.
more()	# role
{
	if hit "$1" alloc; then
		hits=$((hits + 1))
		misses=0
	else
		misses=$((misses + 1))
	fi
	[ $misses -lt 20 ]
}

# The first of them fall on what is allocated once, and so on.
points()
{
	n=1
	while [ $n -le "$1" ]; do
		echo $n
		n=$((n + 1 + n * $2 / 10))
	done
}

alloc_case()
{
	eval "atf_test_case $1 cleanup
	$1_head()
	{
		atf_set descr '(c38) the $1 has no memory, once'
		atf_set timeout 7200
	}
	$1_body()
	{
		alloc_body $1 $2 $3 $4
	}
	$1_cleanup()
	{
		daemon_cleanup
	}"
	CASES="$CASES $1"
}

# A filter that lacks a line, since an allocation for it failed, errs on the
# safe side.
alloc_body()
{
	! with_asan || return 0
	sigsys_meant
	alloc_world
	hits=0 misses=0 rounds=0
	for n in $(points "$2" "$(figure $4 "$3")"); do
		shim "$1" alloc error ENOMEM "$n" 0
		work "$n"
		more "$1" || break
		shim "$1" off
		served "$1 $n"
		rounds=$((rounds + 1))
		[ $((rounds % 10)) -ne 0 ] || {
			box_end
			box_begin "$n"
		}
	done
	shim "$1" off
	served "$1 $n"
	echo "$1: $hits, the last of them $n"
	[ $hits -gt 2 ] || atf_fail "hit $hits times only"
	# No memory is no full disk, for which all new work is refused.
	! log_has "no space for the event log" || atf_fail "$1: a full disk"
	alloc_end
}

CASES=
alloc_case frontend 4000 0 30
alloc_case store 4000 0 3
alloc_case broker 200 0 10
alloc_case runner 200 0 10

atf_test_case client cleanup
client_head()
{
	atf_set descr '(c38) sandboxctl has no memory, once'
	atf_set timeout 7200
}
client_body()
{
	! with_asan || return 0
	alloc_world
	# The few in a row are where it sends what it has to say.
	for n in $(points 500 "$(figure 10 0)") $(figure "$(seq 25 44)" ""); do
		shim sandboxctl alloc error ENOMEM "$n" 0
		s=0
		timeout -k 5 60 "$SHIMCTL" exec "$BOX" cat <input >out 2>err || s=$?
		case $s in
		0)	cmp input out || atf_fail "$n: another output" ;;
		124|12[6-9]|1[3-9]?) atf_fail "exec $n: status $s" ;;
		*)	[ -s err ] || atf_fail "exec $n: $s, and no reason" ;;
		esac
		shim sandboxctl alloc error ENOMEM "$n" 0
		s=0
		timeout -k 5 60 "$SHIMCTL" -j list >out 2>err || s=$?
		case $s in
		0)	grep -q "\"$BOX\"" out || atf_fail "list $n: $(cat out)" ;;
		124|1??) atf_fail "list $n: status $s" ;;
		*)	[ -s err ] || atf_fail "list $n: $s, and no reason" ;;
		esac
	done
	shim sandboxctl off
	atf_check -o save:execs "$CTL" exec -d "$BOX" sh -c 'exit 7'
	alloc_end
}
client_cleanup()
{
	daemon_cleanup
}

lines()
{
	/usr/bin/python3 -I -B "$(atf_get_srcdir)/lines.py" "$@"
}

# What was to be written is there whole, or what was there before.
whole()
{
	printf a >want
	awk 'BEGIN { for (i = 0; i < 1000; i++) printf "b" }' >want2
	"$CTL" cat "$BOX" edited >got
	cmp -s got want || cmp -s got want2 || atf_fail "$1: half an edit"
	if "$CTL" cat "$BOX" written >got 2>err; then
		lines file large | cmp - got || atf_fail "$1: half a file"
	else
		grep -q file_not_found err || atf_fail "$1: $(cat err)"
	fi
	atf_check "$CTL" put "$BOX" want edited
	"$CTL" rm "$BOX" written 2>err || :
}

atf_test_case session cleanup
session_head()
{
	atf_set descr '(c38) sandboxctl session has no memory, once'
	atf_set timeout 7200
}
session_body()
{
	! with_asan || return 0
	alloc_world
	for f in every text; do
		lines file $f >$f
		atf_check "$CTL" put "$BOX" $f $f
	done
	printf a >want
	atf_check "$CTL" put "$BOX" want edited
	lines ask "$BOX" >asked
	hits=0 misses=0
	for n in $(points 100000 "$(figure 3 0)"); do
		shim sandboxctl alloc error ENOMEM "$n" 0
		s=0
		timeout -k 5 60 "$SHIMCTL" session <asked >out 2>err || s=$?
		case $s in
		124|12[6-9]|1[3-9]?) atf_fail "$n: status $s: $(cat err)" ;;
		esac
		lines check "$BOX" out $s err >why 2>&1 ||
		    atf_fail "$n: status $s: $(tail -n 1 why) $(cat err)"
		more sandboxctl || break
		shim sandboxctl off
		whole "$n"
		# It waits for input, of whoever may attach to it.
		"$CTL" ps "$BOX" | awk '$2 == "running" { print $1 }' |
		    xargs -r -n 1 "$CTL" kill -s KILL
	done
	shim sandboxctl off
	echo "session: $hits, the last of them $n"
	[ $hits -gt 20 ] || atf_fail "hit $hits times only"
	atf_check -o save:execs "$CTL" exec -d "$BOX" sh -c 'exit 7'
	alloc_end
}
session_cleanup()
{
	daemon_cleanup
}

atf_test_case start cleanup
start_head()
{
	atf_set descr '(c38) a child that starts has no memory, once'
	atf_set timeout 7200
}
start_body()
{
	! with_asan || return 0
	sigsys_meant
	shim_use
	daemon_conf
	for r in frontend store broker runner; do
		hits=0 misses=0
		for n in $(points "$(figure 60 3000)" "$(figure 20 0)"); do
			log_cut
			shim $r alloc error ENOMEM "$n" 0
			daemon_run
			await _up_or_dead
			last=no
			more $r || last=yes
			shim $r off
			if _gone "$(daemon_pid)"; then
				[ -s "$LOG" ] ||
				    atf_fail "$r $n: it ends without a word"
			else
				await daemon_engine_is_up
				kill "$(daemon_pid)"
				await '_gone "$(daemon_pid)"'
			fi
			[ $last = no ] || break
		done
		echo "$r: $hits, the last of them $n"
	done
	daemon_start
	atf_check -o match:"^events" "$CTL" log verify
	daemon_stop
}
start_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	for c in $CASES; do
		atf_add_test_case "$c"
	done
	atf_add_test_case client
	atf_add_test_case session
	atf_add_test_case start
}
