# What a daemon finds at its start: a state directory, a lock and a socket that
# are not what it has made.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/table.subr"

# no_start regexp: a start that must fail, with such a line
no_start()
{
	atf_check -s exit:1 -e match:"$1" timeout 60 \
	    "$SBX_BIN/sandboxd" -d -f "$CONF" </dev/null
	[ ! -S "$SOCK" ] || atf_fail "a start that failed left its socket"
}

atf_test_case kinds cleanup
kinds_head()
{
	atf_set descr '(b67) (b87) a state directory that is a file, a link, or another one'
	atf_set timeout 300
}
kinds_body()
{
	daemon_conf
	echo hello >"$STATE"
	no_start "state $STATE: Not a directory"
	atf_check -o inline:"hello\n" cat "$STATE"
	rm "$STATE"
	mkfifo "$STATE"
	no_start "state $STATE: Not a directory"
	rm "$STATE"
	ln -s "$STATE" "$STATE"
	no_start "state $STATE: Too many levels"
	rm "$STATE"
	ln -s "$D/nosuch" "$STATE"
	no_start "state $STATE: No such file"
	rm "$STATE"
	mkdir "$STATE"
	chown 54321 "$STATE"
	no_start "state $STATE: owned by uid 54321, not by root"
	atf_check -o inline:"54321\n" stat -c %u "$STATE"
	rmdir "$STATE"
	atf_check -o empty find "$D" -name db
}
kinds_cleanup()
{
	daemon_cleanup
}

atf_test_case modes cleanup
modes_head()
{
	atf_set descr '(b87) directories that others can write, and planted files'
	atf_set timeout 300
}
modes_body()
{
	daemon_start
	daemon_stop
	# Modes and owners are made what they were at each start.
	chmod 777 "$STATE" "$STATE/db" "$STATE/work" "$STATE/runner"
	chown 54321 "$STATE/db"
	daemon_start
	atf_check -o inline:"711 0\n" stat -c "%a %u" "$STATE"
	atf_check -o match:"^700 _sbxstore" stat -c "%a %U" "$STATE/db"
	atf_check -o inline:"700 0\n" stat -c "%a %u" "$STATE/work"
	atf_check -o inline:"750 0\n" stat -c "%a %u" "$STATE/runner"
	daemon_stop
	for f in db work mnt guest; do
		mv "$STATE/$f" "$STATE/$f.was"
		ln -s "$D" "$STATE/$f"
		no_start "$STATE.*: Not a directory"
		rm "$STATE/$f"
		mv "$STATE/$f.was" "$STATE/$f"
	done
	cp "$STATE/instance" instance
	echo rubbish >"$STATE/instance"
	no_start "instance: damaged"
	cp instance "$STATE/instance"
	# Settings that the database would follow: nothing is opened by them.
	: >"$STATE/db/DB_CONFIG"
	daemon_run
	await 'log_has "store: fatal: event log: DB_CONFIG: not allowed here"'
	# It goes by itself if that was before it began to work.
	kill -TERM "$(daemon_pid)" 2>/dev/null || :
	await '_gone "$(daemon_pid)"'
	rm "$STATE/db/DB_CONFIG"
	daemon_start
	daemon_stop
}
modes_cleanup()
{
	daemon_cleanup
}

atf_test_case lock cleanup
lock_head()
{
	atf_set descr "(b88) a lock that names others' processes is no lock"
	atf_set timeout 300
}
lock_body()
{
	daemon_conf
	mkdir -m 711 "$STATE"
	# Our own number: nobody is asked, and nobody signalled.
	sleep 1000 &
	other=$!
	echo $other >other
	echo $other >"$STATE/lock"
	daemon_start
	kill -0 $other || atf_fail "a process that is not ours was ended"
	atf_check_equal "$(daemon_pid)" "$(cat "$STATE/lock")"
	daemon_stop
	kill -0 $other || atf_fail "a process that is not ours was ended"
	kill -KILL $other
	for text in '' -1 x 99999999999999999999; do
		echo "$text" >"$STATE/lock"
		daemon_start
		daemon_stop
	done
	# A link must not lead to another file.
	echo precious >precious
	rm "$STATE/lock"
	ln -s "$PWD/precious" "$STATE/lock"
	no_start "lock: Too many levels"
	atf_check -o inline:"precious\n" cat precious
}
lock_cleanup()
{
	[ ! -f other ] || kill -KILL "$(cat other)" 2>/dev/null
	daemon_cleanup
}

atf_test_case sockets cleanup
sockets_head()
{
	atf_set descr 'a socket whose place is taken, or is none'
	atf_set timeout 300
}
sockets_body()
{
	daemon_conf
	echo precious >"$SOCK"
	no_start "socket $SOCK: File exists"
	atf_check -o inline:"precious\n" cat "$SOCK"
	rm "$SOCK"
	mkdir "$SOCK"
	no_start "socket $SOCK: "
	rmdir "$SOCK"
	ln -s "$D/nosuch" "$SOCK"
	no_start "socket $SOCK: "
	rm "$SOCK"
	sed -i "s,^socket .*,socket \"$D/no/such/s\"," "$CONF"
	no_start "socket $D/no"
	sed -i "s,^socket .*,socket \"$D/$(repeat 108)\"," "$CONF"
	no_start "invalid socket: .*: too long"
}
sockets_cleanup()
{
	daemon_cleanup
}

atf_test_case signals cleanup
signals_head()
{
	atf_set descr '(b89) signals that mean nothing end no process'
	atf_set timeout 300
}
signals_body()
{
	daemon_start
	"$CTL" -j status | grep -o '"pid":[0-9]*' | cut -d: -f2 >pids
	[ "$(wc -l <pids)" -ge 5 ] || atf_fail "processes are missing"
	# Builds for tests take one of them for a word.
	usr2=USR2
	! cmp -s "$SBX_BIN/sandboxd" "$SBX_FAULTBIN/sandboxd" || usr2=
	for sig in USR1 $usr2 PIPE WINCH URG CONT; do
		for p in $(cat pids); do
			kill -$sig "$p" || atf_fail "$p is gone: $sig"
		done
	done
	atf_check -o ignore "$CTL" ping
	"$CTL" -j status | grep -o '"pid":[0-9]*' | cut -d: -f2 >after
	atf_check cmp pids after
	daemon_stop
}
signals_cleanup()
{
	daemon_cleanup
}

atf_test_case place cleanup
place_head()
{
	atf_set descr '(b87) a state directory in a place of others, or in memory'
	atf_set timeout 300
}
place_body()
{
	daemon_conf
	mkdir -m 777 "$D/open"
	mkdir "$D/open/in"
	mount -t tmpfs -o size=64m none "$D/open/in" || atf_fail "no tmpfs"
	sed -i "s,^state .*,state \"$D/open/in/state\"," "$CONF"
	STATE=$D/open/in/state
	daemon_run
	daemon_up
	log_has "state $STATE: on a tmpfs: a reboot loses" ||
	    atf_fail "the file system is not told"
	log_has "state $STATE: others can write to $D/open and" ||
	    atf_fail "the directory is not told"
	! log_has "can write to $D/open/in " || atf_fail "another is told"
	daemon_stop
	umount "$D/open/in"
}
place_cleanup()
{
	daemon_cleanup
}

atf_test_case guest cleanup
guest_head()
{
	atf_set descr 'a guest program that is none, or that others can write'
	atf_set timeout 300
}
guest_body()
{
	daemon_conf
	sed -i "s,^guest .*,guest \"$D/g\"," "$CONF"
	no_start "guest $D/g: No such file"
	mkdir "$D/g"
	no_start "guest $D/g: not a regular file"
	rmdir "$D/g"
	mkfifo "$D/g"
	no_start "guest $D/g: not a regular file"
	rm "$D/g"
	: >"$D/g"
	no_start "guest $D/g: not a program"
	echo '#!/bin/sh' >"$D/g"
	no_start "guest $D/g: not a program"
	truncate -s 16777217 "$D/g"
	no_start "guest $D/g: too large: the limit is 16777216"
	install -m 757 "$SBX_BIN/sandbox-guest" "$D/g"
	no_start "guest $D/g: mode 0757: writable by others"
	chmod 755 "$D/g"
	daemon_run
	daemon_up
	daemon_stop
}
guest_cleanup()
{
	daemon_cleanup
}

atf_test_case bare cleanup
bare_head()
{
	atf_set descr "(c56) on a host that is not set up yet it says what is missing"
}
bare_body()
{
	daemon_use main
	daemon_conf
	mkdir -p -m 711 "$STATE"
	atf_check -s exit:1 -e match:'/proc: not mounted' timeout 60 \
	    unshare -m --propagation private sh -c \
	    "umount -l /proc && exec '$BIN/sandboxd' -d -f '$CONF'"
	atf_check -o empty ls "$STATE"
	daemon_start
	daemon_stop
}
bare_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case bare
	atf_add_test_case guest
	atf_add_test_case place
	atf_add_test_case signals
	atf_add_test_case kinds
	atf_add_test_case modes
	atf_add_test_case lock
	atf_add_test_case sockets
}
