# Code in a sandbox that means harm.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/canary.subr"

# evil ...: the attacker's request
evil()
{
	as_user "$EVIL" "$CTL" "$@"
}

# A sandbox with the program in it.
evil_world()
{
	musl-gcc -static -D_GNU_SOURCE -o inside \
	    "$SBX_TOP/regress/evil/h_inside.c" || atf_fail "no program"
	new_uid
	EVIL=$NEW_UID
	world "defaults { readonly yes }
		limits { log 1M per exec }
		${1:-}"
	canaries_make
	evil create -i mine -m 128M -p 40 -c 0.3 >out 2>&1 ||
	    atf_fail "$(cat out)"
	evil exec mine sh -c 'cat >inside; chmod 755 inside' <inside ||
	    atf_fail "the program does not get in"
}

evil_end()
{
	evil delete mine >out 2>&1 || atf_fail "$(cat out)"
	canaries_remove
	nothing_left
	daemon_stop
}

# What a process there is, and what of the host it sees; a fact a line.
SEES='
	sed -n "s/^\(Cap[A-Za-z]*\|NoNewPrivs\|Seccomp\):.//p" /proc/self/status
	awk "\$5 == \"/\" { print substr(\$6, 1, 2) }" /proc/self/mountinfo
	touch /x 2>/dev/null && echo "root can be written"
	sed "1,2d; s/:.*//; s/ *//" /proc/net/dev
	for f in $MASKED; do
		[ ! -e $f ] || [ -z "$(cat $f 2>/dev/null; ls $f/ 2>/dev/null)" ] ||
		    echo "$f has something in it"
	done
	for f in $READONLY; do
		[ ! -e $f ] || grep -q " $f ro" /proc/self/mountinfo ||
		    awk -v f=$f "\$5 == f { print \$6 }" /proc/self/mountinfo |
		    grep -q "^ro" || echo "$f can be written"
	done
	ls /proc | grep -c "^[0-9]*\$" | awk "\$1 > 12 { print \"processes\" }"'
MASKED='/proc/asound /proc/acpi /proc/interrupts /proc/kcore /proc/keys
	/proc/latency_stats /proc/timer_list /proc/timer_stats
	/proc/sched_debug /proc/scsi /sys/firmware
	/sys/devices/virtual/powercap'
READONLY='/proc/bus /proc/fs /proc/irq /proc/sys /proc/sysrq-trigger'

# hardened when
hardened()
{
	await 'evil exec mine true </dev/null'
	evil exec -e "MASKED=$(echo $MASKED)" -e "READONLY=$(echo $READONLY)" \
	    mine sh -c "$SEES" >sees 2>&1 </dev/null ||
	    atf_fail "$1: $(cat sees)"
	printf '%s\n' 0000000000000000 0000000000000000 0000000000000000 \
	    0000000000000000 0000000000000000 1 2 ro lo >want
	cmp -s sees want || {
		diff want sees >&2
		atf_fail "$1: a command is not what it should be"
	}
	# And PID 1 is no other.
	p=$(engine_docker inspect -f '{{.State.Pid}}' \
	    "$(engine_docker ps -q --filter label=sandboxd.id=mine \
	    --filter "label=sandboxd.owner=$EVIL")")
	sed -n 's/^\(CapEff\|CapBnd\|NoNewPrivs\|Seccomp\):.//p' \
	    "/proc/$p/status" | tr '\n' ' ' >sees
	[ "$(cat sees)" = "0000000000000000 0000000000000000 1 2 " ] ||
	    atf_fail "$1: PID 1 has $(cat sees)"
	# One of the container's, and its own; not every kernel counts them.
	n=$(sed -n 's/^Seccomp_filters:.//p' "/proc/$p/status")
	[ "${n:-2}" -ge 2 ] || atf_fail "$1: no filter but the guest's own"
}

# A word a line: what there is outside, by all ways to it.
outside()
{
	# All there is of the host's addresses, and what clouds have.
	for a in 127.0.0.1 169.254.169.254 169.254.170.2 100.100.100.200 \
	    172.17.0.1 10.0.0.1 $(hostname -I 2>/dev/null); do
		case $a in
		*:*) a="[$a]" ;;
		esac
		echo "tcp:$a:$CANARY_PORT"
		echo "tcp:$a:80"
		# To its own it can send what nobody takes.
		[ "$a" = 127.0.0.1 ] || echo "udp:$a:53"
	done
	echo "tcp:[::1]:$CANARY_PORT"
	echo "tcp:[::ffff:127.0.0.1]:80"
	echo "tcp:[fd00:ec2::254]:80"
	echo "abstract:sbx-canary-$CANARY_PORT"
	for r in '' /proc/1/root /proc/self/cwd/../../../../..; do
		for s in "$SOCK" "$ENGINE" "$SBX_RECORDED" \
		    /var/run/docker.sock /run/docker.sock \
		    /run/containerd/containerd.sock \
		    /run/sandboxd/sandboxd.sock; do
			echo "unix:$r$s"
		done
		for f in "$STATE/work/$CANARY_N/secret" "$CANARY/user" \
		    "$STATE/db" "$CONF" "$STATE/runner/log"; do
			echo "file:$r$f"
		done
	done
}

# What was reached must not be.  Of this, what nobody can read can be opened
# all the same, and is empty; the last is a process's own.
judged()
{
	grep ': reached$' reached | grep -v -e '^file:/proc/kcore:' \
	    -e '^write:/proc/self/attr/exec:' >bad
	[ ! -s bad ]
}

# tells regexp option ...: in a container that lacks one thing of ours
tells()
{
	local re

	re=$1
	shift
	set -f
	engine_docker run --rm --network "$NET" --log-driver none \
	    --cap-drop ALL --security-opt no-new-privileges --read-only \
	    -u 2000000001:2000000001 -v "$PWD/inside:/inside:ro" "$@" \
	    --entrypoint /inside sandbox-base reach $(outside) \
	    >reached 2>&1 || atf_fail "$*: $(head -n 1 reached)"
	set +f
	if [ -z "$re" ]; then
		judged || atf_fail "nothing is wrong with it: $(head -n 1 bad)"
	elif judged; then
		atf_fail "$*: is found to be as it should"
	else
		grep -q "^$re: reached\$" bad || atf_fail "$*: $(head -n 1 bad)"
	fi
}

atf_test_case tells cleanup
tells_head()
{
	atf_set descr '(aH2) what can be reached from a container that is not' \
	    'as it should be is found by the same look'
	atf_set timeout 900
}
tells_body()
{
	evil_world
	NET=none
	tells ""
	NET=host
	tells "tcp:127.0.0.1:$CANARY_PORT"
	grep -q "^abstract:sbx-canary-$CANARY_PORT: reached" bad ||
	    atf_fail "the host's names are not found: $(head -n 1 bad)"
	NET=none
	tells "unix:$SOCK" -v "${SOCK%/*}:${SOCK%/*}" -u 0
	tells "unix:$ENGINE" -v "$ENGINE:$ENGINE" -u 0
	tells "file:$STATE/work/$CANARY_N/secret" -u "$(stat -c %u \
	    "$STATE/work/$CANARY_N")" \
	    -v "$STATE/work/$CANARY_N:$STATE/work/$CANARY_N"
	tells "file:$CANARY/user" -u "$CANARY_UID" -v "$CANARY:$CANARY"
	evil_end
}
tells_cleanup()
{
	daemon_cleanup
}

atf_test_case reach cleanup
reach_head()
{
	atf_set descr '(aH1, aH2) what a sandbox is on each way to it, and' \
	    'that nothing outside can be reached from it'
	atf_set timeout 900
}
reach_body()
{
	evil_world
	hardened created
	set -f
	set -- $(outside)
	set +f
	for f in /.sandboxd/guest /proc/1/exe /proc/self/exe /.sandboxd/run/s \
	    /proc/sys/kernel/core_pattern /proc/sysrq-trigger \
	    /sys/kernel/uevent_helper /sys/fs/cgroup/release_agent \
	    /proc/self/attr/exec /dev/mem /dev/kmsg /dev/sda /dev/vda; do
		set -- "$@" "write:$f"
	done
	for f in /proc/kcore /proc/1/environ /proc/1/mem /dev/mem /dev/vda \
	    /dev/kmsg /proc/1/fd/3; do
		set -- "$@" "file:$f"
	done
	evil exec mine ./inside reach "$@" >reached </dev/null ||
	    atf_fail "cannot try"
	[ "$(wc -l <reached)" = $# ] || atf_fail "not all was tried"
	judged || atf_fail "$(head -n 1 bad)"
	evil exec mine sh -c 'kill -9 -1' >/dev/null 2>&1 </dev/null
	# The guest's own socket has no name any more once it is connected.
	evil exec mine sh -c 'find / -type s; find /dev -type b;
	    find /dev -type c ! -name null ! -name zero ! -name full \
	    ! -name random ! -name urandom ! -name tty ! -name ptmx \
	    ! -path "/dev/pts/*" ! -name console' >found 2>/dev/null </dev/null
	atf_check -o empty cat found
	canaries_check "from within"
	canaries_served "from within"

	evil stop mine >/dev/null && evil resume mine >/dev/null ||
	    atf_fail "it does not come back"
	hardened resumed
	daemon_kill
	daemon_start
	hardened "after a restart of the daemon"
	canaries_check "at the end"
	evil_end
}
reach_cleanup()
{
	daemon_cleanup
}

# while_served what s: the others are, until it has ended or its time is over
while_served()
{
	n=0
	left=$(($(date +%s) + $2))
	while [ $n -lt 10 ] || { [ "$(date +%s)" -lt $left ] &&
	    evil ps -a mine | grep -q "^$x  *\(running\|pending\)"; }
	do
		n=$((n + 1))
		timeout 60 "$CTL" ping >out 2>&1 ||
		    atf_fail "$1: no answer to a ping: $(cat out)"
	done
}

# abuses what [s]: for at most so long; then it is ended
abuses()
{
	x=$(evil exec -d mine ./inside abuse "$1" </dev/null) ||
	    atf_fail "$1: it is not started"
	while_served "$1" "${2:-60}"
	evil kill "$x" >out 2>&1 || :
	evil wait "$x" >out 2>&1
	await 'evil exec mine true >out 2>&1 </dev/null'
	! log_has ' died: ' || atf_fail "$1: $(grep ' died: ' "$LOG")"
	canaries_check "$1"
}

atf_test_case abuse cleanup
abuse_head()
{
	atf_set descr '(aH3) forks, memory, files, descriptors and output' \
	    'without end: the others are served, and the daemon lives'
	atf_set timeout 900
}
abuse_body()
{
	evil_world
	s=$(figure 2 60)
	abuses forks "$s"
	abuses memory
	evil ps -a mine | grep -q "^$x  *signaled  *KILL" ||
	    atf_fail "it was not bounded: $(evil ps -a mine)"
	abuses tmp
	evil logs "$x" >out 2>&1
	grep -q "full: No space left on device" out ||
	    atf_fail "it was not bounded: $(cat out)"
	abuses files
	evil logs "$x" >out 2>&1
	grep -q "deep" out || atf_fail "not so deep: $(cat out)"
	abuses output
	# 64 MiB were written, and a part of each stream is kept.
	[ "$(evil logs "$x" 2>/dev/null | wc -c)" -le 2200000 ] ||
	    atf_fail "more is kept than allowed"
	# All places for processes taken, it can be stopped and resumed.
	evil exec -d mine ./inside abuse forks >out </dev/null
	evil stop mine >out 2>&1 || atf_fail "it is not stopped: $(cat out)"
	evil resume mine >out 2>&1 || atf_fail "not resumed: $(cat out)"
	evil exec mine true </dev/null || atf_fail "it runs nothing"
	canaries_served "in the end"
	evil_end
}
abuse_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case reach
	atf_add_test_case tells
	atf_add_test_case abuse
}
