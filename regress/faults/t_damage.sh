# A store that finds other bytes than it wrote says which, and reads nothing
# over.
#
#	what is done to the database of a	what the start says, with exit 1
#	daemon that was killed
#	--------------------------------------	--------------------------------
#	a bit in the middle of the log		log.N: damaged
#	a bit in the last record of the log	log.N: damaged
#	the newest file of the log deleted	log: missing
#	a bit in the watermark			watermark: damaged
#	the watermark cut to half		watermark: damaged
#	the watermark deleted			watermark: missing (*)
#	events.db deleted			events.db: missing
#	a DB_CONFIG planted			DB_CONFIG: not allowed here
#	an older copy with the newer watermark	log.N: damaged: ends at
#	all of it deleted, with a sandbox	db: empty; the Engine's container
#						stays
#	nothing					it starts, all events are there
#
# After each refusal but (*) every file is as it was before.  Pages are read
# when they are needed:
#
#	a bit in an older one			log verify and events fail, and
#						name events.db; what the page
#						has is not handed out; new work
#						is taken

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

# Sandboxes of an image that is not there: events, and nothing else.
events_make()
{
	i=$1
	while [ "$i" -le "$2" ]; do
		atf_check -o ignore "$CTL" create -d -i "box-$i" \
		    -I no-such-image -l "needle=needle-$i-end"
		i=$((i + 1))
	done
	await '! "$CTL" list | grep -q pending'
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

# The same, and nothing was touched.
refused()
{
	sums "$STATE/db" >before
	no_start "$1"
	sums "$STATE/db" >after
	diff before after || atf_fail "something was written"
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
	refused "$log: damaged"

	restore good
	flip_bit "$STATE/db/$log" $(($(mark_end good) - 4))
	refused "$log: damaged"

	restore good
	rm "$STATE/db/$log"
	if [ "$n" -eq 1 ]; then
		refused "log: missing"
	else
		refused "damaged"
	fi

	restore good
	flip_bit "$STATE/db/watermark" 20
	refused "watermark: damaged"

	restore good
	truncate -s 32 "$STATE/db/watermark"
	refused "watermark: damaged"

	restore good
	rm "$STATE/db/watermark"
	# A start that was cut off looks the same until the log is recovered.
	no_start "watermark: missing"

	restore good
	rm "$STATE/db/events.db"
	refused "events.db: missing"

	restore good
	echo 'set_flags DB_TXN_NOSYNC' >"$STATE/db/DB_CONFIG"
	refused "DB_CONFIG: not allowed here"

	restore old
	cp -p good/watermark "$STATE/db/watermark"
	refused "damaged: ends at"

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

atf_test_case page cleanup
page_head()
{
	atf_set descr '(b86) (c35) a bit in a page of data'
	atf_set timeout 600
}
page_body()
{
	daemon_start "restart 100 per 60s"
	await daemon_engine_is_up
	events_make 1 40
	daemon_stop
	cp -Rp "$STATE/db" good

	# A page that was split has kept its old bytes: the last is in use.
	old=$(offsets_of good/events.db needle-2-end | tail -n 1)
	new=$(offsets_of good/events.db needle-40-end | tail -n 1)
	[ $((old / 4096)) -ne $((new / 4096)) ] || atf_fail "one page"

	flip_bit "$STATE/db/events.db" "$old"
	daemon_start
	atf_check -s not-exit:0 -o empty -e match:"events.db.*checksum" \
	    "$CTL" log verify
	await 'log_has "events.db.*checksum"'
	s=0
	"$CTL" events >events.got 2>err || s=$?
	[ $s -ne 0 ] || atf_fail "events were read over the damage"
	! grep -q " box-2 " events.got || atf_fail "what was damaged is told"
	# The database has to be opened again for it, and is.
	await '"$CTL" create -d -i after -I no-such-image >out 2>err ||
	    grep -q already_exists err'
	await '"$CTL" list | grep -q "^after .*failed"'
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

atf_init_test_cases()
{
	atf_add_test_case emptied
	atf_add_test_case killed
	atf_add_test_case page
}
