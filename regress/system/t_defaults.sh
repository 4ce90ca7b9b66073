# A sandbox has what the manual promises when the client asks for nothing.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# field format want: of the sandbox's container, as the Engine shows it.
field()
{
	got=$(engine_docker inspect -f "$1" "$CONTAINER") ||
	    atf_fail "inspect $1"
	[ "$got" = "$2" ] || atf_fail "$1 is $got, not $2"
}

atf_test_case inspect cleanup
inspect_head()
{
	atf_set descr "the Engine's inspect shows the defaults"
	atf_set timeout 300
}
inspect_body()
{
	world
	box -i web -e SECRETISH=1
	CONTAINER=$(_ours)
	field '{{.HostConfig.Memory}}' 2147483648
	field '{{.HostConfig.MemorySwap}}' 2147483648
	# No more than there are.
	n=$(engine_docker info -f '{{.NCPU}}')
	[ "$n" -lt 2 ] || n=2
	field '{{.HostConfig.NanoCpus}}' "${n}000000000"
	field '{{.HostConfig.PidsLimit}}' 512
	field '{{.HostConfig.NetworkMode}}' none
	field '{{.HostConfig.Privileged}}' false
	field '{{.HostConfig.CapAdd}}' '[]'
	field '{{.HostConfig.CapDrop}}' '[ALL]'
	field '{{.HostConfig.LogConfig.Type}}' none
	field '{{.HostConfig.RestartPolicy.Name}}' no
	field '{{.HostConfig.PublishAllPorts}}' false
	field '{{.HostConfig.Binds}}' '[]'
	field '{{.HostConfig.Devices}}' '[]'
	field '{{.HostConfig.PidMode}}' ''
	field '{{.HostConfig.UTSMode}}' ''
	field '{{.HostConfig.UsernsMode}}' ''
	field '{{.Config.Hostname}}' web
	field '{{.Config.WorkingDir}}' /workspace
	field '{{index .Config.Labels "sandboxd.id"}}' web
	field '{{index .Config.Labels "sandboxd.owner"}}' 0
	engine_docker inspect -f '{{.HostConfig.SecurityOpt}}' "$CONTAINER" \
	    >opts
	atf_check -o ignore grep no-new-privileges opts
	atf_check -o ignore grep seccomp= opts
	engine_docker inspect -f '{{.Config.User}}' "$CONTAINER" >user
	atf_check -o match:'^[1-9][0-9]*:[1-9][0-9]*$' cat user
	daemon_stop
}
inspect_cleanup()
{
	daemon_cleanup
}

atf_test_case inside cleanup
inside_head()
{
	atf_set descr 'a command inside sees them'
	atf_set timeout 300
}
inside_body()
{
	world
	box -m 64M -c 0.5 -p 40
	x="$CTL exec $BOX"
	atf_check -o inline:"/workspace\n" $x pwd
	atf_check -o inline:"/workspace\n" $x sh -c 'echo $HOME'
	atf_check -o not-inline:"0\n" $x id -u
	atf_check -o inline:"0000000000000000\n0000000000000000\n" $x sh -c \
	    'sed -n "s/^Cap\(Eff\|Bnd\):.//p" /proc/self/status'
	atf_check -o match:'NoNewPrivs:.1' -o match:'Seccomp:.2' \
	    $x cat /proc/self/status
	atf_check $x sh -c 'touch /workspace/a /tmp/b /c 2>/dev/null ||
	    touch /workspace/a /tmp/b'
	# /tmp runs programs; neither place honours set-uid bits or devices.
	atf_check $x sh -c 'cp /bin/busybox /tmp/true && /tmp/true'
	atf_check -o match:'nosuid.*nodev|nodev.*nosuid' $x sh -c \
	    'grep " /workspace " /proc/self/mountinfo'
	atf_check -o match:'nosuid.*nodev|nodev.*nosuid' $x sh -c \
	    'grep " /tmp " /proc/self/mountinfo'
	# Only the loopback.
	atf_check -o inline:"lo\n" $x ls /sys/class/net
	# The guest's own reading of its limits agrees with what was asked.
	atf_check -o save:show "$CTL" -j show "$BOX"
	for f in '"memory": *67108864' '"memory_seen": *67108864' \
	    '"mcpus": *500' '"mcpus_seen": *500' '"pids": *40' \
	    '"pids_seen": *40'; do
		grep -q "$f" show || atf_fail "no $f in $(cat show)"
	done
	daemon_stop
}
inside_cleanup()
{
	daemon_cleanup
}

atf_test_case survives_stop cleanup
survives_stop_head()
{
	atf_set descr 'the workspace is kept over stop and resume'
	atf_set timeout 300
}
survives_stop_body()
{
	world
	box -i keep
	atf_check "$CTL" exec keep sh -c 'echo kept >file'
	atf_check -o ignore "$CTL" stop keep
	atf_check -o match:stopped "$CTL" show keep
	atf_check -s not-exit:0 -e match:wrong_state "$CTL" exec keep true
	atf_check -o ignore "$CTL" resume keep
	atf_check -o inline:"kept\n" "$CTL" exec keep cat file
	atf_check -o ignore "$CTL" delete keep
	atf_check -o ignore "$CTL" delete keep
	nothing_left
	atf_check -s not-exit:0 -e match:already_exists "$CTL" create -i keep
	daemon_stop
}
survives_stop_cleanup()
{
	daemon_cleanup
}

atf_test_case no_image cleanup
no_image_head()
{
	atf_set descr '(b23) an image that is not there is named in the error'
	atf_set timeout 300
}
no_image_body()
{
	world 'policy { image allow "*" }'
	atf_check -s not-exit:0 -e match:'nosuch:1' "$CTL" create -I nosuch:1
	nothing_left
	daemon_stop
}
no_image_cleanup()
{
	daemon_cleanup
}

atf_test_case policy cleanup
policy_head()
{
	atf_set descr '(aH6) what the policy forbids is refused, before it' \
	    'is made'
	atf_set timeout 300
}
policy_body()
{
	world 'policy { image allow "sandbox-*" }
		limits { sandboxes 2 memory 128M }
		defaults { memory 64M }'
	atf_check -s not-exit:0 -e match:policy_denied "$CTL" create -I alpine
	for u in root 0; do
		atf_check -s not-exit:0 -e match:"user.*policy_denied" \
		    "$CTL" create -u $u
	done
	atf_check -s not-exit:0 -e match:limit_exceeded "$CTL" create -m 129M
	[ -z "$(_ours)" ] || atf_fail "a container was made"
	atf_check -o ignore "$CTL" create -m 128M
	atf_check -o ignore "$CTL" create
	atf_check -s not-exit:0 -e match:limit_exceeded "$CTL" create
	daemon_stop
}
policy_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case inspect
	atf_add_test_case inside
	atf_add_test_case survives_stop
	atf_add_test_case no_image
	atf_add_test_case policy
}
