# Options of create, run and exec: what is refused, with which words, before
# anything was made.  No line of these tables makes a sandbox.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"
. "$(atf_get_srcdir)/table.subr"

atf_test_case create cleanup
create_head()
{
	atf_set descr '(aD1) create: names, images, labels, variables, folders'
	atf_set timeout 600
}
create_body()
{
	# More processors than any host of ours has, and than this one.
	world "defaults { cpus 1024 }
limits { cpus 1024 }"
	ncpu=$(engine_docker info -f '{{.NCPU}}')
	box -i all
	atf_check -o match:"^cpus +$ncpu$" "$CTL" show all
	atf_check "$CTL" delete all
	before
	# (b27)
	atf_check -s exit:75 -e inline:"sandboxctl: invalid mcpus:\
 $((ncpu + 1))000: the limit is ${ncpu}000 (limit_exceeded)\n" \
	    "$CTL" create -c $((ncpu + 1))
	refused <<'END'
| arguments                       | status | what the answer says
(b19) | create -i ''                    | 64 | invalid argument of -i: empty: must be the name of a sandbox (invalid_argument)
(b19) | create -i -x                    | 64 | invalid id: "-x": must be 1 to 64 letters, digits, dashes and underscores, a letter or digit first
(b19) | create -i --                    | 64 | invalid id: "--": must be 1 to 64
(b19) | create -i .                     | 64 | invalid id: ".": must be
(b19) | create -i .a                    | 64 | invalid id: ".a": must be
(b19) | create -i _a                    | 64 | invalid id: "_a": must be
(b19) | create -i a.b                   | 64 | invalid id: "a.b": must be
(b19) | create -i a/b                   | 64 | invalid id: "a/b": must be
(b19) | create -i ../a                  | 64 | invalid id: "../a": must be
(b19) | create -i %2e                   | 64 | invalid id: "%2e": must be
(b19) | create -i 'a b'                 | 64 | invalid id: "a b": must be
(b19) | create -i "a${NL}b"             | 64 | invalid id: "a?b": must be
(b19) | create -i "a${ESC}[m"           | 64 | invalid id: "a?[m": must be
(b19) | create -i "$HIGH"               | 64 | invalid id: "?": must be
(b19) | create -i $(repeat 65)          | 75 | invalid id: too long: the limit is 64 (limit_exceeded)
(b19) | create -i $(repeat 100000)      | 75 | invalid id: too long: the limit is 64
(b22) | create -I ''                    | 64 | invalid argument of -I: empty: must be the name of an image (invalid_argument)
(b22) | create -I A                     | 64 | invalid image: "A": must be [host/]name[:tag]
(b22) | create -I a/../b                | 64 | invalid image: "a/../b": must be
(b22) | create -I http://x/y            | 64 | invalid image: "http://x/y": must be
(b22) | create -I 'a?x=1'               | 64 | invalid image: "a?x=1": must be
(b22) | create -I 'a#b'                 | 64 | invalid image: "a#b": must be
(b22) | create -I 'a b'                 | 64 | invalid image: "a b": must be
(b22) | create -I a@sha256:00           | 64 | invalid image: "a@sha256:00": must be
(b22) | create -I localhost:999999/x    | 64 | invalid image: "localhost:999999/x": must be
(b22) | create -I "a${ESC}"             | 64 | invalid image: "a?": must be
(b22) | create -I $(repeat 256)         | 75 | invalid image: too long: the limit is 255
(b90) | create -l ''                    | 64 | invalid argument of -l:
(b90) | create -l x                     | 64 | invalid argument of -l: x
(b90) | create -l =                     | 64 | invalid argument of -l: =
(b90) | create -l =x                    | 64 | invalid argument of -l: =x
(b90) | create -l 'a b=1'               | 64 | invalid labels: "a b": a key is 1 to 64 letters, digits, dots, dashes, underscores and slashes, a letter or digit at both ends
(b90) | create -l .a=1                  | 64 | invalid labels: ".a": a key is
(b90) | create -l a-=1                  | 64 | invalid labels: "a-": a key is
(b90) | create -l "a${ESC}=1"           | 64 | invalid labels: "a?": a key is
(b90) | create -l $(repeat 65)=1        | 64 | a key is 1 to 64 letters
(b90) | create -l a=$(repeat 256)       | 64 | invalid labels: "a": a value is at most 255 bytes of UTF-8 without control characters
(b90) | create -l "a=1${NL}"            | 64 | invalid labels: "a": a value is
(b90) | create -l "a=$HIGH"             | 64 | invalid labels: "a": a value is
(b90) | create -l a=1 -l a=2            | 64 | name given twice: -l a=2
(b90) | create -l a=1 -l a=1            | 64 | name given twice: -l a=1
(b90) | create $(seq -f '-l k%.0f=1' 65) | 75 | invalid labels: too many entries: the limit is 64
(b43) | create -e ''                    | 64 | invalid argument of -e:
(b43) | create -e X                     | 64 | invalid argument of -e: X: must be name=value
(b43) | create -e =x                    | 64 | invalid argument of -e: =x
(b43) | create -e 'A B=1'               | 64 | invalid env: "A B": a name is a letter or underscore, then letters, digits, underscores, dots and dashes
(b43) | create -e 1A=x                  | 64 | invalid env: "1A": a name is
(b43) | create -e A%=x                  | 64 | invalid env: "A%": a name is
(b43) | create -e SANDBOXD_X=1           | 64 | invalid env: "SANDBOXD_X": a name must not begin with SANDBOXD_
(b43) | create -e "A${NL}=x"            | 64 | invalid env: "A?": a name is
(b43) | create -e "A=$HIGH"             | 64 | invalid env: "A": the value is not UTF-8
(b43) | create -e A=1 -e A=2            | 64 | name given twice: -e A=2
(b43) | create $(seq -f '-e k%.0f=1' 257) | 75 | invalid env: too many entries: the limit is 256
(b43) | create -e A=$(repeat 99000) -e B=$(repeat 99000) | 75 | of 198004 bytes: the limit is 196608
(b45) | create -w ''                    | 64 | invalid argument of -w:
(b45) | create -w a                     | 64 | invalid workdir: "a": must be an absolute path of at most 4095 bytes without ".."
(b45) | create -w .                     | 64 | invalid workdir: ".": must be an absolute path
(b45) | create -w /..                   | 64 | invalid workdir: "/..": must be
(b45) | create -w /a/../b               | 64 | invalid workdir: "/a/../b": must be
(b45) | create -w "/a${NL}"             | 64 | invalid workdir: "/a?": must be
(b45) | create -w "/a$HIGH"             | 64 | invalid workdir: "/a?": must be
(b45) | create -w /$(repeat 4095)       | 75 | invalid workdir: too long: the limit is 4095
(b45) | create -w /$(repeat 100000)     | 75 | invalid workdir: too long: the limit is 4095
END
	unchanged
	daemon_stop
}
create_cleanup()
{
	daemon_cleanup
}

atf_test_case numbers cleanup
numbers_head()
{
	atf_set descr '(aD1) create: memory, processors, processes, users'
	atf_set timeout 600
}
numbers_body()
{
	world "defaults { cpus 1 }
limits { memory 3G cpus 1 pids 1000 sandboxes 1 }"
	before
	refused <<'END'
| arguments                       | status | what the answer says
(b25) | create -M ''                    | 64 | invalid argument of -M:
(b25) | create -M 0                     | 64 | invalid argument of -M: 0: must be 1M to 1024T, in bytes or with K, M, G or T
(b25) | create -M 1023K                 | 64 | invalid tmpfs: 1047552: must be 1048576 to
(b25) | create -M 2G -m 1G              | 75 | invalid tmpfs: 2147483648: it is memory of the sandbox, which has 1073741824
(b25) | create -M 3G                    | 75 | invalid tmpfs: the workspace is 3221225472 of memory, and the sandbox has 2147483648
(b25) | create -M 16M -S 16M            | 64 | invalid tmpfs: a workspace is in memory or on the disk
(b25) | create -m ''                    | 64 | invalid argument of -m:
(b25) | create -m 0                     | 64 | invalid argument of -m: 0: must be 6M to 1024T, in bytes or with K, M, G or T
(b25) | create -m -1                    | 64 | invalid argument of -m: -1
(b25) | create -m +1G                   | 64 | invalid argument of -m: +1G
(b25) | create -m ' 1G'                 | 64 | invalid argument of -m:  1G
(b25) | create -m '1G '                 | 64 | invalid argument of -m: 1G
(b25) | create -m 2GB                   | 64 | invalid argument of -m: 2GB
(b25) | create -m 1e9                   | 64 | invalid argument of -m: 1e9
(b25) | create -m -0                    | 64 | invalid argument of -m: -0
(b25) | create -m "1G$NL"                | 64 | invalid argument of -m: 1G\012: must be
(b25) | create -m $(repeat 5000 1)      | 64 | 1...: must be 6M
(b25) | create -m 0x1000000             | 64 | invalid argument of -m: 0x1000000
(b25) | create -m 1.5G                  | 64 | invalid argument of -m: 1.5G
(b25) | create -m G                     | 64 | invalid argument of -m: G
(b25) | create -m nan                   | 64 | invalid argument of -m: nan
(b25) | create -m 18446744073709551616  | 64 | invalid argument of -m: 18446744073709551616
(b25) | create -m 16777216T             | 64 | invalid argument of -m: 16777216T
(b25) | create -m 1                     | 64 | invalid memory: 1: must be 6291456 to 1125899906842624
(b25) | create -m 5M                    | 64 | invalid memory: 5242880: must be 6291456
(b25) | create -m 6291455               | 64 | invalid memory: 6291455: must be 6291456
(b25) | create -m 3221225473            | 75 | invalid memory: 3221225473: the limit is 3221225472 (limit_exceeded)
(b25) | create -m 9223372036854775808   | 75 | invalid memory: 9223372036854775808: must be
(b25) | create -m 18446744073709551615  | 75 | invalid memory: 18446744073709551615: must be
(b25) | create -m 1G -m 1G              | 64 | option given twice: -m
(b26) | create -p ''                    | 64 | invalid argument of -p:
(b26) | create -p 0                     | 64 | invalid argument of -p: 0: must be a number from 4 to 4194304
(b26) | create -p -1                    | 64 | invalid argument of -p: -1
(b26) | create -p +16                   | 64 | invalid argument of -p: +16
(b26) | create -p ' 16'                 | 64 | invalid argument of -p:  16
(b26) | create -p 16x                   | 64 | invalid argument of -p: 16x
(b26) | create -p 1e2                   | 64 | invalid argument of -p: 1e2
(b26) | create -p 0x10                  | 64 | invalid argument of -p: 0x10
(b26) | create -p -0                    | 64 | invalid argument of -p: -0
(b26) | create -p 18446744073709551632  | 64 | invalid argument of -p: 18446744073709551632
(b26) | create -p 4294967296            | 64 | invalid argument of -p: 4294967296
(b26) | create -p 3                     | 64 | invalid pids: 3: must be 4 to 4194304
(b26) | create -p 1001                  | 75 | invalid pids: 1001: the limit is 1000
(b26) | create -p 1000000000            | 75 | invalid pids: 1000000000: must be 4 to 4194304
(b26) | create -p 16 -p 17              | 64 | option given twice: -p
(b27) | create -c ''                    | 64 | invalid argument of -c:
(b27) | create -c 0                     | 64 | invalid argument of -c: 0: must be 0.01 to 1024, with at most three decimals
(b27) | create -c 0.000                 | 64 | invalid argument of -c: 0.000
(b27) | create -c -1                    | 64 | invalid argument of -c: -1
(b27) | create -c NaN                   | 64 | invalid argument of -c: NaN
(b27) | create -c inf                   | 64 | invalid argument of -c: inf
(b27) | create -c 1e308                 | 64 | invalid argument of -c: 1e308
(b27) | create -c +1                    | 64 | invalid argument of -c: +1
(b27) | create -c 0x1                   | 64 | invalid argument of -c: 0x1
(b27) | create -c 4294968.296           | 64 | invalid argument of -c: 4294968.296
(b27) | create -c 1.2345                | 64 | invalid argument of -c: 1.2345
(b27) | create -c 1.                    | 64 | invalid argument of -c: 1.
(b27) | create -c .5                    | 64 | invalid argument of -c: .5
(b27) | create -c 1.5.5                 | 64 | invalid argument of -c: 1.5.5
(b27) | create -c 99999999999999999999  | 64 | invalid argument of -c: 99999999999999999999
(b27) | create -c 0.009                 | 64 | invalid mcpus: 9: must be 10 to 1024000
(b27) | create -c 1.001                 | 75 | invalid mcpus: 1001: the limit is 1000
(b27) | create -c 1025                  | 75 | invalid mcpus: 1025000: must be 10 to 1024000
(b27) | create -c 1 -c 2                | 64 | option given twice: -c
(b46) | create -u ''                    | 64 | invalid argument of -u:
(b46) | create -u root                  | 77 | root in a sandbox is not allowed here (policy_denied)
(b46) | create -u 0                     | 77 | root in a sandbox is not allowed here
(b46) | create -u 1000                  | 77 | invalid user: 1000: the range is 2000000000 to 2000065535 (policy_denied)
(b46) | create -u 2000065536            | 77 | invalid user: 2000065536: the range is
(b46) | create -u -1                    | 64 | invalid user: "-1": must be "root" or a number
(b46) | create -u 01                    | 64 | invalid user: "01": must be
(b46) | create -u ' 1'                  | 64 | invalid user: " 1": must be
(b46) | create -u 0:0                   | 64 | invalid user: "0:0": must be
(b46) | create -u daemon                | 64 | invalid user: "daemon": must be
(b46) | create -u 4294967295            | 64 | invalid user: "4294967295": must be
(b46) | create -u 4294967296            | 64 | invalid user: "4294967296": must be
(b46) | create -u $(repeat 32 1)        | 75 | invalid user: too long: the limit is 31
(b46) | create -u 1 -u 2                | 64 | option given twice: -u
(b69) | create -d -i a -i b             | 64 | option given twice: -i
END
	unchanged
	# The last one that there may be; its name is in use from now on.
	box -i box
	before
	refused <<'END'
| arguments                       | status | what the answer says
| create                          | 75 | sandboxes: limit 1 in all, 1 in use (limit_exceeded)
(b19) | create -i box                   | 75 | sandboxes: limit 1 in all, 1 in use
(b69) | run true                        | 125 | sandboxes: limit 1 in all, 1 in use
END
	unchanged
	atf_check "$CTL" delete box
	before
	refused <<'END'
| arguments                       | status | what the answer says
(b20) | create -i box                   | 73 | box: a sandbox of this name exists, or its history does (already_exists)
END
	unchanged
	daemon_stop
}
numbers_cleanup()
{
	daemon_cleanup
}

atf_test_case exec cleanup
exec_head()
{
	atf_set descr '(aD1) exec and run: commands, variables, users, times, signals'
	atf_set timeout 600
}
exec_body()
{
	world
	box -i box
	atf_check -o inline:"box.1\n" "$CTL" exec -d box sleep 100000
	await '"$CTL" events box | grep -q exec.started'
	before
	refused <<'END'
| arguments                       | status | what the answer says
(b69) | exec                            | 125 | missing argument
(b38) | exec box                        | 125 | missing argument
(b38) | exec box ''                     | 125 | invalid argv: no command (invalid_argument)
(b38) | exec box '' a                   | 125 | invalid argv: no command
(b18) | exec '' true                    | 125 | empty argument
(b17) | exec .. true                    | 125 | invalid sandbox: "..": must be id or uid/id
(b17) | exec box.1 true                 | 125 | invalid sandbox: "box.1": must be id or uid/id
(b17) | exec nosuch true                | 125 | nosuch: no such sandbox (not_found)
(b69) | exec -z box true                | 125 | unknown option: -z
(b69) | exec -t 1 -- -x true            | 125 | invalid sandbox: "-x": must be
(b29) | exec -t                         | 125 | option needs an argument: -t
(b42) | exec box true $(seq 4096)       | 125 | invalid argv: too many entries: the limit is 4096 (limit_exceeded)
(b42) | exec -e A=1 box true $(seq 4095) | 125 | arguments and variables: 4097: the limit is 4096
(b41) | exec box true $(repeat 100000) $(repeat 97000) | 125 | of 197004 bytes: the limit is 196608 (limit_exceeded)
(b41) | exec -e A=$(repeat 100000) box true $(repeat 97000) | 125 | of 197006 bytes: the limit is 196608
(b43) | exec -e '' box true             | 125 | invalid argument of -e:
(b43) | exec -e X box true              | 125 | invalid argument of -e: X
(b43) | exec -e =x box true             | 125 | invalid argument of -e: =x
(b43) | exec -e 'A B=1' box true        | 125 | invalid env: "A B": a name is a letter or underscore, then
(b43) | exec -e 1A=x box true           | 125 | invalid env: "1A": a name is
(b43) | exec -e "A${NL}=x" box true     | 125 | invalid env: "A?": a name is
(b43) | exec -e A=1 -e A=1 box true     | 125 | name given twice: -e A=1
(b45) | exec -w '' box true             | 125 | invalid argument of -w:
(b45) | exec -w a box true              | 125 | invalid dir: "a": must be an absolute path of at most 4095 bytes
(b45) | exec -w .. box true             | 125 | invalid dir: "..": must be an absolute path
(b45) | exec -w /$(repeat 4095) box true | 125 | invalid dir: too long: the limit is 4095
(b45) | exec -w / -w / box true         | 125 | option given twice: -w
(b46) | exec -u '' box true             | 125 | invalid argument of -u:
(b46) | exec -u daemon box true         | 125 | invalid user: "daemon": must be "root" or a number
(b46) | exec -u -1 box true             | 125 | invalid user: "-1": must be
(b46) | exec -u 4294967296 box true     | 125 | invalid user: "4294967296": must be
(b46) | exec -u $(repeat 32 1) box true | 125 | invalid user: too long: the limit is 31
(b46) | exec -u 0 box true              | 125 | commands run as the sandbox's user,
(b46) | exec -u root box true           | 125 | (unsupported)
(b29) | exec -t '' box true             | 125 | invalid argument of -t:
(b29) | exec -t 0 box true              | 125 | invalid argument of -t: 0: must be 0.001 to 2592000, with at most three decimals
(b29) | exec -t -1 box true             | 125 | invalid argument of -t: -1
(b29) | exec -t x box true              | 125 | invalid argument of -t: x
(b29) | exec -t 1e3 box true            | 125 | invalid argument of -t: 1e3
(b29) | exec -t +1 box true             | 125 | invalid argument of -t: +1
(b29) | exec -t 0x1 box true            | 125 | invalid argument of -t: 0x1
(b29) | exec -t ' 1' box true           | 125 | invalid argument of -t:  1
(b29) | exec -t 1. box true             | 125 | invalid argument of -t: 1.
(b29) | exec -t 18446744073709552 box true | 125 | invalid argument of -t: 18446744073709552
(b29) | exec -t 0.0001 box true         | 125 | invalid argument of -t: 0.0001
(b29) | exec -t 99999999999999999999 box true | 125 | invalid argument of -t: 99999999999999999999
(b29) | exec -t 2592000.001 box true    | 125 | invalid timeout: too large: the limit is 2592000000 (limit_exceeded)
(b29) | exec -t 1 -t 2 box true         | 125 | option given twice: -t
(b69) | run                             | 125 | missing argument
(b38) | run ''                          | 125 | empty argument
(b69) | run -d true                     | 125 | unknown option: -d
(b29) | run -t 0 true                   | 125 | invalid argument of -t: 0
(b29) | run -t 2592001 true             | 125 | invalid timeout: too large: the limit is 2592000000
(b42) | run true $(seq 4096)            | 125 | arguments and variables: 4097: the limit is 4096
(b41) | run true $(repeat 100000) $(repeat 97000) | 125 | of 197004 bytes: the limit is 196608
(b25) | run -m 1 true                   | 125 | invalid memory: 1: must be 6291456
(b19) | run -i .. true                  | 125 | invalid id: "..": must be
(b20) | run -i box true                 | 125 | box: a sandbox of this name exists
(b46) | run -u 2000000000 true          | 125 | user 2000000000: another sandbox has it (limit_exceeded)
(b69) | kill                            | 64 | missing argument
(b69) | kill ''                         | 64 | empty argument
(b17) | kill box                        | 64 | invalid exec: "box": must be id.number or uid/id.number
(b17) | kill box.99                     | 66 | box.99: no such exec (not_found)
(b49) | kill -s '' box.1                | 64 | invalid argument of -s:
(b49) | kill -s 0 box.1                 | 64 | invalid argument of -s: 0: must be a number from 1 to 64, or the name of a signal
(b49) | kill -s -1 box.1                | 64 | invalid argument of -s: -1
(b49) | kill -s 65 box.1                | 64 | invalid argument of -s: 65
(b49) | kill -s 9x box.1                | 64 | invalid argument of -s: 9x
(b49) | kill -s 0x9 box.1               | 64 | invalid argument of -s: 0x9
(b49) | kill -s +9 box.1                | 64 | invalid argument of -s: +9
(b49) | kill -s ' 9' box.1              | 64 | invalid argument of -s:  9
(b49) | kill -s 4294967305 box.1        | 64 | invalid argument of -s: 4294967305
(b49) | kill -s "$ESC[31m" box.1         | 64 | invalid argument of -s: \033[31m
(b49) | kill -s FOO box.1               | 64 | invalid argument of -s: FOO
(b49) | kill -s SIG box.1               | 64 | invalid argument of -s: SIG
(b49) | kill -s 9 -s 9 box.1            | 64 | option given twice: -s
(b69) | logs -o x box.1                 | 64 | invalid argument of -o: x: must be stdout or stderr
(b69) | logs -o '' box.1                | 64 | invalid argument of -o:
(b69) | logs -o stdin box.1             | 64 | invalid argument of -o: stdin
(b69) | logs -o stdout -o stderr box.1  | 64 | option given twice: -o
END
	unchanged
	await '"$CTL" ps | grep -Eq "^box.1 +running"' 60
	atf_check "$CTL" kill -s KILL box.1
	atf_check -s exit:137 "$CTL" wait box.1
	before
	refused <<'END'
| arguments                       | status | what the answer says
(b49) | kill box.1                      | 75 | box.1 has ended: signaled (wrong_state)
(b49) | kill -s TERM box.1              | 75 | box.1 has ended: signaled
(b65) | resume box                      | 75 | box: cannot resume while it is ready (wrong_state)
END
	unchanged
	daemon_stop
}
exec_cleanup()
{
	daemon_cleanup
}

atf_test_case taken cleanup
taken_head()
{
	atf_set descr '(aD1) at the bounds, and what only looks bad, is taken as it is'
	atf_set timeout 600
}
taken_body()
{
	world
	long=$(repeat 64 a)
	box -i "$long" -l "$(repeat 63)=$(repeat 255)" -m 64M -c 0.01 -p 20 \
	    $(seq -f '-l k%.0f=1' 63) -e "A=b$NL c" -w /workspace
	atf_check_equal "$long" "$BOX"
	atf_check "$CTL" delete "$long"
	# (b28) /tmp is no more than the memory that it counts as.
	box -i 0 -m 32M
	atf_check -o inline:"32768\n" "$CTL" exec 0 sh -c \
	    'df -k /tmp | awk "NR == 2 { print \$2 }"'
	atf_check "$CTL" delete 0
	box -i 1
	atf_check "$CTL" exec 1 true "$(repeat 131071)"
	atf_check "$CTL" exec 1 true $(seq 4095)
	atf_check "$CTL" exec -t 2592000 1 true
	# Any byte but NUL, in arguments and values.
	printf 'a\n\001\033\377|' >want
	atf_check -o file:want "$CTL" exec 1 printf %s "$(cat want)"
	atf_check -o file:want "$CTL" exec -e "A=$(cat want)" 1 \
	    sh -c 'printf %s "$A"'
	# (b71) And none of them reaches a terminal.
	atf_check -o not-match:"$ESC" -o match:'\\033\\377' "$CTL" ps -a 1
	atf_check -o not-match:"$ESC" -o not-match:"$HIGH" "$CTL" events 1
	atf_check -o not-match:"$ESC" -o not-match:"$HIGH" "$CTL" -j ps -a 1
	# (S-31) Nothing is expanded, and what is shown is what was asked for.
	atf_check -o inline:'~/x $HOME %h\n' "$CTL" exec -e 'A=~/x $HOME %h' 1 \
	    sh -c 'echo "$A"'
	atf_check -o match:'~/x .HOME' "$CTL" exec 1 echo '~/x $HOME'
	atf_check -s exit:64 -e match:'~/x' "$CTL" create -w '~/x'
	atf_check -s exit:125 -e match:'~/x' "$CTL" exec -w '~/x' 1 true
	# (b44) It is given to the command alone, not to what starts it.
	atf_check -o inline:"/nonexistent.so\n" "$CTL" exec \
	    -e LD_PRELOAD=/nonexistent.so 1 sh -c 'echo $LD_PRELOAD'
	atf_check -s exit:125 -e match:"standard input|Is a directory" \
	    sh -c "'$CTL' exec 1 cat </"
	daemon_stop
}
taken_cleanup()
{
	daemon_cleanup
}

atf_test_case not_started cleanup
not_started_head()
{
	atf_set descr '(aD1) commands and folders that only the sandbox can refuse'
	atf_set timeout 600
}
not_started_body()
{
	world
	box -i box
	atf_check "$CTL" exec box sh -c 'echo "#!/nonexistent" >noint;
	    printf "\177ELFgarbage" >elf; : >empty; chmod 755 noint elf empty;
	    mkdir -m 0 closed; ln -s /nonexistent out; ln -s loop loop; mkfifo fifo'
	refused <<'END'
| arguments                       | status | what the answer says
(b47) | exec box nosuch                 | 127 | nosuch: no such file
(b47) | exec box /nosuch/x              | 127 | /nosuch/x: no such file
(b47) | exec box /bin/sh/x              | 126 | /bin/sh/x: no such file
(b47) | exec box ./noint                | 127 | ./noint: no such file
(b47) | exec box ./loop                 | 126 | ./loop: no such file
(b47) | exec box /etc                   | 126 | /etc: not executable
(b47) | exec box /etc/passwd            | 126 | /etc/passwd: not executable
(b47) | exec box ./fifo                 | 126 | ./fifo: not executable
(b47) | exec box ./elf                  | 126 | ./elf: wrong architecture or unknown format
(b47) | exec box ./empty                | 126 | ./empty: wrong architecture or unknown format
(b45) | exec -w /nosuch box true        | 126 | /nosuch: no such working directory
(b45) | exec -w /bin/sh box true        | 126 | /bin/sh: no such working directory
(b45) | exec -w /workspace/out box true | 126 | /workspace/out: no such working directory
(b45) | exec -w /workspace/closed box true | 126 | /workspace/closed: working directory may not be entered
(b45) | exec -w "/a${NL}b" box true     | 126 | /a\012b: no such working directory
END
	# A detached one says so when it is waited for.
	atf_check -o save:exec "$CTL" exec -d -w /nosuch box true
	atf_check -s exit:126 \
	    -e inline:"sandboxctl: $(cat exec): no such working directory (invalid_argument)\n" \
	    "$CTL" wait "$(cat exec)"
	atf_check -o inline:"still\n" "$CTL" exec box echo still
	daemon_stop
}
not_started_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case create
	atf_add_test_case numbers
	atf_add_test_case exec
	atf_add_test_case taken
	atf_add_test_case not_started
}
