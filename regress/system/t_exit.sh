# How a command ended, or that it never began, is told as what it is.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

atf_test_case codes cleanup
codes_head()
{
	atf_set descr '(aX1) exit codes 0 to 255 and death by signal'
	atf_set timeout 600
}
codes_body()
{
	world
	box
	for i in 0 1 2 3 63 64 100 124 125 126 127 128 129 137 200 254 255; do
		atf_check -s exit:$i "$CTL" exec "$BOX" sh -c "exit $i"
	done
	# All of them, by what the daemon itself keeps.
	i=0
	while [ $i -lt 256 ]; do
		echo "exit $i"
		i=$((i + $(figure 15 1)))
	done >codes
	while read -r c; do
		s=0
		"$CTL" exec "$BOX" sh -c "$c" </dev/null || s=$?
		[ "exit $s" = "$c" ] || atf_fail "$c came as $s"
	done <codes
	for s in 1 2 6 8 9 11 15; do
		atf_check -s exit:$((128 + s)) -e ignore "$CTL" exec "$BOX" \
		    sh -c "kill -$s \$\$"
	done
	daemon_stop
}
codes_cleanup()
{
	daemon_cleanup
}

atf_test_case not_started cleanup
not_started_head()
{
	atf_set descr '(aX1) what could not be started is a state and a text'
	atf_set timeout 300
}
not_started_body()
{
	world
	box
	atf_check -s exit:127 -e match:"[Nn]o such file" \
	    "$CTL" exec "$BOX" /no/such/program
	atf_check -s exit:127 -e match:"[Nn]o such file" \
	    "$CTL" exec "$BOX" nosuchprogram
	atf_check "$CTL" exec "$BOX" sh -c \
	    'echo hello >plain; printf "\177ELF\2\1\1\0" >wrong
	    head -c 100 /dev/zero >>wrong; chmod 755 wrong'
	atf_check -s exit:126 -e match:"not executable" \
	    "$CTL" exec "$BOX" /workspace/plain
	atf_check -s exit:126 -e match:"xec format error|architecture" \
	    "$CTL" exec "$BOX" /workspace/wrong
	atf_check -s exit:126 -e match:"directory" \
	    "$CTL" exec -w /no/such/dir "$BOX" true
	atf_check -o match:failed "$CTL" ps -a "$BOX"
	daemon_stop
}
not_started_cleanup()
{
	daemon_cleanup
}

atf_test_case detached cleanup
detached_head()
{
	atf_set descr 'a detached exec: wait exits as it did, logs has its output'
	atf_set timeout 300
}
detached_body()
{
	world
	box -e X=4 -e Y=6
	atf_check -o save:exec "$CTL" exec -d -e X=5 -w /tmp "$BOX" \
	    sh -c 'echo $X $Y; pwd; echo oops >&2; exit 3'
	e=$(cat exec)
	atf_check -s exit:3 "$CTL" wait "$e"
	atf_check -s exit:3 "$CTL" wait "$e"
	atf_check -o inline:"5 6\n/tmp\n" -e inline:"oops\n" "$CTL" logs "$e"
	atf_check -o match:"$e" "$CTL" ps -a "$BOX"
	atf_check -o not-match:"$e" "$CTL" ps "$BOX"
	daemon_stop
}
detached_cleanup()
{
	daemon_cleanup
}

atf_test_case run cleanup
run_head()
{
	atf_set descr 'run: create, exec and delete, also when interrupted'
	atf_set timeout 300
}
run_body()
{
	world
	atf_check -s exit:4 -o inline:"hi\n" "$CTL" run sh -c 'echo hi; exit 4'
	nothing_left
	env --default-signal=INT "$CTL" run sh -c \
	    'echo up; sleep 1000' >out 2>err &
	p=$!
	await 'grep -q up out' 60
	kill -INT $p
	wait $p
	nothing_left
	atf_check "$CTL" list
	daemon_stop
}
run_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case codes
	atf_add_test_case not_started
	atf_add_test_case detached
	atf_add_test_case run
}
