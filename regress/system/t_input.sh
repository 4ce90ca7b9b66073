# Input arrives whole, ends when the client says so, and not when it is lost.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

atf_test_case through cleanup
through_head()
{
	atf_set descr '50 MB piped through cat come back identical'
	atf_set timeout 600
}
through_body()
{
	world
	box
	n=$((50 * 1000 * 1000))
	seq 1 20000000 | head -c $n >in
	cksum <in >want
	atf_check -o file:want sh -c "'$CTL' exec '$BOX' cat <in | cksum"
	daemon_stop
}
through_cleanup()
{
	daemon_cleanup
}

atf_test_case early_end cleanup
early_end_head()
{
	atf_set descr '(b48) closing early is an end of file; a command may not read'
	atf_set timeout 300
}
early_end_body()
{
	world
	box
	atf_check -o inline:"0\n" sh -c \
	    "'$CTL' exec '$BOX' wc -c </dev/null"
	atf_check -o inline:"5\n" sh -c \
	    "printf hello | '$CTL' exec '$BOX' wc -c"
	# A command that ends without reading does not keep its client.
	atf_check sh -c "yes | timeout 60 '$CTL' exec '$BOX' true"
	atf_check -o inline:"y\n" sh -c \
	    "yes | timeout 60 '$CTL' exec '$BOX' head -n 1"
	daemon_stop
}
early_end_cleanup()
{
	daemon_cleanup
}

atf_test_case lost_client cleanup
lost_client_head()
{
	atf_set descr 'a client killed in the middle is no end of input'
	atf_set timeout 300
}
lost_client_body()
{
	world "timeouts { reattach 2s }"
	box
	mkfifo in
	# The command would tell of an end of input by a file.
	"$CTL" exec "$BOX" sh -c \
	    'read -r x; touch got; cat >rest; touch ended' <in >/dev/null &
	client=$!
	exec 3>in
	echo line >&3
	await '"$CTL" exec "$BOX" test -f got' 60
	kill -KILL $client
	wait $client
	exec 3>&-
	# When its client has been gone for the time, the exec is cancelled.
	await '! "$CTL" ps "$BOX" | grep -q running' 60
	atf_check -s exit:1 "$CTL" exec "$BOX" test -f ended
	atf_check -o match:cancelled "$CTL" ps -a "$BOX"
	daemon_stop
}
lost_client_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case through
	atf_add_test_case early_end
	atf_add_test_case lost_client
}
