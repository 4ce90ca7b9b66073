# A client attaches files of a file system that is its own and lets nobody else
# close them: no process of ours ever has one.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

BIN=$SBX_FAULTBIN

# One client more that has attached all it can; false if there is no FUSE.
attach()
{
	local p

	# What another has said before is no word of this one.
	: >fuse.out
	: >fuse.err
	as_user "$NEW_UID" "$(atf_get_srcdir)/h_fuse" "$SOCK" "$D/fuse" \
	    >fuse.out 2>fuse.err </dev/null &
	p=$!
	echo "$p" >>.fuse
	await "[ -s fuse.out ] || _gone $p" 120
	[ ! -s fuse.out ] || return 0
	grep -q "no FUSE" fuse.err || {
		_show_log
		atf_fail "the client ended: $(cat fuse.err)"
	}
	untried "$(cat fuse.err)"
	return 1
}

detach()
{
	for p in $(cat .fuse 2>/dev/null); do
		kill -KILL "$p" 2>/dev/null
	done
	rm -f .fuse
	return 0
}

# The others are served, and nothing of it came to us.
served()
{
	atf_check -o ignore "$CTL" ping
	atf_check -o inline:"$1\n" timeout 60 "$CTL" exec "$BOX" echo "$1"
	! grep -q '^closed by' fuse.err || atf_fail "$(cat fuse.err)"
}

replaced()
{
	local p

	p=$(daemon_child frontend) && [ "$p" != "$1" ] &&
	    "$CTL" ping >ping 2>&1
}

# fuse what: the whole walk, with clients whose files are attached, or refused
fuse()
{
	new_uid
	world "restart 1000 per 1s"
	box
	# The system's own may be for root alone.
	mknod -m 666 "$D/fuse" c 10 229 || atf_fail "no node"
	if attach; then
		atf_check -o "match:^$1\$" cat fuse.out
		served beside
		p=$(daemon_child frontend) || atf_fail "no frontend"
		kill -KILL "$p"
		await 'replaced "$p"'
		served after
		attach || atf_fail "not again"
		daemon_kill
		daemon_start
		served again
		attach || atf_fail "not again"
		served beside
		daemon_stop
		detach
		daemon_start
	fi
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}

atf_test_case passed cleanup
passed_head()
{
	atf_set descr "(b4) files whose close(2) never returns hold up neither" \
	    "frontend nor parent, nor the end of any, on a kernel that" \
	    "passes them on"
	atf_set timeout 600
}
passed_body()
{
	SANDBOXD_LACK=${SANDBOXD_LACK:+$SANDBOXD_LACK,}passrights
	export SANDBOXD_LACK
	fuse attached
}
passed_cleanup()
{
	detach
	daemon_cleanup
}

atf_test_case refused cleanup
refused_head()
{
	atf_set descr "(b4) the same on this kernel, which may refuse them"
	atf_set timeout 600
}
refused_body()
{
	fuse "(attached|refused)"
}
refused_cleanup()
{
	detach
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case passed
	atf_add_test_case refused
}
