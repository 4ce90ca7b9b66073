# A client that means harm, with a sandbox of its own beside the canaries.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/canary.subr"

# plays uid what: that he can, and what is left then
plays()
{
	"$(atf_get_srcdir)/h_client" "$SOCK" "$1" "$CANARY_SECRET" \
	    "$CANARY_UID" "$2" >"evil.$2" 2>&1 ||
	    atf_fail "$2: $(tail -n 1 "evil.$2")"
	cat "evil.$2"
	await forgotten
	# None of them has died of it.
	! log_has ' died: ' || atf_fail "$2: $(grep ' died: ' "$LOG")"
	canaries_check "$2"
	canaries_served "$2"
}

forgotten()
{
	"$CTL" status >status || return 1
	grep -q '^clients  *1$' status &&
	    grep -q '^requests  *1, 0 that go on, 0 of' status &&
	    grep -q '^pipes  *0$' status
}

atf_test_case client cleanup
client_head()
{
	atf_set descr '(aL1, aL2) each request with each field wrong, of a' \
	    'client, in the name of another, and of a stranger'
	atf_set timeout 900
}
client_body()
{
	new_uid
	EVIL=$NEW_UID
	new_uid
	STRANGER=$NEW_UID
	world "restart 1000 per 60s
		limits user $EVIL { sandboxes 3 }
		deny user $STRANGER"
	canaries_make
	as_user "$EVIL" "$CTL" create -i mine >out 2>&1 ||
	    atf_fail "$(cat out)"
	as_user "$EVIL" "$CTL" exec mine true || atf_fail "no exec"
	plays "$EVIL" others
	plays "$EVIL" timing
	plays "$EVIL" order
	plays "$EVIL" fast
	plays "$EVIL" fields
	# Whom no rule allows anything gets one reply, whatever he says.
	plays "$STRANGER" stranger
	for b in $(as_user "$EVIL" "$CTL" list | awk 'NR > 1 { print $1 }'); do
		as_user "$EVIL" "$CTL" delete "$b" >out 2>&1 ||
		    atf_fail "$(cat out)"
	done
	canaries_remove
	nothing_left
	daemon_stop
}
client_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case client
}
