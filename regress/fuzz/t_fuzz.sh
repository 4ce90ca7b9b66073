# Fuzzing of each parser of strangers' bytes: all seeds and ten seconds here,
# FUZZ_SECONDS for more.  The targets are f_*.c; what breaks one is printed.
#
# They begin with what h_seeds makes by the encoders, and with the files of
# seeds/, which are inputs that once broke something or that no mutation of
# the others comes upon.

TARGETS="f_chan f_client f_conf f_engine f_filerec f_front f_glob f_gproto
    f_grep f_guest f_imsg f_msg f_ops f_patch f_print f_record f_runner f_session
    f_skill f_spec f_tar"

for t in $TARGETS; do
	eval "${t}_head() {
		atf_set descr '(aD2) any bytes: $t'
		atf_set timeout 7200
	}
	${t}_body() { fuzz $t; }"
done

SPEC="lib/spec_check.c lib/spec_mounts.c lib/spec_value.c lib/calls.c"
MSG="lib/msg.c lib/msg_decode.c lib/msg_encode.c lib/msg_scan.c lib/msg_take.c lib/vec.c lib/proto.c"

# sources name: what a target needs beside itself.
sources()
{
	case $1 in
	f_chan)		echo regress/fuzz/fuzz.c lib/chan.c ;;
	f_client)	echo regress/fuzz/fuzz.c lib/sandbox_conn.c \
			    lib/sandbox_calls.c lib/sandbox_io.c \
			    lib/sandbox_job.c lib/imsg.c \
			    lib/ibuf.c lib/msgbuf.c lib/codes.c $MSG ;;
	f_conf)		echo regress/fuzz/fuzz.c sandboxd/conf.c \
			    sandboxd/conf_ids.c \
			    sandboxd/conf_lex.c sandboxd/conf_set.c \
			    sandboxd/conf_who.c sandboxd/printconf.c \
			    sandboxd/rules.c sandboxd/quota.c \
			    $SPEC lib/codes.c lib/log.c \
			    lib/text.c $MSG ;;
	f_engine)	echo regress/fuzz/fuzz.c regress/fuzz/fuzz_policy.c \
			    sandboxd/engine_api.c \
			    sandboxd/engine_json.c \
			    sandboxd/policy.c sandboxd/policy_build.c \
			    sandboxd/policy_check.c \
			    sandboxd/seccomp_profile.c sandboxd/messages.c \
			    lib/codes.c $SPEC $MSG ;;
	f_filerec)	echo regress/fuzz/fuzz.c lib/filerec.c lib/calls.c \
			    lib/codes.c $MSG ;;
	f_front)	echo regress/fuzz/fuzz.c regress/fuzz/fuzz_pipe.c \
			    sandboxd/frontend_req.c \
			    sandboxd/messages.c lib/imsg.c lib/ibuf.c \
			    lib/msgbuf.c $SPEC lib/spec_refuse.c \
			    lib/codes.c $MSG ;;
	f_glob)		echo regress/fuzz/fuzz.c sandboxd/guest/tool_match.c ;;
	f_gproto)	echo lib/gproto.c lib/gproto_call.c \
			    lib/gproto_msg.c ;;
	f_grep)		echo regress/fuzz/fuzz.c sandboxd/guest/tool_find.c \
			    sandboxd/guest/tool_match.c \
			    sandboxd/guest/tool_regex.c \
			    sandboxd/guest/tool_walk.c ;;
	f_guest)	echo regress/fuzz/fuzz.c lib/gproto.c \
			    lib/gproto_call.c lib/gproto_msg.c \
			    sandboxd/guest/marks.c sandboxd/guest/pour.c \
			    sandboxd/guest/stream.c ;;
	f_imsg)		echo lib/imsg.c lib/ibuf.c lib/msgbuf.c ;;
	f_msg)		echo sandboxd/messages.c $MSG ;;
	f_ops)		echo regress/fuzz/fuzz.c regress/fuzz/fuzz_pipe.c \
			    regress/fuzz/fuzz_policy.c \
			    sandboxd/broker_create.c sandboxd/broker_event.c \
			    sandboxd/broker_freeze.c sandboxd/broker_remove.c \
			    sandboxd/broker_store.c sandboxd/broker_update.c \
			    sandboxd/engine_api.c sandboxd/engine_json.c \
			    sandboxd/policy.c sandboxd/policy_build.c \
			    sandboxd/policy_check.c \
			    sandboxd/seccomp_profile.c sandboxd/messages.c \
			    lib/codes.c $SPEC $MSG ;;
	f_patch)	echo regress/fuzz/fuzz.c sandboxctl/patch.c \
			    sandboxctl/patch_diff.c sandboxctl/patch_link.c \
			    lib/errcode.c sandboxd/guest/place.c \
			    lib/filerec.c lib/calls.c lib/codes.c $MSG ;;
	f_print)	echo regress/fuzz/fuzz.c sandboxctl/output.c \
			    sandboxctl/output_json.c sandboxctl/json_lack.c \
			    sandboxctl/base64.c \
			    $SPEC \
			    lib/codes.c lib/text.c $MSG ;;
	f_record)	echo regress/fuzz/fuzz.c sandboxd/record.c \
			    sandboxd/model.c sandboxd/model_load.c \
			    sandboxd/model_lost.c sandboxd/model_rows.c \
			    sandboxd/messages.c $SPEC lib/codes.c \
			    $MSG ;;
	f_runner)	echo regress/fuzz/fuzz.c regress/fuzz/fuzz_pipe.c \
			    sandboxd/runner_guest.c \
			    sandboxd/runner_call.c sandboxd/runner_changed.c \
			    sandboxd/runner_exec.c \
			    sandboxd/runner_input.c sandboxd/runner_life.c sandboxd/runner_pass.c sandboxd/runner_pour.c \
			    sandboxd/runner_silent.c sandboxd/runner_tty.c \
			    sandboxd/messages.c lib/calls.c lib/gproto.c \
			    lib/gproto_call.c lib/gproto_msg.c $MSG ;;
	f_session)	echo regress/fuzz/fuzz.c sandboxctl/session_line.c \
			    sandboxctl/session_table.c \
			    sandboxctl/input_json.c sandboxctl/json_lack.c \
			    sandboxctl/base64.c \
			    $SPEC lib/spec_refuse.c lib/codes.c \
			    $MSG ;;
	f_skill)	echo regress/fuzz/fuzz.c sandboxctl/skill_front.c \
			    sandboxctl/skill_list.c sandboxctl/output.c \
			    sandboxctl/output_json.c sandboxctl/json_lack.c \
			    sandboxctl/base64.c \
			    $SPEC lib/codes.c lib/text.c $MSG ;;
	f_tar)		echo regress/fuzz/fuzz.c sandboxd/guest/tar_read.c \
			    sandboxd/guest/tar_write.c ;;
	f_spec)		echo $SPEC lib/codes.c $MSG ;;
	esac
}

# libs name: and the libraries.
libs()
{
	case $1 in
	f_chan|f_front)	echo -levent_core ;;
	f_conf)		echo -lutil ;;
	f_engine|f_ops)	echo -ljansson -levent_core ;;
	f_print|f_session) echo -ljansson ;;
	f_runner)	echo -levent_core ;;
	f_skill)	echo -lyaml -ljansson ;;
	f_record)	echo -lmd -levent_core ;;
	esac
}

# build: $t, one after the other, since most of it is common to all.
build()
{
	obj=$SBX_SCRATCH/fuzz
	set --
	for s in "regress/fuzz/$t.c" $(sources "$t"); do
		o=$obj/$(echo "${s%.c}" | tr / _).o
		set -- "$@" "$o"
		[ ! -f "$o" ] || continue
		clang -g -O1 -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror \
		    -Wno-unused-parameter -Wno-unused-function \
		    -fsanitize=fuzzer-no-link,address,undefined \
		    -fno-sanitize-recover=undefined \
		    -isystem /usr/include/bsd -DLIBBSD_OVERLAY -I"$obj" \
		    -I"$SBX_TOP/regress/fuzz" -I"$SBX_TOP/lib" \
		    -I"$SBX_TOP/sandboxd" -I"$SBX_TOP/sandboxctl" \
		    -I"$SBX_TOP/sandboxd/guest" \
		    -c -o "$o.new" "$SBX_TOP/$s" || return 1
		mv "$o.new" "$o"
	done
	clang -fsanitize=fuzzer,address,undefined -o "$t" "$@" $(libs "$t") \
	    -lmsgpackc -lbsd
}

# fuzz name: build the target with what it needs and run it.
fuzz()
{
	t=$1
	mkdir -p "$SBX_SCRATCH/fuzz"
	{
		flock 9
		[ -f "$SBX_SCRATCH/fuzz/grammar.c" ] ||
		    bison -o "$SBX_SCRATCH/fuzz/grammar.c" \
		    "$SBX_TOP/sandboxd/parse.y" ||
		    atf_fail "the grammar does not build"
		build >out 2>&1 9>&- || {
			cat out
			atf_fail "$t does not build"
		}
	} 9>"$SBX_SCRATCH/fuzz/lock"
	# The words of a language are what no mutation finds by itself.
	case $t in
	f_conf)
		sed -n 's/^	{ "\([a-z-]*\)",.*/"\1"/p' \
		    "$SBX_TOP/sandboxd/parse.y"
		;;
	f_session)
		sed -n 's/^	{ "\([a-z_]*\)",.*/"\1"/p' \
		    "$SBX_TOP/sandboxctl/session_table.c"
		sed -n 's/^	MSG_F([a-z_]*, \([a-z_0-9]*\),.*/"\1"/p' \
		    "$SBX_TOP/lib/proto.c"
		printf '"{\\"id\\":1,\\""\n"base64"\n"request"\n'
		;;
	*)
		sed -n 's/^	MSG_F([a-z_]*, \([a-z_0-9]*\),.*/"\1"/p' \
		    "$SBX_TOP/lib/proto.c"
		;;
	esac | sort -u >dict
	mkdir -p corpus "seeds/$t"
	"$(atf_get_srcdir)/h_seeds" seeds || atf_fail "the seeds are not made"
	[ ! -d "$(atf_get_srcdir)/seeds/$t" ] ||
	    cp "$(atf_get_srcdir)/seeds/$t"/* "seeds/$t/"
	seeds=$(find "seeds/$t" -type f | wc -l)
	# The bounds of names in an archive lie beyond what others need.
	max=4096
	[ "$t" != f_tar ] || max=16384
	# The check goes the same way each time, as far as it comes.
	ASAN_OPTIONS=detect_leaks=1 ./"$t" -dict=dict -max_len=$max \
	    -seed=1 -max_total_time="${FUZZ_SECONDS:-10}" \
	    -timeout=600 \
	    -rss_limit_mb=2048 -print_final_stats=1 -print_funcs=0 \
	    corpus "seeds/$t" \
	    >out 2>&1 || {
		tail -60 out
		atf_fail "$t: see above"
	}
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' out)
	echo "$t: $runs inputs, $seeds seeds," \
	    "$(sed -n 's/.*\(cov: [0-9]* ft: [0-9]*\).*/\1/p' out | tail -1)"
	# One that does not run at all cannot fail either.
	[ "${runs:-0}" -ge "$seeds" ] || atf_fail "only ${runs:-0} inputs"
}

atf_init_test_cases()
{
	for t in $TARGETS; do
		atf_add_test_case "$t"
	done
}
