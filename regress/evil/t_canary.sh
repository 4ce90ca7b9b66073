# The canaries tell: each kind of attack that works is seen.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/canary.subr"

# seen what command ...: the canaries see it
seen()
{
	what=$1
	shift
	canaries_check "before $what"
	"$@" || atf_fail "$what: cannot"
	if (canaries_check "$what") >out 2>&1; then
		atf_fail "$what: not seen"
	fi
	_canary_keep
}

connects()
{
	/usr/bin/python3 -I -c 'import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1])))' "$CANARY_PORT"
	await '[ -s "$CANARY/connections" ]'
}

writes()
{
	echo "$1" >>"$1"
}

# Where times of access are not kept, nobody can see who reads.
atimes()
{
	echo x >"$D/atime"
	touch -a -d '2 days ago' "$D/atime"
	cat "$D/atime" >/dev/null
	[ "$(stat -c %X "$D/atime")" -ge "$(($(date +%s) - 86400))" ]
}

atf_test_case tell cleanup
tell_head()
{
	atf_set descr 'who reads, writes, connects, kills or removes is seen'
	atf_set timeout 900
}
tell_body()
{
	world
	canaries_make
	canaries_check nothing
	canaries_served nothing
	canaries_check served
	if atimes; then
		seen read cat "$STATE/work/$CANARY_N/secret" >/dev/null
	fi
	seen write writes "$CANARY/user"
	seen company touch "$CANARY/other"
	seen connect connects
	seen kill kill -KILL "$CANARY_PID"
	seen stop engine_docker kill "$BYSTANDER" >/dev/null
	seen container engine_docker kill "$CANARY_ID" >/dev/null
	as_user "$CANARY_UID" "$CTL" delete canary >out 2>&1 ||
	    atf_fail "$(cat out)"
	engine_docker rm -f "$BYSTANDER" >/dev/null
	nothing_left
	daemon_stop
}
tell_cleanup()
{
	daemon_cleanup
}

atf_test_case quiet cleanup
quiet_head()
{
	atf_set descr 'a daemon that dies, returns and cleans up disturbs none'
	atf_set timeout 900
}
quiet_body()
{
	world
	canaries_make
	daemon_kill
	canaries_check killed
	daemon_start
	await daemon_engine_is_up
	await 'as_user "$CANARY_UID" "$CTL" exec canary true </dev/null'
	canaries_check "started again"
	canaries_served "started again"
	canaries_remove
	nothing_left
	daemon_stop
}
quiet_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case tell
	atf_add_test_case quiet
}
