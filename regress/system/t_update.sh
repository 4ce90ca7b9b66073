# Labels, times and limits of sandboxes that there are.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# One field of a sandbox, a word or a number.
field()
{
	"$CTL" -j list -a | grep "\"id\":\"$1\"" |
	    sed -n "s/.*\"$2\":\"*\([a-z0-9]*\).*/\1/p"
}

# How often a sandbox has had an event.
told()
{
	"$CTL" events -t "$2" "$1" | awk -v t="$2" '
	    { for (i = 1; i <= NF; i++) n += $i == t } END { print n + 0 }'
}

# What the Engine has of it.
at_engine()
{
	docker -H "unix://$ENGINE" inspect -f \
	    '{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}} {{
	    .HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}}' \
	    "$(field "$1" container)"
}

# And what the log has, with what the guest reads.
limits()
{
	echo "$(field "$1" memory) $(field "$1" mcpus) $(field "$1" pids)"
}

seen()
{
	echo "$(field "$1" memory_seen) $(field "$1" mcpus_seen)" \
	    "$(field "$1" pids_seen)"
}

atf_test_case labels cleanup
labels_head()
{
	atf_set descr 'labels and times change by one event, in any state'
	atf_set timeout 300
}
labels_body()
{
	world "limits { lifetime 10d }
retain { stopped 1d }"
	for i in a b; do
		atf_check -o ignore "$CTL" create -i $i -l team=red -l x=1
	done
	atf_check -s exit:64 -e match:'nothing to change' "$CTL" update a
	atf_check -s exit:64 -e match:'neither an id nor a label' \
	    "$CTL" update -l x=2
	atf_check -s exit:66 -e match:'nobody: no such' \
	    "$CTL" update -l x=2 nobody
	atf_check -o save:json "$CTL" -j update -l x=2 -l y=3 -l team- -q 1h \
	    -k 2h -T 2d a
	for t in '"labels":{"x":"2","y":"3"}' '"idle":3600000' \
	    '"keep":7200000' '"lifetime":172800000'; do
		grep -qF "$t" json || atf_fail "no $t"
	done
	atf_check_equal "0 1" "$(told a sandbox.update) $(told a \
	    sandbox.updated)"
	# What is so already is no event; of a label, all that have it.
	atf_check "$CTL" update -l x=2 -q 1h a
	atf_check_equal 1 "$(told a sandbox.updated)"
	atf_check -o inline:"2 updated\n" "$CTL" update -L x -l z=9
	atf_check -o match:'z' "$CTL" -j list -l z=9 -l team=red
	atf_check_equal 2 "$("$CTL" -j list -l z=9 | grep -c .)"
	atf_check -s exit:75 -e match:'lifetime: 20d: the limit is 10d' \
	    "$CTL" update -T 20d a
	atf_check -s exit:75 -e match:'lifetime: none: the limit is 10d' \
	    "$CTL" update -T none a
	atf_check -s exit:64 -e match:'it is older than that' \
	    "$CTL" update -T 0.001 a
	atf_check -s exit:75 -e match:'keep: 2d: the limit is 1d' \
	    "$CTL" update -k 2d a
	# The same when it is made.
	atf_check -s exit:75 -e match:'keep: 2d: the limit is 1d' \
	    "$CTL" create -i c -k 2d
	atf_check -o ignore "$CTL" create -i c -k 0.001
	atf_check -o match:'"keep":1[,}]' "$CTL" -j show c
	atf_check "$CTL" stop c
	await '"$CTL" events c | grep -q "reason=stopped"'
	# Paused, stopped; and it stays so over a restart.
	atf_check "$CTL" pause a
	atf_check "$CTL" update -l p=1 a
	atf_check "$CTL" stop a
	atf_check "$CTL" update -l p=2 -k 0.001 a
	daemon_stop
	daemon_start "limits { lifetime 10d }
retain { stopped 1d }"
	await '"$CTL" events a | grep -q "reason=stopped"'
	atf_check -s exit:75 -e match:'cannot update while it is delet' \
	    "$CTL" update -l p=3 a
	atf_check "$CTL" delete b
	atf_check -o ignore "$CTL" log verify
	nothing_left
	daemon_stop
}
labels_cleanup()
{
	daemon_cleanup
}

atf_test_case live cleanup
live_head()
{
	atf_set descr 'limits change while it runs, is paused, is stopped'
	atf_set timeout 300
}
live_body()
{
	world
	atf_check -o ignore "$CTL" create -i a -m 128M -c 0.5 -p 40
	mkfifo in
	"$CTL" exec a sh -c 'read x; seq 1 200000; exit 7' <in >out 2>&1 &
	pid=$!
	exec 9>in
	await '[ "$(field a execs)" = 1 ]'
	atf_check_equal "134217728 500 40" "$(limits a)"
	atf_check -o save:json "$CTL" -j update -m 256M -c 0.25 -p 50 \
	    -l team=red a
	for t in '"memory":268435456' '"memory_seen":268435456' \
	    '"mcpus":250' '"mcpus_seen":250' '"pids":50' '"pids_seen":50' \
	    '"labels":{"team":"red"}'; do
		grep -qF "$t" json || atf_fail "no $t"
	done
	atf_check_equal "268435456 268435456 250000000 50" "$(at_engine a)"
	atf_check_equal "1 1" "$(told a sandbox.update) $(told a \
	    sandbox.updated)"
	atf_check -o not-match:'in force' -o match:'memory  *256M' \
	    -o match:'memory .*enforced' -o match:'swap .*enforced' \
	    -o match:'cpus .*enforced' -o match:'pids .*enforced' \
	    "$CTL" show a
	atf_check -o inline:"50\n" "$CTL" exec a sh -c \
	    'cat /sys/fs/cgroup/pids/pids.max 2>/dev/null ||
	    cat /sys/fs/cgroup/pids.max'
	# What ran and had its client goes on.
	echo go >&9
	exec 9>&-
	wait $pid
	atf_check_equal 7 $?
	seq 1 200000 | cmp - out || atf_fail "not its output"
	# Paused: it says what it reads when it goes on.
	atf_check "$CTL" pause a
	atf_check "$CTL" update -m 192M a
	atf_check_equal "201326592 250 50" "$(limits a)"
	atf_check -o not-match:'in force' "$CTL" show a
	atf_check "$CTL" unpause a
	await '[ "$(seen a)" = "201326592 250 50" ]'
	# Stopped: from the resume on.
	atf_check "$CTL" stop a
	atf_check "$CTL" update -m 64M -p 30 a
	atf_check -o not-match:'in force' -o not-match:'guest reads 0' \
	    -o match:'memory .*enforced .*next start' \
	    -o match:'pids .*enforced .*next start' "$CTL" show a
	atf_check "$CTL" resume a
	atf_check_equal "67108864 250 30" "$(seen a)"
	daemon_stop
	daemon_start
	await daemon_engine_is_up
	atf_check_equal "67108864 250 30" "$(limits a)"
	atf_check "$CTL" restart a
	atf_check_equal "67108864 250 30" "$(seen a)"
	atf_check "$CTL" delete a
	atf_check -o ignore "$CTL" log verify
	nothing_left
	daemon_stop
}
live_cleanup()
{
	daemon_cleanup
}

atf_test_case refused cleanup
refused_head()
{
	atf_set descr 'what the Engine, a limit or the state refuses changes nothing'
	atf_set timeout 300
}
refused_body()
{
	world "limits { memory 2G pids 1000 }
limits user 0 { memory 700M total }
"
	atf_check -o ignore "$CTL" create -i a -m 200M -p 40 -c 0.5
	atf_check -o ignore "$CTL" create -i b -m 100M -p 40 -c 0.5
	has="$(limits a) $(at_engine a)"
	atf_check -s exit:75 -e match:'memory: 3221225472: the limit is' \
	    "$CTL" update -m 3G a
	atf_check -s exit:75 -e match:'pids: 1001: the limit is 1000' \
	    "$CTL" update -p 1001 -l x=1 a
	# Together with the other one it would be more than the user may have.
	atf_check "$CTL" update -m 200M b
	atf_check -s exit:75 -e match:'memory: limit 734003200 for user 0' \
	    "$CTL" update -m 501M a
	atf_check "$CTL" update -m 500M a
	atf_check_equal "524288000 209715200" \
	    "$(field a memory) $(field b memory)"
	atf_check "$CTL" update -m 200M a
	atf_check_equal "$has" "$(limits a) $(at_engine a)"
	# Its kernel does not take away what is in use.
	if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
		atf_check -e ignore "$CTL" exec a \
		    dd if=/dev/zero of=/tmp/x bs=1M count=40
		n=$(told a sandbox.updated)
		atf_check -s exit:69 -e match:'update failed' \
		    "$CTL" update -m 20M -l y=1 a
		atf_check_equal $((n + 1)) "$(told a sandbox.updated)"
		atf_check -o match:'code=engine_error' \
		    "$CTL" events -t sandbox.updated a
		atf_check_equal "$has" "$(limits a) $(at_engine a)"
		atf_check -o empty "$CTL" list -l y
		atf_check -o inline:"here\n" "$CTL" exec a echo here
	fi
	atf_check "$CTL" delete a
	atf_check -s exit:75 -e match:'cannot update while it is deleted' \
	    "$CTL" update -m 100M a
	atf_check "$CTL" delete b
	atf_check -o ignore "$CTL" log verify
	nothing_left
	daemon_stop
}
refused_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case labels
	atf_add_test_case live
	atf_add_test_case refused
}
