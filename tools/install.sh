#!/bin/sh
# install.sh: called by "make install" with the folders in the environment.
set -eu
umask 022
cd "$(dirname "$0")/.."
d=${DESTDIR:-}

put() {	# put mode file folder
	mkdir -p "$d$3"
	install -m "$1" "$2" "$d$3/"
}

put 755 sandboxd/sandboxd "$SBINDIR"
put 755 sandboxctl/sandboxctl "$BINDIR"
put 755 sandboxd/guest/sandbox-guest "$LIBEXECDIR"
[ ! -f sandboxctl/sandboxctl-tar ] ||
    put 755 sandboxctl/sandboxctl-tar "$LIBEXECDIR"

# The client's library, and what libsandbox.h includes.
mkdir -p "$d$LIBDIR"
install -m 644 lib/libsbx.a "$d$LIBDIR/libsandbox.a"
for h in bounds calls codes filerec imsg libsandbox msg proto; do
	put 644 lib/$h.h "$INCLUDEDIR"
done
for page in man/*.[1-9]; do
	put 644 "$page" "$MANDIR/man${page##*.}"
done
put 644 README "$DOCDIR"
put 644 CHANGES "$DOCDIR"
for f in rc.d/sandboxd init.d/sandboxd systemd/sandboxd.service; do
	mkdir -p "$d$DOCDIR/examples/${f%/*}"
	sed "s|@SBINDIR@|$SBINDIR|g" "etc/$f" >"$d$DOCDIR/examples/$f"
	chmod 755 "$d$DOCDIR/examples/$f"
done
chmod 644 "$d$DOCDIR/examples/systemd/sandboxd.service"
sed "s|@LIBEXECDIR@|$LIBEXECDIR|g" etc/sandboxd.conf \
    >"$d$DOCDIR/examples/sandboxd.conf"
chmod 644 "$d$DOCDIR/examples/sandboxd.conf"

# A configuration that is there is its owner's.
mkdir -p "$d$SYSCONFDIR"
if [ ! -e "$d$SYSCONFDIR/sandboxd.conf" ]; then
	install -m 600 "$d$DOCDIR/examples/sandboxd.conf" \
	    "$d$SYSCONFDIR/sandboxd.conf"
fi
