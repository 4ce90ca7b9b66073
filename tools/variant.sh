#!/bin/sh
# variant.sh dir: make dir a second tree of the same sources, by links, in
# which another variant is built.  What was built here is not taken along.
set -eu
dir=$1
top=$(pwd)

mkdir -p "$dir/sandboxd/guest" "$dir/lib" "$dir/sandboxctl" "$dir/tools"
# The attackers are part of these programs, and of no other.
for f in regress/evil/evil*.[ch]; do
	[ "$dir/sandboxd/${f##*/}" -ef "$f" ] ||
	    ln -sf "$top/$f" "$dir/sandboxd/${f##*/}"
done
# A link whose source has gone would be built on.
find "$dir" -type l ! -exec test -e {} \; -exec rm -f {} +
for f in Makefile config.mk tools/*.sh lib/*.[chy] lib/Makefile \
    sandboxd/*.[chy] sandboxd/Makefile sandboxd/guest/*.[ch] \
    sandboxd/guest/Makefile sandboxctl/*.[ch] sandboxctl/Makefile; do
	[ -f "$f" ] || continue
	case $f in
	sandboxd/parse.c) continue ;;
	esac
	[ "$dir/$f" -ef "$f" ] || ln -sf "$top/$f" "$dir/$f"
done
