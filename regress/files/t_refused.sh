# Calls that are refused: for want of a right, and in places that nobody may
# write to; and that nothing of them is done.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# h_file with the socket and the sandbox, as a user.
file()
{
	o=
	while case $1 in -*) true ;; *) false ;; esac; do
		o="$o $1 $2"
		shift 2
	done
	as_user "$WHO" "$(atf_get_srcdir)/h_file" $o "$SOCK" box "$@" \
	    </dev/null >out 2>err
}

not()
{
	! file "$@" || atf_fail "$*: it was done: $(cat out)"
	grep -q "^h_file: $CODE: " err || atf_fail "$*: $(cat err)"
}

tree()
{
	as_user "$OWNER" "$CTL" exec box sh -c \
	    'find /workspace -exec stat -c "%n %f %s %y" {} + | sort' \
	    </dev/null || atf_fail "no list"
}

# A forward in the background: addr has its port, unless it has ended.
forwards()
{
	: >addr
	: >pid
	as_user "$OWNER" sh -c 'echo $$ >&3; exec 3>&-; exec "$0" "$@"' "$CTL" \
	    forward box 0:1 </dev/null >addr 2>err 3>pid &
	shell=$!
	await '[ -s addr ] || ! kill -0 $shell 2>/dev/null'
}

# It is the process that ends, not only the shell that has started it.
forwards_end()
{
	kill -TERM "$(cat pid)"
	wait "$shell"
}

atf_test_case rights cleanup
rights_head()
{
	atf_set descr 'without the right files no call is made; forward is exec'
	atf_set timeout 180
}
rights_body()
{
	new_uid
	OWNER=$NEW_UID
	world "deny any
		allow create exec stop user $OWNER"
	as_user "$OWNER" "$CTL" create -i box >out 2>&1 </dev/null ||
	    atf_fail "$(cat out)"
	as_user "$OWNER" "$CTL" exec box sh -c 'mkdir d; echo 1 >f; echo 2 >d/g
	    ln -s f l' </dev/null || atf_fail "no files"
	tree >before
	WHO=$OWNER
	CODE=permission_denied
	for o in stat read list mkdir remove chmod truncate usage lines; do
		not "$o" f
	done
	not -f 4 write f
	not -f 0x20 remove d
	not edit f
	for o in move copy link symlink; do
		not "$o" f n
	done
	# A port inside is as good as a command: it is told who is there.
	forwards
	[ -s addr ] || atf_fail "forward: $(cat err)"
	forwards_end
	tree >after
	atf_check -o file:before cat after
	daemon_conf "deny any
		allow create files stop user $OWNER"
	atf_check "$CTL" reload
	file stat f || atf_fail "stat: $(cat err)"
	forwards
	# It may listen; what is carried is refused, and said.
	p=$(sed -n 's/.*://p' addr)
	[ -z "$p" ] || {
		busybox nc 127.0.0.1 "$p" </dev/null >/dev/null 2>&1
		await 'grep -q permission_denied err'
		forwards_end
	}
	grep -q permission_denied err || atf_fail "$(cat err)"
	daemon_stop
}
rights_cleanup()
{
	daemon_cleanup
}

atf_test_case places cleanup
places_head()
{
	atf_set descr 'a root that is read-only, /proc, /sys: each has its code'
	atf_set timeout 180
}
places_body()
{
	world
	atf_check -o ignore "$CTL" create -r -i box
	WHO=$(id -u)
	CODE=read_only
	not -f 4 write /new
	not mkdir /newdir
	not remove /etc/passwd
	not move /etc/passwd /etc/p
	not symlink x /etc/x
	CODE='[a-z_]*'
	not chmod /etc/passwd
	not truncate /etc/passwd
	not -f 4 write /proc/new
	not mkdir /sys/new
	not remove /.sandboxd/guest
	not move /.sandboxd/guest /workspace/guest
	# What may be read is.
	file read /etc/passwd || atf_fail "read: $(cat err)"
	file list / || atf_fail "list: $(cat err)"
	daemon_stop
}
places_cleanup()
{
	daemon_cleanup
}

atf_test_case changing cleanup
changing_head()
{
	atf_set descr 'a tree that goes and comes while it is walked; a crowd'
	atf_set timeout 600
}
changing_body()
{
	OWNER=$(id -u)
	WHO=$OWNER
	world
	atf_check -o ignore "$CTL" create -i box
	"$CTL" exec -d box sh -c 'mkdir t; while :; do
	    mkdir -p t/a/b/c t/d/e; : >t/a/f; : >t/a/b/g; ln -s .. t/d/l
	    : >made; rm -rf t/a t/d; done' </dev/null >out ||
	    atf_fail "nobody changes it"
	await '"$CTL" stat box made >/dev/null 2>&1'
	i=0
	while [ $i -lt $(figure 20 500) ]; do
		i=$((i + 1))
		for o in list usage; do
			file -f 0x20 $o t || grep -q 'file_not_found' err ||
			    atf_fail "$o: $(cat err)"
		done
		for c in "glob box **/g t" "grep box x t"; do
			timeout 60 "$CTL" tool $c >out 2>err ||
			    grep -q 'file_not_found' err ||
			    atf_fail "$c: $(cat err)"
		done
	done
	n=$(figure 20000 1000000)
	atf_check "$CTL" exec box sh -c "mkdir many; cd many; i=0
	    while [ \$i -lt $n ]; do : >\$i; i=\$((i + 1)); done"
	file list many || atf_fail "list: $(cat err)"
	atf_check_equal "$n" "$(wc -l <out)"
	file usage many || atf_fail "usage: $(cat err)"
	atf_check -o match:" $((n + 1))\$" cat out
	atf_check "$CTL" rm -r box many
	daemon_stop
}
changing_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case rights
	atf_add_test_case places
	atf_add_test_case changing
}
