# forward: connections to ports of a sandbox that has no network.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# A sandbox with the program of servers in it.
begin()
{
	musl-gcc -static -D_GNU_SOURCE -o net \
	    "$SBX_TOP/regress/files/h_net.c" || atf_fail "no program"
	world
	box
	atf_check "$CTL" put "$BOX" net net
}

# server kind: its port inside is INSIDE, its name SERVER
server()
{
	local e

	e=$("$CTL" exec -d "$BOX" ./net server "$1" </dev/null) ||
	    atf_fail "no server"
	await "\"$CTL\" logs $e | grep -q ." 60
	INSIDE=$("$CTL" logs "$e")
	SERVER=$e
}

# forward ports: in the background, its number in FWD, the host's port in PORT
forward()
{
	: >address
	"$CTL" forward "$BOX" "$1" >address 2>forward.err &
	FWD=$!
	await "[ -s address ] || ! kill -0 $FWD 2>/dev/null" 60
	PORT=$(sed -n 's/^127\.0\.0\.1:\([0-9]*\)$/\1/p' address)
	[ -n "$PORT" ] || atf_fail "forward: $(cat address forward.err)"
}

forward_ends()
{
	kill -TERM "$FWD"
	s=0
	wait "$FWD" || s=$?
	[ $s -eq 143 ] || atf_fail "forward ended with $s: $(cat forward.err)"
}

# No connection is left inside.
calls_over()
{
	[ "$("$CTL" exec "$BOX" sh -c 'cat /proc/net/tcp' |
	    grep -c ' 01 ')" -eq 0 ]
}

atf_test_case bytes cleanup
bytes_head()
{
	atf_set descr 'there and back, both ways at once, many at a time'
	atf_set timeout 600
}
bytes_body()
{
	begin
	server echo
	forward "0:$INSIDE"
	atf_check -o inline:'0\n' ./net client "$PORT" 0
	atf_check -o inline:'1\n' ./net client "$PORT" 1
	atf_check -o inline:'67108864\n' ./net client "$PORT" 67108864
	i=0
	pids=
	while [ $i -lt 40 ]; do
		i=$((i + 1))
		./net client "$PORT" $((i * 20000)) >o.$i 2>&1 &
		pids="$pids $!"
	done
	for p in $pids; do
		wait "$p" || atf_fail "a client ended with $?: $(cat forward.err | head -n 3)"
	done
	while [ $i -gt 0 ]; do
		atf_check_equal $((i * 20000)) "$(cat o.$i)"
		i=$((i - 1))
	done
	# The end of what is sent is told, while the answer is still to come.
	forward_ends
	atf_check_equal '' "$(cat forward.err)"
	server end
	forward "0:$INSIDE"
	atf_check -s exit:1 -e match:'byte' ./net client "$PORT" 100000
	atf_check -o inline:'1\n' sh -c \
	    "printf x | timeout 60 busybox nc 127.0.0.1 $PORT"
	forward_ends
	await calls_over 60
	daemon_stop
}
bytes_cleanup()
{
	daemon_cleanup
}

atf_test_case ends cleanup
ends_head()
{
	atf_set descr 'refused, reset, killed clients, and the ends of all'
	atf_set timeout 600
}
ends_body()
{
	begin
	for a in x 0 1: :1 65536 1:0 70000:1 1:2:3; do
		atf_check -s exit:64 -e match:'must be a port' \
		    "$CTL" forward "$BOX" "$a"
	done
	atf_check -s not-exit:0 -e match:'not_found' \
	    "$CTL" forward nobody 0:1
	atf_check -s not-exit:0 -o empty -e match:'in use|permission' \
	    "$CTL" forward "$BOX" "$(listened):1"
	# Nobody listens there.
	forward 0:1
	atf_check -s exit:2 ./net client "$PORT" 10
	await 'grep -q "port 1: connection refused" forward.err' 60
	forward_ends
	# As data, where it is asked for.
	: >address
	"$CTL" -j forward "$BOX" 0:1 >address &
	FWD=$!
	await '[ -s address ]' 60
	atf_check -o match:'"address":"127.0.0.1","port":[0-9]+,"inside":1\}' \
	    cat address
	forward_ends
	server reset
	forward "0:$INSIDE"
	atf_check -s exit:2 ./net client "$PORT" -
	forward_ends
	# A client that is killed, and one that is left without a forward.
	server hold
	forward "0:$INSIDE"
	./net client "$PORT" - >held &
	await '[ -s held ]' 60
	kill -KILL $!
	wait $! 2>/dev/null
	await calls_over 60
	: >held
	./net client "$PORT" - >held &
	c=$!
	await '[ -s held ]' 60
	kill -KILL "$FWD"
	wait "$FWD" 2>/dev/null
	s=0
	wait $c || s=$?
	await calls_over 60
	# The sandbox's end is one of all connections, and of forward.
	forward "0:$INSIDE"
	: >held
	./net client "$PORT" - >held &
	c=$!
	await '[ -s held ]' 60
	atf_check -o ignore "$CTL" stop "$BOX"
	s=0
	wait "$FWD" || s=$?
	atf_check_equal 0 $s
	s=0
	wait $c || s=$?
	atf_check_equal 2 $s
	atf_check -s not-exit:0 -e match:'wrong_state' \
	    "$CTL" forward "$BOX" 0:1
	daemon_stop
}
ends_cleanup()
{
	daemon_cleanup
}

atf_test_case half cleanup
half_head()
{
	atf_set descr 'a server that says no more is still spoken to'
	atf_set timeout 600
}
half_body()
{
	begin
	server half
	forward "0:$INSIDE"
	for n in 0 1 65536 10000000; do
		atf_check -o inline:'half' timeout 120 ./net client "$PORT" $n \
		    late
		await '"$CTL" logs "$SERVER" | tail -n 1 | grep -qx $n' 60
	done
	# Both at once, many times: whichever end comes first.
	i=0
	pids=
	while [ $i -lt 40 ]; do
		i=$((i + 1))
		timeout 120 ./net client "$PORT" 1000 late >o.$i 2>&1 &
		pids="$pids $!"
	done
	for p in $pids; do
		wait "$p" || atf_fail "a client ended with $?"
	done
	await '[ "$("$CTL" logs "$SERVER" | grep -cx 1000)" -eq 40 ]' 60
	await calls_over 60
	atf_check_equal '' "$(cat forward.err)"
	forward_ends
	daemon_stop
}
half_cleanup()
{
	daemon_cleanup
}

# highest pid: the most memory that it has had, in KiB
highest()
{
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"
}

# It stands still: nothing has moved in a second.
stands_still()
{
	b=$(cat "/proc/$FWD/io" | sed -n 's/^[rw]char: //p')
	sleep 1
	[ "$b" = "$(cat "/proc/$FWD/io" | sed -n 's/^[rw]char: //p')" ]
}

atf_test_case floods cleanup
floods_head()
{
	atf_set descr 'who does not read is waited for, by nobody else, and bounded'
	atf_set timeout 600
}
floods_body()
{
	begin
	server flood
	flood=$INSIDE
	server deaf
	deaf=$INSIDE
	deafname=$SERVER
	server echo
	runner=$(daemon_child runner)
	had=$(highest "$runner")
	for kind in flood deaf; do
		eval "forward \"0:\$$kind\""
		fds=$(ls "/proc/$FWD/fd" | wc -l)
		held=
		i=0
		while [ $i -lt 20 ]; do
			i=$((i + 1))
			./net client "$PORT" $([ $kind = deaf ] &&
			    echo 1000000000 || echo 1) deaf >o.$i 2>&1 &
			held="$held $!"
		done
		await '[ "$(cat o.* | grep -c connected)" -eq 20 ]' 60
		await stands_still 120
		used=$(highest "$FWD")
		[ "$used" -lt 20000 ] || atf_fail "$kind: forward has $used KiB"
		# A sanitizer keeps what was freed.
		used=$(highest "$runner")
		[ "$used" -lt $((had + 40000)) ] ||
		    [ -n "${ASAN_OPTIONS:-}" ] ||
		    atf_fail "$kind: the runner has $used KiB, and had $had"
		# Others are served, by this and by another forward.
		atf_check -o inline:'ok\n' timeout 60 "$CTL" exec "$BOX" echo ok
		slow=$FWD
		forward "0:$INSIDE"
		atf_check -o inline:'1000000\n' timeout 60 ./net client "$PORT" \
		    1000000
		forward_ends
		FWD=$slow
		kill -KILL $held
		wait $held 2>/dev/null
		rm -f o.*
		await '[ "$(ls "/proc/$FWD/fd" | wc -l)" -eq "$fds" ]' 60
		# To one that never listens even the end cannot be told.
		[ $kind = flood ] ||
		    atf_check "$CTL" kill "$deafname" </dev/null
		await calls_over 60
		forward_ends
	done
	daemon_stop
}
floods_cleanup()
{
	daemon_cleanup
}

# A port of the host that somebody has.
listened()
{
	./net server hold >port &
	echo $! >server.pid
	await '[ -s port ]' 60
	cat port
}

atf_test_case restart cleanup
restart_head()
{
	atf_set descr 'a daemon that is killed: never half of the bytes for all'
	atf_set timeout 300
}
restart_body()
{
	begin
	server hold
	forward "0:$INSIDE"
	./net client "$PORT" - >held &
	c=$!
	await '[ -s held ]' 60
	kill -KILL "$(daemon_pid)"
	s=0
	wait $c || s=$?
	atf_check_equal 2 $s
	await '[ -z "$(_daemon_pids "$D")" ]' 60
	daemon_start
	# It goes on with the new one.
	server echo
	forward_ends
	forward "0:$INSIDE"
	atf_check -o inline:'1000\n' ./net client "$PORT" 1000
	kill -KILL "$(daemon_child runner)"
	await '[ "$(timeout 10 ./net client $PORT 1000 2>/dev/null)" = 1000 ]' \
	    120
	forward_ends
	daemon_stop
}
restart_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case bytes
	atf_add_test_case ends
	atf_add_test_case restart
	atf_add_test_case half
	atf_add_test_case floods
}
