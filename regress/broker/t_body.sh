# What the Engine is asked, judged by the second reading of the rules
# (engine/check_body.py), and that one by forgeries.  At the end of each run it
# judges all that was asked in it.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"

check="/usr/bin/python3 -I -B $(atf_get_srcdir)/../engine/check_body.py"
record="/usr/bin/python3 -I -B $(atf_get_srcdir)/../engine/record.py"

atf_test_case forged
forged_head()
{
	atf_set descr 'each forgery of a body, a name or a request is seen'
}
forged_body()
{
	atf_check -o match:'^[0-9]{3} forgeries, 0 not seen$' $check forged \
	    "$(atf_get_srcdir)/create.json"
	# It must be able to see that one is not.
	sed 's/"ALL"/"NET_RAW"/' \
	    "$(atf_get_srcdir)/create.json" >bad.json
	atf_check -s exit:1 -o ignore -e match:CapDrop $check forged bad.json
}

atf_test_case random
random_head()
{
	atf_set descr 'whatever the policy lets pass has a body that is good'
}
random_body()
{
	seed=$(od -An -N 6 -t u8 /dev/urandom | tr -d ' ')
	echo "seed $seed"
	atf_check -o save:lines -e save:count \
	    "$(atf_get_srcdir)/h_bodies" "$seed" "$(figure 3000 200000)"
	cat count
	atf_check -o match:', 0 bad$' $check bodies lines
	# Enough of them pass, and not all.
	n=$(wc -l <lines)
	[ "$n" -gt "$(figure 500 30000)" ] || atf_fail "only $n passed"
	[ "$n" -lt "$(figure 2900 199000)" ] || atf_fail "$n passed"
	sed '1s/"NetworkMode\\":\\"none/"NetworkMode\\":\\"host/' lines >bad
	atf_check -s exit:1 -o match:', 1 bad$' -o match:'^NetworkMode' \
	    $check bodies bad
}

atf_test_case recorded cleanup
recorded_head()
{
	atf_set descr 'a forbidden request is written down, and judged so'
}
recorded_body()
{
	d=$(mktemp -d "$SBX_SCRATCH/r.XXXXXX")
	echo "$d" >dir
	$record "$d/s" "$SBX_ENGINE" "$d/requests" "$d" </dev/null &
	echo $! >pid
	await '[ -S "$d/s" ]' 60
	atf_check -o match:'^0 requests, 0 bodies, 0 bad$' $check records \
	    "$d/requests"
	# A client that may do anything.
	atf_check -o ignore docker -H "unix://$d/s" ps
	atf_check -s exit:1 -o match:'^(the header|Host|the request)' $check \
	    records "$d/requests"
}
recorded_cleanup()
{
	[ ! -f pid ] || kill -KILL "$(cat pid)" 2>/dev/null
	[ ! -f dir ] || rm -rf "$(cat dir)"
	return 0
}

atf_init_test_cases()
{
	atf_add_test_case forged
	atf_add_test_case random
	atf_add_test_case recorded
}
