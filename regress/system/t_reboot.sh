# The host goes down in the middle of everything, and comes up again: what
# dies with it is simulated, as is the number that the kernel has for a start.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# Nothing that runs or is mounted outlives it; all files do.
host_down()
{
	local ids m

	daemon_kill
	ids=$(_ours)
	# shellcheck disable=SC2086
	[ -z "$ids" ] || timeout 120 docker -H "unix://$ENGINE" kill $ids \
	    >/dev/null 2>&1
	for m in $(awk -v d="$STATE/" 'index($5, d) == 1 { print $5 }' \
	    /proc/self/mountinfo | sort -r); do
		umount "$m" || atf_fail "umount $m"
	done
}

field()
{
	"$CTL" show "$1" | sed -n "s/^$2  *//p"
}

# One that was being made is made, or is not, and that is told.
settled()
{
	case $("$CTL" show half 2>/dev/null | sed -n 's/^state  *//p') in
	ready|stopped|failed|"")	return 0 ;;
	esac
	return 1
}

atf_test_case reboot cleanup
reboot_head()
{
	atf_set descr '(c43) the host is started again in the middle of all'
	atf_set timeout 600
}
reboot_body()
{
	bin=$BIN
	BIN=$SBX_FAULTBIN
	DAEMON_ENV="SANDBOXD_BOOT=one"
	world
	box -i run -T 1h
	box -i still
	box -i disk -S 16M
	atf_check "$CTL" exec disk sh -c 'echo kept >kept; sync'
	atf_check "$CTL" stop still
	e=$("$CTL" exec -d run sh -c 'echo begun; sleep 1000000')
	await '"$CTL" logs "$e" | grep -q begun'
	# As much as there is time for, but no more than the disk can bear.
	yes | head -c 4000000000 | "$CTL" put -a run - big >out 2>err &
	put=$!
	await '"$CTL" exec run ls -A | grep -q sandboxd-'
	"$CTL" create -d -i half >out2 2>err2
	"$CTL" stop -d disk >out3 2>err3
	host_down
	wait $put && atf_fail "all of it was put"
	DAEMON_ENV="SANDBOXD_BOOT=two"
	daemon_start
	await daemon_engine_is_up
	await '[ "$(field run state)" = stopped ]'
	atf_check -o match:'^cause +host_restart' "$CTL" show run
	await '[ "$(field disk state)" = stopped ]'
	atf_check -o match:'^state +stopped' "$CTL" show still
	await settled 120
	# What ran is lost, and says so; its output is there.
	atf_check -s not-exit:0 -o ignore -e match:host_restart "$CTL" wait "$e"
	atf_check -o inline:'begun\n' "$CTL" logs "$e"
	# How long it may live is not forgotten.
	atf_check -o match:'^next +delete in .*, by lifetime' "$CTL" show run
	for b in run still disk; do
		atf_check -o ignore "$CTL" resume $b
	done
	atf_check -o inline:'kept\n' "$CTL" exec disk cat kept
	atf_check -s not-exit:0 -e match:file_not_found "$CTL" cat run big
	atf_check -o match:'^events' "$CTL" log verify
	for b in run still disk half; do
		"$CTL" delete $b >/dev/null 2>&1 || :
	done
	nothing_left
	daemon_stop
	BIN=$bin
}
reboot_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case reboot
}
