# The wall clock is set, in all processes, while the daemon works.
#
#	to			what must come of it
#	---------------------	---------------------------------------------
#	a year ahead		no history is collected, no command ends, time
#	a year back		limits are as long as before, sequences have
#	an hour to and fro,	no gap; times in events may jump
#	every second
#	a year ahead, and	the same
#	another start
#	a year ahead, a year	lifetime, idleness and retention end when they
#	back, and then another	would have: nothing before, and nothing never;
#	start			what "show" says of them stays true

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/shim.subr"

YEAR=31536000

clock_check()
{
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	atf_check -o ignore timeout 120 "$CTL" create -i "box-$1"
	# A limit that is over at once, or never, would be another end.
	s=0
	timeout 120 "$CTL" exec -t 1 "box-$1" sleep 100000 >out 2>&1 || s=$?
	atf_check_equal 124 $s
	atf_check -o ignore timeout 120 "$CTL" delete "box-$1"
	atf_check -o match:"^early .*deleted" "$CTL" list -a
	atf_check -o match:"^box-$1 .*deleted" "$CTL" list -a
	atf_check -o match:"$(cat exec) .*running" "$CTL" ps "$BOX"
	"$CTL" events >events || atf_fail "no events"
	awk '$1 != NR { exit 1 }' events || atf_fail "a gap: $(cat events)"
	! grep -q sandbox.collected events || atf_fail "collected"
	atf_check -o match:"^events" "$CTL" log verify
}

atf_test_case set cleanup
set_head()
{
	atf_set descr '(c42) the clock is set while the daemon works'
	atf_set timeout 600
}
set_body()
{
	shim_use
	world "retain { history 30d }"
	box
	atf_check -o ignore "$CTL" create -i early
	atf_check -o ignore "$CTL" delete early
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'until [ -e go ]; do usleep 100000; done; echo done; exit 5'
	await '"$CTL" ps "$BOX" | grep -q running'
	shim all clock $YEAR 0
	clock_check ahead
	shim all clock -$YEAR 0
	clock_check back
	shim all clock 0 3600
	clock_check swing
	shim all clock $YEAR 0
	daemon_kill
	daemon_start
	await '"$CTL" exec "$BOX" true 2>/dev/null'
	clock_check start
	shim all clock 0 0
	touch "$STATE/work/1/go"
	atf_check -s exit:5 timeout 120 "$CTL" wait "$(cat exec)"
	atf_check -o inline:"done\n" "$CTL" logs "$(cat exec)"
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
set_cleanup()
{
	daemon_cleanup
}

uptime_ms()
{
	awk '{ print int($1 * 1000) }' /proc/uptime
}

# early: true if what was begun at $begun has time left.
early()
{
	[ $(($(uptime_ms) - begun)) -lt $((SPAN * 1000)) ]
}

# is box state: it is, or its time is over by now.
is()
{
	"$CTL" show "$1" >show 2>&1 || { early || return 0; }
	grep -q "^state  *$2" show || ! early ||
	    atf_fail "$1 is not $2 any more: $(cat show)"
}

# number box field: one of its numbers
number()
{
	"$CTL" -j show "$1" | tr ',' '\n' | sed -n "s/.*\"$2\"://p" |
	    head -n 1
}

# within what n from to: both count
within()
{
	[ -n "$2" ] && [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] ||
	    atf_fail "$1: $2 is not in $3 to $4"
}

# long_shown ahead: the one with much time left has as much as before.
long_shown()
{
	left=$(number long next_in)
	at=$(number long expires)
	now=$(($(date +%s) + $1))
	gone=$(($(uptime_ms) - born))
	atf_check -o match:"^state  *ready" -o match:"^next  *stop in .*idle" \
	    "$CTL" show long
	within next_in "$left" $((9 * 3600000 - gone - 1)) $((9 * 3600000))
	within expires $((${at%?????????} - now)) \
	    $((36000 - gone / 1000 - 2)) 36002
}

# told box event text: an event of it says so.
told()
{
	"$CTL" events "$1" >events 2>&1 && grep " $2 " events | grep -q "$3"
}

# ended box event text: it has ended for its time, and not before.
ended()
{
	what="told '$1' '$2' '$3'"
	await "$what" 120
	! early || atf_fail "$1: $2 before its time: $(cat events)"
}

# times_round name ahead [command]: what was begun before the jump.
times_round()
{
	begun=$(uptime_ms)
	atf_check -o ignore "$CTL" create -d -i "bad-$1" -I no-such-image \
	    -k "${SPAN}s"
	atf_check -o ignore "$CTL" create -i "life-$1" -T "${SPAN}s"
	atf_check -o ignore "$CTL" create -i "quiet-$1" -q "${SPAN}s"
	atf_check -o ignore "$CTL" create -i "kept-$1" -k "${SPAN}s"
	atf_check -o ignore "$CTL" stop "kept-$1"
	shim all clock "$2" 0
	${3:-:}
	is "life-$1" ready
	is "quiet-$1" ready
	is "kept-$1" stopped
	is "bad-$1" failed
	long_shown "$2"
	ended "life-$1" sandbox.deleted "lifetime is over"
	ended "quiet-$1" sandbox.stopped "idle for ${SPAN}s"
	ended "kept-$1" sandbox.deleted "stopped for ${SPAN}s"
	ended "bad-$1" sandbox.deleted "failed for ${SPAN}s"
}

times_restart()
{
	daemon_kill
	daemon_start
	await daemon_engine_is_up
}

atf_test_case times cleanup
times_head()
{
	atf_set descr '(c42) (R8) what ends by itself, and a clock that is set'
	atf_set timeout 900
}
times_body()
{
	SPAN=$((12 * SLOW))
	shim_use
	world
	born=$(uptime_ms)
	box -i long -T 10h -q 9h
	times_round ahead $YEAR
	times_round back -$YEAR
	times_round restart $YEAR times_restart
	# The same for what is kept of those that are deleted.
	long_shown $YEAR
	atf_check -o match:"^next  *collect in 29d.*by history" \
	    "$CTL" show life-ahead
	daemon_conf "retain { history ${SPAN}s }"
	atf_check "$CTL" reload
	for ahead in -$YEAR $YEAR; do
		begun=$(uptime_ms)
		atf_check -o ignore "$CTL" create -i "last$ahead"
		atf_check -o ignore "$CTL" delete "last$ahead"
		shim all clock $ahead 0
		is "last$ahead" deleted
		await '! "$CTL" show "last$ahead" >show 2>&1' 120
		! early || atf_fail "collected before its time"
		long_shown $ahead
	done
	await '[ "$("$CTL" list -a | grep -c deleted)" -eq 0 ]'
	atf_check -o match:"^events" "$CTL" log verify
	atf_check -o ignore "$CTL" delete long quiet-ahead \
	    quiet-back quiet-restart
	nothing_left
	daemon_stop
}
times_cleanup()
{
	daemon_cleanup
}

# start_as boot: the daemon, on a host that has this boot_id.
start_as()
{
	DAEMON_ENV="$env SANDBOXD_BOOT=$1"
	daemon_start
	await daemon_engine_is_up
}

# The sandbox runs, and then both the daemon and the container are dead.
both_die()
{
	"$CTL" show "$BOX" | grep -q ready ||
	    atf_check -o ignore timeout 120 "$CTL" resume "$BOX"
	daemon_kill
	# shellcheck disable=SC2046
	atf_check -o ignore timeout 120 docker -H "unix://$ENGINE" \
	    kill $(_ours)
}

stopped_by()
{
	await '"$CTL" show "$BOX" | grep -q "stopped"'
	atf_check -o match:"cause  *$1" "$CTL" show "$BOX"
}

atf_test_case boot cleanup
boot_head()
{
	atf_set descr '(c42) who ended a container is not told by the clock'
	atf_set timeout 600
}
boot_body()
{
	shim_use
	env=$DAEMON_ENV
	shim all clock -$YEAR 0
	# As a log that nobody has written a boot_id in: there it is the time.
	DAEMON_ENV="$env SANDBOXD_BOOT="
	world
	box
	both_die
	start_as ""
	stopped_by killed
	both_die
	shim all clock 0 0
	start_as one
	stopped_by host_restart
	both_die
	shim all clock $YEAR 0
	start_as one
	stopped_by killed
	atf_check -o ignore timeout 120 "$CTL" resume "$BOX"
	daemon_kill
	start_as two
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	# A start that did not come to ask the Engine does not count as one.
	both_die
	DAEMON_ENV="$env SANDBOXD_BOOT=three"
	ENGINE=$D/none
	daemon_conf
	daemon_start
	atf_check -o match:ready "$CTL" show "$BOX"
	daemon_kill
	ENGINE=$SBX_ENGINE
	daemon_conf
	start_as three
	stopped_by host_restart
	both_die
	shim all clock -$YEAR 0
	start_as three
	stopped_by killed
	atf_check -o ignore timeout 120 "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
boot_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case boot
	atf_add_test_case set
	atf_add_test_case times
}
