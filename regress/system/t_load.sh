# The processes and the Engine die, one at a time and at any moment, while
# clients ask for everything that sandboxes can be asked for.
#
# In each round some clients work, each on sandboxes of its own, and write
# down what they asked for and what they were answered; at a moment within it
# something is killed.  When all answers again and the clients have ended,
# their notes are held against the log, the list, the outputs and the Engine.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/../lib/engine.subr"

CLIENTS="1 2 3"
MOMENT=3		# seconds within which the moment is

# Who dies in a round, and when: each once before one is to die again.  The
# order is by chance and yet the same in each run; SEED makes another.  An
# Engine that "ends" what runs returns without live-restore.
strikes()
{
	awk -v n="$1" -v seed="$SEED" -v moment="$MOMENT" 'BEGIN {
		srand(seed)
		while (n-- > 0) {
			if (left == 0)
				left = split("frontend store broker runner " \
				    "daemon all engine ends", v, " ")
			i = int(rand() * left) + 1
			print v[i], rand() * moment
			v[i] = v[left--]
		}
	}'
}

# What a client does, by chance: numbers enough for a round.
chances()
{
	awk -v seed="$SEED$1" 'BEGIN {
		srand(seed)
		for (i = 0; i < 1000; i++)
			print int(rand() * 10000)
	}'
}

# What may be asked for in a state; what stands there more often comes more
# often.
asks_in()
{
	case $1 in
	none)	echo create ;;
	ready)	echo exec exec exec exec exec put put tool update update \
		    stop pause restart extend delete ;;
	stopped) echo resume resume extend update delete ;;
	paused)	echo unpause resume stop delete ;;
	failed)	echo delete ;;
	esac
}

pick()
{
	shift $(($1 % ($# - 1) + 1))
	echo "$1"
}

# The state after what was answered.
state_after()
{
	case $1 in
	create|resume|unpause|restart|exec|put|tool) echo ready ;;
	stop)	echo stopped ;;
	pause)	echo paused ;;
	delete)	echo none ;;
	extend|update) echo "$2" ;;
	esac
}

# The state that it has come to, after an answer that leaves it open.
state_rests()
{
	while [ ! -e stop ]; do
		timeout 120 "$CTL" show "$1" >"show.$2" 2>&1 </dev/null
		s=$?
		[ $s -ne 66 ] || {
			echo none
			return
		}
		[ $s -ne 0 ] || case $(sed -n 's/^state  *//p' "show.$2") in
		ready|stopped|paused|failed)
			sed -n 's/^state  *//p' "show.$2"
			return
			;;
		deleted)
			echo none
			return
			;;
		esac
		sleep 0.05
	done
	echo open
}

# So many lines, and that status.
SCRIPT='n=0; while [ $n -lt $2 ]; do echo "$1 line $n"; n=$((n + 1))
	usleep 10000; done; exit $1'

want_of()
{
	n=0
	while [ $n -lt "$2" ]; do
		echo "$1 line $n"
		n=$((n + 1))
	done
}

# Asks for one thing: 0 if it was answered that it is done.
ask()
{
	case $1 in
	create)	timeout 120 "$CTL" create -l "round=$round" -i "$2" -m 32m \
		    -T 1h ;;
	exec)	timeout 120 "$CTL" exec -d "$2" sh -c "$SCRIPT" x \
		    "$3" "$4" ;;
	extend)	timeout 120 "$CTL" extend -t 1d "$2" ;;
	put)	want_of "$3" "$4" >"in.$5"
		timeout 120 "$CTL" put -a "$2" "in.$5" kept ;;
	tool)	timeout 120 "$CTL" tool ls "$2" ;;
	update)	timeout 120 "$CTL" update -m $((32 + $3 % 16))m \
		    -l "turn=$6" "$2" ;;
	*)	timeout 120 "$CTL" "$1" "$2" ;;
	esac </dev/null >"answer.$5" 2>>"err.$5"
}

# Its notes: sandbox, what was asked for, ok or no, and of an exec its name,
# status and lines; the latter two of a file as well.  A resume of what is
# paused is an unpause in the log, and what an update has brought is another
# event than that it was asked for.
client()
{
	have=none
	n=0
	turn=0
	while read -r r && [ ! -e stop ]; do
		# shellcheck disable=SC2046
		op=$(pick $((r / 100)) $(asks_in $have))
		[ "$op" != create ] || {
			n=$((n + 1))
			id=r$round-$1-$n
		}
		c=$((r % 100 + 1))
		l=$((r / 200))
		note=$op
		[ "$op-$have" != resume-paused ] || note=unpause
		[ "$op" != update ] || note=updated
		turn=$((turn + 1))
		if ask "$op" "$id" $c $l "$1" $turn; then
			case $op in
			put|tool) echo "$id $note ok - $c $l" ;;
			*) echo "$id $note ok $(cat "answer.$1") $c $l" ;;
			esac
			have=$(state_after "$op" $have)
		else
			echo "$id $note no - $c $l"
			sleep 0.05
			have=$(state_rests "$id" "$1")
			[ $have != open ] || break
		fi
	done <"chances.$1" >>"notes.$1"
	echo "$id $have" >"last.$1"
}

again()
{
	"$CTL" ping >ping 2>&1 && daemon_engine_is_up
}

# Kills, and has all started again that is not by itself.
strike()
{
	case $1 in
	engine)	engine kill
		engine start --live-restore
		;;
	ends)	engine kill
		engine start
		;;
	daemon)	daemon_kill
		daemon_start
		;;
	all)	# The parent first or last.
		# shellcheck disable=SC2046
		kill -KILL $(_daemon_pids "$D")
		await '[ -z "$(_daemon_pids "$D")" ]'
		daemon_start
		;;
	*)	# It may be on its way back from the round before.
		await 'old=$(daemon_child '"$1"')'
		kill -KILL "$old"
		await "_gone $old"
		;;
	esac
	await again 120
}

bad()
{
	echo "round $round, $victim at $moment s: $*" | tee -a failures >&2
}

at_rest()
{
	"$CTL" list -a >list 2>/dev/null &&
	    ! grep -qE 'pending|pausing|stopping|resuming|restarting|deleting' \
	    list
}

# Each answered request is an event of its sandbox, and in that order.
check_order()
{
	awk 'FILENAME == "events" {
		t = $6
		if (sub(/^sandbox\./, "", t))
			ev[$4, ++n[$4]] = t
		next
	    }
	    $3 == "ok" && $2 !~ /^(exec|put|tool)$/ {
		while (++at[$1] <= n[$1] && ev[$1, at[$1]] != $2)
			;
		if (at[$1] > n[$1])
			print $1 ": " $2 " was answered and is not in the log"
	    }' events notes
}

# Each answered exec was accepted once and has ended once, as it had to.  One
# whose sandbox was stopped, or had been asked to, may have been cut off.
check_execs()
{
	awk -v victim="$victim" 'FILENAME == "ps" {
		end[$1] = $2 " " $3
		next
	    }
	    FILENAME == "events" {
		for (i = 7; i <= NF; i++)
			if ($i ~ /^exec=/)
				n[$6, substr($i, 6)]++
		next
	    }
	    $2 ~ /^(stop|restart|delete)$/ {
		for (e in of)
			if (of[e] == $1)
				cut[e] = 1
	    }
	    $2 == "exec" && $3 == "ok" {
		of[$4] = $1
		code[$4] = $5
		lines[$4] = $6
	    }
	    END {
		for (e in of) {
			if (n["exec.create", e] != 1 || n["exec.ended", e] != 1)
				print e ": accepted " n["exec.create", e] + 0 \
				    ", ended " n["exec.ended", e] + 0
			whole = end[e] == "exited " code[e]
			if (!whole && !cut[e] && victim != "ends")
				print e ": " end[e] ", not " code[e]
			print e, code[e], lines[e], whole >"outputs"
		}
	    }' ps events notes
}

# What it wrote is there, all of it if it came to its end.
check_outputs()
{
	while read -r e c l whole; do
		"$CTL" logs "$e" >out 2>err </dev/null || {
			echo "$e: logs: $(cat err)"
			continue
		}
		want_of "$c" "$l" >want
		[ "$whole" = 1 ] || {
			head -c "$(wc -c <out)" want >part
			mv part want
		}
		cmp out want >differ 2>&1 || echo "$e: output: $(cat differ)"
	done <outputs
}

# A file has what was written last, or what one that was not answered wrote
# after it: each wholly or not at all.
check_files()
{
	awk '$2 == "put" && $3 == "ok" { last[$1] = $5 " " $6; after[$1] = "" }
	    $2 == "put" && $3 == "no" { after[$1] = after[$1] " " $5 " " $6 }
	    END { for (id in last) print id, last[id] after[id] }' notes >files
	while read -r id may; do
		grep -q "^$id  *ready" list || continue
		"$CTL" get "$id" kept got >out 2>&1 </dev/null || {
			echo "$id: its file: $(cat out)"
			continue
		}
		# shellcheck disable=SC2086
		set -- $may
		while [ $# -gt 0 ]; do
			want_of "$1" "$2" >want
			! cmp -s got want || break
			shift 2
		done
		[ $# -gt 0 ] || echo "$id: its file is another: $(wc got)"
		echo "$id" >>files.seen
	done <files
}

# A sandbox is in the state that its client was told of last.
check_states()
{
	awk -v victim="$victim" 'FILENAME == "list" { state[$1] = $2; next }
	    FILENAME ~ /^last/ {
		if ($2 == "none")
			$2 = "deleted"
		want[$1] = $2
		next
	    }
	    $2 == "create" && $3 == "ok" && !($1 in state) {
		print $1 ": it is not in the list"
	    }
	    END {
		for (id in want) {
			s = state[id]
			if (want[id] != "open" && s != want[id] &&
			    !(s == "" && want[id] == "deleted") &&
			    !(victim == "ends" && s == "stopped"))
				print id " is " s ", not " want[id]
		}
	    }' list last.* notes
}

# Everything that the notes of a round say.
check_round()
{
	touch outputs
	"$CTL" events -n "$from" >events 2>err || echo "events: $(cat err)"
	awk -v from="$from" '$1 != from + NR - 1 {
		print "a gap before event " $1
		exit
	    }' events
	"$CTL" ps -a >ps 2>err || echo "ps: $(cat err)"
	check_order
	check_execs
	check_outputs
	check_files
	"$CTL" log verify >verify 2>&1 || echo "verify: $(cat verify)"
}

newest()
{
	"$CTL" status | sed -n 's/^events  *//p'
}

has_ended()
{
	"$CTL" ps >running 2>/dev/null && [ ! -s running ]
}

wait_or_bad()
{
	t=$(($(date +%s) + 120 * SLOW))
	until "$1"; do
		[ "$(date +%s)" -lt $t ] || {
			bad "$2: $(cat "$3")"
			return 1
		}
		sleep 0.05
	done
}

one_round()
{
	rm -f stop notes.* last.* err.* outputs
	from=$(($(newest) + 1))
	pids=
	for k in $CLIENTS; do
		chances "$round$k" >"chances.$k"
		client "$k" &
		pids="$pids $!"
	done
	sleep "$moment"
	strike "$victim"
	: >stop
	for p in $pids; do
		wait "$p"
	done
	wait_or_bad at_rest "not at rest" list || return
	cat notes.* >notes
	check_states >wrong
	for id in $(awk '$2 == "paused" { print $1 }' list); do
		"$CTL" unpause "$id" >out 2>&1 </dev/null ||
		    bad "unpause: $(cat out)"
	done
	wait_or_bad has_ended "still running" running || return
	check_round >>wrong
	[ ! -s wrong ] || bad "$(cat wrong)"
	cat notes >>all.notes
	"$CTL" delete -l "round=$round" >out 2>&1 </dev/null ||
	    bad "delete: $(cat out)"
}

# Not more descriptors than before, as of daemons that have just begun.
fds()
{
	for c in frontend store runner; do
		echo "$c $(ls "/proc/$(daemon_child $c)/fd" | wc -l)"
	done
	echo "parent $(ls "/proc/$(daemon_pid)/fd" | wc -l)"
}

fds_settled()
{
	fds >fds.now
	paste -d ' ' fds.before fds.now | awk '$4 > $2 { exit 1 }'
}

# Their history goes too, and then there is nothing.
no_history()
{
	daemon_conf "$SETTINGS
retain { history 1s }"
	atf_check -o ignore "$CTL" reload
	await '"$CTL" list -a >list && [ ! -s list ]' 300
	await '[ -z "$(find "$STATE/runner/log" -type f)" ]' 120
	atf_check -o match:'^sandboxes  *0$' -o match:'^execs  *0$' \
	    "$CTL" log verify
}

SETTINGS="restart 1000 per 1s"

atf_test_case kills cleanup
kills_head()
{
	atf_set descr '(c14) (c15) (aR2) kill -9 of each process and of the Engine' \
	    'at any moment of a mixed load: nothing is lost'
	atf_set timeout 20000
}
kills_body()
{
	SEED=${SEED:-1}
	engine_dir
	engine start --live-restore
	world "$SETTINGS"
	networks=$(engine_docker network ls -q | sort)
	fds >fds.before
	: >failures
	: >all.notes
	: >files.seen
	strikes "$(figure 10 200)" >order
	round=0
	while read -r victim moment <&4; do
		round=$((round + 1))
		one_round
		[ "$(wc -l <failures)" -lt 20 ] || break
	done 4<order
	counted "$round runs, seed $SEED, $(grep -c '^round' failures) failures:" \
	    "$(cut -d' ' -f1 order | sort | uniq -c | tr -s ' \n' ' ')"
	# shellcheck disable=SC2046
	counted "asked for" $(awk '$3 == "ok" { print $2 }' all.notes | sort |
	    uniq -c)
	counted "$(wc -l <files.seen) files have what was written"
	[ ! -s failures ] || atf_fail "$(head -n 1 failures)"
	nothing_left
	await fds_settled
	[ "$(engine_docker network ls -q | sort)" = "$networks" ] ||
	    atf_fail "networks: $(engine_docker network ls)"
	[ -z "$(engine_docker volume ls -q)" ] || atf_fail "volumes"
	no_history
	daemon_stop
}
kills_cleanup()
{
	: >stop
	engine_tidy
}

atf_init_test_cases()
{
	atf_add_test_case kills
}
