# Attackers in the places of the store, the broker and the runner; and what
# is no message, from each of them to each other.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/canary.subr"
. "$(atf_get_srcdir)/evil.subr"

# Of a sandbox each of these three can make an end: it is theirs to serve.
host_check()
{
	_canary_look | _host_only >host.now
	_host_only <canary.first >host.first
	cmp -s host.first host.now || {
		diff host.first host.now >&2
		atf_fail "$1: $(diff host.first host.now | sed -n 's/^> //p' |
		    head -n 1)"
	}
	_canary_reset
}

_host_only()
{
	grep -v -e "$CANARY_ID" -e "/work/$CANARY_N/"
}

# Old events are what they were, and all that there is is sound.
history_keep()
{
	"$CTL" -j events >history.first || atf_fail "no events"
	[ "$(wc -l <history.first)" -gt 10 ] || atf_fail "no history"
}

history_check()
{
	"$CTL" -j events >history.now || atf_fail "$1: no events"
	head -n "$(wc -l <history.first)" history.now >history.old
	cmp -s history.first history.old || {
		diff history.first history.old >&2
		atf_fail "$1: what has been is other now"
	}
	atf_check -o ignore "$CTL" log verify
}

# kept: an honest daemon once more, for what it says of the past
history_start()
{
	daemon_start
	await daemon_engine_is_up
	history_keep
	daemon_stop
}

atf_test_case store cleanup
store_head()
{
	atf_set descr '(aS2) whatever a taken-over store orders, the Engine' \
	    'is asked for nothing beyond the policy'
	atf_set timeout 1200
}
store_body()
{
	evil_world
	history_start
	evil_start store orders "bystander=$BYSTANDER"
	evil_played orders
	sed -n 's/^store: evil/evil/p' "$LOG"
	log_has "evil: [1-9][0-9]* containers made" ||
	    atf_fail "none was made: this shows nothing"
	log_has "evil: 7 of 7 users refused" ||
	    atf_fail "a container for a user beyond the policy"
	host_check orders
	evil_next
	evil_over
	history_check orders
	host_check "orders, later"
	evil_judge
	daemon_stop
}
store_cleanup()
{
	evil_cleanup
}

atf_test_case broker cleanup
broker_head()
{
	atf_set descr '(aB2) whatever a taken-over broker reports, what has' \
	    'been is not changed'
	atf_set timeout 1200
}
broker_body()
{
	evil_world
	history_start
	evil_start broker history
	evil_played history
	await 'log_has "store: Engine evil-end"'
	host_check history
	history_check "with it"
	evil_next
	evil_over
	history_check "after it"
	host_check "after it"
	evil_judge
	daemon_stop
}
broker_cleanup()
{
	evil_cleanup
}

atf_test_case runner cleanup
runner_head()
{
	atf_set descr 'whatever a taken-over runner reports, others live, and' \
	    'what has been is not changed'
	atf_set timeout 1200
}
runner_body()
{
	evil_world
	history_start
	evil_start runner ends
	evil_played ends
	await 'log_has "store: runner: evil-end"'
	host_check ends
	history_check "with it"
	evil_next
	evil_over
	history_check "after it"
	evil_judge
	daemon_stop
}
runner_cleanup()
{
	evil_cleanup
}

# Each set another of all the forms that a decoder must refuse: the one that
# gets it says so, and the next set comes.
bad()	# role [arg]
{
	EVIL_SETS=$(figure 3 200)
	seed=$(figure 1 "$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')")
	echo "seed of $1: $seed"
	evil_start "$1" bad "seed=$seed" stride=7919 ${2:+"$2"}
	await 'log_has "evil: bad .* set $EVIL_SETS$"' 600
	evil_over
	grep "^$1: evil: bad " "$LOG" | while read -r _ _ _ what _ to _; do
		to=${to%,}
		if [ "$to" = parent ]; then
			log_has "^$1\[[0-9]*\]: broke the protocol; killed"
		else
			log_has "^$to: fatal: bad $what from $1" ||
			    log_has "^$to: fatal: unexpected $what .*from $1"
		fi || echo "$to took $what from $1"
	done >taken
	[ ! -s taken ] || {
		cat "$LOG"
		atf_fail "$(head -n 1 taken)"
	}
	[ "$(grep -c "^$1: evil: bad " "$LOG")" -ge "$EVIL_SETS" ] ||
	    atf_fail "not all were played"
	daemon_stop
}

# What is to be handed to a client is a pipe or the end of who has sent it.
streams()	# role message receiver
{
	EVIL_SETS=3
	evil_start "$1" streams
	line="^$3: fatal: bad $2 from $1"
	await '[ "$(grep -c "$line" "$LOG")" -ge 3 ]' 300
	evil_over
	daemon_stop
}

atf_test_case streams cleanup
streams_head()
{
	atf_set descr 'a descriptor that a taken-over runner or broker has for' \
	    'a client, and that is no pipe, reaches nobody'
	atf_set timeout 1200
}
streams_body()
{
	evil_world
	history_start
	streams runner stream frontend
	streams broker IMPORT_STREAM store
	daemon_start
	await daemon_engine_is_up
	canaries_served streams
	canaries_check streams
	history_check streams
	evil_judge
	canaries_remove
	daemon_stop
}
streams_cleanup()
{
	evil_cleanup
}

# unasked role script message receiver sets: well-formed, and yet its end
unasked()
{
	EVIL_SETS=$5
	evil_start "$1" "$2"
	line="^$4: fatal: bad $3 from $1"
	await '[ "$(grep -c "$line" "$LOG")" -ge $EVIL_SETS ]' 300
	evil_over
	daemon_stop
}

atf_test_case unasked cleanup
unasked_head()
{
	atf_set descr 'a call that there is none of, and the end of one that' \
	    'nobody has made, are the end of who gets them'
	atf_set timeout 1200
}
unasked_body()
{
	evil_world
	history_start
	unasked store nocall CALL runner 2
	unasked runner nodone CALL_DONE store 1
	daemon_start
	await daemon_engine_is_up
	canaries_served unasked
	canaries_check unasked
	history_check unasked
	evil_judge
	canaries_remove
	daemon_stop
}
unasked_cleanup()
{
	evil_cleanup
}

# What a number, a user or a name of a workspace could be taken for instead.
decoys()
{
	DECOYS="$STATE/900001 $STATE/work/-1 $STATE/work/0900001
	    $STATE/work/900001x $STATE/work/keep $STATE/work/-2147483648
	    $D/900001"
	for d in $DECOYS; do
		mkdir "$d" && echo "$CANARY_SECRET" >"$d/file" ||
		    atf_fail "no $d"
	done
	# The workspace that is removed leads everywhere.
	own=$(as_user "$EVIL_UID" "$CTL" show own |
	    awk '$1 == "number" { print $2; exit }')
	[ -n "$own" ] && [ -d "$STATE/work/$own" ] || atf_fail "number: $own"
	ln -s "$CANARY" "$STATE/work/$own/link"
	ln -s ../.. "$STATE/work/$own/up"
	ln -s / "$STATE/work/$own/root"
	_decoys_look >decoys.first
}

_decoys_look()
{
	for d in $DECOYS "$CANARY"; do
		stat -c '%n %u %g %a %i' "$d" "$d"/*
		cat "$d/file" 2>/dev/null
	done
	# The workspaces are seen in two places.
	find "$STATE" -path "$STATE/work/[1-9]*" -prune -o \
	    -path "$STATE/mnt/[1-9]*" -prune -o \
	    -path "$STATE/runner/*/*" -prune -o -type d \
	    -printf '%p %U %G %m\n' | sort
}

decoys_check()
{
	_decoys_look >decoys.now
	cmp -s decoys.first decoys.now || {
		diff decoys.first decoys.now >&2
		atf_fail "$1: $(diff decoys.first decoys.now |
		    grep '^[<>]' | head -n 1)"
	}
}

# killed role times: each as an offender
killed()
{
	[ "$(grep -c "^$1\[[0-9]*\]: broke the protocol; killed" "$LOG")" \
	    -ge "$2" ]
}

atf_test_case works cleanup
works_head()
{
	atf_set descr '(aS2, aF4) workspaces that nobody asked for, of another,' \
	    'of any number and any user: nothing outside is touched'
	atf_set timeout 1200
}
works_body()
{
	evil_world
	history_start
	daemon_start
	decoys
	daemon_stop
	set -- "other=$CANARY_N" "canary=$CANARY_UID"

	# From who may not at all, it is his end, and nothing else's.
	for r in frontend broker runner; do
		EVIL_SETS=2
		evil_start $r work "$@"
		await 'killed $r 2' 120
		evil_over
		daemon_stop
		canaries_check "$r"
		decoys_check "$r"
	done
	# A user who is not of the range.
	EVIL_SETS=5
	evil_start store workuser "$@"
	await 'killed store 5' 120
	[ "$(grep -c "workspace 900001: .* not of the range" "$LOG")" -ge 5 ] ||
	    atf_fail "taken: $(grep evil "$LOG")"
	evil_over
	daemon_stop
	[ ! -e "$STATE/work/900001" ] || atf_fail "it was made"
	canaries_check workuser
	decoys_check workuser

	# A workspace that is larger than the configuration has it.
	unset EVIL_SETS
	daemon_conf "restart 1000 per 1s
		defaults { disk 16M readonly yes }
		limits { disk 16M per sandbox }"
	evil_start store workdisk "$@" "limit=16777216"
	evil_played workdisk
	log_has "evil: 0 orders done, 3 not" || atf_fail "$(grep evil "$LOG")"
	[ "$(grep -c "90000[1-3]: disk: [0-9]*: the limit is 16777216" \
	    "$LOG")" -eq 3 ] || atf_fail "$(grep workspace "$LOG")"
	evil_next
	evil_over
	daemon_stop
	! ls "$STATE/work" | grep -x '90000[1-3]' || atf_fail "it was made"
	canaries_check workdisk
	decoys_check workdisk
	daemon_conf "restart 1000 per 1s"

	# The store's own orders: it has its sandboxes, and no more.
	unset EVIL_SETS
	evil_start store works "$@" "own=$own"
	evil_played works
	log_has "evil: [1-9][0-9]* orders done" || atf_fail "none was done"
	sed -n 's/^store: evil/evil/p' "$LOG"
	host_check works
	decoys_check works
	evil_next
	evil_over
	canaries_served works
	host_check "works, later"
	history_check works
	evil_judge
	daemon_stop
	# What was made is gone, but for what sandboxes have.
	ls "$STATE/work" | grep -x -e 9[01][0-9]* -e '[0-9]\{9,\}' >left
	[ ! -s left ] || atf_fail "left: $(cat left)"
}
works_cleanup()
{
	evil_cleanup
}

atf_test_case mounts cleanup
mounts_head()
{
	atf_set descr "(aS2) the host's directories: of nobody, of no policy," \
	    'by tickets of another thing: none is mounted, and none is left'
	atf_set timeout 1200
}
mounts_body()
{
	M=$(mktemp -d /tmp/sbm.XXXXXX) || atf_fail "no folder"
	echo "$M" >place
	chmod 755 "$M"
	mkdir "$M/allowed"
	echo mine >"$M/allowed/file"
	ln -s /etc "$M/link"
	evil_world "policy { image allow \"*\" mount allow \"$M\" }"
	history_start
	set -- "allowed=$M/allowed" "link=$M/link" "around=$D" \
	    "state=$STATE" "work=$STATE/work"
	# A user who is not of the range, and what is no request.
	EVIL_SETS=3
	evil_start store mount "$@"
	await 'killed store 3' 120
	evil_over
	daemon_stop
	unset EVIL_SETS
	evil_start store mounts "$@"
	evil_played mounts
	sed -n 's/^store: evil/evil/p' "$LOG"
	log_has "evil: 3 granted, 34 denied, 4 orders done, 6 not" ||
	    atf_fail "$(grep 'evil: [0-9]* granted' "$LOG")"
	# It was told when all of that was over.
	! grep " $STATE/mounts/" /proc/self/mountinfo || atf_fail "mounted"
	[ -z "$(ls "$STATE/mounts")" ] || atf_fail "left: $(ls "$STATE/mounts")"
	! ls "$STATE/work" | grep '^90000' || atf_fail "a workspace is left"
	[ "$(cat "$M/allowed/file")" = mine ] ||
	    atf_fail "it is not as it was"
	evil_next
	evil_over
	canaries_served mounts
	history_check mounts
	evil_judge
	daemon_stop
}
mounts_cleanup()
{
	evil_cleanup
	[ ! -f place ] || rm -rf "$(cat place)"
}

atf_test_case bad cleanup
bad_head()
{
	atf_set descr '(b14) a message that is none is the end of who sent' \
	    'or got it, by name, and of nothing else'
	atf_set timeout 1200
}
bad_body()
{
	evil_world
	history_start
	bad frontend
	bad store open=1
	bad broker
	bad runner
	daemon_start
	await daemon_engine_is_up
	canaries_served bad
	canaries_check bad
	history_check bad
	evil_judge
	canaries_remove
	daemon_stop
}
bad_cleanup()
{
	evil_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case bad
	atf_add_test_case unasked
	atf_add_test_case streams
	atf_add_test_case works
	atf_add_test_case mounts
	atf_add_test_case store
	atf_add_test_case broker
	atf_add_test_case runner
}
