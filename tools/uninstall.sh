#!/bin/sh
# uninstall.sh: called by "make uninstall".  What install put there goes; the
# configuration goes only if nobody changed it, state and users stay.
set -eu
cd "$(dirname "$0")/.."
d=${DESTDIR:-}

rm -f "$d$SBINDIR/sandboxd" "$d$BINDIR/sandboxctl" \
    "$d$LIBEXECDIR/sandbox-guest" "$d$LIBEXECDIR/sandboxctl-tar"
rm -f "$d$LIBDIR/libsandbox.a"
for h in bounds calls codes filerec imsg libsandbox msg proto; do
	rm -f "$d$INCLUDEDIR/$h.h"
done
for page in man/*.[1-9]; do
	rm -f "$d$MANDIR/man${page##*.}/$(basename "$page")"
done
if cmp -s "$d$DOCDIR/examples/sandboxd.conf" "$d$SYSCONFDIR/sandboxd.conf"
then
	rm -f "$d$SYSCONFDIR/sandboxd.conf"
fi
rm -rf "$d$DOCDIR"
