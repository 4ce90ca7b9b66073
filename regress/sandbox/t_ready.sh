# A child works only if it is what the parent made it to be, and with the
# layers that the configuration asks for.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"

BIN=$SBX_FAULTBIN

# refused regexp: the daemon ends by itself, and the log says why
refused()
{
	daemon_run
	await '_gone "$(daemon_pid)"'
	log_has "$1" || {
		_show_log
		atf_fail "not told: $1"
	}
	! log_has "running" || atf_fail "it ran: $1"
	log_cut
}

atf_test_case fields cleanup
fields_head()
{
	atf_set descr "(aP2) (c13) what is wrong with a child is named, no start"
}
fields_body()
{
	daemon_use main
	daemon_conf
	while read -r role what; do
		SANDBOXD_BREAK=$role:$what
		export SANDBOXD_BREAK
		refused "^$role is not what it should be: $what"
	done <<-EOT
		frontend Uid
		frontend Gid
		frontend Groups
		frontend CapInh
		frontend CapPrm
		frontend CapEff
		store CapEff
		broker CapEff
		runner CapEff
		frontend CapBnd
		frontend CapAmb
		store CapAmb
		broker CapAmb
		runner CapAmb
		store NoNewPrivs
		frontend Threads
		store SigBlk
		store SigIgn
		frontend root
		runner cwd
		runner Max open files
		broker Max processes
		frontend ns/uts
		frontend fd
		store maps
		runner dumpable
	EOT
	# It says that it has a filter, and has none but its parent's.
	if grep -q "^Seccomp_filters:" /proc/self/status; then
		SANDBOXD_BREAK=broker:Seccomp_filters
		refused "^broker is not what it should be: Seccomp_filters"
	fi
	if [ "${ASAN:-no}" != yes ]; then
		SANDBOXD_BREAK="frontend:Max file size"
		refused "^frontend is not what it should be: Max file size"
		SANDBOXD_BREAK="store:Max address space"
		refused "^store is not what it should be: Max address space"
		SANDBOXD_BREAK="store:SigCgt"
		refused "^store is not what it should be: SigCgt"
	fi
	unset SANDBOXD_BREAK
	daemon_start
	daemon_stop
}
fields_cleanup()
{
	daemon_cleanup
}

atf_test_case strict cleanup
strict_head()
{
	atf_set descr "(aP2) (c49) what the kernel lacks stops the start"
}
strict_body()
{
	daemon_use main
	daemon_conf
	SANDBOXD_LACK=landlock
	export SANDBOXD_LACK
	refused "^[a-z]*: this kernel has no Landlock (landlock); \"sandbox\
 best-effort\" would start without"
	daemon_conf "sandbox strict"
	SANDBOXD_LACK=seccomp
	refused "this kernel has no filters of system calls (seccomp)"
	# The filter does what this would, so it is told and no more.
	SANDBOXD_LACK=mdwe
	daemon_start
	[ "${ASAN:-no}" = yes ] ||
	    log_has "^store: runs without .* (mdwe)" || atf_fail "not told"
	unset SANDBOXD_LACK
	daemon_stop
}
strict_cleanup()
{
	daemon_cleanup
}

atf_test_case best_effort cleanup
best_effort_head()
{
	atf_set descr "(c49) at best effort it starts, and says what is missing"
}
best_effort_body()
{
	SANDBOXD_LACK=seccomp,landlock,mdwe
	export SANDBOXD_LACK
	daemon_start "sandbox best-effort"
	for r in frontend store broker runner; do
		log_has "^$r: runs without Landlock (landlock)" ||
		    atf_fail "$r: landlock is not told"
		log_has "^$r: runs without filters .* (seccomp)" ||
		    atf_fail "$r: seccomp is not told"
		"$CTL" status | grep "^$r .*missing: seccomp landlock" ||
		    atf_fail "$r: the status does not tell"
	done >/dev/null
	atf_check -o match:"^parent .*missing: seccomp$" "$CTL" status
	atf_check -o match:'"missing": *"seccomp landlock' "$CTL" -j status
	atf_check -o ignore "$CTL" image base
	atf_check -o inline:"hi\n" "$CTL" run echo hi
	# At each start, and not only at the first.
	log_cut
	kill -KILL "$(daemon_child runner)"
	await 'log_has "running again"'
	log_has "^store: runs without Landlock" || atf_fail "told only once"
	# What there is, there is.
	daemon_stop
	SANDBOXD_LACK=landlock
	daemon_start
	atf_check -o match:"^store .* seccomp.*, missing: landlock$" \
	    "$CTL" status
	atf_check -s exit:64 -e match:"sandbox: changes only with a restart" \
	    sh -c "sed -i /^sandbox/d $CONF; $CTL reload"
	unset SANDBOXD_LACK
	daemon_stop
}
best_effort_cleanup()
{
	daemon_cleanup
}

atf_test_case inherited cleanup
inherited_head()
{
	atf_set descr "(aP5) no descriptor, variable or signal comes from outside"
}
inherited_body()
{
	BIN=$SBX_BIN
	daemon_use main
	DB_HOME=/ http_proxy=http://127.0.0.1:1 TZ=/etc/passwd \
	    MALLOC_ARENA_MAX=1
	export DB_HOME http_proxy TZ MALLOC_ARENA_MAX
	exec 7</etc/passwd 8</ 9>>fill
	trap '' WINCH CONT PIPE
	daemon_start
	trap - WINCH CONT PIPE
	exec 7<&- 8<&- 9>&-
	unset DB_HOME http_proxy TZ MALLOC_ARENA_MAX
	for r in frontend store broker runner; do
		p=$(daemon_child $r) || atf_fail "no $r"
		! tr '\0' '\n' <"/proc/$p/environ" |
		    grep 'DB_HOME\|http_proxy\|TZ=\|MALLOC_ARENA' ||
		    atf_fail "$r has them"
		ls -l "/proc/$p/fd" >fds
		! grep -q 'passwd\|fill\|-> /$' fds || atf_fail "$(cat fds)"
		# PIPE and USR1, USR2, which a build for tests takes; and two
		# that are libc's own.
		sed -n 's/^SigIgn:[	 ]*//p' "/proc/$p/status" >ign
		grep -q '^0000000[01][08]0001[2a]00$' ign ||
		    atf_fail "$r ignores $(cat ign)"
		atf_check_equal 2 \
		    "$(sed -n 's/^Seccomp:[	 ]*//p' "/proc/$p/status")"
	done
	ls -l "/proc/$(daemon_pid)/fd" >fds
	! grep -q '/etc/passwd$\|/fill$\|-> /$' fds || atf_fail "$(cat fds)"
	atf_check_equal 2 "$(sed -n 's/^Seccomp:[	 ]*//p' \
	    "/proc/$(daemon_pid)/status")"
	atf_check -o match:"^store .* seccomp landlock" "$CTL" status
	daemon_stop
}
inherited_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case fields
	atf_add_test_case strict
	atf_add_test_case best_effort
	atf_add_test_case inherited
}
