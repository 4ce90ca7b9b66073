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
	await '[ "$(cause_of web)" = \
	    "killed: its container ended with status 137" ]'
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

atf_test_case victim cleanup
victim_head()
{
	atf_set descr '(c28) memory runs out, and the guest is who is killed'
	atf_set timeout 600
}
victim_body()
{
	world
	box -i web -m 32m
	box -i other
	p=$(engine_docker inspect -f '{{.State.Pid}}' "$(container web)")
	# Most of it is nobody's, so that nobody is larger than the guest is
	# made to look; which that itself takes back with its next command.
	"$CTL" exec web sh -c 'echo 0 >/proc/self/oom_score_adj
	    head -c 20000000 /dev/zero >/tmp/fill; : >here
	    while [ ! -f go ]; do usleep 20000; done; exec tail /dev/zero' \
	    >out 2>err &
	client=$!
	await 'ls "$STATE"/work/*/here >here 2>/dev/null'
	echo 1000 >"/proc/$p/oom_score_adj" || atf_fail "no guest"
	: >"$(dirname "$(cat here)")/go"
	s=0
	wait $client || s=$?
	[ $s -ne 0 ] || atf_fail "the command ends with 0"
	await '_gone "$p"'
	await '"$CTL" list | grep -q "^web .*stopped"'
	await 'cause_of web | grep -q "^out_of_memory: .* status 137"'
	"$CTL" events web >events || atf_fail "events"
	atf_check_equal 1 "$(grep -c "sandbox\.stopped" events)"
	atf_check_equal 1 "$(grep -c "sandbox\..* cause=.out_of_memory" events)"
	atf_check -o match:"lost" "$CTL" ps -a web
	atf_check -o inline:"hi\n" "$CTL" exec other echo hi
	atf_check -o ignore "$CTL" resume web
	atf_check -o inline:"hi\n" "$CTL" exec web echo hi
	atf_check -o ignore "$CTL" delete web other
	nothing_left
	daemon_stop
}
victim_cleanup()
{
	daemon_cleanup
}

atf_test_case renamed cleanup
renamed_head()
{
	atf_set descr '(c27) a container that somebody renames is its sandbox'"'"'s'
	atf_set timeout 600
}
outside()
{
	"$CTL" events "$1" >outside || atf_fail "events $1"
	grep -c 'sandbox\.outside .*renamed' outside
}
renamed_body()
{
	world
	box -i one
	box -i two
	one=$(container one)
	two=$(container two)
	name=$(engine_docker inspect -f '{{.Name}}' "$one")
	other=else.$(cut -c 1-12 <"$STATE/instance")
	atf_check -o save:exec "$CTL" exec -d one sh -c \
	    'while [ ! -f go ]; do usleep 20000; done; exit 5'
	engine_docker rename "$one" "$other" || atf_fail "rename"
	await '[ "$(outside one)" -eq 1 ]'
	atf_check "$CTL" reconcile
	atf_check -o not-match:"^strays" "$CTL" status
	atf_check -o match:"^one .*ready" "$CTL" list

	# Nor does a daemon that starts take it for another one's.
	daemon_kill
	daemon_start
	await daemon_engine_is_up
	atf_check "$CTL" reconcile
	atf_check -o not-match:"^strays" "$CTL" status
	atf_check -o match:"^one .*ready" "$CTL" list
	atf_check "$CTL" exec one touch go
	atf_check -s exit:5 timeout 120 "$CTL" wait "$(cat exec)"

	# What is done to it, by whomever.
	engine_docker pause "$one" >/dev/null || atf_fail "pause"
	await '"$CTL" list | grep -q "^one .*paused"'
	engine_docker unpause "$one" >/dev/null || atf_fail "unpause"
	await '"$CTL" list | grep -q "^one .*ready"'
	atf_check -o ignore "$CTL" pause one
	atf_check -o ignore "$CTL" unpause one
	atf_check -o ignore "$CTL" update -m 48m one
	atf_check_equal 50331648 "$(engine_docker inspect -f \
	    '{{.HostConfig.Memory}}' "$one")"
	atf_check -o ignore "$CTL" stop one
	atf_check -o ignore "$CTL" resume one
	engine_docker kill "$one" >/dev/null || atf_fail "kill"
	await '"$CTL" list | grep -q "^one .*stopped"'
	await '[ "$(cause_of one)" = \
	    "killed: its container ended with status 137" ]'
	atf_check -o ignore "$CTL" resume one

	# Another sandbox's has the name: the right one goes.
	engine_docker rename "$two" "${name#/}" || atf_fail "rename"
	await '[ "$(outside two)" -eq 1 ]'
	atf_check "$CTL" reconcile
	atf_check -o inline:"hi\n" "$CTL" exec one echo hi
	atf_check -o ignore "$CTL" delete one
	atf_check_equal "$two" "$(_ours | while read -r c; do
	    engine_docker inspect -f '{{.Id}}' "$c"; done)"
	atf_check -o inline:"hi\n" "$CTL" exec two echo hi
	engine_docker rm -f "$two" >/dev/null || atf_fail "rm"
	await '"$CTL" list | grep -q "^two .*failed"'
	atf_check_equal "removed: its container is gone" "$(cause_of two)"
	atf_check -o ignore "$CTL" delete two
	atf_check_equal 1 "$(outside one)"
	atf_check -o empty "$CTL" events -t stray.found -t stray.removed
	nothing_left
	daemon_stop
}
renamed_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case memory
	atf_add_test_case many
	atf_add_test_case victim
	atf_add_test_case renamed
}
