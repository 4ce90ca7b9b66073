# Descriptors and memory run out, by limits that are set on a process that
# runs already.
#
#	of whom		what	what must come of it
#	--------------	-------	----------------------------------------------
#	the parent	files	connections wait or are refused; nobody dies;
#				with more it goes on
#	each child	files	requests are refused, at worst it is replaced;
#				the sandbox and its command go on, and with
#				more all is done that was asked for
#	each child	memory	the same; the parent never ends
#	too few at the	files	no start, with the number
#	start

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# The highest descriptor that is in use, and one.
nfiles()
{
	echo $(($(ls "/proc/$1/fd" | sort -n | tail -n 1) + 1))
}

# set_world: a sandbox with a command that goes on
set_world()
{
	world "restart 1000 per 60s"
	box
	atf_check -o save:exec "$CTL" exec -d "$BOX" sh -c \
	    'until [ -e go ]; do usleep 100000; done; echo done; exit 5'
}

# Work of each kind; what becomes of it is not looked at.
try_all()
{
	for i in 1 2; do
		timeout 60 "$CTL" exec "$BOX" head -c 100000 /dev/zero \
		    >out 2>err </dev/null
		timeout 60 "$CTL" exec -d "$BOX" sh -c \
		    "$(printf "%0100000d" 0)" >out 2>err
		timeout 60 "$CTL" events >out 2>err
		timeout 120 "$CTL" create -d -l try=yes >out 2>err
	done
}

check_world()
{
	await '"$CTL" exec "$BOX" true 2>/dev/null' 120
	atf_check -o inline:"hi\n" "$CTL" exec "$BOX" echo hi
	await '"$CTL" delete -l try >/dev/null 2>&1' 120
	touch "$(find "$STATE/work" -mindepth 1 -maxdepth 1)/go"
	atf_check -s exit:5 timeout 120 "$CTL" wait "$(cat exec)"
	atf_check -o inline:"done\n" "$CTL" logs "$(cat exec)"
	atf_check -o ignore "$CTL" delete "$BOX"
	nothing_left
	atf_check -o match:"^events" "$CTL" log verify
	daemon_stop
}

resource_case()
{
	eval "atf_test_case $1_$2 cleanup
	$1_$2_head()
	{
		atf_set descr '($3) the $2 has no more $1'
		atf_set timeout 600
	}
	$1_$2_body()
	{
		set_world
		p=\$(daemon_child $2) || atf_fail 'no $2'
		lower_$1 \"\$p\"
		try_all
		raise_$1 \"\$p\"
		check_world
	}
	$1_$2_cleanup()
	{
		daemon_cleanup
	}"
	CASES="$CASES $1_$2"
}

id_of()
{
	awk -v f="$2:" '$1 == f { print $2 }' "/proc/$1/status"
}

# limit pid what number: the soft one; by its own user, who may
limit()
{
	setpriv --reuid "$(id_of "$1" Uid)" --regid "$(id_of "$1" Gid)" \
	    --clear-groups \
	    prlimit --pid "$1" "--$2=$3:" || _gone "$1" ||
	    atf_fail "prlimit"
}

lower_files()
{
	limit "$1" nofile "$(nfiles "$1")"
}

# As far as it goes, if it is there still.
raise_files()
{
	hard=$(awk '/^Max open files/ { print $5 }' "/proc/$1/limits" \
	    2>/dev/null)
	[ -z "$hard" ] || limit "$1" nofile "$hard"
}

raise_memory()
{
	hard=$(awk '/^Max address space/ { print $5 }' "/proc/$1/limits" \
	    2>/dev/null)
	[ -z "$hard" ] || limit "$1" as "$hard"
}

lower_memory()
{
	kb=$(sed -n 's/^VmSize:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status")
	limit "$1" as $((kb * 1024))
}

CASES=
for r in frontend store broker runner; do
	resource_case files $r c39
	resource_case memory $r c38
done

atf_test_case files_parent cleanup
files_parent_head()
{
	atf_set descr '(c39) the parent has no more files'
	atf_set timeout 600
}
files_parent_body()
{
	set_world
	p=$(daemon_pid)
	before=$(cat "/proc/$p/task/$p/children")
	all=$(prlimit --pid "$p" --nofile --noheadings --output SOFT | tr -d ' ')
	lower_files "$p"
	timeout 120 "$CTL" ping >out 2>err &
	client=$!
	await 'log_has "accept: Too many open files"'
	limit "$p" nofile "$all"
	wait $client || atf_fail "it was forgotten: $(cat err)"
	atf_check_equal "$before" "$(cat "/proc/$p/task/$p/children")"
	check_world
}
files_parent_cleanup()
{
	daemon_cleanup
}

atf_test_case files_start cleanup
files_start_head()
{
	atf_set descr 'too few files at the start'
}
files_start_body()
{
	daemon_conf
	mkdir -m 711 "$STATE"
	# Root may raise it again; one without that right may not.
	atf_check -s exit:1 -e match:"descriptors in a process are too few" \
	    prlimit --nofile=32:32 setpriv --bounding-set=-sys_resource \
	    "$BIN/sandboxd" -d -f "$CONF"
}
files_start_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	for c in $CASES; do
		atf_add_test_case "$c"
	done
	atf_add_test_case files_parent
	atf_add_test_case files_start
}
