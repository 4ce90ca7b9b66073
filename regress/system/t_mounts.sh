# Directories of the host in a sandbox: what may be mounted and by whom, what a
# sandbox can do there, what it leaves, and what comes of it over the life of
# the sandbox.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# place: M is a directory that is neither the daemon's nor the Engine's.
place()
{
	M=$(mktemp -d /tmp/sbm.XXXXXX) || atf_fail "no scratch folder"
	echo "$M" >>.places
	chmod 755 "$M"
	new_uid
	mkdir "$M/ro" "$M/rw" "$M/no"
	echo read >"$M/ro/file"
	echo secret >"$M/ro/private"
	chmod 600 "$M/ro/private"
	chown -R $NEW_UID:$NEW_UID "$M/ro" "$M/rw" "$M/no"
}

# mounts [text]: a world with a policy for M; text is more of it.
mounts()
{
	place
	world "allow create exec files events stop delete any on own
	policy {
		image allow \"*\"
		mount allow \"$M\"
		mount allow \"$M/rw\" rw
		mount deny \"$M/no\"
		${1:-}
	}"
	mine
}

mounts_cleanup()
{
	daemon_cleanup
	[ ! -f .swapper ] || kill "$(cat .swapper)" 2>/dev/null || :
	[ ! -f .places ] || while read -r m; do
		rm -rf "$m"
	done <.places
}

# MINE is sandboxctl as the user whose M is; INBOX runs a line in his BOX.
mine()
{
	MINE=$D/mine
	INBOX=$D/inbox
	g=$(getent group sandbox | cut -d: -f3)
	cat >"$MINE" <<-EOT
		#!/bin/sh
		exec setpriv --reuid $NEW_UID --regid $NEW_UID --groups $g \
		    "$CTL" "\$@"
	EOT
	cat >"$INBOX" <<-EOT
		#!/bin/sh
		exec "$MINE" exec "\$(cat "$PWD/box.id")" sh -c "\$1"
	EOT
	chmod 755 "$MINE" "$INBOX"
}

# made option ...: a sandbox of that user's; BOX.
made()
{
	"$MINE" create "$@" >box.id 2>err || atf_fail "create $*: $(cat err)"
	BOX=$(cat box.id)
}

# No mount is left on the host of any sandbox's.
none_mounted()
{
	! grep -q " $STATE/mounts/" /proc/self/mountinfo
}

atf_test_case life cleanup
life_head()
{
	atf_set descr 'read-only and writable, over stop, restart and delete'
	atf_set timeout 300
}
life_body()
{
	mounts
	made -v "$M/ro:/mnt/ro" -v "$M/rw:/mnt/rw:rw" -v "$M/ro/file:/etc/one"
	await none_mounted
	"$MINE" show "$BOX" >shown
	atf_check -o inline:"mounts       /mnt/ro reads $M/ro
             /etc/one reads $M/ro/file
             /mnt/rw writes $M/rw
" sed -n '/^mounts/,/writes/{p;/writes/q}' shown
	atf_check -o match:'"mounts":\{"/mnt/ro":"'"$M"'/ro"' \
	    -o match:'"mounts_rw":\{"/mnt/rw":"'"$M"'/rw"\}' \
	    "$MINE" -j show "$BOX"
	# With its user's rights, and not more than the mount has.
	atf_check -o inline:'read\n' "$INBOX" 'cat /mnt/ro/file'
	atf_check -o inline:'secret\n' "$INBOX" 'cat /mnt/ro/private'
	atf_check -o inline:'read\n' "$INBOX" 'cat /etc/one'
	for c in 'echo x >/mnt/ro/file' 'touch /mnt/ro/new' 'rm /mnt/ro/file' \
	    'echo x >/etc/one' 'chmod 777 /mnt/ro'; do
		atf_check -s exit:1 -o ignore -e match:'[Rr]ead-only' \
		    "$INBOX" "$c"
	done
	atf_check "$INBOX" 'mkdir /mnt/rw/d && echo made >/mnt/rw/d/file'
	atf_check -o inline:"made\n" cat "$M/rw/d/file"
	atf_check -o inline:"$NEW_UID $NEW_UID\n" stat -c '%u %g' \
	    "$M/rw/d/file"
	# The tools and the file calls have the same place.
	atf_check -o inline:'made\n' "$MINE" cat "$BOX" \
	    /mnt/rw/d/file
	atf_check -s exit:73 -e match:read_only \
	    "$MINE" put "$BOX" /etc/hostname /mnt/ro/put
	# What others change is seen, both ways.
	echo outside >"$M/ro/later"
	atf_check -o inline:'outside\n' "$INBOX" 'cat /mnt/ro/later'
	# By a session, which has the protocol's own words.
	echo '{"id": 1, "create": {"id": "s", "wait": 1, "mounts": {"/mnt/x":' \
	    "\"$M/ro\"}, \"mounts_rw\": {\"/mnt/y\": \"$M/rw\"}}}" |
	    "$MINE" session >said || atf_fail "session: $(cat said)"
	grep -q '"mounts":{"/mnt/x":"' said || atf_fail "$(cat said)"
	atf_check -o inline:'read\n' "$MINE" exec s cat /mnt/x/file
	atf_check "$MINE" delete s
	# What an agent is told of it.
	atf_check -o match:'"mounts":\{"/mnt/ro":"ro","/etc/one":"ro","/mnt/rw":"rw"\}' \
	    "$MINE" tool describe "$BOX"
	# And who reads the log.
	atf_check -o match:" mount./mnt/ro=$M/ro" -o match:" mount_rw./mnt/rw=$M/rw" \
	    "$MINE" events -t sandbox.create "$BOX"
	# Anew at each start.
	atf_check "$MINE" stop "$BOX"
	echo stopped >"$M/ro/file"
	atf_check "$MINE" resume "$BOX"
	await none_mounted
	atf_check -o inline:'stopped\n' "$INBOX" 'cat /mnt/ro/file'
	daemon_kill
	daemon_run
	daemon_up
	atf_check "$MINE" restart "$BOX"
	atf_check "$INBOX" 'echo again >/mnt/rw/again'
	atf_check -o inline:'again\n' cat "$M/rw/again"
	atf_check "$MINE" delete "$BOX"
	nothing_left
	await none_mounted
	atf_check -o inline:'made\n' cat "$M/rw/d/file"
	daemon_stop
}
life_cleanup()
{
	mounts_cleanup
}

# no code text option ...: refused at once, and nothing is left of it.
no()
{
	code=$1 text=$2
	shift 2
	"$MINE" create "$@" >out 2>err && atf_fail "made: $*"
	grep -q "$text.*($code)" err || atf_fail "$*: $(cat err)"
}

atf_test_case refused cleanup
refused_head()
{
	atf_set descr 'what is not allowed, not there or no directory: at once'
	atf_set timeout 300
}
refused_body()
{
	mounts 'mount allow "/" rw'
	cd "$M/rw" || atf_fail "no $M"
	mkdir -p d closed deep/1/2/3 deeper/1/2
	echo x >mine
	echo x >others
	ln -s d link
	mkfifo fifo
	for f in deep/1/2/3/s deeper/1/2/s sock; do
		/usr/bin/python3 -I -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' $f
	done
	chmod 600 others
	chmod 700 closed
	chown -R $NEW_UID:$NEW_UID d deep deeper mine
	cd - >/dev/null || atf_fail "no way back"
	no policy_denied "$M/no may not be mounted here" -v "$M/no:/mnt/x"
	no policy_denied "$M/no/in may not be" -v "$M/no/in:/mnt/x"
	no policy_denied "$M may not be mounted here: $M/no in it" -v "$M:/mnt/x"
	no policy_denied "$M/ro may be mounted read-only alone" \
	    -v "$M/ro:/mnt/x:rw"
	no invalid_argument "a path on the host is absolute" -v "/:/mnt/x"
	for p in /proc/self /run /run/user /var /sys/kernel /dev/shm /tmp /home \
	    /home/somebody /root "$STATE" "$STATE/work" "$D" "$SBX_SCRATCH"; do
		no policy_denied "$p is never mounted" -v "$p:/mnt/x"
	done
	no not_found "$M/ro/none: no such file" -v "$M/ro/none:/mnt/x"
	no invalid_argument "$M/rw/link: a symbolic link" -v "$M/rw/link:/mnt/x"
	no invalid_argument "$M/rw/link/..*: a symbolic link" \
	    -v "$M/rw/link/x:/mnt/x"
	no invalid_argument "$M/rw/fifo: neither a directory" \
	    -v "$M/rw/fifo:/mnt/x"
	no policy_denied "$M/rw/sock: it has sockets" -v "$M/rw/sock:/mnt/x"
	no policy_denied "$M/rw/deeper: it has sockets" \
	    -v "$M/rw/deeper:/mnt/x:rw"
	no permission_denied "$M/rw/others: permission" -v "$M/rw/others:/mnt/x"
	no permission_denied "$M/rw/closed: permission" -v "$M/rw/closed:/mnt/x"
	no permission_denied "/etc: permission" -v "/etc:/mnt/x:rw"
	# The first that is good does not help the second.
	no not_found "none: no such file" -v "$M/ro:/mnt/a" -v "$M/ro/none:/mnt/b"
	for t in /workspace /workspace/x /tmp /proc/x /sys /dev /.sandboxd/run; do
		no invalid_argument "invalid mounts: \"$t\"" -v "$M/ro:$t"
	done
	no invalid_argument 'two mounts in one place' -v "$M/ro:/mnt" \
	    -v "$M/rw/d:/mnt/in:rw"
	no unsupported 'not for root' -u root -v "$M/ro:/mnt/x"
	for a in "$M/ro" "$M/ro:x" ":/mnt" "~nobody/x:/mnt/x" "$M/ro:/" ; do
		"$MINE" create -v "$a" >out 2>err && atf_fail "made: $a"
		grep -q 'usage\|-v' err || atf_fail "$a: $(cat err)"
	done
	long=$(printf '%0250d' 0)
	no limit_exceeded 'mounts: paths of [0-9]* bytes: the limit is 1536' \
	    -v "/$long:/a/$long" -v "/$long:/b/$long" -v "/$long:/c/$long" \
	    -v "/$long:/d/$long"
	set --
	while [ $# -lt 18 ]; do
		set -- "$@" -v "$M/ro:/mnt/$#"
	done
	while [ $# -lt 34 ]; do
		set -- "$@" -v "$M/rw/d:/mnt/$#:rw"
	done
	no limit_exceeded 'mounts: 17: the limit is 16' "$@"
	atf_check -o empty "$MINE" -j list -a
	[ -z "$(ls "$STATE/mounts")" ] || atf_fail "something is left"
	[ -z "$(ls "$STATE/work")" ] || atf_fail "a workspace is left"
	"$CTL" events -t audit >audit || atf_fail "no audit"
	grep -q 'audit.refused.*what=create.*' audit || atf_fail "$(cat audit)"
	# And what is just not refused.
	made -v "$M/rw/deep:/mnt/deep" -v "$M/rw/mine:/mnt/mine:rw"
	atf_check "$INBOX" 'echo y >/mnt/mine'
	atf_check -o inline:'y\n' cat "$M/rw/mine"
	daemon_stop
}
refused_cleanup()
{
	mounts_cleanup
}

atf_test_case users cleanup
users_head()
{
	atf_set descr 'whose files are whose, inside and outside; root mounts none'
	atf_set timeout 300
}
users_body()
{
	mounts
	echo all >"$M/rw/all"
	echo root >"$M/rw/root"
	chmod 666 "$M/rw/all"
	chmod 600 "$M/rw/root"
	echo mine >"$M/rw/mine"
	chown $NEW_UID:$NEW_UID "$M/rw/mine"
	made -v "$M/rw:/mnt/rw:rw"
	in=$("$MINE" show "$BOX" | awk '$1 == "user" { print $2; exit }')
	atf_check -o inline:"$in $in\n" "$INBOX" 'stat -c "%u %g" /mnt/rw/mine'
	# Others' files are nobody's inside: to be read as all may, not more.
	atf_check -o inline:"65534 65534\n" "$INBOX" 'stat -c "%u %g" /mnt/rw/all'
	atf_check -o inline:'all\n' "$INBOX" 'cat /mnt/rw/all'
	for c in 'echo x >>/mnt/rw/all' 'cat /mnt/rw/root' \
	    'chown 0:0 /mnt/rw/mine' 'chmod 777 /mnt/rw/root'; do
		atf_check -s not-exit:0 -o ignore -e ignore "$INBOX" "$c"
	done
	atf_check -o inline:'all\n' cat "$M/rw/all"
	atf_check -o inline:"$NEW_UID\n" stat -c %u "$M/rw/mine"
	# His by user, and of another group of his.
	g=$(getent group sandbox | cut -d: -f3)
	echo shared >"$M/rw/shared"
	chown "$NEW_UID:$g" "$M/rw/shared"
	chmod 660 "$M/rw/shared"
	atf_check "$INBOX" 'echo x >>/mnt/rw/shared'
	atf_check -o inline:'shared\nx\n' cat "$M/rw/shared"
	atf_check -o inline:"$g\n" stat -c %g "$M/rw/shared"
	# Of that group alone: nobody inside is in it.
	echo group >"$M/rw/group"
	chown "0:$g" "$M/rw/group"
	chmod 660 "$M/rw/group"
	atf_check -s not-exit:0 -e match:denied "$INBOX" 'cat /mnt/rw/group'
	# A program with its bit set gives nobody inside more rights.
	atf_check "$INBOX" 'cp /bin/busybox /mnt/rw/id && chmod 4755 /mnt/rw/id'
	atf_check -o inline:"$in\n" "$INBOX" '/mnt/rw/id -u'
	atf_check -o inline:"$NEW_UID\n" stat -c %u "$M/rw/id"
	atf_check -s not-exit:0 -e ignore "$INBOX" 'mknod /mnt/rw/dev c 1 3'
	# In a name of the system's there is nothing to write to.
	atf_check -s not-exit:0 \
	    -e match:"$M/rw: users below 1000 mount read-only" \
	    "$CTL" create -v "$M/rw:/mnt/rw:rw"
	"$CTL" create -v "$M/ro:/mnt/ro" >root.id || atf_fail "not made"
	atf_check -o inline:'read\n' "$CTL" exec "$(cat root.id)" \
	    cat /mnt/ro/file
	atf_check -s exit:1 -e match:'ermission denied' "$CTL" exec \
	    "$(cat root.id)" cat /mnt/ro/private
	# Who may not make sandboxes does not get one by their mounts.
	new_uid
	mine
	no permission_denied "$M/rw: permission denied" -v "$M/rw:/mnt/rw:rw"
	daemon_stop
}
users_cleanup()
{
	mounts_cleanup
}

atf_test_case again cleanup
again_head()
{
	atf_set descr 'the rules and the host as they are at each start'
	atf_set timeout 300
}
again_body()
{
	mounts
	made -v "$M/ro:/mnt/ro" -v "$M/rw:/mnt/rw:rw"
	atf_check "$MINE" stop "$BOX"
	# The rules have changed.
	sed -i "s,mount allow \"$M/rw\" rw,," "$CONF"
	atf_check "$CTL" reload
	atf_check -s not-exit:0 -e match:"$M/rw may be mounted read-only alone" \
	    "$MINE" resume "$BOX"
	atf_check -o match:'^state +stopped' "$MINE" show "$BOX"
	await none_mounted
	sed -i "s,mount deny,mount allow \"$M/rw\" rw\\n&," "$CONF"
	atf_check "$CTL" reload
	atf_check "$MINE" resume "$BOX"
	atf_check "$MINE" stop "$BOX"
	# One is gone, or another thing; the first does not stay mounted.
	mv "$M/rw" "$M/away"
	atf_check -s not-exit:0 -e match:"$M/rw: no such file" \
	    "$MINE" resume "$BOX"
	ln -s away "$M/rw"
	atf_check -s not-exit:0 -e match:"$M/rw: a symbolic link" \
	    "$MINE" resume "$BOX"
	await none_mounted
	rm "$M/rw"
	mv "$M/away" "$M/rw"
	# His name, not that of who resumes it.
	chown root:root "$M/ro"
	chmod 700 "$M/ro"
	atf_check -s not-exit:0 -e match:"$M/ro: permission denied" \
	    "$CTL" resume "$NEW_UID/$BOX"
	chmod 755 "$M/ro"
	atf_check "$CTL" resume "$NEW_UID/$BOX"
	atf_check -o inline:'read\n' "$INBOX" 'cat /mnt/ro/file'
	# A socket that it has made itself does not keep it from that.
	/usr/bin/python3 -I -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$M/rw/own"
	atf_check "$MINE" restart "$BOX"
	# What was known of them is gone: it does not start without them.
	atf_check "$MINE" stop "$BOX"
	rm "$STATE"/mounts/*/record
	atf_check -s not-exit:0 -e match:'what was known of them was lost' \
	    "$MINE" resume "$BOX"
	atf_check "$MINE" delete "$BOX"
	nothing_left
	atf_check -o inline:'read\n' cat "$M/ro/file"
	daemon_stop
}
again_cleanup()
{
	mounts_cleanup
}

atf_test_case swapped cleanup
swapped_head()
{
	atf_set descr 'a path that changes while it is mounted leads nowhere else'
	atf_set timeout 300
}
swapped_body()
{
	mounts
	mkdir "$M/rw/swap" "$M/rw/swap/in"
	echo good >"$M/rw/swap/in/file"
	mkdir "$M/no/in"
	echo secret >"$M/no/in/file"
	chown -R $NEW_UID:$NEW_UID "$M/rw" "$M/no"
	/usr/bin/python3 -I - "$M/rw/swap" "$M/no" "$M/rw/aside" <<-'EOF' &
	import os, sys
	path, secret, aside = sys.argv[1:]
	os.symlink(secret, aside)
	while os.path.exists(secret):
	    os.rename(path, path + ".was")
	    os.rename(aside, path)
	    os.rename(path, aside)
	    os.rename(path + ".was", path)
	EOF
	swapper=$!
	echo $swapper >.swapper
	n=0 had=0
	while [ $n -lt 20 ]; do
		n=$((n + 1))
		"$MINE" create -v "$M/rw/swap/in:/mnt/in" >box.id 2>err || {
			grep -q 'symbolic link\|no such file' err ||
			    atf_fail "$(cat err)"
			continue
		}
		BOX=$(cat box.id)
		had=$((had + 1))
		atf_check -o inline:'good\n' "$INBOX" 'cat /mnt/in/file'
		atf_check "$MINE" delete "$BOX"
	done
	mv "$M/no" "$M/gone"
	wait $swapper
	rm .swapper
	echo "$had of 20 were made"
	nothing_left
	await none_mounted
	daemon_stop
}
swapped_cleanup()
{
	mounts_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case life
	atf_add_test_case refused
	atf_add_test_case users
	atf_add_test_case again
	atf_add_test_case swapped
}
