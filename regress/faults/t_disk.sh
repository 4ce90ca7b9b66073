# Disks that are full, out of inodes or read-only.  Each is a small file
# system of its own below the state directory.
#
#	full		what must come of it
#	--------------	------------------------------------------------------
#	db/		the ballast is released; new work is refused with
#			no_space, what ends something and reads are answered,
#			commands go on
#	the ballast	what ends meanwhile has its true end when there is
#			room again
#	db/ at start	it starts from the ballast; without one it starts, or
#			says that there is no space, and starts when there is
#	runner/log/	commands go on and end with their own code; the bytes
#			that were not kept are told
#	work/		commands get ENOSPC, nobody else is touched; a create
#			that needs an inode is refused with no_space; to delete
#			makes room
#	both of these	what a command has changed is told, also on a terminal
#	db/ read-only	no start, with the reason; all is there when it can be
#			written again

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# small folder options
small()
{
	daemon_use main
	mkdir -p -m 711 "$STATE"
	mkdir -p "$STATE/$1"
	mount -t tmpfs -o "mode=700,$2" none "$STATE/$1" ||
	    atf_fail "cannot mount"
}

fill()
{
	! dd if=/dev/zero of="$STATE/$1/filler.$2" bs=64k 2>dd.err ||
	    atf_fail "no end of $1"
	grep -q "No space left" dd.err || atf_fail "$(cat dd.err)"
}

# refused command ...: within some repetitions, since a page has room yet
refused()
{
	i=0
	while "$CTL" "$@" >/dev/null 2>err; do
		i=$((i + 1))
		[ $i -lt 300 ] || atf_fail "not refused: $*"
	done
	grep -q '(no_space)$' err || atf_fail "$*: $(cat err)"
}

atf_test_case db_full cleanup
db_full_head()
{
	atf_set descr '(c31) (aR5) no space for the database'
	atf_set timeout 600
}
db_full_body()
{
	small db size=64m
	world
	box
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'until [ -e go ]; do usleep 100000; done; echo done; exit 5'
	atf_check -o save:other "$CTL" exec -d "$BOX" sleep 100000
	await '[ "$("$CTL" ps "$BOX" | grep -c running)" -eq 2 ]'
	pids=$(cat "/proc/$(daemon_pid)/task/$(daemon_pid)/children")
	fill db 1
	refused exec -d "$BOX" true
	atf_check -s exit:73 -e match:"(no_space)" "$CTL" create -d
	await 'log_has "ballast released"'
	atf_check -o match:"^$BOX .*ready" "$CTL" list
	atf_check -o match:"running" "$CTL" ps "$BOX"
	atf_check -o match:"sandbox.ready" "$CTL" events
	atf_check -o match:"^events" "$CTL" log verify
	atf_check "$CTL" kill "$(cat other)"
	atf_check -s exit:143 timeout 120 "$CTL" wait "$(cat other)"

	fill db 2
	touch "$(find "$STATE/work" -mindepth 1 -maxdepth 1)/go"
	await '[ "$("$CTL" logs "$(cat exec)")" = done ]'
	rm "$STATE/db/filler.2"
	atf_check -s exit:5 timeout 120 "$CTL" wait "$(cat exec)"
	atf_check "$CTL" stop "$BOX"

	rm "$STATE/db/filler.1"
	atf_check -o ignore "$CTL" resume "$BOX"
	# The ballast comes first.
	await '"$CTL" exec "$BOX" true 2>/dev/null' 120
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	# Nobody has died of it.
	atf_check_equal "$pids" \
	    "$(cat "/proc/$(daemon_pid)/task/$(daemon_pid)/children")"
	atf_check -o match:"^events" "$CTL" log verify
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
	daemon_start
	atf_check -o match:"^events" "$CTL" log verify
	daemon_stop
}
db_full_cleanup()
{
	daemon_cleanup
}

atf_test_case db_full_start cleanup
db_full_start_head()
{
	atf_set descr '(c31) no space for the database when the daemon starts'
	atf_set timeout 600
}
db_full_start_body()
{
	small db size=64m
	daemon_start
	await daemon_engine_is_up
	atf_check -o ignore "$CTL" create -d -i one -I no-such-image
	await '"$CTL" list | grep -q "^one .*failed"'
	daemon_kill
	fill db 1
	daemon_start
	atf_check -o match:"^one .*failed" "$CTL" list
	daemon_kill
	rm -f "$STATE/db/ballast"
	fill db 2
	# What is left of a page of the log may be enough.
	log_cut
	daemon_run
	await _up_or_dead
	if _gone "$(daemon_pid)"; then
		log_has "event log: .*No space left" || atf_fail "no reason"
	else
		daemon_kill
	fi
	rm "$STATE/db/filler.1" "$STATE/db/filler.2"
	daemon_start
	atf_check -o match:"^one .*failed" "$CTL" list
	atf_check -o match:"^events" "$CTL" log verify
	daemon_stop
}
db_full_start_cleanup()
{
	daemon_cleanup
}

atf_test_case logs_full cleanup
logs_full_head()
{
	atf_set descr '(c31) (c32) no space for output'
	atf_set timeout 600
}
logs_full_body()
{
	small runner/log size=1m,nr_inodes=30
	world
	box
	s=0
	"$CTL" exec "$BOX" sh -c 'head -c 3000000 /dev/zero; exit 3' >out \
	    2>err || s=$?
	atf_check_equal 3 $s
	lost=$(awk '/^sandboxctl: stdout: bytes [0-9]* to [0-9]* were dropped/ {
	    n += $6 - $4; next } { exit 1 } END { print n + 0 }' err) ||
	    atf_fail "$(cat err)"
	atf_check_equal 3000000 $(($(stat -c %s out) + lost))
	await 'log_has "log of exec 1 .*No space left"'
	atf_check -s exit:4 -o ignore -e ignore "$CTL" exec "$BOX" \
	    sh -c 'echo next; exit 4'
	atf_check -o match:"\.1 .*exited  *3  *3000000" "$CTL" ps -a "$BOX"
	atf_check -o match:"^$BOX .*ready" "$CTL" list
	# Its logs stay with the history, and so does the other's lack.
	atf_check -o ignore "$CTL" delete "$BOX"
	rm -rf "$STATE"/runner/log/*
	i=0
	while [ $i -lt 40 ]; do
		touch "$STATE/runner/log/filler.$i" 2>/dev/null || break
		i=$((i + 1))
	done
	[ $i -lt 40 ] || atf_fail "inodes for ever"
	box
	atf_check -s exit:6 -o ignore -e ignore "$CTL" exec "$BOX" \
	    sh -c 'echo lost; exit 6'
	atf_check -o empty -e match:"bytes 0 to 5 were dropped" \
	    "$CTL" logs "$BOX.1"
	rm -rf "$STATE"/runner/log/*
	atf_check -o inline:"kept\n" "$CTL" exec "$BOX" echo kept
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
logs_full_cleanup()
{
	daemon_cleanup
}

atf_test_case work_full cleanup
work_full_head()
{
	atf_set descr '(c31) (c32) no space and no inodes for workspaces'
	atf_set timeout 600
}
work_full_body()
{
	small work size=1m,nr_inodes=40
	world
	box -i one
	box -i two
	atf_check -s exit:1 -e match:"No space left" "$CTL" exec one \
	    sh -c 'cat /dev/zero >file'
	atf_check -o inline:"1048576\n" "$CTL" exec one stat -c %s file
	atf_check -o inline:"hi\n" "$CTL" exec two echo hi
	atf_check -s exit:1 -e match:"No space left" "$CTL" exec one sh -c \
	    'i=0; rm file; while : >f$i || exit 1; do i=$((i + 1)); done'
	atf_check -s exit:73 -e match:"No space left.*(no_space)" \
	    "$CTL" create -i three
	atf_check -o match:"^three .*failed" "$CTL" list
	atf_check -o inline:"hi\n" "$CTL" exec two echo hi
	atf_check -o ignore "$CTL" delete one three
	atf_check -o ignore "$CTL" create -i four
	atf_check "$CTL" exec four touch file
	atf_check -o ignore "$CTL" delete two four
	nothing_left
	daemon_stop
}
work_full_cleanup()
{
	daemon_cleanup
}

# What was written with no room for it, on a terminal or not.
changes_told()
{
	atf_check_equal 9 $s
	[ "$(grep -c -e '^made file$' -e '^written text$' err)" -eq 2 ] ||
	    atf_fail "the changes: $(cat err)"
	! grep -v -e '^made file$' -e '^written text$' \
	    -e 'bytes [0-9]* to [0-9]* were dropped' err |
	    grep -q '[^[:space:]]' || atf_fail "more: $(cat err)"
	atf_check "$CTL" exec "$BOX" sh -c 'rm file; echo text >text'
}

# lost count least: so many bytes are here, or told to be not, which is at least
# so many of them
lost()
{
	n=$(sed -n 's/.*bytes \([0-9]*\) to \([0-9]*\) were dropped.*/\1 \2/p' \
	    err | awk '{ n += $2 - $1 } END { print n + 0 }')
	[ "$n" -ge "$2" ] || atf_fail "$n bytes were lost, of at least $2"
	atf_check_equal "$1" $(($(stat -c %s out) + n))
}

# Who was attached may have it all, but the log has what there was room for.
kept()
{
	"$CTL" logs "$BOX.$1" >out 2>err || atf_fail "no logs: $(cat err)"
	lost 3000000 1900000
}

atf_test_case changes_full cleanup
changes_full_head()
{
	atf_set descr 'no space for files and output: what a command changes
	    is told, and its own end'
	atf_set timeout 600
}
changes_full_body()
{
	small runner/log size=1m,nr_inodes=30
	small work size=1m,nr_inodes=40
	world
	box
	atf_check "$CTL" exec "$BOX" sh -c 'echo text >text'
	cat >fills <<-'EOF'
	echo more >>text
	cat /dev/zero 2>/dev/null >file && exit 1
	head -c 3000000 /dev/zero
	exit 9
	EOF
	s=0
	"$CTL" exec -c "$BOX" sh -c "$(cat fills)" </dev/null >out 2>err ||
	    s=$?
	lost 3000000 0
	changes_told
	kept 2
	# A terminal's output is one stream, and its log is as full.
	s=0
	seat exec -c -it "$BOX" sh -c "$(cat fills)" || s=$?
	lost 3000000 0
	changes_told
	kept 4
	await '! "$CTL" ps "$BOX" | grep -q running'
	atf_check_equal 2 "$("$CTL" events -t exec.changed "$BOX" |
	    grep -c 'made=1.*written=1')"
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}
changes_full_cleanup()
{
	daemon_cleanup
}

atf_test_case readonly cleanup
readonly_head()
{
	atf_set descr '(c34) the database is read-only when the daemon starts'
	atf_set timeout 600
}
readonly_body()
{
	small db size=64m
	daemon_start
	await daemon_engine_is_up
	atf_check -o ignore "$CTL" create -d -i one -I no-such-image
	await '"$CTL" list | grep -q "^one .*failed"'
	daemon_kill
	mount -o remount,ro "$STATE/db" || atf_fail "cannot remount"
	s=0
	timeout 60 "$BIN/sandboxd" -d -f "$CONF" </dev/null >out 2>&1 || s=$?
	cat out
	atf_check_equal 1 $s
	atf_check -o match:"event log: .*Read-only file system" cat out
	mount -o remount,rw "$STATE/db" || atf_fail "cannot remount"
	daemon_start
	atf_check -o match:"^one .*failed" "$CTL" list
	atf_check -o match:"^events" "$CTL" log verify
	daemon_stop
}
readonly_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case db_full
	atf_add_test_case db_full_start
	atf_add_test_case logs_full
	atf_add_test_case work_full
	atf_add_test_case changes_full
	atf_add_test_case readonly
}
