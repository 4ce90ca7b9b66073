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
	as_user "$two" "$CTL" events -f </dev/null >two.out 2>two.err &
	two_pid=$!
	as_user "$one" "$CTL" events -f web </dev/null >one.out 2>one.err &
	one_pid=$!
	await '[ -s one.out ]'
	# It is given more, and goes on with the same connection.
	daemon_conf "allow events group sandbox on all"
	atf_check "$CTL" reload
	may "$two" show "$one/web"
	may "$one" exec web true
	await 'grep -q exec.ended one.out'
	kill -0 $one_pid || atf_fail "cut off without a reason: $(cat one.err)"
	# What is taken ends what was begun by it.
	daemon_conf "deny events user $one"
	atf_check "$CTL" reload
	wait $one_pid && atf_fail "it goes on: $(cat one.out)"
	grep -qF "events web: not permitted ($CONF:5)" one.err ||
	    atf_fail "$(cat one.err)"
	may "$one" exec web true
	grep -q "uid $one has lost rights: disconnected" "$LOG" ||
	    atf_fail "not logged"
	# The other one lost what he had on all, came back, and follows his own.
	kill -0 $two_pid || atf_fail "the other has gone: $(cat two.err)"
	kill $two_pid
	wait $two_pid
	atf_check -o ignore "$CTL" delete "$one/web"
	daemon_stop
}
reload_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case rights
	atf_add_test_case reload
}
