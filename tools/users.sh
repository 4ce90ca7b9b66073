#!/bin/sh
# users.sh: make the system users of the daemon's processes and the group of
# its clients.  May be run again, and by several at once.
set -eu

USERS="_sandboxd _sbxstore _sbxbroker _sbxrun"
GROUP=sandbox

missing() {
	getent group "$GROUP" >/dev/null || return 0
	for u in $USERS; do
		getent passwd "$u" >/dev/null || return 0
		getent group "$u" >/dev/null || return 0
	done
	return 1
}

missing || exit 0
if [ "$(id -u)" -ne 0 ]; then
	echo "users.sh: only root can make the users: $USERS" >&2
	exit 1
fi

# The tools take a lock on the files, but give up where it is held.
umask 022
mkdir -p /run/lock
exec 9>/run/lock/sandboxd-users.lock
flock 9

getent group "$GROUP" >/dev/null || groupadd -r "$GROUP"
for u in $USERS; do
	getent group "$u" >/dev/null || groupadd -r "$u"
	getent passwd "$u" >/dev/null ||
	    useradd -r -M -g "$u" -d /nonexistent -s /usr/sbin/nologin \
	    -c "sandboxd" "$u"
done
