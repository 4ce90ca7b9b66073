# Where what travels goes: the names that it takes, what stands there already,
# and what is left when it does not come.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

run()
{
	"$CTL" exec "$BOX" sh -c "$*" </dev/null || atf_fail "exec: $*"
}

# The errors of these commands name their paths, and say what is wrong there.
# no status words command ...
no()
{
	status=$1 words=$2
	shift 2
	atf_check -s exit:"$status" -e match:"$words" -e not-match:internal \
	    "$CTL" "$@"
}

atf_test_case links cleanup
links_head()
{
	atf_set descr 'no link in the place of a tree is gone through'
	atf_set timeout 180
}
links_body()
{
	world
	box
	run 'mkdir -p t/d to real; echo 1 >t/d/one; ln -s ../real to/t;
	    echo x >f'
	mkdir lp lv
	ln -s ../lv lp/t
	no 66 'lp/t: Not a directory .not_directory' get -r "$BOX" t lp
	no 66 'not_directory' get -ra "$BOX" t lp
	atf_check -o empty ls lv
	[ -L lp/t ] || atf_fail "the link has gone"
	# The directory that is named may be one: who calls says so.
	ln -s lv named
	atf_check "$CTL" get -r "$BOX" t named
	[ -f lv/t/d/one ] || atf_fail "it is not there"
	# A file takes its place.
	ln -s ../lv/t/d/one lp/f
	atf_check "$CTL" get "$BOX" f lp
	[ ! -L lp/f ] || atf_fail "it is a link"
	atf_check -o inline:'1\n' cat lv/t/d/one
	# Inside it is the same.
	mkdir -p t/d
	echo 2 >t/d/two
	no 66 'to/t: a link is in its way .not_directory' put -r "$BOX" t to
	no 66 'to/t: a link is in its way .not_directory' put -ra "$BOX" t to
	atf_check -o empty "$CTL" ls "$BOX" real
	run 'ln -s real named'
	atf_check "$CTL" put -r "$BOX" t named
	atf_check -o inline:'2\n' "$CTL" cat "$BOX" real/t/d/two
	daemon_stop
}
links_cleanup()
{
	daemon_cleanup
}

atf_test_case names cleanup
names_head()
{
	atf_set descr 'dots and slashes at the end, the longest names'
	atf_set timeout 180
}
names_body()
{
	world
	box
	run 'mkdir -p t/d; echo 1 >t/d/one; mkdir in'
	mkdir -p here t/d up/down
	echo 2 >t/d/two
	# What a directory has, not the directory.
	atf_check "$CTL" get -r "$BOX" t/. here
	atf_check -o inline:'1\n' cat here/d/one
	atf_check "$CTL" put -r "$BOX" t/. in
	atf_check -o inline:'2\n' "$CTL" cat "$BOX" in/d/two
	(cd t && atf_check "$CTL" put -r "$BOX" . ./in/d)
	atf_check -o inline:'2\n' "$CTL" cat "$BOX" in/d/d/two
	no 64 't/d/..: it ends in no name' get -r "$BOX" t/d/.. here
	no 64 't/.: it ends in no name' get -ra "$BOX" t/. here
	no 64 'up/down/..: it ends in no name' put -r "$BOX" up/down/.. in
	no 64 't/.: it ends in no name' cp -r "$BOX" t/. in
	# A slash says that it is a directory.
	echo 3 >f
	no 66 'new/: No such file or directory .file_not_found' put "$BOX" f \
	    new/
	no 66 'new: .*file_not_found' ls "$BOX" new
	atf_check "$CTL" put -p "$BOX" f new/
	atf_check -o inline:'3\n' "$CTL" cat "$BOX" new/f
	no 66 'f/: Not a directory .not_directory' get "$BOX" new/f f/
	no 66 'none/: No such file or directory' get "$BOX" new/f none/
	no 66 'none/x: No such file or directory' get "$BOX" new/f none/x
	run 'mkdir e; ln -s in link'
	no 66 'new/f/: Not a directory' rm "$BOX" new/f/
	no 66 'link/: Not a directory' rm -r "$BOX" link/
	atf_check "$CTL" rm "$BOX" e/
	atf_check "$CTL" rm -r "$BOX" new//
	atf_check -o inline:'in\nlink\nt\n' "$CTL" ls "$BOX"
	no 64 'no name' rm -r "$BOX" /
	# Of two paths it may be either.
	no 66 'in/d/two to none/: ' mv "$BOX" in/d/two none/
	no 66 'in/d/two to none/x: No such file' cp "$BOX" in/d/two none/x
	# Names as long as names can be.
	for c in a b; do
		n=$(printf '%255s' '' | tr ' ' $c)
		atf_check "$CTL" put "$BOX" f "$n"
		atf_check "$CTL" get "$BOX" "$n" here
		atf_check -o inline:'3\n' cat "here/$n"
		atf_check "$CTL" get "$BOX" "$n" here
	done
	no 64 'too long .invalid_path' get "$BOX" "$n" "here/${n}x"
	daemon_stop
}
names_cleanup()
{
	daemon_cleanup
}

# Is that process writing a file?
writes()
{
	ls -l "/proc/$1/fd" 2>/dev/null | grep -q "$PWD/there/"
}

atf_test_case ended cleanup
ended_head()
{
	atf_set descr 'a get that is ended leaves nothing, whatever ends it'
	atf_set timeout 300
}
ended_body()
{
	world
	box
	run 'truncate -s 8G large; mkdir d; echo 1 >d/one'
	mkdir there
	for s in TERM HUP KILL; do
		"$CTL" get "$BOX" large there/x </dev/null >out 2>&1 &
		p=$!
		await "writes $p"
		kill -$s $p
		wait $p && atf_fail "$s: it has come as a whole"
		atf_check -o empty ls -A there
	done
	# The old one is there until the new one is.
	echo old >there/x
	"$CTL" get "$BOX" large there/x </dev/null >out 2>&1 &
	p=$!
	await "writes $p"
	kill -KILL $p
	wait $p
	atf_check -o inline:'old\n' cat there/x
	atf_check -o inline:'x\n' ls -A there
	daemon_stop
}
ended_cleanup()
{
	daemon_cleanup
}

atf_test_case seeds cleanup
seeds_head()
{
	atf_set descr 'create -C: a later file takes the place of a link'
	atf_set timeout 180
}
seeds_body()
{
	world
	mkdir src
	echo a >src/a
	echo b >b
	ln -s a src/link
	atf_check -o save:id "$CTL" create -C src:. -C b:link
	atf_check -o inline:'a\n' "$CTL" cat "$(cat id)" a
	atf_check -o match:'^-rw' "$CTL" stat "$(cat id)" link
	atf_check -o inline:'b\n' "$CTL" cat "$(cat id)" link
	# Why it is gone is told once more, by the same word.
	atf_check -s exit:77 -e match:'it is removed.*permission_denied' \
	    -e not-match:internal "$CTL" create -i shut -C b:/etc/x
	daemon_stop
}
seeds_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case links
	atf_add_test_case names
	atf_add_test_case ended
	atf_add_test_case seeds
}
