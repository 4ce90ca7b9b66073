# Times after which something is done that nobody asks for, with an Engine.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# came type what: an event of that kind tells so.
came()
{
	"$CTL" events >events 2>/dev/null && grep " $1 " events | grep -q -- "$2"
}

atf_test_case ends cleanup
ends_head()
{
	atf_set descr 'lifetime, idle stop and retention end as they say (L05, L06, L09, L10)'
	atf_set timeout 600
}
ends_body()
{
	world 'limits { lifetime 1d }
		retain { stopped 2s }'
	atf_check -s not-exit:0 -e match:"limit is 1d.*limit_exceeded" \
	    "$CTL" create -i long -T 2d
	atf_check -s not-exit:0 -e match:"limit_exceeded" \
	    "$CTL" create -i long -T none
	atf_check -o ignore "$CTL" create -d -i brief -T 1s
	atf_check -o ignore "$CTL" create -i quiet -q 1s
	atf_check -o ignore "$CTL" create -i busy -T 1h
	# For as long as something runs, whatever it is.
	atf_check -o save:exec "$CTL" exec -d busy sh -c \
	    'until [ -e go ]; do usleep 100000; done; exit 3'
	atf_check "$CTL" extend -q 1s busy
	await 'came sandbox.deleted "brief.*lifetime is over"' 120
	await 'came sandbox.deleted "quiet.*it was stopped for 2s"' 120
	atf_check -o match:'sandbox.stop .*reason=lifetime' cat events
	atf_check -o match:'sandbox.stop .*reason=idle' cat events
	atf_check -o match:'sandbox.delete .*reason=stopped' cat events
	atf_check -o match:"ready" -o match:"^lifetime  *1h00m" \
	    -o match:"^idle  *1s" -o match:"^next  *delete in .*by lifetime" \
	    "$CTL" show busy
	atf_check "$CTL" extend -t 2h busy
	atf_check -o match:'"lifetime":3600000' -o match:'"next_by":"lifetime"' \
	    "$CTL" -j extend busy
	atf_check -s not-exit:0 -e match:"limit 1d, which leaves it" \
	    "$CTL" extend -t 25h busy
	"$CTL" -j list >list
	atf_check -o match:'"next":"delete","next_by":"lifetime","next_in":7' \
	    grep '"busy"' list
	touch "$(echo "$STATE"/work/*/)/go" 2>/dev/null ||
	    atf_fail "not one workspace: $(ls "$STATE/work")"
	# One that fails was work as well, until it ended.
	atf_check -s exit:3 timeout 120 "$CTL" wait "$(cat exec)"
	await 'came sandbox.stopped "busy.*it was idle for 1s"' 120
	await 'came sandbox.deleted "busy.*it was stopped for 2s"' 120
	nothing_left
	# Retention is the daemon's: a reload changes it for all there are.
	atf_check -o match:"^next  *collect in 29d.*by history" "$CTL" show busy
	daemon_conf "retain { history 1s }"
	atf_check "$CTL" reload
	await '! "$CTL" show busy >show 2>&1' 120
	await '! "$CTL" list -a | grep -q .' 120
	await '[ -z "$(find "$STATE/runner/log" -type f)" ]' 60
	atf_check -o ignore "$CTL" log verify
	daemon_stop
}
ends_cleanup()
{
	daemon_cleanup
}

# Over while the daemon is down: when it is back, and not before.
atf_test_case down cleanup
down_head()
{
	atf_set descr 'times go on while the daemon is down, idleness begins anew'
	atf_set timeout 600
}
down_body()
{
	world
	atf_check -o ignore "$CTL" create -d -i brief -T 4s
	atf_check -o ignore "$CTL" create -i long -T 10h -q 8h
	atf_check -o ignore "$CTL" create -i none
	daemon_kill
	sleep 4
	daemon_start
	await 'came sandbox.deleted "brief.*lifetime is over"' 120
	atf_check -o match:"^next  *stop in .*by idle" "$CTL" show long
	atf_check "$CTL" extend -q none long
	atf_check -o match:"^next  *delete in 9h.*by lifetime" "$CTL" show long
	atf_check -o not-match:"^next" "$CTL" show none
	atf_check -o ignore "$CTL" delete none long
	nothing_left
	atf_check -o ignore "$CTL" log verify
	daemon_stop
}
down_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case ends
	atf_add_test_case down
}
