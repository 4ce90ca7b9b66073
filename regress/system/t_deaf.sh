# A frontend that takes nothing any more, while there is much for it: what the
# others keep for it is bounded, it is replaced, and then nobody lacks anything.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

BIN=$SBX_FAULTBIN
EXECS=$(figure 40 200)
FOLLOWERS=$(figure 6 32)
BYTES=$(figure 33554432 536870912)

# What the daemon's others have had at most so far, in KiB; until it is told
# that the frontend is silent, when it has been for three rounds.
silent()
{
	for r in parent store broker runner; do
		p=$(sed -n "s/^$r //p" pids)
		k=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' \
		    "/proc/$p/status" 2>/dev/null) || :
		[ -z "$k" ] || echo "$r $k" >"peak.$r"
	done
	log_has '^frontend\[[0-9]*\] has not answered for'
}

replaced()
{
	local p

	p=$(daemon_child frontend) && [ "$p" != "$1" ] &&
	    "$CTL" ping >ping 2>&1
}

# That it has ended well, or was told that nobody could serve it.
late()
{
	for f in late.*; do
		grep -qx '0\|69' "$f" || return 1
	done
}

atf_test_case deaf cleanup
deaf_head()
{
	atf_set descr "a frontend that takes nothing is replaced; what waits" \
	    "for it is bounded, and comes"
	atf_set timeout 1200
}
deaf_body()
{
	SANDBOXD_BEAT=2000
	export SANDBOXD_BEAT
	world "restart 1000 per 1s
		limits { execs 1000 }"
	box -i box
	go=$(find "$STATE/work" -mindepth 1 -maxdepth 1 -type d)
	wait='until [ -e /workspace/go ]; do usleep 100000; done'
	for i in $(seq "$EXECS"); do
		"$CTL" exec -d box sh -c "$wait; exit $((i % 100))" >id ||
		    atf_fail "exec $i"
	done
	for i in $(seq "$FOLLOWERS"); do
		"$CTL" events -f box >"events.$i" 2>"events.$i.err" &
		echo $! >>followers
	done
	for i in 1 2; do
		{
			s=0
			"$CTL" exec box sh -c "$wait; exec head -c $BYTES \
			    /dev/zero" >"out.$i" 2>"out.$i.err" || s=$?
			echo "$s" >"end.$i"
		} </dev/null &
	done
	n=$((EXECS + 2))
	for i in $(seq "$FOLLOWERS"); do
		await "grep -q 'exec=box.$n ' events.$i ||
		    grep -q 'exec=box.$n\$' events.$i"
	done
	{
		echo "parent $(daemon_pid)"
		for r in store broker runner; do
			echo "$r $(daemon_child $r)"
		done
	} >pids
	silent || :
	cat peak.* >before

	p=$(daemon_child frontend) || atf_fail "no frontend"
	kill -STOP "$p"
	: >"$go/go"
	# Who comes now has an end too.
	for i in $(seq 20); do
		: >"late.$i"
		{
			s=0
			timeout 300 "$CTL" show box >/dev/null \
			    2>"err.late.$i" || s=$?
			echo "$s" >"late.$i"
		} </dev/null &
	done
	await silent 120
	cat peak.* >after
	paste before after
	[ -n "${ASAN_OPTIONS:-}" ] || paste before after |
	    awk '$4 > $2 + 8192 { bad = 1 } END { exit bad }' ||
	    atf_fail "too much is kept for it: $(paste before after)"
	await 'replaced "$p"' 120

	for i in $(seq "$EXECS"); do
		s=0
		timeout 120 "$CTL" wait "box.$i" 2>err || s=$?
		[ "$s" -eq $((i % 100)) ] ||
		    atf_fail "box.$i: $s, $(cat err)"
	done
	for i in 1 2; do
		await "[ -s end.$i ]" 300
		[ "$(cat "end.$i")" -eq 0 ] || atf_fail "$(cat "out.$i.err")"
		head -c "$BYTES" /dev/zero | cmp - "out.$i" ||
		    atf_fail "not what it wrote"
	done
	for i in $(seq "$FOLLOWERS"); do
		await "[ \"\$(grep -c 'exec\\.ended' events.$i)\" -eq $n ]" 120
		# Without gap or double.
		awk 'NR > 1 && $1 <= was { exit 1 } { was = $1 }' "events.$i" ||
		    atf_fail "out of order"
	done
	await late 300
	# shellcheck disable=SC2046
	kill $(cat followers)
	atf_check -o ignore "$CTL" delete box
	nothing_left
	daemon_stop
}
deaf_cleanup()
{
	# shellcheck disable=SC2046
	[ ! -s followers ] || kill $(cat followers) 2>/dev/null
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case deaf
}
