# The benchmark runs and prints its rows; how fast is not for a test to say.

atf_test_case bench cleanup
bench_head()
{
	atf_set descr "every row of the benchmark is there"
	atf_set timeout 600
}
bench_body()
{
	atf_check -o save:out env BENCH=-q BENCH_WORK=rows \
	    sh "$(atf_get_srcdir)/bench.sh"
	cat out
	while read -r r; do
		atf_check -o ignore grep -- "^  $r  " out
	done <<-EOT
		spawn on the host
		by libsandbox
		by sandboxctl, p99
		the Engine's in ours
		ours in the Engine's
		create to ready
		remove, 4 at a time, each
		stream of output
		a byte, from its writing
		of commands that cannot start
		files of 4 KiB written
		write by libsandbox
		read by sandboxctl, a process each
		in by the Engine's archive
		out by the Engine's archive
		search, against grep on the host
		out, against tar on the host
		in by tar and docker exec
		a letter's echo
		one after the other, each
		of them in a commit
		delivery beside them, its sync too
		a guest's way back
		the same, by their slope at 200
		wake-ups of a guest
		create to accepted
		killed to told
		killed to the last guest back
		to the first answer
		the same after a kill
		one command
	EOT
	# A goal has its word, whichever.
	atf_check -s exit:1 -o empty sh -c \
	    "grep ' [<>] *[0-9]' out | grep -v '  ok\$\|  misses'"
}
bench_cleanup()
{
	bench_over rows
}

# Of one that was ended in the middle: the daemons of its folders.
bench_over()
{
	for d in "$SBX_SCRATCH/$1".*; do
		[ -d "$d" ] || continue
		cd "$d"
		. "$(atf_get_srcdir)/../lib/sandboxd.subr"
		daemon_cleanup
	done
}

# A machine that is busy with other tests misses all of them but the first:
# the large figures are run alone.
atf_test_case goals cleanup
goals_head()
{
	atf_set descr "(aA02) (aV09) (aV13) (aX18) what is accepted, told and" \
	    "written is so in time"
	atf_set timeout 1800
}
goals_body()
{
	q=-q
	concerns=create
	goals="create to accepted"
	if [ "${SOAK:-no}" = yes ]; then
		q=
		concerns="create events exits subscribers"
		goals="create to accepted
killed to told
delivery beside them, its sync too
more than without them
of commands that cannot start
of them in a commit"
	fi
	atf_check -o save:out env BENCH=$q CONCERNS="$concerns" \
	    BENCH_WORK=goals sh "$(atf_get_srcdir)/bench.sh"
	cat out
	while read -r r; do
		grep -- "^  $r  .*  \(ok\|misses, as does the limit\)\$" out ||
		    atf_fail "$r"
	done <<-EOT
		$goals
	EOT
}
goals_cleanup()
{
	bench_over goals
}

atf_init_test_cases()
{
	atf_add_test_case goals
	atf_add_test_case bench
}
