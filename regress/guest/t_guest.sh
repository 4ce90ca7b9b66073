# The guest and its commands in a container: as the guest's own tests have
# them, whose table this is.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# status field: of the sandbox's PID 1
status()
{
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$PID1/status"
}

atf_test_case confined cleanup
confined_head()
{
	atf_set descr 'a sandbox: what PID 1 is, and what a command can do'
	atf_set timeout 300
}
confined_body()
{
	musl-gcc -static -D_GNU_SOURCE -I "$SBX_TOP/lib" \
	    -idirafter "/usr/include/$(gcc -print-multiarch)" \
	    -idirafter /usr/include -o attempt \
	    "$SBX_TOP/regress/guest/h_attempt.c" || atf_fail "no program"
	world
	box
	atf_check "$CTL" exec "$BOX" sh -c \
	    'cat >/tmp/attempt; chmod 755 /tmp/attempt' <attempt
	atf_check -o save:out "$CTL" exec "$BOX" /tmp/attempt
	# The container has no capabilities to give.
	awk '!/^#/ && NF == 3 { print $1, $1 == "bounding" ? 0 : $3 }' \
	    "$(atf_get_srcdir)/attempts" >want
	[ "$(wc -l <want)" -gt 60 ] || atf_fail "no table"
	cut -d' ' -f1 want | while read -r name; do
		grep "^$name " out || echo "$name was not tried"
	done >got
	atf_check -o empty diff want got

	PID1=$(docker -H "unix://$ENGINE" inspect -f '{{.State.Pid}}' "$(_ours)")
	for f in CapInh CapPrm CapEff CapBnd CapAmb; do
		atf_check_equal 0000000000000000 "$(status $f)"
	done
	atf_check_equal 1 "$(status NoNewPrivs)"
	atf_check_equal 2 "$(status Seccomp)"
	# The container's, and its own.
	[ "$(status Seccomp_filters)" -ge 2 ] || atf_fail "no filter of its own"
	# Not dumpable: its files are root's.
	atf_check_equal 0 "$(stat -c %u "/proc/$PID1/environ")"
	awk '/^Max core file size/ { print $5 } /^Max file size/ { print $4 }' \
	    "/proc/$PID1/limits" >limits
	atf_check -o inline:"0\n0\n" sort limits
	daemon_stop
}
confined_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case confined
}
