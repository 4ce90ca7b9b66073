#!/bin/sh
# make.sh bin engine h_rows
#
# How the files rows.* here were made: the rows that the programs in the folder
# bin have written, on the Engine with the socket engine, as h_rows of today
# prints them.  Run it as root, once for each version that is released:
#
#	git checkout VERSION && make && (copy the four programs to bin)
#	sh regress/engine/engine.sh start /tmp/e
#	sh regress/upgrade/make.sh bin /tmp/e/docker.sock \
#	    regress/obj/upgrade/h_rows >regress/upgrade/rows.VERSION
#	sh regress/engine/engine.sh remove /tmp/e
#
# The daemon is killed at the end, so that operations are under way.  Times,
# numbers of containers and the like differ from run to run; t_rows.sh asks
# for none of them.
set -eu
umask 022

bin=$1 engine=$2 h_rows=$3
d=$(mktemp -d /tmp/sbx.XXXXXX)
chmod 755 "$d"
trap 'rm -rf "$d"' EXIT

cat >"$d/conf" <<EOT
state "$d/state"
socket "$d/s"
engine "unix://$engine"
guest "$bin/sandbox-guest"
EOT
ctl() {
	"$bin/sandboxctl" -s "$d/s" "$@" >&2
}

"$bin/sandboxd" -d -f "$d/conf" >"$d/log" 2>&1 &
pid=$!
until ctl image base; do
	sleep 1
done
ctl create -i ready -l team=demo -l tier= -e A=b -m 64M -c 0.5 -p 32
ctl exec ready echo hi
ctl exec ready sh -c 'exit 3' || :
ctl exec ready sh -c 'kill -9 $$' || :
ctl exec -t 0.1 ready sleep 60 || :
ctl exec ready /no/such/program || :
ctl exec -d ready sleep 1000
ctl create -i stopped
ctl exec stopped true
ctl stop stopped
ctl create -i deleted
ctl delete deleted
ctl create -i failed -I nosuchimage || :
ctl reload
sleep 2
kill -KILL $pid
wait $pid || :
sleep 2
docker -H "unix://$engine" ps -aq |
    xargs docker -H "unix://$engine" rm -f -v >/dev/null
umount -l "$d/state/mnt" 2>/dev/null || :
cp -R "$d/state/db" "$d/copy"
printf '# The rows of sandboxd %s.\n' "$("$bin/sandboxctl" -s /nowhere \
    version 2>/dev/null | sed -n 's/^sandboxctl //p')"
"$h_rows" dump "$d/copy"
