# What has changed since a mark, or since the sandbox was made: sandboxctl
# diff, mark, unmark.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

atf_test_case mark cleanup
mark_head()
{
	atf_set descr 'each kind of difference from a mark, and none'
	atf_set timeout 180
}
mark_body()
{
	world
	box
	run 'mkdir -p a/b a/c a/gone/deep
	    for f in same text size mode times links kind a/x a/gone/f \
	    a/gone/deep/g; do echo $f >$f; done
	    ln -s same l; ln -s same m; touch -d 2020-01-01 times'
	atf_check "$CTL" mark "$BOX" one
	atf_check -o empty "$CTL" diff -M one "$BOX"
	# Read, listed, looked at: no difference.
	run 'cat same text; ls -R . a' >/dev/null
	atf_check -o empty "$CTL" diff -M one "$BOX"
	run 'echo TEXT >text; echo more >>size; chmod 600 mode
	    echo TIMES >times; touch -d 2020-01-01 times; ln links links2
	    rm kind; mkdir kind; echo new >a/new; rm -r a/gone; rm m
	    ln -s text m; chmod 700 a/c; echo new >"$(printf "n\nl")"; mv a/x a/y'
	cat >want <<-end
	added a/new
	added a/y
	added links2
	added n\\012l
	changed a/c/ (mode)
	changed kind/ (type)
	changed links (links)
	changed m (content)
	changed mode (mode)
	changed size (content)
	changed text (content)
	changed times (content)
	removed a/gone/
	removed a/gone/deep/
	removed a/gone/deep/g
	removed a/gone/f
	removed a/x
	end
	atf_check -o save:out "$CTL" diff -M one "$BOX"
	LC_ALL=C sort out >got
	atf_check -o file:want cat got
	# A part of it, by names below that; elsewhere it says nothing.
	cat >want <<-end
	changed c/ (mode)
	removed gone/
	removed gone/deep/
	removed gone/deep/g
	removed gone/f
	added new
	removed x
	added y
	end
	atf_check -o file:want "$CTL" diff -M one "$BOX" a
	atf_check -s exit:64 -e match:'of another file system' \
	    "$CTL" diff -M one "$BOX" /etc
	atf_check -o match:'"kind":"changed","what":"mode","name":"mode"' \
	    -o match:'"mode":33152,.*"old_mode":33188' \
	    "$CTL" -j diff -M one "$BOX"
	# A new one, and the same name again; both stay.
	atf_check "$CTL" mark "$BOX" two
	atf_check -o empty "$CTL" diff -M two "$BOX"
	atf_check "$CTL" mark "$BOX" one a
	atf_check -s exit:64 -e match:'of another directory: /workspace/a' \
	    "$CTL" diff -M one "$BOX"
	run 'rm -r a/new; mkdir a/new'
	atf_check -o inline:'changed new/ (type)\n' "$CTL" diff -M one "$BOX" a
	atf_check -o inline:'changed a/new/ (type)\n' "$CTL" diff -M two "$BOX"
	atf_check "$CTL" unmark "$BOX" one
	atf_check -s exit:66 -e match:'no such mark: one' \
	    "$CTL" diff -M one "$BOX"
	atf_check -s exit:66 -e match:'no such mark' "$CTL" unmark "$BOX" one
	daemon_stop
}
mark_cleanup()
{
	daemon_cleanup
}

atf_test_case since cleanup
since_head()
{
	atf_set descr 'since it was made: workspace, tmpfs, image, after a stop'
	atf_set timeout 180
}
since_body()
{
	world
	box
	atf_check -o empty "$CTL" diff "$BOX"
	atf_check -o empty "$CTL" diff "$BOX" /tmp
	run 'mkdir d; echo x >d/f; touch -d 2001-01-01 d/old; echo x >/tmp/t'
	atf_check -o inline:'added d/\nadded d/f\nadded d/old\n' \
	    "$CTL" diff "$BOX"
	atf_check -o inline:'added t\n' "$CTL" diff "$BOX" /tmp
	# Of the image it is known that it was touched, and no more.
	atf_check -s ignore -e ignore -o match:'^touched etc/$' \
	    -o not-match:'bin/busybox' "$CTL" diff "$BOX" /
	atf_check "$CTL" mark "$BOX" m
	atf_check "$CTL" stop "$BOX"
	atf_check "$CTL" resume "$BOX"
	atf_check -o inline:'added d/\nadded d/f\nadded d/old\n' \
	    "$CTL" diff "$BOX"
	atf_check -s exit:66 -e match:'no such mark: m' \
	    "$CTL" diff -M m "$BOX"
	# Marks outlive a restart of the daemon.
	atf_check "$CTL" mark "$BOX" m
	run 'rm d/f'
	kill -9 "$(daemon_child runner)"
	await '"$CTL" ping'
	await '"$CTL" ls "$BOX" >/dev/null 2>&1'
	atf_check -o inline:'removed d/f\n' "$CTL" diff -M m "$BOX"
	daemon_stop
}
since_cleanup()
{
	daemon_cleanup
}

atf_test_case absent cleanup
absent_head()
{
	atf_set descr 'a directory that is not there yet, or no more, is empty'
	atf_set timeout 180
}
absent_body()
{
	world
	box
	atf_check -o empty "$CTL" diff "$BOX" later
	atf_check -o empty "$CTL" diff "$BOX" /no/where
	atf_check "$CTL" mark -c "$BOX" m later/in
	atf_check "$CTL" mark "$BOX" all
	atf_check -o empty "$CTL" diff -M m "$BOX" later/in/
	atf_check -o empty "$CTL" diff -M all "$BOX" later
	run 'mkdir -p later/in; echo x >later/in/f; echo y >later/beside'
	atf_check -o inline:'added f\n' "$CTL" diff -M m "$BOX" later/in
	atf_check -o match:'^[+]x$' "$CTL" export -p -M m "$BOX" later/in
	atf_check -s exit:64 -e match:'of another directory' \
	    "$CTL" diff -M m "$BOX" later
	atf_check "$CTL" mark -c "$BOX" m later
	run 'rm -r later'
	atf_check -o save:out "$CTL" diff -M m "$BOX" later
	atf_check -o inline:'removed beside\nremoved in/\nremoved in/f\n' \
	    sort out
	atf_check -o match:'^-x$' -o match:'^-y$' \
	    "$CTL" export -p -M m "$BOX" later
	# What no directory can be is an error all the same.
	run 'echo x >file; ln -s nowhere link'
	atf_check -s not-exit:0 -e match:'Not a directory' \
	    "$CTL" diff "$BOX" file/f
	atf_check -s exit:66 -e match:'No such file' "$CTL" diff "$BOX" link
	atf_check -s exit:66 -e match:'No such file' \
	    "$CTL" mark "$BOX" n no/../f
	daemon_stop
}
absent_cleanup()
{
	daemon_cleanup
}

atf_test_case image cleanup
image_head()
{
	atf_set descr 'a mark of a whole image, of which a part is not to be read'
	atf_set timeout 180
}
image_body()
{
	world
	box -r
	run 'echo x >/tmp/new; echo x >new'
	"$CTL" mark "$BOX" m / 2>err || grep -q 'not in the mark' err ||
	    atf_fail "mark: $(cat err)"
	"$CTL" diff -M m "$BOX" / >out 2>err ||
	    grep -q 'cannot be compared' err || atf_fail "diff: $(cat err)"
	atf_check -o empty cat out
	atf_check -o empty "$CTL" diff -M m "$BOX" /etc
	atf_check -o inline:'added new\n' "$CTL" diff "$BOX"
	# Another file system is no part of it.
	atf_check -s exit:64 -e match:'mark is of another file system' \
	    "$CTL" diff -M m "$BOX" /workspace
	daemon_stop
}
image_cleanup()
{
	daemon_cleanup
}

atf_test_case bounds cleanup
bounds_head()
{
	atf_set descr 'so many marks; what cannot be read; many files'
	atf_set timeout 300
}
bounds_body()
{
	world
	box
	run 'mkdir d no; echo x >no/f; i=0; while [ $i -lt 20000 ]; do
	    : >d/f$i; i=$((i + 1)); done'
	atf_check "$CTL" mark "$BOX" m0
	for i in 1 2 3 4 5 6 7; do
		atf_check "$CTL" mark "$BOX" m$i d
	done
	atf_check -s exit:75 -e match:'there are 8 marks already' \
	    "$CTL" mark "$BOX" m9
	atf_check "$CTL" mark "$BOX" m7 d
	atf_check -s exit:64 -e match:'1 to 63 bytes' \
	    "$CTL" mark "$BOX" "$(printf '%64s' '' | tr ' ' x)"
	run 'rm d/f7; echo x >d/f19999; echo >d/g'
	atf_check -o inline:'changed f19999 (content)\nremoved f7\nadded g\n' \
	    "$CTL" diff -M m3 "$BOX" d
	run 'rm -r d'
	atf_check "$CTL" mark "$BOX" m0
	# Nothing is made up of what nobody may look at, then or now.
	run 'chmod 0 no'
	atf_check -s exit:77 -e match:'a part of it cannot be compared' \
	    -o inline:'changed no/ (mode)\n' "$CTL" diff -M m0 "$BOX"
	atf_check "$CTL" unmark "$BOX" m1
	atf_check -s exit:77 -e match:'cannot be read, and is not in the mark' \
	    "$CTL" mark "$BOX" m1
	run 'chmod 755 no'
	atf_check -s exit:77 -e match:'could not be read when the mark' \
	    "$CTL" diff -M m1 "$BOX" no
	atf_check -s exit:77 -e match:'a part of it cannot be compared' \
	    -o inline:'changed no/ (mode)\n' "$CTL" diff -M m1 "$BOX"
	daemon_stop
}
bounds_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case mark
	atf_add_test_case since
	atf_add_test_case absent
	atf_add_test_case image
	atf_add_test_case bounds
}
