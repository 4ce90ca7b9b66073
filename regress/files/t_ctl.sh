# Files of a sandbox by sandboxctl: what people and scripts use.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

atf_test_case names cleanup
names_head()
{
	atf_set descr 'names of any byte: ls, stat, mv, rm'
	atf_set timeout 180
}
names_body()
{
	world
	box
	nl=$(printf 'a\nb')
	bad=$(printf 'x\377\001y')
	long=$(printf '%255s' '' | tr ' ' n)
	for n in "$nl" "$bad" "$long" "a'b\"c" '$HOME' ' sp ' '-r' '*'; do
		printf '%s' "$n" >want
		atf_check "$CTL" put "$BOX" want "./$n"
		atf_check -o file:want "$CTL" cat "$BOX" "./$n"
		atf_check "$CTL" mv "$BOX" "./$n" moved
		atf_check -s exit:66 -e match:'file_not_found' \
		    "$CTL" cat "$BOX" "./$n"
		atf_check "$CTL" mv "$BOX" moved "./$n"
		atf_check -o match:'^-rw-r--r-- ' "$CTL" stat "$BOX" "./$n"
	done
	# A name that is longer than any can be.
	atf_check -s exit:64 -e match:'invalid_path' \
	    "$CTL" put "$BOX" want "${long}n"
	# What a terminal would take for orders is not shown as it is.
	atf_check -o save:out "$CTL" ls "$BOX"
	atf_check_equal 8 "$(wc -l <out)"
	atf_check_equal 0 "$(tr -d '\n -~' <out | wc -c)"
	atf_check -o save:out "$CTL" -j ls "$BOX"
	atf_check_equal 8 "$(wc -l <out)"
	for n in "$nl" "$bad" "$long" "a'b\"c" '$HOME' ' sp ' '-r' '*'; do
		atf_check "$CTL" rm "$BOX" "./$n"
	done
	atf_check "$CTL" ls "$BOX"
	daemon_stop
}
names_cleanup()
{
	daemon_cleanup
}

atf_test_case tree cleanup
tree_head()
{
	atf_set descr 'directories: ls, du, mkdir, mv, rm, and what they refuse'
	atf_set timeout 180
}
tree_body()
{
	world
	box
	atf_check "$CTL" mkdir -p "$BOX" a/b/c d
	atf_check "$CTL" mkdir -p "$BOX" a/b/c
	atf_check -s exit:73 -e match:'a: File exists' "$CTL" mkdir "$BOX" a
	atf_check -s exit:66 -e match:'x/y: No such file' \
	    "$CTL" mkdir "$BOX" x/y
	run 'echo one >a/f; ln -s f a/l; ln a/f a/g; mkfifo a/p;
	    ln -s / a/root'
	atf_check -o inline:'a\nd\n' "$CTL" ls "$BOX"
	atf_check -o inline:'b\nf\ng\nl\np\nroot\n' "$CTL" ls "$BOX" a
	atf_check -o inline:'a\na/b\na/b/c\na/f\na/g\na/l\na/p\na/root\nd\n' \
	    "$CTL" ls -R "$BOX"
	atf_check -o match:'^prw-r--r-- .* p$' -o match:' l -> f$' \
	    -o match:'^drwxr-xr-x .* b$' "$CTL" ls -l "$BOX" a
	atf_check -o inline:'a/f\n' "$CTL" ls "$BOX" a/f
	atf_check -s exit:66 -e match:'n: No such file' "$CTL" ls "$BOX" n
	atf_check -o match:'"entries":10' "$CTL" -j du "$BOX"
	atf_check -o match:'^[0-9]*	a$' "$CTL" du "$BOX" a
	# Neither waits for what never comes.
	atf_check -s exit:66 -e match:'a/p: not a regular file' \
	    "$CTL" cat "$BOX" a/p
	atf_check -s exit:66 -e match:'a/p: not a regular file' \
	    "$CTL" get "$BOX" a/p here
	atf_check "$CTL" chmod "$BOX" 600 a/f
	atf_check -o match:'^-rw-------' "$CTL" stat "$BOX" a/f
	atf_check -s exit:64 -e match:'octal' "$CTL" chmod "$BOX" 8 a/f
	# A whole tree, with what could not be entered; no link is followed.
	"$CTL" exec "$BOX" sh -c 'mkdir -p cr/d/e shut && echo x >cr/f &&
	    echo x >cr/d/e/g && echo x >out && chmod 600 out &&
	    ln -s ../out cr/l && ln -s ../shut cr/s && chmod 711 shut &&
	    mkfifo cr/p && chmod 0 cr/d' </dev/null || atf_fail "cr"
	atf_check "$CTL" chmod -R "$BOX" 750 cr
	atf_check -o inline:'600 711 750 750 750 750 750 750 \n' "$CTL" exec \
	    "$BOX" sh -c 'for f in out shut cr cr/f cr/p cr/d cr/d/e cr/d/e/g; do
		stat -c %a $f; done | tr "\n" " "; echo' </dev/null
	# Directories that nobody enters any more come last.
	atf_check "$CTL" chmod -R "$BOX" 640 cr
	atf_check -s exit:77 -e match:'permission' "$CTL" ls "$BOX" cr/d/e
	atf_check "$CTL" chmod "$BOX" 644 out
	atf_check "$CTL" chmod -R "$BOX" 600 out
	atf_check -s exit:66 -e match:'not_found' "$CTL" chmod -R "$BOX" 600 no
	atf_check "$CTL" chmod -R "$BOX" 700 cr
	atf_check "$CTL" rm -r "$BOX" cr out shut
	atf_check "$CTL" mv "$BOX" a/f a/g d
	atf_check -o inline:'f\ng\n' "$CTL" ls "$BOX" d
	atf_check -s exit:66 -e match:'not_directory' \
	    "$CTL" mv "$BOX" d/f d/g n
	# To another file system, and back.
	atf_check "$CTL" mv "$BOX" d/f /tmp/f
	atf_check -o inline:'one\n' "$CTL" cat "$BOX" /tmp/f
	atf_check -s exit:69 -e match:'only a regular file' \
	    "$CTL" mv "$BOX" a /tmp/a
	# One that fails is told, the others go on; a link is not followed.
	atf_check -s exit:73 -e match:'a: .*not empty' "$CTL" rm "$BOX" a d/g
	atf_check -o empty "$CTL" ls "$BOX" d
	atf_check -s exit:66 -e match:'n: No such file' "$CTL" rm "$BOX" n
	atf_check "$CTL" rm -f "$BOX" n
	atf_check "$CTL" rm -r "$BOX" a d
	atf_check -o empty "$CTL" ls "$BOX"
	atf_check -o match:'etc' "$CTL" ls "$BOX" /
	atf_check -s exit:64 -e match:'invalid_path' "$CTL" rm -r "$BOX" .
	atf_check -s exit:64 -e match:'invalid_path' "$CTL" rm -r "$BOX" /
	daemon_stop
}
tree_cleanup()
{
	daemon_cleanup
}

atf_test_case inside cleanup
inside_head()
{
	atf_set descr 'cp: bytes and modes, names, and what is refused'
	atf_set timeout 180
}
inside_body()
{
	world
	box
	head -c 300000 /dev/urandom >want
	atf_check "$CTL" put "$BOX" want f
	run 'chmod 750 f; ln -s f l; ln -s to dangling; mkdir d e; mkfifo p;
	    echo old >o; ln o same; echo g >g'
	atf_check "$CTL" cp "$BOX" f c
	atf_check -o file:want "$CTL" cat "$BOX" c
	atf_check -o match:'^-rwxr-x---   1 ' "$CTL" stat "$BOX" c
	# Another file takes the name, and what had it is as it was elsewhere.
	atf_check "$CTL" cp "$BOX" f o
	atf_check -o file:want "$CTL" cat "$BOX" o
	atf_check -o inline:'old\n' "$CTL" cat "$BOX" same
	# What a link leads to, on both sides.
	atf_check "$CTL" cp "$BOX" l dangling
	atf_check -o file:want "$CTL" cat "$BOX" to
	atf_check -o match:'^-rwxr-x---' "$CTL" stat "$BOX" to
	atf_check -o match:' dangling -> to$' "$CTL" stat "$BOX" dangling
	atf_check "$CTL" cp "$BOX" l f
	atf_check -o file:want "$CTL" cat "$BOX" f
	# One that has bytes and no length.
	atf_check "$CTL" cp "$BOX" /proc/version v
	atf_check -o match:'^Linux' "$CTL" cat "$BOX" v
	# Into a directory, and to another file system.
	atf_check "$CTL" cp "$BOX" f g d
	atf_check -o inline:'f\ng\n' "$CTL" ls "$BOX" d
	atf_check "$CTL" cp "$BOX" f /tmp/f
	atf_check -o file:want "$CTL" cat "$BOX" /tmp/f
	# Any name is one.
	bad=$(printf 'x\377\ny')
	atf_check "$CTL" cp "$BOX" f "./$bad"
	atf_check -o file:want "$CTL" cat "$BOX" "./$bad"
	atf_check "$CTL" rm "$BOX" "./$bad"
	# Refused, without waiting for anybody, and nothing is left of it.
	atf_check -o save:before "$CTL" ls -R "$BOX"
	atf_check -s exit:66 -e match:'not_directory' \
	    "$CTL" cp "$BOX" f g n
	atf_check -s exit:66 -e match:'p to n: not a regular file' \
	    "$CTL" cp "$BOX" p n
	atf_check -s exit:66 -e match:'g to p: not a regular file' \
	    "$CTL" cp "$BOX" g p
	atf_check -s not-exit:0 -e match:'d to n: .*directory' \
	    "$CTL" cp "$BOX" d n
	atf_check -s exit:66 -e match:'no to n: No such file' \
	    "$CTL" cp "$BOX" no n
	atf_check -s exit:66 -e match:'g to no/n: No such file' \
	    "$CTL" cp "$BOX" g no/n
	atf_check -s exit:64 -e match:'invalid_path' "$CTL" cp "$BOX" .. e
	# One that fails is told, the others go on.
	atf_check -s exit:66 -e match:'no to d/no: No such file' \
	    "$CTL" cp "$BOX" no g d
	atf_check -o inline:'g\n' "$CTL" cat "$BOX" d/g
	atf_check -o file:before "$CTL" ls -R "$BOX"
	daemon_stop
}
inside_cleanup()
{
	daemon_cleanup
}

atf_test_case deep cleanup
deep_head()
{
	atf_set descr 'a tree 500 deep, a directory of 20000'
	atf_set timeout 300
}
deep_body()
{
	world
	box
	run 'i=0; while [ $i -lt 500 ]; do mkdir d; cd d; i=$((i + 1)); done'
	run 'mkdir many; cd many; i=0; while [ $i -lt 20000 ]; do : >f$i;
	    i=$((i + 1)); done'
	atf_check -o save:out "$CTL" ls -R "$BOX" d
	atf_check_equal 499 "$(wc -l <out)"
	atf_check -o save:out "$CTL" ls "$BOX" many
	atf_check_equal 20000 "$(wc -l <out)"
	LC_ALL=C sort -c out || atf_fail "not sorted"
	atf_check "$CTL" rm -r "$BOX" d many
	atf_check -o empty "$CTL" ls "$BOX"
	daemon_stop
}
deep_cleanup()
{
	daemon_cleanup
}

atf_test_case copy cleanup
copy_head()
{
	atf_set descr 'put and get: files, streams, permissions, refusals'
	atf_set timeout 300
}
copy_body()
{
	world
	box
	head -c 5000000 /dev/urandom >big
	chmod 750 big
	atf_check "$CTL" put "$BOX" big x
	atf_check -o match:'^-rwxr-x--- ' "$CTL" stat "$BOX" x
	atf_check "$CTL" get "$BOX" x back
	cmp big back || atf_fail "it is another one"
	atf_check_equal 750 "$(stat -c %a back)"
	atf_check "$CTL" put -a "$BOX" back y
	atf_check -o file:big "$CTL" get "$BOX" y -
	# A stream has no length.
	"$CTL" get "$BOX" x - | "$CTL" put "$BOX" - z || atf_fail "stream"
	atf_check -o file:big "$CTL" cat "$BOX" z
	mkdir there
	atf_check "$CTL" get "$BOX" x y z there
	cmp big there/y || atf_fail "it is another one"
	atf_check "$CTL" mkdir "$BOX" d
	atf_check "$CTL" put "$BOX" there/x there/y d
	atf_check -o inline:'x\ny\n' "$CTL" ls "$BOX" d
	atf_check -s exit:66 -e match:'n/x: .*[Nn]o such file' \
	    "$CTL" put "$BOX" big n/x
	atf_check "$CTL" put -p "$BOX" big n/x
	atf_check -s exit:66 -e match:'it is a directory' "$CTL" get "$BOX" d .
	atf_check -s exit:65 -e match:'x: 5000000 bytes: the limit is 1048576' \
	    "$CTL" get -m 1M "$BOX" x small
	atf_check -s exit:66 -e match:'nowhere' "$CTL" put "$BOX" nowhere d
	atf_check -s exit:66 -e match:'not_directory' \
	    "$CTL" put "$BOX" big back e
	# What failed has left nothing, here or there.
	atf_check_equal "back big there" \
	    "$(ls | grep -v -e box.id -e '^want' | tr '\n' ' ' |
	    sed 's/ $//')"
	# A full disk: the old one stays.
	run 'head -c 100 /dev/zero >/tmp/f'
	head -c 80000000 /dev/zero >large
	atf_check -s exit:73 -e match:'no_space' "$CTL" put -a "$BOX" large \
	    /tmp/f
	atf_check -o match:' 100 .*/tmp/f$' "$CTL" stat "$BOX" /tmp/f
	atf_check -o inline:'f\n' "$CTL" ls "$BOX" /tmp
	# Nor is a new one there that is not whole, atomic or not.
	atf_check -s exit:73 -e match:'no_space' "$CTL" put "$BOX" large \
	    /tmp/g
	atf_check -s exit:73 -e match:'no_space' "$CTL" put "$BOX" - /tmp/g \
	    <large
	atf_check -o inline:'f\n' "$CTL" ls "$BOX" /tmp
	daemon_stop
}
copy_cleanup()
{
	daemon_cleanup
}

atf_test_case rights cleanup
rights_head()
{
	atf_set descr 'who has not the right files, and what is not ready'
	atf_set timeout 180
}
rights_body()
{
	world
	box
	atf_check -o ignore "$CTL" ls "$BOX"
	atf_check "$CTL" pause "$BOX"
	atf_check -s exit:75 -e match:'paused .wrong_state' "$CTL" ls "$BOX"
	atf_check "$CTL" unpause "$BOX"
	atf_check -o ignore "$CTL" ls "$BOX"
	atf_check "$CTL" stop "$BOX"
	atf_check -s exit:75 -e match:'stopped .wrong_state' "$CTL" ls "$BOX"
	atf_check -s exit:66 -e match:'nosuch: no such sandbox' \
	    "$CTL" ls nosuch
	daemon_stop
}
rights_cleanup()
{
	daemon_cleanup
}

atf_test_case lost cleanup
lost_head()
{
	atf_set descr 'the runner, or the client, is killed in the middle'
	atf_set timeout 180
}
lost_body()
{
	world
	box
	run 'head -c 20000000 /dev/zero >big; echo old >f'
	mkfifo out in
	# Out of it: what has come is not taken for the whole.
	"$CTL" get "$BOX" big - >out 2>err &
	exec 3<out
	head -c 100000 <&3 >/dev/null
	kill -9 "$(daemon_child runner)"
	cat <&3 >/dev/null
	exec 3<&-
	s=0
	wait $! || s=$?
	atf_check_equal 69 $s
	atf_check -o match:'(unavailable)' cat err
	await '"$CTL" ping'
	await '"$CTL" ls "$BOX" >/dev/null 2>&1'
	# Into it: the old one stays, and nothing beside it.
	"$CTL" put -a "$BOX" - f <in 2>err &
	exec 3>in
	head -c 1000000 /dev/zero >&3
	await 'run "ls -A" | grep -q sandboxd-'
	kill -9 "$(daemon_child runner)"
	await '"$CTL" ping'
	await '"$CTL" ls "$BOX" >/dev/null 2>&1'
	head -c 100000 /dev/zero 2>/dev/null >&3 || :
	exec 3>&-
	s=0
	wait $! || s=$?
	atf_check_equal 69 $s
	atf_check -o inline:'old\n' "$CTL" cat "$BOX" f
	await '! run "ls -A" | grep -q sandboxd-'
	# The same when the client goes, however it does.
	for sig in KILL TERM; do
		"$CTL" put -a "$BOX" - f <in 2>err &
		exec 3>in
		head -c 1000000 /dev/zero >&3
		await 'run "ls -A" | grep -q sandboxd-'
		kill -$sig $!
		exec 3>&-
		wait $! || :
		await '! run "ls -A" | grep -q sandboxd-'
		atf_check -o inline:'old\n' "$CTL" cat "$BOX" f
	done
	daemon_stop
}
lost_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case lost
	atf_add_test_case names
	atf_add_test_case tree
	atf_add_test_case deep
	atf_add_test_case copy
	atf_add_test_case inside
	atf_add_test_case rights
}
