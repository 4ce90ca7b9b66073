#!/bin/sh
# engine.sh: a private Docker Engine in a folder of its own.
#
#	engine.sh start DIR [dockerd's options]	start, wait until it answers
#	engine.sh stop DIR			end it and all its containers
#	engine.sh kill DIR			kill -9 of the Engine alone
#	engine.sh remove DIR			stop, unmount, remove DIR
#
# DIR must be short (a socket's path has 107 bytes), be passable by everyone,
# and on a disk that can carry overlay mounts; mktemp -d /tmp/sbx.XXXXXX fits.
# The socket is DIR/docker.sock, the log DIR/engine.log, the pid DIR/pid.
# Nothing on the machine but DIR is touched: no bridge, no packet filter, a
# containerd namespace of its own where the machine's containerd is used.
set -eu
umask 022

usage() {
	echo "usage: engine.sh start|stop|kill|remove dir [option ...]" >&2
	exit 64
}

[ $# -ge 2 ] || usage
cmd=$1
dir=$2
shift 2
case $dir in
/?*) ;;
*) usage ;;
esac
sock=$dir/docker.sock
# Two of one name lie in two places.
ns=$(basename "$dir")-$(printf %s "$dir" | cksum | cut -d" " -f1)
slow=${SLOW:-1}

answers() {
	docker -H "unix://$sock" version
}

engine_pid() {
	cat "$dir/pid" 2>/dev/null || :
}

# A zombie is gone: whoever started it reaps it in his own time.
gone() {
	s=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) || return 0
	[ -z "$s" ] || [ "$s" = Z ]
}

# ended pid seconds: the kernel tells of its end; 1 if that has not come.
ended() {
	python3 -I -c 'import os, select, sys
try:
	fd = os.pidfd_open(int(sys.argv[1]))
except ProcessLookupError:
	sys.exit(0)
p = select.poll()
p.register(fd, select.POLLIN)
sys.exit(0 if p.poll(int(sys.argv[2]) * 1000) else 1)' \
	    "$1" "$(($2 * slow))"
}

# ready pid from: its log, from that byte on, says that it listens; and so it
# answers.  If the log never does, the answer counts.
ready() {
	timeout $((120 * slow)) tail -c "+$2" -f --pid="$1" \
	    "$dir/engine.log" | grep -q -m1 'API listen on' || :
	answers >/dev/null 2>&1
}

# The shims of this Engine, by the namespace that it alone has.
shims() {
	for p in /proc/[0-9]*; do
		a=$(tr '\0' ' ' 2>/dev/null <"$p/cmdline") || continue
		case $a in
		*containerd-shim*"-namespace $ns "*) echo "${p#/proc/}" ;;
		esac
	done
}

mounts() {
	awk -v d="$dir/" 'index($5, d) == 1 { print $5 }' /proc/self/mountinfo |
	    sort -r
}

start() {
	mkdir -p "$dir/data" "$dir/exec"
	chmod 755 "$dir"
	p=$(engine_pid)
	if [ -n "$p" ] && ! gone "$p"; then
		echo "engine.sh: already running, pid $p" >&2
		return 1
	fi
	# Left by one that was killed, it keeps the next from starting.
	rm -f "$dir/pid" "$dir/exec/containerd/containerd.pid"
	>>"$dir/engine.log"
	from=$(($(wc -c <"$dir/engine.log") + 1))
	setsid dockerd --data-root "$dir/data" --exec-root "$dir/exec" \
	    -H "unix://$sock" -p "$dir/pid" --bridge=none --iptables=false \
	    --ip-forward=false --ip-masq=false --userland-proxy=false \
	    --containerd-namespace "$ns" --containerd-plugins-namespace "$ns-p" \
	    "$@" </dev/null >>"$dir/engine.log" 2>&1 &
	if ! ready $! "$from"; then
		echo "engine.sh: the Engine does not answer; its log:" >&2
		tail -n 40 "$dir/engine.log" >&2
		return 1
	fi
}

stop() {
	p=$(engine_pid)
	if [ -n "$p" ] && ! gone "$p"; then
		ids=$(timeout 60 docker -H "unix://$sock" ps -aq 2>/dev/null) ||
		    ids=
		# shellcheck disable=SC2086
		[ -z "$ids" ] || timeout 300 docker -H "unix://$sock" rm -f -v \
		    $ids >/dev/null 2>&1 || :
		kill -TERM "$p" 2>/dev/null || :
		ended "$p" 60 || kill -KILL "$p" 2>/dev/null || :
		ended "$p" 60 || :
	fi
	# What an Engine that was killed has left: its shims with their
	# containers, and its containerd.
	for s in $(shims); do
		for c in $(cat "/proc/$s/task/$s/children" 2>/dev/null); do
			kill -KILL "$c" 2>/dev/null || :
		done
		kill -KILL "$s" 2>/dev/null || :
	done
	p=$(cat "$dir/exec/containerd/containerd.pid" 2>/dev/null || :)
	if [ -n "$p" ] && tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null |
	    grep -qF "$dir/exec"; then
		kill -TERM "$p" 2>/dev/null || :
		ended "$p" 20 || kill -KILL "$p" 2>/dev/null || :
	fi
	rm -f "$dir/pid"
}

case $cmd in
start)	start "$@" ;;
stop)	stop ;;
kill)
	p=$(engine_pid)
	[ -n "$p" ] || exit 1
	kill -KILL "$p"
	ended "$p" 30
	;;
remove)
	stop
	for m in $(mounts); do
		umount -l "$m" 2>/dev/null || :
	done
	rm -rf "$dir"
	;;
*)	usage ;;
esac
