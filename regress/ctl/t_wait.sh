# Waiting for a state of a sandbox, and for a command, with a deadline.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# go_on n: so many requests go on.
go_on()
{
	"$CTL" -j status >status.json &&
	    grep -q "\"waiting\":$1," status.json
}

# ended pid status file text: it has exited so, and said that.
ended()
{
	s=0
	wait "$1" || s=$?
	[ $s -eq "$2" ] || atf_fail "exit status $s, not $2: $(cat "$3")"
	grep -q "$4" "$3" || atf_fail "not \"$4\": $(cat "$3")"
}

atf_test_case states cleanup
states_head()
{
	atf_set descr '(aK03) for a state: comes, cannot come, is late'
	atf_set timeout 300
}
states_body()
{
	world
	box -i box
	atf_check -o inline:"ready\n" "$CTL" wait box ready
	atf_check -o inline:"ready\n" "$CTL" wait -t 60 box failed,ready
	atf_check -o match:'"id":"box".*"state":"ready"' \
	    "$CTL" -j wait box ready
	atf_check -s exit:124 -e inline:"sandboxctl: box: not stopped or \
deleted within the time given: it is ready (deadline_exceeded)\n" \
	    "$CTL" wait -t 0.1 box stopped,deleted
	atf_check -s exit:1 -e match:"cannot become pending any more: it is \
ready .wrong_state." "$CTL" wait box pending
	atf_check -s exit:125 -e match:"no such sandbox .not_found." \
	    "$CTL" wait none ready
	atf_check -s exit:125 -e match:'"code":"not_found"' \
	    "$CTL" -j wait none ready
	atf_check -o inline:"box.1\n" "$CTL" exec -d box sleep 1000
	atf_check -s exit:124 -e match:"not ended within the time given \
.deadline_exceeded." "$CTL" wait -t 0.1 box.1
	"$CTL" wait box stopped >stopped 2>&1 &
	a=$!
	"$CTL" wait -t 200 box deleted,failed >deleted 2>&1 &
	b=$!
	await 'go_on 2' 60
	atf_check "$CTL" stop box
	ended $a 0 stopped "^stopped"
	"$CTL" wait box ready >ready 2>&1 &
	a=$!
	await 'go_on 2' 60
	atf_check "$CTL" delete box
	ended $a 1 ready "box: cannot become ready any more: it is deleting"
	ended $b 0 deleted "^deleted"
	atf_check -o inline:"deleted\n" "$CTL" wait box deleted
	daemon_stop
}
states_cleanup()
{
	daemon_cleanup
}

atf_test_case restart cleanup
restart_head()
{
	atf_set descr '(aM02) a wait goes on over restarts and misses nothing'
	atf_set timeout 300
}
restart_body()
{
	world
	box -i box
	atf_check -o inline:"box.1\n" "$CTL" exec -d box sleep 1000
	"$CTL" wait -t 250 box stopped >one 2>&1 &
	one=$!
	"$CTL" wait -t 250 box stopped >two 2>&1 &
	two=$!
	"$CTL" wait -t 2 box.1 >three 2>&1 &
	three=$!
	await 'go_on 3 || _gone $three' 60
	# One does not see the daemon come back, nor the state that it waits
	# for come and go.
	kill -STOP $two
	kill -KILL "$(daemon_child store)"
	daemon_up
	ended $three 124 three "deadline_exceeded"
	atf_check "$CTL" stop box
	ended $one 0 one "^stopped"
	atf_check "$CTL" resume box
	daemon_stop
	kill -CONT $two
	daemon_start
	ended $two 0 two "^stopped"
	atf_check -o match:ready "$CTL" show box
	daemon_stop
	# And none that waits for what is gone for good.
	"$CTL" wait -t 0.5 box stopped >four 2>&1 && atf_fail "no daemon"
	grep -q unavailable four || atf_fail "$(cat four)"
}
restart_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case states
	atf_add_test_case restart
}
