# kill -9 of each process while ten execs run: they finish with their true
# exit codes and complete output, and a follower goes on at its byte.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

SCRIPT='n=0; while [ $n -lt 200 ]; do echo "$1 line $n"; n=$((n + 1))
	usleep 10000; done; echo "$1 done" >&2; exit $1'

ten_start()
{
	i=0
	: >execs
	while [ $i -lt 10 ]; do
		i=$((i + 1))
		"$CTL" exec -d "$BOX" sh -c "$SCRIPT" x $i >>execs ||
		    atf_fail "exec $i"
	done
	# One that a client reads, and two followers of detached ones.
	"$CTL" exec "$BOX" sh -c "$SCRIPT" x 11 >attached 2>attached.err \
	    </dev/null &
	attached=$!
	first=$(head -n 1 execs)
	"$CTL" logs -f -o stdout "$first" >followed 2>followed.err &
	follower=$!
	await '[ -s followed ] && [ -s attached ]' 60
}

want_of()
{
	n=0
	while [ $n -lt 200 ]; do
		echo "$1 line $n"
		n=$((n + 1))
	done
}

ten_check()
{
	i=0
	while read -r e; do
		i=$((i + 1))
		s=0
		timeout 120 "$CTL" wait "$e" >out 2>&1 </dev/null || s=$?
		[ $s -eq $i ] || {
			"$CTL" ps -a "$BOX" >&2
			_show_log
			atf_fail "$e ended with $s, not $i: $(cat out)"
		}
		want_of $i >want
		"$CTL" logs "$e" >out 2>err </dev/null || atf_fail "logs $e"
		cmp out want || atf_fail "output of $e"
		[ "$(cat err)" = "$i done" ] || atf_fail "errors of $e"
	done <execs
	s=0
	wait $attached || s=$?
	[ $s -eq 11 ] || {
		_show_log
		atf_fail "attached: $s, $(cat attached.err)"
	}
	want_of 11 >want
	cmp attached want || atf_fail "output of the attached one"
	s=0
	wait $follower || s=$?
	[ $s -eq 0 ] || atf_fail "follower: $s, $(cat followed.err)"
	want_of 1 >want
	cmp followed want || atf_fail "what was followed"
	atf_check -o match:ready "$CTL" show "$BOX"
	atf_check -o inline:"new\n" "$CTL" exec "$BOX" echo new
	atf_check -o ignore "$CTL" log verify
}

# kill_one name: end that process and wait until the set is another one.
kill_one()
{
	old=$(daemon_child "$1") || atf_fail "no $1"
	kill -KILL "$old"
	await "_gone $old"
	await 'daemon_child "'"$1"'" >/dev/null && "$CTL" ping >ping 2>&1'
}

row_of()
{
	case $1 in
	frontend) echo "(c01)" ;;
	broker)	echo "(c02)" ;;
	store)	echo "(c04)" ;;
	runner)	echo "(c06)" ;;
	esac
}

child_case()
{
	eval "atf_test_case kill_$1 cleanup
	kill_$1_head()
	{
		atf_set descr '$(row_of $1) kill -9 of the $1 under load'
		atf_set timeout 600
	}
	kill_$1_body()
	{
		world
		box
		ten_start
		kill_one $1
		ten_check
		daemon_stop
	}
	kill_$1_cleanup()
	{
		daemon_cleanup
	}"
}

for c in frontend store broker runner; do
	child_case $c
done

atf_test_case kill_daemon cleanup
kill_daemon_head()
{
	atf_set descr '(c05) kill -9 of the parent, and a new start'
	atf_set timeout 600
}
kill_daemon_body()
{
	world
	box
	ten_start
	daemon_kill
	daemon_start
	ten_check
	daemon_stop
}
kill_daemon_cleanup()
{
	daemon_cleanup
}

atf_test_case stop_start cleanup
stop_start_head()
{
	atf_set descr 'a stop and a start: an upgrade'
	atf_set timeout 600
}
stop_start_body()
{
	world
	box
	ten_start
	daemon_stop
	daemon_start
	ten_check
	daemon_stop
}
stop_start_cleanup()
{
	daemon_cleanup
}

atf_test_case term cleanup
term_head()
{
	atf_set descr 'TERM with 100 attached clients and 100 subscribers:' \
	    'down within 5 s, and each is told why'
	atf_set timeout 600
}
term_body()
{
	world "limits { clients 300, 300 per user execs 200 }"
	box -p 300
	"$(atf_get_srcdir)/h_told" "$SOCK" "$BOX" 100 100 >told 2>&1 &
	clients=$!
	await '[ -s told ]' 120
	[ "$(cat told)" = up ] || atf_fail "$(cat told)"
	begun=$(date +%s%N)
	daemon_stop
	ms=$((($(date +%s%N) - begun) / 1000000))
	wait $clients || atf_fail "$(cat told)"
	counted "TERM with 200 clients: down in $ms ms"
	cat >want <<-EOT
		up
		200 of 200 once
		200: the daemon stops, or starts anew
	EOT
	atf_check cmp told want
	[ $ms -lt $((5000 * SLOW)) ] || atf_fail "down in $ms ms"
	# What they ran goes on.
	daemon_start
	await '[ "$("$CTL" ps "$BOX" | grep -c running)" -eq 100 ]'
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
term_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case term
	for c in frontend store broker runner; do
		atf_add_test_case kill_$c
	done
	atf_add_test_case kill_daemon
	atf_add_test_case stop_start
}
