# One user's sandboxes do not exist for another.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# says text uid command ...: what sandboxctl prints for the user.
says()
{
	want=$1
	shift
	who=$1
	shift
	got=$(as_user "$who" "$CTL" "$@" </dev/null) || atf_fail "$*"
	[ "$got" = "$want" ] || atf_fail "$*: $got, not $want"
}

atf_test_case apart cleanup
apart_head()
{
	atf_set descr '(c55) two users, who have numbers alone, and root: who sees what'
	atf_set timeout 300
}
apart_body()
{
	world
	new_uid
	one=$NEW_UID
	new_uid
	two=$NEW_UID
	says web "$one" create -i web
	as_user "$one" "$CTL" list | grep -q web || atf_fail "not listed"
	# The second one sees nothing, and what he is told tells nothing.
	as_user "$two" "$CTL" list -a | grep web && atf_fail "listed"
	as_user "$two" "$CTL" show web 2>taken && atf_fail "shown"
	as_user "$two" "$CTL" show bew 2>free && atf_fail "shown"
	sed s/bew/web/ free >same
	atf_check -o file:same cat taken
	for c in "exec web true" "stop web" "resume web" "ps web" \
	    "wait web.1" "kill web.1" "logs web.1"; do
		as_user "$two" "$CTL" $c >out 2>err && atf_fail "$c: $(cat out)"
		grep -q not_found err || atf_fail "$c: $(cat err)"
	done
	as_user "$two" "$CTL" events >events || :
	atf_check -s exit:1 grep web events
	# The name is free for him, and his is another sandbox.
	says web "$two" create -i web
	as_user "$one" "$CTL" exec web sh -c 'echo one >who'
	as_user "$two" "$CTL" exec web sh -c 'echo two >who'
	says one "$one" exec web cat who
	# Root sees both, and says which one it means.
	atf_check -o match:"web" "$CTL" list
	[ "$("$CTL" list | grep -c web)" = 2 ] || atf_fail "root sees: \
$("$CTL" list)"
	atf_check -o inline:"two\n" "$CTL" exec "$two/web" cat who
	atf_check -o ignore "$CTL" delete "$two/web" "$one/web"
	nothing_left
	# Administration is root's alone.
	for c in reload "log verify" "image import x /dev/null"; do
		as_user "$one" "$CTL" $c >out 2>err && atf_fail "$c"
		grep -q permission_denied err || atf_fail "$c: $(cat err)"
	done
	daemon_stop
}
apart_cleanup()
{
	daemon_cleanup
}

atf_test_case outside cleanup
outside_head()
{
	atf_set descr '(b15) a client outside the group is refused'
	atf_set timeout 300
}
outside_body()
{
	daemon_start
	new_uid
	as_user "$NEW_UID" "$CTL" ping || atf_fail "no answer"
	AS_GROUPS=nogroup
	as_user "$NEW_UID" "$CTL" ping >out 2>err && atf_fail "he got in"
	grep -qi "permission" err || atf_fail "$(cat err)"
	daemon_stop
}
outside_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case apart
	atf_add_test_case outside
}
