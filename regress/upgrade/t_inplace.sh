# An upgrade in place: the daemon executes the program that lies at its path
# by now, with the same number, and nobody has to begin anew.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# Programs of its own, which a test may replace.
own_programs()
{
	daemon_use main
	mkdir "$D/bin"
	cp "$SBX_BIN"/* "$D/bin"
	BIN=$D/bin
	daemon_use main
}

# The version is 0.1.0 in the daemon's text: another one of that length.
another()
{
	LC_ALL=C sed "s/0\.1\.0/$1/g" "$SBX_BIN/sandboxd" >"$D/bin/new"
	chmod 755 "$D/bin/new"
	mv "$D/bin/new" "$D/bin/sandboxd"
}

# 20 lines a second for 4 seconds, and their sum at the end.
SCRIPT='n=0; while [ $n -lt 80 ]; do echo "line $n of $1"; n=$((n + 1))
	usleep 50000; done; exit $1'

streams_start()
{
	"$CTL" exec "$BOX" sh -c "$SCRIPT" x 11 >attached 2>attached.err \
	    </dev/null &
	attached=$!
	job=$("$CTL" exec -d "$BOX" sh -c "$SCRIPT" x 12) || atf_fail exec
	"$CTL" logs -f "$job" >followed 2>followed.err &
	follower=$!
	"$CTL" events -f >events 2>events.err &
	events=$!
	(
		n=0
		while [ $n -lt 40 ]; do
			echo "input $n"
			n=$((n + 1))
			sleep 0.1
		done
	) | tee input | "$CTL" exec "$BOX" md5sum >summed 2>summed.err &
	summed=$!
	await '[ -s attached ] && [ -s followed ] && [ -s events ]'
}

lines_of()
{
	n=0
	while [ $n -lt 80 ]; do
		echo "line $n of $1"
		n=$((n + 1))
	done
}

ended()
{
	s=0
	wait "$2" || s=$?
	[ $s -eq "$3" ] || {
		_show_log
		atf_fail "$1 ended with $s: $(cat "$1.err")"
	}
}

streams_end()
{
	ended attached $attached 11
	lines_of 11 >want
	atf_check cmp attached want
	ended followed $follower 0
	lines_of 12 >want
	atf_check cmp followed want
	ended summed $summed 0
	md5sum <input >want
	atf_check cmp summed want
	atf_check -s exit:12 "$CTL" wait "$job"
	# Each event once, in order.
	last=$("$CTL" events | tail -n 1 | cut -d' ' -f1)
	await 'grep -q "^$last " events'
	kill $events
	wait $events
	awk '{ print $1 }' events | awk 'NR > 1 && $1 != last + 1 {
		print "gap before " $1; bad = 1 } { last = $1 }
		END { exit bad }' >gaps || atf_fail "$(cat gaps events.err)"
}

atf_test_case inplace cleanup
inplace_head()
{
	atf_set descr '(c47) (M02) (X13) reload -x while all is in use'
	atf_set require.user root
}
inplace_body()
{
	own_programs
	world
	box
	streams_start
	p=$(daemon_pid)
	another 0.1.9
	atf_check -o inline:"sandboxd 0.1.0 to 0.1.9\n" "$CTL" reload -x
	[ "$(readlink "/proc/$p/exe")" = "$BIN/sandboxd" ] ||
	    atf_fail "executes $(readlink "/proc/$p/exe")"
	atf_check -o match:'^sandboxd 0.1.9$' "$CTL" version
	atf_check -o match:'daemon.started - version=0.1.9 before=0.1.0' \
	    "$CTL" events
	# As before: what it may, and its children.
	atf_check -o match:'parent .*seccomp' -o match:'runner .*landlock' \
	    "$CTL" status
	streams_end
	# And once more, to the same.
	atf_check -o inline:"sandboxd 0.1.9 to 0.1.9\n" "$CTL" reload -x
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	atf_check "$CTL" reload
	atf_check "$CTL" delete "$BOX"
	atf_check -o ignore "$CTL" log verify
	nothing_left
	daemon_stop
	[ ! -e "$SOCK" ] || atf_fail "the socket is left"
}
inplace_cleanup()
{
	daemon_cleanup
}

atf_test_case stop_start cleanup
stop_start_head()
{
	atf_set descr '(c47) another version by stop and start'
	atf_set require.user root
}
stop_start_body()
{
	own_programs
	world
	box
	streams_start
	another 0.1.9
	daemon_stop
	daemon_start
	atf_check -o match:'daemon.started - version=0.1.9 before=0.1.0' \
	    "$CTL" events
	streams_end
	atf_check "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
stop_start_cleanup()
{
	daemon_cleanup
}

# bad text: the program that is there now is refused, all goes on.
bad()
{
	p=$(daemon_child store)
	atf_check -s exit:64 -e match:"$1" "$CTL" reload -x
	[ "$(daemon_child store)" = "$p" ] || atf_fail "the set is another"
	atf_check -o match:'^sandboxd 0.1.0$' "$CTL" version
}

atf_test_case bad cleanup
bad_head()
{
	atf_set descr '(c47) a program that is not fit is refused'
	atf_set require.user root
}
bad_body()
{
	own_programs
	daemon_start
	mv "$BIN/sandboxd" "$BIN/good"
	bad 'No such file'
	printf '#!/bin/sh\nexit 3\n' >"$BIN/sandboxd"
	chmod 755 "$BIN/sandboxd"
	bad 'does not take the configuration'
	printf '#!/bin/sh\necho hello\n' >"$BIN/sandboxd"
	bad 'it is no sandboxd: hello'
	printf '#!/bin/sh\necho sandboxd 0.0.1 database 0\n' >"$BIN/sandboxd"
	bad 'reads databases up to version 0'
	chmod 777 "$BIN/sandboxd"
	bad 'others than root can write'
	rm "$BIN/sandboxd"
	mv "$BIN/good" "$BIN/sandboxd"
	cp "$CONF" conf
	echo nonsense >>"$CONF"
	bad 'invalid configuration'
	cp conf "$CONF"
	new_uid
	s=0
	as_user "$NEW_UID" "$CTL" reload -x 2>err || s=$?
	[ $s -eq 77 ] || atf_fail "a user: $s, $(cat err)"
	atf_check -o ignore "$CTL" reload -x
	daemon_stop
}
bad_cleanup()
{
	daemon_cleanup
}

# Until there is a file go; then how many lines it was.
LINES='n=0; while [ ! -e go ]; do echo "line $n of $1"; n=$((n + 1))
	usleep 200000; done; echo "all $n"; exit $1'

# A command in each sandbox, and a follower of each.
crowd_start()
{
	i=0
	while [ $i -lt "$n" ]; do
		i=$((i + 1))
		atf_check -o ignore "$CTL" create -d -i "s$i" -m 32m
	done
	await '[ "$("$CTL" list -S ready | grep -c "^s[0-9]")" -eq $n ]' 300
	i=0
	while [ $i -lt "$n" ]; do
		i=$((i + 1))
		"$CTL" exec -d "s$i" sh -c "$LINES" x $i >exec.$i \
		    </dev/null || atf_fail "exec in s$i"
		"$CTL" logs -f "$(cat exec.$i)" >out.$i 2>err.$i </dev/null &
		echo $! >follower.$i
	done
	await 'crowd_follows'
}

# Each follower has the newest line, so it does follow.
crowd_follows()
{
	i=0
	while [ $i -lt "$n" ]; do
		i=$((i + 1))
		[ "$(wc -l <out.$i)" -gt "${1:-0}" ] || return 1
	done
}

crowd_end()
{
	i=0
	while [ $i -lt "$n" ]; do
		i=$((i + 1))
		atf_check "$CTL" exec "s$i" touch go
		s=0
		"$CTL" wait "$(cat exec.$i)" 2>err || s=$?
		[ $s -eq $i ] || atf_fail "s$i: $s, $(cat err)"
		wait "$(cat follower.$i)" || atf_fail "s$i: $(cat err.$i)"
		tail -n 1 out.$i >last
		sed '$d' out.$i | awk -v i=$i '$0 != "line " NR - 1 " of " i {
			print NR ": " $0; exit }
			END { print "all " NR }' >want
		cmp last want || atf_fail "s$i: $(cat last want)"
	done
	atf_check -o ignore "$CTL" log verify
	i=0
	while [ $i -lt "$n" ]; do
		i=$((i + 1))
		atf_check "$CTL" delete "s$i"
	done
	nothing_left
}

CROWD="limits { sandboxes 100 execs 200 creates 1000 per 1s
	clients 300, 300 per user }"

atf_test_case many cleanup
many_head()
{
	atf_set descr '(c47) by reload -x and by stop and start, with 50' \
	    'sandboxes, a command and a follower in each'
	atf_set require.user root
	atf_set timeout 1800
}
many_body()
{
	n=$(figure 5 50)
	own_programs
	world "$CROWD"
	crowd_start
	another 0.1.9
	begun=$(date +%s%N)
	atf_check -o inline:"sandboxd 0.1.0 to 0.1.9\n" "$CTL" reload -x
	ms=$((($(date +%s%N) - begun) / 1000000))
	# Each goes on behind what it had before.
	lines=$(wc -l out.* | awk '$2 != "total" && $1 > most { most = $1 }
	    END { print most }')
	await "crowd_follows $lines" 120
	another 0.1.8
	begun=$(date +%s%N)
	daemon_stop
	daemon_start
	counted "$n sandboxes: reload -x $ms ms, stop and start" \
	    "$((($(date +%s%N) - begun) / 1000000)) ms"
	atf_check -o match:'daemon.started - version=0.1.8 before=0.1.9' \
	    "$CTL" events
	crowd_end
	daemon_stop
}
many_cleanup()
{
	daemon_cleanup
}

atf_test_case dies cleanup
dies_head()
{
	atf_set descr '(c47) a program that passes its trial and ends at its' \
	    'start: the log says why, and the former one loses nothing'
	atf_set require.user root
	atf_set timeout 600
}
dies_body()
{
	n=3
	own_programs
	world "$CROWD"
	crowd_start
	# The trial asks for no users.
	LC_ALL=C sed "s/_sbxstore/_sbxstorx/g" "$SBX_BIN/sandboxd" \
	    >"$BIN/new"
	chmod 755 "$BIN/new"
	mv "$BIN/new" "$BIN/sandboxd"
	p=$(daemon_pid)
	"$CTL" reload -x >reload 2>&1 </dev/null &
	reload=$!
	await "_gone $p"
	log_has 'user _sbxstorx: no such user' || atf_fail "no cause"
	await '[ -z "$(_daemon_pids "$D")" ]'
	cp "$SBX_BIN/sandboxd" "$BIN/new"
	mv "$BIN/new" "$BIN/sandboxd"
	daemon_start
	# Who asked for it waits for a daemon, and is told which it is.
	wait $reload || atf_fail "$(cat reload)"
	atf_check -o inline:"sandboxd 0.1.0 to 0.1.0\n" cat reload
	crowd_end
	daemon_stop
}
dies_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case many
	atf_add_test_case dies
	atf_add_test_case inplace
	atf_add_test_case stop_start
	atf_add_test_case bad
}
