# A guest that means harm, in the place of the real one.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/canary.subr"

evil()
{
	as_user "$EVIL" "$CTL" "$@" </dev/null
}

# What is known of the commands of the canary.
records()
{
	as_user "$CANARY_UID" "$CTL" -j ps -a canary >"$1" ||
	    atf_fail "no list of the canary's commands"
}

# lies how: whatever it says, it is a matter of its sandbox alone
lies()
{
	evil create -i "$1" -m 64M -p 64 -c 0.5 -e "EVIL=$1" >out 2>&1 ||
	    atf_fail "$1: $(cat out)"
	# Whoever does not end it has that long, and some more.
	t=
	case $1 in
	silent|stuck) t="-t 1" ;;
	esac
	x=$(evil exec -d $t "$1" true) || atf_fail "$1: no command"
	# Who waits for it hears the end of it, if it has one.
	[ "$1" = flood ] || has_end "$1"
	evil logs "$x" >out 2>&1
	[ "$(wc -c <out)" -le 2200000 ] || atf_fail "$1: $(wc -c <out) bytes"
	evil show "$1" >out 2>&1 || atf_fail "$1: $(cat out)"
	grep -q "$(printf '\033')" out && atf_fail "$1: for the terminal"
	records now
	cmp -s records now || {
		diff records now >&2
		atf_fail "$1: the records of another sandbox"
	}
	canaries_check "$1"
	timeout 60 "$CTL" ping || atf_fail "$1: no ping"
	! log_has ' died: ' || atf_fail "$1: $(grep ' died: ' "$LOG")"
	evil delete "$1" >out 2>&1 || atf_fail "$1: $(cat out)"
	has_end "$1"
}

has_end()
{
	# A command that has timed out is told with timeout's own status.
	rm -f ended
	timeout 120 sh -c '"$0" wait "$1"; : >ended' "$CTL" "$EVIL/$x" \
	    >out 2>&1
	[ -e ended ] || atf_fail "$1: the command has no end"
}

# A daemon whose new sandboxes have the guest that lies; the canary keeps the
# one that it has.
evil_guests()
{
	musl-gcc -static -D_GNU_SOURCE -I "$SBX_TOP/lib" \
	    -I "$SBX_TOP/regress/lib" -o guest \
	    "$SBX_TOP/regress/evil/h_guest.c" \
	    "$SBX_TOP/regress/evil/guest_lies.c" "$SBX_TOP/lib/gproto.c" \
	    "$SBX_TOP/lib/gproto_call.c" "$SBX_TOP/lib/gproto_msg.c" ||
	    atf_fail "no program"
	install -m 755 guest "$SBX_SCRATCH/guest.$$"
	new_uid
	EVIL=$NEW_UID
	world
	canaries_make
	daemon_stop
	daemon_conf "limits { log 1M per exec }
		timeouts { stop 1s }"
	sed "s,^guest .*,guest \"$SBX_SCRATCH/guest.$$\"," "$CONF" >conf
	cp conf "$CONF"
	daemon_start
	await daemon_engine_is_up
	await 'as_user "$CANARY_UID" "$CTL" exec canary true </dev/null'
	records records
}

evil_guests_end()
{
	canaries_served "in the end"
	canaries_check "in the end"
	canaries_remove
	nothing_left
	daemon_stop
	rm -f "$SBX_SCRATCH/guest.$$"
}

atf_test_case guest cleanup
guest_head()
{
	atf_set descr '(aH5) what a guest says is about its own sandbox'
	atf_set timeout 900
}
guest_body()
{
	evil_guests
	# Each lie is told to the runner alone in a test of its own.
	for l in $(figure "forged flood descriptors hello silent" \
	    "forged twice length half junk flood descriptors end hello \
	    silent stuck"); do
		lies $l
	done
	# Every frame of the protocol, a frame of ours, and one that is none.
	for l in $(figure "11-1 13-3 14-1" "$(seq 14) 64 200"); do
		case $l in
		*-*) lies "frame-$l" ;;
		*) for f in 0 1 2 3; do lies "frame-$l-$f"; done ;;
		esac
	done
	# One whose limits are not what was asked for is not let work.
	for l in memory cpus pids swap; do
		s=0
		evil create -m 64M -p 64 -c 0.5 -e "EVIL=$l" >out 2>&1 || s=$?
		[ $s -eq 77 ] && grep -q "limit not enforceable: $l: asked \
for [a-z0-9]*, the guest reads [0-9]* (policy_denied)" out ||
		    atf_fail "$l: $s: $(cat out)"
	done
	# One that does not come at all need not be waited for.
	evil create -d -i mute -e EVIL=mute >out 2>&1 || atf_fail "$(cat out)"
	evil delete mute >out 2>&1 || atf_fail "$(cat out)"
	evil_guests_end
}
guest_cleanup()
{
	daemon_cleanup
}

# One that has begun a command and answers: its limit is kept all the same, by
# a daemon that was started after that, and by a runner that was.
atf_test_case stuck cleanup
stuck_head()
{
	atf_set descr '(aH5) (c29) a limit is kept over a restart without the guest'
	atf_set timeout 900
}
stuck_body()
{
	evil_guests
	for l in daemon runner; do
		evil create -i $l -m 64M -p 64 -c 0.5 -e EVIL=stuck >out 2>&1 ||
		    atf_fail "$l: $(cat out)"
		evil exec -d -t 20 $l true >exec.$l || atf_fail "$l: no command"
		await "evil ps $l | grep -q running"
	done
	kill -9 "$(daemon_child runner)"
	await 'evil show runner >out 2>&1'
	daemon_kill
	daemon_start
	await daemon_engine_is_up
	for l in daemon runner; do
		x=$(cat exec.$l)
		has_end $l
		evil events $l >events || atf_fail "$l: no events"
		grep -q ' exec.ended .*end=timed_out .*timeout: ' events ||
		    atf_fail "$l: $(cat events)"
		evil delete $l >out 2>&1 || atf_fail "$l: $(cat out)"
	done
	evil_guests_end
}
stuck_cleanup()
{
	daemon_cleanup
}

# exec_lies how option ...: of a command on a terminal, or whose changes are
# asked for; whoever has started it, here on a terminal, has its end
exec_lies()
{
	h=$1
	shift
	evil create -i "$h" -m 64M -p 64 -c 0.5 -e "EVIL=$h" >out 2>&1 ||
	    atf_fail "$h: $(cat out)"
	s=0
	SEAT_AS="as_user $EVIL timeout 120"
	seat exec "$@" "$h" true || s=$?
	[ $s -le 128 ] && [ $s -ne 124 ] || atf_fail "$h: $s: $(cat err)"
	! grep -q "$(printf '\033')" err || atf_fail "$h: for the terminal"
	! grep -q '^sandboxctl: all is well' err ||
	    atf_fail "$h: a line of its own"
	canaries_check "$h"
	timeout 60 "$CTL" ping || atf_fail "$h: no ping"
	! log_has ' died: ' || atf_fail "$h: $(grep ' died: ' "$LOG")"
}

# It is cut off, and what it said too late is the only true end.
exec_broken()
{
	exec_lies "$@"
	case $h in
	*-late)	;;
	*)	[ $s -ne 0 ] || atf_fail "$h: it believes the guest"
		[ -s err ] || atf_fail "$h: nothing was told"
		;;
	esac
	await 'evil show $h | grep -q failed' 60
	evil delete "$h" >out 2>&1 || atf_fail "$h: $(cat out)"
}

# It may say so, and that is shown as text.
exec_said()
{
	exec_lies "$@"
	atf_check_equal "$h 0" "$h $s"
	evil show "$h" | grep -q ready || atf_fail "$h: $(evil show "$h")"
	evil delete "$h" >out 2>&1 || atf_fail "$h: $(cat out)"
}

highest()
{
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' \
	    "/proc/$(daemon_child runner)/status"
}

atf_test_case execs cleanup
execs_head()
{
	atf_set descr 'lies about terminals and changes are for who asked'
	atf_set timeout 900
}
execs_body()
{
	evil_guests
	for l in $(figure "end late" \
	    "resize end twice unknown stderr late keys"); do
		exec_broken "tty-$l" -it
	done
	for l in $(figure "fewer nul" "none fewer more count endless kind flags \
	    nul names long late unknown"); do
		exec_broken "changes-$l" -c
	done
	# Nobody has asked for these.
	exec_broken changes-unasked -it
	exec_said changes-text -c
	[ "$(grep -c '^made ' err)" -eq 4 ] || atf_fail "text: $(cat err)"
	if [ "$(figure 1 0)" = 0 ]; then
		exec_said changes-failed -c -it
		grep -q 'not known: ?\[2Jno' err ||
		    atf_fail "failed: $(cat err)"
	fi
	had=$(highest)
	exec_said changes-flood -c
	atf_check_equal "made last" "$(cat err)"
	used=$(highest)
	[ "$used" -lt $((had + 8000)) ] ||
	    atf_fail "the runner has $used KiB, and had $had"
	evil_guests_end
}
execs_cleanup()
{
	daemon_cleanup
}

# With so much memory, where the address space is not the sanitizer's.
BOUND="prlimit --as=268435456"
! ldd "$SBX_BIN/sandboxctl" | grep -q libasan || BOUND=env

# told how what ...: who asked is told an error, soon, and on one line
told()
{
	h=$1
	shift
	s=0
	# shellcheck disable=SC2086
	as_user "$EVIL" timeout 120 $BOUND "$CTL" "$@" \
	    >out 2>err <in || s=$?
	[ $s -ne 0 ] || atf_fail "$h: $1: it believes the guest"
	[ $s -ne 124 ] || atf_fail "$h: $1: no end"
	[ $s -le 128 ] || atf_fail "$h: $1: ended with $s: $(head -n 1 err)"
	[ -s err ] || atf_fail "$h: $1: nothing was told"
	! grep -q "$SOCK" err || atf_fail "$h: $1: $(cat err)"
	! grep -q "$(printf '\033')" err ||
	    atf_fail "$h: $1: for the terminal"
	! grep -q '^sandboxctl: all is well' err ||
	    atf_fail "$h: $1: a line of its own"
}

# call_lies how command ...: by what it says its sandbox has failed, and who
# asks for more is told so; $state: it goes on
call_lies()
{
	h=call-$1
	shift
	evil create -i "$h" -m 64M -p 64 -c 0.5 -e "EVIL=$h" >out 2>&1 ||
	    atf_fail "$h: $(cat out)"
	echo input >in
	told "$h" "$@"
	await "evil show $h | grep -q '$state'" 60
	if [ "$state" = failed ]; then
		told "$h" stat "$h" file
		grep -q wrong_state err || atf_fail "$h: $(cat err)"
	fi
	canaries_check "$h"
	timeout 60 "$CTL" ping || atf_fail "$h: no ping"
	! log_has ' died: ' || atf_fail "$h: $(grep ' died: ' "$LOG")"
	evil delete "$h" >out 2>&1 || atf_fail "$h: $(cat out)"
}

# Records without an end: what takes them all is bounded, and can be ended.
call_floods()
{
	evil create -i flood -m 64M -p 64 -c 0.5 -e EVIL=call-records \
	    >out 2>&1 || atf_fail "flood: $(cat out)"
	told flood stat flood file
	told flood tool glob flood x
	as_user "$EVIL" sh -c 'echo $$ >&3
	    exec '"$BOUND"' "$0" ls flood' "$CTL" \
	    2>err 3>pid >lines &
	ls=$!
	# Beyond what it may keep, to sort it, it goes on.
	await '[ "$(wc -c <lines)" -gt 50000000 ] || ! kill -0 $ls 2>/dev/null' \
	    120
	kill -0 $ls 2>/dev/null || atf_fail "ls has ended: $(cat err)"
	canaries_served flood
	kill -TERM "$(cat pid)"
	wait $ls && atf_fail "ls ends well"
	rm -f lines
	await 'evil show flood >out 2>&1' 60
	evil delete flood >out 2>&1 || atf_fail "flood: $(cat out)"
}

# tree_lies how: nothing is left of a tree that is none, in place or whole.
tree_lies()
{
	evil create -i "$1" -m 64M -p 64 -c 0.5 -e "EVIL=call-$1" >out 2>&1 ||
	    atf_fail "$1: $(cat out)"
	: >in
	for a in "" -a; do
		rm -rf "$PWD/ours"
		mkdir -m 777 ours
		told "$1" get -r $a "$1" tree "$PWD/ours/new"
		find ours -type f >left
		[ ! -s left ] || atf_fail "$1: it leaves $(cat left)"
		[ -z "$a" ] || [ -z "$(ls -A ours)" ] ||
		    atf_fail "$1: it leaves $(ls -A ours)"
	done
	canaries_check "$1"
	! log_has ' died: ' || atf_fail "$1: $(grep ' died: ' "$LOG")"
	evil delete "$1" >out 2>&1 || atf_fail "$1: $(cat out)"
}

# Entries without an end: a limit ends it, and so does who asked for them.
tree_endless()
{
	evil create -i endless -m 64M -p 64 -c 0.5 -e EVIL=call-tree-endless \
	    >out 2>&1 || atf_fail "endless: $(cat out)"
	rm -rf "$PWD/ours"
	mkdir -m 777 ours
	told endless get -r -a -m 5000 endless tree "$PWD/ours/new"
	grep -q too_large err || atf_fail "endless: $(cat err)"
	[ -z "$(ls -A ours)" ] || atf_fail "endless: it leaves $(ls -A ours)"
	as_user "$EVIL" sh -c 'echo $$ >&3; exec 3>&-; exec "$@"' sh "$CTL" \
	    get -r -a endless tree "$PWD/ours/new" 2>err 3>pid &
	get=$!
	await 'find ours -name "f*" | grep -q .'
	kill -TERM "$(cat pid)"
	! wait $get || atf_fail "endless: it ends well"
	await '[ -z "$(ls -A ours)" ]'
	canaries_served endless
	evil delete endless >out 2>&1 || atf_fail "endless: $(cat out)"
}

# It never answers: so many may wait, and end with their sandbox.
call_silence()
{
	evil create -i mute -m 64M -p 64 -c 0.5 -e EVIL=call-silence \
	    >out 2>&1 || atf_fail "mute: $(cat out)"
	s=0
	as_user "$EVIL" timeout -s INT 2 "$CTL" ls mute </dev/null >out 2>&1 ||
	    s=$?
	[ $s -ne 0 ] || atf_fail "mute: an end: $(cat out)"
	i=0
	pids=
	while [ $i -lt 40 ]; do
		i=$((i + 1))
		as_user "$EVIL" "$CTL" ls mute >o.$i 2>&1 </dev/null &
		pids="$pids $!"
	done
	# One is owed by the guest to who did not wait.
	await '[ "$(cat o.* | grep -c limit_exceeded)" -eq 9 ]' 60
	canaries_served mute
	as_user "$CANARY_UID" timeout 60 "$CTL" ls canary >out 2>&1 </dev/null ||
	    atf_fail "mute: the canary's files: $(cat out)"
	evil delete mute >out 2>&1 || atf_fail "mute: $(cat out)"
	for p in $pids; do
		! wait "$p" || atf_fail "mute: a call ended well"
	done
	[ "$(cat o.* | grep -c unavailable)" -eq 31 ] ||
	    atf_fail "mute: $(cat o.*)"
	rm -f o.*
}

atf_test_case trees cleanup
trees_head()
{
	atf_set descr 'a tree that is none is refused, and leaves nothing here'
	atf_set timeout 900
}
trees_body()
{
	evil_guests
	for l in $(figure "half name none" \
	    "half size sizes name attrs none"); do
		tree_lies "tree-$l"
	done
	tree_endless
	evil_guests_end
}
trees_cleanup()
{
	daemon_cleanup
}

atf_test_case calls cleanup
calls_head()
{
	atf_set descr 'what a guest says of calls is for who asked, and bounded'
	atf_set timeout 900
}
calls_body()
{
	evil_guests
	state=failed
	call_lies longer cat call-longer file
	call_lies taken put call-taken - file
	call_lies forged mkdir call-forged dir
	call_lies beyond cat call-beyond file
	state=ready
	call_lies nonsense ls call-nonsense
	call_lies text rm call-text file
	if [ "$(figure 1 0)" = 0 ]; then
		call_lies half tool grep call-half x
		state=failed
		call_lies order cat call-order file
		call_lies twice ls call-twice
		call_lies code mkdir call-code dir
		call_lies descriptors ls call-descriptors
	fi
	call_floods
	call_silence
	evil_guests_end
}
calls_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case guest
	atf_add_test_case stuck
	atf_add_test_case calls
	atf_add_test_case trees
	atf_add_test_case execs
}
