# What is asked of sandboxes: stop of several, pause, unpause, restart.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# One field of a sandbox, a word or a number.
field()
{
	"$CTL" -j list -a | grep "\"id\":\"$1\"" |
	    sed -n "s/.*\"$2\":\"*\([a-z0-9]*\).*/\1/p"
}

state()
{
	field "$1" state
}

# How often a sandbox has had an event.
told()
{
	"$CTL" events -t "$2" "$1" | awk -v t="$2" '
	    { for (i = 1; i <= NF; i++) n += $i == t } END { print n + 0 }'
}

# A command that counts in a file, and where it has got.
counts()
{
	N=$STATE/work/$(field "$1" number)/n
	"$CTL" exec -d "$1" sh -c \
	    'i=0; while :; do i=$((i + 1)); echo $i >n; usleep 20000; done' \
	    >count
	await '[ -s "$N" ]'
}

atf_test_case bulk cleanup
bulk_head()
{
	atf_set descr '(aA16) stop of several: each on its own, each once'
	atf_set timeout 300
}
bulk_body()
{
	world
	for i in a b c; do
		atf_check -o ignore "$CTL" create -l team=red -i $i
	done
	atf_check -o ignore "$CTL" create -i d
	atf_check -s exit:66 -e match:'nobody: no such sandbox' \
	    "$CTL" stop nobody a
	atf_check_equal stopped "$(state a)"
	# One that is stopped is not among those that are to be.
	atf_check -o save:json "$CTL" -j stop -l team=red
	atf_check_equal 2 "$(grep -c '"state":"stopped"' json)"
	atf_check_equal '{"stopped":2}' "$(tail -n 1 json)"
	atf_check_equal "stopped stopped stopped ready" \
	    "$(state a) $(state b) $(state c) $(state d)"
	atf_check -o inline:"0 stopped\n" "$CTL" stop -l team=red
	atf_check -s exit:75 -e match:'a: cannot stop while it is stopped' \
	    -e match:'b: cannot stop' "$CTL" stop a b d
	atf_check_equal stopped "$(state d)"
	atf_check -s exit:64 -e match:'neither an id nor a label' "$CTL" stop
	# Two at a time of one: one operation, one event.
	atf_check "$CTL" resume d
	atf_check "$CTL" stop d d
	atf_check_equal "2 2" "$(told d sandbox.stop) $(told d sandbox.stopped)"
	atf_check -o inline:"3 deleted\n" "$CTL" delete -l team
	atf_check "$CTL" delete d
	daemon_stop
}
bulk_cleanup()
{
	daemon_cleanup
}

atf_test_case labels cleanup
labels_head()
{
	atf_set descr 'the other verbs of several, and of a label'
	atf_set timeout 300
}
labels_body()
{
	world "timeouts { stop 1h }"
	for i in pause unpause restart resume stop delete; do
		atf_check -s exit:64 -e match:'neither an id nor a label' \
		    "$CTL" $i
	done
	for i in a b c; do
		atf_check -o ignore "$CTL" create -l team=red -i $i
	done
	atf_check -o ignore "$CTL" create -r -i d
	atf_check -o match:'"readonly": *1' "$CTL" -j show d
	# What is not in a state for it is passed over.
	atf_check "$CTL" pause a
	atf_check -o inline:"2 paused\n" "$CTL" pause -l team
	atf_check_equal "paused paused paused ready" \
	    "$(state a) $(state b) $(state c) $(state d)"
	atf_check_equal "1 1" "$(told a sandbox.pause) $(told b sandbox.pause)"
	atf_check "$CTL" unpause b
	atf_check -o save:json "$CTL" -j unpause -l team=red
	atf_check_equal 2 "$(grep -c '"state":"ready"' json)"
	atf_check "$CTL" pause b
	atf_check "$CTL" stop -g 0.5 c
	# A paused and a stopped one are resumed, the third is left alone.
	atf_check -o save:json "$CTL" -j resume -l team=red
	atf_check_equal 2 "$(grep -c '"state":"ready"' json)"
	atf_check -s exit:66 -e match:'nobody: no such sandbox' \
	    "$CTL" stop nobody b c
	atf_check "$CTL" resume b c
	atf_check_equal "ready ready ready" "$(state a) $(state b) $(state c)"
	atf_check -o save:json "$CTL" -j restart -g 1 -l team d
	atf_check_equal 4 "$(grep -c '"state":"ready"' json)"
	# The grace is the client's: this one never ends by itself.
	atf_check -o ignore "$CTL" exec -d d sh -c \
	    'trap "" TERM; touch deaf; while :; do sleep 1000; done'
	await '"$CTL" exec d test -e deaf'
	atf_check "$CTL" stop -g 0.2 d
	atf_check -o inline:"$(printf 'x%.0s' 1 2 3)\n" "$CTL" run -r -R \
	    -q 1h sh -c 'touch /x 2>/dev/null || echo xxx'
	atf_check -o inline:"4 deleted\n" "$CTL" delete -l team d
	daemon_stop
}
labels_cleanup()
{
	daemon_cleanup
}

atf_test_case paused cleanup
paused_head()
{
	atf_set descr '(aA25) what is paused stands still, and goes on after'
	atf_set timeout 300
}
paused_body()
{
	world
	atf_check -o ignore "$CTL" create -i p
	counts p
	atf_check "$CTL" pause p
	atf_check_equal paused "$(state p)"
	a=$(cat "$N")
	atf_check -s exit:125 -e match:'p is paused.*wrong_state' \
	    "$CTL" exec p true
	atf_check -s exit:75 -e match:'cannot pause while it is paused' \
	    "$CTL" pause p
	atf_check -o match:running "$CTL" ps p
	# The daemon and its set go, and what is paused stays so.
	daemon_stop
	daemon_start
	await daemon_engine_is_up
	atf_check_equal paused "$(state p)"
	atf_check_equal "$a" "$(cat "$N")"
	atf_check "$CTL" unpause p
	atf_check_equal ready "$(state p)"
	await '[ "$(cat "$N")" -gt $a ] 2>/dev/null'
	atf_check -o inline:"on\n" "$CTL" exec p echo on
	atf_check -o match:running "$CTL" ps p
	atf_check -s exit:75 -e match:'cannot unpause while it is ready' \
	    "$CTL" unpause p
	# A resume of what is paused is the same; a kill waits for it.
	atf_check "$CTL" pause p
	atf_check "$CTL" kill "$(cat count)"
	atf_check "$CTL" resume p
	atf_check -s exit:143 -o ignore -e ignore "$CTL" wait "$(cat count)"
	for t in pause paused unpause unpaused; do
		atf_check_equal 2 "$(told p sandbox.$t)"
	done
	# From stopped, and with a delete, it goes as from ready.
	atf_check "$CTL" pause p
	atf_check "$CTL" stop p
	atf_check_equal stopped "$(state p)"
	atf_check "$CTL" resume p
	atf_check -o inline:"on\n" "$CTL" exec p echo on
	atf_check "$CTL" pause p
	atf_check "$CTL" delete p
	atf_check -o match:'^events' "$CTL" log verify
	daemon_stop
}
paused_cleanup()
{
	daemon_cleanup
}

atf_test_case outside cleanup
outside_head()
{
	atf_set descr 'a pause by somebody else is told, and its end'
	atf_set timeout 300
}
outside_body()
{
	world
	atf_check -o ignore "$CTL" create -i p
	c=$(field p container)
	atf_check -o ignore docker -H "unix://$ENGINE" pause "$c"
	await '[ "$(state p)" = paused ]'
	atf_check -o match:'paused by somebody else' "$CTL" show p
	atf_check -o ignore docker -H "unix://$ENGINE" unpause "$c"
	await '[ "$(state p)" = ready ]'
	# While the daemon is away nobody tells it: it sees.
	daemon_stop
	atf_check -o ignore docker -H "unix://$ENGINE" pause "$c"
	daemon_start
	await '[ "$(state p)" = paused ]'
	daemon_stop
	atf_check -o ignore docker -H "unix://$ENGINE" unpause "$c"
	daemon_start
	await '[ "$(state p)" = ready ]'
	atf_check -o inline:"on\n" "$CTL" exec p echo on
	# One that ends while it is paused has ended.
	atf_check "$CTL" pause p
	atf_check -o ignore docker -H "unix://$ENGINE" kill "$c"
	await '[ "$(state p)" = stopped ]'
	atf_check "$CTL" resume p
	atf_check "$CTL" delete p
	daemon_stop
}
outside_cleanup()
{
	daemon_cleanup
}

atf_test_case restarted cleanup
restarted_head()
{
	atf_set descr '(aA27) restart: one order, its outcome, the same files'
	atf_set timeout 300
}
restarted_body()
{
	world
	atf_check -o ignore "$CTL" create -i r
	c=$(field r container)
	atf_check "$CTL" exec r sh -c 'echo kept >kept'
	atf_check -o save:exec "$CTL" exec -d r sleep 100000
	atf_check -o save:json "$CTL" -j restart r
	atf_check_equal 1 "$(grep -c '"state":"ready"' json)"
	atf_check_equal "$c" "$(field r container)"
	atf_check -o inline:"kept\n" "$CTL" exec r cat kept
	atf_check -s not-exit:0 -o ignore -e ignore "$CTL" wait "$(cat exec)"
	atf_check -o not-match:sleep "$CTL" ps r
	atf_check_equal "1 2 0 0" "$(told r sandbox.restart) $(told r \
	    sandbox.ready) $(told r sandbox.stop) $(told r sandbox.stopped)"
	# From paused, and from stopped.
	atf_check "$CTL" pause r
	atf_check "$CTL" restart r
	atf_check -o inline:"kept\n" "$CTL" exec r cat kept
	atf_check "$CTL" stop r
	atf_check -o ignore "$CTL" create -i s
	atf_check "$CTL" restart r s
	atf_check -o inline:"kept\n" "$CTL" exec r cat kept
	atf_check "$CTL" delete r s
	atf_check -s exit:75 -e match:'cannot restart while it is deleted' \
	    "$CTL" restart r
	daemon_stop
}
restarted_cleanup()
{
	daemon_cleanup
}

# The client asks a daemon that has died meanwhile how far it has got.
atf_test_case died cleanup
died_head()
{
	atf_set descr 'stop and restart go on over the death of the daemon'
	atf_set timeout 300
}
died_body()
{
	world "timeouts { stop 2s }"
	atf_check -o ignore "$CTL" create -i d
	for v in stop restart pause; do
		# A command that takes no TERM holds it up.
		[ "$(state d)" = ready ] || atf_check "$CTL" resume d
		atf_check -o ignore "$CTL" exec -d d sh -c \
		    "trap '' TERM; while :; do usleep 20000; done"
		timeout 120 "$CTL" "$v" d >out 2>&1 </dev/null &
		p=$!
		await '[ "$(told d sandbox.$v)" = 1 ]'
		daemon_kill
		daemon_start
		s=0
		wait $p || s=$?
		[ $s = 0 ] || atf_fail "$v: $(cat out)"
	done
	atf_check_equal paused "$(state d)"
	atf_check_equal "1 1 1" "$(told d sandbox.stop) $(told d \
	    sandbox.restart) $(told d sandbox.pause)"
	atf_check "$CTL" delete d
	daemon_stop
}
died_cleanup()
{
	daemon_cleanup
}

atf_test_case together cleanup
together_head()
{
	atf_set descr '(aX19) a command that comes with a stop revives nothing'
	atf_set timeout 300
}
together_body()
{
	world
	box -i r
	for i in 1 2 3 4 5 6; do
		pids=
		for c in "exec r true" "stop r" "exec -d r sleep 1000000"; do
			"$CTL" $c </dev/null >>out 2>&1 &
			pids="$pids $!"
		done
		for p in $pids; do
			wait "$p" || :
		done
		await '[ "$(state r)" = stopped ]'
		"$CTL" ps r >ps
		! grep -w running ps || atf_fail "it runs: $(head -n 2 ps)"
		c=$("$CTL" show r | sed -n 's/^container  *//p')
		[ -z "$c" ] || atf_check -o inline:'false\n' timeout 120 \
		    docker -H "unix://$ENGINE" inspect \
		    -f '{{.State.Running}}' "$c"
		atf_check -o ignore "$CTL" resume r
		atf_check -o inline:'hi\n' "$CTL" exec r echo hi
	done
	atf_check "$CTL" delete r
	nothing_left
	daemon_stop
}
together_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case together
	atf_add_test_case bulk
	atf_add_test_case labels
	atf_add_test_case paused
	atf_add_test_case outside
	atf_add_test_case restarted
	atf_add_test_case died
}
