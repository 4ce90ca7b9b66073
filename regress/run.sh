#!/bin/sh
# run.sh [area | area/program | area/program:case] ...
#
# Builds the tests (regress.mk says how they are found), starts an Engine for
# this run alone, runs the tests under kyua and ends with the line
#
#	N passed, N failed, N skipped
#
# The exit status is 0 only if something ran, nothing failed and nothing was
# skipped.  All that a run makes lies in one folder below /tmp, or below what
# SBX_WHERE names, which goes with it, also when the run is interrupted.  Several
# runs at once do not meet.
#
# The tests find in their environment
#	SBX_TOP		the tree
#	SBX_SCRATCH	the run's folder, which every user may pass; a test makes
#			its own below it (sandboxd.subr does)
#	SBX_BIN		the programs as they are installed, for every user
#	SBX_FAULTBIN	the same with fault points
#	SBX_ENGINE	the path of the Engine's socket
#	SBX_RECORDED	the same Engine behind a program that writes down each
#			request: a daemon is to use this one, and at the end
#			of the run each create's body and each request is
#			judged (engine/check_body.py); a bad one is a failure
#	SLOW		what time limits are to be multiplied with (1)
#	SOAK		"yes" for the larger figures
#
#	SBX_SANDBOX	"best-effort" with POOR=yes: what sandboxd.subr writes
#			into each configuration
#
# JOBS=n sets how many tests run at once (2), ASAN=yes takes the programs with
# the sanitizers, KEEP=yes leaves the folder for a look at it.  POOR=yes lets
# the daemon believe, by its fault points, that the kernel has no filters of
# system calls and no Landlock, and passes strangers' descriptors on; the area "sandbox" is about those and left out.
set -eu
umask 022

cd "$(dirname "$0")/.."
SBX_TOP=$(pwd -P)
make=${MAKE:-make}
jobs=${JOBS:-2}
SLOW=${SLOW:-1}
SOAK=${SOAK:-no}
engine=
recorder=
kyua=
scratch=

if [ "${ASAN:-no}" = yes ]; then
	built=obj-asan
	fault=obj-asan
	variant=asan
	obj=regress/obj-asan
	ASAN_OPTIONS=detect_leaks=0:abort_on_error=1
	UBSAN_OPTIONS=print_stacktrace=1
	export ASAN_OPTIONS UBSAN_OPTIONS
else
	built=.
	fault=obj-fault
	variant=
	obj=regress/obj
fi

die() {
	echo "run.sh: $*" >&2
	exit 1
}

# That of the system, whatever else is in the path.
python="/usr/bin/python3 -I -B"
for p in kyua atf-sh dockerd docker /usr/bin/python3; do
	command -v $p >/dev/null || die "$p is missing: run 'make deps' as root"
done
[ "$(id -u)" -eq 0 ] || die "the tests change users: run this as root"

# Processes that have the run's folder in their arguments: nobody else's have.
ours() {
	for p in /proc/[0-9]*; do
		case ${p#/proc/} in
		$$ | self) continue ;;
		esac
		a=$(tr '\0' ' ' 2>/dev/null <"$p/cmdline") || continue
		e=$(readlink "$p/exe" 2>/dev/null) || e=
		case "$a $e" in
		*"$scratch"/*) echo "${p#/proc/}" ;;
		esac
	done
}

cleanup() {
	trap '' INT TERM HUP
	if [ -n "$kyua" ]; then
		kill -TERM "$kyua" 2>/dev/null || :
		wait "$kyua" 2>/dev/null || :
	fi
	cd "$SBX_TOP"
	if [ -n "$recorder" ]; then
		kill -TERM "$recorder" 2>/dev/null || :
		wait "$recorder" 2>/dev/null || :
		recorder=
	fi
	if [ -n "$scratch" ] && [ "${KEEP:-no}" = yes ]; then
		echo "kept: $scratch (end its Engine with: sh" \
		    "regress/engine/engine.sh remove $engine)"
	elif [ -n "$scratch" ]; then
		left=$(ours | while read -r p; do
			[ "$p" != "$(cat "$engine/pid" 2>/dev/null)" ] || continue
			tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" || :
			echo
		done | grep -v "^ *$\|containerd\|^sh .*run\.sh" || :)
		[ -z "$left" ] || printf 'left behind by a test:\n%s\n' "$left"
		for p in $(ours); do
			[ "$p" != "$(cat "$engine/pid" 2>/dev/null)" ] || continue
			case $(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline") in
			*containerd*) ;;
			*) kill -KILL "$p" 2>/dev/null || : ;;
			esac
		done
		[ -z "$engine" ] ||
		    sh regress/engine/engine.sh remove "$engine" || :
		for m in $(awk -v d="$scratch/" \
		    'index($5, d) == 1 { print $5 }' /proc/self/mountinfo |
		    sort -r); do
			umount -l "$m" 2>/dev/null || :
		done
		rm -rf "$scratch"
	fi
	scratch=
}

# Without the programs every test would say so in its own words.
for p in sandboxd/sandboxd sandboxd/guest/sandbox-guest sandboxctl/sandboxctl; do
	for b in $built $fault; do
		[ ! -f "${p%/*}/Makefile" ] || [ -x "$b/$p" ] ||
		    die "$b/$p is missing: run 'make all fault' or 'asan-build'"
	done
done

if [ "${POOR:-no}" = yes ]; then
	built=$fault
	SBX_SANDBOX=best-effort
	SANDBOXD_LACK=seccomp,landlock,mdwe,passrights
	export SBX_SANDBOX SANDBOXD_LACK
fi
if [ "${POOR:-no}" = yes ] && [ $# -eq 0 ]; then
	# shellcheck disable=SC2046
	set -- $(find regress -mindepth 2 -maxdepth 2 \
	    \( -name 't_*.c' -o -name 't_*.sh' \) ! -path 'regress/obj*' \
	    ! -path 'regress/sandbox/*' | cut -d/ -f2 | sort -u)
fi

# The areas of this run, and of them those that are there.
areas=
for a in "$@"; do
	case " $areas " in
	*" ${a%%/*} "*) ;;
	*) areas="$areas ${a%%/*}" ;;
	esac
done
[ $# -gt 0 ] || areas=$(find regress -mindepth 2 -maxdepth 2 \
    \( -name 't_*.c' -o -name 't_*.sh' \) ! -path 'regress/obj*' |
    cut -d/ -f2 | sort -u | tr '\n' ' ')
[ -n "$areas" ] || die "no tests"

named() {	# named keyword file: what the file names there
	sed -n "s/.*$1:[ 	]*//p" "$2" | sed 's/\*\/.*//' | tr '\n' ' '
}

# The makefile of all C programs of these areas.
mkdir -p "$obj"
{
	echo "TOP = ../.."
	[ -z "$variant" ] || echo "VARIANT = $variant"
	echo "all: programs"
	echo 'include ${TOP}/regress/regress.mk'
	# What belongs to the tree is made there, with the tree's own flags
	# and names in its dependencies: no rule by suffix may do it here.
	echo ".SUFFIXES:"
	all=
	for a in $areas; do
		mkdir -p "$obj/$a"
		for f in regress/"$a"/[th]_*.c; do
			[ -f "$f" ] || continue
			b=$a/$(basename "$f" .c)
			all="$all $b"
			objs=
			for o in $(named regress-objs "$f"); do
				objs="$objs ../../$built/sandboxd/$o"
			done
			own=$b.o
			for s in $(named regress-srcs "$f"); do
				own="$own $b-${s%.c}.o"
				echo "$b-${s%.c}.o: ../../regress/$a/$s"
				echo "	\${CC} \${TEST_CFLAGS} -c -o \$@" \
				    "../../regress/$a/$s"
				echo "-include $b-${s%.c}.d"
			done
			echo "$b.o: ../../$f"
			echo "	\${CC} \${TEST_CFLAGS} -c -o \$@ ../../$f"
			l="$own $objs"
			for o in sandboxd/daemon.a sandboxd/confine.a \
			    lib/libsbx.a; do
				l="$l ../../$built/$o"
			done
			echo "$b: $l"
			# The archives need each other.
			echo "	\${CC} \${LDFLAGS} -o \$@" \
			    "-Wl,--start-group $l -Wl,--end-group" \
			    "\${TEST_LIBS}"
			echo "-include $b.d"
		done
		for f in regress/"$a"/p_*.c; do
			[ -f "$f" ] || continue
			b=$a/$(basename "$f" .c)
			all="$all $b.so"
			echo "$b.so: ../../$f"
			echo "	\${CC} \${PRELOAD_CFLAGS} -o \$@ ../../$f"
			echo "-include $b.d"
		done
	done
	echo "programs: $all"
} >"$obj/tests.mk.$$"
mv "$obj/tests.mk.$$" "$obj/tests.mk"
(cd "$obj" && $make -s -j"$jobs" -f tests.mk all) ||
    die "the tests do not build"

scratch=$(mktemp -d "${SBX_WHERE:-/tmp}/sbx.XXXXXX")
trap 'status=$?; cleanup; exit $status' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
chmod 755 "$scratch"
SBX_SCRATCH=$scratch
SBX_BIN=$scratch/bin
SBX_FAULTBIN=$scratch/faultbin
engine=$scratch/e-${scratch##*.}
SBX_ENGINE=$engine/docker.sock
SBX_RECORDED=$scratch/recorded
TMPDIR=$scratch/tmp
mkdir "$SBX_BIN" "$SBX_FAULTBIN" "$TMPDIR" "$scratch/tests"

# Other users run the programs, and may not be able to pass the tree.
copy() {
	for p in sandboxd/sandboxd sandboxd/guest/sandbox-guest \
	    sandboxctl/sandboxctl sandboxctl/sandboxctl-tar; do
		[ ! -f "$1/$p" ] || install -m 755 "$1/$p" "$2/"
	done
}
copy "$built" "$SBX_BIN"
copy "$fault" "$SBX_FAULTBIN"

atfsh=$(command -v atf-sh)
cp -R regress/lib "$scratch/tests/lib"
cp -R regress/engine "$scratch/tests/engine"
root=$scratch/tests/Kyuafile
printf 'syntax(2)\ntest_suite("sandboxd")\n' >"$root"
for a in $areas; do
	d=$scratch/tests/$a
	[ -d "$d" ] || cp -R "regress/$a" "$d"
	for f in regress/"$a"/p_*.c; do
		[ ! -f "$f" ] || install -m 755 \
		    "$obj/$a/$(basename "$f" .c).so" "$d/"
	done
	printf 'syntax(2)\ntest_suite("sandboxd")\n' >"$d/Kyuafile"
	echo "include(\"$a/Kyuafile\")" >>"$root"
	for f in "$d"/[th]_*.c "$d"/t_*.sh; do
		[ -f "$f" ] || continue
		b=$(basename "$f")
		case $b in
		*.c)
			b=${b%.c}
			install -m 755 "$obj/$a/$b" "$d/$b"
			;;
		*.sh)
			b=${b%.sh}
			{ echo "#!$atfsh"; cat "$f"; } >"$d/$b"
			chmod 755 "$d/$b"
			;;
		esac
		case $b in
		t_*) ;;
		*) continue ;;
		esac
		x=
		! grep -q regress-exclusive "$f" || x=", is_exclusive=true"
		# A limit for what hangs; a loaded machine must not reach it.
		echo "atf_test_program{name=\"$b\", timeout=1200$x}" \
		    >>"$d/Kyuafile"
	done
done
chmod -R u=rwX,go=rX "$scratch/tests"

sh regress/engine/engine.sh start "$engine"
# A benchmark measures the Engine as it is.
if [ -z "${RUN:-}" ]; then
	$python regress/engine/record.py "$SBX_RECORDED" "$SBX_ENGINE" \
	    "$scratch/requests" "$scratch" </dev/null &
	recorder=$!
	n=600
	until [ -S "$SBX_RECORDED" ]; do
		n=$((n - 1))
		[ "$n" -gt 0 ] && kill -0 "$recorder" 2>/dev/null ||
		    die "the recorder does not start"
		sleep 0.1
	done
else
	SBX_RECORDED=$SBX_ENGINE
fi
[ "$SOAK" != yes ] || FUZZ_SECONDS=${FUZZ_SECONDS:-300}
[ -z "${FUZZ_SECONDS:-}" ] || export FUZZ_SECONDS
export SBX_TOP SBX_SCRATCH SBX_BIN SBX_FAULTBIN SBX_ENGINE \
    SBX_RECORDED SLOW SOAK TMPDIR

# Something else that needs what a run has: the benchmark.
if [ -n "${RUN:-}" ]; then
	status=0
	sh "$RUN" || status=$?
	exit "$status"
fi

results=$scratch/results.db
set +e
kyua -c none -v parallelism="$jobs" test -k "$root" -r "$results" "$@" \
    </dev/null &
kyua=$!
wait "$kyua"
kyua=
set -e

report() {
	kyua -c none report -r "$results" "$@" 2>/dev/null || :
}

echo
echo "The ten slowest:"
report --results-filter=passed,failed,broken |
    sed -n 's/^\([^ ]*:[^ ]*\)  *->.*\[\([0-9.]*\)s\]$/\2 \1/p' |
    sort -rn | head -n 10 | sed 's/^/    /'
echo
report --verbose --results-filter=failed,broken,skipped |
    sed '/^===> Execution context/,/^===> /{/^===> Exec/d;/^===> /!d;}' |
    sed -e '/^Metadata:/,/^$/d' -e '/^===> Failed tests/,$d' \
    -e '/^===> Skipped tests/,$d' -e '/^===> Summary/,$d'

counts=$(report | awk '/^Test cases: / {
	gsub(/,/, ""); t = $3; s = $5; b = $10; f = $12
} END { printf "%d %d %d", t - s - b - f, b + f, s }')
set -- ${counts:-0 0 0}

# What the Engine was asked: one failure more if it should not have been.
if [ "$1" -gt 0 ]; then
	if $python regress/engine/check_body.py records \
	    "$scratch"/requests* >"$scratch/judged" 2>&1; then
		tail -n 1 "$scratch/judged"
	else
		echo "===> what the Engine was asked"
		cut -c 1-4000 "$scratch/judged"
		set -- "$1" $(($2 + 1)) "$3"
	fi
fi
# Who died of a call that its filter does not know, and was not to.
if [ -s "$scratch/sigsys" ]; then
	echo "===> forbidden system calls"
	cut -c 1-4000 "$scratch/sigsys"
	set -- "$1" $(($2 + 1)) "$3"
fi
# What an event said without the manual's table knowing of it.
if [ -s "$scratch/untold" ]; then
	echo "===> details that sandboxd/store_types.c does not name"
	cut -c 1-4000 "$scratch/untold"
	set -- "$1" $(($2 + 1)) "$3"
fi
# What tests with large figures have come to.
if [ -s "$scratch/counted" ]; then
	echo "===> counted"
	sort "$scratch/counted" | cut -c 1-400
fi
# What passed without its subject.
if [ -s "$scratch/untried" ]; then
	echo "===> not tried on this system"
	sort -u "$scratch/untried" | cut -c 1-400
fi
status=0
[ "$2" -eq 0 ] && [ "$3" -eq 0 ] && [ "$1" -gt 0 ] || status=1

# The line comes last, after what the cleaning up may have to say.
cleanup
trap - EXIT
echo "$1 passed, $2 failed, $3 skipped"
exit "$status"
