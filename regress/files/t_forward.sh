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

# server kind: its port inside is INSIDE
server()
{
	local e

	e=$("$CTL" exec -d "$BOX" ./net server "$1" </dev/null) ||
	    atf_fail "no server"
	await "\"$CTL\" logs $e | grep -q ." 60
	INSIDE=$("$CTL" logs "$e")
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
}
