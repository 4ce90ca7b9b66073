# What programs of other versions have written: rows of an earlier one are
# read, what a newer one has put behind the fields that we know stays, and a
# database of a newer version is left alone.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

rows()
{
	"$(atf_get_srcdir)/h_rows" "$@" || atf_fail "h_rows $*"
	chown -R _sbxstore: "$STATE/db"
}

# As they were found in a database: make.sh says how they were made.
old_start()
{
	daemon_use main
	mkdir -p -m 711 "$STATE"
	mkdir "$STATE/db"
	rows load "$STATE/db" <"$1"
	world
}

old_ended()
{
	! "$CTL" list | grep -E 'ready *(ready|pending|resuming|stopping)'
}

atf_test_case old cleanup
old_head()
{
	atf_set descr '(aV15) rows of an earlier version are read'
	atf_set require.user root
}
old_body()
{
	for f in "$(atf_get_srcdir)"/rows.*; do
		old_start "$f"
		! log_has damaged || atf_fail "damaged: $f"
		atf_check -o save:verified "$CTL" log verify
		# Its container is gone, and its command with it: no doubt.
		atf_check -o ignore "$CTL" reconcile -f
		await old_ended
		"$CTL" ps -a ready >ps.out || atf_fail ps
		atf_check -o match:'ready.1 .*exited +0 ' cat ps.out
		atf_check -o match:'ready.2 .*exited +3 ' cat ps.out
		atf_check -o match:'ready.3 .*signaled +KILL' cat ps.out
		atf_check -o match:'ready.4 .*timed_out' cat ps.out
		atf_check -o match:'ready.5 .*failed' cat ps.out
		atf_check -o match:'ready.6 .*(lost|cancelled)' cat ps.out
		atf_check -o match:'^stopped +(stopped|failed)' \
		    -o match:'^failed +failed' -o match:'^deleted +deleted' \
		    "$CTL" list -a
		atf_check -o match:'tier=' -o match:'team=demo' \
		    -o match:'64' "$CTL" show ready
		atf_check -o match:'sandbox.create .*label.team=demo' \
		    -o match:'exec.ended .*code=3' "$CTL" events ready
		atf_check -o match:'1 .*daemon.started' "$CTL" events -n 1
		atf_check -s exit:125 -e match:wrong_state \
		    "$CTL" exec stopped true
		atf_check -s exit:73 -e match:already_exists \
		    "$CTL" create -i deleted
		atf_check "$CTL" delete ready stopped failed
		box
		atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
		atf_check "$CTL" delete "$BOX"
		daemon_stop
		daemon_start
		atf_check -o ignore "$CTL" log verify
		nothing_left
		daemon_stop
		rm -rf "$STATE"
	done
}
old_cleanup()
{
	daemon_cleanup
}

atf_test_case newer cleanup
newer_head()
{
	atf_set descr '(aV15) what a newer version has put into rows stays'
	atf_set require.user root
}
newer_body()
{
	world
	box -i web -l a=b
	atf_check -s exit:3 "$CTL" exec web sh -c 'exit 3'
	atf_check -o ignore "$CTL" exec -d web sleep 1000
	daemon_stop
	rows grow "$STATE/db"
	rows grown "$STATE/db" >before
	for l in S C E F; do
		grep -q "^$l 1" before || atf_fail "no row $l: $(cat before)"
	done
	log_cut
	daemon_start
	await daemon_engine_is_up
	log_has 'of a newer version' || atf_fail 'nothing is said of it'
	# Each row is written again: the exec ends, the sandbox stops.
	atf_check "$CTL" kill web.2
	atf_check -s exit:143 "$CTL" wait web.2
	atf_check "$CTL" stop web
	atf_check -o match:'web.1 .*exited +3 ' -o match:'web.2 .*cancelled' \
	    "$CTL" ps -a
	atf_check -o match:'a=b' "$CTL" show web
	atf_check -o ignore "$CTL" log verify
	daemon_stop
	rows grown "$STATE/db" >after
	atf_check -o match:'^S 1$' -o match:'^C 1$' -o match:'^E 1 1$' \
	    -o match:'^E 1 2$' cat after
	daemon_start
	await daemon_engine_is_up
	atf_check "$CTL" resume web
	atf_check -o inline:"hi\n" "$CTL" exec web echo hi
	atf_check "$CTL" delete web
	nothing_left
	daemon_stop
}
newer_cleanup()
{
	daemon_cleanup
}

# refused text: it does not start, and not a byte of the database changes.
refused()
{
	(cd "$STATE/db" && sha256sum -- *) >before
	ls -l "$STATE/db" >>before
	log_cut
	daemon_run
	await '_gone "$(daemon_pid)"'
	log_has "$1" || {
		_show_log
		atf_fail "not said: $1"
	}
	(cd "$STATE/db" && sha256sum -- *) >after
	ls -l "$STATE/db" >>after
	[ -n "${2:-}" ] || cmp before after || {
		diff before after >&2
		atf_fail "the database has changed"
	}
}

atf_test_case version cleanup
version_head()
{
	atf_set descr '(c47) a database of a newer version is left alone'
	atf_set require.user root
}
version_body()
{
	daemon_start
	daemon_stop
	rows version "$STATE/db" 2
	refused 'written by a newer sandboxd: it has version 2, and sandboxd '
	rows version "$STATE/db" 1
	daemon_start
	atf_check -o ignore "$CTL" log verify
	daemon_stop
}
version_cleanup()
{
	daemon_cleanup
}

atf_test_case states cleanup
states_head()
{
	atf_set descr '(c47) a state of a newer version is not guessed'
	atf_set require.user root
}
states_body()
{
	daemon_use main
	mkdir -p -m 711 "$STATE"
	mkdir "$STATE/db"
	rows load "$STATE/db" <"$(atf_get_srcdir)/rows.0.1.0"
	rows state "$STATE/db" 5 99
	refused 'sandbox 1.0 is in state 99, which this version does not know' \
	    recovered
}
states_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case old
	atf_add_test_case newer
	atf_add_test_case version
	atf_add_test_case states
}
