# Trees where something is in the way: who asks is nobody, the image is empty,
# a file does not stand still, a process dies, a person gives up.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# A small tree of each kind.
make_tree()
{
	mkdir -p src/d/e
	echo one >src/d/one
	ln src/d/one src/two
	ln -s d/one src/l
	head -c 300000 /dev/urandom >src/d/e/r
	chmod 640 src/d/one
	chmod 711 src/d/e
	find src -exec touch -h -d '2001-02-03 04:05:06.789' {} +
}

# same a b: two trees are one and the same.
same()
{
	for t in "$1" "$2"; do
		(cd "$t" && find . ! -name . -printf '%y %m %T@ %n %l %P\n' |
		    LC_ALL=C sort)
	done >facts
	n=$(($(wc -l <facts) / 2))
	head -n "$n" facts >facts.1
	tail -n +$((n + 1)) facts >facts.2
	atf_check -o file:facts.1 cat facts.2
	atf_check diff -r --no-dereference "$1" "$2"
}

atf_test_case user cleanup
user_head()
{
	atf_set descr 'an ordinary user: his trees, and no others'
	atf_set timeout 180
}
user_body()
{
	world
	new_uid
	u=$NEW_UID
	umask 022
	make_tree
	chmod 755 .
	mkdir his
	cp -a src his/src
	chown -R "$u" his
	cd his || atf_fail "no directory"
	as_user "$u" "$CTL" create -i box >out 2>&1 </dev/null ||
	    atf_fail "$(cat out)"
	for a in "" -a; do
		for c in "put -r $a box src there$a" \
		    "get -r $a box there$a back$a" \
		    "get -r $a box there$a back$a"; do
			as_user "$u" "$CTL" $c >../out 2>&1 </dev/null ||
			    atf_fail "$c: $(cat ../out)"
			rm -rf "back$a/there$a/no"
		done
		[ -z "$a" ] || mv "back$a/there$a" whole
		[ -z "$a" ] || same src whole
		[ -n "$a" ] || same src back/there
		[ "$(stat -c %u "back$a")" = "$u" ] || atf_fail "whose is it"
	done
	# Where he may not write nothing is made; what he may not read is told.
	mkdir ../roots
	for a in "" -a; do
		s=0
		as_user "$u" "$CTL" get -r $a box there ../roots/new \
		    >../out 2>&1 </dev/null || s=$?
		[ $s -ne 0 ] || atf_fail "it is written"
		grep -q 'Permission denied' ../out || atf_fail "$(cat ../out)"
	done
	[ -z "$(ls -A ../roots)" ] || atf_fail "made: $(ls -A ../roots)"
	echo secret >src/hidden
	mkdir src/closed
	touch src/closed/f
	chmod 600 src/hidden
	chmod 700 src/closed
	s=0
	as_user "$u" "$CTL" put -r box src told >../out 2>&1 </dev/null || s=$?
	[ $s -ne 0 ] || atf_fail "nothing is told"
	grep -q 'src/hidden: Permission denied' ../out ||
	    atf_fail "$(cat ../out)"
	grep -q 'src/closed: Permission denied' ../out ||
	    atf_fail "$(cat ../out)"
	as_user "$u" "$CTL" ls box told >../out 2>&1 </dev/null
	grep -q hidden ../out && atf_fail "it has travelled"
	grep -q two ../out || atf_fail "the rest has not: $(cat ../out)"
	daemon_stop
}
user_cleanup()
{
	daemon_cleanup
}

atf_test_case bare cleanup
bare_head()
{
	atf_set descr 'an image that holds nothing; a root that is read-only'
	atf_set timeout 180
}
bare_body()
{
	world
	make_tree
	mkdir nothing
	tar -cf nothing.tar -C nothing .
	atf_check -o ignore "$CTL" image import "tree-nothing-$$" nothing.tar
	box -I "tree-nothing-$$"
	for a in "" -a; do
		atf_check "$CTL" put -r $a "$BOX" src "there$a"
		atf_check "$CTL" get -r $a "$BOX" "there$a" "back$a"
		same src "back$a"
	done
	atf_check "$CTL" rm -r "$BOX" there there-a
	atf_check -o ignore "$CTL" delete "$BOX"
	box -r
	for a in "" -a; do
		for p in /new /etc/new; do
			atf_check -s exit:73 -e match:"$p: .*(read_only)" \
			    "$CTL" put -r $a "$BOX" src $p
		done
		atf_check "$CTL" put -r $a "$BOX" src "/workspace/ok$a"
		atf_check "$CTL" get -r $a "$BOX" "/workspace/ok$a" "ok$a"
		same src "ok$a"
	done
	atf_check -s exit:64 -e match:'etc/mtab: a link that leads out' \
	    "$CTL" get -r "$BOX" /etc etc
	atf_check test -s etc/passwd
	daemon_stop
}
bare_cleanup()
{
	daemon_cleanup
}

atf_test_case moving cleanup
moving_head()
{
	atf_set descr 'a file that grows, shrinks or goes while it is read'
	atf_set timeout 300
}
moving_body()
{
	world
	box
	run 'mkdir t; : >t/grows; : >t/shrinks; echo still >t/z'
	"$CTL" exec -d "$BOX" sh -c 'while :; do head -c 70000 /dev/zero |
	    tr "\0" g >>t/grows; done' </dev/null >id.1 || atf_fail "grows"
	"$CTL" exec -d "$BOX" sh -c 'head -c 4000000 /dev/zero | tr "\0" s >all
	    while :; do cat all >t/shrinks; : >t/shrinks; : >t/goes; rm t/goes
	    : >made; done' </dev/null >id.2 || atf_fail "shrinks"
	await '"$CTL" stat "$BOX" made >/dev/null 2>&1'
	i=0
	while [ $i -lt "$(figure 10 200)" ]; do
		i=$((i + 1))
		rm -rf out
		s=0
		timeout 60 "$CTL" get -r "$BOX" t out 2>err || s=$?
		[ $s -eq 0 ] || [ $s -eq 73 ] || atf_fail "$s: $(cat err)"
		# Each is what it was, or zeros at its end.
		atf_check_equal still "$(cat out/z)"
		[ "$(tr -d 'g\0' <out/grows | wc -c)" -eq 0 ] &&
		    [ "$(tr -d 's\0' <out/shrinks | wc -c)" -eq 0 ] ||
		    atf_fail "bytes of something else"
		"$CTL" get -r "$BOX" t - >stream 2>err || s=$?
		tar -tf stream >names || atf_fail "no archive"
		grep -q '^\(\./\)\?z$' names || atf_fail "$(cat names)"
		run ': >t/grows'
	done
	for f in id.1 id.2; do
		atf_check -o ignore "$CTL" kill "$(cat $f)"
	done
	# The other way: what is put does not stand still here.
	mkdir here
	echo still >here/z
	(while [ ! -e over ]; do
		head -c 3000000 /dev/zero >here/a
		: >here/a
		head -c 70000 /dev/zero >>here/b
		mkdir -p here/d/e
		rm -rf here/d
	done) &
	loop=$!
	i=0
	while [ $i -lt "$(figure 10 200)" ]; do
		i=$((i + 1))
		s=0
		timeout 60 "$CTL" put -r "$BOX" here "in.$i" 2>err || s=$?
		[ $s -eq 0 ] || [ $s -eq 73 ] || {
			: >over
			atf_fail "$s: $(cat err)"
		}
		"$CTL" cat "$BOX" "in.$i/z" >got
		grep -qx still got || {
			: >over
			atf_fail "no z: $(cat got)"
		}
	done
	: >over
	wait $loop
	daemon_stop
}
moving_cleanup()
{
	touch over
	daemon_cleanup
}

# dies process: kills it; in the end there is a daemon again.
dies()
{
	if [ "$1" = parent ]; then
		daemon_kill
	else
		kill -9 "$(daemon_child "$1")" || atf_fail "no $1"
	fi
}

comes_back()
{
	if _gone "$(daemon_pid)"; then
		await '[ -z "$(_daemon_pids "$D")" ]'
		daemon_start
	fi
	await '"$CTL" ls "$BOX" >/dev/null 2>&1' 120
}

# ends_there command ...: what was 8 MiB, and grows as soon as some of it has
# come, has come when it is that many bytes.
ends_there()
{
	rm -f out
	mkfifo out
	run 'rm -rf t; mkdir t; head -c 8388608 /dev/zero >t/big'
	"$CTL" "$@" >out 2>err &
	pid=$!
	exec 3<out
	head -c 100000 <&3 >got
	run 'dd if=/dev/null of=t/big bs=1M seek=100000 count=0 2>/dev/null'
	# What has no end must not fill our disk.
	head -c 100000000 <&3 >>got
	exec 3<&-
	s=0
	wait $pid || s=$?
}

atf_test_case endless cleanup
endless_head()
{
	atf_set descr 'a file that grows without end ends where it ended'
	atf_set timeout 300
}
endless_body()
{
	world
	box
	for c in cat get; do
		# shellcheck disable=SC2046
		ends_there $c "$BOX" t/big $([ $c = cat ] || echo -)
		atf_check_equal "0 8388608" "$s $(stat -c %s got)"
	done
	ends_there get -r "$BOX" t -
	atf_check_equal 73 $s
	atf_check -o match:'changed meanwhile .conflict.' cat err
	atf_check_equal 8388608 "$(tar -xOf got | wc -c)"
	daemon_stop
}
endless_cleanup()
{
	daemon_cleanup
}

atf_test_case killed cleanup
killed_head()
{
	atf_set descr 'each process dies in the middle: told, nothing half there'
	atf_set timeout 600
}
killed_body()
{
	world
	box
	run 'mkdir t; truncate -s 3G t/a; echo end >t/b'
	make_tree
	head -c 3000000 /dev/urandom >src/big
	touch -d '2001-02-03 04:05:06.789' src
	tar -C src --format=pax -cf tree .
	mkdir here
	mkfifo in
	for p in frontend store broker runner parent; do
		# Out of it.
		"$CTL" get -r -a "$BOX" t here/new 2>err &
		get=$!
		await '[ -e here/.sandboxctl-*/a ] || [ -e here/new ]'
		dies $p
		s=0
		wait $get || s=$?
		if [ $s -ne 0 ]; then
			atf_check_equal "$p 69" "$p $s"
			atf_check -o match:'(unavailable)' cat err
			atf_check -o inline:'' ls -A here
		else
			atf_check_equal end "$(cat here/new/b)"
		fi
		atf_check -o inline:'' find here -name '.sandboxctl*'
		comes_back
		rm -rf here/new
		# Into it.
		"$CTL" put -r -a "$BOX" - "new.$p" <in 2>err &
		put=$!
		exec 3>in
		head -c 900000 tree >&3
		await 'run "ls -A" | grep -q sandboxd-'
		dies $p
		(trap '' PIPE; tail -c +900001 tree >&3) 2>/dev/null || :
		exec 3>&-
		s=0
		wait $put || s=$?
		comes_back
		await '! run "ls -A" | grep -q sandboxd-'
		if [ $s -ne 0 ]; then
			atf_check_equal "$p 69" "$p $s"
			atf_check -o match:'(unavailable)' cat err
			run "! test -e new.$p"
		fi
		# Once more it goes through.
		atf_check "$CTL" put -r -a "$BOX" - "new.$p" <tree
		rm -rf back
		atf_check "$CTL" get -r -a "$BOX" "new.$p" back
		same src back
	done
	daemon_stop
}
killed_cleanup()
{
	daemon_cleanup
}

atf_test_case given_up cleanup
given_up_head()
{
	atf_set descr 'create -C and run -C, interrupted: no sandbox stays'
	atf_set timeout 300
}
# gives_up how name command ...: while what it copies has no end
gives_up()
{
	sig=$1
	n=$2
	shift 2
	: >pid
	sh -c 'echo $$ >&3; exec 3>&-; exec "$0" "$@"' "$CTL" "$@" \
	    >out 2>err 3>pid </dev/null &
	made=$!
	exec 4<>in
	await '[ -s pid ]'
	await '"$CTL" stat "$n" f >/dev/null 2>&1 ||
	    ! kill -0 "$(cat pid)"'
	kill -0 "$(cat pid)" || atf_fail "$*: ended: $(cat err)"
	$sig
	s=0
	wait $made || s=$?
	exec 4>&-
}
given_up_body()
{
	world
	mkfifo in
	echo 1 >f
	term()
	{
		kill -TERM "$(cat pid)"
	}
	for c in create run; do
		x=
		[ $c = create ] || x=true
		gives_up term "a$c" $c -i "a$c" -C f:f -C in:in $x
		atf_check_equal "$c 143" "$c $s"
		atf_check -o inline:'' cat out
		atf_check -o match:"^sandboxctl: a$c: it is removed" cat err
		atf_check -o inline:'' "$CTL" list
		nothing_left
	done
	# Kept where that is asked for.
	gives_up term kept create -F -i kept -C f:f -C in:in
	atf_check_equal 143 $s
	atf_check -o match:'^kept  *ready' "$CTL" list
	atf_check -o ignore "$CTL" delete kept
	# A daemon that dies: it goes once there is another one.
	again()
	{
		daemon_kill
		daemon_start
		exec 4>&-
	}
	gives_up again last create -i last -C f:f -C in:in
	atf_check test $s -ne 0
	atf_check -o match:'last: it is removed' cat err
	nothing_left
	daemon_stop
}
given_up_cleanup()
{
	daemon_cleanup
}

# A terminal of so many columns.
tm()
{
	TMUX='' tmux -S "$PWD/tmux" -f /dev/null "$@"
}

atf_test_case screen cleanup
screen_head()
{
	atf_set descr 'how far a tree is, on a terminal of 80 and 40 columns'
	atf_set timeout 300
}
# shown width name command: something of it, and then more, on one line
shown()
{
	cat >"$2.sh" <<-EOT
		echo before
		$3
		echo "after \$?"
		read x
	EOT
	tm new-session -d -s "$2" -x "$1" -y 10 "exec sh '$PWD/$2.sh'" ||
	    atf_fail "no tmux"
	await "tm capture-pane -p -t '=$2:' | grep -q 'MiB/s'"
	tm capture-pane -p -t "=$2:" >one
	await "tm capture-pane -p -t '=$2:' >two; ! cmp -s one two"
	atf_check_equal before "$(head -n 1 two)"
	atf_check_equal "$2 2" "$2 $(grep -c . two)"
	sed -n 2p two >line
	tm send-keys -t "=$2:" C-c
	tm kill-session -t "=$2"
}
screen_body()
{
	world
	box
	# More than there is time for.
	run 'mkdir t; truncate -s 400G t/a'
	m='[0-9.]* MiB, [0-9.]* MiB/s$'
	for w in 80 40; do
		shown $w tree$w "'$CTL' get -r '$BOX' t - | cat >/dev/null"
		atf_check -o match:"^$m" cat line
		shown $w file$w "'$CTL' get '$BOX' t/a /dev/null"
		# The bar is there as far as it fits.
		if [ $w = 80 ]; then
			atf_check -o match:"^\[#* *\] *[0-9]*% $m" cat line
		else
			atf_check -o match:"^(\[#* *\] )? *[0-9]*% $m" \
			    cat line
		fi
		[ "$(wc -c <line)" -le $w ] || atf_fail "$(cat line)"
	done
	daemon_stop
}
screen_cleanup()
{
	TMUX='' tmux -S "$PWD/tmux" kill-server 2>/dev/null
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case user
	atf_add_test_case bare
	atf_add_test_case moving
	atf_add_test_case endless
	atf_add_test_case killed
	atf_add_test_case given_up
	atf_add_test_case screen
}
