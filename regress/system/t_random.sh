# One process after the other is killed, whichever it is, while execs run:
# each exec that was accepted ends with its true code and all its output.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# The order is by chance and yet the same in each run; SEED makes another.
victims()
{
	awk -v n="$1" -v seed="${SEED:-1}" 'BEGIN {
		srand(seed)
		split("frontend store broker runner daemon all", v, " ")
		for (i = 0; i < n; i++)
			print v[int(rand() * 6) + 1]
	}'
}

SCRIPT='n=0; while [ $n -lt 60 ]; do echo "$1 line $n"; n=$((n + 1))
	usleep 10000; done; exit $1'

want_of()
{
	n=0
	while [ $n -lt 60 ]; do
		echo "$1 line $n"
		n=$((n + 1))
	done
}

strike()
{
	if [ "$1" = all ]; then
		# All at the same moment, the parent first or last.
		all="$(_daemon_pids "$D")"
		# shellcheck disable=SC2086
		kill -KILL $all
		await '[ -z "$(_daemon_pids "$D")" ]'
		daemon_start
		return
	fi
	if [ "$1" = daemon ]; then
		daemon_kill
		daemon_start
		return
	fi
	old=$(daemon_child "$1") || atf_fail "no $1"
	kill -KILL "$old"
	await "_gone $old"
	await 'daemon_child "'"$1"'" >/dev/null && "$CTL" ping >ping 2>&1'
}

atf_test_case kills cleanup
kills_head()
{
	atf_set descr '(c06) (aR1) kill -9 of whichever process or all, repeated'
	atf_set timeout 20000
}
kills_body()
{
	world "restart 1000 per 60s"
	box -i one
	box -i two
	victims "$(figure 10 1000)" >order
	# By chance there may be none.
	echo all >>order
	round=0
	while read -r v; do
		round=$((round + 1))
		c=$((round % 256))
		a=$("$CTL" exec -d one sh -c "$SCRIPT" x $c </dev/null) ||
		    atf_fail "round $round: exec"
		b=$("$CTL" exec -d two sh -c "$SCRIPT" x $c </dev/null) ||
		    atf_fail "round $round: exec"
		strike "$v" </dev/null
		want_of $c >want
		for e in "$a" "$b"; do
			s=0
			timeout 120 "$CTL" wait "$e" >out 2>&1 </dev/null ||
			    s=$?
			[ $s -eq $c ] || {
				_show_log
				atf_fail "round $round, $v: $s: $(cat out)"
			}
			"$CTL" logs "$e" >out 2>err </dev/null ||
			    atf_fail "round $round, $v: $(cat err)"
			cmp out want || atf_fail "round $round, $v: output"
		done
	done <order
	echo "$round kills: $(sort order | uniq -c | tr -s ' \n' ' ')"
	atf_check -o ignore "$CTL" log verify
	atf_check -o ignore "$CTL" delete one two
	nothing_left
	daemon_stop
}
kills_cleanup()
{
	daemon_cleanup
}

# Clients that write down what they were answered, until there is a file stop.
client_execs()
{
	n=0
	while [ ! -e stop ]; do
		n=$((n + 1))
		c=$((n % 200))
		if e=$(timeout 120 "$CTL" exec -d one sh -c "exit $c" \
		    </dev/null 2>>"err.$1"); then
			echo "$e $c" >>"execs.$1"
		else
			sleep 0.05
		fi
	done
}

client_boxes()
{
	while [ ! -e stop ]; do
		if id=$(timeout 120 "$CTL" create </dev/null 2>>err.boxes); then
			echo "$id" >>created
			timeout 120 "$CTL" delete "$id" </dev/null \
			    >>err.boxes 2>&1 && echo "$id" >>deleted
		else
			sleep 0.05
		fi
	done
}

atf_test_case frontend cleanup
frontend_head()
{
	atf_set descr '(aF6) kill -9 of the frontend at any moment, under load:' \
	    'what was answered is so'
	atf_set timeout 20000
}
frontend_body()
{
	world "restart 1000 per 1s"
	box -i one
	: >created
	: >deleted
	pids=
	for i in 1 2; do
		: >"execs.$i"
		client_execs $i &
		pids="$pids $!"
	done
	client_boxes &
	pids="$pids $!"
	awk -v n="$(figure 10 100)" -v seed="${SEED:-1}" 'BEGIN {
		srand(seed)
		while (n-- > 0)
			print rand() / 3
	}' >pauses
	while read -r t; do
		sleep "$t"
		p=$(daemon_child frontend) || continue
		kill -KILL "$p"
		await "_gone $p"
		await '"$CTL" ping >ping 2>&1'
	done <pauses
	: >stop
	for p in $pids; do
		wait "$p"
	done
	# Their log against the store's: each has a number of its own, its end,
	# and one event of its acceptance.
	cat execs.* >execs
	[ "$(wc -l <execs)" -ge 5 ] || atf_fail "no load: $(cat err.*)"
	atf_check -o empty sh -c "cut -d' ' -f1 execs | sort | uniq -d"
	await '! "$CTL" ps one | grep -q "^one\."' 120
	"$CTL" ps -a one >ps || atf_fail "ps"
	"$CTL" events one >events || atf_fail "events"
	awk 'FILENAME == "ps" { end[$1] = $2 " " $3; next }
	    FILENAME == "events" {
		if ($6 == "exec.create")
			n[$NF]++
		next
	    }
	    end[$1] != "exited " $2 || n["exec=" $1] != 1 {
		print $0 ": " end[$1] ", accepted " n["exec=" $1]
	    }' ps events execs >wrong
	[ ! -s wrong ] || atf_fail "$(wc -l <wrong): $(head -n 1 wrong)"
	# And the Engine has the sandboxes of the list and no other.
	"$CTL" list -a >list || atf_fail "list"
	while read -r id; do
		grep -q "^$id .*deleted" list || ! grep -q "^$id " list ||
		    atf_fail "deleted: $(grep "^$id " list)"
	done <deleted
	for id in $(cat created); do
		grep -qx "$id" deleted || "$CTL" show "$id" >out 2>&1 ||
		    atf_fail "created: $id: $(cat out)"
	done
	await '[ "$(_ours | wc -l)" -eq "$("$CTL" list | grep -c ready)" ]'
	echo "$(wc -l <execs) execs, $(wc -l <created) sandboxes," \
	    "$(cat err.* | wc -l) not answered"
	atf_check -o ignore "$CTL" log verify
	# shellcheck disable=SC2046
	"$CTL" delete $("$CTL" list | sed -n 's/^\([^ ]*\) .*ready.*/\1/p') \
	    >out 2>&1 || atf_fail "$(cat out)"
	nothing_left
	daemon_stop
}
frontend_cleanup()
{
	: >stop
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case frontend
	atf_add_test_case kills
}
