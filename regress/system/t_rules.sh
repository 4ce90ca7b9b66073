# Who may do what: rules of the configuration, judged for two users.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# may uid command ...: sandboxctl does it for the user.
may()
{
	who=$1
	shift
	as_user "$who" "$CTL" "$@" </dev/null >out 2>err ||
	    atf_fail "$who: $*: $(cat err)"
}

# not text uid command ...: it is refused, with that text.
not()
{
	want=$1
	who=$2
	shift 2
	as_user "$who" "$CTL" "$@" </dev/null >out 2>err &&
	    atf_fail "$who: $* was done"
	grep -qF -- "$want" err || atf_fail "$who: $*: $(cat err)"
}

# follow file uid [id]: a subscription; file has its pid, then the events.
follow()
{
	file=$1
	who=$2
	shift 2
	as_user "$who" sh -c 'echo $$; exec "$@"' - "$CTL" events -f "$@" \
	    </dev/null >"$file" 2>"$file.err" &
	FOLLOWER=$!
}

two_users()
{
	new_uid
	one=$NEW_UID
	new_uid
	two=$NEW_UID
}

atf_test_case rights cleanup
rights_head()
{
	atf_set descr 'each right is judged for own sandboxes and for others'
	atf_set timeout 300
}
rights_body()
{
	two_users
	new_uid
	none=$NEW_UID
	world "deny any
		allow create exec stop user $one
		allow user $two on own
		allow exec events user $two on all
		deny delete user $two on all
		allow images admin user $two"
	# Whom nothing names gets one answer, whatever he wants.
	for c in ping status list "show web" create "exec web true"; do
		not "no rule allows you anything here (permission_denied)" \
		    "$none" $c
	done
	await '"$CTL" events -t audit >out && grep -q "uid=$none .*\
what=connect why=\"no rule allows you anything here\"" out'
	may "$one" create -i web
	may "$one" exec web true
	may "$one" list
	grep -q web out || atf_fail "his own is not listed: $(cat out)"
	# The line that says so is named: line 5 is "deny any".
	not "delete web: not permitted ($CONF:5) (permission_denied)" \
	    "$one" delete web
	not "events: not permitted ($CONF:5)" "$one" events
	not "events web: not permitted ($CONF:5)" "$one" events web
	not "admin: not permitted ($CONF:5)" "$one" reload
	not "images: not permitted ($CONF:5)" "$one" image import x /dev/null
	# On all: sees them, runs commands there, and no more.
	may "$two" create -i mine
	may "$two" list
	grep -q web out || atf_fail "others' are not listed: $(cat out)"
	may "$two" show "$one/web"
	may "$two" exec "$one/web" true
	may "$two" events
	grep -q daemon.started out || atf_fail "no events of the daemon"
	not "stop web: not permitted ($CONF:5) (permission_denied)" \
	    "$two" stop "$one/web"
	not "delete web: not permitted ($CONF:9)" "$two" delete "$one/web"
	not "delete mine: not permitted ($CONF:9)" "$two" delete mine
	may "$two" reload
	may "$two" log verify
	# The first sees nothing of the second.
	not "(not_found)" "$one" show "$two/mine"
	not "(not_found)" "$one" exec "$two/mine" true
	may "$one" list
	! grep -q mine out || atf_fail "listed: $(cat out)"
	atf_check -o ignore "$CTL" delete "$one/web" "$two/mine"
	nothing_left
	daemon_stop
}
rights_cleanup()
{
	daemon_cleanup
}

atf_test_case reload cleanup
reload_head()
{
	atf_set descr 'a reload gives rights to the connected, and cuts off'
	atf_set timeout 300
}
reload_body()
{
	two_users
	world
	may "$one" create -i web
	# A subscription on a connection of before.
	follow two.out "$two"
	two_pid=$FOLLOWER
	follow one.out "$one" web
	one_pid=$FOLLOWER
	await '[ "$(wc -l <one.out)" -gt 1 ] && [ -s two.out ]'
	# It is given more, and goes on with the same connection.
	daemon_conf "allow events group sandbox on all"
	atf_check "$CTL" reload
	may "$two" show "$one/web"
	may "$one" exec web true
	await 'grep -q exec.ended one.out'
	kill -0 $one_pid || atf_fail "cut off without a reason: \
$(cat one.out.err)"
	# What is taken ends what was begun by it.
	daemon_conf "deny events user $one"
	atf_check "$CTL" reload
	wait $one_pid && atf_fail "it goes on: $(cat one.out)"
	grep -qF "events web: not permitted ($CONF:5)" one.out.err ||
	    atf_fail "$(cat one.out.err)"
	may "$one" exec web true
	grep -q "uid $one has lost rights: disconnected" "$LOG" ||
	    atf_fail "not logged"
	# The other one lost what he had on all, came back, and follows his own.
	kill "$(head -n 1 two.out)" ||
	    atf_fail "the other has gone: $(cat two.out.err)"
	wait $two_pid || :
	atf_check -o ignore "$CTL" delete "$one/web"
	daemon_stop
}
reload_cleanup()
{
	daemon_cleanup
}

atf_test_case limits cleanup
limits_head()
{
	atf_set descr 'limits of a user, what is in use, and who is told'
	atf_set timeout 300
}
limits_body()
{
	two_users
	world "limits any { sandboxes 1 memory 64M per sandbox, 100M total }
		limits user $two { sandboxes 2 creates 3 per 1d }"
	may "$one" create -i web
	not "sandboxes: limit 1 for user $one, 1 in use (limit_exceeded)" \
	    "$one" create
	may "$two" create -i web
	not "memory: limit 104857600 for user $two, 67108864 in use" \
	    "$two" create
	may "$two" create -m 36M
	not "sandboxes: limit 2 for user $two, 2 in use" "$two" create
	may "$two" rules
	set -- "create  *-  *yes  *default" "images  *-  *no  *default" \
	    "exec  *others  *no  *default" \
	    "sandboxes  *user  *2  *2  *$CONF:6" \
	    "memory  *user  *100M  *100M  *$CONF:5" \
	    "memory per sandbox  *user  *64M  *-  *$CONF:5" \
	    "creates  *user  *3 per 1d00h  *-  *$CONF:6" \
	    "execs  *user  *-  *0  *-"
	for l; do
		grep -q "^$l$" out || atf_fail "no $l in $(cat out)"
	done
	! grep -q ' all ' out || atf_fail "others' use is shown: $(cat out)"
	may "$two" -j rules
	grep -qF '{"name":"sandboxes","of":"user","most":2,"per":0,"used":2,' \
	    out || atf_fail "$(cat out)"
	# What sandboxd says beforehand is the same.
	may "$two" rules
	sed '/^$/,$d' out >said
	atf_check -o save:told -e ignore "$BIN/sandboxd" -n -u "$two" -f "$CONF"
	sed '/^$/,$d' told >foretold
	atf_check -o file:foretold cat said
	# Root is bound by what names all alone, and sees what all have.
	atf_check -o ignore "$CTL" create -i a
	atf_check -o ignore "$CTL" create -i b
	atf_check -o match:"^sandboxes  *all  *200  *5  *-$" \
	    -o match:"^sandboxes  *user  *-  *2  *-$" "$CTL" rules
	# A reload gives more to who is connected.
	daemon_conf "limits any { sandboxes 2 }"
	atf_check "$CTL" reload
	may "$one" create -i more
	atf_check -o ignore "$CTL" delete a b "$one/web" "$one/more" "$two/web"
	may "$two" list
	may "$two" delete "$(sed -n '2s/ .*//p' out)"
	nothing_left
	may "$two" rules
	grep -q "^sandboxes  *user  *2  *0  *$CONF:5$" out ||
	    atf_fail "$(cat out)"
	daemon_stop
}
limits_cleanup()
{
	daemon_cleanup
}

atf_test_case audit cleanup
audit_head()
{
	atf_set descr 'each decision is an event, with its rule; no secret is'
	atf_set timeout 300
}
audit_body()
{
	two_users
	world "allow user $one
		deny delete user $one
		limits user $one { sandboxes 1 }
		policy { image deny \"forbidden\" }"
	may "$one" create -i web -e PASSWORD=hunter2
	as_user "$one" "$CTL" exec -e TOKEN=hunter2 web sh -c 'cat >f' \
	    >/dev/null <<-EOT || atf_fail "exec"
		hunter2
	EOT
	may "$one" stop web
	may "$one" resume web
	may "$one" list
	not "permission_denied" "$one" delete web
	not "limit_exceeded" "$one" create
	not "policy_denied" "$one" create -I forbidden
	not "not_found" "$two" exec "$one/web" true
	# One that is not there is no other sandbox of somebody else.
	not "not_found" "$two" exec "$one/nosuch" true
	not "not_found" "$two" show nosuch
	atf_check "$CTL" reload
	atf_check -o ignore "$CTL" delete "$one/web"
	atf_check -o save:all "$CTL" events -t audit
	cut -d' ' -f4,6,8- all | sed 's/ image=.* rule=/ rule=/
	    s/ command=.* rule=/ rule=/' >some
	r="audit.refused uid"
	cat >want <<-EOT
		web sandbox.create uid=$one rule=$CONF:5
		web exec.create uid=$one rule=$CONF:5 exec=web.1
		web sandbox.stop uid=$one rule=$CONF:5
		web sandbox.resume uid=$one rule=$CONF:5
		- $r=$one code=permission_denied what=delete on=web why=$CONF:6
		- $r=$one code=limit_exceeded what=create \
why="sandboxes: limit 1 for user $one, 1 in use"
		- $r=$one code=policy_denied what=create \
why="image forbidden is not allowed here"
		- $r=$two code=not_found what=see on=$one/web \
why="no right on the sandboxes of others"
		- $r=$two code=not_found what=see on=$one/nosuch \
why="no right on the sandboxes of others"
		- daemon.reloaded uid=0 rule=root
		web sandbox.delete uid=0 rule=root
	EOT
	grep -v image.imported some >said
	# A following event may stand behind one that came later.
	sort want >want.sorted
	sort said >said.sorted
	atf_check -o file:want.sorted cat said.sorted
	# The user sees what was allowed him, in his sandboxes.
	as_user "$one" "$CTL" events -t audit >out || atf_fail "events"
	[ "$(wc -l <out)" = 5 ] || atf_fail "$(cat out)"
	! grep audit.refused out || atf_fail "a refusal is shown"
	as_user "$two" "$CTL" events -t audit >out || atf_fail "events"
	atf_check cat out
	# Nowhere a secret.
	atf_check -o save:log "$CTL" -j events
	! grep hunter2 log || atf_fail "a secret is in the log"
	# Other types.
	atf_check -o not-match:"sandbox[.]" -o match:"exec.ended" \
	    "$CTL" events -t exec
	atf_check -o not-match:"exec.created" -o match:"exec.ended" \
	    "$CTL" events -t exec.ended "$one/web"
	atf_check -s exit:64 -e match:"invalid type: exe: no such events" \
	    "$CTL" events -t exe
	daemon_stop
}
audit_cleanup()
{
	daemon_cleanup
}

# allowed uid: what was allowed him by call, without times and numbers
allowed()
{
	"$CTL" events -t audit.allowed | grep "uid=$1 " | cut -d' ' -f8-
}

atf_test_case calls cleanup
calls_head()
{
	atf_set descr 'what is allowed inside of a sandbox is told, and counted'
	atf_set timeout 300
}
calls_body()
{
	two_users
	world "allow user $one
		allow files user $two on all
		allow exec user $two on own"
	may "$one" create -i web
	i=0
	while [ $i -lt 5 ]; do
		echo secret | as_user "$one" "$CTL" put web - secret-name ||
		    atf_fail "put"
		i=$((i + 1))
	done
	may "$one" cat web secret-name
	may "$two" cat "$one/web" secret-name
	not "not permitted" "$two" exec "$one/web" true
	as_user "$one" "$CTL" forward web 0:8080 >address 2>err &
	forward=$!
	await '[ -s address ]'
	port=$(sed -n 's/^127\.0\.0\.1:\([0-9]*\)$/\1/p' address)
	# Nobody listens inside: it was allowed all the same.
	timeout 60 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; cat <&3" || :
	await '"$CTL" events -t audit | grep -q what=connect:8080'
	await 'allowed "$two" | grep -q what=read'
	allowed "$one" >out
	for what in write read connect:8080; do
		n=$(grep -c "what=$what on=web rule=$CONF:5$" out) || :
		[ "$n" = 1 ] || atf_fail "$n of $what: $(cat out)"
	done
	allowed "$two" >out
	grep -q "what=read on=$one/web rule=$CONF:6$" out ||
	    atf_fail "$(cat out)"
	[ "$(wc -l <out)" = 1 ] || atf_fail "$(cat out)"
	"$CTL" events -t audit.refused | grep -q "uid=$two .*what=exec" ||
	    atf_fail "the refusal is not told"
	# What is only read, if it takes a rule: one's own takes none.
	for i in 1 2 3; do
		may "$one" show web
		may "$one" list
		may "$one" events web
		may "$two" show "$one/web"
	done
	await 'allowed "$two" | grep -q what=see'
	await 'allowed "$one" | grep -q what=events'
	allowed "$two" >out
	n=$(grep -c "what=see on=$one/web rule=$CONF:6$" out) || :
	[ "$n" = 1 ] && [ "$(wc -l <out)" = 2 ] || atf_fail "$(cat out)"
	allowed "$one" >out
	n=$(grep -c "what=events on=web rule=$CONF:5$" out) || :
	[ "$n" = 1 ] && ! grep -E "what=(see|show|list)" out ||
	    atf_fail "$(cat out)"
	# By another line it is another decision.
	daemon_conf "
		allow user $one
		allow files user $two on all
		allow exec user $two on own"
	atf_check "$CTL" reload
	may "$one" cat web secret-name
	await 'allowed "$one" | grep -q "what=read on=web rule=$CONF:6"'
	kill $forward
	wait $forward || :
	daemon_stop
	daemon_start
	allowed "$one" >out
	n=$(sed -n "s/.*what=write on=web .* more=//p" out |
	    awk '{ n += $1 } END { print n + 0 }')
	[ "$n" = 4 ] || atf_fail "$n writes were counted: $(cat out)"
	atf_check -o ignore "$CTL" log verify
	! "$CTL" -j events | grep -q secret-name || atf_fail "a name is told"
	atf_check -o ignore "$CTL" delete "$one/web"
	daemon_stop
}
calls_cleanup()
{
	daemon_cleanup
}

atf_test_case refusals cleanup
refusals_head()
{
	atf_set descr 'a stranger cannot fill the log by being refused'
	atf_set timeout 300
}
refusals_body()
{
	two_users
	daemon_start
	for i in $(seq 25); do
		not "admin: not permitted" "$one" reload
	done
	not "images: not permitted" "$two" image import x /dev/null
	await '"$CTL" events -t audit | grep -q "uid=$two "'
	"$CTL" events -t audit.refused >out
	n=$(grep -c "uid=$one " out)
	# Ten, and on a very slow machine one more for each minute.
	[ "$n" -ge 10 ] && [ "$n" -le 20 ] || atf_fail "$n: $(cat out)"
	daemon_stop
	daemon_start
	# None is lost: the others were counted.
	"$CTL" events -t audit >out
	sum=$(grep "uid=$one " out | sed -n 's/.* more=//p' |
	    awk '{ n += $1 } END { print n + 0 }')
	n=$(grep "uid=$one " out | grep -c what=admin)
	[ $((sum + n)) = 25 ] || atf_fail "$sum and $n: $(cat out)"
	[ "$sum" -gt 0 ] || atf_fail "all were written"
	[ "$(grep -c "uid=$two " out)" = 1 ] || atf_fail "$(cat out)"
	daemon_stop
}
refusals_cleanup()
{
	daemon_cleanup
}

atf_test_case reason cleanup
reason_head()
{
	atf_set descr 'a command has a reason, if it must: in the log alone'
	atf_set timeout 300
}
reason_body()
{
	world "policy { reason required }"
	box
	# Nobody runs anything without one, and the refusal is in the log.
	for c in "exec $BOX true" "exec -d $BOX true" "run true" \
	    "tool execute $BOX true" "create -P true"; do
		atf_check -s not-exit:0 -o ignore \
		    -e match:'a command needs a reason .policy_denied' \
		    "$CTL" $c </dev/null
	done
	atf_check -s exit:125 -e match:'must be a line of text' \
	    "$CTL" exec -b '  ' "$BOX" true </dev/null
	long=$(printf '%513s' '' | tr ' ' x)
	atf_check -s not-exit:0 -e match:'the limit is 512' \
	    "$CTL" exec -b "$long" "$BOX" true </dev/null
	await '"$CTL" events -t audit.refused >out && grep -q \
	    "code=policy_denied what=exec on=$BOX \
why=\"a command needs a reason\"" out'
	# It is told to who looks, and not to the command or its guest.
	why=$(printf 'because: caf\303\251 "1"')
	atf_check -o save:out "$CTL" exec -b "$why" "$BOX" sh -c \
	    'env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null |
	    tr "\0" "\n"' </dev/null
	atf_check -o not-match:because cat out
	atf_check -o match:'"reason":"because: caf' "$CTL" -j ps -a "$BOX"
	atf_check -o match:' # because: caf' "$CTL" ps -a "$BOX"
	atf_check -o match:'"reason":"because: caf' \
	    "$CTL" -j events -t exec.create "$BOX"
	atf_check -o ignore "$CTL" tool execute -b tool "$BOX" true
	atf_check "$CTL" run -b run -P true true </dev/null
	atf_check -o ignore "$CTL" create -b create -P true
	printf '%s\n' "{\"id\":1,\"exec\":{\"sandbox\":\"$BOX\",\
\"argv\":[\"true\"],\"reason\":\"line\"}}" \
	    "{\"id\":2,\"exec\":{\"sandbox\":\"$BOX\",\
\"argv\":[\"true\"]}}" >lines
	atf_check -o save:out "$CTL" session <lines
	atf_check -o match:'"id":1,"exec_info".*"reason":"line"' \
	    -o match:'"id":2,"error".*policy_denied' cat out
	# It outlives a restart, and a reload takes the duty back.
	daemon_stop
	daemon_conf
	daemon_start
	atf_check -o match:'"reason":"because: caf' "$CTL" -j ps -a "$BOX"
	atf_check "$CTL" exec "$BOX" true </dev/null
	daemon_conf "policy { reason required }"
	atf_check "$CTL" reload
	atf_check -s exit:125 -e match:reason "$CTL" exec "$BOX" true </dev/null
	daemon_stop
}
reason_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case audit
	atf_add_test_case calls
	atf_add_test_case refusals
	atf_add_test_case limits
	atf_add_test_case reason
	atf_add_test_case rights
	atf_add_test_case reload
}
