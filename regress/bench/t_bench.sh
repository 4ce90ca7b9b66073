# The benchmark runs and prints its rows; how fast is not for a test to say.

atf_test_case bench cleanup
bench_head()
{
	atf_set descr "every row of the benchmark is there"
	atf_set timeout 600
}
bench_body()
{
	atf_check -o save:out env BENCH_N=20 \
	    sh "$(atf_get_srcdir)/bench.sh"
	cat out
	for r in "spawn on the host" "exec by libsandbox" \
	    "the Engine's exec against ours" "in flight" \
	    "create to ready by libsandbox"; do
		atf_check -o ignore grep "$r" out
	done
}
bench_cleanup()
{
	for d in "$SBX_SCRATCH"/b.*; do
		[ -d "$d" ] || continue
		cd "$d"
		. "$(atf_get_srcdir)/../lib/sandboxd.subr"
		daemon_cleanup
	done
}

atf_init_test_cases()
{
	atf_add_test_case bench
}
