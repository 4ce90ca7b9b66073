# The parent: its children and what they may, their deaths, and its own start
# and end.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"

ROLES="frontend store broker runner"
MANY="restart 1000 per 60s"

user_of()
{
	case $1 in
	frontend) echo _sandboxd ;;
	store) echo _sbxstore ;;
	broker) echo _sbxbroker ;;
	runner) echo _sbxrun ;;
	esac
}

field()
{
	sed -n "s/^$2:[	 ]*//p" "/proc/$1/status" | tr '\t' ' ' |
	    sed 's/ *$//'
}

# same pid path: is that its root directory?
rooted()
{
	[ "$(stat -L -c %d:%i "/proc/$1/root")" = "$(stat -c %d:%i "$2")" ] ||
	    atf_fail "pid $1 has another root directory than $2"
}

atf_test_case credentials cleanup
credentials_head()
{
	atf_set descr "each child has a user of its own and no rights"
}
credentials_body()
{
	daemon_start
	uids=
	for r in $ROLES; do
		p=$(daemon_child $r) || atf_fail "no $r"
		u=$(id -u "$(user_of $r)")
		g=$(id -g "$(user_of $r)")
		atf_check_equal "$u $u $u $u" "$(field $p Uid)"
		atf_check_equal "$g $g $g $g" "$(field $p Gid)"
		for c in CapInh CapPrm CapEff CapBnd CapAmb; do
			atf_check_equal 0000000000000000 "$(field $p $c)"
		done
		atf_check_equal 1 "$(field $p NoNewPrivs)"
		atf_check_equal 1 "$(field $p Threads)"
		# What is not dumpable has its files in /proc owned by root.
		atf_check_equal 0 "$(stat -c %u /proc/$p/maps)"
		case $r in
		broker)
			atf_check_equal "$(stat -c %g "$ENGINE")" \
			    "$(field $p Groups)"
			rooted $p /
			;;
		frontend)
			rooted $p "$STATE/empty"
			atf_check_equal "" "$(field $p Groups)"
			;;
		store)
			rooted $p "$STATE/db"
			atf_check_equal "" "$(field $p Groups)"
			;;
		runner)
			rooted $p "$STATE/runner"
			atf_check_equal "" "$(field $p Groups)"
			;;
		esac
		# Descriptor 3 is the pipe to the parent, 4 the lock.
		atf_check_equal "$STATE/lock" "$(readlink /proc/$p/fd/4)"
		grep -q '^Max core file size *0  *0 ' /proc/$p/limits ||
		    atf_fail "$r may dump core"
		grep -q '^Max processes *0  *0 ' /proc/$p/limits ||
		    atf_fail "$r may make processes"
		uids="$uids $u"
	done
	atf_check_equal 4 "$(printf '%s\n' $uids | sort -u | wc -l)"
	# The parent is root with nine capabilities, six of them in force.
	p=$(daemon_pid)
	atf_check_equal 00000000002c01e9 "$(field $p CapPrm)"
	atf_check_equal 00000000000401e1 "$(field $p CapEff)"
	atf_check_equal 00000000002c01e9 "$(field $p CapBnd)"
	daemon_stop
}
credentials_cleanup()
{
	daemon_cleanup
}

# as_role role command ...: with the credentials that its process has
as_role()
{
	local p g

	p=$(daemon_child "$1") || atf_fail "no $1"
	shift
	g=$(field $p Groups | tr ' ' ,)
	if [ -n "$g" ]; then
		g="--groups $g"
	else
		g=--clear-groups
	fi
	# shellcheck disable=SC2086
	setpriv --reuid "$(field $p Uid | cut -d' ' -f1)" \
	    --regid "$(field $p Gid | cut -d' ' -f1)" $g \
	    --bounding-set=-all --no-new-privs "$@"
}

atf_test_case reach cleanup
reach_head()
{
	atf_set descr "who can reach the logs and the workspaces"
}
reach_body()
{
	daemon_start
	for r in $ROLES; do
		for what in log work; do
			case $what in
			log)
				set -- ls "$STATE/runner/log"
				who=runner
				;;
			work)
				set -- ls "$STATE/work" "$STATE/mnt"
				who=nobody
				;;
			esac
			if [ $r = $who ]; then
				as_role $r "$@" >out 2>&1 ||
				    atf_fail "$r is refused: $what"
			else
				! as_role $r "$@" >out 2>&1 ||
				    atf_fail "$r reaches: $what"
				grep -qi "permission denied" out ||
				    atf_fail "$r, $what: $(cat out)"
			fi
		done
	done
	daemon_stop
}
reach_cleanup()
{
	daemon_cleanup
}

atf_test_case modes cleanup
modes_head()
{
	atf_set descr "the state directory has its owners and modes"
}
modes_body()
{
	daemon_start
	cat >expect <<-EOT
		711 root:root .
		700 _sbxstore:_sbxstore db
		555 root:root empty
		755 root:root guest
		600 root:root instance
		600 root:root lock
		700 root:root mnt
		750 root:_sbxrun runner
		700 _sbxrun:_sbxrun runner/log
		755 root:root runner/sock
		700 root:root work
	EOT
	(cd "$STATE" && stat -c '%a %U:%G %n' . db empty guest instance \
	    lock mnt runner runner/log runner/sock work) >actual
	atf_check -o file:expect cat actual
	atf_check_equal "660 root:sandbox" "$(stat -c '%a %U:%G' "$SOCK")"
	h=$(sha256sum <"$BIN/sandbox-guest" | cut -d' ' -f1)
	atf_check_equal "555 root:root" \
	    "$(stat -c '%a %U:%G' "$STATE/guest/$h")"
	atf_check -o match:"nosuid,nodev" \
	    grep " $STATE/mnt " /proc/self/mountinfo
	daemon_stop
}
modes_cleanup()
{
	daemon_cleanup
}

pids()
{
	for r in $ROLES; do
		daemon_child $r || echo none
	done
}

# All four are there, and none is one of those before.
replaced()
{
	local p now

	now=$(pids)
	for p in $now; do
		case " $1 " in
		*" $p "*) return 1 ;;
		esac
		[ "$p" != none ] || return 1
	done
	"$CTL" ping >/dev/null 2>&1
}

atf_test_case restart cleanup
restart_head()
{
	atf_set descr "when a child dies the whole set is replaced"
}
restart_body()
{
	daemon_start "$MANY"
	for r in $ROLES; do
		before=$(pids | tr '\n' ' ')
		kill -KILL "$(daemon_child $r)"
		await 'replaced "$before"'
		log_has "^$r\[[0-9]*\] died: signal 9" ||
		    log_has "^$r\[[0-9]*\] ended: signal 9" ||
		    atf_fail "the log does not tell the cause"
		atf_check -o match:"^frontend" "$CTL" status
	done
	daemon_stop
}
restart_cleanup()
{
	daemon_cleanup
}

atf_test_case resting cleanup
resting_head()
{
	atf_set descr "(c11) too many deaths: it says so, and tries again later"
}
resting_body()
{
	daemon_start "restart 1 per 1h"
	before=$(pids | tr '\n' ' ')
	atf_check -o match:"^frontend" "$CTL" status
	kill -KILL "$(daemon_child store)"
	await 'replaced "$before"'
	kill -KILL "$(daemon_child broker)"
	await 'log_has "no new work is taken"'
	# One constant answer, by the parent alone.
	atf_check -s exit:69 -e match:"unavailable" "$CTL" ping
	atf_check -s exit:69 -e match:"died too often" "$CTL" status
	daemon_stop
}
resting_cleanup()
{
	daemon_cleanup
}

atf_test_case lock cleanup
lock_head()
{
	atf_set descr "(c46) one state directory has one daemon"
}
lock_body()
{
	daemon_start
	first=$(daemon_pid)
	sed "s,^socket .*,socket \"$D/other\"," "$CONF" >second.conf
	atf_check -s exit:1 -e match:"already running, pid $first" \
	    "$BIN/sandboxd" -d -f "$PWD/second.conf"
	atf_check -o ignore "$CTL" ping
	# Nor does another one take its socket.
	sed "s,^state .*,state \"$D/state2\"," "$CONF" >third.conf
	atf_check -s exit:1 -e match:"another daemon answers on it" \
	    "$BIN/sandboxd" -d -f "$PWD/third.conf"
	atf_check -o ignore "$CTL" ping
	daemon_stop
}
lock_cleanup()
{
	daemon_cleanup
}

atf_test_case stale cleanup
stale_head()
{
	atf_set descr "what a killed daemon leaves prevents no start"
}
stale_body()
{
	daemon_start
	i=$(cat "$STATE/instance")
	kill -KILL "$(daemon_pid)"
	await "_gone $(daemon_pid)"
	# At once: the new one waits for the processes of the old one.
	[ -S "$SOCK" ] || atf_fail "the socket has gone with the daemon"
	daemon_run
	daemon_up
	atf_check_equal "$i" "$(cat "$STATE/instance")"
	umount -l "$STATE/mnt"
	before=$(pids | tr '\n' ' ')
	kill -KILL "$(daemon_child runner)"
	await 'replaced "$before"'
	grep -q " $STATE/mnt .*nosuid,nodev" /proc/self/mountinfo ||
	    atf_fail "a missing mount was not made again"
	daemon_stop
}
stale_cleanup()
{
	daemon_cleanup
}

atf_test_case beside cleanup
beside_head()
{
	atf_set descr "two daemons run side by side"
}
beside_body()
{
	daemon_start
	i=$(cat "$STATE/instance")
	daemon_use other
	daemon_start
	[ "$i" != "$(cat "$STATE/instance")" ] || atf_fail "one instance"
	atf_check -o ignore "$CTL" ping
	daemon_stop
	daemon_use main
	atf_check -o ignore "$CTL" ping
	daemon_stop
}
beside_cleanup()
{
	daemon_cleanup
}

atf_test_case first cleanup
first_head()
{
	atf_set descr "a start that fails tells why, and by its exit status"
}
first_body()
{
	daemon_conf
	cp "$CONF" good.conf
	sed "s,^engine .*,engine \"unix://$ENGINE\" group \"root\"," \
	    good.conf >bad.conf
	atf_check -s exit:1 -e match:"must not have.*group \"docker\"" \
	    "$BIN/sandboxd" -d -f "$PWD/bad.conf"
	# In the background too: who starts it waits for its start.
	atf_check -s exit:1 -e match:"must not have" \
	    "$BIN/sandboxd" -f "$PWD/bad.conf"
	sed 's,^guest .*,guest "/nonexistent",' good.conf >bad.conf
	atf_check -s exit:1 -e match:"guest /nonexistent: No such file" \
	    "$BIN/sandboxd" -d -f "$PWD/bad.conf"
	sed "s,^state .*,state \"$D/no/such\"," good.conf >bad.conf
	atf_check -s exit:1 -e match:"state $D/no/such: No such file" \
	    "$BIN/sandboxd" -d -f "$PWD/bad.conf"
	touch "$SOCK"
	atf_check -s exit:1 -e match:"socket $SOCK: File exists" \
	    "$BIN/sandboxd" -d -f "$PWD/good.conf"
	rm "$SOCK"
	atf_check -s exit:1 -e match:"need root" \
	    setpriv --reuid 54321 --clear-groups \
	    "$BIN/sandboxd" -d -f "$CONF"
	[ ! -e "$SOCK" ] || atf_fail "a start that failed left its socket"
}
first_cleanup()
{
	daemon_cleanup
}

atf_test_case background cleanup
background_head()
{
	atf_set descr "without -d it returns when it works, and TERM ends all"
}
background_body()
{
	daemon_conf
	mkdir -m 711 "$STATE"
	atf_check ${SBX_SANDBOX:+-e ignore} "$BIN/sandboxd" -f "$CONF" </dev/null
	cp "$STATE/lock" "$D/pid"
	atf_check -o ignore "$CTL" ping
	p=$(daemon_pid)
	all="$p $(pids | tr '\n' ' ')"
	for fd in 0 1 2; do
		atf_check_equal /dev/null "$(readlink /proc/$p/fd/$fd)"
	done
	daemon_stop
	for p in $all; do
		[ ! -d "/proc/$p" ] || _gone $p || atf_fail "$p is left"
	done
	[ ! -e "$SOCK" ] || atf_fail "the socket is left"
	! grep " $STATE/" /proc/self/mountinfo || atf_fail "a mount is left"
}
background_cleanup()
{
	daemon_cleanup
}

atf_test_case last_words cleanup
last_words_head()
{
	atf_set descr "what a child has to say when told to stop is no offence"
}
last_words_body()
{
	daemon_start
	await daemon_engine_is_up
	mkfifo in
	"$CTL" session <in >told &
	client=$!
	exec 3>in
	echo '{"id":1,"status":{}}' >&3
	await 'grep -q "\"id\":1," told'
	p=$(daemon_child store)
	kill -STOP $p
	# What it is asked for needs the parent.  The second one is refused
	# before it is asked, so by then the first one is on its way.
	echo '{"id":2,"create":{"id":"late","image":"none"}}' >&3
	echo '{"id":3,"show":{"sandbox":"../.."}}' >&3
	await 'grep -q "\"id\":3," told'
	kill -TERM "$(daemon_pid)"
	await 'log_has "signal 15: stopping"'
	kill -CONT $p
	await "_gone $(daemon_pid)"
	exec 3>&-
	wait $client || :
	! log_has "broke the protocol" ||
	    atf_fail "$(grep "broke the protocol" "$LOG")"
	daemon_start
	await '"$CTL" list -a | grep -q "^late "'
	daemon_stop
}
last_words_cleanup()
{
	daemon_cleanup
}

atf_test_case outsider cleanup
outsider_head()
{
	atf_set descr "(b15) a user outside of the group is refused"
}
outsider_body()
{
	daemon_start
	new_uid
	as_user $NEW_UID "$CTL" ping >out 2>&1 ||
	    atf_fail "one of the group is refused: $(cat out)"
	AS_GROUPS=
	! as_user $NEW_UID "$CTL" ping >out 2>&1 ||
	    atf_fail "one who is not of the group is let in"
	atf_check -o match:"[Pp]ermission" cat out
	daemon_stop
}
outsider_cleanup()
{
	daemon_cleanup
}

atf_test_case allow cleanup
allow_head()
{
	atf_set descr "whom the configuration names sees all, and no other"
}
allow_body()
{
	new_uid
	one=$NEW_UID
	new_uid
	two=$NEW_UID
	new_uid
	daemon_start "allow user $one all
		allow group $two all"
	atf_check -o ignore "$CTL" image base
	atf_check -o ignore "$CTL" create -i mine
	for u in $one $two; do
		as_user $u "$CTL" list >out || atf_fail "list"
		atf_check -o match:"^mine " cat out
		as_user $u "$CTL" ps >out || atf_fail "ps"
		as_user $u "$CTL" exec mine true || atf_fail "exec"
		as_user $u "$CTL" events 0/mine | grep -q sandbox.ready ||
		    atf_fail "events"
		! as_user $u "$CTL" reload 2>err || atf_fail "reload"
		atf_check -o match:permission_denied cat err
	done
	as_user $NEW_UID "$CTL" list >out || atf_fail "list"
	! grep mine out || atf_fail "another one sees it"
	! as_user $NEW_UID "$CTL" show mine 2>err || atf_fail "show"
	atf_check -o match:not_found cat err
	atf_check -o ignore "$CTL" delete mine
	daemon_stop
}
allow_cleanup()
{
	daemon_cleanup
}

atf_test_case clients cleanup
clients_head()
{
	atf_set descr "connections are counted, and end with the frontend"
}
clients_body()
{
	new_uid
	daemon_start "limits { clients 20, 1 per user }
		limits user $NEW_UID { clients 2 }
		$MANY"
	# Followers of events: connections that last.
	for i in 1 2; do
		setpriv --reuid $NEW_UID --regid $NEW_UID --groups \
		    "$(getent group sandbox | cut -d: -f3)" \
		    "$CTL" events -f >/dev/null 2>&1 &
		echo $! >follower.$i
	done
	# Both and the one that asks.
	await '"$CTL" status | grep -q "^clients  *3$"'
	! as_user $NEW_UID "$CTL" ping 2>err ||
	    atf_fail "a third connection is let in"
	atf_check -o match:"too many connections: limit 2 for user $NEW_UID, 2\
 in use" cat err
	atf_check -o ignore "$CTL" ping
	kill "$(cat follower.1)"
	# The hang-up is seen, and makes room.
	await 'as_user $NEW_UID "$CTL" ping >/dev/null 2>&1'
	kill "$(cat follower.2)"
	wait "$(cat follower.1)" "$(cat follower.2)"
	daemon_stop
}
clients_cleanup()
{
	kill $(cat follower.*) 2>/dev/null
	daemon_cleanup
}

atf_test_case hostile_tree cleanup
hostile_tree_head()
{
	atf_set descr "(aH4) a workspace of any depth and mode is removed"
}
hostile_tree_body()
{
	daemon_start
	atf_check -o ignore "$CTL" image base
	atf_check -o ignore "$CTL" create -i tree
	n=$(ls "$STATE/work")
	atf_check "$CTL" exec tree sh -c '
		i=0
		while [ $i -lt 200 ]; do
			mkdir d$i && echo x >d$i/f && ln -s / d$i/l
			chmod 0 d$i
			i=$((i + 1))
		done
		i=0
		while [ $i -lt 1500 ]; do
			mkdir x && echo y >1.moved && cd x
			i=$((i + 1))
		done
		cd /workspace
		mkfifo p
		mkdir -p 0.moved/1.moved/2.moved
		chmod 0 0.moved/1.moved 0.moved
		chmod 0 /workspace'
	atf_check -o ignore "$CTL" delete tree
	await '[ -z "$(ls "$STATE/work")" ]'
	await '[ -z "$(ls "$STATE/runner/sock")" ]'
	# What a killed parent has left half done is resumed.
	daemon_stop
	mkdir -m 700 "$STATE/work/$n.gone" "$STATE/work/$n.gone/d"
	echo x >"$STATE/work/$n.gone/d/f"
	chown -R 2000000000:2000000000 "$STATE/work/$n.gone"
	daemon_start
	await '[ -z "$(ls "$STATE/work")" ]'
	daemon_stop
}
hostile_tree_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case credentials
	atf_add_test_case reach
	atf_add_test_case modes
	atf_add_test_case restart
	atf_add_test_case resting
	atf_add_test_case lock
	atf_add_test_case stale
	atf_add_test_case beside
	atf_add_test_case first
	atf_add_test_case background
	atf_add_test_case last_words
	atf_add_test_case outsider
	atf_add_test_case allow
	atf_add_test_case clients
	atf_add_test_case hostile_tree
}
