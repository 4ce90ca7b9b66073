# Children that crash, hang, end or cannot be started, and peers that crash
# one: the second time they are shut out.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"

. "$(atf_get_srcdir)/../lib/system.subr"

BIN=$SBX_FAULTBIN
ROLES="frontend store broker runner"
# In so short a time few deaths fall together, and the pauses stay short.
MANY="restart 1000 per 1s"

children()
{
	cat "/proc/$(daemon_pid)/task/$(daemon_pid)/children"
}

# wakes pid: how often it has waited for something
wakes()
{
	sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$1/status"
}

# replaced role pid: another one is in its place, and answers
replaced()
{
	local p

	p=$(daemon_child "$1") && [ "$p" != "$2" ] &&
	    "$CTL" ping >ping 2>&1
}

# A command that goes on while processes die, and its true end.
long_start()
{
	world "$MANY"
	box
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'until [ -e go ]; do usleep 20000; done; echo done; exit 5'
}

long_check()
{
	await '"$CTL" exec "$BOX" touch go >out 2>&1' 120
	atf_check -s exit:5 -e ignore timeout 120 "$CTL" wait "$(cat exec)"
	atf_check -o inline:"done\n" "$CTL" logs "$(cat exec)"
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}

atf_test_case hung cleanup
hung_head()
{
	atf_set descr "(c08) a child that is stopped is told of, then replaced"
	atf_set timeout 1200
}
hung_body()
{
	# A sixth of the time until the end; the true one is 5 seconds.  In
	# a short one those that are only slow would be ended as well.
	SANDBOXD_BEAT=$(figure 1000 5000)
	export SANDBOXD_BEAT
	long_start
	for r in $ROLES; do
		p=$(daemon_child $r) || atf_fail "no $r"
		kill -STOP "$p"
		await 'log_has "^$r\[$p\] has not answered for"' 120
		await '_gone "$p"' 120
		log_has "^$r\[$p\]: does not answer; killed" ||
		    atf_fail "the log does not tell the cause"
		await 'replaced $r $p'
	done
	long_check
}
hung_cleanup()
{
	daemon_cleanup
}

atf_test_case hung_parent cleanup
hung_parent_head()
{
	atf_set descr "(c08) nobody is blamed for the parent's own absence"
	atf_set timeout 600
}
hung_parent_body()
{
	SANDBOXD_BEAT=$(figure 1000 5000)
	export SANDBOXD_BEAT
	daemon_start
	before=$(children)
	kill -STOP "$(daemon_pid)"
	# Longer than any child may be silent: the time is what this is about.
	sleep "$(figure 7 60)"
	kill -CONT "$(daemon_pid)"
	atf_check -o ignore "$CTL" ping
	# Two rounds of questions, which is all that the runner hears.
	p=$(daemon_child runner) || atf_fail "no runner"
	n=$(wakes "$p")
	await '[ "$(wakes "$p")" -ge $((n + 2)) ]'
	atf_check_equal "$before" "$(children)"
	daemon_stop
}
hung_parent_cleanup()
{
	daemon_cleanup
}

atf_test_case ended cleanup
ended_head()
{
	atf_set descr "(c09) a child that ends with status 0 has died"
	atf_set timeout 600
}
ended_body()
{
	long_start
	# The two that TERM ends politely.
	for r in broker runner; do
		p=$(daemon_child $r) || atf_fail "no $r"
		kill -TERM "$p"
		await 'replaced $r $p'
		# Those that see its pipes end may be reaped before it.
		log_has "^$r\[$p\] [dien]*ed: exit 0" ||
		    atf_fail "the log does not tell the cause"
	done
	long_check
}
ended_cleanup()
{
	daemon_cleanup
}

atf_test_case bad_call cleanup
bad_call_head()
{
	atf_set descr "(c10) a system call that a child must not make is named"
	atf_set timeout 600
}
bad_call_body()
{
	sigsys_meant
	long_start
	for r in $ROLES; do
		p=$(daemon_child $r) || atf_fail "no $r"
		kill -SYS "$p"
		await 'replaced $r $p'
		log_has "^$r\[$p\] died: killed by SIGSYS (forbidden system call" ||
		    atf_fail "the log does not tell the cause"
	done
	long_check
}
bad_call_cleanup()
{
	daemon_cleanup
}

atf_test_case no_fork cleanup
no_fork_head()
{
	atf_set descr "(c12) no child can be made: it is tried again, in pauses"
	atf_set timeout 600
}
no_fork_body()
{
	SANDBOXD_NOFORK=$PWD
	export SANDBOXD_NOFORK
	# A first start says so and ends.
	daemon_conf "$MANY"
	: >broker
	mkdir -m 711 "$STATE"
	atf_check -s exit:1 \
	    -e match:"cannot start broker: Resource temporarily unavailable" \
	    -e match:"the first start has failed" \
	    "$BIN/sandboxd" -d -f "$CONF"
	[ -z "$(_daemon_pids "$D")" ] || atf_fail "half a set is left"
	rm broker
	long_start
	for r in $ROLES; do
		: >"$r"
		p=$(daemon_child runner) || atf_fail "no runner"
		log_cut
		kill -KILL "$p"
		# More than once, and each time the others go as well.
		await '[ "$(grep -c "^cannot start $r: " "$LOG")" -ge 3 ]'
		atf_check -s exit:69 -e match:"unavailable" "$CTL" status
		rm "$r"
		await 'replaced runner $p' 120
		atf_check_equal 4 "$(children | wc -w)"
	done
	long_check
}
no_fork_cleanup()
{
	daemon_cleanup
}

atf_test_case no_binary cleanup
no_binary_head()
{
	atf_set descr "(c12) the program was removed: the running one goes on"
	atf_set timeout 600
}
no_binary_body()
{
	cp -R "$SBX_BIN" "$PWD/bin"
	BIN=$PWD/bin
	long_start
	rm "$BIN/sandboxd"
	p=$(daemon_child store) || atf_fail "no store"
	kill -KILL "$p"
	await 'replaced store $p'
	long_check
}
no_binary_cleanup()
{
	BIN=$PWD/bin
	daemon_cleanup
}

atf_test_case client cleanup
client_head()
{
	atf_set descr "a client that crashes the frontend twice is shut out"
}
client_body()
{
	new_uid
	daemon_conf "restart 1000 per 60s"
	SANDBOXD_FAULT=frontend.request.before:1s
	SANDBOXD_FAULT_SETS=2
	export SANDBOXD_FAULT SANDBOXD_FAULT_SETS
	daemon_run
	await 'log_has "^running"'
	await 'as_user $NEW_UID "$CTL" ping 2>&1 | grep -q "shut out"'
	atf_check -o match:"crashed over a client of uid $NEW_UID again" \
	    grep "^the frontend" "$LOG"
	# Nobody else is.
	atf_check -o ignore "$CTL" ping
	new_uid
	as_user $NEW_UID "$CTL" ping >out 2>&1 || atf_fail "$(cat out)"
	daemon_stop
}
client_cleanup()
{
	daemon_cleanup
}

atf_test_case sandbox cleanup
sandbox_head()
{
	atf_set descr "a sandbox that crashes the runner twice has failed"
}
sandbox_body()
{
	daemon_conf "restart 1000 per 60s"
	SANDBOXD_FAULT=runner.output.before:1s
	SANDBOXD_FAULT_SETS=2
	export SANDBOXD_FAULT SANDBOXD_FAULT_SETS
	daemon_run
	daemon_up
	atf_check -o ignore "$CTL" image base
	atf_check -o ignore "$CTL" create -i other
	atf_check -o ignore "$CTL" create -i box
	# The answer may go with the set.
	"$CTL" exec -d box echo hello >out 2>&1 ||
	    grep -q "connection to the daemon lost" out ||
	    atf_fail "$(cat out)"
	await '"$CTL" show box 2>/dev/null | grep -q "it has crashed the run"'
	atf_check -o match:"failed" "$CTL" show box
	atf_check -o match:"^other  *ready" "$CTL" list
	atf_check -o inline:"hello\n" "$CTL" exec other echo hello
	atf_check -o ignore "$CTL" delete box other
	daemon_stop
}
sandbox_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case hung
	atf_add_test_case hung_parent
	atf_add_test_case ended
	atf_add_test_case bad_call
	atf_add_test_case no_fork
	atf_add_test_case no_binary
	atf_add_test_case client
	atf_add_test_case sandbox
}
