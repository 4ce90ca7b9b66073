#!/bin/sh
# twice.sh [file ...]: shell functions that a script defines twice, or that
# take the place of one of the tests' libraries without saying so; the later
# one wins, silently, for callers that meant the first.
# Silent and zero if there is none.
set -u
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- regress/*.sh regress/*/*.sh tools/*.sh
status=0
for f; do
	awk '
	/^[a-z_][a-z0-9_]*\(\)/ {
		name = substr($0, 1, index($0, "(") - 1)
		if (name in seen) {
			print FILENAME ":" FNR ": " name " is in " \
			    seen[name] " already"
			bad = 1
		}
		seen[name] = FILENAME
	}
	END { exit bad }
	' regress/lib/*.subr "$f" || status=1
done
exit $status
