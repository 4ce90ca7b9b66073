# bench.sh: a daemon in the run's folder, and h_bench on it.  "make bench" runs
# it through run.sh; BENCH_N is the number of execs, one at a time.
set -eu

atf_fail() {
	echo "bench.sh: $*" >&2
	exit 1
}

work=$(mktemp -d "$SBX_SCRATCH/b.XXXXXX")
cd "$work"
. "$SBX_SCRATCH/tests/lib/sandboxd.subr"
trap 'status=$?; daemon_cleanup; exit $status' EXIT
daemon_start "limits { sandboxes 10 execs 1000 log 1M }"
await daemon_engine_is_up
"$CTL" image base >/dev/null
"$SBX_SCRATCH/tests/bench/h_bench" "$SOCK" "$ENGINE" "$BIN/sandboxctl" \
    "$work" "${BENCH_N:-300}"
daemon_stop
