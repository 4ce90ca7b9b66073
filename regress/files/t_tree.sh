# Trees into a sandbox and out of it: what comes is what was there, and what
# is not trusted makes nothing outside of its directory.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

run()
{
	"$CTL" exec "$BOX" sh -c "$*" </dev/null || atf_fail "exec: $*"
}

# facts dir: each entry's kind, mode, time, size, links and target.
facts()
{
	(cd "$1" && find . ! -name . -printf '%y %m %T@ %n %l ' \
	    \( -type d -printf '%P\0' -o -printf '%s %P\0' \) |
	    LC_ALL=C sort -z)
}

# same a b: two trees are one and the same.
same()
{
	facts "$1" >facts.1
	facts "$2" >facts.2
	cmp facts.1 facts.2 || {
		tr '\0' '\n' <facts.1 >f1
		tr '\0' '\n' <facts.2 >f2
		diff f1 f2 | head -20
		atf_fail "$1 and $2 differ"
	}
	diff -r --no-dereference "$1" "$2" || atf_fail "their bytes differ"
}

# A tree of all that can travel.
make_tree()
{
	mkdir -p src/d/e src/empty
	awk 'BEGIN { for (i = 0; i < 256; i++) printf "\\%03o", i }' >oct
	printf "$(cat oct)" >src/bytes
	: >src/none
	for n in "$(printf 'a\nb')" "$(printf 'x\377\001y')" "$(printf \
	    '%255s' '' | tr ' ' n)" "a'b\"c" '$HOME' ' sp ' '-r' '*' \
	    "$(printf '\303\244')" '\\'; do
		printf '%s' "$n" >"src/d/$n"
	done
	head -c 100000 /dev/urandom >src/d/e/r
	ln src/d/e/r src/zz
	ln -s ../bytes src/d/l
	ln -s nowhere src/dangling
	mkdir src/m
	for m in 400 644 755 700 501; do
		echo $m >src/m/$m
		chmod $m src/m/$m
	done
	truncate -s 20M src/sparse
	printf end >>src/sparse
	chmod 750 src/d/e
	touch -d '2001-02-03 04:05:06.789012345' src/d/e src/bytes
	touch -d '1960-02-03 04:05:06.25' src/none
	touch -h -d '1999-01-01 00:00:00' src/d/l
	chmod 555 src/empty
}

atf_test_case both cleanup
both_head()
{
	atf_set descr 'a tree there and back: bytes, modes, times, links, names'
	atf_set timeout 180
}
both_body()
{
	world
	box
	make_tree
	atf_check "$CTL" put -r "$BOX" src there
	atf_check "$CTL" get -r "$BOX" there back
	same src back
	# Into a directory that is there it goes by its name; and again.
	mkdir in
	for i in 1 2; do
		atf_check "$CTL" get -r "$BOX" there in
		same src in/there
		atf_check "$CTL" put -r "$BOX" src .
		atf_check "$CTL" get -r -a "$BOX" src whole
		same src whole
		[ $i = 2 ] || atf_check "$CTL" mkdir "$BOX" other
		atf_check "$CTL" put -r -a "$BOX" whole other
		atf_check "$CTL" get -r -a "$BOX" other/whole whole
		same src whole/whole
		rm -rf in/there/m whole
	done
	# A hole is not written.
	atf_check test "$(du -k back/sparse | cut -f 1)" -lt 5000
	atf_check -o match:'"entries":27,"left_out":0' \
	    "$CTL" -j get -r "$BOX" src again
	# What is there already and is no directory.
	echo x >file
	atf_check -s not-exit:0 -e match:'Not a directory' \
	    "$CTL" get -r "$BOX" src file
	atf_check -s not-exit:0 -e match:'Not a directory' \
	    "$CTL" get -r -a "$BOX" src file
	atf_check "$CTL" put "$BOX" file file
	for a in "" -a; do
		atf_check -s exit:66 -e match:'not_directory' \
		    "$CTL" put -r $a "$BOX" src file/
	done
	atf_check_equal x "$(cat file)"
	atf_check -o inline:'' find . -name '.sandboxctl*'
	atf_check -o inline:'' "$CTL" exec "$BOX" \
	    find . -name '.sandboxd*'
	daemon_stop
}
both_cleanup()
{
	daemon_cleanup
}

atf_test_case stream cleanup
stream_head()
{
	atf_set descr 'a tree as a tar stream: of others, and for others'
	atf_set timeout 180
}
stream_body()
{
	world
	box
	make_tree
	# That of others: GNU's long names, ustar, pax.
	for f in gnu ustar pax v7; do
		x=
		case $f in
		ustar|v7) x='--exclude=nnn* --mtime=2001-01-01' ;;
		esac
		(set -f; tar -C src -cf tree.$f --format=$f $x .) 2>err ||
		    atf_fail "tar $f: $(cat err)"
		atf_check "$CTL" put -r "$BOX" - $f <tree.$f
		atf_check "$CTL" get -r "$BOX" $f out.$f
		diff -r --no-dereference ${x:+-x nnn\*} src out.$f ||
		    atf_fail "$f differs"
	done
	same src out.pax
	# And for others.
	atf_check "$CTL" put -r "$BOX" src there
	mkdir tar
	"$CTL" get -r "$BOX" there - >t || atf_fail "stream"
	tar -C tar -xpf t 2>err || atf_fail "tar: $(cat err)"
	same src tar
	"$CTL" get -r "$BOX" there - | "$CTL" put -r "$BOX" - once ||
	    atf_fail "from one to the other"
	atf_check "$CTL" get -r "$BOX" once once
	same src once
	# No archive, and half of one.
	for f in bytes none; do
		atf_check -s exit:64 -e match:'the stream: it ' \
		    "$CTL" put -r "$BOX" - bad <src/$f
	done
	head -c 20000 t >half
	atf_check -s exit:64 -e match:'it ends in the middle' \
	    "$CTL" put -r -a "$BOX" - whole <half
	atf_check -s exit:66 -e match:'whole' "$CTL" stat "$BOX" whole
	atf_check -o inline:'' "$CTL" exec "$BOX" find . -name '.sandboxd*'
	daemon_stop
}
stream_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case both
	atf_add_test_case stream
}
