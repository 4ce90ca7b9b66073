# Configuration files: what is no configuration is refused with its line, at
# the start and at a reload, and the one in force stays.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/table.subr"

# conf <<'END': each line is "text of a file | what is said of it".  In the
# first column \n is the end of a line, and before it stands which row of the
# list of bad input it is.
conf()
{
	local bad err n row s text want

	bad=
	n=0
	while IFS='|' read -r row text want; do
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
			echo "$row$text: $s, not 1 and $want: $err" >&2
		fi
	done
	[ -z "$bad" ] || atf_fail "not all was refused as it should"
	[ "$n" -gt 0 ] || atf_fail "an empty table"
}

atf_test_case words
words_head()
{
	atf_set descr '(b66) words, braces, values, units, ranges, doubles'
}
words_body()
{
	conf <<'END'
| text                                  | what is said of it
(b66) | sockt "/a"                            | row.conf:1: syntax error at `/a'
(b66) | state                                 | row.conf:1: syntax error at the end of the line
(b67) | state "/a" "/b"                       | row.conf:1: syntax error at `/b'
(b67) | state "/a"\nstate "/b"                | row.conf:2: already set at row.conf:1
(b67) | state ""                              | row.conf:1: invalid state: : not an absolute path
(b67) | state "a"                             | row.conf:1: invalid state: a: not an absolute path
(b67) | state "/"                             | row.conf:1: invalid state: /: is the root directory
(b67) | state "/a/../b"                       | row.conf:1: invalid state: /a/../b: contains an empty or dotted name
(b67) | state "/a//b"                         | row.conf:1: invalid state: /a//b: contains an empty or dotted name
(b67) | state "/a                             | row.conf:1: string without an end
(b67) | state "/a\nb"                         | row.conf:1: string without an end
(b67) | socket "/"                            | row.conf:1: invalid socket: /: is the root directory
(b66) | state $none                           | row.conf:1: macro `none' is not defined
(b66) | a b = "1"                             | row.conf:1: syntax error
(b66) | engine "http://x"                     | row.conf:1: invalid engine: http://x: not unix:///path
(b66) | engine "unix://x"                     | row.conf:1: invalid engine:
(b66) | engine "unix:///x" group "no such"    | row.conf:1: invalid group: no such: no such group
(b67) | socket "/a" group 5x                  | row.conf:1:
(b66) | uid 5 to 10                           | row.conf:1: invalid uid: 5: too small
(b66) | uid 30000 to 20000                    | row.conf:1:
(b66) | uid -1 to 20000                       | row.conf:1:
(b66) | uid 20000                             | row.conf:1: syntax error
(b66) | uid 20000 to 4294967296               | row.conf:1: invalid uid: 4294967296: too large
(b66) | restart 5                             | row.conf:1: syntax error
(b66) | restart 0 per 60s                     | row.conf:1:
(b66) | restart 5 per 0s                      | row.conf:1:
(b66) | restart 5 per -1s                     | row.conf:1:
(b66) | sandbox                               | row.conf:1: syntax error
(b68) | sandbox off                           | row.conf:1: invalid sandbox: off: neither strict nor best-effort
(b66) | defaults memory 1G                    | row.conf:1: syntax error
(b66) | defaults { memory 1G                  | syntax error at the end of the file
(b66) | defaults { memory 1G } }              | row.conf:1: syntax error at `}'
(b66) | defaults { { memory 1G } }            | row.conf:1: syntax error at `{'
(b66) | defaults { memory 1G\nmemory 2G }     | row.conf:2: already set at row.conf:1
(b66) | defaults { memory 1G }\ndefaults { memory 2G } | row.conf:2: already set at row.conf:1
(b66) | defaults { memory 0 }                 | row.conf:1: invalid memory: 0: too small
(b66) | defaults { memory 5M }                | row.conf:1: invalid memory: 5M: too small
(b66) | defaults { memory 1GB }               | row.conf:1: invalid memory: 1GB: unknown unit
(b66) | defaults { memory 1e9 }               | row.conf:1: invalid memory: 1e9:
(b66) | defaults { memory 0x10 }              | row.conf:1: invalid memory: 0x10:
(b66) | defaults { memory -1 }                | row.conf:1: invalid memory: -1:
(b66) | defaults { memory 99999999999999999999 } | row.conf:1: invalid memory: 99999999999999999999:
(b66) | defaults { memory 16777216T }         | row.conf:1: invalid memory: 16777216T: too large
(b66) | defaults { memory 9G }                | memory: default above the limit
(b66) | defaults { cpus 0 }                   | row.conf:1: invalid cpus: 0: too small
(b66) | defaults { cpus 1.2345 }              | row.conf:1: invalid cpus: 1.2345: more than three decimal places
(b66) | defaults { cpus nan }                 | row.conf:1: invalid cpus: nan:
(b66) | defaults { pids 3 }                   | row.conf:1: invalid pids: 3: too small
(b66) | defaults { pids 1.5 }                 | row.conf:1: invalid pids: 1.5:
(b66) | defaults { readonly 1 }               | row.conf:1: invalid readonly: 1: neither yes nor no
(b66) | defaults { image "A b" }              | row.conf:1: invalid image: A b: not [host/]name[:tag]
(b66) | defaults { image "" }                 | row.conf:1: invalid image: : not [host/]name[:tag]
(b66) | defaults { network host }             | row.conf:1: invalid network: host: not supported by this version
(b28) | defaults { tmp 0 }                    | row.conf:1: invalid tmp: 0: too small
(b68) | defaults { privileged yes }           | row.conf:1: syntax error at `privileged'
(b68) | defaults { seccomp none }             | row.conf:1: syntax error at `seccomp'
(b66) | limits { memory 1G total, 2G total }  | row.conf:1: total given twice
(b66) | limits { memory 1G per box }          | row.conf:1: per box: not per sandbox
(b66) | limits { memory 1G per sandbox, 1M total } | row.conf:1: invalid memory: 1M: too small
(b66) | limits { disk 1M }                    | row.conf:1: invalid disk: 1M: too small: the least is 16M
(b66) | limits { disk 17T }                   | row.conf:1: invalid disk: 17T: too large: the most is 16T
(b66) | limits { disk 1G per user }           | row.conf:1: syntax error at `user'
(b66) | defaults { disk 1G }                  | row.conf:1: disk: what is written outside of the workspace has no bound: set readonly yes
(b66) | defaults { disk 1G readonly no }      | row.conf:1: disk: what is written outside of the workspace has no bound: set readonly yes
(b66) | limits { creates 5 }                  | row.conf:1: syntax error
(b66) | limits { creates 0 per 1s }           | row.conf:1: invalid creates: 0: too small
(b66) | limits { creates 1 per 0s }           | row.conf:1: invalid creates: 0s: too small
(b66) | limits { subscriptions -1 }           | row.conf:1: invalid subscriptions: -1:
(b66) | limits any { memory 1G }              | row.conf:1: syntax error at `}'
(b66) | limits any { disk 1G }                | row.conf:1: syntax error at `}'
(b66) | limits any { log 1G }                 | row.conf:1: syntax error at `}'
(b66) | limits any { log 1G per exec }        | row.conf:1: syntax error at `per'
(b66) | limits any { log 1K total }           | row.conf:1: invalid log: 1K: too small: the least is 64K
(b66) | limits any { log 1G total log 2G total } | row.conf:1: log given twice
(b66) | limits group "daemon" { log 1G total } | row.conf:1: log: of a user, or of any, not of a group: set it for each of its users
(b66) | limits any { sandboxes 0 }            | row.conf:1: invalid sandboxes: 0: too small
(b66) | limits any { sandboxes 5 sandboxes 6 } | row.conf:1: sandboxes given twice
(b66) | limits any { cpus 0 total }           | row.conf:1: invalid cpus: 0: too small
(b66) | limits user "no such" { sandboxes 5 } | row.conf:1: invalid user: no such: no such user
(b66) | limits user { sandboxes 5 }           | row.conf:1: syntax error at `{'
(b66) | limits bob { sandboxes 5 }            | row.conf:1: syntax error at `bob'
(b66) | allow nonsense                        | row.conf:1: syntax error at `nonsense'
(b66) | allow exec bob                        | row.conf:1: syntax error at `bob'
(b66) | allow user                            | row.conf:1: syntax error at the end of the line
(b66) | allow user "no such"                  | row.conf:1: invalid user: no such: no such user
(b66) | deny exec group "no such" on own      | row.conf:1: invalid group: no such: no such group
(b66) | allow user -1                         | row.conf:1: invalid user: -1: no such user
(b66) | allow user 4294967295                 | row.conf:1: invalid user: 4294967295: no such user
(b66) | allow any on                          | row.conf:1: syntax error at the end of the line
(b66) | allow any on some                     | row.conf:1: syntax error at `some'
(b66) | allow any own                         | row.conf:1: syntax error at `own'
(b66) | allow user root user root             | row.conf:1: syntax error at `user'
(b66) | allow any exec                        | row.conf:1: syntax error at `exec'
(b66) | allow exec, stop any                  | row.conf:1: syntax error at `,'
(b66) | deny user root                        | row.conf:1: deny: root may everything
(b66) | deny exec user 0 on all               | row.conf:1: deny: root may everything
(b66) | limits { sandboxes 0 }                | row.conf:1: invalid sandboxes: 0: too small
(b66) | limits { execs 99999999999 }          | row.conf:1: invalid execs: 99999999999: too large
(b66) | limits { clients 5, 10 per user }     | clients: more per user than of all
(b66) | limits { log 1M per exec, 2M per exec } | row.conf:1: log: exec given twice
(b66) | limits { log 1G per sandbox, 1M total } | log:
(b66) | policy { user bob }                   | row.conf:1: invalid user: bob: not root
(b66) | policy { network allow all }          | row.conf:1:
(b66) | policy { mount allow "/" writable }   | row.conf:1: invalid mount: writable: not rw or sockets
(b66) | policy { mount allow "srv" }          | row.conf:1: invalid mount: srv: not an absolute, plain path
(b66) | policy { mount allow "/srv/" }        | row.conf:1: invalid mount: /srv/: not an absolute, plain path
(b66) | policy { mount allow "/srv/../etc" }  | row.conf:1: invalid mount: /srv/../etc: not an absolute, plain path
(b66) | policy { mount allow }                | row.conf:1: syntax error at `}'
(b66) | policy { mount deny "/srv" rw }       | row.conf:1: syntax error at `rw'
(b66) | policy { image allow }                | row.conf:1: syntax error
(b66) | policy { image "a" }                  | row.conf:1: syntax error
(b66) | policy { unenforced disk }            | row.conf:1: syntax error at `disk'
(b66) | timeouts { create 0s }                | row.conf:1: invalid create: 0s: too small
(b66) | timeouts { create 5y }                | row.conf:1: invalid create: 5y: unknown unit
(b66) | timeouts { create 1h30m }             | row.conf:1: invalid create: 1h30m:
(b66) | retain { history -1d }                | row.conf:1: invalid history: -1d:
(b66) | allow user "no such user" all         | row.conf:1: invalid user: no such user: no such user
(b66) | allow user 4294967295 all             | row.conf:1: invalid user: 4294967295:
(b66) | allow group "no such" all             | row.conf:1: invalid group: no such: no such group
(b66) | include                               | row.conf:1: syntax error
(b66) | include "x"                           | row.conf:1: invalid include: x: not an absolute path
(b66) | include "/nonexistent/x"              | row.conf:1: invalid include: /nonexistent/x: No such file or directory
(b66) | include "/etc"                        | row.conf:1: invalid include: /etc:
(b66) | include "/dev/zero"                   | row.conf:1: invalid include: /dev/zero:
(b66) | limits { sandboxes +5 }               | row.conf:1: invalid sandboxes: +5: not a number
(b66) | limits { sandboxes " 5" }             | row.conf:1: invalid sandboxes:  5: not a number
(b66) | limits { sandboxes -0 }               | row.conf:1: invalid sandboxes: -0: not a number
(b66) | limits { sandboxes 0x10 }             | row.conf:1: invalid sandboxes: 0x10: not a number
(b66) | limits { sandboxes 1e3 }              | row.conf:1: invalid sandboxes: 1e3: not a number
(b66) | limits { sandboxes "" }               | row.conf:1: invalid sandboxes: : not a number
(b66) | limits { sandboxes 18446744073709551617 } | row.conf:1: invalid sandboxes: 18446744073709551617: too large: the most is 100000
(b66) | limits { clients 0 }                  | row.conf:1: invalid clients: 0: too small: the least is 1
(b66) | limits { clients 5, +3 per user }     | row.conf:1: invalid clients: +3: not a number
(b66) | limits { log 1 per exec }             | row.conf:1: invalid log: 1: too small: the least is 64K
(b66) | limits { log 64K, 64K }               | row.conf:1: log: exec given twice
(b66) | defaults { memory " 1G" }             | row.conf:1: invalid memory:  1G: not a number
(b66) | defaults { memory +1G }               | row.conf:1: invalid memory: +1G: not a number
(b66) | defaults { memory "1G " }             | row.conf:1: invalid memory: 1G : unknown unit
(b66) | defaults { memory 1.5G }              | row.conf:1: invalid memory: 1.5G: unknown unit
(b66) | defaults { memory 6291455 }           | row.conf:1: invalid memory: 6291455: too small: the least is 6M
(b66) | defaults { memory 1025T }             | row.conf:1: invalid memory: 1025T: too large: the most is 1024T
(b66) | defaults { cpus +1 }                  | row.conf:1: invalid cpus: +1: not a number
(b66) | defaults { cpus .5 }                  | row.conf:1: invalid cpus: .5: not a number
(b66) | defaults { cpus 0.009 }               | row.conf:1: invalid cpus: 0.009: too small: the least is 0.010
(b66) | defaults { cpus 1024.001 }            | row.conf:1: invalid cpus: 1024.001: too large: the most is 1024
(b66) | defaults { cpus 99999999999999999999 } | row.conf:1: invalid cpus: 99999999999999999999: too large: the most is 1024
(b28) | defaults { tmp 3G }                   | row.conf:1: tmp: more than memory
(b28) | defaults { memory 1G\ntmp 1025M }     | row.conf:2: tmp: more than memory
(b66) | defaults { image aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/A } | aaa...: not [host/]name[:tag]
(b66) | timeouts { create +5 }                | row.conf:1: invalid create: +5: not a number
(b66) | timeouts { create 25h }               | row.conf:1: invalid create: 25h: too large: the most is 1d
(b66) | timeouts { create 18446744073709551617 } | row.conf:1: invalid create: 18446744073709551617: too large: the most is 1d
(b66) | timeouts { create 1.5s }              | row.conf:1: invalid create: 1.5s: unknown unit
(b66) | uid +10000 to 59999                   | row.conf:1: invalid uid: +10000: not a number
(b66) | uid 10000 to 2147483648               | row.conf:1: invalid uid: 2147483648: too large: the most is 2147483647
(b66) | restart +1 per 5s                     | row.conf:1: invalid restart: +1: not a number
(b66) | a = 1\na = 2                          | row.conf:2: invalid macro: a: already defined
(b67) | state "/a\377b"                       | row.conf:1: invalid state:
(b67) | socket "/x"\nengine "unix:///x"       | row.conf:1: socket: the same as the Engine's
(b66) | engine "\302\233[31m"                 | row.conf:1: invalid engine: ??[31m: not unix:///path
(b66) | policy { image allow "" }             | row.conf:1: invalid image: : empty
(b66) | policy { image deny "[" }             | row.conf:1: invalid image: [: a pattern that matches no name
(b66) | policy { image deny "[[:alpha" }      | row.conf:1: invalid image: [[:alpha: a pattern that
(b66) | policy { image deny "a b" }           | row.conf:1: invalid image: a b: a pattern that
(b66) | allow user "" all                     | row.conf:1: invalid user: : no such user
(b66) | allow user +0 all                     | row.conf:1: invalid user: +0: no such user
(b66) | allow user " 0" all                   | row.conf:1: invalid user:  0: no such user
(b66) | deny user root all                    | row.conf:1: deny: root may everything
(b66) | limits { execs 1 } limits { sandboxes 1 } | row.conf:1: syntax error at `limits'
(b66) | state "/a\000b"                       | NUL
(b66) | \000                                  | NUL
(b66) | \377\376state "/a"                    | row.conf:1:
END
}

atf_test_case files
files_head()
{
	atf_set descr '(b66) files: loops, depth, size, owners, modes, kinds, links'
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
	# Nor is it a way to read without an end.
	for i in $(seq 100); do
		echo "include \"$PWD/many\""
	done >many
	atf_check -s exit:1 -e match:"too deep: the limit is 8" \
	    timeout 60 "$n" -n -f many
	: >empty
	for i in $(seq 255); do
		echo "include \"$PWD/empty\""
	done >many
	atf_check -e ignore "$n" -n -f many
	echo "include \"$PWD/empty\"" >>many
	atf_check -s exit:1 -e match:"many:256: .*too many files" \
	    "$n" -n -f many
	# A word of a megabyte, a thousand errors, and a thousand braces.
	{ printf 'state "/'; repeat 1048576 a; echo '"'; } >big
	atf_check -s exit:1 -e match:"big: too large" "$n" -n -f big
	{ printf 'state "/'; repeat 5000 a; echo '"'; } >big
	atf_check -s exit:1 -e match:"big:1: string too long: the limit is 40" \
	    "$n" -n -f big
	# A value however long leaves room for what is wrong with it.
	{ printf 'state /'; repeat 5000 a; echo; } >big
	atf_check -s exit:1 -e match:"a[.][.][.]: too long: the limit is 1023" \
	    "$n" -n -f big
	{ repeat 5000 a; echo " b"; } >big
	atf_check -s exit:1 -e match:"big:1: syntax error" "$n" -n -f big
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
	for args in -x -f "-n extra" "-n -f /dev/null -f l1" \
	    "-n -u root -u root -f l1" "-n -u nosuch -f l1" \
	    "-n -u +0 -f l1" "-u root -f l1"; do
		# shellcheck disable=SC2086
		atf_check -s exit:1 -e not-empty "$n" $args
	done
	# What cannot be printed is no success.
	for args in "-nv -f l1" "-n -u root -f l1"; do
		# shellcheck disable=SC2086
		atf_check -s exit:1 -e match:"No space left" \
		    sh -c "'$n' $args >/dev/full"
	done
	# A name of a file steers no terminal either.
	atf_check -s exit:1 -e inline:"?[31m??: No such file or directory\n" \
	    "$n" -n -f "$(printf '\033[31m\302\233')"
}

atf_test_case reload cleanup
reload_head()
{
	atf_set descr '(b66) (b89) a reload takes all of a file, or nothing of it'
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
