# What protects the host, told to whom may know it.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# control name: its line of JSON.
control()
{
	grep "^{\"name\":\"$1\"," all.json || atf_fail "no $1: $(cat all.json)"
}

atf_test_case doctor cleanup
doctor_head()
{
	atf_set descr 'each control has a state and a proof, and what to do'
	atf_set timeout 300
}
doctor_body()
{
	new_uid
	daemon_start
	await daemon_engine_is_up
	"$CTL" -j doctor >all.json
	[ $? = 1 ] || atf_fail "reserve is not enforced, and it left with 0"
	[ "$(wc -l <all.json)" -ge 18 ] || atf_fail "$(cat all.json)"
	grep -Ev '^\{"name":"[a-z-]+","state":"(enforced|degraded|absent)",'\
'"proof":".+","advice":".*"\}$' all.json && atf_fail "no proof"
	grep '"state":"enforced"' all.json | grep -v '"advice":""}$' &&
	    atf_fail "advice where none is needed"
	grep -v '"state":"enforced"' all.json | grep '"advice":""}$' &&
	    atf_fail "no advice"
	control process-parent | grep -q "pid $(daemon_pid), user root" ||
	    atf_fail "$(cat all.json)"
	for c in frontend store broker runner; do
		control process-$c | grep -q 'pid [0-9]*, user _sbx' ||
		    control process-$c | grep -q 'user _sandboxd' ||
		    atf_fail "$(cat all.json)"
	done
	# What is the same on all hosts of this suite.
	control engine | grep -q 'API 1\.' || atf_fail "$(cat all.json)"
	control socket | grep -qF "$SOCK: owner 0" ||
	    atf_fail "$(cat all.json)"
	control state | grep -qF "$STATE: owner 0" ||
	    atf_fail "$(cat all.json)"
	control reserve | grep -q '"state":"absent"' ||
	    atf_fail "$(cat all.json)"
	# As text: a line for each, then the advice.
	"$CTL" doctor >text && atf_fail "it left with 0"
	head -n 1 text | grep -q '^CONTROL  *STATE  *PROOF$' ||
	    atf_fail "$(cat text)"
	grep -q '^reserve: ' text || atf_fail "$(cat text)"
	# Looked at anew: what somebody has opened since.
	control socket | grep -q '"state":"absent"' &&
	    atf_fail "$(cat all.json)"
	chmod 0666 "$SOCK"
	atf_check -s exit:1 -o match:'^socket  *absent .*mode 0666' \
	    -o match:'^socket: ' -o not-match:reserve "$CTL" doctor socket
	chmod 0660 "$SOCK"
	atf_check -s exit:66 -o ignore -e match:'no control: nosuch' \
	    "$CTL" doctor socket nosuch
	# Who is no administrator learns nothing of it.
	as_user "$NEW_UID" "$CTL" doctor >out 2>err
	[ $? = 77 ] || atf_fail "a user: $(cat out err)"
	[ ! -s out ] || atf_fail "a user: $(cat out)"
	grep -q permission_denied err || atf_fail "$(cat err)"
	daemon_conf "allow admin user $NEW_UID"
	atf_check "$CTL" reload
	as_user "$NEW_UID" "$CTL" doctor engine >out 2>err || :
	grep -q '^engine ' out || atf_fail "an administrator: $(cat err)"
	daemon_stop
}
doctor_cleanup()
{
	daemon_cleanup
}

atf_test_case away cleanup
away_head()
{
	atf_set descr 'what nobody could look at is not enforced'
	atf_set timeout 300
}
away_body()
{
	daemon_use main
	ENGINE=$D/nothing
	daemon_start
	"$CTL" -j doctor >all.json
	[ $? = 1 ] || atf_fail "it left with 0"
	for c in engine rootless userns seccomp apparmor cgroup limit-memory \
	    limit-swap limit-cpus limit-pids quota live-restore \
	    engine-socket engine-group; do
		control $c | grep -q '"state":"absent"' ||
		    atf_fail "$(cat all.json)"
	done
	control socket | grep -q '"state":"absent"' &&
	    atf_fail "$(cat all.json)"
	daemon_stop
}
away_cleanup()
{
	daemon_cleanup
}

atf_test_case box cleanup
box_head()
{
	atf_set descr 'a sandbox shows what protects it, also without an Engine'
	atf_set timeout 300
}
# state control: of the sandbox, out of ./shown
state()
{
	sed -n "s/^$1  *\(enforced\|degraded\|absent\)  *.*/\1/p" shown
}
box_body()
{
	world
	box -m 64M -p 50
	atf_check -o save:shown "$CTL" show "$BOX"
	[ "$(sed -n '/^CONTROL/,$p' shown | wc -l)" = 18 ] ||
	    atf_fail "$(cat shown)"
	for c in user capabilities no-new-privileges seccomp namespaces \
	    network runtime masked-paths mounts; do
		atf_check_equal "$c enforced" "$c $(state $c)"
	done
	grep -q '^user  *enforced  *User is 2[0-9]*:2[0-9]*$' shown ||
	    atf_fail "$(cat shown)"
	# As it was asked for: nothing bounds these.
	atf_check_equal absent "$(state read-only-root)"
	atf_check_equal absent "$(state limit-disk)"
	# Where the Engine can, the guest sees that it does.
	"$CTL" -j doctor >all.json
	for c in limit-memory limit-pids limit-cpus; do
		if control $c | grep -q '"state":"enforced"'; then
			atf_check_equal "$c enforced" "$c $(state $c)"
		fi
	done
	if [ "$(state limit-memory)" = enforced ]; then
		grep -q '^limit-memory .*asked for 67108864, Memory is 67108864,'\
' the guest reads 67108864$' shown || atf_fail "$(cat shown)"
	fi
	atf_check -o match:'"controls":\[\{"name":"user","state":"enforced",' \
	    -o match:'\{"name":"limit-disk","state":"absent","proof":"/tmp is '\
'bounded to [0-9]+ MiB;[^"]*","advice":"[^"]+"\}\]\}$' "$CTL" -j show "$BOX"
	daemon_stop
	# What was seen is kept.
	sed -n '/^CONTROL/,$p' shown >before
	ENGINE=$D/nothing
	daemon_conf
	daemon_start
	"$CTL" show "$BOX" | sed -n '/^CONTROL/,$p' >after
	atf_check -o empty diff before after
	daemon_stop
}
box_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case box
	atf_add_test_case doctor
	atf_add_test_case away
}
