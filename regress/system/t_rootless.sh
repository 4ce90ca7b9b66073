# A rootless Engine: what takes over the broker has its user's rights, and no
# more.  It is started as an administrator would, for a user who exists in a
# mount namespace of the test alone, so that no file of the host's changes.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# R, the Engine's folder; RUID, its user "rl"; RSUB, the first of his others.
rootless_user()
{
	R=$(mktemp -d "$SBX_SCRATCH/r.XXXXXX") || atf_fail "no scratch folder"
	new_uid
	RUID=$NEW_UID
	RSUB=$((200000000 + $$ % 10000 * 131072))
	echo "R=$R RUID=$RUID RSUB=$RSUB" >rootless
	mkdir "$R/etc" "$R/home" "$R/data" "$R/x" "$R/sock"
	cp /etc/passwd /etc/group "$R/etc"
	echo "rl:x:$RUID:$RUID::$R/home:/bin/sh" >>"$R/etc/passwd"
	echo "rl:x:$RUID:" >>"$R/etc/group"
	# Two ranges, and one of somebody else between them.
	cat >"$R/etc/subuid" <<-EOT
		rl:$RSUB:20000
		someone:1900000000:65536
		rl:$((RSUB + 40000)):45536
	EOT
	cp "$R/etc/subuid" "$R/etc/subgid"
	# The host may be one that shares no mounts; the Engine must see ours.
	cat >"$R/space" <<-EOT
		set -e
		mount --make-rprivate /
		mount --make-rshared /
		for f in passwd group subuid subgid; do
			[ -e /etc/\$f ] || { : >/etc/\$f; echo \$f >>$R/made; }
			mount --bind $R/etc/\$f /etc/\$f
		done
		exec "\$@"
	EOT
	chmod 755 "$R" "$R/sock"
	chown "$RUID:$RUID" "$R/home" "$R/data" "$R/x" "$R/sock"
}

rootless_engine()
{
	ENGINE=$R/sock/docker.sock
	script=$(command -v dockerd-rootless.sh) ||
	    script=/usr/share/docker.io/contrib/dockerd-rootless.sh
	unshare -m sh "$R/space" setpriv --reuid "$RUID" --regid "$RUID" \
	    --clear-groups env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	    HOME="$R/home" XDG_RUNTIME_DIR="$R/x" \
	    DOCKERD_ROOTLESS_ROOTLESSKIT_NET=host \
	    DOCKERD_ROOTLESS_ROOTLESSKIT_PORT_DRIVER=none \
	    DOCKERD_ROOTLESS_ROOTLESSKIT_FLAGS="--state-dir=$R/x/kit" \
	    sh "$script" --rootless \
	    --data-root "$R/data" --exec-root "$R/x/exec" -p "$R/x/pid" \
	    -H "unix://$ENGINE" --bridge=none --iptables=false \
	    --ip-forward=false --ip-masq=false </dev/null >engine.log 2>&1 &
	echo $! >engine.pid
	DAEMON_ENV="nsenter -m -t $(cat engine.pid)"
	await 'engine_docker version >/dev/null 2>&1 ||
	    _gone "$(cat engine.pid)"' 120
	engine_docker version >/dev/null 2>&1 || {
		tail -n 40 engine.log >&2
		atf_fail "no rootless Engine"
	}
}

# Those of the user and of his ranges: they are nobody else's.
rootless_pids()
{
	local p u

	for p in /proc/[0-9]*; do
		u=$(awk '/^Uid:/ { print $2 }' "$p/status" 2>/dev/null)
		[ -n "$u" ] || continue
		if [ "$u" -eq "$RUID" ] ||
		    [ "$u" -ge "$RSUB" -a "$u" -lt $((RSUB + 90000)) ]; then
			echo "${p#/proc/}"
		fi
	done
}

rootless_cleanup()
{
	local n p

	[ -f rootless ] || return 0
	. ./rootless
	ENGINE=$R/sock/docker.sock
	daemon_cleanup
	# Its mounts go with its processes.
	n=300
	while [ -n "$(rootless_pids)" ] && [ "$n" -gt 0 ]; do
		for p in $(rootless_pids); do
			kill -KILL "$p" 2>/dev/null
		done
		n=$((n - 1))
		sleep 0.1
	done
	for p in $(cat "$R/made" 2>/dev/null); do
		[ -s "/etc/$p" ] || rm -f "/etc/$p"
	done
	rm -rf "$R"
}

# control name state
control()
{
	"$CTL" doctor "$1" >control.txt
	grep -q "^$1  *$2 " control.txt || atf_fail "$(cat control.txt)"
}

atf_test_case rootless cleanup
rootless_head()
{
	atf_set descr '(aB3) a rootless Engine runs sandboxes and is not root'
	atf_set timeout 600
}
rootless_body()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups unshare -Ur true \
	    2>refused || {
		untried "$(cat refused)"
		return 0
	}
	rootless_user
	rootless_engine
	daemon_use main

	# Its sandboxes have other numbers on the host: it must be known.
	daemon_start
	await '"$CTL" status | grep -q "away: it is rootless: name its user"'
	daemon_stop

	# What it cannot limit is refused, and told.
	none=$(engine_docker info -f '{{.CgroupDriver}}')
	daemon_conf
	sed -i 's/^engine .*/& user "rl"/' "$CONF"
	daemon_start
	await daemon_engine_is_up
	atf_check -o ignore -e ignore "$CTL" image base
	control rootless enforced
	control userns enforced
	control engine-socket enforced
	control engine-group enforced
	control state enforced
	if [ "$none" = none ]; then
		atf_check -s exit:77 \
		    -e match:'limit not enforceable: memory .policy_denied' \
		    "$CTL" create
		atf_check -o match:'^not limited *memory swap cpus pids$' \
		    "$CTL" status
		control limit-pids degraded
	fi
	echo "policy { unenforced memory swap cpus pids }" >>"$CONF"
	atf_check "$CTL" reload
	[ "$none" != none ] || control limit-pids absent

	# From the first to the last, and over a death of ours.
	box
	"$CTL" show "$BOX" >show.txt
	n=$(awk '$1 == "number" { print $2; exit }' show.txt)
	u=$(awk '$1 == "user" { print $2; exit }' show.txt)
	h=$((RSUB + u - 1))
	echo in | atf_check -o inline:"$u\nin\n" "$CTL" exec "$BOX" \
	    sh -c 'id -u; tee file'
	[ "$(stat -c %u:%g:%a "$STATE/work/$n")" = "$h:$h:700" ] &&
	    [ "$(stat -c %u:%g "$STATE/work/$n/file")" = "$h:$h" ] ||
	    atf_fail "$h: $(stat -c '%u:%g %n' "$STATE/work/$n/file")"
	atf_check -o match:'^1000000$' "$CTL" exec "$BOX" sh -c \
	    'head -c 1000000 /dev/zero | wc -c'
	"$CTL" exec "$BOX" head -c 1000000 /dev/zero >out || atf_fail "output"
	[ "$(wc -c <out)" -eq 1000000 ] || atf_fail "$(wc -c <out) bytes"
	atf_check -s exit:3 "$CTL" exec "$BOX" sh -c 'exit 3'
	daemon_kill
	daemon_start
	await daemon_engine_is_up
	atf_check -o inline:"in\n" "$CTL" exec "$BOX" cat file
	atf_check "$CTL" stop "$BOX"
	atf_check -o ignore "$CTL" resume "$BOX"
	atf_check -o inline:"in\n" "$CTL" exec "$BOX" cat file

	# Who has the socket, as the broker has it, can nothing of root's.
	mkdir -m 700 "$R/canary"
	echo secret >"$R/canary/file"
	echo open >"$R/open"
	atf_check -s exit:1 -o inline:"open\n" \
	    -e match:'canary/file.*Permission denied' \
	    -e match:'events.db.*Permission denied' \
	    -e match:'instance.*Permission denied' \
	    docker -H "unix://$ENGINE" run --rm --network none --privileged \
	    -v "$R:/r" -v "$STATE:/s" --entrypoint /bin/cat sandbox-base \
	    /r/open /r/canary/file /s/db/events.db /s/instance
	# Other users of the host do not come to the guests' sockets.
	new_uid
	atf_check -s exit:1 -e match:'Permission denied' \
	    setpriv --reuid "$NEW_UID" --regid "$NEW_UID" --clear-groups \
	    find "$STATE/runner/sock"

	atf_check "$CTL" delete "$BOX"
	nothing_left
	daemon_stop
}

atf_test_case conf cleanup
conf_head()
{
	atf_set descr 'the numbers that a rootless Engine can give'
}
conf_body()
{
	rootless_user
	S="unshare -m sh $R/space $SBX_BIN/sandboxd -n -f $PWD/a.conf"
	E='engine "unix:///run/x.sock"'
	echo "$E user rl" >a.conf
	atf_check -o match:'^engine "unix:///run/x.sock" user "rl"$' \
	    -o match:'^uid 10000 to 59999$' -e ignore $S -v
	echo "$E group daemon user rl" >a.conf
	atf_check -o match:'^engine .* group "daemon" user "rl"$' -e ignore \
	    $S -v
	cp a.conf b.conf
	while read -r text; do
		read -r want
		printf '%b\n' "$text" >a.conf
		atf_check -s exit:1 -e match:"a.conf:$want" $S
	done <<-EOT
		$E user nosuch
		1: invalid user: nosuch: no such user
		$E user root
		1: invalid user: root: is root
		$E user daemon
		1: invalid user: daemon: has no range in /etc/subuid
		$E user rl user rl
		1: invalid user: rl: already named
		$E group daemon group bin
		1: invalid group: bin: already named
		$E user rl\nuid 10000 to 65537
		2: uid 10000 to 65537: /etc/subuid gives 1 to 65536 to user rl
		uid 2000000000 to 2000000010\n$E user rl
		1: uid 2000000000 to 2000000010: /etc/subuid gives
	EOT
	# One of them is a user of the host: in the second range, number 20001.
	echo "other:x:$((RSUB + 40000)):1::/:/bin/sh" >>"$R/etc/passwd"
	echo "$E user rl" >a.conf
	atf_check -s exit:1 -e match:'uid 10000 to 59999: contains user other' \
	    $S
	printf '%s user rl\nuid 10000 to 20000\n' "$E" >a.conf
	atf_check -e ignore $S
	printf '%s user rl\nuid 20002 to 50000\n' "$E" >a.conf
	atf_check -e ignore $S
	printf '%s user rl\nuid 20001 to 50000\n' "$E" >a.conf
	atf_check -s exit:1 -e match:'contains user other' $S
}

conf_cleanup()
{
	rootless_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case rootless
	atf_add_test_case conf
}
