#!/bin/sh
# deps.sh: install what the build, the tests and the demonstration need, by
# Debian's package names, and of these only what is missing.
set -eu

PACKAGES="gcc libc6-dev make bison pkg-config musl-tools
	libbsd-dev libevent-dev libmsgpack-dev libjansson-dev libmd-dev
	libcurl4-openssl-dev libarchive-dev libdb5.3-dev libyaml-dev libseccomp-dev
	kyua atf-sh libatf-dev clang libclang-rt-14-dev mandoc cppcheck
	bmake busybox-static e2fsprogs python3 rootlesskit tmux uidmap
	procps util-linux mount passwd"

# The Engine and its program are one package here and two in other releases.
command -v dockerd >/dev/null 2>&1 && command -v docker >/dev/null 2>&1 ||
	PACKAGES="$PACKAGES docker.io"

missing=
for p in $PACKAGES; do
	s=$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || :)
	[ "$s" = installed ] || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "missing packages:$missing" >&2
	echo "run this as root, or install them first" >&2
	exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# Another apt may be at work: wait for it.
apt="apt-get -qq -o DPkg::Lock::Timeout=600"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086
if ! { $apt update && $apt install -y --no-install-recommends $missing; } \
    </dev/null >"$log" 2>&1; then
	cat "$log" >&2
	exit 1
fi
