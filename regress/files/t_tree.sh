# Trees into a sandbox and out of it: what comes is what was there, and what
# is not trusted makes nothing outside of its directory.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

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
	# Nor is it another when it has been copied inside.
	atf_check "$CTL" cp -r "$BOX" there twin
	atf_check "$CTL" get -r "$BOX" twin twin
	same src twin
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

# entry name type link size [mode]: a header, by hand.
entry()
{
	{
		printf '%s' "$1" | head -c 100
		head -c $((100 - ${#1})) /dev/zero
		printf '%07o\0%07o\0%07o\0%011o\0%011o\0' "0${5:-644}" 0 0 \
		    "$4" 1000000000
		printf '        %s%s' "$2" "$3"
		head -c $((100 - ${#3})) /dev/zero
		printf 'ustar\00000'
		head -c 247 /dev/zero
	} >head
	sum=$(od -An -v -t u1 head | tr -s ' ' '\n' |
	    awk '{ n += $1 } END { print n }')
	head -c 148 head
	printf '%06o\0 ' "$sum"
	tail -c +157 head
}

# evil: entries that must not be made, and one behind them that must.
evil()
{
	entry ../up 0 '' 0
	entry a/../../up 0 '' 0
	entry "$PWD/abs" 0 '' 0
	entry l 2 "$PWD/outside" 0
	entry l/through 0 '' 0
	entry m 2 ../outside 0
	entry m/through 0 '' 0
	entry d 5 '' 0 755
	entry d/x 2 . 0
	entry d/y 2 x/../../.. 0
	entry d/ok 2 ../good 0
	entry h 1 ../outside/secret 0
	entry i 1 "$PWD/outside/secret" 0
	entry dev 3 '' 0
	entry fifo 6 '' 0
	entry n 2 there 0
	entry n/through 0 '' 0
	entry good 0 '' 4
	printf 'good'
	head -c 508 /dev/zero
	head -c 1024 /dev/zero
}

# evil_dirs: where they are to go to; a link of ours is there already.
evil_dirs()
{
	mkdir -p outside t
	echo secret >outside/secret
	ln -s ../outside t/ours
	ls -lAR outside >outside.was
}

atf_test_case hostile
hostile_head()
{
	atf_set descr 'what a sandbox may send makes nothing outside'
}
hostile_body()
{
	tar=$SBX_BIN/sandboxctl-tar
	evil_dirs
	{
		entry ours/through 0 '' 0
		evil
	} >evil.tar
	echo 1 >yes
	atf_check "$tar" unpack - 0 t <evil.tar 3>notes 4<yes
	atf_check -o inline:'d\ngood\nl\nm\nn\nours\n' env LC_ALL=C ls t
	atf_check -o inline:'ok\nx\n' ls t/d
	atf_check_equal good "$(cat t/good)"
	ls -lAR outside >outside.is
	atf_check -o file:outside.was cat outside.is
	atf_check test ! -e up -a ! -e abs
	# Each was told.
	tr '\0' '\n' <notes >told
	for p in ../up a/../../up "$PWD/abs" l m d/y h i dev fifo \
	    n/through ours/through; do
		grep -qxF "$p" told || atf_fail "$p is not told"
	done
	# Nothing has its name without the word that all has come.
	: >no
	for v in no yes; do
		r=1
		[ $v = no ] || r=0
		atf_check -s exit:$r "$tar" unpack a 0 w <evil.tar 3>notes \
		    4<$v
		ls w >/dev/null 2>&1 && w=0 || w=1
		atf_check_equal $r $w
	done
	# Half of one, none, one without an end that is too large, nonsense.
	entry big 0 '' 5000000 >big
	head -c 700 evil.tar >half
	head -c 4000 /dev/urandom >bad
	: >none
	for f in half big bad; do
		atf_check -s exit:1 "$tar" unpack a 0 x <$f 3>notes 4<yes
		atf_check -s exit:1 "$tar" unpack a 100 x <$f 3>notes 4<yes
		atf_check -s exit:1 "$tar" unpack - 0 y <$f 3>notes 4<yes
		grep -q E notes || atf_fail "$f: nothing is told"
	done
	atf_check test ! -e x -a ! -e y/big
	atf_check -o inline:'' find . -name '.sandboxctl*'
}

atf_test_case dirs
dirs_head()
{
	atf_set descr 'directories whose modes wait take memory up to a bound'
}
dirs_body()
{
	mkdir t
	echo 1 >yes
	# One with a long name, again and again, and a file behind them.
	python3 -c '
import sys, tarfile
d = tarfile.TarInfo("/".join(["d" * 200] * 19))
d.type, d.mode = tarfile.DIRTYPE, 0o751
d = d.tobuf(tarfile.GNU_FORMAT)
for i in range(20):
	sys.stdout.buffer.write(d * 1000)
sys.stdout.buffer.write(tarfile.TarInfo("good").tobuf() + bytes(1024))
' | "$SBX_BIN/sandboxctl-tar" unpack - 0 t 3>notes 4<yes ||
	    atf_fail "unpack"
	tr '\0' '\n' <notes >told
	atf_check -o ignore grep -a 'too many directories' told
	atf_check test -f t/good
	# The first of them have theirs.
	atf_check -o inline:'751\n' find t -depth -type d -empty -printf '%m\n'
}

atf_test_case refused cleanup
refused_head()
{
	atf_set descr 'what is refused on the way in, out and by the disk'
	atf_set timeout 180
}
refused_body()
{
	world
	box
	evil_dirs
	{
		entry ours/through 0 '' 0
		evil
	} >evil.tar
	run 'mkdir outside t; echo secret >outside/secret; mkfifo t/p;
	    ln -s ../outside t/ours; chmod 700 outside'
	atf_check -s exit:66 -e save:err "$CTL" put -r "$BOX" - t <evil.tar
	for p in ../up a/../../up "$PWD/abs" l m d/y h i dev fifo \
	    n/through ours/through; do
		grep -qF "t/$p: " err || atf_fail "$p is not told"
	done
	atf_check -o inline:'secret\n' "$CTL" ls "$BOX" outside
	atf_check -o inline:'outside\nt\n' "$CTL" ls "$BOX"
	# On the way out: a FIFO nobody waits for, links that lead out.
	run 'ln -s /etc/passwd t/abs; ln -s ../../x t/up; echo deep >t/d/f'
	atf_check -s exit:64 -e save:err "$CTL" get -r "$BOX" t out
	atf_check -o match:'out/p: a FIFO .not_file' \
	    -o match:'out/abs: a link that leads out' \
	    -o match:'out/up: a link that leads out' \
	    cat err
	atf_check -o inline:'deep\n' cat out/d/f
	atf_check test ! -e out/abs -a ! -h out/abs -a ! -h out/up
	atf_check -s exit:73 -e match:'some of its entries' -o save:s \
	    "$CTL" get -r "$BOX" t -
	# Nor is what would hold up a reader opened on the way in.
	mkdir special
	echo x >special/f
	mkfifo special/p
	mknod special/c c 5 0
	/usr/bin/python3 -I -c 'import socket
socket.socket(socket.AF_UNIX).bind("special/s")'
	atf_check -s not-exit:0 -e save:err "$CTL" put -r "$BOX" special .
	atf_check -o match:'special/p: a FIFO' -o match:'special/s: a socket' \
	    -o match:'special/c: a device' cat err
	atf_check -o inline:'f\n' "$CTL" ls "$BOX" special
	# Excludes, and the file that has them.
	mkdir -p ex/a/node_modules ex/b ex/keep
	touch ex/a/x.o ex/a/y.c ex/b/z.o ex/keep/z.o ex/a/node_modules/m \
	    ex/top ex/b/top
	printf '# none\n\n*.o\n!keep/z.o\n/top\nnode_modules/\n' \
	    >ex/.sandboxignore
	atf_check "$CTL" put -r -x y.c "$BOX" ex ex
	atf_check -o inline:'.sandboxignore\na\nb\nb/top\nkeep\nkeep/z.o\n' \
	    sh -c "'$CTL' ls -R '$BOX' ex | LC_ALL=C sort"
	atf_check "$CTL" get -r -x keep -x '/b/*' "$BOX" ex less
	atf_check -o inline:'.sandboxignore\na\nb\n' env LC_ALL=C ls -A less
	atf_check -o inline:'' ls less/b
	atf_check -s exit:64 -e match:'pattern' \
	    "$CTL" get -r -x ../x "$BOX" ex no
	# Limits and the disk: what fails leaves nothing under the name.
	mkdir many
	head -c 40000000 /dev/urandom >many/a
	cp many/a many/b
	atf_check -s exit:65 -e match:'too_large' \
	    "$CTL" put -r -m 50M "$BOX" many many
	atf_check -s exit:73 -e match:'no_space' \
	    "$CTL" put -r -a "$BOX" many /tmp/many
	atf_check -o inline:'' "$CTL" exec "$BOX" ls -A /tmp
	atf_check "$CTL" put "$BOX" many/a many/a
	atf_check -s exit:65 -e match:'too_large' \
	    "$CTL" get -r -a -m 1M "$BOX" many less.many
	atf_check test ! -e less.many
	atf_check -s not-exit:0 -e match:'No such file' \
	    "$CTL" get -r "$BOX" nosuch out
	daemon_stop
}
refused_cleanup()
{
	daemon_cleanup
}

atf_test_case seeds cleanup
seeds_head()
{
	atf_set descr 'create -C, -P and run: before ready, but for secrets'
	atf_set timeout 300
}
seeds_body()
{
	world
	mkdir -p src/.ssh src/sub
	echo text >src/f
	for f in .env id_rsa a.pem sub/.netrc sub/credentials.json .ssh/x; do
		echo secret >src/$f
	done
	# No file of the tree's own takes that back.
	printf '!.env\n' >src/.sandboxignore
	mkfifo src/p
	echo one >one.pem
	atf_check -o save:box.id -e match:'src/p: a FIFO' "$CTL" create \
	    -C src:work -C one.pem:keys/one.pem
	BOX=$(cat box.id)
	atf_check -o inline:'.sandboxignore\nf\nsub\n' "$CTL" ls "$BOX" work
	atf_check -o inline:'' "$CTL" ls "$BOX" work/sub
	atf_check -o inline:'one\n' "$CTL" cat "$BOX" keys/one.pem
	atf_check -o inline:'secret\n' -e ignore "$CTL" run -A -C src:work \
	    -x f cat work/.env
	atf_check -s exit:1 -e ignore "$CTL" run -C src:work -x f cat work/f
	# One that fails leaves no sandbox, unless that is asked for.
	atf_check "$CTL" delete "$BOX"
	atf_check -s not-exit:0 -o empty -e match:'it is removed' \
	    "$CTL" create -i gone -C src/f:/etc/hosts/f
	atf_check -s exit:75 -o empty -e match:'gone is deleted' \
	    "$CTL" stat gone f
	atf_check -s not-exit:0 -o inline:'kept\n' -e match:'it is kept' \
	    "$CTL" create -F -i kept -C src/f:/etc/hosts/f
	atf_check -o match:'^kept  *ready' "$CTL" list
	atf_check -s exit:125 -e match:'it is removed' \
	    "$CTL" run -C src/f:/etc/hosts/f true
	# Nothing is made for one that cannot be.
	for s in src src: :x nosuch:x; do
		atf_check -s not-exit:0 -o empty -e ignore \
		    "$CTL" create -C "$s"
	done
	atf_check -s exit:64 -e match:'does not go with -d' \
	    "$CTL" create -d -C src:x
	# A bound is for what is left after the filter, before a sandbox is.
	mkdir -p many/node_modules
	for i in 1 2 3; do
		echo 12345 >many/$i
		echo 12345 >many/node_modules/$i
	done
	ln -s 1 many/link
	for s in "-N 3|4 files: the limit of -N is 3" \
	    "-B 17|18 bytes: the limit of -B is 17" \
	    "-N 4 -C one.pem:o|5 files: the" "-B 21 -C one.pem:o|22 bytes"; do
		atf_check -s exit:65 -o empty -e match:"${s#*|}" \
		    "$CTL" create -i bounded ${s%%|*} -C many:m \
		    -x node_modules
	done
	atf_check -s exit:66 -o empty -e ignore "$CTL" show bounded
	# What is given last has the name.
	atf_check -o inline:'1\n2\n3\nlink\none\n' "$CTL" run -N 5 -B 22 \
	    -C many:m -C one.pem:m/2 -x node_modules sh -c 'ls m; cat m/2'
	# What makes it fit for use comes last; what it says is not the name.
	atf_check -o inline:'fit\n' -e inline:'ran one\nand told\n' \
	    "$CTL" create -i fit -C one.pem:keys/one -e A=ran \
	    -P 'read x; echo $A $(cat keys/one)$x; echo and told >&2' <one.pem
	atf_check "$CTL" delete fit
	atf_check -o inline:'made\n' "$CTL" run -P 'echo made >f' cat f
	# Where commands start is made, if it can be.
	atf_check -o inline:'/workspace/a/b\ndrwxr-xr-x .\n' "$CTL" run \
	    -w /workspace/a/b sh -c 'pwd; stat -c "%A %n" .'
	atf_check -o inline:'away\n' "$CTL" create -i away -w /workspace/c \
	    -P '[ "$(pwd)" = /workspace/c ]'
	atf_check "$CTL" delete away
	atf_check -s exit:126 -e match:'no such working directory' \
	    "$CTL" run -w /etc/none true
	atf_check -s not-exit:0 -o empty -e match:'status 3 ' \
	    -e match:'it is removed' "$CTL" create -i unfit -P 'exit 3'
	atf_check -s exit:75 -o empty -e match:'unfit is deleted' \
	    "$CTL" stat unfit f
	atf_check -s not-exit:0 -o inline:'lame\n' -e match:'it is kept' \
	    "$CTL" create -F -i lame -P 'exit 3'
	atf_check -s exit:125 -e match:'it is removed' \
	    "$CTL" run -P nosuch true
	atf_check -s exit:64 -e match:'does not go with -d' \
	    "$CTL" create -d -P true
	"$CTL" create -i late -P 'echo begun; sleep 1000' >out 2>err &
	_pid=$!
	await 'grep -q begun err' 60
	kill -TERM $_pid
	wait $_pid
	atf_check_equal 143 $?
	atf_check -s exit:75 -o empty -e match:'late is deleted' \
	    "$CTL" stat late f
	[ ! -s out ] || atf_fail "it is named: $(cat out)"
	atf_check -o inline:'2\n' sh -c "'$CTL' list | grep -c ready"
	daemon_stop
}
seeds_cleanup()
{
	daemon_cleanup
}

atf_test_case many cleanup
many_head()
{
	atf_set descr '20000 small files, a tree 500 deep, 64 MiB; soak: more'
	atf_set timeout 900
}
many_body()
{
	n=20000 mib=64
	[ "${SOAK:-no}" = no ] || n=100000 mib=1024
	world
	box
	mkdir -p src/many src/big
	(cd src/many && seq "$n" | split -l 1 -a 5 -d - f) || atf_fail "split"
	head -c "${mib}M" /dev/urandom >src/big/b
	(cd src && i=0 && while [ $i -lt 500 ]; do
		mkdir d && cd -P d && i=$((i + 1)) || exit 1
	done && echo bottom >f) || atf_fail "depth"
	atf_check "$CTL" put -r "$BOX" src there
	atf_check "$CTL" get -r "$BOX" there back
	same src back
	# What is made once has not to be removed within a cleanup's minute.
	rm -rf src back
	atf_check "$CTL" delete "$BOX"
	await '[ -z "$(ls "$STATE/work")" ]' 600
	daemon_stop
}
many_cleanup()
{
	daemon_cleanup
}

atf_test_case lost cleanup
lost_head()
{
	atf_set descr 'the runner is killed in the middle of a tree'
	atf_set timeout 180
}
lost_body()
{
	world
	box
	run 'mkdir t; head -c 40000000 /dev/zero >t/a; cp t/a t/b'
	mkfifo out
	"$CTL" get -r "$BOX" t - >out 2>err &
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
	# Into it: nothing has the name, and nothing stays beside it.
	mkdir src
	head -c 1000000 /dev/urandom >src/a
	tar -cf tree src
	mkfifo in
	"$CTL" put -r -a "$BOX" - new <in 2>err &
	exec 3>in
	head -c 900000 tree >&3
	await 'run "ls -A" | grep -q sandboxd-'
	kill -9 "$(daemon_child runner)"
	await '"$CTL" ping'
	exec 3>&-
	s=0
	wait $! || s=$?
	atf_check_equal 69 $s
	await '"$CTL" ls "$BOX" >/dev/null 2>&1'
	await '! run "ls -A" | grep -q -e sandboxd- -e new'
	daemon_stop
}
lost_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case both
	atf_add_test_case stream
	atf_add_test_case many
	atf_add_test_case lost
	atf_add_test_case hostile
	atf_add_test_case dirs
	atf_add_test_case refused
	atf_add_test_case seeds
}
