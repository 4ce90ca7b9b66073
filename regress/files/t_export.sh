# The work of a sandbox, taken home: sandboxctl export, as a tar stream and as
# a patch, which must make exactly the new tree of the one that was marked.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

EDITS="python3 $(atf_get_srcdir)/edits.py"

# by_git patch dir, by_patch patch dir: apply it there.
by_git()
{
	(export GIT_CEILING_DIRECTORIES="$PWD" && cd "$2" &&
	    git apply -p1 --whitespace=nowarn "../$1") >apply.out 2>&1 || {
		cat apply.out "$1"
		atf_fail "git apply: $1"
	}
}

by_patch()
{
	patch -d "$2" -p1 -s --binary <"$1" >apply.out 2>&1 || {
		cat apply.out "$1"
		atf_fail "patch: $1"
	}
}

# equal a b: what a patch can tell of two trees is the same.
equal()
{
	$EDITS list "$1" >list.1
	$EDITS list "$2" >list.2
	diff list.1 list.2 || atf_fail "$1 and $2 differ"
}

atf_test_case kinds cleanup
kinds_head()
{
	atf_set descr 'a patch of each kind of change, byte for byte'
	atf_set timeout 180
}
kinds_body()
{
	world
	box
	run 'mkdir d gone; printf "1\n2\n3\n4\n5\n6\n7\n8\n9\n" >text
	    echo was >gone/f; echo x >exec; printf "no end" >noend; : >empty
	    : >gone/empty; ln -s text link; echo x >kind; echo same >d/same
	    echo "a b" >"a b"; printf x >"$(printf "q\"\\\\\n\377")"'
	atf_check -s exit:66 -e match:'no such mark: seed' -o empty \
	    "$CTL" export -p "$BOX"
	atf_check "$CTL" mark -c "$BOX" m
	atf_check "$CTL" get -r "$BOX" . old
	atf_check -o empty "$CTL" export -p -M m "$BOX"
	run 'sed -i -e s/5/five/ text; rm -r gone; chmod 755 exec
	    printf "no end at all" >noend; echo full >empty; ln -sf d link
	    rm kind; ln -s text kind; echo same >d/x; mv d/x d/same
	    echo "b a" >"a b"; printf y >"$(printf "q\"\\\\\n\377")"
	    mkdir new; : >new/empty; echo "#!" >new/run; chmod 700 new/run
	    touch -d 2020-01-01 text'
	cat >want <<-'end'
	diff --git a/gone/empty b/gone/empty
	deleted file mode 100644
	index e69de29..0000000
	diff --git a/gone/f b/gone/f
	deleted file mode 100644
	--- a/gone/f
	+++ /dev/null
	@@ -1 +0,0 @@
	-was
	diff --git a/kind b/kind
	deleted file mode 100644
	--- a/kind
	+++ /dev/null
	@@ -1 +0,0 @@
	-x
	diff --git "a/a b" "b/a b"
	--- "a/a b"
	+++ "b/a b"
	@@ -1 +1 @@
	-a b
	+b a
	diff --git a/empty b/empty
	--- a/empty
	+++ b/empty
	@@ -0,0 +1 @@
	+full
	diff --git a/exec b/exec
	old mode 100644
	new mode 100755
	diff --git a/kind b/kind
	new file mode 120000
	--- /dev/null
	+++ b/kind
	@@ -0,0 +1 @@
	+text
	\ No newline at end of file
	diff --git a/link b/link
	deleted file mode 120000
	--- a/link
	+++ /dev/null
	@@ -1 +0,0 @@
	-text
	\ No newline at end of file
	diff --git a/link b/link
	new file mode 120000
	--- /dev/null
	+++ b/link
	@@ -0,0 +1 @@
	+d
	\ No newline at end of file
	diff --git a/new/empty b/new/empty
	new file mode 100644
	index 0000000..e69de29
	diff --git a/new/run b/new/run
	new file mode 100755
	--- /dev/null
	+++ b/new/run
	@@ -0,0 +1 @@
	+#!
	diff --git a/noend b/noend
	--- a/noend
	+++ b/noend
	@@ -1 +1 @@
	-no end
	\ No newline at end of file
	+no end at all
	\ No newline at end of file
	diff --git "a/q\"\\\n\377" "b/q\"\\\n\377"
	--- "a/q\"\\\n\377"
	+++ "b/q\"\\\n\377"
	@@ -1 +1 @@
	-x
	\ No newline at end of file
	+y
	\ No newline at end of file
	diff --git a/text b/text
	--- a/text
	+++ b/text
	@@ -2,7 +2,7 @@
	 2
	 3
	 4
	-5
	+five
	 6
	 7
	 8
	end
	"$CTL" export -p -M m "$BOX" >p || atf_fail "export"
	# The order of files is that of the directory.
	parts()
	{
		awk '/^diff --git / { f = sprintf("'"$1"'.%s", $0)
		    gsub(/[^a-z0-9.]/, "_", f) } { print >>f }' "$2"
		cat "$1".*
	}
	parts got p >got
	parts wanted want >wanted
	atf_check -o file:wanted cat got
	atf_check "$CTL" get -r "$BOX" . new
	cp -a old git
	by_git p git
	equal new git
	cp -a old patch
	by_patch p patch
	equal new patch
	# A part of it, by names below that.
	run 'echo more >>d/same'
	atf_check -o save:p "$CTL" export -p -M m "$BOX" d
	atf_check -o inline:'+++ b/same\n' grep '^+++' p
	# What is only touched is no change; nor is a repository's own.
	atf_check "$CTL" mark -c "$BOX" m
	run 'touch text; mkdir .git; echo x >.git/config; mv noend n
	    mv n noend; cp text t; mv t text'
	atf_check -o empty "$CTL" export -p -M m "$BOX"
	# A session has what the patch is made of.
	run 'echo new >file'
	echo '{"id":1,"call":{"op":"changes","sandbox":"'"$BOX"'",' \
	    '"path":".","pattern":"m"}}' >req
	atf_check -o save:s "$CTL" session <req
	atf_check -o match:'"kind":"added","name":"file","mode":33188' \
	    -o match:'"kind":"new",.*"data":"bmV3Cg=="' cat s
	daemon_stop
}
kinds_cleanup()
{
	daemon_cleanup
}

atf_test_case random cleanup
random_head()
{
	atf_set descr 'random edits: git apply of a patch makes the new tree'
	atf_set timeout 600
}
random_body()
{
	world
	box
	n=6
	[ "${SOAK:-no}" = no ] || n=60
	i=0
	while [ $i -lt $n ]; do
		seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
		echo "seed $seed"
		rm -rf old new git patch
		$EDITS make "$seed" old || atf_fail "make $seed"
		cp -a old new
		$EDITS edit "$seed" new || atf_fail "edit $seed"
		"$CTL" rm -rf "$BOX" tree || atf_fail "rm"
		"$CTL" put -r "$BOX" old tree || atf_fail "put $seed"
		atf_check "$CTL" mark -c "$BOX" m tree
		"$CTL" rm -r "$BOX" tree || atf_fail "rm"
		"$CTL" put -r "$BOX" new tree || atf_fail "put $seed"
		"$CTL" export -p -M m "$BOX" tree >p ||
		    atf_fail "export $seed"
		cp -a old git
		by_git p git
		equal new git
		i=$((i + 1))
	done
	daemon_stop
}
random_cleanup()
{
	daemon_cleanup
}

atf_test_case refused cleanup
refused_head()
{
	atf_set descr 'what is not known, or no text, is named, and no patch'
	atf_set timeout 180
}
refused_body()
{
	world
	box
	run 'printf "a\0b" >bin; head -c 1100000 /dev/zero | tr "\0" x >large
	    echo x >secret; chmod 0 secret; echo x >link; echo x >f; mkfifo p'
	atf_check "$CTL" mark "$BOX" bare
	atf_check "$CTL" mark -c "$BOX" m
	run 'echo y >>bin; echo y >>large; chmod 644 secret; echo y >f
	    printf "\0" >new; ln -sf /etc/passwd link; rm p
	    ln -s .git/hooks hooks; mkfifo q
	    head -c 9000000 /dev/zero | tr "\0" x >huge'
	atf_check -s not-exit:0 -o save:p -e save:err \
	    "$CTL" export -p -M m "$BOX"
	atf_check -o match:'bin: it was no text when the mark was made' \
	    -o match:'large: it was too large for the mark' \
	    -o match:'secret: it could not be read when the mark' \
	    -o match:'new: it is no text' \
	    -o match:'link: a link that leads out' \
	    -o match:'hooks: a link .* a repository.s own directory' \
	    -o match:'p: it was no regular file' \
	    -o match:'q: it is no regular file' \
	    -o match:'huge: it is larger than 8 MB' cat err
	# The rest is there.
	atf_check -o inline:'+++ /dev/null\n+++ b/f\n' grep '^+++' p
	atf_check -s not-exit:0 -o empty \
	    -e match:'f: the mark keeps no contents' \
	    "$CTL" export -p -M bare "$BOX"
	atf_check -s not-exit:0 -o empty -e match:'.-x does not go with -p' \
	    "$CTL" export -p -x a "$BOX"
	atf_check -s not-exit:0 -o empty -e match:'-M goes with -p' \
	    "$CTL" export -M m "$BOX"
	atf_check -s not-exit:0 -e match:'too_large' -o empty \
	    "$CTL" export -p -m 10 -M m "$BOX"
	atf_check -s exit:66 -e match:'no such mark' \
	    "$CTL" export -p -M nosuch "$BOX"
	daemon_stop
}
refused_cleanup()
{
	daemon_cleanup
}

atf_test_case seed cleanup
seed_head()
{
	atf_set descr 'create -C makes the mark from which export -p tells'
	atf_set timeout 180
}
seed_body()
{
	world
	mkdir -p src/d
	printf 'a\nb\n' >src/f
	echo x >src/d/g
	atf_check -o save:box.id "$CTL" create -C src:work -C src/f:top
	BOX=$(cat box.id)
	atf_check -o empty "$CTL" export -p "$BOX"
	run 'echo c >>work/f; rm work/d/g; echo new >new'
	"$CTL" export -p "$BOX" >p || atf_fail "export"
	mkdir old
	cp -a src old/work
	cp src/f old/top
	by_git p old
	atf_check "$CTL" get -r "$BOX" . new
	equal new old
	# A patch of the part that was copied is for the copy's origin.
	"$CTL" export -p "$BOX" work >p || atf_fail "export work"
	by_git p src
	equal new/work src
	# A sandbox that was given nothing has no such mark.
	box
	atf_check -s exit:66 -e match:'no such mark' "$CTL" unmark "$BOX" seed
	daemon_stop
}
seed_cleanup()
{
	daemon_cleanup
}

# changed exec option ...: atf_check's, about the event of what it has changed.
changed()
{
	_exec=$1
	shift
	"$CTL" -j events -t exec.changed "$BOX" >all.ev ||
	    atf_fail "events"
	grep "\"exec\":\"$_exec\"" all.ev >ev
	atf_check "$@" cat ev
}

atf_test_case changes cleanup
changes_head()
{
	atf_set descr 'exec -c: what a command has changed, alone or beside others'
	atf_set timeout 180
}
changes_body()
{
	world
	box
	run 'echo a >a; echo b >b; echo c >c; echo e >e; mkdir old
	    echo g >old/g'
	# The output is the command's own, and so is the status.
	atf_check -s exit:3 -o inline:'out\n' -e save:err "$CTL" exec -c \
	    "$BOX" sh -c 'echo out; echo more >>a; rm b; mkdir d; echo >d/f
	    chmod 600 c; mv e moved; mv old new; exit 3' </dev/null
	cat >want <<-end
	altered c
	made d/
	made d/f
	removed b
	renamed moved from e
	renamed new/ from old/
	renamed new/g from old/g
	written a
	end
	LC_ALL=C sort err >got
	atf_check -o file:want cat got
	changed "$BOX.2" -o match:'"made":"2"' -o match:'"written":"1"' \
	    -o match:'"removed":"1"' -o match:'"renamed":"3"' \
	    -o match:'"altered":"1"' -o not-match:shared
	atf_check -e empty "$CTL" exec -c "$BOX" true </dev/null
	atf_check -s exit:4 -e save:err "$CTL" -j exec -c "$BOX" \
	    sh -c 'rm a; exit 4' </dev/null
	atf_check -o match:'"type":"exec.changed"' \
	    -o match:'"removed":"1"' -o match:'"list":"removed a"' cat err
	# Names of any bytes, on a line each.
	atf_check -e save:err "$CTL" exec -c "$BOX" sh -c \
	    ': >"$(printf "x\ny\\\\z\377")"' </dev/null
	atf_check_equal 1 "$(wc -l <err)"
	atf_check -o match:'^made x.012y.134z' cat err
	# What came and went is none, nor is what was opened for writing alone;
	# what was moved out of it was removed, and so was what had gone by a
	# relative name.
	run 'mkdir d2; echo x >d2/x; echo y >d2/y; echo r >r'
	atf_check -o inline:'r\n' -e save:err "$CTL" exec -c "$BOX" sh -c \
	    'echo x >t; mv t t2; rm t2; cat <>r; cd d2; rm x; mv y /tmp
	    : >"$(printf "caf\303\251.txt")"' </dev/null
	LC_ALL=C sort err >got
	printf 'made d2/caf\303\251.txt\nremoved d2/x\nremoved d2/y\n' >want
	atf_check -o file:want cat got
	# Nobody has asked for these.
	run true
	changed "$BOX.8" -o empty
	# Of what patterns name alone: one directory, and not one in it; what
	# is not there has no changes.
	atf_check -e save:err "$CTL" exec -G src -G 'no/where/**' -X src/gen \
	    -X '*.o' "$BOX" sh -c 'mkdir -p src/gen other; : >src/f; : >src/f.o
	    : >src/gen/g; : >other/h; : >"src/caf\303"' </dev/null
	LC_ALL=C sort err >got
	printf 'made src/\nmade src/caf\\134303\nmade src/f\n' >want
	atf_check -o file:want cat got
	atf_check -o match:'"include":"src no/where/[*][*]"' \
	    -o match:'"exclude":"src/gen [*][.]o"' \
	    "$CTL" -j events -t exec.create "$BOX"
	atf_check -e empty "$CTL" exec -G no/where "$BOX" touch src/f </dev/null
	changed "$BOX.10" -o match:'"written":"0"'
	atf_check -s not-exit:0 -e match:'below the working' \
	    "$CTL" exec -G /etc "$BOX" true </dev/null
	atf_check -s not-exit:0 -e match:'1000 alternatives' "$CTL" exec \
	    -G '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}' \
	    "$BOX" true </dev/null
	# Judged by what it was not to change, which stays; what it says, too.
	atf_check -s exit:77 -o inline:'out\n' -e match:'^written src/f$' \
	    -e match:'status 77' "$CTL" exec -G src -Z 77 "$BOX" \
	    sh -c 'echo out; echo more >>src/f; exit 2' </dev/null
	atf_check -o inline:'more\n' "$CTL" cat "$BOX" src/f
	atf_check -s exit:3 -e empty "$CTL" exec -X src -Z 77 "$BOX" \
	    sh -c 'echo more >>src/f; exit 3' </dev/null
	atf_check -s exit:78 -e match:'status 78' "$CTL" run -G f -Z 78 \
	    sh -c ': >f' </dev/null
	# What cannot be looked at is not taken for unchanged.
	atf_check "$CTL" exec "$BOX" sh -c 'mkdir -p dark/f; chmod 0 dark' \
	    </dev/null
	atf_check -s exit:79 -e match:'cannot be compared' "$CTL" exec -G dark \
	    -Z 79 "$BOX" true </dev/null
	atf_check "$CTL" exec "$BOX" chmod 700 dark </dev/null
	atf_check -s exit:125 -e match:'without -d' "$CTL" exec -d -Z 77 \
	    "$BOX" true
	daemon_stop
}
changes_cleanup()
{
	daemon_cleanup
}

file_is_there()
{
	"$CTL" stat "$BOX" "$FILE" >/dev/null 2>&1
}

atf_test_case changes_beside cleanup
changes_beside_head()
{
	atf_set descr 'changes of two at once cannot be told apart, and the
	    event says so; nothing is left of one whose client was killed'
	atf_set timeout 180
}
changes_beside_body()
{
	world
	box
	atf_check -o inline:"$BOX.1\n" "$CTL" exec -cd "$BOX" \
	    sh -c 'until [ -e go ]; do sleep 0.1; done'
	atf_check -o empty -e save:err "$CTL" exec -c "$BOX" touch c \
	    </dev/null
	atf_check -o match:"^made c$" -o match:"cannot be told apart$" cat err
	atf_check "$CTL" exec "$BOX" touch go
	atf_check "$CTL" wait "$BOX.1"
	changed "$BOX.1" -o match:'"made":"2"' -o match:'"shared":"1"'
	# So do files that come from outside, and what is left behind.
	atf_check -o save:id "$CTL" exec -cd "$BOX" \
	    sh -c 'until [ -e put ]; do sleep 0.1; done'
	: >put
	atf_check "$CTL" put "$BOX" put .
	atf_check "$CTL" wait "$(cat id)"
	changed "$(cat id)" -o match:'"shared":"1"'
	atf_check "$CTL" exec "$BOX" sh -c 'sleep 1000 >/dev/null 2>&1 &' \
	    </dev/null
	atf_check -e match:'told apart' "$CTL" exec -c "$BOX" true </dev/null
	# More of them than there may be marks, one after the other, each
	# killed or not: no place is taken for long, and no mark is seen.
	for i in 1 2 3 4 5 6 7 8 9; do
		"$CTL" exec -c "$BOX" sh -c ": >at$i; sleep 1000" \
		    </dev/null >/dev/null 2>&1 &
		pid=$!
		FILE=at$i
		await file_is_there
		kill -9 $pid
		wait $pid
		n=$("$CTL" -j ps "$BOX" | sed -n \
		    's/.*"id":"\([^"]*\)".*at'$i'.*/\1/p')
		atf_check "$CTL" kill "$n"
		atf_check -s not-exit:0 -e ignore "$CTL" wait "$n"
		changed "$n" -o match:"made at$i"
	done
	for i in 1 2 3 4 5 6 7 8; do
		atf_check "$CTL" mark "$BOX" m$i
	done
	atf_check -e match:'made late' "$CTL" exec -c "$BOX" touch late \
	    </dev/null
	daemon_stop
}
changes_beside_cleanup()
{
	daemon_cleanup
}

atf_test_case changes_many cleanup
changes_many_head()
{
	atf_set descr 'more changes than an event may list are counted; run -D'
	atf_set timeout 180
}
changes_many_body()
{
	world
	box
	atf_check -e save:err "$CTL" exec -c "$BOX" sh -c 'i=0
	    while [ $i -lt 3000 ]; do : >f$i; i=$((i + 1)); done' </dev/null
	atf_check -o match:'there are more' cat err
	[ "$(grep -c "^made f" err)" -eq 256 ] || atf_fail "$(wc -l <err)"
	changed "$BOX.1" -o match:'"made":"3000"' -o match:'"more":"1"'
	atf_check -e save:err "$CTL" exec -c "$BOX" sh -c 'rm -f f*
	    long=$(printf %0250d 0); mkdir $long; cd $long
	    for i in 1 2 3 4 5 6 7 8 9 a b c d e f g h i j k l m n o; do
		: >$i$long
	    done' </dev/null
	changed "$BOX.2" -o match:'"made":"25"' -o match:'"removed":"3000"'
	atf_check -o inline:'x\n' -e inline:'made in-a-run\n' "$CTL" run -D \
	    sh -c 'echo x; : >in-a-run' </dev/null
	# What a session asks for with the flag.
	atf_check -o save:out "$CTL" session <<-end
	{"id":1,"exec":{"sandbox":"$BOX","argv":["touch","s"],"flags":65}}
	end
	changed "$BOX.3" -o match:'"list":"made s"'
	daemon_stop
}
changes_many_cleanup()
{
	daemon_cleanup
}

atf_test_case scratch cleanup
scratch_head()
{
	atf_set descr 'marks, diff and patches of an image that holds nothing'
	atf_set timeout 180
}
scratch_body()
{
	daemon_start
	await daemon_engine_is_up
	mkdir nothing
	tar -cf nothing.tar -C nothing .
	atf_check -o ignore "$CTL" image import "export-nothing-$$" nothing.tar
	box -I "export-nothing-$$"
	$EDITS make 1 old || atf_fail "make"
	cp -a old new
	$EDITS edit 1 new || atf_fail "edit"
	atf_check "$CTL" put -r "$BOX" old tree
	atf_check "$CTL" mark -c "$BOX" m tree
	atf_check "$CTL" rm -r "$BOX" tree
	atf_check "$CTL" put -r "$BOX" new tree
	"$CTL" export -p -M m "$BOX" tree >p || atf_fail "export"
	by_git p old
	equal new old
	# A session has marks and what they tell, record by record.
	atf_check -o save:n "$CTL" diff -M m "$BOX" tree
	{
		echo '{"id":1,"call":{"op":"diff","sandbox":"'"$BOX"'",' \
		    '"path":"tree","pattern":"m"}}'
		echo '{"id":2,"call":{"op":"mark","sandbox":"'"$BOX"'",' \
		    '"path":"tree","pattern":"n","flags":524288}}'
	} >req
	atf_check -o save:s "$CTL" session <req
	atf_check_equal "$(wc -l <n)" "$(grep -c '"id":1,"record"' s)"
	atf_check -o match:'"id":2,"result":' -o match:'"id":2,"end"' cat s
	atf_check -o empty "$CTL" export -p -M n "$BOX" tree
	"$CTL" delete "$BOX"
	daemon_stop
}
scratch_cleanup()
{
	daemon_cleanup
}

atf_test_case rights cleanup
rights_head()
{
	atf_set descr 'without the right files: no mark, no diff, no patch'
	atf_set timeout 180
}
rights_body()
{
	new_uid
	world "deny any
		allow create exec stop user $NEW_UID"
	as_user "$NEW_UID" "$CTL" create -i box >out 2>&1 </dev/null ||
	    atf_fail "$(cat out)"
	for c in 'mark box m' 'mark -c box m' 'diff box' 'diff -M m box' \
	    'unmark box m' 'export box' 'export -p box' \
	    'exec -c box touch made'; do
		! as_user "$NEW_UID" "$CTL" $c >out 2>err </dev/null ||
		    atf_fail "$c was done"
		grep -q permission_denied err || atf_fail "$c: $(cat err)"
		[ ! -s out ] || atf_fail "$c: $(cat out)"
	done
	as_user "$NEW_UID" "$CTL" exec box test ! -e made </dev/null ||
	    atf_fail "the command was run"
	daemon_conf "deny any
		allow create exec files stop events user $NEW_UID"
	atf_check "$CTL" reload
	as_user "$NEW_UID" "$CTL" mark -c box m </dev/null || atf_fail "mark"
	as_user "$NEW_UID" "$CTL" exec -c box touch made </dev/null 2>err ||
	    atf_fail "$(cat err)"
	atf_check_equal "made made" "$(cat err)"
	as_user "$NEW_UID" "$CTL" export -p -M m box </dev/null >p ||
	    atf_fail "export"
	grep -q '^new file mode' p || atf_fail "$(cat p)"
	daemon_stop
}
rights_cleanup()
{
	daemon_cleanup
}

atf_test_case stream cleanup
stream_head()
{
	atf_set descr 'a tar stream of all, of a part, without what is excluded'
	atf_set timeout 180
}
stream_body()
{
	world
	box
	run 'mkdir -p d/e; echo 1 >d/f; echo 2 >d/e/g; echo 3 >h.o; ln -s d l'
	mkdir all part
	"$CTL" export "$BOX" >t || atf_fail "export"
	"$CTL" get -r "$BOX" . - >g || atf_fail "get"
	atf_check cmp t g
	tar -C all -xf t || atf_fail "tar"
	"$CTL" get -r "$BOX" . got || atf_fail "get"
	atf_check diff -r --no-dereference got all
	"$CTL" export -x '*.o' -x f "$BOX" >t || atf_fail "export -x"
	atf_check -o inline:'d/\nd/e/\nd/e/g\nl\n' \
	    sh -c 'tar -tf t | sed "s,^\./,,; /^$/d" | LC_ALL=C sort'
	"$CTL" export "$BOX" d/e >t || atf_fail "export d/e"
	tar -C part -xf t || atf_fail "tar"
	atf_check -o inline:'2\n' cat part/g
	atf_check -s exit:66 -o empty -e match:'nosuch' \
	    "$CTL" export "$BOX" nosuch
	daemon_stop
}
stream_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case changes
	atf_add_test_case changes_beside
	atf_add_test_case changes_many
	atf_add_test_case kinds
	atf_add_test_case random
	atf_add_test_case refused
	atf_add_test_case rights
	atf_add_test_case scratch
	atf_add_test_case seed
	atf_add_test_case stream
}
