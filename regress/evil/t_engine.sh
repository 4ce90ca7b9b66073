# An Engine that lies about which container is which.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/canary.subr"

evil()
{
	as_user "$EVIL" "$CTL" "$@" </dev/null
}

# says word [ID]: from now on it lies so
says()
{
	echo "$1 ${2:-$BYSTANDER}" >mode.new
	mv mode.new mode
}

# No request but to look at it: nothing is done with one that is not ours.
untouched()
{
	grep -e "$BYSTANDER" -e "$CANARY_ID" asked | grep -v '^GET ' >bad
	[ ! -s bad ] || atf_fail "$1: it was asked for $(head -n 1 bad)"
	canaries_check "$1"
}

# looks how ID: sandboxes come and go while it does
n=0
looks()
{
	n=$((n + 1))
	says "$1" "$2"
	evil create -i "new$n" >out 2>&1 && atf_fail "$1: it is ready"
	evil delete "new$n" >out 2>&1
	evil stop mine >out 2>&1
	evil resume mine >out 2>&1
	says honest
	untouched "$1"
}

# comes how ID: a broker that comes anew asks for the list
comes()
{
	n=$((n + 1))
	says "$1" "$2"
	again
	evil create -i "new$n" >out 2>&1
	evil delete "new$n" >out 2>&1
	says honest
	untouched "$1"
}

again()
{
	p=$(daemon_child broker)
	kill -KILL "$p"
	await "_gone $p"
	# There is another one when all of the old set are gone.
	await 'daemon_child broker >/dev/null && daemon_engine_is_up'
}

atf_test_case engine cleanup
engine_head()
{
	atf_set descr '(aB4) an Engine that takes one container for another' \
	    'makes us touch none that is not ours'
	atf_set timeout 900
}
engine_body()
{
	new_uid
	EVIL=$NEW_UID
	world "restart 1000 per 60s"
	canaries_make
	daemon_stop
	# The same daemon, and the liar in between.
	says honest
	/usr/bin/python3 -I -B "$(atf_get_srcdir)/engine.py" "$D/liar" \
	    "$SBX_RECORDED" "$SBX_ENGINE" mode asked </dev/null >liar.log 2>&1 &
	LIAR=$!
	echo $LIAR >liar.pid
	await '[ -S "$D/liar" ]'
	sed "s,^engine .*,engine \"unix://$D/liar\"," "$CONF" >conf
	grep -q liar conf || atf_fail "not by the liar"
	cp conf "$CONF"
	daemon_start
	await daemon_engine_is_up
	await 'as_user "$CANARY_UID" "$CTL" exec canary true </dev/null'
	evil create -i mine >out 2>&1 || atf_fail "$(cat out)"
	for how in create inspect renamed labelled; do
		looks $how "$BYSTANDER"
	done
	# Nor another one of our own.
	looks create "$CANARY_ID"
	looks labelled "$CANARY_ID"
	for how in list swapped events; do
		comes $how "$BYSTANDER"
	done
	comes events "$CANARY_ID"
	# What it was told must not have cost anybody but the liar's caller.
	again
	await 'as_user "$CANARY_UID" "$CTL" exec canary true </dev/null'
	canaries_served "in the end"
	for b in $(evil list | awk 'NR > 1 { print $1 }'); do
		await 'evil delete "$b" >out 2>&1'
	done
	canaries_remove
	nothing_left
	daemon_stop
	kill -KILL "$LIAR"
	rm liar.pid
}
engine_cleanup()
{
	[ ! -f liar.pid ] || kill -KILL "$(cat liar.pid)" 2>/dev/null
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case engine
}
