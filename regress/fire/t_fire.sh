# Hostile clients beside a friendly one, who is served all the time; and what
# is left of them in each process when they have gone.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

PINGS=$(figure 200 3000)

# Above this a ping is not served beside the others but after them; the figure
# that is wanted, ten milliseconds, is asked for where the machine is known.
LIMIT=$(figure 5000000 10000)

under_fire()	# attack [what it must have met]
{
	"$(atf_get_srcdir)/h_fire" "$SOCK" "$NEW_UID" "$1" "$PINGS" "$LIMIT" \
	    >"fire.$1" 2>&1 || atf_fail "$1: $(cat "fire.$1")"
	cat "fire.$1"
	[ -z "${2:-}" ] || grep -q "^$1: $2; " "fire.$1" ||
	    atf_fail "not \"$2\": $(cat "fire.$1")"
	await forgotten
}

# Nobody is there but who asks, and nothing goes on.
forgotten()
{
	"$CTL" status >status || return 1
	grep -q '^execs  *0$' status && grep -q '^clients  *1$' status &&
	    grep -q '^requests  *1, 0 that go on, 0 of' status &&
	    grep -q '^pipes  *0$' status
}

# files name, kib name: descriptors, and memory that is its own
files()
{
	ls "/proc/$(_process "$1")/fd" | wc -l
}

kib()
{
	sed -n "s/^$2:[^0-9]*\([0-9]*\) kB/\1/p" "/proc/$(_process "$1")/status"
}

_process()
{
	if [ "$1" = parent ]; then
		daemon_pid
	else
		daemon_child "$1"
	fi
}

ALL="parent frontend store broker runner"

measure()	# file
{
	for c in $ALL; do
		echo "$c $(files $c) $(kib $c VmRSS) $(kib $c VmHWM)"
	done >"$1"
	cat "$1"
}

# What was there before is there again, and not much more memory; a sanitizer
# keeps what was freed.
no_more()	# before after
{
	awk -v asan="${ASAN_OPTIONS:-}" 'NR == FNR { f[$1] = $2; m[$1] = $3; next }
	    $2 > f[$1] { print $1 ": descriptors: " f[$1] ", now " $2; bad = 1 }
	    asan == "" && ($3 > m[$1] + 65536 || $4 > m[$1] + 262144) {
		print $1 ": KiB: " m[$1] ", now " $3 ", at most " $4; bad = 1 }
	    END { exit bad }' "$1" "$2" >left || {
		cat left
		atf_fail "$(head -n 1 left)"
	}
}

atf_test_case clients cleanup
clients_head()
{
	atf_set descr '(aF5, aL5, b5, b6, b7, b63) the others are served' \
	    'beside hostile clients, and nothing is left of these'
	atf_set timeout 900
}
clients_body()
{
	new_uid
	daemon_start "restart 1000 per 60s"
	# Its connections to the Engine are no others' doing.
	await daemon_engine_is_up
	under_fire none
	measure before
	under_fire random
	under_fire nonsense
	under_fire many "128 served, 872 refused"
	under_fire half "100 silent, 0 served"
	under_fire halves "256 halves, 0 refused"
	under_fire stopped "50 stopped, 0 ended"
	under_fire subscriptions "2048 subscribed, 7952 refused"
	under_fire deaf "50 deaf, 0 thrown out"
	under_fire flood
	under_fire churn
	under_fire attach "500 messages, 0 both"
	measure after
	no_more before after
	# None of them has died of it.
	log_has ' died: ' && atf_fail "$(grep ' died: ' "$LOG")"
	daemon_stop
}
clients_cleanup()
{
	daemon_cleanup
}

atf_test_case sleep cleanup
sleep_head()
{
	atf_set descr 'a client who takes no answers is closed, one who' \
	    'takes few is not'
	atf_set timeout 900
}
sleep_body()
{
	new_uid
	BIN=$SBX_FAULTBIN
	DAEMON_ENV=SANDBOXD_READ_WAIT=2000
	daemon_start
	under_fire sleep "4 thrown out, 1 kept"
	await 'log_has "uid $NEW_UID closed: took no answer"'
	daemon_stop
}
sleep_cleanup()
{
	daemon_cleanup
}

atf_test_case execs cleanup
execs_head()
{
	atf_set descr 'clients who stop in the middle of attached commands'
	atf_set timeout 900
}
execs_body()
{
	new_uid
	world "timeouts { reattach 1s }"
	as_user "$NEW_UID" "$CTL" create -i box >out 2>&1 ||
	    atf_fail "$(cat out)"
	as_user "$NEW_UID" "$CTL" exec box true || atf_fail "no exec"
	under_fire none
	# Once for what is opened when it is needed first.
	under_fire exec "20 commands, 0 refused"
	measure before
	under_fire exec "20 commands, 0 refused"
	measure after
	no_more before after
	log_has ' died: ' && atf_fail "$(grep ' died: ' "$LOG")"
	as_user "$NEW_UID" "$CTL" delete box >out 2>&1 ||
	    atf_fail "$(cat out)"
	daemon_stop
}
execs_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case clients
	atf_add_test_case execs
	atf_add_test_case sleep
}
