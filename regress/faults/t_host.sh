# What a host lacks when the daemon starts, or takes from it while it runs.
#
#	what				what must come of it
#	-----------------------------	--------------------------------------
#	no random numbers yet		no start, with the reason
#	no page to read the time from	nothing: the kernel is asked
#	libraries replaced by others	nothing before the next start, which
#					has the new ones
#	libraries gone			the same; no upgrade in place
#	another Berkeley DB		no start, with both versions; the log
#					is as it was

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/shim.subr"

# not_started text: it does not start, and says why
not_started()
{
	# shellcheck disable=SC2086
	atf_check -s exit:1 -e match:"$1" timeout 60 env $DAEMON_ENV \
	    "$BIN/sandboxd" -d -f "$CONF"
}

atf_test_case random cleanup
random_head()
{
	atf_set descr '(c56) a host that has no random numbers yet'
}
random_body()
{
	shim_use
	daemon_conf
	shim parent random error EAGAIN 1 1
	not_started 'no random numbers'
	hit parent random || atf_fail "it has not asked"
	shim parent off
	daemon_start
	daemon_stop
}
random_cleanup()
{
	daemon_cleanup
}

atf_test_case time cleanup
time_head()
{
	atf_set descr '(c56) a host whose time is told by the kernel alone'
}
time_body()
{
	shim_use
	shim all pageless >/dev/null
	world
	box
	s=0
	"$CTL" exec -t 1 "$BOX" sleep 100000 >out 2>err || s=$?
	atf_check_equal 124 $s
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	atf_check "$CTL" delete "$BOX"
	for r in parent frontend store broker runner; do
		[ "$(shim $r pageless)" -gt 0 ] || atf_fail "$r never asked"
	done
	nothing_left
	daemon_stop
}
time_cleanup()
{
	daemon_cleanup
}

# The libraries that come from packages of their own, in a folder of ours.
libraries()
{
	daemon_use main
	# Only the one for tests hands its environment to its children.
	BIN=$SBX_FAULTBIN
	mkdir "$D/lib"
	ldd "$BIN/sandboxd" | awk '$2 == "=>" { print $3 }' |
	    grep -E '/lib(db|curl|event|msgpack|bsd)[-._a-z0-9]*\.so' >list ||
	    atf_fail "no libraries"
	while read -r l; do
		cp "$l" "$D/lib"
	done <list
	DAEMON_ENV="LD_LIBRARY_PATH=$D/lib"
}

# mapped name: how many of the daemon's processes have it of this folder
mapped()
{
	n=0
	for p in $(daemon_pid) $(daemon_child frontend) \
	    $(daemon_child store) $(daemon_child broker) \
	    $(daemon_child runner); do
		! grep -q "$1" "/proc/$p/maps" || n=$((n + 1))
	done
	echo $n
}

atf_test_case libraries cleanup
libraries_head()
{
	atf_set descr '(c48) libraries are replaced, and removed, under the' \
	    'daemon'
}
libraries_body()
{
	libraries
	world
	box
	[ "$(mapped "$D/lib/libevent")" -eq 5 ] || atf_fail "not of our folder"
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'until [ -e go ]; do usleep 100000; done; echo done; exit 5'
	# As a package manager does: another file under the name.
	for l in "$D"/lib/*; do
		cp "$l" "$D/new"
		mv "$D/new" "$l"
	done
	[ "$(mapped "$D/lib/libevent.*deleted")" -eq 5 ] ||
	    atf_fail "what it has is there yet"
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	atf_check -o ignore "$CTL" create -i also
	atf_check -o match:'^events' "$CTL" log verify
	atf_check -o ignore "$CTL" reload -x
	[ "$(mapped "$D/lib/libevent.*deleted")" -eq 0 ] ||
	    atf_fail "the old ones are in use yet"
	# Without them a new one could not begin: it is not tried.
	mv "$D/lib" "$D/away"
	mkdir "$D/lib"
	for l in "$D"/away/*; do
		: >"$D/lib/${l##*/}"
	done
	p=$(daemon_child store)
	atf_check -s exit:64 -e match:'file too short' \
	    "$CTL" reload -x
	[ "$(daemon_child store)" = "$p" ] || atf_fail "the set is another"
	atf_check -o inline:"hi\n" "$CTL" exec also echo hi
	rmdir_lib
	atf_check -o ignore "$CTL" reload -x
	atf_check "$CTL" exec "$BOX" touch go
	atf_check -s exit:5 "$CTL" wait "$(cat exec)"
	atf_check -o inline:"done\n" "$CTL" logs "$(cat exec)"
	atf_check -o ignore "$CTL" delete "$BOX" also
	nothing_left
	daemon_stop
}
libraries_cleanup()
{
	daemon_cleanup
}

rmdir_lib()
{
	rm -r "$D/lib"
	mv "$D/away" "$D/lib"
}

atf_test_case database cleanup
database_head()
{
	atf_set descr '(c48) another Berkeley DB than it was built for'
}
database_body()
{
	shim_use
	daemon_start
	atf_check -o save:before "$CTL" log verify
	daemon_stop
	shim db 99
	daemon_conf
	not_started 'Berkeley DB [0-9]*\.99: built for [0-9]*\.[0-9]'
	find "$STATE/db" -name damaged | grep . && atf_fail "taken for damage"
	shim db -1
	daemon_start
	atf_check -o match:'^events' "$CTL" log verify
	daemon_stop
}
database_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case database
	atf_add_test_case libraries
	atf_add_test_case random
	atf_add_test_case time
}
