# Who may reach what: only the broker the Engine, only the store the database.
# Tried with the credentials that the running processes have.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

status_of()
{
	sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}

# as_child name cmd ...: with the user and the groups of that process.
as_child()
{
	p=$(daemon_child "$1") || atf_fail "no $1"
	u=$(status_of "$p" Uid | cut -f1)
	g=$(status_of "$p" Gid | cut -f1)
	gs=$(status_of "$p" Groups | tr -s ' ' , | sed 's/,$//')
	shift
	if [ -n "$gs" ]; then
		setpriv --reuid "$u" --regid "$g" --groups "$gs" \
		    --inh-caps=-all "$@"
	else
		setpriv --reuid "$u" --regid "$g" --clear-groups \
		    --inh-caps=-all "$@"
	fi
}

atf_test_case engine_socket cleanup
engine_socket_head()
{
	atf_set descr "only the broker can open the Engine's socket"
	atf_set timeout 300
}
engine_socket_body()
{
	world
	as_child broker docker -H "unix://$ENGINE" version >/dev/null ||
	    atf_fail "the broker cannot reach the Engine"
	for c in frontend store runner; do
		as_child $c docker -H "unix://$ENGINE" version >out 2>&1 &&
		    atf_fail "$c reaches the Engine"
		grep -q "permission denied" out || atf_fail "$c: $(cat out)"
	done
	daemon_stop
}
engine_socket_cleanup()
{
	daemon_cleanup
}

atf_test_case database cleanup
database_head()
{
	atf_set descr 'only the store can read or write the database'
	atf_set timeout 300
}
database_body()
{
	world
	box
	as_child store ls "$STATE/db" >out || atf_fail "the store cannot"
	[ -s out ] || atf_fail "the database is somewhere else"
	for c in frontend broker runner; do
		as_child $c ls "$STATE/db" >out 2>&1 && atf_fail "$c lists it"
		as_child $c touch "$STATE/db/x" 2>/dev/null &&
		    atf_fail "$c writes there"
	done
	# Nor the logs, the workspaces and the guests' sockets.
	for c in frontend store broker; do
		for d in runner/log runner/sock work; do
			as_child $c ls "$STATE/$d" >out 2>&1 &&
			    atf_fail "$c lists $d"
		done
	done
	as_child runner ls "$STATE/work" >out 2>&1 &&
	    atf_fail "the runner lists the workspaces"
	daemon_stop
}
database_cleanup()
{
	daemon_cleanup
}

atf_test_case processes cleanup
processes_head()
{
	atf_set descr '/proc shows users, no capabilities, no_new_privs, roots'
	atf_set timeout 300
}
processes_body()
{
	world
	for c in frontend:_sandboxd store:_sbxstore broker:_sbxbroker \
	    runner:_sbxrun; do
		p=$(daemon_child "${c%%:*}") || atf_fail "no ${c%%:*}"
		u=$(id -u "${c##*:}")
		[ "$(status_of "$p" Uid | tr '\t' ' ')" = "$u $u $u $u" ] ||
		    atf_fail "$c: uids $(status_of "$p" Uid)"
		for s in CapInh CapPrm CapEff CapBnd CapAmb; do
			[ "$(status_of "$p" $s)" = 0000000000000000 ] ||
			    atf_fail "$c: $s $(status_of "$p" $s)"
		done
		[ "$(status_of "$p" NoNewPrivs)" = 1 ] ||
		    atf_fail "$c: may gain privileges"
		[ "$(status_of "$p" Threads)" = 1 ] || atf_fail "$c: threads"
		case ${c%%:*} in
		frontend) r=$STATE/empty ;;
		store) r=$STATE/db ;;
		runner) r=$STATE/runner ;;
		broker) r=/ ;;
		esac
		[ "$(readlink "/proc/$p/root")" = "$r" ] ||
		    atf_fail "$c: root $(readlink "/proc/$p/root")"
		# Not dumpable: its files in /proc are root's.
		[ "$(stat -c %u "/proc/$p/maps")" = 0 ] ||
		    atf_fail "$c can be looked into by its own user"
	done
	atf_check -o save:status "$CTL" status
	for u in root _sandboxd _sbxstore _sbxbroker _sbxrun; do
		grep -q "$u" status || atf_fail "no $u in $(cat status)"
	done
	daemon_stop
}
processes_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case engine_socket
	atf_add_test_case database
	atf_add_test_case processes
}
