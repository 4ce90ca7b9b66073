# Guests that live and do not answer: process 1 of a sandbox is stopped from
# outside, and nobody lets it go on.
#
# What a guest is allowed is as long as it is for everybody: about half a
# minute.  All of a case waits for it at the same time.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

container()
{
	engine_docker ps -q --no-trunc --filter "label=sandboxd.id=$1" \
	    --filter "label=sandboxd.instance=$(cat "$STATE/instance")"
}

# The guest of a sandbox stands still.
stand_still()
{
	p=$(engine_docker inspect -f '{{.State.Pid}}' "$(container "$1")")
	kill -STOP "$p" || atf_fail "no guest of $1"
	await 'grep -q "^State:.*T" "/proc/$p/status"'
}

state()
{
	"$CTL" show "$1" | awk '$1 == "state" { print $2 }'
}

# It is stopped, with the cause; and can be had again.
was_silent()
{
	await "[ \"\$(state $1)\" = stopped ]" 120
	atf_check_equal "" "$(container "$1")"
	"$CTL" events "$1" >events || atf_fail "no events of $1"
	grep -q ' sandbox.stop .*reason=silent' events &&
	    grep -q ' sandbox.stopped .*cause="*silent: ' events ||
	    atf_fail "$1: $(cat events)"
	atf_check -o ignore "$CTL" resume "$1"
	atf_check -o inline:"hi\n" "$CTL" exec "$1" echo hi
}

atf_test_case silent cleanup
silent_head()
{
	atf_set descr '(c29) a guest is silent: limits are kept without it'
	atf_set timeout 600
}
silent_body()
{
	world
	for id in limit given file other; do
		box -i $id
	done
	# One has a command whose time will be over, and one that has none.
	atf_check -o save:late "$CTL" exec -d -t 1 limit sh -c \
	    'echo out; sleep 100000'
	atf_check -o save:none "$CTL" exec -d limit sleep 100000
	await '[ "$("$CTL" logs "$(cat late)")" = out ]'
	for id in limit given file; do
		stand_still $id
	done
	# One is given a command, and one a file to read.
	atf_check -o save:given.exec "$CTL" exec -d given true
	timeout 120 "$CTL" stat file / >out 2>err &
	client=$!
	atf_check -o inline:"hi\n" "$CTL" exec other echo hi
	timeout 120 "$CTL" wait "$(cat late)" >wait 2>&1 && atf_fail "limit"
	"$CTL" events limit >events
	grep -q ' exec.ended .*end=timed_out .*cause="*timeout: ' events ||
	    atf_fail "the end is not told: $(cat events)"
	atf_check_equal out "$("$CTL" logs "$(cat late)")"
	timeout 120 "$CTL" wait "$(cat given.exec)" >wait 2>&1 &&
	    atf_fail "given: $(cat wait)"
	wait $client && atf_fail "a file was told of"
	[ -s err ] || atf_fail "nothing was told"
	for id in limit given file; do
		was_silent $id
	done
	atf_check -o match:'lost' "$CTL" ps -a limit
	atf_check -o inline:"hi\n" "$CTL" exec other echo hi
	atf_check -o match:"^events" "$CTL" log verify
	atf_check -o ignore "$CTL" delete limit given file other
	nothing_left
	daemon_stop
}
silent_cleanup()
{
	daemon_cleanup
}

atf_test_case paused cleanup
paused_head()
{
	atf_set descr '(c29) what is paused is silent by right, however long'
	atf_set timeout 600
}
paused_body()
{
	world
	box -i here
	box -i outside
	for id in here outside; do
		atf_check -o save:exec.$id "$CTL" exec -d -t 1 $id sh -c \
		    'trap "" TERM; echo out; while :; do :; done'
		await "[ \"\$(\"\$CTL\" logs \"\$(cat exec.$id)\")\" = out ]"
	done
	"$CTL" pause here || atf_fail "pause"
	engine_docker pause "$(container outside)" >out 2>&1 ||
	    atf_fail "$(cat out)"
	for id in here outside; do
		await "log_has 'sandbox $id ([0-9]*): its guest was silent, '" \
		    120
		atf_check_equal paused "$(state $id)"
	done
	"$CTL" unpause here || atf_fail "unpause"
	engine_docker unpause "$(container outside)" >out 2>&1 ||
	    atf_fail "$(cat out)"
	for id in here outside; do
		timeout 120 "$CTL" wait "$(cat exec.$id)" >wait 2>&1 &&
		    atf_fail "$id: $(cat wait)"
		"$CTL" events $id >events
		grep -q ' exec.ended .*end=timed_out' events &&
		    ! grep -q 'silent\|timeout: ' events ||
		    atf_fail "$id: $(cat events)"
		atf_check -o inline:"hi\n" "$CTL" exec $id echo hi
		atf_check_equal ready "$(state $id)"
	done
	atf_check -o ignore "$CTL" delete here outside
	nothing_left
	daemon_stop
}
paused_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case silent
	atf_add_test_case paused
}
