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

atf_init_test_cases()
{
	atf_add_test_case fields
}
