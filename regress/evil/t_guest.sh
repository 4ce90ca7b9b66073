# A guest that means harm, in the place of the real one.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/canary.subr"

evil()
{
	as_user "$EVIL" "$CTL" "$@" </dev/null
}

# What is known of the commands of the canary.
records()
{
	as_user "$CANARY_UID" "$CTL" -j ps -a canary >"$1" ||
	    atf_fail "no list of the canary's commands"
}

# lies how: whatever it says, it is a matter of its sandbox alone
lies()
{
	evil create -i "$1" -m 64M -p 64 -c 0.5 -e "EVIL=$1" >out 2>&1 ||
	    atf_fail "$1: $(cat out)"
	x=$(evil exec -d "$1" true) || atf_fail "$1: no command"
	# Who waits for it hears the end of it, if it has one.
	[ "$1" = flood ] || has_end "$1"
	evil logs "$x" >out 2>&1
	[ "$(wc -c <out)" -le 2200000 ] || atf_fail "$1: $(wc -c <out) bytes"
	evil show "$1" >out 2>&1 || atf_fail "$1: $(cat out)"
	grep -q "$(printf '\033')" out && atf_fail "$1: for the terminal"
	records now
	cmp -s records now || {
		diff records now >&2
		atf_fail "$1: the records of another sandbox"
	}
	canaries_check "$1"
	timeout 60 "$CTL" ping || atf_fail "$1: no ping"
	! log_has ' died: ' || atf_fail "$1: $(grep ' died: ' "$LOG")"
	evil delete "$1" >out 2>&1 || atf_fail "$1: $(cat out)"
	has_end "$1"
}

has_end()
{
	s=0
	timeout 120 "$CTL" wait "$EVIL/$x" >out 2>&1 || s=$?
	[ $s -ne 124 ] || atf_fail "$1: the command has no end"
}

atf_test_case guest cleanup
guest_head()
{
	atf_set descr '(aH5) what a guest says is about its own sandbox'
	atf_set timeout 900
}
guest_body()
{
	musl-gcc -static -D_GNU_SOURCE -I "$SBX_TOP/lib" \
	    -I "$SBX_TOP/regress/lib" -o guest \
	    "$SBX_TOP/regress/evil/h_guest.c" "$SBX_TOP/lib/gproto.c" \
	    "$SBX_TOP/lib/gproto_msg.c" || atf_fail "no program"
	install -m 755 guest "$SBX_SCRATCH/guest.$$"
	new_uid
	EVIL=$NEW_UID
	world
	canaries_make
	daemon_stop
	# The canary keeps the guest that it has.
	daemon_conf "limits { log 1M per exec }
		timeouts { stop 1s }"
	sed "s,^guest .*,guest \"$SBX_SCRATCH/guest.$$\"," "$CONF" >conf
	cp conf "$CONF"
	daemon_start
	await daemon_engine_is_up
	await 'as_user "$CANARY_UID" "$CTL" exec canary true </dev/null'
	records records
	# Each lie is told to the runner alone in a test of its own.
	for l in $(figure "forged flood descriptors hello" \
	    "forged twice length half junk flood descriptors end hello"); do
		lies $l
	done
	# One whose limits are not what was asked for is not let work.
	for l in memory cpus pids swap; do
		s=0
		evil create -m 64M -p 64 -c 0.5 -e "EVIL=$l" >out 2>&1 || s=$?
		[ $s -eq 77 ] && grep -q "limit not enforceable: $l: asked \
for [a-z0-9]*, the guest reads [0-9]* (policy_denied)" out ||
		    atf_fail "$l: $s: $(cat out)"
	done
	# One that does not come at all need not be waited for.
	evil create -d -i mute -e EVIL=mute >out 2>&1 || atf_fail "$(cat out)"
	evil delete mute >out 2>&1 || atf_fail "$(cat out)"
	canaries_served "in the end"
	canaries_check "in the end"
	canaries_remove
	nothing_left
	daemon_stop
	rm -f "$SBX_SCRATCH/guest.$$"
}
guest_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case guest
}
