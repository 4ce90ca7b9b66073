# Cancel and timeout end everything that a command has begun.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# Processes in the sandbox, by its cgroup's word: the guest and its reserve
# are no payload.
payloads()
{
	"$CTL" exec "$BOX" sh -c 'ps -o pid,args | grep -c "[s]leep 100000"'
}

# A tree of 200: double forks, sessions of their own, and one more in each.
TREE='i=0; while [ $i -lt 100 ]; do
	(setsid sh -c "sleep 100000 & exec sleep 100000" &)
	i=$((i + 1)); done
	while [ $(ps -o args | grep -c "[s]leep 100000") -lt 200 ]; do
	usleep 20000; done; echo up; exec sleep 100000'

atf_test_case cancel cleanup
cancel_head()
{
	atf_set descr '(aX3) a tree of 200 processes is gone after cancel'
	atf_set timeout 300
}
cancel_body()
{
	world
	box
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c "$TREE"
	e=$(cat exec)
	await '"$CTL" logs "$e" | grep -q up' 120
	atf_check "$CTL" kill "$e"
	atf_check -s not-exit:124 -o ignore -e ignore timeout 60 \
	    "$CTL" wait "$e"
	[ "$(payloads)" = 0 ] || atf_fail "$(payloads) are left"
	daemon_stop
}
cancel_cleanup()
{
	daemon_cleanup
}

atf_test_case timed_out cleanup
timed_out_head()
{
	atf_set descr '(aX3) a tree of 200 processes is gone after a timeout'
	atf_set timeout 300
}
timed_out_body()
{
	world
	box
	atf_check -s exit:124 -o inline:"up\n" -e ignore \
	    timeout 200 "$CTL" exec -t 20 "$BOX" sh -c "$TREE"
	[ "$(payloads)" = 0 ] || atf_fail "$(payloads) are left"
	atf_check -o match:timed_out "$CTL" ps -a "$BOX"
	daemon_stop
}
timed_out_cleanup()
{
	daemon_cleanup
}

atf_test_case reaper_killed cleanup
reaper_killed_head()
{
	atf_set descr 'a payload that kills what guards it tells the truth yet'
	atf_set timeout 300
}
reaper_killed_body()
{
	world
	box
	atf_check -s exit:9 -o ignore -e ignore "$CTL" exec "$BOX" \
	    sh -c 'kill -9 $PPID; (setsid sleep 100000 &); exit 9'
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    '(setsid sleep 100000 &); kill -9 -1; echo up; exec sleep 100000'
	e=$(cat exec)
	await '"$CTL" logs "$e" | grep -q up' 60
	atf_check "$CTL" kill "$e"
	atf_check -s not-exit:124 -o ignore -e ignore timeout 60 \
	    "$CTL" wait "$e"
	await '[ "$(payloads)" = 0 ]' 60
	atf_check -o inline:"well\n" "$CTL" exec "$BOX" echo well
	daemon_stop
}
reaper_killed_cleanup()
{
	daemon_cleanup
}

atf_test_case all_pids cleanup
all_pids_head()
{
	atf_set descr 'one that holds all pids is gone after cancel'
	atf_set timeout 300
}
all_pids_body()
{
	world
	box -p 64
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'f() { sleep 100000 & f; }; echo up; while :; do f; done'
	e=$(cat exec)
	await '"$CTL" logs -o stdout "$e" | grep -q up' 60
	atf_check "$CTL" kill "$e"
	atf_check -s not-exit:124 -o ignore -e ignore timeout 100 \
	    "$CTL" wait "$e"
	await '"$CTL" exec "$BOX" true 2>/dev/null' 60
	[ "$(payloads)" = 0 ] || atf_fail "$(payloads) are left"
	daemon_stop
}
all_pids_cleanup()
{
	daemon_cleanup
}

atf_test_case interrupt cleanup
interrupt_head()
{
	atf_set descr 'SIGINT at sandboxctl cancels its command'
	atf_set timeout 300
}
interrupt_body()
{
	world
	box
	env --default-signal=INT "$CTL" exec "$BOX" \
	    sh -c 'echo up; exec sleep 100000' >out 2>err </dev/null &
	p=$!
	await 'grep -q up out' 60
	kill -INT $p
	s=0
	wait $p || s=$?
	[ $s -eq 130 ] || [ $s -eq 143 ] || atf_fail "exit status $s"
	[ "$(payloads)" = 0 ] || atf_fail "$(payloads) are left"
	daemon_stop
}
interrupt_cleanup()
{
	daemon_cleanup
}

atf_test_case background cleanup
background_head()
{
	atf_set descr 'what an ended exec left behind is told, and kill ends it'
	atf_set timeout 300
}
background_body()
{
	world
	box
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'sleep 100000 & sleep 100000 & exit 0'
	e=$(cat exec)
	atf_check -e ignore "$CTL" wait "$e"
	atf_check -o match:'"background": *2' "$CTL" -j ps -a "$BOX"
	[ "$(payloads)" = 2 ] || atf_fail "$(payloads) run, not 2"
	atf_check "$CTL" kill "$e"
	await '[ "$(payloads)" = 0 ]' 60
	daemon_stop
}
background_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case cancel
	atf_add_test_case timed_out
	atf_add_test_case reaper_killed
	atf_add_test_case all_pids
	atf_add_test_case interrupt
	atf_add_test_case background
}
