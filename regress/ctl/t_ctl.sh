# sandboxctl and a daemon: what it asks, prints, and how it exits.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

atf_test_case nobody
nobody_head()
{
	atf_set descr 'wrong command lines, and no daemon'
}
nobody_body()
{
	ctl=$SBX_BIN/sandboxctl
	atf_check -s exit:64 -e match:"no command given .invalid_argument." \
	    -e match:"^usage: sandboxctl" "$ctl"
	atf_check -s exit:64 -e match:"unknown option: -x" "$ctl" -x ping
	atf_check -s exit:64 -e match:"usage: .* list " "$ctl" list -x
	atf_check -s exit:64 -e inline:'{"error":{"code":"invalid_argument","text":"ambiguous command: l"}}\n' \
	    "$ctl" -j l
	atf_check -s exit:69 -e match:"^sandboxctl: .*[(]unavailable[)]$" \
	    "$ctl" -s "$PWD/none" ping
	atf_check -s exit:69 -e match:'^[{]"error":[{]"code":"unavailable",' \
	    "$ctl" -js "$PWD/none" ping
	atf_check -s exit:69 -o match:"^sandboxctl [0-9]" \
	    -e match:unavailable "$ctl" -s "$PWD/none" version
	# What is a command's status must not look like one.
	for c in "exec a true" "run true" "wait a.1"; do
		# shellcheck disable=SC2086
		atf_check -s exit:125 -e match:unavailable \
		    "$ctl" -s "$PWD/none" $c
	done
	atf_check -s exit:125 -e match:"missing argument" "$ctl" exec a
}

atf_test_case sandboxes cleanup
sandboxes_head()
{
	atf_set descr 'create, list, show and delete, by name and by label'
	atf_set timeout 300
}
sandboxes_body()
{
	world
	atf_check -o inline:"a\n" "$CTL" create -i a -l team=x -l n=1
	atf_check -o inline:"b\n" "$CTL" cr -i b -l team=x -m 64M -c 0.5 -p 20
	atf_check -o inline:"c\n" "$CTL" create -i c -l team=y
	atf_check -o match:"^a .*ready" -o match:"^b .*64M +0.5 +20 " \
	    -o match:"^ID +STATE" "$CTL" list
	atf_check -o match:"^a " -o match:"^b " -o not-match:"^c " \
	    "$CTL" list -l team=x
	atf_check -o match:"^a " -o not-match:"^[bc] " "$CTL" list -l team=x \
	    -l n
	atf_check -o not-match:"^[abc] " "$CTL" list -S stopped
	atf_check -s exit:64 -e match:invalid_argument "$CTL" list -S nosuch
	atf_check -o match:'^[{]"id":"c",.*"labels":[{]"team":"y"}' \
	    "$CTL" -j list -l team=y
	atf_check -o match:"^labels +team=x$" "$CTL" show b
	atf_check -s exit:66 -e match:"[(]not_found[)]" "$CTL" show nosuch
	atf_check -s exit:66 -e match:'[{]"error":[{]"code":"not_found"' \
	    "$CTL" -j show nosuch
	atf_check -s exit:73 -e match:already_exists "$CTL" create -i a
	atf_check -s exit:64 -e match:invalid_argument "$CTL" create -i -bad
	atf_check -s exit:64 -e match:"neither an id nor a label" "$CTL" delete
	# One that is not there keeps none of the others.
	atf_check -s exit:66 -e inline:"sandboxctl: nosuch: no such sandbox\
 (not_found)\n" "$CTL" delete c nosuch
	atf_check -o ignore "$CTL" create -i d -l team=y
	atf_check -o inline:"2 deleted\n" "$CTL" delete -l team=x
	atf_check -o inline:"0 deleted\n" "$CTL" delete -l team=x
	atf_check -o not-match:"^[abc] " -o match:"^d +ready" "$CTL" list
	atf_check -o match:'^[{]"id":"d",' -o match:'^[{]"deleted":1[}]$' \
	    "$CTL" -j delete -l team d
	atf_check -o match:"^a +deleted" -o match:"^c +deleted" "$CTL" list -a
	atf_check -o match:" a 1 sandbox.create pending uid=0 " \
	    "$CTL" events a
	daemon_stop
}
sandboxes_cleanup()
{
	daemon_cleanup
}

atf_test_case streams cleanup
streams_head()
{
	atf_set descr '(b69) streams that are closed, full, or read no more'
	atf_set timeout 300
}
streams_body()
{
	world
	box
	atf_check -o inline:"0\n" sh -c "'$CTL' exec $BOX wc -c <&-"
	atf_check sh -c "'$CTL' exec $BOX true >&- 2>&-"
	atf_check -s exit:125 -e match:"No space left" \
	    sh -c "'$CTL' exec $BOX echo hello >/dev/full"
	for c in list "-j list" events ping version status "-j status" \
	    "ps -a" "show $BOX" "-j show $BOX" "log verify"; do
		atf_check -s exit:73 -e match:"No space left" -e match:no_space \
		    sh -c "'$CTL' $c >/dev/full"
		atf_check -s exit:0 sh -c "'$CTL' $c <&- >&- 2>&-"
	done
	atf_check -s exit:64 sh -c "'$CTL' nosuch 2>/dev/full"
	atf_check -s exit:64 sh -c "'$CTL' nosuch <&- >&- 2>&-"
	atf_check -s exit:64 -e match:"cannot read the archive: Is a dir" \
	    sh -c "'$CTL' image import x - </"
	# Without a reader the command is cancelled, and leaves nothing.
	atf_check -o inline:"y\n" -e empty \
	    sh -c "'$CTL' exec $BOX yes | head -n 1"
	atf_check -o not-match:running "$CTL" ps "$BOX"
	atf_check -o match:"cancelled.* yes$" "$CTL" ps -a "$BOX"
	atf_check -o inline:"y\n" -e empty \
	    sh -c "'$CTL' logs $BOX.4 | head -n 1"
	# Options of the command are its own.
	atf_check -o inline:"-d -t 1\n" "$CTL" exec "$BOX" echo -d -t 1
	atf_check -o inline:"b\n" "$CTL" exec -e A=b "$BOX" \
	    sh -c 'echo $A'
	atf_check -s exit:125 -e match:not_found "$CTL" exec nosuch true
	atf_check -s exit:124 "$CTL" exec -t 0.2 "$BOX" sleep 1000
	daemon_stop
}
streams_cleanup()
{
	daemon_cleanup
}

atf_test_case jobs cleanup
jobs_head()
{
	atf_set descr 'detached commands: ps, wait, kill, and their exit status'
	atf_set timeout 300
}
jobs_body()
{
	world
	box -i job
	atf_check -o inline:"job.1\n" "$CTL" exec -d job sh -c \
	    'trap "echo caught; exit 7" USR1; sleep 1000 & echo up; wait'
	await '"$CTL" logs job.1 | grep -q up' 60
	# What it writes may be read before its start is in the event log.
	await '"$CTL" ps | grep -Eq "^job.1 +running"' 60
	atf_check -o match:'^[{]"id":"job.1",.*"state":"running"' \
	    "$CTL" -j ps job
	atf_check "$CTL" kill -s usr1 job.1
	atf_check -s exit:7 "$CTL" wait job.1
	atf_check -s exit:7 -o match:'"state":"exited","code":7' \
	    "$CTL" -j wait job.1
	atf_check -o inline:"up\ncaught\n" "$CTL" logs job.1
	atf_check -o match:'^[{]"id":"job.2"' "$CTL" -j exec -d job sleep 1000
	atf_check "$CTL" kill job.2
	atf_check -s exit:143 "$CTL" wait job.2
	atf_check -s exit:75 -e match:wrong_state "$CTL" kill job.2
	atf_check -s exit:125 -e match:not_found "$CTL" wait job.99
	atf_check -s exit:66 -e match:not_found "$CTL" logs job.99
	atf_check -o inline:"job.3\n" "$CTL" exec -d job nosuch
	atf_check -s exit:127 -e match:"nosuch: no such file" "$CTL" wait job.3
	daemon_stop
}
jobs_cleanup()
{
	daemon_cleanup
}

atf_test_case restart cleanup
restart_head()
{
	atf_set descr 'what waits or follows goes on after a restart'
	atf_set timeout 300
}
restart_body()
{
	world
	box -i box
	atf_check "$CTL" exec box mkfifo go
	atf_check -o inline:"box.2\n" "$CTL" exec -d box sh -c \
	    'read -r word <go; exit 9'
	"$CTL" events -f >events &
	follower=$!
	"$CTL" wait box.2 &
	waiter=$!
	await 'grep -q box.2 events' 60
	kill -KILL "$(daemon_child store)"
	daemon_up
	atf_check "$CTL" exec box sh -c "echo >go"
	s=0
	wait $waiter || s=$?
	[ $s -eq 9 ] || atf_fail "wait: exit status $s"
	await 'grep -q "exec.ended.*exec=box.2" events' 60
	kill $follower
	wait $follower || :
	# No gap and none twice.
	awk '{ print $1 }' events >have
	seq "$(head -n 1 have)" "$(tail -n 1 have)" >want
	atf_check -o file:want cat have
	daemon_stop
}
restart_cleanup()
{
	daemon_cleanup
}

atf_test_case early cleanup
early_head()
{
	atf_set descr 'run, interrupted before its sandbox is ready'
	atf_set timeout 300
}
early_body()
{
	world
	env --default-signal=INT "$CTL" run -i gone true &
	p=$!
	await '"$CTL" list -a | grep -q "^gone "' 60
	kill -INT $p 2>/dev/null || :
	s=0
	wait $p || s=$?
	# It may have been faster than we.
	[ $s -eq 130 ] || [ $s -eq 0 ] || atf_fail "exit status $s"
	nothing_left
	atf_check -o match:"^gone +deleted" "$CTL" list -a
	daemon_stop
}
early_cleanup()
{
	daemon_cleanup
}

atf_test_case image cleanup
image_head()
{
	atf_set descr 'images come from a file or from standard input'
	atf_set timeout 300
}
image_body()
{
	world
	name=ctl-test-$$
	echo "$name" >name
	"$SBX_BIN/sandboxctl-tar" base >base.tar || atf_fail "no archive"
	atf_check -o match:"^$name.* sha256:" "$CTL" image import "$name" \
	    base.tar
	atf_check -o match:"^$name.* sha256:" sh -c \
	    "'$CTL' image import $name - <base.tar"
	engine_docker image inspect "$name" >/dev/null || atf_fail "no image"
	atf_check -s exit:66 -e match:"No such file" \
	    "$CTL" image import "$name" nosuch.tar
	head -c 100000 base.tar >half.tar
	atf_check -s not-exit:0 -e match:"the archive is not complete" \
	    "$CTL" image import "$name-half" half.tar
	# Nor is it in pieces, with what tells the format in two of them.
	cat >pieces.py <<-EOT
		import fcntl, os, struct, termios, time

		data = open("half.tar", "rb").read()
		os.write(1, data[:259])
		# The first has been taken before there is a second.
		end = time.monotonic() + 60
		while struct.unpack("i", fcntl.ioctl(1, termios.FIONREAD,
		    b"\0\0\0\0"))[0] and time.monotonic() < end:
		    time.sleep(0.01)
		open(1, "wb").write(data[259:])
	EOT
	atf_check -s not-exit:0 -e match:"the archive is not complete" sh -c \
	    "/usr/bin/python3 -I pieces.py |
	    '$CTL' image import '$name-half' -"
	daemon_stop
}
image_cleanup()
{
	[ ! -f name ] || docker -H "unix://$ENGINE" rmi -f "$(cat name)" \
	    >/dev/null 2>&1
	daemon_cleanup
}

atf_test_case hidden cleanup
hidden_head()
{
	atf_set descr 'values of variables, by -E: for commands, and nobody else'
	atf_set timeout 300
}
hidden_body()
{
	world
	export ONE="first-$$ value" TWO="second-$$-value"
	atf_check -s exit:64 -e match:'of -E: NONE: must be the name of a var' \
	    "$CTL" create -E NONE
	atf_check -s exit:64 -e match:'name given twice: -E ONE' \
	    "$CTL" create -e ONE=x -E ONE
	atf_check -o inline:"a\n" "$CTL" create -i a -E ONE
	atf_check -o inline:"$ONE\n" "$CTL" exec a sh -c 'echo "$ONE"'
	atf_check -o inline:"$ONE $TWO\n" "$CTL" exec -E TWO a \
	    sh -c 'echo "$ONE $TWO"'
	atf_check -o match:"second-$$-value" "$CTL" tool execute -E TWO a \
	    'echo "$TWO"'
	atf_check -o save:job "$CTL" exec -d -E TWO a sleep 1000
	for c in "list -a" "show a" "ps -a" "ps a" "events" "events -t audit" \
	    status doctor rules "log verify"; do
		for j in "" -j; do
			# The exit status of doctor is that of the host.
			"$CTL" $j $c >told 2>&1
			[ -s told ] || continue
			cat told >>all
		done
	done
	atf_check -o match:'ONE' -o match:'TWO' cat all
	cat "$LOG" >>all
	atf_check -s exit:1 grep -e "first-$$" -e "second-$$" all
	# It is kept for those that begin after a restart.
	atf_check "$CTL" stop -g 0.1 a
	daemon_stop
	daemon_run
	await '"$CTL" ping >/dev/null 2>&1'
	await daemon_engine_is_up
	atf_check "$CTL" resume a
	atf_check -o inline:"$ONE\n" "$CTL" exec a sh -c 'echo "$ONE"'
	atf_check -s exit:1 grep -e "first-$$" -e "second-$$" "$LOG"
	atf_check "$CTL" delete a
	daemon_stop
}
hidden_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case hidden
	atf_add_test_case nobody
	atf_add_test_case sandboxes
	atf_add_test_case streams
	atf_add_test_case jobs
	atf_add_test_case restart
	atf_add_test_case early
	atf_add_test_case image
}
