# Fuzzing of each parser of strangers' bytes: a short time here, FUZZ_SECONDS
# for a long one.  The targets are f_*.c; what breaks one is printed.

target()
{
	eval "$1_head() {
		atf_set descr 'any bytes: $1'
		atf_set timeout 7200
	}
	$1_body() { fuzz $1; }"
}

# fuzz name: build the target with what it needs and run it.
fuzz()
{
	top=$SBX_TOP
	srcs=
	case $1 in
	f_msg)	srcs="lib/msg.c lib/msg_scan.c lib/vec.c lib/proto.c
		    sandboxd/messages.c" ;;
	f_imsg)	srcs="lib/imsg.c lib/ibuf.c lib/msgbuf.c" ;;
	f_spec)	srcs="lib/msg.c lib/msg_scan.c lib/vec.c lib/proto.c
		    lib/codes.c lib/spec_check.c" ;;
	f_gproto) srcs="lib/gproto.c" ;;
	esac
	files=
	for s in $srcs; do
		files="$files $top/$s"
	done
	atf_check -o ignore -e ignore clang -g -O1 -std=gnu11 -D_GNU_SOURCE \
	    -fsanitize=fuzzer,address,undefined \
	    -fno-sanitize-recover=undefined \
	    -isystem /usr/include/bsd -DLIBBSD_OVERLAY \
	    -I"$top/lib" -I"$top/sandboxd" -o "$1" \
	    "$top/regress/fuzz/$1.c" $files -lmsgpackc -lbsd
	# The names of fields are what no mutation finds by itself.
	sed -n 's/^	MSG_F([a-z_]*, \([a-z_0-9]*\),.*/"\1"/p' \
	    "$top/lib/proto.c" | sort -u >dict
	mkdir -p corpus
	ASAN_OPTIONS=detect_leaks=1 ./"$1" -dict=dict -max_len=4096 \
	    -seed=1 -max_total_time="${FUZZ_SECONDS:-3}" -timeout=20 \
	    -rss_limit_mb=2048 -print_final_stats=1 corpus >out 2>&1 || {
		tail -60 out
		atf_fail "$1: see above"
	}
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' out)
	echo "$1: $runs inputs"
	# One that does not run at all cannot fail either.
	[ "${runs:-0}" -gt 100 ] || atf_fail "only ${runs:-0} inputs"
}

TARGETS="f_msg f_imsg f_spec"

for t in $TARGETS; do
	target "$t"
done

atf_init_test_cases()
{
	for t in $TARGETS; do
		atf_add_test_case "$t"
	done
}
