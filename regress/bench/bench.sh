# bench.sh: a daemon in the run's folder, and h_bench on it; then others, which
# h_bench starts.  "make bench" runs it through run.sh.  BENCH takes arguments
# for h_bench: -q for small figures, -n for the number of execs, -f for that of
# files in a tree; CONCERNS the parts that are wanted (see h_bench.c).
set -eu

atf_fail() {
	echo "bench.sh: $*" >&2
	exit 1
}

CONCERNS=${CONCERNS:-exec flight create output events session files trees tty \
	exits subscribers restart idle start filters}
work=$(mktemp -d "$SBX_SCRATCH/${BENCH_WORK:-bench}.XXXXXX")
here=$SBX_SCRATCH/tests/bench
cd "$work"
. "$SBX_SCRATCH/tests/lib/sandboxd.subr"
trap 'status=$?; set +e; [ $status -eq 0 ] || _show_log; daemon_cleanup
    exit $status' EXIT
# The guest has no libraries.
${MUSL_CC:-musl-gcc} -static -O2 -o "$work/stamp" "$here/stamp.c"

bench() {
	# shellcheck disable=SC2086
	"$here/h_bench" ${BENCH:-} socket="$SOCK" engine="$ENGINE" \
	    ctl="$BIN/sandboxctl" daemon="$BIN/sandboxd" conf="$CONF" \
	    state="$STATE" stamp="$work/stamp" filler="$here/h_log" \
	    scratch="$work" "$@"
}

first=
start=
filters=
for c in $CONCERNS; do
	case $c in
	start) start=start ;;
	filters) filters=filters ;;
	*) first="$first $c" ;;
	esac
done
# Deaths that come a second apart cost no delay here: that is measured.
if [ -n "$first" ]; then
	daemon_start "limits { clients 1200, 1200 per user }
		restart 1000 per 1s"
	await daemon_engine_is_up
	"$CTL" image base >/dev/null
	# shellcheck disable=SC2086
	bench $first
	daemon_stop
fi
if [ -n "$start" ]; then
	daemon_use start
	daemon_conf
	mkdir -p -m 711 "$STATE"
	bench start
fi
# Builds for tests can be without: two of these, side by side.
if [ -n "$filters" ]; then
	BIN=$SBX_FAULTBIN
	daemon_use bare
	SANDBOXD_LACK=seccomp
	export SANDBOXD_LACK
	best="sandbox best-effort"
	# Where all of them run so the configuration says it by itself.
	[ -z "${SBX_SANDBOX:-}" ] || best=
	daemon_start "$best"
	unset SANDBOXD_LACK
	await daemon_engine_is_up
	"$CTL" status | grep -q "^store .*missing: seccomp" ||
	    atf_fail "it has filters"
	bare=$SOCK
	daemon_use filtered
	daemon_start
	await daemon_engine_is_up
	"$CTL" image base >/dev/null
	bench bare="$bare" filters
	daemon_stop
	daemon_use bare
	daemon_stop
fi
