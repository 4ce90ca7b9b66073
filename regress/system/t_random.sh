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
	atf_set descr '(c06) kill -9 of whichever process or all, again and again'
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

atf_init_test_cases()
{
	atf_add_test_case kills
}
