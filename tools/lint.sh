#!/bin/sh
# lint.sh: mandoc's lint on every page, cppcheck on the C, sh -n on scripts,
# and no function of theirs twice.
# Silent and zero if all is clean.
set -u
cd "$(dirname "$0")/.."
status=0

for page in man/*.[1-9]; do
	[ -f "$page" ] || continue
	mandoc -Tlint -W warning "$page" || status=1
done

for s in tools/*.sh regress/*.sh regress/*/*.sh regress/lib/*.subr \
    etc/init.d/* .ci/run; do
	[ -f "$s" ] || continue
	sh -n "$s" || status=1
done
sh tools/twice.sh || status=1

# What is left out, and why:
#  missingIncludeSystem, unmatchedSuppression	no help about the code
#  unusedStructMember	fields are read by way of the messages' tables
#  invalidFunctionArg	an anonymous mmap has the descriptor -1
#  nullPointer in two	accept4 may be asked for no address
#  doubleFree, uninitvar, invalidFunctionArgBool in tests: an assignment inside
#			ATF_REQUIRE is not seen, and a child's status may be a
#			truth value
#  uninitvar in sandbox_io.c: the address of what is filled later
# The loops of queue.h, tree.h and jansson.h are followed only where they are read.
cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr \
    --enable=warning --library=bsd --library=gnu \
    --library=posix -j 2 \
    --suppress=missingIncludeSystem --suppress=unmatchedSuppression \
    --suppress=unusedStructMember \
    --suppress=invalidFunctionArg \
    '--suppress=nullPointer:sandboxd/runner_listen.c' \
    '--suppress=nullPointer:sandboxd/sessions.c' \
    '--suppress=uninitvar:lib/sandbox_io.c' \
    '--suppress=uninitvar:regress/*' \
    '--suppress=doubleFree:regress/*' \
    '--suppress=invalidFunctionArgBool:regress/*' \
    --include=/usr/include/bsd/sys/queue.h \
    --include=/usr/include/bsd/sys/tree.h --include=/usr/include/jansson.h \
    -D_GNU_SOURCE -D__linux__ -Ilib -Isandboxd -Isandboxd/guest \
    lib sandboxd sandboxctl $(ls -d regress/*/ | grep -v obj) \
    -i sandboxd/parse.c || status=1

exit $status
