# Large figures, by a whole daemon before an Engine of which nothing is real
# (h_stand.c): the processes, their pipes and the log are.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"

stand_start()
{
	daemon_use main
	ENGINE=$D/stand
	"$(atf_get_srcdir)/h_stand" "$ENGINE" </dev/null >stand.log 2>&1 &
	echo $! >stand.pid
	await '[ -S "$ENGINE" ]'
	# Whom the broker is to be, as with the real one.
	chown --reference="$SBX_ENGINE" "$ENGINE"
	chmod --reference="$SBX_ENGINE" "$ENGINE"
}

stand_cleanup()
{
	daemon_cleanup
	[ ! -s stand.pid ] || kill "$(cat stand.pid)"
	return 0
}

crowd()
{
	"$(atf_get_srcdir)/h_crowd" "$SOCK" "$@"
}

SETTINGS="limits { sandboxes 20000 creates 1000000 per 1s }
restart 1000 per 1s"

# KiB of each process, by name.
sizes()
{
	echo "parent $(awk '/^VmRSS/ { print $2 }' \
	    "/proc/$(daemon_pid)/status")"
	for c in frontend store broker runner; do
		echo "$c $(awk '/^VmRSS/ { print $2 }' \
		    "/proc/$(daemon_child $c)/status")"
	done
}

# What the log takes on the disk, in KiB.
log_size()
{
	du -sk "$STATE/db" | cut -f1
}

# Which has grown by more than so many KiB; a sanitizer keeps what was freed.
grown()
{
	[ -z "${ASAN_OPTIONS:-}" ] || return 0
	paste -d ' ' "$1" "$2" | awk -v most="$3" '$4 > $2 + most {
		print $1 ": " $2 " and now " $4 " KiB" }'
}

events_kept()
{
	"$CTL" log verify | awk '/^(events|skeletons) / { n += $2 }
	    END { print n }'
}

atf_test_case cycles cleanup
cycles_head()
{
	atf_set descr 'making and collecting without an end: the log and each' \
	    'process stay as large as they are'
	atf_set timeout 20000
}
cycles_body()
{
	warm=$(figure 200 5000)
	n=$(figure 400 100000)
	stand_start
	daemon_start "$SETTINGS
retain { history 1s }"
	await daemon_engine_is_up
	atf_check -o inline:"$warm\n" "$(atf_get_srcdir)/h_crowd" "$SOCK" \
	    cycle "$warm"
	await '"$CTL" list -a >list && [ ! -s list ]' 120
	sizes >before
	log=$(log_size)
	begun=$(date +%s)
	# At most so long: then it is the slope that tells.
	n=$(crowd cycle "$n" 1800) || atf_fail "cycle"
	took=$(($(date +%s) - begun))
	# What is due has not gathered.
	"$CTL" list -a >list || atf_fail "list"
	behind=$(wc -l <list)
	sizes >after
	counted "$n cycles in $took s; KiB before and after:" \
	    "$(paste -d ' ' before after | awk '{ printf "%s %d %d, ", $1, $2,
	    $4 }')log $log $(log_size), $(events_kept) events kept," \
	    "$behind to be collected"
	[ "$behind" -lt 2000 ] || atf_fail "$behind are not collected yet"
	await '"$CTL" list -a >list && [ ! -s list ]' 300
	grown before after 6144 >wrong
	[ ! -s wrong ] || atf_fail "$(head -n 1 wrong)"
	[ "$(log_size)" -le $((log * 2 + 4096)) ] ||
	    atf_fail "the log: $log and now $(log_size) KiB"
	await '[ "$(events_kept)" -lt 1000 ]' 120
	await '[ -z "$(ls "$STATE/work")" ]'
	await '[ -z "$(find "$STATE/runner" -type f)" ]'
	daemon_stop
}
cycles_cleanup()
{
	stand_cleanup
}

# Milliseconds that a command takes.
took()
{
	t=$(date +%s%N)
	"$@" || atf_fail "$*"
	echo $((($(date +%s%N) - t) / 1000000))
}

start_answered()
{
	daemon_run
	until "$CTL" ping >/dev/null 2>&1; do
		! _gone "$(daemon_pid)" || atf_fail "it has ended"
	done
}

atf_test_case start cleanup
start_head()
{
	atf_set descr 'a start with many live sandboxes, a long history and a' \
	    'million events; its list, and events of the middle'
	atf_set timeout 7200
}
start_body()
{
	live=$(figure 50 1000)
	past=$(figure 200 10000)
	execs=$(figure 10 33)
	stand_start
	daemon_start "$SETTINGS"
	await daemon_engine_is_up
	atf_check -o inline:"$live\n" "$(atf_get_srcdir)/h_crowd" "$SOCK" \
	    make "$live"
	daemon_stop
	atf_check "$(atf_get_srcdir)/h_fill" "$STATE/db" "$past" "$execs"
	begun=$(took start_answered)
	sizes >before
	atf_check -o save:ready "$CTL" list -S ready
	[ "$(grep -c '^c[0-9]' ready)" -eq "$live" ] || atf_fail "live"
	await daemon_engine_is_up 120
	# All guests are back: each runs something.
	await '"$CTL" exec c1 true && "$CTL" exec "c$live" true'
	listed=$(took "$CTL" list -a >list)
	listed=$(tail -n 1 list)
	sed -i '$d' list
	[ "$(grep -c deleted list)" -eq "$past" ] || atf_fail "past"
	sizes >after
	grown before after 16384 >wrong
	[ ! -s wrong ] || atf_fail "$(head -n 1 wrong)"
	newest=$("$CTL" status | sed -n 's/^events  *//p')
	t=$(date +%s%N)
	"$CTL" events -n $((newest / 2)) | head -n 1 >event
	middle=$((($(date +%s%N) - t) / 1000000))
	grep -q "^$((newest / 2)) " event || atf_fail "$(cat event)"
	counted "$live live, $past past, $newest events: start $begun ms," \
	    "list $listed ms, middle $middle ms; KiB" \
	    "$(paste -d ' ' before after | awk '{ printf "%s %d %d ", $1, $2,
	    $4 }')"
	[ "$begun" -lt $((3000 * SLOW)) ] || atf_fail "started in $begun ms"
	daemon_stop
}
start_cleanup()
{
	stand_cleanup
}

atf_test_case pages cleanup
pages_head()
{
	atf_set descr 'a list by pages, and what a label selects, by a session'
	atf_set timeout 300
}
pages_body()
{
	stand_start
	daemon_start "$SETTINGS"
	await daemon_engine_is_up
	atf_check -o inline:"25\n" "$(atf_get_srcdir)/h_crowd" "$SOCK" make 25
	after=0
	: >seen
	for n in 10 10 5; do
		echo '{"id":1,"list":{"limit":10,"after":'$after'}}' |
		    "$CTL" session >page || atf_fail "$(cat page)"
		sed -n 's/.*"sandbox":{"id":"\([^"]*\)".*/\1/p' page >ids
		atf_check_equal $n "$(wc -l <ids)"
		cat ids >>seen
		after=$(sed -n 's/.*"end":.*"after":\([0-9]*\).*/\1/p' page)
	done
	# Behind the last nothing begins, and none has come twice.
	[ "${after:-0}" -eq 0 ] || atf_fail "$(tail -n 1 page)"
	atf_check_equal 25 "$(sort -u seen | wc -l)"
	atf_check "$CTL" update -l x=y c1 c2 c3 c4
	for verb in stop delete; do
		echo '{"id":2,"ctl":{"argv":["'$verb'","-l","x=y"]}}' |
		    "$CTL" session >counted
		sed -n 's/.*"data":"\([^"]*\)".*/\1/p' counted |
		    while read -r data; do
			echo "$data" | base64 -d
		done >out
		case $verb in
		stop)	want='{"stopped":4}';;
		delete)	want='{"deleted":4}';;
		esac
		atf_check_equal "$want" "$(tail -n 1 out)"
	done
	atf_check_equal 21 "$("$CTL" -j list | wc -l)"
	daemon_stop
}
pages_cleanup()
{
	stand_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case pages
	atf_add_test_case cycles
	atf_add_test_case start
}
