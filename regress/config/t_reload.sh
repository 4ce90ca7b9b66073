# The configuration of a running daemon.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

atf_test_case reload cleanup
reload_head()
{
	atf_set descr "a valid file takes the place of the old one"
}
reload_body()
{
	daemon_start 'policy { image deny "sandbox-base" }'
	atf_check -o ignore "$CTL" image base
	atf_check -s not-exit:0 -e match:"policy_denied" "$CTL" create -i a
	daemon_conf
	atf_check -o ignore "$CTL" reload
	atf_check -o ignore "$CTL" create -i a
	# By the signal as well.
	daemon_conf 'policy { image deny "sandbox-base" }'
	kill -HUP "$(daemon_pid)"
	await '! "$CTL" run true 2>err && grep -q policy_denied err'
	atf_check -o ignore "$CTL" delete a
	daemon_stop
}
reload_cleanup()
{
	daemon_cleanup
}

atf_test_case invalid cleanup
invalid_head()
{
	atf_set descr "(c44) an invalid file is told by its lines and changes nothing"
}
invalid_body()
{
	daemon_start
	daemon_conf 'defaults { memory lots }
		nonsense here'
	atf_check -s not-exit:0 -e match:"invalid configuration" \
	    -e match:"sandboxd.conf:5: invalid memory: lots" \
	    -e match:"sandboxd.conf:6: syntax error" "$CTL" reload
	kill -HUP "$(daemon_pid)"
	await 'log_has "kept as it was"'
	atf_check -o ignore "$CTL" ping
	daemon_conf
	sed "s,^socket .*,socket \"$D/other\"," "$CONF" >c && cat c >"$CONF"
	atf_check -s not-exit:0 \
	    -e match:"socket: changes only with a restart" "$CTL" reload
	atf_check -o ignore "$CTL" ping
	daemon_conf
	atf_check -o ignore "$CTL" reload
	daemon_stop
}
invalid_cleanup()
{
	daemon_cleanup
}

atf_test_case others cleanup
others_head()
{
	atf_set descr "only root may have the file read again"
}
others_body()
{
	daemon_start
	new_uid
	! as_user $NEW_UID "$CTL" reload 2>err ||
	    atf_fail "a user has reloaded it"
	atf_check -o match:"permission_denied" cat err
	! log_has "configuration reloaded" || atf_fail "it was read again"
	daemon_stop
}
others_cleanup()
{
	daemon_cleanup
}

# Soft and hard limit of a process, by name.
limit_of()
{
	sed -n "s/^$2 *\([^ ]*\) *\([^ ]*\) .*/\1 \2/p" "/proc/$1/limits"
}

# What the processes have at their start is all that they get.
grown()
{
	for r in frontend store broker runner; do
		p=$(daemon_child "$r") || atf_fail "no $r"
		echo "$r $p" $(limit_of "$p" "Max address space") \
		    $(limit_of "$p" "Max open files")
	done
}

atf_test_case room cleanup
room_head()
{
	atf_set descr "limits that the processes have no room for are refused"
}
room_body()
{
	daemon_start "limits { sandboxes 2
		execs 2
		clients 8 }"
	grown >before
	# Up to the defaults there is room.
	daemon_conf "limits { sandboxes 200
		execs 1000
		clients 512 }"
	atf_check "$CTL" reload
	for l in "sandboxes 20000" "execs 20000" "clients 10000"; do
		daemon_conf "limits { $l }"
		atf_check -s not-exit:0 -e match:"limits: .* would need [0-9]* \
[MiBdescriptors]*, and was started with [0-9]*: changes only with a restart" \
		    "$CTL" reload
		log_has "kept as it was" || atf_fail "$l: no line"
		log_cut
	done
	grown >after
	atf_check cmp before after
	# As it says: who answers so many clients has more then.
	daemon_stop
	daemon_start
	atf_check "$CTL" reload
	grown >after
	paste -d ' ' before after >both
	# Those with sanitizers have no limit of the first.
	atf_check awk '$1 ~ /frontend|runner/ && (($4 != "unlimited" &&
	    $4 + 0 >= $10 + 0) || $6 + 0 > $12 + 0)' both
	daemon_stop
}
room_cleanup()
{
	daemon_cleanup
}

MANY="restart 1000 per 1s"
SMALL="limits { sandboxes 1
	log 1M per exec }"

# What the store and the runner go by: large or small limits.
in_force()
{
	e=$("$CTL" exec -d box head -c 3000000 /dev/zero) ||
	    atf_fail "$1: no exec"
	atf_check -o ignore "$CTL" wait "$e"
	n=$("$CTL" logs "$e" 2>err | wc -c)
	case $1 in
	large)
		atf_check -o save:other "$CTL" create
		atf_check -o ignore "$CTL" delete "$(cat other)"
		atf_check_equal "$n" 3000000
		;;
	small)
		atf_check -s not-exit:0 -e match:"sandboxes: limit 1 in all, 1 in use" \
		    "$CTL" create
		[ "$n" -lt 2000000 ] || atf_fail "a log of $n bytes"
		;;
	esac
}

# hup role regexp: the file is read again while one of the children, who has
# not heard of it yet, dies
hup()
{
	p=$(daemon_child "$1") || atf_fail "no $1"
	kill -STOP "$p"
	log_cut
	kill -HUP "$(daemon_pid)"
	await 'log_has "'"$2"'"'
	kill -KILL "$p"
	await 'log_has "^running again"'
	await '[ "$("$CTL" exec box echo hi 2>err)" = hi ]'
	await daemon_engine_is_up
}

atf_test_case torn cleanup
torn_head()
{
	atf_set descr "(aR6) all children have a new configuration or none, one" \
	    "of which dies in between"
	atf_set timeout 600
}
torn_body()
{
	world "$MANY"
	box -i box
	in_force large
	for r in frontend store broker runner; do
		daemon_conf "$MANY
$SMALL"
		hup $r "^configuration reloaded"
		in_force small
		daemon_conf "$MANY
			nonsense here"
		hup $r "kept as it was"
		in_force small
		daemon_conf "$MANY"
		hup $r "^configuration reloaded"
		in_force large
	done
	atf_check -o ignore "$CTL" delete box
	nothing_left
	daemon_stop
}
torn_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case room
	atf_add_test_case torn
	atf_add_test_case reload
	atf_add_test_case invalid
	atf_add_test_case others
}
