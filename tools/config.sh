#!/bin/sh
# config.sh: say which package is missing for the build, by Debian's names.
set -u
missing=

need() {	# need package command ...
	pkg=$1
	shift
	"$@" >/dev/null 2>&1 || missing="$missing $pkg"
}

have() {
	command -v "$1"
}

# Berkeley DB has no .pc file.
have_db() {
	printf '%s\n' '#include <sys/types.h>' '#include <db.h>' \
	    'int main(void) { DB_ENV *e;' \
	    'return (db_env_create(&e, 0) + DB_VERSION_MAJOR - 5); }' |
	    ${CC:-gcc} -x c -o /dev/null - -ldb
}

need gcc have gcc
need libc6-dev test -f /usr/include/stdio.h
need bison have bison
need musl-tools have musl-gcc
if need pkg-config have pkg-config && [ -z "$missing" ]; then
	need libbsd-dev pkg-config --exists libbsd-overlay
	need libevent-dev pkg-config --exists libevent_core
	need libmsgpack-dev pkg-config --exists msgpack
	need libjansson-dev pkg-config --exists jansson
	need libmd-dev pkg-config --exists libmd
	need libseccomp-dev pkg-config --exists libseccomp
	need libcurl4-openssl-dev pkg-config --exists libcurl
	need libyaml-dev pkg-config --exists yaml-0.1
	need libarchive-dev pkg-config --exists libarchive
	need libdb5.3-dev have_db
fi
[ -z "$missing" ] && exit 0
echo "missing to build:$missing" >&2
echo "install them, or run 'make deps' as root" >&2
exit 1
