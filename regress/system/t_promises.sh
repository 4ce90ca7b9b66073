# What the manual says an administrator can see is what he sees.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# The commands of the manual as a script that says before each which it is,
# and what is shown after each, in a file of its number.
promises()
{
	awk '/^\.Ss / { in_it = $0 == ".Ss How to see that it holds" }
	    !in_it { next }
	    /^\.Bd / { lit = 1; next }
	    /^\.Ed/ { lit = 0; next }
	    !lit { next }
	    { gsub(/\\e/, "\\") }
	    /^# / {
		n++
		cmd = substr($0, 3)
		print "until sandboxctl ping >/dev/null 2>&1; do"
		print "\tsleep 0.1"
		print "done"
		printf "exec >got.%d 2>&1\n", n
		print cmd
		printf "echo $? >status.%d\n", n
		print cmd >("cmd." n)
		next
	    }
	    { print >("want." n) }' "$1"
}

atf_test_case promises cleanup
promises_head()
{
	atf_set descr "each command of the manual's promises shows what it says"
	atf_set timeout 300
}
promises_body()
{
	world
	box -i web
	mkdir "$D/bin"
	cp "$CTL" "$D/bin/sandboxctl"
	printf '#!/bin/sh\nexec "%s" -f "%s" "$@"\n' "$BIN/sandboxd" "$CONF" \
	    >"$D/bin/sandboxd"
	printf '#!/bin/sh\nexec "%s" -H "unix://%s" "$@"\n' \
	    "$(command -v docker)" "$ENGINE" >"$D/bin/docker"
	chmod 755 "$D/bin" "$D/bin"/*
	promises "$SBX_TOP/man/sandboxd.8" >all.sh
	[ "$(ls cmd.* | wc -l)" -ge 20 ] || atf_fail "the manual has: $(ls)"
	sed -i "s|/var/lib/sandboxd|$STATE|g; s|/run/sandboxd/sandboxd.sock|$SOCK|g" \
	    all.sh want.*
	PATH=$D/bin:$PATH timeout 240 sh all.sh </dev/null ||
	    atf_fail "they do not end"
	for c in cmd.*; do
		n=${c#cmd.}
		if [ -f "want.$n" ]; then
			tr -s '\t ' ' ' <"want.$n" >want
			tr -s '\t ' ' ' <"got.$n" >got
			diff want got >&2 || atf_fail "$(cat "$c")"
		elif [ ! -s "got.$n" ] && [ "$(cat "status.$n")" != 0 ]; then
			atf_fail "$(cat "status.$n"): $(cat "$c")"
		elif grep -qE 'usage:|not found|invalid' "got.$n"; then
			cat "got.$n" >&2
			atf_fail "$(cat "$c")"
		fi
	done
	# All mounts are the daemon's own.
	n=$(grep -l 'json .Mounts' cmd.* | sed 's/cmd.//')
	[ "$(grep -o '"Source":"[^"]*"' "got.$n" | wc -l)" = 3 ] &&
	    [ "$(grep -o '"Source":"[^"]*"' "got.$n" |
	    grep -cF "\"$STATE/")" = 3 ] || atf_fail "$(cat "got.$n")"
	# The sandbox is the one container of the mark.
	n=$(grep -l 'docker ps' cmd.* | sed 's/cmd.//')
	[ "$(grep -c sbx- "got.$n")" = 1 ] || atf_fail "$(cat "got.$n")"
	daemon_stop
}
promises_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case promises
}
