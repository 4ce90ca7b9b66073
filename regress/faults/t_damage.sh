# A store that finds other bytes than it wrote says which, and reads nothing
# over.
#
#	what is done to the database of a	what the start says
#	daemon that was killed
#	--------------------------------------	--------------------------------
#	a bit in the middle of the log		log.N: damaged
#	a bit in the last record of the log	log.N: damaged
#	the newest file of the log deleted	log: missing
#	a bit in the watermark			watermark: damaged
#	the watermark cut to half		watermark: damaged
#	the watermark deleted			watermark: missing (*)
#	events.db deleted			events.db: missing
#	index.db deleted			index.db: missing
#	state.db deleted			state.db: missing
#	the first page of a table, a bit	its name (**)
#	a page of rows, a bit			state.db (**)
#	an older copy with the newer watermark	log.N: damaged: ends at
#	a DB_CONFIG planted			DB_CONFIG: not allowed here, and
#						exits with 1
#	all of it deleted, with a sandbox	db: empty, and exits with 1; the
#						container stays
#	nothing					it starts, all events are there
#
# Where it does not exit it shows what can be read, and refuses all changes.
# After each but (*) and (**), which are seen when the database's log has been
# recovered, every file is as it was before.  Pages are read when they
# are needed:
#
#	a bit in an older one			log verify and events fail, and
#						name events.db; what the page
#						has is not handed out; new work
#						is taken
#	the same, and it is to be written	one more start, and then as if it
#						had been found at a start

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# byte file offset: turns a bit of it
flip_bit()
{
	b=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
	[ -n "$b" ] || atf_fail "$1 has no byte at $2"
	# shellcheck disable=SC2059
	printf "\\$(printf %03o $((b ^ 16)))" | dd of="$1" bs=1 seek="$2" \
	    conv=notrunc 2>/dev/null || atf_fail "cannot write $1"
}

# The offset of the log's end, as the watermark has it.
mark_end()
{
	od -An -tu1 -j 52 -N 4 "$1/watermark" | {
		read -r a b c d
		echo $((((a * 256 + b) * 256 + c) * 256 + d))
	}
}

offsets_of()
{
	grep -abo -e "$2" "$1" | cut -d: -f1
}

# pages_of file string: the numbers of the pages that have it
pages_of()
{
	offsets_of "$1" "$2" | awk '{ print int($1 / 4096) }' | sort -un |
	    paste -s -d ' ' -
}

# Sandboxes of an image that is not there: events, and nothing else.
events_make()
{
	i=$1
	while [ "$i" -le "$2" ]; do
		atf_check -o ignore "$CTL" create -d -i "box-$i" \
		    -I no-such-image -l "needle=needle-$i-end"
		i=$((i + 1))
	done
	# Between pending and failed there are others.
	await '[ "$("$CTL" list -a | grep -c failed)" -eq '"$2"' ]'
	"$CTL" events >events || atf_fail "events"
}

# The files that have a content; the regions are memory.
sums()
{
	(cd "$1" && find . -type f ! -name '__db.*' -exec sha256sum {} + |
	    sort -k 2)
}

restore()
{
	rm -rf "$STATE/db"
	cp -Rp "$1" "$STATE/db"
}

# no_start regexp: for this reason
no_start()
{
	s=0
	timeout 60 "$BIN/sandboxd" -d -f "$CONF" </dev/null >out 2>&1 || s=$?
	[ $s -eq 1 ] && grep -q -e "event log: .*$1" out || {
		cat out >&2
		atf_fail "exit $s, wanted: $1"
	}
}

# refused regexp: the same, and nothing was touched.
refused()
{
	sums "$STATE/db" >before
	no_start "$1"
	sums "$STATE/db" >after
	diff before after || atf_fail "something was written"
}

# shown regexp (an extended one): it starts, for reading alone, and says why.
shown()
{
	daemon_start
	grep -qE "event log: .*$1" "$LOG" || atf_fail "not said: $1"
	# shellcheck disable=SC2034
	answered=$("$CTL" status) || atf_fail "no status"
	echo "$answered" | grep -qE "^damaged +.*$1" ||
	    atf_fail "status: $(echo "$answered" | grep damaged)"
	atf_check -s exit:1 -o match:"event-log  *absent" "$CTL" doctor
	atf_check -s not-exit:0 -o empty -e match:"$1" "$CTL" log verify
	for c in "create -i other" "delete box-1" "stop box-1" \
	    "resume box-1" "exec box-1 true" "extend -t 3600 box-1" \
	    "reconcile" "reload"; do
		# shellcheck disable=SC2086
		atf_check -s not-exit:0 -o empty \
		    -e match:"damaged, and can only be read" "$CTL" $c
	done
}

# unchanged [regexp]: shown, what there is as well, and nothing was touched.
unchanged()
{
	sums "$STATE/db" >before
	shown "$1"
	[ $# -lt 2 ] || "$2"
	daemon_stop
	sums "$STATE/db" >after
	diff before after || atf_fail "something was written"
}

# All that a daemon which was stopped has left can be read.
see_all()
{
	"$CTL" list -a >list || atf_fail "list"
	cmp list list.all || atf_fail "other sandboxes: $(cat list)"
	"$CTL" events >events || atf_fail "events"
	head -n "$(wc -l <events.all)" events | cmp - events.all ||
	    atf_fail "other events than before"
	"$CTL" events box-3 >events || atf_fail "events of box-3"
	head -n "$(wc -l <events.3)" events | cmp - events.3 ||
	    atf_fail "other events of box-3 than before"
	atf_check -o match:"no-such-image" "$CTL" show box-5
	atf_check -o save:dump "$CTL" log dump
	tail -n 1 dump | grep -q '^end' || atf_fail "half a dump"
}

# All but the events in their order.
see_boxes()
{
	"$CTL" list -a >list || atf_fail "list"
	cmp list list.all || atf_fail "other sandboxes: $(cat list)"
	atf_check -s not-exit:0 -o empty -e match:"events.db" "$CTL" events
	atf_check -s not-exit:0 -o empty -e match:"events.db" \
	    "$CTL" events box-3
	atf_check -o match:"no-such-image" "$CTL" show box-5
}

# All but those of a sandbox.
see_host()
{
	"$CTL" list -a >list || atf_fail "list"
	cmp list list.all || atf_fail "other sandboxes: $(cat list)"
	"$CTL" events >events || atf_fail "events"
	head -n "$(wc -l <events.all)" events | cmp - events.all ||
	    atf_fail "other events than before"
	atf_check -s not-exit:0 -o empty -e match:"index.db" \
	    "$CTL" events box-3
}

# The sandboxes by their events, without names.
see_events()
{
	atf_check -o match:"^damaged-1 .*failed" -o match:"^damaged-8 " \
	    "$CTL" list -a
	"$CTL" events >events || atf_fail "events"
	[ "$(wc -l <events)" -ge "$(wc -l <events.all)" ] ||
	    atf_fail "fewer events than before"
	atf_check -o match:"sandbox.create" "$CTL" events damaged-3
}

# Some by their rows, some by their events: nobody is lost.
see_some()
{
	"$CTL" list -a >list || atf_fail "list"
	[ "$(wc -l <list)" -eq "$(wc -l <list.all)" ] ||
	    atf_fail "lost: $(cat list)"
	grep -q '^damaged-' list || atf_fail "all are well: $(cat list)"
}

atf_test_case killed cleanup
killed_head()
{
	atf_set descr '(b86) (c35) (c36) damage to what a killed daemon has left'
	atf_set timeout 600
}
killed_body()
{
	daemon_start
	await daemon_engine_is_up
	events_make 1 2
	daemon_kill
	cp -Rp "$STATE/db" old
	daemon_start
	await daemon_engine_is_up
	events_make 3 8
	cp events events.all
	daemon_kill
	cp -Rp "$STATE/db" good
	n=$(ls good | grep -c '^log\.')
	log=$(ls good | grep '^log\.' | tail -n 1)

	restore good
	flip_bit "$STATE/db/$log" "$(offsets_of "good/$log" \
	    needle-5-end | head -n 1)"
	unchanged "$log: damaged"

	restore good
	flip_bit "$STATE/db/$log" $(($(mark_end good) - 4))
	unchanged "$log: damaged"

	restore good
	rm "$STATE/db/$log"
	if [ "$n" -eq 1 ]; then
		unchanged "log: missing"
	else
		unchanged "damaged"
	fi

	restore good
	flip_bit "$STATE/db/watermark" 20
	unchanged "watermark: damaged"

	restore good
	truncate -s 32 "$STATE/db/watermark"
	unchanged "watermark: damaged"

	restore good
	rm "$STATE/db/watermark"
	# A start that was cut off looks the same until the log is recovered.
	shown "watermark: missing"
	daemon_stop

	for t in events index state; do
		restore good
		rm "$STATE/db/$t.db"
		unchanged "$t.db: missing"
	done

	# Recovery needs that page, and says its number alone.
	restore good
	flip_bit "$STATE/db/state.db" $((4096 + 100))
	shown "state.db: .*page 1"
	daemon_stop

	restore good
	echo 'set_flags DB_TXN_NOSYNC' >"$STATE/db/DB_CONFIG"
	refused "DB_CONFIG: not allowed here"

	restore old
	cp -p good/watermark "$STATE/db/watermark"
	unchanged "damaged: ends at"

	restore good
	daemon_start
	atf_check -o match:"^events" "$CTL" log verify
	"$CTL" events >events || atf_fail "events"
	head -n "$(wc -l <events.all)" events | cmp - events.all ||
	    atf_fail "other events than before"
	daemon_stop
}
killed_cleanup()
{
	daemon_cleanup
}

atf_test_case stopped cleanup
stopped_head()
{
	atf_set descr '(b86) (c35) (c36) what can be read of damage is shown'
	atf_set timeout 600
}
stopped_body()
{
	daemon_start
	await daemon_engine_is_up
	events_make 1 8
	cp events events.all
	"$CTL" events box-3 >events.3
	"$CTL" list -a >list.all
	daemon_stop
	cp -Rp "$STATE/db" good
	log=$(ls good | grep '^log\.' | tail -n 1)

	restore good
	flip_bit "$STATE/db/$log" $(($(mark_end good) - 4))
	unchanged "$log: damaged" see_all

	restore good
	rm "$STATE/db"/log.*
	unchanged "log: missing" see_all

	restore good
	flip_bit "$STATE/db/watermark" 20
	unchanged "watermark: damaged" see_all

	restore good
	rm "$STATE/db/watermark"
	shown "watermark: missing"
	see_all
	daemon_stop

	restore good
	rm "$STATE/db/events.db"
	unchanged "events.db: missing" see_boxes

	restore good
	rm "$STATE/db/index.db"
	unchanged "index.db: missing" see_host

	restore good
	rm "$STATE/db/state.db"
	unchanged "state.db: missing" see_events

	restore good
	flip_bit "$STATE/db/events.db" 100
	shown "events.db"
	see_boxes
	daemon_stop

	restore good
	flip_bit "$STATE/db/state.db" 100
	shown "state.db"
	see_events
	daemon_stop

	# The rows of sandboxes are the only ones that have it.
	restore good
	row=$(offsets_of good/state.db box-4 | tail -n 1)
	flip_bit "$STATE/db/state.db" "$row"
	shown "state.db"
	see_some
	daemon_stop

	# Of what has been read a log is made again.
	daemon_use other
	rm -rf "$STATE"
	mkdir -p -m 711 "$STATE"
	daemon_conf
	atf_check -o match:"^events" "$BIN/sandboxd" -R dump -f "$CONF"
}
stopped_cleanup()
{
	daemon_cleanup
}

# first_of name: the number of the event of its creation
first_of()
{
	awk -v b="$1" '/ sandbox.create / && $0 ~ " " b " " { print $1; exit }' \
	    events
}

# behind file: from the creation of box-40 on the events are those of it.
behind()
{
	n=$(first_of box-40)
	[ -n "$n" ] || atf_fail "no event of box-40: $(tail -n 5 "$1")"
	awk -v n="$n" '$1 >= n' "$1" >behind.all
	"$CTL" events -n "$n" >behind.got 2>err || atf_fail "$(cat err)"
	head -n "$(wc -l <behind.all)" behind.got | cmp - behind.all ||
	    atf_fail "other events than before"
}

# over_damage: all events are asked for, and refused for what it is.
over_damage()
{
	s=0
	"$CTL" events -n 1 >events.got 2>err || s=$?
	[ $s -ne 0 ] || atf_fail "events were read over the damage"
	grep -q "events.db.*checksum" err || atf_fail "$(cat err)"
	[ "$(grep -o events.db err | wc -l)" -le 2 ] ||
	    atf_fail "one in the other: $(cat err)"
}

atf_test_case page cleanup
page_head()
{
	atf_set descr '(b86) (c35) (aR4) a bit in a page of data'
	atf_set timeout 600
}
# page_of_one: good, and in box, old: the one whose page of events.db is its own
page_of_one()
{
	daemon_start
	await daemon_engine_is_up
	events_make 1 40
	daemon_stop
	cp -Rp "$STATE/db" good

	# A page may have old bytes of others: what is in one alone is there,
	# and it is not the one in which the newest are.
	new=$(pages_of good/events.db needle-40-end)
	i=1
	old=$(pages_of good/events.db "needle-$i-end")
	while [ -z "$old" ] || echo "$old" | grep -q ' ' ||
	    echo " $new " | grep -q " $old "; do
		[ $i -lt 40 ] || atf_fail "no page of its own: $old, $new"
		i=$((i + 1))
		old=$(pages_of good/events.db "needle-$i-end")
	done
	box=box-$i
	old=$(offsets_of good/events.db "needle-$i-end" | tail -n 1)
}
page_body()
{
	page_of_one
	flip_bit "$STATE/db/events.db" "$old"
	daemon_start
	atf_check -s not-exit:0 -o empty -e match:"events.db.*checksum" \
	    "$CTL" log verify
	await 'log_has "events.db.*checksum"'
	s=0
	"$CTL" events >events.got 2>err || s=$?
	[ $s -ne 0 ] || atf_fail "events were read over the damage"
	! grep -q " $box " events.got || atf_fail "what was damaged is told"
	# Again and again, for that reason and no other; and who asks for what
	# is behind the damage has it, though nothing is changed meanwhile.
	store=$(daemon_child store)
	for n in 1 2 3; do
		over_damage
		behind events
	done
	atf_check -o match:"^box-40 .*failed" "$CTL" list
	# A follower goes on from there, and changes are taken.
	"$CTL" events -f -n "$(first_of box-40)" >follow 2>&1 &
	follower=$!
	over_damage
	atf_check -o ignore "$CTL" create -d -i after -I no-such-image
	await '"$CTL" list | grep -q "^after .*failed"'
	await 'grep -q " after .* sandbox.failed " follow'
	behind events
	over_damage
	kill $follower
	atf_check_equal "$store" "$(daemon_child store)"
	! grep -q " $box " events.got || atf_fail "what was damaged is told"
	daemon_stop

	restore good
	daemon_start
	atf_check -o match:"^events" "$CTL" log verify
	daemon_stop
}
page_cleanup()
{
	daemon_cleanup
}

# Its history is over, and on the page: what collects it cannot come by.
atf_test_case collected cleanup
collected_head()
{
	atf_set descr '(b86) (c35) (aR4) a bad page that is to be written'
	atf_set timeout 600
}
collected_body()
{
	page_of_one
	flip_bit "$STATE/db/events.db" "$old"
	daemon_conf "retain { history 1s }"
	daemon_start
	# It may be gone already: the log's own beginning is as old.
	timeout 60 "$CTL" delete "$box" >out 2>&1
	await '"$CTL" status 2>/dev/null | grep -q "^damaged .*events.db"' 60
	store=$(daemon_child store)
	atf_check -o match:"^box-40 .*failed" "$CTL" list
	for n in 1 2 3; do
		atf_check -s not-exit:0 -o empty \
		    -e match:"damaged, and can only be read.*events.db" \
		    "$CTL" create -i other -I no-such-image
		over_damage
	done
	atf_check_equal "$store" "$(daemon_child store)"
	# What has ended is said once, and there was no second time.
	atf_check_equal 1 "$(grep -c 'store: fatal: database: events.db' "$LOG")"
	daemon_stop
	# The next start says so at once.
	shown "events.db"
	atf_check -o match:"^box-40 .*failed" "$CTL" list
	store=$(daemon_child store)
	over_damage
	atf_check_equal "$store" "$(daemon_child store)"
	daemon_stop

	restore good
	daemon_start
	atf_check -o match:"^events" "$CTL" log verify
	await '! "$CTL" status | grep -q "^damaged"'
	daemon_stop
}
collected_cleanup()
{
	daemon_cleanup
}

atf_test_case emptied cleanup
emptied_head()
{
	atf_set descr '(c36) an empty database, and a sandbox'
	atf_set timeout 600
}
emptied_body()
{
	world
	box
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'until [ -e go ]; do usleep 100000; done; exit 5'
	daemon_kill
	mv "$STATE/db" good
	install -d -m 700 -o _sbxstore -g _sbxstore "$STATE/db"
	for i in 1 2; do
		no_start "db: empty, though .*work has sandboxes"
		ls -A "$STATE/db" >left
		[ ! -s left ] || atf_fail "made: $(cat left)"
	done
	[ -n "$(_ours)" ] || atf_fail "the container was removed"
	restore good
	daemon_start
	await '"$CTL" exec "$BOX" true 2>/dev/null'
	touch "$STATE/work/1/go"
	atf_check -s exit:5 timeout 120 "$CTL" wait "$(cat exec)"
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
emptied_cleanup()
{
	daemon_cleanup
}

atf_test_case guests cleanup
guests_head()
{
	atf_set descr '(b86) (c35) damage, and a sandbox that works'
	atf_set timeout 600
}
guests_body()
{
	world
	box
	atf_check -o save:over "$CTL" exec -d "$BOX" echo over
	atf_check timeout 120 "$CTL" wait "$(cat over)"
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'echo begun; until [ -e go ]; do usleep 100000; done; exit 5'
	await '"$CTL" logs "$(cat exec)" 2>/dev/null | grep -q begun'
	daemon_stop
	cp -Rp "$STATE/db" good
	flip_bit "$STATE/db/watermark" 20
	daemon_start
	await daemon_engine_is_up
	atf_check -o match:"^$BOX .*ready" "$CTL" list
	atf_check -o match:"$(cat exec) .*running" "$CTL" ps -a "$BOX"
	atf_check -o inline:"over\n" "$CTL" logs "$(cat over)"
	atf_check -o inline:"begun\n" "$CTL" logs "$(cat exec)"
	atf_check -s not-exit:0 -e match:"only be read" "$CTL" delete "$BOX"
	[ -n "$(_ours)" ] || atf_fail "the container was removed"
	daemon_stop
	restore good
	daemon_start
	await '"$CTL" exec "$BOX" true 2>/dev/null'
	touch "$STATE/work/1/go"
	atf_check -s exit:5 timeout 120 "$CTL" wait "$(cat exec)"
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
guests_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case guests
	atf_add_test_case collected
	atf_add_test_case emptied
	atf_add_test_case killed
	atf_add_test_case page
	atf_add_test_case stopped
}
