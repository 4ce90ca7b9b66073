# Changes of files as they happen: sandboxctl watch.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# Follows $1 into the file told; it is ready when this returns.
watch()
{
	: >told
	"$CTL" watch "$BOX" "$@" >told 2>told.err &
	WATCH=$!
	await 'grep -q "^ready " told || ! kill -0 $WATCH 2>/dev/null'
}

# So it is told, in this order, beside what else there may be.
told()
{
	for w in "$@"; do
		await 'grep -qxF -e "$w" told'
	done
	printf '%s\n' "$@" >want
	grep -xF -f want told | awk '!seen[$0]++' >got
	cmp -s want got || atf_fail "told: $(tr '\n' ';' <told)"
}

atf_test_case kinds cleanup
kinds_head()
{
	atf_set descr 'each kind of change, in a tree that grows and moves'
	atf_set timeout 180
}
kinds_body()
{
	world
	box
	run 'mkdir -p a/b; echo x >a/b/old; mkdir out'
	watch a
	atf_check_equal "ready ." "$(head -1 told)"
	run 'echo one >a/f; chmod 600 a/f; mv a/f a/b/g; rm a/b/g'
	told 'created f' 'written f' 'closed f' 'attributes f' \
	    'renamed f -> b/g' 'removed b/g'
	# New directories, however fast what is in them comes.
	run 'mkdir -p a/n/e/w; echo x >a/n/e/w/deep; ln -s deep a/n/e/w/l'
	told 'created n/' 'created n/e/' 'created n/e/w/' \
	    'created n/e/w/deep'
	told 'created n/e/w/l'
	# A directory that is moved is known by its new name.
	run 'mv a/n a/m; echo y >>a/m/e/w/deep'
	told 'renamed n/ -> m/' 'written m/e/w/deep'
	# What leaves is removed, and heard of no more; and comes back.
	run 'mv a/m out/m; echo z >>out/m/e/w/deep; echo last >a/mark1'
	told 'removed m/' 'created mark1'
	run 'mv out/m a/k'
	told 'created k/' 'created k/e/' 'created k/e/w/' 'created k/e/w/deep'
	run 'echo z >>a/k/e/w/deep; rm -r a/k/e'
	told 'written k/e/w/deep' 'removed k/e/w/deep' 'removed k/e/w/' \
	    'removed k/e/'
	run 'rm a/mark1'
	told 'removed mark1'
	atf_check -s exit:1 grep -e out -e 'm/.*z' told
	# Its end, by the end of what is watched.
	run 'rm -r a'
	s=0
	wait $WATCH || s=$?
	atf_check_equal 66 $s
	atf_check -o match:'a: it is not there any more' cat told.err
	atf_check_equal "removed ." "$(tail -1 told)"
	daemon_stop
}
kinds_cleanup()
{
	daemon_cleanup
}

atf_test_case file cleanup
file_head()
{
	atf_set descr 'one file, which is replaced; what cannot be watched'
	atf_set timeout 180
}
file_body()
{
	world
	box
	run 'echo x >f; ln -s f l; mkdir no; chmod 0 no'
	watch l
	run 'echo y >>f; echo y >g; mv g f; mv f h; mv h f; rm f'
	told 'written .' 'created .' 'removed .'
	atf_check -s exit:1 grep -e g -e h told
	kill $WATCH
	wait $WATCH || :
	atf_check -s exit:66 -e match:'nowhere: No such file' \
	    "$CTL" watch "$BOX" nowhere
	atf_check -s exit:77 -e match:'no: Permission denied' \
	    "$CTL" watch "$BOX" no
	# A part that cannot be watched is told, and the rest goes on.
	watch .
	run 'echo >there'
	told 'unwatched no/' 'ready .' 'created there'
	atf_check -o match:'no: it cannot be watched' cat told.err
	kill $WATCH
	wait $WATCH || :
	daemon_stop
}
file_cleanup()
{
	daemon_cleanup
}

atf_test_case names cleanup
names_head()
{
	atf_set descr 'names of any byte, by lines of JSON and in a session'
	atf_set timeout 180
}
names_body()
{
	world
	box
	"$CTL" -j watch "$BOX" >told 2>told.err &
	WATCH=$!
	await 'grep -q ready told'
	run 'printf x >"$(printf "a\nb")"; printf x >"$(printf "q\042")";
	    printf x >" sp "'
	await 'grep -q "\"kind\":\"closed\",\"name\":\" sp \"" told'
	atf_check -o match:'"kind":"created","name":"a\\nb"' \
	    -o match:'"kind":"created","name":"q\\""' cat told
	kill $WATCH
	wait $WATCH || :
	mkfifo in
	"$CTL" session <in >told &
	WATCH=$!
	exec 3>in
	echo '{"id":1,"call":{"sandbox":"'"$BOX"'","op":"watch",' \
	    '"path":".","flags":32}}' >&3
	await 'grep -q "\"record\":{\"kind\":\"ready\"" told'
	run 'printf x >"$(printf "\377\001")"'
	await 'grep -q "{\"kind\":\"created\",\"name\":{\"base64\":\"/wE=\"}" \
	    told'
	echo '{"id":2,"cancel":{"request":1}}' >&3
	await 'grep -q "\"id\":1,.*cancelled" told'
	exec 3>&-
	wait $WATCH || atf_fail "the session's status: $?"
	daemon_stop
}
names_cleanup()
{
	daemon_cleanup
}

atf_test_case ends cleanup
ends_head()
{
	atf_set descr 'its end by the client, the sandbox and the runner'
	atf_set timeout 180
}
# The number on the host of the watch's worker.
worker()
{
	for p in $(cat "/proc/$(engine_docker inspect -f '{{.State.Pid}}' \
	    "$(engine_docker ps -q --filter "label=sandboxd.id=$BOX")")"/task/*/children)
	do
		read -r _ c _ <"/proc/$p/stat" 2>/dev/null || continue
		[ "$c" != "(guest-worker)" ] || echo "$p"
	done
}

atf_test_case ahead cleanup
ahead_head()
{
	atf_set descr 'what is found lies ahead of what is told of moves'
	atf_set timeout 180
}
ahead_body()
{
	world
	box
	run 'mkdir -p a/x a/y'
	watch a
	n=$("$CTL" show "$BOX" | awk '$1 == "number" { print $2; exit }')
	w=$STATE/work/$n/a
	p=$(worker)
	[ -n "$p" ] && [ -d "$w/x" ] || atf_fail "worker: $p, in $w"
	# Each of the two was in the other one, and a look at what is new
	# finds the last of it first.
	kill -STOP $p
	mkdir -m 777 "$w/x/new"
	mv "$w/x" "$w/y/x"
	mv "$w/y/x" "$w/x"
	mv "$w/y" "$w/x/new/y"
	kill -CONT $p
	run 'echo 1 >a/last'
	told 'created last'
	run 'echo 1 >a/x/new/y/f'
	told 'created x/new/y/f'
	kill $WATCH
	wait $WATCH || :
	daemon_stop
}
ahead_cleanup()
{
	daemon_cleanup
}

# The worker of the watch, or nothing.
watchers()
{
	run 'n=0; for p in /proc/[0-9]*; do
	    [ -r $p/stat ] && read -r x y z <$p/stat || continue
	    case $y in "(guest-worker)") n=$((n + 1)) ;; esac
	done; echo $n'
}
ends_body()
{
	world
	box
	watch .
	atf_check_equal 1 "$(watchers)"
	kill -9 $WATCH
	wait $WATCH || :
	await '[ "$(watchers)" = 0 ]'
	# Whoever reads it has had enough.
	(run 'while :; do echo x >f; done' >/dev/null 2>&1) &
	WRITER=$!
	"$CTL" watch "$BOX" | head -5 >five
	atf_check_equal 5 "$(wc -l <five)"
	kill $WRITER
	wait $WRITER || :
	await '[ "$(watchers)" = 0 ]'
	# Paused it waits, and then tells what it has missed.
	watch .
	atf_check "$CTL" pause "$BOX"
	atf_check "$CTL" unpause "$BOX"
	run 'echo >g'
	told 'created g'
	# Another one ends with the sandbox, and says so.
	atf_check "$CTL" stop "$BOX"
	s=0
	wait $WATCH || s=$?
	atf_check_equal 69 $s
	atf_check -o match:'being stopped .unavailable' cat told.err
	atf_check "$CTL" resume "$BOX"
	watch .
	kill -9 "$(daemon_child runner)"
	s=0
	wait $WATCH || s=$?
	atf_check_equal 69 $s
	atf_check -o match:'(unavailable)' cat told.err
	await '"$CTL" ping'
	daemon_stop
}
ends_cleanup()
{
	daemon_cleanup
}

atf_test_case overflow cleanup
overflow_head()
{
	atf_set descr 'more than the kernel keeps: it is told, and goes on'
	atf_set timeout 300
}
overflow_body()
{
	world
	box
	mkfifo pipe
	"$CTL" watch "$BOX" <&- >pipe 2>told.err &
	WATCH=$!
	exec 3<pipe
	read -r line <&3
	atf_check_equal "ready ." "$line"
	# Nobody reads: the pipes fill, and then the kernel's queue.
	run 'i=0; while [ $i -lt 40000 ]; do mkdir d$i; rmdir d$i;
	    i=$((i + 1)); done; mkdir later'
	cat <&3 >told &
	CAT=$!
	await 'grep -qx "overflow ." told'
	await 'sed "1,/^overflow/d" told | grep -qx "ready ."'
	run 'echo x >later/f'
	await 'grep -qx "created later/f" told'
	kill $WATCH
	wait $WATCH || :
	wait $CAT
	exec 3<&-
	daemon_stop
}
overflow_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case kinds
	atf_add_test_case file
	atf_add_test_case names
	atf_add_test_case ahead
	atf_add_test_case ends
	atf_add_test_case overflow
}
