# Where what travels goes: the names that it takes, what stands there already,
# and what is left when it does not come.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

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
	atf_check -o empty ls -A lv
	[ -L lp/t ] || atf_fail "the link has gone"
	# The directory that is named may be one: who calls says so.
	ln -s lv named
	atf_check "$CTL" get -r "$BOX" t named
	[ -f lv/t/d/one ] || atf_fail "it is not there"
	atf_check "$CTL" get -r "$BOX" t/. named
	[ -f lv/d/one ] || atf_fail "it is not there"
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
	atf_check "$CTL" put -r "$BOX" t/. named
	atf_check -o inline:'2\n' "$CTL" cat "$BOX" real/d/two
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
	(cd t && "$CTL" put -r "$BOX" . ./in/d) || atf_fail "put of a dot"
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
	run 'truncate -s 8G large'
	mkdir there
	# Where all files have names one of another name may stay.
	all=-A
	python3 -c 'import os; os.open("there", os.O_TMPFILE | os.O_WRONLY)' ||
	    all=
	for s in TERM HUP KILL; do
		"$CTL" get "$BOX" large there/x </dev/null >out 2>&1 &
		p=$!
		await "writes $p"
		kill -$s $p
		wait $p && atf_fail "$s: it has come as a whole"
		atf_check -o empty ls $all there
	done
	# The old one is there until the new one is.
	echo old >there/x
	"$CTL" get "$BOX" large there/x </dev/null >out 2>&1 &
	p=$!
	await "writes $p"
	kill -KILL $p
	wait $p
	atf_check -o inline:'old\n' cat there/x
	atf_check -o inline:'x\n' ls $all there
	daemon_stop
}
ended_cleanup()
{
	daemon_cleanup
}

atf_test_case named cleanup
named_head()
{
	atf_set descr 'get to a file system where each file has a name'
	atf_set timeout 180
}
named_body()
{
	world
	box
	cat >open.c <<-'EOF'
	#include <errno.h>
	#include <fcntl.h>
	#include <stdarg.h>
	#include <sys/syscall.h>
	#include <unistd.h>
	static int
	ours(const char *path, int flags, int mode)
	{
		if ((flags & O_TMPFILE) == O_TMPFILE) {
			errno = EOPNOTSUPP;
			return (-1);
		}
		return (syscall(SYS_openat, AT_FDCWD, path, flags, mode));
	}
	int
	open(const char *path, int flags, ...)
	{
		va_list ap;
		va_start(ap, flags);
		flags = ours(path, flags, va_arg(ap, int));
		va_end(ap);
		return (flags);
	}
	int open64(const char *, int, ...)
	    __attribute__((__alias__("open")));
	EOF
	atf_check -e ignore cc -D_GNU_SOURCE -w -shared -fPIC -o open.so open.c
	cat >ctl <<-EOF
		#!/bin/sh
		LD_PRELOAD=$PWD/open.so \
		    ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" \
		    exec "$CTL" "\$@"
	EOF
	chmod 755 ctl
	run 'head -c 100000 /dev/urandom >f; chmod 640 f'
	atf_check -o save:want "$CTL" cat "$BOX" f
	mkdir there
	for i in 1 2; do
		atf_check ./ctl get "$BOX" f there
		cmp want there/f || atf_fail "it is another one"
		atf_check_equal 640 "$(stat -c %a there/f)"
	done
	# What does not come leaves nothing, nor does what has no place.
	no 65 'the limit is 1024' get -m 1K "$BOX" f there
	atf_check -s exit:65 -e ignore ./ctl get -m 1K "$BOX" f there/g
	atf_check -s exit:66 -e match:'not_found' ./ctl get "$BOX" f there/n/g
	atf_check -o inline:'f\n' ls -A there
	cmp want there/f || atf_fail "it is another one"
	run 'truncate -s 8G large'
	./ctl get "$BOX" large there/x </dev/null >out 2>&1 &
	p=$!
	await "writes $p"
	atf_check -o match:'^\.sandboxctl-' ls -A there
	kill -KILL $p
	wait $p
	[ ! -e there/x ] || atf_fail "a half has its name"
	daemon_stop
}
named_cleanup()
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
	atf_add_test_case named
	atf_add_test_case seeds
}
