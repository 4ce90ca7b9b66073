# The disk under the event log fails, is slow, or cannot be written any more,
# while the daemon works.
#
#	what			what must come of it
#	---------------------	---------------------------------------------
#	one sync fails		what it was for is not answered as done; the
#				store ends, at the first, and the next one
#				recovers; what was answered before is there
#	one sync fails when	it ends or does not start, and the next start
#	the daemon stops, or	has everything
#	starts
#	a sync takes long	output goes on meanwhile, requests wait and
#				are answered
#	read-only		changes are refused, with a line in the log;
#				reads are served; nobody dies of it

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/shim.subr"

WHY="database: sync: Input/output error"

another_store()
{
	local p

	p=$(daemon_child store) && [ "$p" != "$1" ]
}

atf_test_case fails cleanup
fails_head()
{
	atf_set descr '(c33) a sync of the event log fails once'
	atf_set timeout 1200
}
fails_body()
{
	shim_use
	world "restart 1000 per 1s"
	box
	atf_check -o save:before "$CTL" exec -d "$BOX" sh -c 'exit 9'
	# Nothing else is to be written when the first of them is asked for.
	atf_check -s exit:9 timeout 120 "$CTL" wait "$(cat before)"
	# The first is the request's own, the next are those of its end.
	for n in $(figure "1 2 3" "$(seq 1 20)"); do
		store=$(daemon_child store)
		log_cut
		shim store sync error EIO "$n" 0
		s=0
		timeout 120 "$CTL" exec "$BOX" sh -c 'exit 7' >out 2>err ||
		    s=$?
		# A sync for each of its ends may be one for both.
		hit store sync || timeout 120 "$CTL" exec "$BOX" sh -c \
		    'exit 7' >out 2>err || s=$?
		case $n,$s in
		1,125) grep -q "(unavailable)" err || atf_fail "$(cat err)" ;;
		1,*)	atf_fail "answered with $s" ;;
		*,7|*,125) ;;
		*)	atf_fail "sync $n: $s: $(cat err)" ;;
		esac
		if hit store sync; then
			await "another_store $store"
			await "log_has 'store: fatal: $WHY'"
		fi
		shim store off
		await '"$CTL" exec "$BOX" true 2>/dev/null'
	done
	atf_check -s exit:9 timeout 120 "$CTL" wait "$(cat before)"
	atf_check -o match:"^events" "$CTL" log verify
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
fails_cleanup()
{
	daemon_cleanup
}

atf_test_case fails_idle cleanup
fails_idle_head()
{
	atf_set descr '(c33) a sync fails when the daemon starts or stops'
	atf_set timeout 1200
}
fails_idle_body()
{
	shim_use
	daemon_start
	await daemon_engine_is_up
	atf_check -o ignore "$CTL" create -d -i one -I no-such-image
	await '"$CTL" list | grep -q "^one .*failed"'
	for n in 1 2 3; do
		shim store sync error EIO $n 0
		daemon_stop
		log_cut
		shim store sync error EIO $n 0
		daemon_run
		await _up_or_dead
		# What is written after the start is a death like any other.
		if hit store sync; then
			await "log_has 'store: fatal: $WHY'"
			await '_gone "$(daemon_pid)" || "$CTL" ping >out 2>&1'
		fi
		shim store off
		_gone "$(daemon_pid)" || daemon_kill
		daemon_start
		atf_check -o match:"^one .*failed" "$CTL" list
		atf_check -o match:"^events" "$CTL" log verify
	done
	daemon_stop
}
fails_idle_cleanup()
{
	daemon_cleanup
}

more_ticks()
{
	[ "$(wc -l <ticks)" -gt $(($1 + 3)) ]
}

atf_test_case slow cleanup
slow_head()
{
	atf_set descr '(c33) a sync that takes long'
	atf_set timeout 600
}
slow_body()
{
	shim_use
	world
	box
	timeout 120 "$CTL" exec "$BOX" sh -c \
	    'until [ -e go ]; do echo tick; usleep 50000; done; exit 5' \
	    >ticks 2>&1 </dev/null &
	attached=$!
	await 'more_ticks 0'
	# Until it is taken back.
	shim store sync delay 600000 1 1
	timeout 120 "$CTL" create -d -i late -I no-such-image >out 2>&1 &
	creating=$!
	await 'hit store sync'
	timeout 120 "$CTL" list >list 2>&1 &
	listing=$!
	await "more_ticks $(wc -l <ticks)"
	! _gone $creating && [ ! -s out ] || atf_fail "answered: $(cat out)"
	atf_check_equal "1 1" "$(shim store sync)"
	shim store off
	wait $creating || atf_fail "create: $(cat out)"
	wait $listing || atf_fail "list: $(cat list)"
	grep -q "^$BOX .*ready" list || atf_fail "$(cat list)"
	touch "$STATE/work/1/go"
	s=0
	wait $attached || s=$?
	atf_check_equal 5 $s
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
slow_cleanup()
{
	daemon_cleanup
}

atf_test_case readonly cleanup
readonly_head()
{
	atf_set descr '(c34) the file system of the database turns read-only'
	atf_set timeout 600
}
readonly_body()
{
	shim_use
	world
	box
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'until [ -e go ]; do usleep 100000; done; echo done; exit 5'
	await '"$CTL" ps "$BOX" | grep -q running'
	pids=$(cat "/proc/$(daemon_pid)/task/$(daemon_pid)/children")
	for c in write pwrite truncate open remove rename mkdir; do
		shim store $c error EROFS 1 1 files
	done
	for i in 1 2; do
		atf_check -s exit:125 -e match:"(unavailable)" \
		    "$CTL" exec -d "$BOX" true
		atf_check -s exit:69 -e match:"cannot be written.*unavail" \
		    "$CTL" create -d -i two
		atf_check -s exit:69 -e match:"(unavailable)" \
		    "$CTL" delete "$BOX"
	done
	await 'log_has "store: .*Read-only file system"'
	atf_check -o match:"^$BOX .*ready" "$CTL" list
	atf_check -o match:"running" "$CTL" ps "$BOX"
	atf_check -o match:"sandbox.ready" "$CTL" events
	atf_check -o match:"^events" "$CTL" log verify
	touch "$(find "$STATE/work" -mindepth 1 -maxdepth 1)/go"
	await '[ "$("$CTL" logs "$(cat exec)")" = done ]'
	shim store off
	atf_check -s exit:5 timeout 120 "$CTL" wait "$(cat exec)"
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	atf_check_equal "$pids" \
	    "$(cat "/proc/$(daemon_pid)/task/$(daemon_pid)/children")"
	! "$CTL" list -a | grep -q "^two" || atf_fail "refused, and there"
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	atf_check -o match:"^events" "$CTL" log verify
	daemon_stop
	daemon_start
	atf_check -o match:"^events" "$CTL" log verify
	daemon_stop
}
readonly_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case fails
	atf_add_test_case fails_idle
	atf_add_test_case slow
	atf_add_test_case readonly
}
