# How the end of a container, and of a command, is told: what nobody can know
# is not said.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# The container of a sandbox.
container()
{
	engine_docker ps -aq --no-trunc --filter "label=sandboxd.id=$1" \
	    --filter "label=sandboxd.instance=$(cat "$STATE/instance")"
}

cause_of()
{
	"$CTL" show "$1" | sed -n 's/^cause  *//p'
}

atf_test_case memory cleanup
memory_head()
{
	atf_set descr '(c28) memory runs out, and what else kills' \
	    '(aL13)'
	atf_set timeout 600
}
memory_body()
{
	world
	box -i web -m 32m
	# One line without an end.
	hog='exec tail /dev/zero'
	if [ "$("$CTL" exec web sh -c 'cat /sys/fs/cgroup/memory.events \
	    /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null' |
	    grep -c "^oom_kill ")" -eq 0 ]; then
		untried "this kernel does not count whom it kills"
		daemon_stop
		return
	fi
	atf_check -s exit:137 -e match:"out_of_memory.*limit_exceeded" \
	    timeout 120 "$CTL" exec web sh -c "$hog"
	atf_check -o match:"exec.ended .*cause=\"out_of_memory: " \
	    "$CTL" events web
	# One that is killed for another reason, and one that is not at all.
	atf_check -s exit:137 -e empty timeout 60 "$CTL" exec web sh -c \
	    'kill -KILL $$'
	atf_check -s exit:137 -e empty timeout 60 "$CTL" exec web sh -c \
	    'exit 137'
	atf_check -o save:exec "$CTL" exec -d web sleep 100000
	atf_check "$CTL" kill -s KILL "$(cat exec)"
	atf_check -s exit:137 -e empty timeout 60 "$CTL" wait "$(cat exec)"
	# What the kernel took before is no reason for what root does later.
	"$CTL" exec web sh -c "$hog" 2>err
	sleep 1.5
	engine_docker kill "$(container web)" >/dev/null || atf_fail "kill"
	await '"$CTL" list | grep -q "^web .*stopped"'
	atf_check_equal "killed: its container ended with status 137" \
	    "$(cause_of web)"
	atf_check -o ignore "$CTL" delete web
	nothing_left
	daemon_stop
}
memory_cleanup()
{
	daemon_cleanup
}

atf_test_case many cleanup
many_head()
{
	atf_set descr '(c52) many are deleted at once: what shows them answers'
	atf_set timeout 900
}
many_body()
{
	n=$(figure 8 200)
	world "limits { sandboxes 300 creates 1000 per 1s }"
	ids=
	i=0
	while [ $i -lt "$n" ]; do
		i=$((i + 1))
		atf_check -o ignore "$CTL" create -d -i "b$i" -m 32m
		ids="$ids b$i"
	done
	await '[ "$("$CTL" list | grep -c " ready")" -eq "$n" ]' 600
	# shellcheck disable=SC2086
	"$CTL" delete $ids >out 2>&1 </dev/null &
	p=$!
	while kill -0 $p 2>/dev/null; do
		timeout 60 "$CTL" list >list || atf_fail "no list meanwhile"
	done
	wait $p || atf_fail "delete: $(cat out)"
	"$CTL" list >list
	[ "$(wc -l <list)" -le 1 ] || atf_fail "$(cat list)"
	nothing_left
	daemon_stop
}
many_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case memory
	atf_add_test_case many
}
