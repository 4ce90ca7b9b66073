# cp -r: a tree to another place of its sandbox.  That it is the same there
# t_tree tells; here is what is refused, left out, and in the way.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

atf_test_case refused cleanup
refused_head()
{
	atf_set descr 'into itself, what has no bytes, what is in the way'
	atf_set timeout 180
}
refused_body()
{
	world
	box
	run 'mkdir -p t/d/e t/shut; echo a >t/a; echo b >t/d/b; mkfifo t/p;
	    ln -s /etc/passwd t/out; ln -s none t/none; echo c >t/closed;
	    ln -s t/d away; chmod 0 t/closed t/shut'
	# Into itself, by whatever name, and nothing is made.
	atf_check -s ignore -o save:before -e ignore "$CTL" exec "$BOX" \
	    find . -print
	for to in t t/d t/new t/d/e/new away away/new t/../t/d/.; do
		atf_check -s exit:64 -e match:'into itself \(invalid_path\)' \
		    "$CTL" cp -r "$BOX" ./t "$to"
	done
	atf_check -s exit:64 -e match:'invalid_path' "$CTL" cp -r "$BOX" / d
	atf_check -s ignore -o file:before -e ignore "$CTL" exec "$BOX" \
	    find . -print
	# The rest goes on, and each that does not is named.
	atf_check -s exit:77 -e save:err "$CTL" cp -r "$BOX" t u
	sort err >told
	atf_check -o match:'t/closed: Permission denied' \
	    -o match:'t/p: a FIFO .not_file' \
	    -o match:'t/shut: Permission denied' cat told
	atf_check_equal 3 "$(wc -l <told)"
	run 'chmod 700 u/shut; cd u; find . -type f; find . -type l' >got
	atf_check -o inline:'./a\n./d/b\n./none\n./out\n' sort got
	atf_check -o match:' u/out -> /etc/passwd$' "$CTL" stat "$BOX" u/out
	atf_check -s exit:77 -e ignore -o match:'"path":"v"' \
	    -o match:'"entries":8,"left_out":3' "$CTL" -j cp -r "$BOX" t v
	run 'chmod 600 t/closed; chmod 700 t/shut; rm t/p'
	# Over what is there: a directory stays, no link is gone through.
	run 'mkdir -p w/t/d w/t/a x; ln -s ../../x w/t/d/e; ln -s /tmp/f w/t/none
	    echo old >w/t/d/b; ln w/t/d/b same; echo in >t/d/e/in'
	atf_check -s exit:66 -e save:err "$CTL" cp -r "$BOX" t w
	atf_check -o match:'t/a: Is a directory' cat err
	atf_check -o match:'t/d/e: a link or a file is in its way' cat err
	atf_check -o inline:'old\n' "$CTL" cat "$BOX" same
	atf_check -o inline:'b\n' "$CTL" cat "$BOX" w/t/d/b
	atf_check -o empty "$CTL" ls "$BOX" x
	atf_check -s exit:66 -e ignore "$CTL" stat "$BOX" /tmp/f
	# What is no directory, by itself; several, and one that fails.
	run 'touch -d 2001-02-03 t/a; chmod 640 t/a; mkdir many; mkfifo p'
	atf_check "$CTL" cp -r "$BOX" t/a one
	atf_check -o match:'^-rw-r----- .* 2001-02-03T' "$CTL" stat "$BOX" one
	atf_check "$CTL" cp -r "$BOX" t/out link
	atf_check -o match:' link -> /etc/passwd$' "$CTL" stat "$BOX" link
	atf_check -s exit:66 -e match:'p to many/p: not a regular file' \
	    "$CTL" cp -r "$BOX" p t/d one many
	atf_check -o inline:'d\none\n' "$CTL" ls "$BOX" many
	atf_check -s exit:66 -e match:'none to z: No such file' \
	    "$CTL" cp -r "$BOX" none z
	atf_check -s not-exit:0 -e match:'(not a|Not a) directory' \
	    "$CTL" cp -r "$BOX" t one
	# A file system that is full: told, and which file it was.
	run 'mkdir big; head -c 80000000 /dev/urandom >big/b'
	atf_check -s not-exit:0 -e match:'b: No space left' \
	    "$CTL" cp -r "$BOX" big /tmp/big
	atf_check -o empty "$CTL" ls "$BOX" /tmp/big
	daemon_stop
}
refused_cleanup()
{
	daemon_cleanup
}

atf_test_case deep cleanup
deep_head()
{
	atf_set descr 'a tree 500 deep, and holes: memory and disk are bounded'
	atf_set timeout 180
}
deep_body()
{
	world
	box
	run 'i=0; mkdir t; cd t; while [ $i -lt 500 ]; do mkdir d && cd d ||
	    exit 1; i=$((i + 1)); done; echo bottom >f'
	# More than there is place for, if it were written.
	run 'truncate -s 1T t/hole; echo end >>t/hole'
	atf_check "$CTL" cp -r "$BOX" t u
	run 'diff -r t/d u/d && find u -type f -name f | wc -l' >got
	atf_check -o inline:'1\n' cat got
	run 'stat -c %s t/hole u/hole | uniq | wc -l; tail -c 4 u/hole' >got
	atf_check -o inline:'1\nend\n' cat got
	[ "$(run 'du -k u/hole' | cut -f 1)" -lt 1000 ] ||
	    atf_fail "the hole was written"
	pid=$(docker -H "unix://$ENGINE" inspect -f '{{.State.Pid}}' "$(_ours)")
	n=0
	for p in $(cat "/proc/$pid/task/$pid/children"); do
		hwm=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' \
		    "/proc/$p/status")
		[ "${hwm:-0}" -lt 16384 ] || atf_fail "$hwm KiB"
		n=$((n + 1))
	done
	[ $n -gt 0 ] || atf_fail "nobody has copied"
	daemon_stop
}
deep_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case refused
	atf_add_test_case deep
}
