#!/bin/sh
# demo.sh: a first session, from nothing: "make demo".
#
# Installs what is missing, builds, takes the Engine at the usual socket or
# starts one of its own, starts a daemon in a scratch folder and shows every
# command of sandboxctl before what it prints.  All that it started ends with it.
set -eu
umask 022
cd "$(dirname "$0")/.."
top=$(pwd -P)
make=${MAKE:-make}
engine=
daemon=
scratch=

cleanup() {
	trap '' INT TERM HUP
	if [ -n "$daemon" ]; then
		kill -TERM "$daemon" 2>/dev/null || :
		wait "$daemon" 2>/dev/null || :
	fi
	[ -z "$engine" ] || sh regress/engine/engine.sh remove "$engine" || :
	if [ -n "$scratch" ]; then
		for m in $(awk -v d="$scratch/" \
		    'index($5, d) == 1 { print $5 }' /proc/self/mountinfo |
		    sort -r); do
			umount -l "$m" || :
		done
		rm -rf "$scratch"
	fi
	daemon= engine= scratch=
}

say() {
	printf '\n# %s\n' "$*"
}

# Print the command as it would be typed, behind what PIPED says, and run it.
show() {
	line=
	for a in "$@"; do
		case $a in
		*[!A-Za-z0-9_./=:@%+,-]* | '') a="'$a'" ;;
		esac
		line="$line $a"
	done
	printf '$ %ssandboxctl%s\n' "${PIPED:-}" "$line"
	"$ctl" -s "$sock" "$@"
}

sh tools/deps.sh
$make -s all >/dev/null
sh tools/users.sh

scratch=$(mktemp -d /tmp/sbx.XXXXXX)
trap 'status=$?; cleanup; exit $status' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
chmod 755 "$scratch"
sock=$scratch/sandboxd.sock
log=$scratch/log
ctl=$top/sandboxctl/sandboxctl

esock=/var/run/docker.sock
if [ -S $esock ] && docker -H unix://$esock version >/dev/null 2>&1; then
	say "the Docker Engine at $esock is taken"
else
	say "no Docker Engine answers at $esock: a private one is started"
	engine=$scratch/e-${scratch##*.}
	sh regress/engine/engine.sh start "$engine"
	esock=$engine/docker.sock
fi

say "the daemon's configuration"
cat >"$scratch/sandboxd.conf" <<EOT
state "$scratch/state"
socket "$sock" group "sandbox"
engine "unix://$esock"
guest "$top/sandboxd/guest/sandbox-guest"

defaults { image "sandbox-base" memory 256M cpus 1 pids 64 network none }
limits { sandboxes 10 execs 100 log 16M }
EOT
cat "$scratch/sandboxd.conf"
mkdir -m 711 "$scratch/state"

say "the daemon: sandboxd -d -f sandboxd.conf &"
sandboxd/sandboxd -d -f "$scratch/sandboxd.conf" </dev/null >"$log" 2>&1 &
daemon=$!
n=600
until "$ctl" -s "$sock" status 2>/dev/null | grep -q '^engine  *[0-9]'; do
	n=$((n - 1))
	if [ "$n" -eq 0 ] || ! kill -0 "$daemon" 2>/dev/null; then
		echo "the daemon does not answer; its log:" >&2
		cat "$log" >&2
		exit 1
	fi
	sleep 0.1
done
show ping
show version
show status

say "the built-in image is made here: no registry is asked"
show image base

say "a sandbox, with a name and a label"
show create -i web -l team=demo

say "commands in it, with their input and their exit status"
show exec web id
echo hello from outside |
    PIPED="echo hello from outside | " show exec web tr a-z A-Z
status=0
show exec web sh -c 'echo this one fails >&2; exit 3' || status=$?
echo "exit status: $status"
[ "$status" -eq 3 ]

say "what the sandbox has, and has not"
show exec web sh -c 'pwd; cat /proc/sys/kernel/hostname; ls /sys/class/net'

say "a detached job: it goes on by itself, and is waited for later"
exec_id=$("$ctl" -s "$sock" exec -d web sh -c \
    'for i in 1 2 3; do echo line $i; done; exit 5')
printf '$ sandboxctl exec -d web sh -c %s\n%s\n' \
    "'for i in 1 2 3; do echo line \$i; done; exit 5'" "$exec_id"
status=0
show wait "$exec_id" || status=$?
echo "exit status: $status"
[ "$status" -eq 5 ]
show logs "$exec_id"
show ps -a web

say "files: no command of the sandbox is needed for them"
printf 'one\ntwo\nthree\n' |
    PIPED="printf 'one\\ntwo\\nthree\\n' | " show put -p web - src/count
show ls -l web src
show tool grep web two
show tool edit web src/count two 2
show cat web src/count

say "a terminal is: sandboxctl shell web"

say "create, exec and delete in one"
show run echo gone with its sandbox

say "the list, and what the log knows"
show list
show -j list
show events web

say "the end"
show delete web
show list
show log verify

say "the daemon and what else was started ends"
cleanup
trap - EXIT
echo "done"
