# What the parent's code can reach.  All processes are one program, so its
# objects are linked here alone, with nothing of the children's, and what they
# call is followed from function to function.

MAKE=${MAKE:-make}
# Those that it starts; each is the main of another process.
MAINS="frontend store broker runner"
# And what a child with the store's user does, which main() gives to it.
CHILDS="log_offline_verify log_offline_restore"
# Who reads what comes from clients, guests, the Engine and the database.  The
# first one is who decodes a client's message; those of children are arrays.
READERS='^(msg_decode_map|imsgbuf_(read|get|queue).*|imsg_(get|forward).*|
    msgbuf_(read|get).*|ibuf_read|ibuf_get.*|gproto_.*|gp_.*|json_.*|curl_.*|
    db_.*|engine_.*|eventlog_.*|eventdb_.*|record_.*|model_.*|sandbox_.*_recv)$'

built()
{
	if [ "${ASAN:-no}" = yes ]; then
		echo "$SBX_TOP/obj-asan"
	else
		echo "$SBX_TOP"
	fi
}

# print variable ...: as sandboxd/Makefile has them
print()
{
	{
		echo 'TOP = ..'
		echo 'print:'
		for v; do
			printf '\t@echo ${%s}\n' "$v"
		done
		echo 'include Makefile'
	} >print.mk
	(cd "$(built)/sandboxd" && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS \
	    $MAKE -s -f "$OLDPWD/print.mk" print)
}

objects()
{
	for s in $(print SRCS_PARENT SRCS_PIPE); do
		echo "$(built)/sandboxd/${s%.c}.o"
	done
}

# link: program `linked', and what was taken from archives in `taken'
link()
{
	objects >objs
	[ "$(wc -l <objs)" -gt 20 ] || atf_fail "no objects: $(cat objs)"
	for m in $MAINS $CHILDS; do
		echo "void $m(int, int); void $m(int a, int b)"
		echo "{ (void)a; (void)b; }"
	done >mains.c
	san=
	[ "${ASAN:-no}" != yes ] || san=-fsanitize=address,undefined
	libs=$(print SECCOMP_LIBS EVENT_LIBS MSGPACK_LIBS MD_LIBS BSD_LIBS)
	# Neither Berkeley DB, libcurl nor jansson.
	# shellcheck disable=SC2046,SC2086
	atf_check cc $san -pie -Wl,--as-needed -Wl,-Map=map -o linked \
	    $(cat objs) mains.c "$(built)/sandboxd/confine.a" \
	    "$(built)/lib/libsbx.a" $libs
	sed -n '/^Archive member/,/^Merging\|^As-needed\|^Discarded/p' map |
	    sed -n 's/^[^ ]*libsbx\.a(\([a-z_]*\.o\)).*/\1/p' | sort >taken
	[ -s taken ] || atf_fail "nothing of libsbx.a"
}

# Of each function whom it calls or takes the address of: "from to".
edges()
{
	objdump -d --no-show-raw-insn linked | awk '
		/^[0-9a-f]+ <.*>:$/ {
			from = $2
			gsub(/[<>:]/, "", from)
			next
		}
		match($0, /<[^>]*>/) {
			to = substr($0, RSTART + 1, RLENGTH - 2)
			sub(/[+].*|@.*/, "", to)
			sub(/\.(part|constprop|isra|cold).*/, "", to)
			f = from
			sub(/\.(part|constprop|isra|cold).*/, "", f)
			if (to != f)
				print f, to
		}' | sort -u
}

# Whatever can be reached from functions of the parent's objects; all of them,
# since a table may have the address of any.
reached()
{
	# shellcheck disable=SC2046
	nm --defined-only $(cat objs) | awk '$2 ~ /^[tT]$/ {
		sub(/\.(part|constprop|isra|cold).*/, "", $3)
		print "root", $3 }' | sort -u >roots
	edges >edges
	awk '{ to[$1] = to[$1] " " $2 }
	    END {
		n = split("root", queue)
		seen["root"] = 1
		for (i = 1; i <= n; i++) {
			k = split(to[queue[i]], next_, " ")
			for (j = 1; j <= k; j++)
				if (!(next_[j] in seen)) {
					seen[next_[j]] = 1
					queue[++n] = next_[j]
				}
		}
		for (i = 2; i <= n; i++)
			print queue[i]
	    }' roots edges | sort
}

atf_test_case parsers
parsers_head()
{
	atf_set descr "(aP1) the parent has no parser of clients', guests', the" \
	    "Engine's and the database's bytes"
}
parsers_body()
{
	link
	# The guests' protocol and the library of clients are not in it.
	for o in gproto.o gproto_msg.o sandbox_calls.o sandbox_conn.o \
	    sandbox_io.o sandbox_job.o; do
		! grep -qx "$o" taken || atf_fail "$o is in it"
	done
	reached >reach
	# It does follow: into the library, and into a function by its address.
	for f in parent_main msg_decode_array chan_read imsg_compose \
	    msgpack_unpack_next msg_scan; do
		grep -qx "$f" reach || atf_fail "$f is not reached: no graph"
	done
	readers=$(echo "$READERS" | tr -d '\n\t ')
	! grep -E "$readers" reach || atf_fail "it reaches a parser"
	# And that is what they are called.
	nm --defined-only "$(built)/lib/libsbx.a" "$(built)"/sandboxd/*.o |
	    awk '$2 == "T" { print $3 }' | grep -E "$readers" >known
	for f in msg_decode_map imsgbuf_read imsgbuf_get imsg_get_ibuf; do
		grep -qx "$f" known || atf_fail "no such function: $f"
	done
	for l in db curl jansson; do
		! objdump -p linked | grep "NEEDED.*lib$l[-.0-9]" ||
		    atf_fail "lib$l is in it"
	done
	# The rest of the program is four names, called after the exec, and two
	# that a child calls which has dropped all.
	# shellcheck disable=SC2046
	nm -uA $(cat objs) | sed 's,.*/\([a-z_-]*\.o\):.* \(.*\),\2 \1,' \
	    >undefined
	for m in $MAINS $CHILDS; do
		atf_check -o inline:"$m sandboxd.o\n" grep "^$m " undefined
	done
}

atf_init_test_cases()
{
	atf_add_test_case parsers
}
