# A log that nobody takes: the daemon goes on, and tells later what is missing.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# All is served; each client that leaves is a line of the log.
serves()	# times
{
	n=0
	while [ $n -lt "$1" ]; do
		atf_check -o inline:"hi\n" "$CTL" exec box echo hi
		n=$((n + 1))
	done
}

atf_test_case full cleanup
full_head()
{
	atf_set descr '(c50) no room for the log'
	atf_set timeout 600
}
full_body()
{
	daemon_use main
	mkdir "$D/small"
	mount -t tmpfs -o size=64k none "$D/small" || atf_fail "cannot mount"
	LOG=$D/small/log
	world
	box -i box
	! dd if=/dev/zero of="$D/small/filler" bs=4k 2>dd.err ||
	    atf_fail "no end of it"
	# More than what is left of the last page of it.
	serves 60
	rm "$D/small/filler"
	serves 5
	await 'log_has "^[a-z]*: [0-9]* lines of the log are missing here$"'
	log_has "hung up" || atf_fail "no line after that"
	atf_check -o ignore "$CTL" delete box
	nothing_left
	daemon_stop
}
full_cleanup()
{
	daemon_cleanup
}

atf_test_case closed cleanup
closed_head()
{
	atf_set descr '(c50) standard error is closed'
	atf_set timeout 600
}
closed_body()
{
	daemon_conf
	mkdir -m 711 "$STATE"
	"$BIN/sandboxd" -dv -f "$CONF" </dev/null >/dev/null 2>&- &
	echo $! >"$D/pid"
	daemon_up
	image_base
	box -i box
	serves 5
	# No file of ours has got its number, and with it the lines.
	atf_check -o match:"^events" "$CTL" log verify
	atf_check -o ignore "$CTL" delete box
	nothing_left
	daemon_stop
}
closed_cleanup()
{
	daemon_cleanup
}

atf_test_case reader cleanup
reader_head()
{
	atf_set descr '(c50) who reads the log has gone'
	atf_set timeout 600
}
reader_body()
{
	daemon_conf
	mkdir -m 711 "$STATE"
	mkfifo log
	cat log >kept &
	cat=$!
	"$BIN/sandboxd" -dv -f "$CONF" </dev/null >/dev/null 2>log &
	echo $! >"$D/pid"
	daemon_up
	kill $cat
	await "_gone $cat"
	image_base
	box -i box
	serves 5
	atf_check -o ignore "$CTL" delete box
	nothing_left
	daemon_stop
}
reader_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case full
	atf_add_test_case closed
	atf_add_test_case reader
}
