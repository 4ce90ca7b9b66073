# Output comes back byte exact, whoever reads and however slowly.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

atf_test_case bytes cleanup
bytes_head()
{
	atf_set descr 'all 256 values, no newline at the end, two streams apart'
	atf_set timeout 300
}
bytes_body()
{
	world
	box
	# printf's octal escapes: every value once.
	i=0
	fmt=
	while [ $i -lt 256 ]; do
		fmt="$fmt\\$(printf %03o $i)"
		i=$((i + 1))
	done
	printf "$fmt" >want
	atf_check -o file:want "$CTL" exec "$BOX" printf "$fmt"
	atf_check -o file:want "$CTL" exec "$BOX" cat <want
	atf_check -o inline:"no newline" "$CTL" exec "$BOX" \
	    printf "no newline"
	atf_check -o inline:"out" -e inline:"err" "$CTL" exec "$BOX" \
	    sh -c 'printf out; printf err >&2'
	atf_check "$CTL" exec "$BOX" true
	daemon_stop
}
bytes_cleanup()
{
	daemon_cleanup
}

atf_test_case large cleanup
large_head()
{
	atf_set descr '100 MB through to a client that reads'
	atf_set timeout 600
}
large_body()
{
	world
	box
	n=$((100 * 1000 * 1000))
	# seq's numbers make each place of the stream tell itself.
	seq 1 20000000 | head -c $n | cksum >want
	atf_check -o file:want sh -c \
	    "'$CTL' exec '$BOX' sh -c 'seq 1 20000000 | head -c $n' | cksum"
	daemon_stop
}
large_cleanup()
{
	daemon_cleanup
}

atf_test_case slow_reader cleanup
slow_reader_head()
{
	atf_set descr 'a reader that stops stalls no other exec or sandbox'
	atf_set timeout 300
}
slow_reader_body()
{
	world
	box
	one=$BOX
	box
	two=$BOX
	# A reader that takes nothing until it is told to.
	mkfifo hold
	"$CTL" exec "$one" sh -c 'seq 1 3000000' | {
		read -r _ <hold
		cksum
	} >sum &
	reader=$!
	# It is under way when its log on the host has reached its bounds.
	await '"$CTL" ps "$one" | grep -q running' 60
	atf_check -o inline:"other exec\n" timeout 60 "$CTL" exec "$one" \
	    echo other exec
	atf_check -o inline:"other sandbox\n" timeout 60 "$CTL" exec "$two" \
	    echo other sandbox
	echo go >hold
	wait $reader
	seq 1 3000000 | cksum >want
	atf_check -o file:want cat sum
	daemon_stop
}
slow_reader_cleanup()
{
	daemon_cleanup
}

atf_test_case bound cleanup
bound_head()
{
	atf_set descr 'past its bound a log loses its middle, and says so'
	atf_set timeout 300
}
bound_body()
{
	world "limits { log 1M }"
	box
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'seq 1 1000000; echo end; exit 7'
	e=$(cat exec)
	# The command itself is not disturbed.
	atf_check -s exit:7 "$CTL" wait "$e"
	"$CTL" logs "$e" >out 2>err || atf_fail "logs: $(cat err)"
	# The head and the end are there; it is about the bound's size.
	atf_check -o inline:"1\n2\n3\n" head -n 3 out
	atf_check -o inline:"end\n" tail -n 1 out
	[ "$(wc -c <out)" -le $((1300 * 1024)) ] ||
	    atf_fail "$(wc -c <out) bytes kept"
	[ "$(wc -c <out)" -ge $((700 * 1024)) ] ||
	    atf_fail "only $(wc -c <out) bytes kept"
	grep -q "bytes" err || atf_fail "no gap is told: $(cat err)"
	daemon_stop
}
bound_cleanup()
{
	daemon_cleanup
}

atf_test_case followers cleanup
followers_head()
{
	atf_set descr 'several readers follow a running exec, each at its pace'
	atf_set timeout 300
}
followers_body()
{
	world
	box
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'echo first; while [ ! -f /workspace/go ]; do usleep 10000; done
	    seq 1 20000; echo last >&2'
	e=$(cat exec)
	"$CTL" logs -f "$e" >f1 2>e1 &
	p1=$!
	"$CTL" logs -f -o stdout "$e" >f2 2>e2 &
	p2=$!
	await 'grep -q first f1 && grep -q first f2' 60
	atf_check "$CTL" exec "$BOX" touch /workspace/go
	wait $p1 || atf_fail "follower: $(cat e1)"
	wait $p2 || atf_fail "follower: $(cat e2)"
	{ echo first; seq 1 20000; } >want
	atf_check -o file:want cat f2
	atf_check -o file:want cat f1
	atf_check -o inline:"last\n" cat e1
	# After the end the same is read again, by pipe as well.
	atf_check -o file:want -e ignore "$CTL" logs -o stdout "$e"
	atf_check -o inline:"last\n" "$CTL" logs -o stderr "$e"
	daemon_stop
}
followers_cleanup()
{
	daemon_cleanup
}

atf_test_case bound_user cleanup
bound_user_head()
{
	atf_set descr "what is kept of a user's output is bounded, his alone"
	atf_set timeout 300
}
bound_user_body()
{
	new_uid
	one=$NEW_UID
	new_uid
	two=$NEW_UID
	world "limits user $one { log 256K total }"
	for u in $one $two; do
		as_user $u "$CTL" create >id.$u || atf_fail "no sandbox"
		for i in 1 2 3; do
			as_user $u "$CTL" exec -d "$(cat id.$u)" \
			    head -c 100000 /dev/zero >e.$u.$i ||
			    atf_fail "no command"
			as_user $u "$CTL" wait "$(cat e.$u.$i)" ||
			    atf_fail "it failed"
		done
	done
	# The first has gone, and it is said of it.
	as_user $one "$CTL" logs "$(cat e.$one.1)" >out 2>err
	[ ! -s out ] && grep -q 'bytes 0 to 100000 were dropped' err ||
	    atf_fail "$(wc -c <out) bytes: $(cat err)"
	as_user $one "$CTL" logs "$(cat e.$one.3)" >out 2>err
	[ "$(wc -c <out)" -eq 100000 ] || atf_fail "the last: $(cat err)"
	for i in 1 2 3; do
		as_user $two "$CTL" logs "$(cat e.$two.$i)" >out 2>err
		[ "$(wc -c <out)" -eq 100000 ] || atf_fail "another's: $(cat err)"
	done
	as_user $one "$CTL" rules >rules
	grep -Eq "^log +user +256K +- .*sandboxd.conf:" rules ||
	    atf_fail "$(grep ^log rules)"
	atf_check -o match:'^log +all +8G +- ' "$CTL" rules
	# With the next configuration more is kept.
	daemon_conf
	atf_check "$CTL" reload
	as_user $one "$CTL" exec -d "$(cat id.$one)" \
	    head -c 300000 /dev/zero >e || atf_fail "no command"
	as_user $one "$CTL" wait "$(cat e)" || atf_fail "it failed"
	as_user $one "$CTL" logs "$(cat e)" >out 2>err
	[ "$(wc -c <out)" -eq 300000 ] || atf_fail "unbound: $(cat err)"
	daemon_stop
}
bound_user_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case bytes
	atf_add_test_case large
	atf_add_test_case slow_reader
	atf_add_test_case bound
	atf_add_test_case bound_user
	atf_add_test_case followers
}
