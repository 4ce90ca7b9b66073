# A dump of the event log, the log made from it again, and the proof of both.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

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
}

# A daemon with some events, that was stopped, and its dump.
history()
{
	daemon_start "${1:-}"
	await daemon_engine_is_up
	events_make 1 4
	atf_check -o save:dump "$CTL" log dump
	atf_check -o save:verify "$CTL" log verify
	daemon_stop
}

# What the n-th word of the dump's last line is.
end_word()
{
	tail -n 1 dump | cut -d ' ' -f "$1"
}

# For who changes a dump and knows how it ends.
sealed()
{
	sed '$d' "$1" >lines
	printf 'end %s %s %s %s %s %s\n' "$(grep -c '^event' lines)" \
	    "$(grep -c '^skeleton' lines)" \
	    "$(grep -c -e '^row' -e '^gone' lines)" "$(end_word 5)" \
	    "$(end_word 6)" "$(sha256sum <lines | cut -d ' ' -f 1)" |
	    cat lines - >"$1"
}

# As after the loss of a disk.
empty()
{
	rm -rf "$STATE/db" "$STATE/db.new" "$STATE/instance"
}

none_left()
{
	[ ! -e "$STATE/db" ] && [ ! -e "$STATE/db.new" ] &&
	    [ ! -e "$STATE/instance" ] || atf_fail "something was left"
}

# refused dump regexp: the restoration says so, and leaves nothing.
refused()
{
	atf_check -s exit:1 -o empty -e match:"$2" timeout 300 \
	    "$BIN/sandboxd" -f "$CONF" -R "$1"
	none_left
}

restore()
{
	atf_check -o "save:restored" timeout 300 "$BIN/sandboxd" -f "$CONF" \
	    -R dump
}

atf_test_case restored cleanup
restored_head()
{
	atf_set descr 'dump and restoration with a command in between'
	atf_set timeout 600
}
restored_body()
{
	world
	box
	atf_check -s exit:3 "$CTL" exec "$BOX" sh -c 'exit 3'
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'until [ -e go ]; do usleep 100000; done; exit 5'
	await '"$CTL" ps "$BOX" | grep -q running'
	atf_check -o save:dump "$CTL" log dump
	atf_check -o save:verify "$CTL" log verify
	daemon_kill

	# The disk with the log was lost, the sandbox lives.
	rm -r "$STATE/db"
	restore
	atf_check_equal "$(awk '/^(sandboxes|execs)/ { print $2 }' verify)" \
	    "$(awk '/^(sandboxes|execs)/ { print $2 }' restored)"
	daemon_start
	atf_check -o match:"log.restored" "$CTL" events -t log.restored
	await '"$CTL" exec "$BOX" true 2>/dev/null'
	touch "$STATE/work/1/go"
	atf_check -s exit:5 timeout 120 "$CTL" wait "$(cat exec)"
	# What was the head is still a link of the chain.
	atf_check -o match:"^found  *$(end_word 5)$" "$CTL" log verify \
	    "$(end_word 6)"
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
restored_cleanup()
{
	daemon_cleanup
}

atf_test_case damaged cleanup
damaged_head()
{
	atf_set descr 'dumps that are cut off, altered, doubled, of others'
	atf_set timeout 600
}
damaged_body()
{
	history
	# The sum can be had without us.
	atf_check_equal "$(end_word 7)" \
	    "$(sed '$d' dump | sha256sum | cut -d ' ' -f 1)"
	atf_check -s exit:1 -e match:"not empty" "$BIN/sandboxd" -f "$CONF" \
	    -R dump
	empty

	refused nosuch "nosuch: No such file"
	refused . "directory"
	: >d
	refused d "line 1: it is cut off"
	echo hello >d
	refused d "line 1: not a dump"
	head -c 100000 /dev/zero >d
	refused d "line 1: (damaged|it is cut off)"
	sed '$d' dump >d
	refused d "it is cut off: the line with the end is missing"
	head -c "$(($(wc -c <dump) - 5))" dump >d
	refused d "it is cut off"
	head -c "$(($(wc -c <dump) / 2))" dump >d
	refused d "it is cut off"
	cat dump dump >d
	refused d "there is more behind the end"
	sed '1s/ 1 / 2 /' dump >d
	refused d "a dump of version 2: this program reads version 1"
	sed '3p' dump >d
	refused d "line 4: event 2 follows 2"
	sed '3d' dump >d
	refused d "line 3: event 3 follows 1"
	sed '4s/0$/1/; t; 4s/.$/0/' dump >d
	refused d "the sum is not that of the lines"
	sealed d
	refused d "the chain leads to another head"
	sed '0,/^row/s/^row.*/&0/' dump >d
	refused d "damaged"
	# The sum and the chain are right, and the rows are others.
	grep -v '^row 53' dump >d
	sealed d
	refused d "state.db: sandbox 1: missing"
	grep -v '^row 51' dump >d
	sealed d
	refused d "state.db: sandbox 1: its counters are missing"

	echo 00112233445566778899aabbccddeeff >"$STATE/instance"
	atf_check -s exit:1 -e match:"instance: 0011.*move the file away" \
	    "$BIN/sandboxd" -f "$CONF" -R dump
	rm "$STATE/instance"
	none_left
	restore
	atf_check_equal "$(end_word 6)" \
	    "$(awk '$1 == "head" { print $2 }' restored)"
	daemon_start
	atf_check -s exit:1 -e match:"already running" "$BIN/sandboxd" \
	    -f "$CONF" -R dump
	atf_check -s exit:1 -e match:"already running" "$BIN/sandboxd" \
	    -f "$CONF" -V
	daemon_stop
}
damaged_cleanup()
{
	daemon_cleanup
}

atf_test_case elsewhere cleanup
elsewhere_head()
{
	atf_set descr 'a head that was kept elsewhere, and -V'
	atf_set timeout 600
}
elsewhere_body()
{
	history
	daemon_start
	head=$(end_word 6)
	atf_check -o match:"^found  *$(end_word 5)$" "$CTL" log verify "$head"
	atf_check -o match:"\"found\": *$(end_word 5)[,}]" "$CTL" -j log \
	    verify "$head"
	other=$(echo "$head" | tr 0-9a-f 1-9a-f0)
	atf_check -s exit:66 -o empty -e match:"no event of this log" "$CTL" \
	    log verify "$other"
	atf_check -s exit:64 -o empty -e match:"invalid head" "$CTL" log \
	    verify "${head%?}"
	atf_check -s exit:64 -o empty -e match:"invalid head" "$CTL" log \
	    verify "$(echo "$head" | tr a-f A-F)X"
	atf_check -o match:"^found" "$CTL" log verify "$head"
	atf_check -s not-exit:0 -e match:"standard output" sh -c \
	    "'$CTL' log dump >/dev/full"
	new_uid
	cat >user <<-EOT
		#!/bin/sh
		. "$(atf_get_srcdir)/../lib/sandboxd.subr"
		as_user $NEW_UID "$CTL" "\$@"
	EOT
	chmod 755 user
	atf_check -s exit:77 -o empty -e match:"admin: not permitted" \
	    ./user log dump
	daemon_kill
	atf_check -o match:"^events" "$BIN/sandboxd" -f "$CONF" -V
	rm -r "$STATE/db"
	atf_check -s exit:1 -e match:"there is no event log" "$BIN/sandboxd" \
	    -f "$CONF" -V
}
elsewhere_cleanup()
{
	daemon_cleanup
}

atf_test_case killed cleanup
killed_head()
{
	atf_set descr 'killed in the middle, and no room'
	atf_set timeout 600
}
killed_body()
{
	BIN=$SBX_FAULTBIN
	history
	for p in made.after batch.after proven.after rename.before \
	    rename.after; do
		empty
		s=0
		env "SANDBOXD_FAULT=restore.$p:1" "$BIN/sandboxd" -f "$CONF" \
		    -R dump >out 2>err || s=$?
		[ $s -ne 0 ] || atf_fail "$p: not killed"
		if [ $p = rename.after ]; then
			atf_check -s exit:1 -e match:"not empty" \
			    "$BIN/sandboxd" -f "$CONF" -R dump
		else
			[ ! -e "$STATE/db" ] || atf_fail "$p: half of it"
			restore
		fi
		[ ! -e "$STATE/db.new" ] || atf_fail "$p: db.new"
		atf_check -o match:"^newest  *$(($(end_word 5) + 1))$" \
		    "$BIN/sandboxd" -f "$CONF" -V
	done

	empty
	mount -t tmpfs -o mode=711,size=64k none "$STATE" ||
	    atf_fail "cannot mount"
	atf_check -s exit:1 -o empty -e not-match:"events " "$BIN/sandboxd" \
	    -f "$CONF" -R dump
	none_left
	umount "$STATE"
	restore

	# The store dies while somebody reads a dump, or the proof.
	DAEMON_ENV=SANDBOXD_FAULT=store.dump.before:1
	daemon_start
	atf_check -s not-exit:0 -o save:d -e not-empty "$CTL" log dump
	! grep -q '^end' d || atf_fail "it looks whole"
	await '"$CTL" log dump >d 2>err && grep -q "^end" d'
	daemon_stop
	DAEMON_ENV=SANDBOXD_FAULT=store.verify.before:1
	daemon_start
	atf_check -s not-exit:0 -o empty -e not-empty "$CTL" log verify
	await '"$CTL" log verify >d 2>err && grep -q "^head" d'
	daemon_stop
}
killed_cleanup()
{
	daemon_cleanup
}

atf_test_case busy cleanup
busy_head()
{
	atf_set descr 'dumps of a log that grows meanwhile'
	atf_set timeout 600
}
busy_body()
{
	history "retain { history 1s }"
	cp -Rp "$STATE/db" start
	daemon_start
	(
		i=0
		until [ -e enough ]; do
			i=$((i + 1))
			"$CTL" create -d -i "x-$i" -I no-such-image
			"$CTL" create -d -i "y-$i" -I no-such-image
			"$CTL" delete "x-$i"
		done
	) >/dev/null 2>loop.err &
	loop=$!
	n=$(figure 3 30)
	for i in $(seq "$n"); do
		atf_check -o "save:dump.$i" "$CTL" log dump
		atf_check -o match:"^head" "$CTL" log verify
	done
	: >enough
	wait $loop
	daemon_stop
	for i in $(seq "$n"); do
		cp "dump.$i" dump
		rm -r "$STATE/db"
		restore
		atf_check -o match:"^newest  *$(($(end_word 5) + 1))$" \
		    "$BIN/sandboxd" -f "$CONF" -V
	done
	daemon_start
	await daemon_engine_is_up
	atf_check -o match:"^head" "$CTL" log verify
	daemon_stop
}
busy_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case busy
	atf_add_test_case damaged
	atf_add_test_case elsewhere
	atf_add_test_case killed
	atf_add_test_case restored
}
