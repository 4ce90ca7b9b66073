# The machinery of the tests: what it counts, what it says, what it leaves.

# A small tree with an area of samples, at a long path that only root may pass.
tree()
{
	umask 077
	export ASAN=no POOR=no SOAK=no
	unset SBX_SANDBOX SANDBOXD_LACK
	long=$(printf 'long-name-%.0s' 1 2 3 4 5 6 7 8 9 10 11 12)
	T=$PWD/private/$long/tree
	mkdir -p "$T/regress/sample" "$T/lib" "$T/tools" "$T/sandboxd"
	chmod 700 private
	cp "$SBX_TOP/config.mk" "$T/"
	cp "$SBX_TOP/regress/run.sh" "$SBX_TOP/regress/regress.mk" "$T/regress/"
	cp -R "$SBX_TOP/regress/lib" "$SBX_TOP/regress/engine" "$T/regress/"
	rm -f "$T"/regress/lib/t_*
	cp "$SBX_TOP"/lib/*.h "$T/lib/"
	ar rcs "$T/lib/libsbx.a"
	ar rcs "$T/sandboxd/confine.a"
	ar rcs "$T/sandboxd/daemon.a"
	cat >"$T/regress/sample/t_c.c" <<-EOT
		#include <atf-c.h>
		ATF_TC_WITHOUT_HEAD(good);
		ATF_TC_BODY(good, tc) { (void)tc; ATF_CHECK(1); }
		ATF_TP_ADD_TCS(tp)
		{
			ATF_TP_ADD_TC(tp, good);
			return (atf_no_error());
		}
	EOT
	cat >"$T/regress/sample/t_sh.sh" <<-EOT
		. "\$(atf_get_srcdir)/../lib/sandboxd.subr"
		atf_test_case good
		good_body()
		{
			atf_check -o match:Server docker -H "unix://\$SBX_ENGINE" version
			atf_check setpriv --reuid 65534 --regid 65534 \
			    --clear-groups test -x "\$(atf_get_srcdir)/t_c"
		}
		atf_test_case bad
		bad_body() { echo this-is-why; atf_fail "it was to be"; }
		atf_test_case skip
		skip_body() { atf_skip "no such thing here"; }
		atf_test_case stray
		stray_body() { docker -H "unix://\$SBX_RECORDED" images || atf_fail "no answer"; }
		atf_test_case killed cleanup
		killed_body()
		{
			daemon_use main
			echo "store[12] died: killed by SIGSYS" >"\$LOG"
			log_cut
		}
		killed_cleanup() { daemon_cleanup; }
		atf_test_case hang
		hang_body() { mkfifo f; echo \$SBX_SCRATCH >$PWD/hangs; cat f; }
		atf_init_test_cases()
		{
			atf_add_test_case good
			atf_add_test_case bad
			atf_add_test_case skip
			[ "\${HANG:-no}" = no ] || atf_add_test_case hang
			[ "\${STRAY:-no}" = no ] || atf_add_test_case stray
			[ "\${KILLED:-no}" = no ] || atf_add_test_case killed
		}
	EOT
}

# Nothing of the run with this folder is left.
run_is_gone()
{
	[ ! -e "$1" ] || atf_fail "left: $1"
	atf_check -s exit:1 -o empty grep -F "$1" /proc/self/mountinfo
	for p in /proc/[0-9]*; do
		if tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep -qF "$1/"; then
			atf_fail "left: $(tr '\0' ' ' <"$p/cmdline")"
		fi
	done
}

atf_test_case counts
counts_head()
{
	atf_set descr "the last line and the exit status tell what happened"
}
counts_body()
{
	tree
	atf_check -s exit:1 -o save:out -e save:err \
	    env -u SBX_SCRATCH CI=true JOBS=2 sh "$T/regress/run.sh"
	cat out err
	atf_check_equal "$(tail -n 1 out)" "2 passed, 1 failed, 1 skipped"
	atf_check -o ignore grep this-is-why out
	atf_check -o ignore grep "it was to be" out
	atf_check -o ignore grep "no such thing here" out
	run_is_gone "$(sed -n 's/^Results saved to \(.*\)\/results.db$/\1/p' out)"

	atf_check -s exit:0 -o save:out -e ignore \
	    sh "$T/regress/run.sh" sample/t_c sample/t_sh:good
	atf_check_equal "$(tail -n 1 out)" "2 passed, 0 failed, 0 skipped"
	atf_check -s exit:1 -o save:out -e ignore \
	    sh "$T/regress/run.sh" sample/t_sh:skip
	atf_check_equal "$(tail -n 1 out)" "0 passed, 0 failed, 1 skipped"
}

atf_test_case nothing
nothing_head()
{
	atf_set descr "a run of no test is no success"
}
nothing_body()
{
	tree
	atf_check -s not-exit:0 -o ignore -e ignore \
	    sh "$T/regress/run.sh" sample/t_sh:absent
	rm "$T"/regress/sample/t_*
	atf_check -s exit:1 -o empty -e match:"no tests" sh "$T/regress/run.sh"
}

atf_test_case asked
asked_head()
{
	atf_set descr "a request that no daemon may make fails the run"
}
asked_body()
{
	tree
	atf_check -s exit:1 -o save:out -e ignore \
	    env STRAY=yes sh "$T/regress/run.sh" sample/t_sh:stray
	cat out
	atf_check_equal "$(tail -n 1 out)" "1 passed, 1 failed, 0 skipped"
	atf_check -o ignore grep "what the Engine was asked" out
}

atf_test_case forbidden
forbidden_head()
{
	atf_set descr "(aP3) a process that its filter has ended fails the run"
}
forbidden_body()
{
	tree
	atf_check -s exit:1 -o save:out -e ignore \
	    env KILLED=yes sh "$T/regress/run.sh" sample/t_sh:killed
	atf_check_equal "$(tail -n 1 out)" "1 passed, 1 failed, 0 skipped"
	atf_check -o match:"^t_sh:killed: store.12. died" cat out
}

atf_test_case interrupted
interrupted_head()
{
	atf_set descr "a run that is interrupted takes all with it"
}
interrupted_body()
{
	tree
	HANG=yes sh "$T/regress/run.sh" sample/t_sh >out 2>&1 &
	run=$!
	n=$((1200 * SLOW))
	until [ -s hangs ]; do
		n=$((n - 1))
		[ $n -gt 0 ] || { cat out; atf_fail "it does not come so far"; }
		sleep 0.05
	done
	kill -TERM $run
	status=0
	wait $run || status=$?
	cat out
	atf_check_equal "$status" 143
	run_is_gone "$(cat hangs)"
}

atf_test_case engine cleanup
engine_head()
{
	atf_set descr "an Engine can be killed, started again and removed"
}
engine_body()
{
	sh=$SBX_TOP/regress/engine/engine.sh
	d=$(mktemp -d "$SBX_SCRATCH/x.XXXXXX")
	echo "$d" >dir
	chmod 755 "$d"
	atf_check sh "$sh" start "$d"
	atf_check -s exit:1 -e match:"already running" sh "$sh" start "$d"
	atf_check sh "$sh" kill "$d"
	atf_check -s exit:1 -o ignore -e ignore \
	    docker -H "unix://$d/docker.sock" version
	atf_check sh "$sh" start "$d" --live-restore
	atf_check -o inline:"true\n" docker -H "unix://$d/docker.sock" \
	    info -f '{{.LiveRestoreEnabled}}'
	atf_check sh "$sh" remove "$d"
	run_is_gone "$d"
}
engine_cleanup()
{
	[ ! -d "$(cat dir)" ] || sh "$SBX_TOP/regress/engine/engine.sh" \
	    remove "$(cat dir)"
}

atf_test_case users
users_head()
{
	atf_set descr "the users are made once, whoever asks, and however many"
}
users_body()
{
	pids=
	for i in 1 2 3 4 5 6; do
		sh "$SBX_TOP/tools/users.sh" &
		pids="$pids $!"
	done
	for p in $pids; do
		wait "$p" || atf_fail "users.sh failed"
	done
	for u in _sandboxd _sbxstore _sbxbroker _sbxrun; do
		atf_check -o match:"^$u:" getent passwd $u
		atf_check_equal "$(grep -c "^$u:" /etc/passwd)" 1
		atf_check_equal "$(id -gn $u)" $u
	done
	atf_check -o match:"^sandbox:" getent group sandbox
	atf_check_equal "$(for u in _sandboxd _sbxstore _sbxbroker _sbxrun; do
		id -u $u; done | sort -u | wc -l)" 4
}

atf_test_case makes
makes_head()
{
	atf_set descr "GNU make and bmake would run the same commands"
}
makes_body()
{
	for m in make bmake; do
		mkdir -p $m
		(cd "$SBX_TOP" && cp -R Makefile config.mk tools lib sandboxd \
		    sandboxctl "$OLDPWD/$m/")
		find $m -name '*.[oad]' -exec rm -f {} +
		rm -f $m/sandboxd/sandboxd $m/sandboxctl/sandboxctl \
		    $m/sandboxd/guest/sandbox-guest
		for d in lib sandboxd/guest sandboxd sandboxctl; do
			(cd $m/$d && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS \
			    $m -n all)
		done | grep '^gcc\|^musl-gcc\|^ar' | tr -s ' ' |
		    sed 's/ *$//' | sort >$m.out
		[ "$(wc -l <$m.out)" -gt 20 ] || atf_fail "$m: no commands"
	done
	atf_check diff make.out bmake.out
}

atf_test_case twice
twice_head()
{
	atf_set descr "no script of ours defines a function twice"
}
twice_body()
{
	atf_check sh "$SBX_TOP/tools/twice.sh"
	printf 'a()\n{\n}\nb()\n{\n}\na()\n{\n}\n' >own.sh
	printf 'daemon_start()\n{\n}\n' >library.sh
	atf_check -s exit:1 -o match:'own.sh:7: a is in .*own.sh already' \
	    sh "$SBX_TOP/tools/twice.sh" "$PWD/own.sh"
	atf_check -s exit:1 -o match:'daemon_start is in .*sandboxd.subr' \
	    sh "$SBX_TOP/tools/twice.sh" "$PWD/library.sh"
}

atf_init_test_cases()
{
	atf_add_test_case counts
	atf_add_test_case nothing
	atf_add_test_case asked
	atf_add_test_case forbidden
	atf_add_test_case interrupted
	atf_add_test_case engine
	atf_add_test_case users
	atf_add_test_case makes
	atf_add_test_case twice
}
