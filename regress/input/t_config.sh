# Configuration files: what is no configuration is refused with its line, at
# the start and at a reload, and the one in force stays.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/table.subr"

# conf <<'END': each line is "text of a file | what is said of it".  In the
# first column \n is the end of a line, and $PWD is this folder.
conf()
{
	local bad err n s text want

	bad=
	n=0
	while IFS='|' read -r _ text want; do
		case $want in '' | *'what is said'*) continue ;; esac
		want=${want# }
		text=${text# }
		printf "$(echo "$text" | sed 's/ *$//')\n" >row.conf
		s=0
		err=$("$SBX_BIN/sandboxd" -n -f row.conf 2>&1) || s=$?
		n=$((n + 1))
		case $err in
		*"$want"*) ;;
		*) s="$s and other words" ;;
		esac
		if [ "$s" != 1 ]; then
			bad=x
			echo "$text: $s, not 1 and $want: $err" >&2
		fi
	done
	[ -z "$bad" ] || atf_fail "not all was refused as it should"
	[ "$n" -gt 0 ] || atf_fail "an empty table"
}

atf_test_case words
words_head()
{
	atf_set descr 'words, braces, values, units, ranges, doubles'
}
words_body()
{
	conf <<'END'
| text                                  | what is said of it
| sockt "/a"                            | row.conf:1: syntax error at `/a'
| state                                 | row.conf:1: syntax error at the end of the line
| state "/a" "/b"                       | row.conf:1: syntax error at `/b'
| state "/a"\nstate "/b"                | row.conf:2: already set at row.conf:1
| state ""                              | row.conf:1: invalid state: : not an absolute path
| state "a"                             | row.conf:1: invalid state: a: not an absolute path
| state "/"                             | row.conf:1: invalid state: /: is the root directory
| state "/a/../b"                       | row.conf:1: invalid state: /a/../b: contains an empty or dotted name
| state "/a//b"                         | row.conf:1: invalid state: /a//b: contains an empty or dotted name
| state "/a                             | row.conf:1: string without an end
| state "/a\nb"                         | row.conf:1: string without an end
| socket "/"                            | row.conf:1: invalid socket: /: is the root directory
| state $none                           | row.conf:1: macro `none' is not defined
| a b = "1"                             | row.conf:1: syntax error
| engine "http://x"                     | row.conf:1: invalid engine: http://x: not unix:///path
| engine "unix://x"                     | row.conf:1: invalid engine:
| engine "unix:///x" group "no such"    | row.conf:1: invalid group: no such: no such group
| socket "/a" group 5x                  | row.conf:1:
| uid 5 to 10                           | row.conf:1: invalid uid: 5: too small
| uid 30000 to 20000                    | row.conf:1:
| uid -1 to 20000                       | row.conf:1:
| uid 20000                             | row.conf:1: syntax error
| uid 20000 to 4294967296               | row.conf:1: invalid uid: 4294967296: too large
| restart 5                             | row.conf:1: syntax error
| restart 0 per 60s                     | row.conf:1:
| restart 5 per 0s                      | row.conf:1:
| restart 5 per -1s                     | row.conf:1:
| defaults memory 1G                    | row.conf:1: syntax error
| defaults { memory 1G                  | syntax error at the end of the file
| defaults { memory 1G } }              | row.conf:1: syntax error at `}'
| defaults { { memory 1G } }            | row.conf:1: syntax error at `{'
| defaults { memory 1G\nmemory 2G }     | row.conf:2: already set at row.conf:1
| defaults { memory 1G }\ndefaults { memory 2G } | row.conf:2: already set at row.conf:1
| defaults { memory 0 }                 | row.conf:1: invalid memory: 0: too small
| defaults { memory 5M }                | row.conf:1: invalid memory: 5M: too small
| defaults { memory 1GB }               | row.conf:1: invalid memory: 1GB: unknown unit
| defaults { memory 1e9 }               | row.conf:1: invalid memory: 1e9:
| defaults { memory 0x10 }              | row.conf:1: invalid memory: 0x10:
| defaults { memory -1 }                | row.conf:1: invalid memory: -1:
| defaults { memory 99999999999999999999 } | row.conf:1: invalid memory: 99999999999999999999:
| defaults { memory 16777216T }         | row.conf:1: invalid memory: 16777216T: too large
| defaults { memory 9G }                | memory: default above the limit
| defaults { cpus 0 }                   | row.conf:1: invalid cpus: 0: too small
| defaults { cpus 1.2345 }              | row.conf:1: invalid cpus: 1.2345: more than three decimal places
| defaults { cpus nan }                 | row.conf:1: invalid cpus: nan:
| defaults { pids 3 }                   | row.conf:1: invalid pids: 3: too small
| defaults { pids 1.5 }                 | row.conf:1: invalid pids: 1.5:
| defaults { readonly 1 }               | row.conf:1: invalid readonly: 1: neither yes nor no
| defaults { image "A b" }              | row.conf:1: invalid image: A b: not [host/]name[:tag]
| defaults { image "" }                 | row.conf:1: invalid image: : not [host/]name[:tag]
| defaults { network host }             | row.conf:1: invalid network: host: not supported by this version
| defaults { tmp 0 }                    | row.conf:1: invalid tmp: 0: too small
| defaults { privileged yes }           | row.conf:1: syntax error at `privileged'
| defaults { seccomp none }             | row.conf:1: syntax error at `seccomp'
| allow nonsense                        | row.conf:1: syntax error at `nonsense'
| allow exec bob                        | row.conf:1: syntax error at `bob'
| allow user                            | row.conf:1: syntax error at the end of the line
| allow user "no such"                  | row.conf:1: invalid user: no such: no such user
| deny exec group "no such" on own      | row.conf:1: invalid group: no such: no such group
| allow user -1                         | row.conf:1: invalid user: -1: no such user
| allow user 4294967295                 | row.conf:1: invalid user: 4294967295: no such user
| allow any on                          | row.conf:1: syntax error at the end of the line
| allow any on some                     | row.conf:1: syntax error at `some'
| allow any own                         | row.conf:1: syntax error at `own'
| allow user root user root             | row.conf:1: syntax error at `user'
| allow any exec                        | row.conf:1: syntax error at `exec'
| allow exec, stop any                  | row.conf:1: syntax error at `,'
| deny user root                        | row.conf:1: deny: root may everything
| deny exec user 0 on all               | row.conf:1: deny: root may everything
| limits { sandboxes 0 }                | row.conf:1: invalid sandboxes: 0: too small
| limits { execs 99999999999 }          | row.conf:1: invalid execs: 99999999999: too large
| limits { clients 5, 10 per user }     | clients: more per user than of all
| limits { log 1M per exec, 2M per exec } | row.conf:1: log: exec given twice
| limits { log 1G per sandbox, 1M total } | log:
| policy { user bob }                   | row.conf:1: invalid user: bob: not root
| policy { network allow all }          | row.conf:1:
| policy { mount allow "/" rw }         | row.conf:1: mount: not supported by this version
| policy { image allow }                | row.conf:1: syntax error
| policy { image "a" }                  | row.conf:1: syntax error
| policy { unenforced disk }            | row.conf:1: syntax error at `disk'
| timeouts { create 0s }                | row.conf:1: invalid create: 0s: too small
| timeouts { create 5y }                | row.conf:1: invalid create: 5y: unknown unit
| timeouts { create 1h30m }             | row.conf:1: invalid create: 1h30m:
| retain { history -1d }                | row.conf:1: invalid history: -1d:
| allow user "no such user" all         | row.conf:1: invalid user: no such user: no such user
| allow user 4294967295 all             | row.conf:1: invalid user: 4294967295:
| allow group "no such" all             | row.conf:1: invalid group: no such: no such group
| include                               | row.conf:1: syntax error
| include "x"                           | row.conf:1: invalid include: x: not an absolute path
| include "/nonexistent/x"              | row.conf:1: invalid include: /nonexistent/x: No such file or directory
| include "/etc"                        | row.conf:1: invalid include: /etc:
| include "/dev/zero"                   | row.conf:1: invalid include: /dev/zero:
| state "/a\000b"                       | NUL
| \000                                  | NUL
| \377\376state "/a"                    | row.conf:1:
END
}

atf_test_case files
files_head()
{
	atf_set descr 'files: loops, depth, size, owners, modes, kinds, links'
}
files_body()
{
	n=$SBX_BIN/sandboxd
	echo "include \"$PWD/two\"" >one
	echo "include \"$PWD/one\"" >two
	atf_check -s exit:1 -e match:"too deep" "$n" -n -f one
	# Eight deep is deep enough, and no deeper.
	: >l8
	for i in 7 6 5 4 3 2 1 0; do
		echo "include \"$PWD/l$((i + 1))\"" >l$i
	done
	atf_check -e ignore "$n" -n -f l1
	echo "include \"$PWD/l0\"" >l
	atf_check -s exit:1 -e match:"too deep" "$n" -n -f l
	# A word of a megabyte, a thousand errors, and a thousand braces.
	{ printf 'state "/'; repeat 1048576 a; echo '"'; } >big
	atf_check -s exit:1 -e match:"big: too large" "$n" -n -f big
	{ printf 'state "/'; repeat 5000 a; echo '"'; } >big
	atf_check -s exit:1 -e match:"big:1: string too long" \
	    "$n" -n -f big
	yes nonsense | head -n 1000 >many
	atf_check -s exit:1 -e match:"many:1: " "$n" -n -f many
	yes '{' | head -n 1000 >braces
	atf_check -s exit:1 -e match:"braces:1: " "$n" -n -f braces
	for mode in 620 602 666 777; do
		: >mode
		chmod $mode mode
		atf_check -s exit:1 -e match:"mode: mode 0$mode: writable" \
		    "$n" -n -f mode
		echo "include \"$PWD/mode\"" >one
		atf_check -s exit:1 -e match:"one:1: .*mode: mode 0$mode" \
		    "$n" -n -f one
	done
	: >owner
	chown 54321 owner
	atf_check -s exit:1 -e match:"owned by uid 54321" "$n" -n -f owner
	mkfifo fifo
	atf_check -s exit:1 -e match:"regular file" timeout 60 "$n" -n -f fifo
	atf_check -s exit:1 -e match:"regular file" "$n" -n -f /dev/null
	atf_check -s exit:1 -e match:"regular file" "$n" -n -f /
	atf_check -s exit:1 -e match:"No such file" "$n" -n -f ''
	ln -s loop loop
	atf_check -s exit:1 -e match:"loop: " "$n" -n -f loop
	atf_check -s exit:1 -e match:"No such file" "$n" -n -f nosuch
	for args in -x -f "-n extra" "-n -f a -f b"; do
		# shellcheck disable=SC2086
		atf_check -s exit:1 -e not-empty "$n" $args
	done
}

atf_test_case reload cleanup
reload_head()
{
	atf_set descr 'a reload takes all of a file, or nothing of it'
	atf_set timeout 300
}
reload_body()
{
	daemon_start "defaults { memory 64M }
limits { memory 1G }"
	cp "$CONF" good.conf
	for bad in 'sockt "/a"' 'limits { memory 1X }' 'defaults {' \
	    "state \"$D/other\"" 'include "/nonexistent"'; do
		cp good.conf "$CONF"
		sed -i 's/memory 1G/memory 2G/' "$CONF"
		case $bad in
		state*) sed -i "s,^state .*,$bad," "$CONF" ;;
		*) echo "$bad" >>"$CONF" ;;
		esac
		atf_check -s exit:64 -e match:"sandboxd.conf" "$CTL" reload
		atf_check -s exit:75 -e match:"the limit is 1073741824" \
		    "$CTL" create -m 1025M
	done
	chmod 666 "$CONF"
	atf_check -s exit:64 -e match:"mode 0666" "$CTL" reload
	rm "$CONF"
	atf_check -s exit:64 -e match:"No such file" "$CTL" reload
	# By a signal too, and by a thousand of them.
	p=$(daemon_pid)
	i=0
	while [ $i -lt 1000 ]; do
		kill -HUP "$p" || atf_fail "the daemon is gone"
		i=$((i + 1))
	done
	atf_check -o ignore "$CTL" ping
	cp good.conf "$CONF"
	chmod 644 "$CONF"
	atf_check "$CTL" reload
	kill -TERM "$p"
	kill -HUP "$p" 2>/dev/null || :
	await "_gone $p"
}
reload_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case words
	atf_add_test_case files
	atf_add_test_case reload
}
