# The files of the database are a stranger's if the store is taken over: root
# never looks into one, whatever it is asked for.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# watched directory: from now on, who opens a file there is in the file opens;
# false if this kernel does not tell
watched()
{
	rm -f stop
	mkfifo stop
	"$(atf_get_srcdir)/h_opens" "$1" <stop >opens 2>opens.err &
	echo $! >watcher
	exec 9>stop
	await 'grep -q "^ready" opens || _gone "$(cat watcher)"'
	! _gone "$(cat watcher)" || {
		exec 9>&-
		s=0
		wait "$(cat watcher)" || s=$?
		[ $s -eq 3 ] || atf_fail "$(cat opens.err)"
		rm watcher
		return 1
	}
}

# by_nobody_but user: and ourselves, to see that it is seen
by_nobody_but()
{
	! _gone "$(cat watcher)" || atf_fail "$(cat opens.err)"
	exec 9>&-
	await '_gone "$(cat watcher)"'
	rm watcher
	sort opens | uniq -c
	! grep -v -e "^ready$" -e "^uid 0 cat$" -e "^uid $(id -u "$1") " \
	    opens >others || atf_fail "$(head -n 3 others)"
	grep -q "^uid $(id -u "$1") " opens || atf_fail "nothing was opened"
}

atf_test_case opens cleanup
opens_head()
{
	atf_set descr "(aS3) root opens no file of the database"
	atf_set timeout 600
}
opens_body()
{
	world "restart 1000 per 1s"
	daemon_stop
	watched "$STATE/db" || {
		untried "$(cat opens.err)"
		return 0
	}
	# What is looked for is seen.
	cat "$STATE/db/watermark" >mark
	await 'grep -q "^uid 0 cat$" opens'
	# A start; work; all that asks for the log; a reload; doctor.
	daemon_start
	await daemon_engine_is_up
	box -i web
	atf_check -o inline:"hi\n" "$CTL" exec web echo hi
	atf_check -o match:"^events" "$CTL" log verify
	atf_check -o ignore "$CTL" events
	atf_check -o ignore "$CTL" -j events web
	atf_check -o ignore "$CTL" reload
	atf_check -o ignore "$CTL" status
	"$CTL" doctor >doctor 2>&1 || [ -s doctor ] || atf_fail "no doctor"
	# Recovery, of the store alone and of all.
	p=$(daemon_child store) || atf_fail "no store"
	kill -KILL "$p"
	await '_gone "$p"'
	await '[ "$("$CTL" exec web echo hi 2>err)" = hi ]'
	daemon_kill
	daemon_start
	await '[ "$("$CTL" exec web echo hi 2>err)" = hi ]'
	atf_check -o ignore "$CTL" delete web
	nothing_left
	daemon_stop
	by_nobody_but _sbxstore
}
opens_cleanup()
{
	[ ! -f watcher ] || kill "$(cat watcher)" 2>/dev/null
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case opens
}
