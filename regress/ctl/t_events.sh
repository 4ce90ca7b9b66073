# The events as sandboxctl follows them: selected, to the end of a sandbox,
# with heartbeats, and by one who reads nothing for a while.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# The subscriptions that there are.
subs()
{
	"$CTL" -j status >status.json &&
	    grep -q "\"subscriptions\":$1," status.json
}

atf_test_case select cleanup
select_head()
{
	atf_set descr '(aV11) (aV10) labels, types and the end of a sandbox'
	atf_set timeout 300
}
select_body()
{
	world
	box -i a -l team=x -l task=1
	box -i b -l team=x
	box -i c -l team=y
	atf_check -s exit:64 -e match:"invalid type: exec.x: no such events" \
	    "$CTL" events -t exec.create -t exec.x
	atf_check -s exit:64 -e match:"no sandbox is named" "$CTL" events -fE
	atf_check -s exit:64 -e match:"invalid from: 999: the newest is" \
	    "$CTL" events -n 999
	atf_check -s exit:64 -e match:"the newest is 2 " "$CTL" events -n 4 a
	"$CTL" events -l team -l task=1 -t sandbox.ready >one
	atf_check -o match:"^[0-9]+ .* a 2 sandbox.ready ready " cat one
	atf_check -o inline:"1\n" sh -c 'wc -l <one'
	"$CTL" events -f -l team=x -t sandbox -t exec.ended >team &
	f=$!
	"$CTL" -j events -fE -H 1 -t exec -t sandbox.stop b >b.json &
	b=$!
	await 'subs 2' 60
	atf_check "$CTL" exec a true
	atf_check "$CTL" exec c true
	atf_check "$CTL" exec b true
	await 'grep -q "{\"heartbeat\":{\"seq\":[0-9]*," b.json' 60
	await 'grep -q "exec.ended" b.json && grep -q " b .*exec.ended" team'
	# Both go on over a restart.
	kill -KILL "$(daemon_child store)"
	daemon_up
	await 'subs 2' 120
	atf_check "$CTL" stop b
	atf_check "$CTL" delete b
	s=0
	wait $b || s=$?
	[ $s -eq 0 ] || atf_fail "followed to the end: $s"
	await 'grep -q " b .*sandbox.deleted deleted" team' 60
	kill $f
	wait $f || :
	# Nothing of c, nothing twice, and in order.
	awk '{ print $4, $6 }' team >have
	cat >want <<-EOT
		a sandbox.create
		a sandbox.ready
		b sandbox.create
		b sandbox.ready
		a exec.ended
		b exec.ended
		b sandbox.stop
		b sandbox.stopped
		b sandbox.delete
		b sandbox.deleted
	EOT
	atf_check -o file:want cat have
	grep -v heartbeat b.json | sed 's/.*"type":"\([^"]*\)","state":"\([^"]*\)".*/\1 \2/' |
	    grep -v started >have
	atf_check -o inline:"exec.create ready\nexec.ended ready\nsandbox.stop \
stopping\n" cat have
	# What was there before is told from what came.
	"$CTL" -j events -t sandbox.ready a >old.json
	atf_check -o match:'"replayed":1}' cat old.json
	grep 'exec.ended' b.json >new.json
	atf_check -o match:'"replayed":0}' cat new.json
	daemon_stop
}
select_cleanup()
{
	daemon_cleanup
}

atf_test_case slow cleanup
slow_head()
{
	atf_set descr '(aV12) (aM02) one who reads nothing is given up, and' \
	    'goes on without a gap'
	atf_set timeout 600
}
slow_body()
{
	BIN=$SBX_FAULTBIN
	DAEMON_ENV=SANDBOXD_SLOW=200
	world
	box -i box
	"$CTL" events -f >slow &
	p=$!
	await '[ -s slow ]' 60
	kill -STOP $p
	# More than it has given credit for.
	i=0
	while [ $i -lt 270 ]; do
		i=$((i + 1))
		"$CTL" exec -d box /nothing >id || atf_fail "exec $i"
	done
	last=$(cat id)
	s=0
	"$CTL" wait "$last" 2>err || s=$?
	[ $s -eq 127 ] || atf_fail "$last: $s, $(cat err)"
	# Nobody else has to wait for it, and its place is given up.
	await 'subs 0' 60
	kill -CONT $p
	await 'grep -q "exec.ended.*exec=$last" slow' 120
	kill $p
	wait $p || :
	awk '{ print $1 }' slow >have
	[ "$(wc -l <have)" -gt 512 ] || atf_fail "not enough for it"
	seq "$(head -n 1 have)" "$(tail -n 1 have)" >want
	atf_check -o file:want cat have
	daemon_stop
}
slow_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case select
	atf_add_test_case slow
}
