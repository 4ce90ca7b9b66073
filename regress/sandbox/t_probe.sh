# What each process may and may not do, tried from within it.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"

BIN=$SBX_FAULTBIN

# probed role [text]: a daemon in which it tries all; results in ./role
probed()
{
	SANDBOXD_PROBE=$1:all
	export SANDBOXD_PROBE
	daemon_use "$1"
	daemon_start "${2:-}"
	unset SANDBOXD_PROBE
	role=$1
	await 'log_has "^$role: probe ends"'
	sed -n "s/^$1: probe \([a-z0-9_]*\): /\1 /p" "$LOG" >"$1"
	# It goes on, and serves.
	atf_check -o ignore "$CTL" ping
	! log_has " died: " || atf_fail "$1 has died"
	daemon_stop
}

# expected column: of the table, by role
expected()
{
	while read -r call a b c d e; do
		case $call in
		'#'* | '') continue ;;
		esac
		if [ "$a" = '*' ]; then
			[ "${ASAN:-no}" != yes ] || continue
			a=$b b=$c c=$d d=$e
		fi
		case $1 in
		frontend) echo "$call $a" ;;
		store) echo "$call $b" ;;
		broker) echo "$call $c" ;;
		runner) echo "$call $d" ;;
		esac
	done <"$(atf_get_srcdir)/probes" | sort
}

compare()
{
	probed "$1"
	expected "$1" >want
	[ "$(wc -l <want)" -gt 40 ] || atf_fail "no table"
	cut -d' ' -f1 want | while read -r c; do
		grep "^$c " "$1" || echo "$c was not tried"
	done >got
	atf_check cmp -s want got || {
		diff want got >&2
		atf_fail "$1 can do otherwise"
	}
}

# case_of role "text"
case_of()
{
	atf_test_case "$1" cleanup
	eval "${1}_head()
	{
		atf_set descr '$2'
	}
	${1}_body()
	{
		compare $1
	}
	${1}_cleanup()
	{
		daemon_cleanup
	}"
}

case_of frontend "(aF4) the frontend opens, makes, signals and runs nothing"
case_of store "(aS1) the store has its files and nothing else"
case_of broker "(aB1) the broker has one kind of socket and no file"
case_of runner "the runner listens, and has its logs"

# What the other layers are worth: the same, without the filters.
atf_test_case unfiltered cleanup
unfiltered_head()
{
	atf_set descr "without its filter a process is still held by the rest"
}
unfiltered_body()
{
	SANDBOXD_LACK=seccomp
	export SANDBOXD_LACK
	probed broker "sandbox best-effort"
	v=$(sed -n 's/^broker.* is ready: .*Landlock \([0-9]*\)$/\1/p' "$LOG")
	tcp=ECONNREFUSED
	[ "$v" -lt 4 ] || tcp=EACCES
	exec=EACCES
	[ "${ASAN:-no}" != yes ] || exec=works
	while read -r call want; do
		grep "^$call " broker | grep -q " $want$" ||
		    atf_fail "$(grep "^$call " broker), not $want"
	done <<-EOT
		open EACCES
		root EACCES
		creat EACCES
		connect_inet $tcp
		execve EACCES
		fork EAGAIN
		ptrace EPERM
		kill EPERM
		mprotect_exec $exec
		setuid EPERM
		mount EPERM
		chroot EPERM
	EOT
	probed runner "sandbox best-effort"
	grep -q "^root EACCES" runner || atf_fail "the runner reads its root"
	unset SANDBOXD_LACK
}
unfiltered_cleanup()
{
	daemon_cleanup
}

# attempted role what: it has done that, and its set or the daemon has ended
attempted()
{
	SANDBOXD_PROBE=$1:$2
	export SANDBOXD_PROBE
	daemon_use main
	daemon_conf
	daemon_run
	unset SANDBOXD_PROBE
	# Before the database was open it ends the start, later only the set.
	await 'log_has "running again" || _gone "$(daemon_pid)"'
}

# died role call how: it tried that, and the log says what it died of
died()
{
	attempted "$1" "$2"
	log_has "^$1\[[0-9]*\] died: killed by SIGSYS (forbidden system call$3" ||
	    atf_fail "$1, $2: the log does not tell"
	! log_has "^$1: probe $2:" || atf_fail "$1 outlived $2"
	_gone "$(daemon_pid)" || daemon_stop
	log_cut
}

atf_test_case forbidden cleanup
forbidden_head()
{
	atf_set descr "(c10) who makes a forbidden call dies, and it is named"
}
forbidden_body()
{
	sigsys_meant
	died frontend socket_inet " [0-9]*, socket)"
	died store ptrace " [0-9]*, ptrace)"
	died broker execve " [0-9]*, execve)"
	died runner kill " [0-9]*, kill)"
	# As in every other build: the kernel ends it there and then.
	SANDBOXD_TRAP=no
	export SANDBOXD_TRAP
	died frontend bpf ")"
	died store fork ")"
	died broker mmap_exec ")"
	died runner connect_inet ")"
	unset SANDBOXD_TRAP
}
forbidden_cleanup()
{
	daemon_cleanup
}

# starved role: it has no memory left, and the log says so of it
starved()
{
	attempted "$1" starve
	log_has "^$1: fatal: " || atf_fail "$1: the log does not tell its end"
	_gone "$(daemon_pid)" || daemon_stop
	log_cut
}

atf_test_case memory cleanup
memory_head()
{
	atf_set descr "who has no memory left ends, and it is named"
}
memory_body()
{
	[ "${ASAN:-no}" != yes ] || {
		untried "the sanitizers' memory has no bound"
		return 0
	}
	for r in frontend store broker runner; do
		starved $r
	done
}
memory_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case memory
	atf_add_test_case frontend
	atf_add_test_case store
	atf_add_test_case broker
	atf_add_test_case runner
	atf_add_test_case unfiltered
	atf_add_test_case forbidden
}
