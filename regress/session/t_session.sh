# A session: requests and answers as lines, on a real daemon.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# play name [argument ...]: one of cases.py
play()
{
	case=$1
	shift
	atf_check /usr/bin/python3 -I -B "$(atf_get_srcdir)/cases.py" \
	    "$case" "$CTL" "$@"
}

# One daemon, one sandbox, one case of cases.py.
simple()
{
	atf_test_case "$1" cleanup
	eval "$1_head() {
		atf_set descr '$2'
		atf_set timeout 600
	}
	$1_body() {
		world
		box
		play $1 \"\$BOX\" ${3:-}
		daemon_stop
	}
	$1_cleanup() {
		daemon_cleanup
	}"
}

simple commands 'plain requests, and errors as -j has them'
simple execs 'input, output, ends, signals, logs'
simple cancel 'what is under way, what waits, what is not there'
simple many '1,000 requests under way, 64 commands at once' 64
simple windows 'one that nobody reads holds up no other'
simple events 'subscriptions, by credit'

simple files 'operations on files'
simple trees 'a tree copied inside'
simple tools 'the tools of an agent'
simple other 'commands that have no request'
simple hostile 'lines that are none, too long, too deep'
simple input_bound 'input that is not taken'
simple eof 'the end of the input'
simple term 'a signal'
simple deaf 'who does not read is not read'
simple closed 'who does not read any more'

atf_test_case memory cleanup
memory_head()
{
	atf_set descr 'who asks for more than there is memory is told, alone'
	atf_set timeout 600
}
memory_body()
{
	# Its shadow takes all of the address space.
	[ "${ASAN:-no}" != yes ] || atf_skip "the address space is the sanitizer's"
	world
	box
	cat >small <<-EOT
		#!/bin/sh
		exec prlimit --as=104857600 "$CTL" "\$@"
	EOT
	chmod 755 small
	CTL=$PWD/small play memory "$BOX"
	daemon_stop
}
memory_cleanup()
{
	daemon_cleanup
}

# play over a daemon that is killed and comes back.
over_restart()
{
	world
	box
	cat >go <<-EOT
		#!/bin/sh
		kill -KILL $(daemon_pid)
	EOT
	cat >back <<-EOT
		#!/bin/sh
		echo >up
		until "$CTL" ping >/dev/null 2>&1; do
			sleep 0.1
		done
	EOT
	chmod 755 go back
	(
		await '[ -f up ]' 120
		await '[ -z "$(_daemon_pids "$D")" ]' 60
		daemon_run
	) &
	play "$1" "$BOX" ./go ./back
	wait $!
	daemon_stop
}

atf_test_case restart cleanup
restart_head()
{
	atf_set descr 'commands, waits and subscriptions over a restart'
	atf_set timeout 600
}
restart_body()
{
	over_restart restart
}
restart_cleanup()
{
	daemon_cleanup
}

atf_test_case alone cleanup
alone_head()
{
	atf_set descr 'one quiet command, and nothing else, over a restart'
	atf_set timeout 600
}
alone_body()
{
	over_restart alone
}
alone_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	for c in commands execs cancel many windows events files trees tools \
	    other hostile input_bound eof term deaf closed memory \
	    restart alone; do
		atf_add_test_case $c
	done
}
