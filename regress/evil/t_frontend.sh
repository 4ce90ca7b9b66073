# An attacker in the place of the frontend.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/canary.subr"
. "$(atf_get_srcdir)/evil.subr"

atf_test_case fields cleanup
fields_head()
{
	atf_set descr '(aF1) (aF2) whatever a taken-over frontend asks for,' \
	    'the Engine is asked for nothing beyond the policy'
	atf_set timeout 1200
}
fields_body()
{
	evil_world "limits any { sandboxes $(figure 8 40) }"
	evil_start frontend fields own=own "other=$CANARY_UID/canary"
	evil_played fields
	sed -n 's/^frontend: evil/evil/p' "$LOG"
	log_has "evil: [1-9][0-9]* sandboxes accepted" ||
	    atf_fail "none was made: this shows nothing"
	log_has "evil: 0 accepted about $CANARY_UID/canary" ||
	    atf_fail "another's sandbox was reached"
	log_has "evil: [1-9][0-9]* calls of own" ||
	    atf_fail "no call was carried out: this shows nothing"
	log_has "evil: 0 calls of $CANARY_UID/canary" ||
	    atf_fail "a call in another's sandbox"
	canaries_check fields
	evil_next
	evil_over
	canaries_served fields
	canaries_check fields
	evil_judge
	canaries_remove
	daemon_stop
}
fields_cleanup()
{
	evil_cleanup
}

# A client that is there until it is killed.
_gone_client()
{
	await 'log_has "evil: session "'
	as_user "$CANARY_UID" "$CTL" ping </dev/null >/dev/null 2>&1 &
	GONE=$!
	await 'log_has "evil: its client is here"'
	for p in $(cat "/proc/$GONE/task/$GONE/children"); do
		kill -KILL "$p"
	done
	wait "$GONE"
}

atf_test_case sessions cleanup
sessions_head()
{
	atf_set descr '(aF3) a session that is over, of another set or' \
	    'guessed is refused; who goes on guessing is replaced'
	atf_set timeout 1200
}
sessions_body()
{
	evil_world
	evil_start frontend sessions "other=$CANARY_UID/canary"
	evil_played sessions
	old=$(sed -n 's/^frontend: evil: session \([0-9]*\)$/\1/p' "$LOG")
	[ -n "$old" ] || atf_fail "no session"
	evil_next
	evil_over
	daemon_stop
	evil_start frontend sessions+guess+nobody "other=$CANARY_UID/canary" \
	    "old=$old" "gone=$CANARY_UID"
	_gone_client
	evil_played sessions
	log_has "store: [0-9]* requests of sessions that nobody has" ||
	    atf_fail "the log does not tell"
	canaries_check sessions
	evil_next
	evil_ended guess "store: fatal: frontend names sessions that nobody"
	evil_ended nobody "store: fatal: list without a session from frontend"
	evil_over
	canaries_served sessions
	canaries_check guesses
	evil_judge
	canaries_remove
	daemon_stop
}
sessions_cleanup()
{
	evil_cleanup
}

# kib name: the most memory that the store has had
store_peak()
{
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' \
	    "/proc/$(daemon_child store)/status"
}

atf_test_case bounds cleanup
bounds_head()
{
	atf_set descr 'a frontend that keeps no bound is replaced, and one' \
	    'that takes no answer is not listened to'
	atf_set timeout 1200
}
bounds_body()
{
	evil_world
	evil_start frontend deaf+waits+subs "running=$EVIL_EXEC"
	evil_played deaf
	sed -n 's/^frontend: evil/evil/p' "$LOG"
	log_has "evil: [0-9]* asked, no more is taken" ||
	    atf_fail "the store answers one who takes nothing"
	[ "$(store_peak)" -lt 262144 ] || [ -n "${ASAN_OPTIONS:-}" ] ||
	    atf_fail "the store has had $(store_peak) KiB"
	evil_next
	evil_ended waits "store: fatal: more than [0-9]* requests of one"
	evil_ended subs "store: fatal: more than [0-9]* requests of one"
	evil_over
	canaries_served bounds
	canaries_check bounds
	evil_judge
	canaries_remove
	daemon_stop
}
bounds_cleanup()
{
	evil_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case bounds
	atf_add_test_case fields
	atf_add_test_case sessions
}
