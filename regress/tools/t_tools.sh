# The tools of an agent by sandboxctl, on a real sandbox: what frameworks ask
# of them, case by case, in the built-in image and in one that holds nothing.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# tool name argument ...: the sandbox's name is put in.
tool()
{
	_tool=$1
	shift
	_opts=
	while :; do
		case ${1:-} in
		-[BCGMetw]) _opts="$_opts $1 $2"; shift 2 ;;
		-) break ;;
		-?*) _opts="$_opts $1"; shift ;;
		*) break ;;
		esac
	done
	# shellcheck disable=SC2086
	"$CTL" tool $_tool $_opts "$BOX" "$@"
}

# is expression: of the last answer, in python.
is()
{
	/usr/bin/python3 -I -c '
import json, sys
a = [json.loads(l) for l in open("answer", encoding="utf-8")]
r = a[0] if len(a) == 1 else a
if not eval("(" + sys.argv[1] + ")"):
    sys.exit("not so: %s of %r" % (sys.argv[1], r))' "$1" ||
	    atf_fail "see above"
}

# ok tool ...: it is carried out, and the answer is kept.
ok()
{
	tool "$@" >answer 2>err || {
		cat answer err
		atf_fail "tool $*"
	}
}

# no code tool ...: it is refused with the code.
no()
{
	_code=$1
	shift
	if tool "$@" >answer 2>err; then
		cat answer
		atf_fail "not refused: tool $*"
	fi
	grep -q "$_code" err || {
		cat err
		atf_fail "not $_code: tool $*"
	}
	[ ! -s answer ] || atf_fail "an answer beside the error"
}

put()
{
	printf "$2" | "$CTL" tool write "$BOX" "$1" >answer ||
	    atf_fail "write $1"
}

# All of what needs nothing but the guest.
cases()
{
	# write: new, parents, overwrite, empty, odd names and slashes
	put a.txt 'one\ntwo\nthree\n'
	is 'r == {"path": "a.txt", "size": 14, "created": True}'
	put d/e/f.py 'import os\n# two\n'
	put d/e/f.py 'import sys\n# two\n'
	is 'r["created"] is False and r["size"] == 17'
	put empty ''
	put 'd//with space $x' "it's \"two\"\n"
	put '/workspace/ü[1].txt' 'f\303\274r\n'
	# read
	ok read a.txt
	is 'r["content"] == "one\ntwo\nthree\n" and r["total_lines"] == 3'
	is 'r["encoding"] == "utf-8" and "next_offset" not in r'
	ok read -N -B 1 -M 1 a.txt
	is 'r["content"] == "     2\ttwo\n" and r["next_offset"] == 2'
	is 'r["start_line"] == 2 and r["end_line"] == 2'
	ok read -M 0 a.txt
	is 'r["content"] == "" and "start_line" not in r'
	ok read -B 3 a.txt
	is 'r["content"] == "" and r["total_lines"] == 3'
	ok read -B 99 a.txt
	is 'r["content"] == "" and r["total_lines"] == 3'
	ok read empty
	is 'r["content"] == "" and r["total_lines"] == 0'
	ok read 'd//with space $x'
	is 'r["content"] == "it'"'"'s \"two\"\n"'
	no file_not_found read nothing
	no is_directory read d
	no not_file read /dev/null
	put bin '\0\1\377'
	ok read bin
	is 'r["encoding"] == "base64" and r["content"] == "AAH/"'
	# edit
	ok edit a.txt two 2
	is 'r == {"path": "a.txt", "occurrences": 1}'
	ok read a.txt
	is 'r["content"] == "one\n2\nthree\n"'
	no not_found edit a.txt two 2
	no 'Multiple occurrences: 3' edit a.txt e x
	ok edit -a a.txt e ''
	is 'r["occurrences"] == 3'
	ok edit a.txt 2 2
	ok edit a.txt 'on
2' 'on
two'
	ok read a.txt
	is 'r["content"] == "on\ntwo\nthr\n"'
	ok edit empty '' 'new'
	is 'r["occurrences"] == 1'
	no invalid_argument edit empty '' 'more'
	no file_not_found edit nothing a b
	put crlf 'a\r\nb\r\n'
	no not_found edit crlf 'a
b' c
	ok edit -U crlf 'a
b' c
	ok read crlf
	is 'r["content"] == "c\r\n"'
	# ls
	ok ls
	is '[f["path"] for f in r["files"]] == ["a.txt", "bin", "crlf", "d",
	    "empty", "\u00fc[1].txt"]'
	is '[f["is_dir"] for f in r["files"]].count(True) == 1'
	is 'r["files"][0]["size"] == 11 and not r["truncated"]'
	is 'len(r["files"][0]["modified_at"]) == 20'
	ok ls d/
	is 'len(r["files"]) == 2'
	no not_directory ls a.txt
	no file_not_found ls nothing
	# glob
	ok glob '*.txt'
	is '[f["path"] for f in r["files"]] == ["a.txt", "\u00fc[1].txt"]'
	ok glob '**/*.{py,txt}'
	is '[f["path"] for f in r["files"]] == ["a.txt", "d/e/f.py",
	    "\u00fc[1].txt"]'
	ok glob -A -F '?.[!a-e]*'
	is '[f["path"] for f in r["files"]] == ["a.txt", "d/e/f.py"]'
	ok glob -M 1 '**'
	is 'len(r["files"]) == 1 and r["truncated"]'
	ok glob '*.py' /workspace/d/e
	is '[f["path"] for f in r["files"]] == ["f.py"]'
	ok glob '*.nothing'
	is 'r["files"] == [] and not r["truncated"]'
	no invalid_argument glob '../*'
	no invalid_argument glob '/workspace/*.txt'
	ok glob '/workspace/*.txt' /
	is '[f["path"] for f in r["files"]] == ["workspace/a.txt",
	    "workspace/\u00fc[1].txt"]'
	no file_not_found glob '*' nothing
	# grep
	ok grep two
	is 'r["matches"] == [{"path": "a.txt", "line": 2, "text": "two"},
	    {"path": "d/e/f.py", "line": 2, "text": "# two"},
	    {"path": "d/with space $x", "line": 1, "text": "it'"'"'s \"two\""}]'
	is 'not r["truncated"] and not r["denied"]'
	ok grep -G '*.py' -C 1 two
	is '[(m["line"], "context" in m) for m in r["matches"]] ==
	    [(1, True), (2, False)]'
	ok grep -F two
	is '[m["path"] for m in r["matches"]][0] == "a.txt"'
	ok grep -Q -y TWO d
	is '[m["count"] for m in r["matches"]] == [1, 1]'
	ok grep 't.o'
	is 'r["matches"] == []'
	ok grep -P '^t.o$'
	is 'len(r["matches"]) == 1'
	ok grep -M 2 two
	is 'len(r["matches"]) == 2 and r["truncated"]'
	ok grep -M 3 two
	is 'len(r["matches"]) == 3 and not r["truncated"]'
	ok grep two a.txt
	is 'r["matches"] == [{"path": "a.txt", "line": 2, "text": "two"}]'
	no invalid_argument grep -P '(a'
	no too_large grep -P '(a{99}){99}'
	no file_not_found grep x nothing
	# upload and download: partial success, in order
	awk 'BEGIN { for (i = 0; i < 256; i++) printf "\\%03o", i }' >oct
	printf "$(cat oct)" >all
	tool upload all /workspace/n/all all relative all /workspace/d \
	    all /workspace/b >answer && atf_fail "all are well"
	is '[a["error"] for a in r] == [None, "invalid_path", "is_directory",
	    None]'
	tool download /workspace/n/all /workspace/nothing /workspace/d \
	    relative /workspace/b >answer && atf_fail "all are well"
	is '[a["error"] for a in r] == [None, "file_not_found",
	    "is_directory", "invalid_path", None]'
	is '[a["content"] is None for a in r] == [False, True, True, True,
	    False]'
	is '__import__("base64").b64decode(r[0]["content"]) ==
	    bytes(range(256))'
	# One that cannot be read here spoils no other.
	mkdir -p locally
	tool upload locally /workspace/u1 nowhere /workspace/u2 all \
	    /workspace/u3 >answer 2>err && atf_fail "all are well"
	is '[a["error"] for a in r] == ["is_directory", "file_not_found",
	    None]'
	atf_check -o match:'nowhere: No such file' cat err
	atf_check -s exit:66 -e match:'cannot be read.*is_directory' \
	    "$CTL" tool write "$BOX" /workspace/u1 <locally
	# delete: a file, a tree, and what is not there
	put x/y/z 'here'
	put x/y/w 'there'
	ok delete x/y/z
	is 'r == {"path": "x/y/z", "deleted": 1}'
	ok delete x
	is 'r["deleted"] == 3'
	no file_not_found delete x/y/z
	no file_not_found ls x
}

atf_test_case busybox cleanup
busybox_head()
{
	atf_set descr 'the tools in the built-in image, and what its commands see'
	atf_set timeout 300
}
busybox_body()
{
	world
	box
	cases
	# What may not be read, and 512000 bytes and more through each.
	"$CTL" exec "$BOX" sh -c 'echo two >s; chmod 0 s; mkdir x; chmod 0 x;
	    yes 123456789 | head -c 10000000 >big; cp big b.png;
	    mkfifo p; ln -s / root; ln -s a.txt l' || atf_fail exec
	no permission_denied read s
	no permission_denied edit s two 2
	ok grep two
	is 'r["denied"] and len(r["matches"]) == 3'
	ok glob '**/a.txt'
	is 'r["denied"] and len(r["files"]) == 1'
	ok glob l
	is 'r["files"][0]["target"] == "a.txt" and r["files"][0]["size"] == 11'
	ok read -M 100000 big
	is 'len(r["content"]) == 512000 and r["next_offset"] == 51200'
	is 'r["total_lines"] == 1000000'
	no too_large read b.png
	tool download /workspace/s >answer && atf_fail "it may be read"
	is 'r["error"] == "permission_denied" and r["content"] is None'
	"$CTL" exec "$BOX" sh -c 'cmp big b.png && ls /etc >/dev/null'
	no permission_denied edit /etc/passwd root toor
	no not_file read p
	ok describe
	is 'r["workdir"] == "/workspace" and r["tools"][0] == "execute" and
	    len(r["tools"]) == 10 and r["memory"] > 0 and r["disk"] is None'
	is 'r["programs"]["sh"].endswith("bin/sh") and
	    "vi" in r["programs"] and "python3" not in r["programs"] and
	    "json" not in r["formats"]'
	"$CTL" delete "$BOX"
	no wrong_state describe
	daemon_stop
}
busybox_cleanup()
{
	daemon_cleanup
}

# executed expression line: the answer to a command line is so.
executed()
{
	ok execute "$2"
	is "$1"
}

atf_test_case execute cleanup
execute_head()
{
	atf_set descr 'command lines: output, status, bounds, time'
	atf_set timeout 300
}
execute_body()
{
	world
	box
	executed 'sorted(r) == ["exec", "exit_code", "output", "size", "timed_out",
	    "truncated"] and r["output"] == "hi\n" and r["exit_code"] == 0 and
	    not r["truncated"]' 'echo hi'
	executed 'r["exit_code"] == 42 and r["output"] == "" and r["size"] == 0' \
	    'exit 42'
	executed 'r["exit_code"] == 127' nonexistent_command
	executed 'r["exit_code"] == 137' 'kill -9 $$'
	# As they were written, and not one stream behind the other.
	executed 'r["output"] == "".join("o%d\ne%d\n" % (i, i)
	    for i in range(1, 51))' \
	    'for i in $(seq 50); do echo o$i; echo e$i >&2; done'
	executed 'r["output"] == {"base64": "YQBi/w=="}' "printf 'a\\0b\\377'"
	executed 'r["output"] == "a\0b"' "printf 'a\\0b'"
	executed 'r["output"] == "done\n"' 'cat; echo done'
	executed 'r["output"] == "x y\n"' 'A="x y"; echo $A'
	ok execute -w /tmp -e 'A=two' 'pwd; echo $A'
	is 'r["output"] == "/tmp\ntwo\n"'
	# What is left in the background does not hold it up, nor does time.
	date +%s >from
	executed 'r["output"] == "hi\n"' 'sleep 60 & echo hi'
	ok execute -t 1 'echo begun; sleep 977'
	is 'r["exit_code"] == 124 and r["timed_out"] and
	    r["output"] == "begun\n" and not r["truncated"]'
	[ $(($(date +%s) - $(cat from))) -lt 40 ] || atf_fail "it took long"
	executed 'r["output"] == ""' 'ps | grep "[s]leep 977"'
	# 512000 bytes, whole, and five at once.
	_pids=
	for i in 1 2 3 4 5; do
		"$CTL" tool execute "$BOX" "yes $i | head -c 512000" >big$i &
		_pids="$_pids $!"
	done
	for i in $_pids; do
		wait "$i" || atf_fail "five at once"
	done
	for i in 1 2 3 4 5; do
		cp big$i answer
		is 'len(r["output"]) == 512000 and not r["truncated"] and
		    set(r["output"]) == {"'$i'", "\n"}'
	done
	# What is too much ends no command, and is read in pieces.
	ok execute -M 1000 'i=0; while [ $i -lt 100000 ]; do echo line $i;
	    i=$((i + 1)); done; exit 7'
	is 'r["exit_code"] == 7 and r["truncated"] and
	    len(r["output"]) == 1000 and r["size"] == 1088890 and
	    r["kept"] == r["size"]'
	_file=$(sed 's/.*"file":"\([^"]*\)".*/\1/' answer)
	ok read -B 99998 "$_file"
	is 'r["content"] == "line 99998\nline 99999\n" and
	    r["total_lines"] == 100000'
	ok execute -M 4 "printf 'aaa\\303\\274b'"
	is 'r["output"] == "aaa" and r["truncated"] and r["size"] == 6 and
	    r["kept"] == 6'
	# Lines that are longer than an argument may be: 402218 bytes.
	awk 'BEGIN { printf ": "; for (i = 0; i < 402000; i++) printf "x";
	    printf "\necho \"$0 it'"'"'s\" %s; cat; exit 9\n", "$((2 + 3))"
	    }' >long
	ok execute - <long
	is 'r["output"] == "/bin/sh it'"'"'s 5\n" and r["exit_code"] == 9'
	head -c 402000 long | tail -c 401998 >tail
	{ printf "printf %%s "; cat tail; printf " | wc -c\n"; } >long
	ok execute - <long
	is 'r["output"].strip() == "401998"'
	printf 'a\0b' >nul
	no invalid_argument execute - <nul
	# What is not the command's is no status.
	no invalid_argument execute -w /nothing 'echo hi'
	"$CTL" delete "$BOX"
	no wrong_state execute 'echo hi'
	daemon_stop
}
execute_cleanup()
{
	daemon_cleanup
}

atf_test_case scratch cleanup
scratch_head()
{
	atf_set descr 'the tools in an image that holds nothing'
	atf_set timeout 300
}
scratch_body()
{
	daemon_start
	await daemon_engine_is_up
	mkdir nothing
	tar -cf nothing.tar -C nothing .
	atf_check -o ignore "$CTL" image import "tools-nothing-$$" nothing.tar
	box -I "tools-nothing-$$"
	cases
	no invalid_argument execute 'echo hi'
	ok describe
	is 'r["programs"] == {} and r["formats"] == {} and
	    r["tools"][0] == "ls" and len(r["tools"]) == 9'
	"$CTL" delete "$BOX"
	daemon_stop
}
scratch_cleanup()
{
	daemon_cleanup
}

# What is found of programs is their names: nothing of these runs.
atf_test_case describe cleanup
describe_head()
{
	atf_set descr 'the programs that an image has, and what is none'
	atf_set timeout 300
}
describe_body()
{
	daemon_start
	await daemon_engine_is_up
	mkdir -p image/usr/local/bin image/usr/bin image/bin image/sbin
	cd image
	echo jq >usr/bin/jq
	chmod 755 usr/bin/jq
	cp usr/bin/jq usr/local/bin/jq
	ln -s jq usr/bin/python3
	echo no >usr/bin/git
	ln -s nowhere usr/bin/rg
	mkdir usr/bin/awk
	cp usr/bin/jq bin/node
	cp usr/bin/jq bin/unknown
	chmod 700 sbin
	cp usr/bin/jq sbin/go
	ln -s usr/bin usr/sbin
	# No directories: a FIFO, a loop, a file; and one of a language.
	mkdir -p opt/venv usr/local/cargo usr/local/go/bin opt/java/openjdk
	mkfifo opt/venv/bin
	ln -s bin usr/local/cargo/bin
	echo no >opt/java/openjdk/bin
	cp usr/bin/jq usr/local/go/bin/go
	ln -s sh bin/sh
	tar -cf ../programs.tar .
	cd ..
	atf_check -o ignore "$CTL" image import "tools-programs-$$" \
	    programs.tar
	box -I "tools-programs-$$"
	ok describe
	is 'r["programs"] == {"go": "/usr/local/go/bin/go",
	    "jq": "/usr/local/bin/jq", "node": "/bin/node",
	    "python3": "/usr/bin/python3"}'
	is 'r["formats"]["json"] == ["jq", "python3", "node"] and
	    r["formats"]["ini"] == ["python3"] and "yaml" not in r["formats"]'
	is '"execute" not in r["tools"] and r["network"] is False'
	# Who has heard enough is told no more.
	atf_check -o inline:'2 cancelled\n' "$(atf_get_srcdir)/h_programs" \
	    "$SOCK" "$BOX" 2
	atf_check -o inline:'4 all\n' "$(atf_get_srcdir)/h_programs" \
	    "$SOCK" "$BOX" 5
	"$CTL" delete "$BOX"
	# What stands in for another is told instead.
	cp image/usr/bin/jq image/bin/js-exec
	tar -cf programs.tar -C image .
	atf_check -o ignore "$CTL" image import "tools-programs2-$$" \
	    programs.tar
	box -I "tools-programs2-$$"
	ok describe
	is '"node" not in r["programs"] and r["formats"]["json"] ==
	    ["jq", "python3"] and r["programs"]["js-exec"] == "/bin/js-exec"'
	"$CTL" delete "$BOX"
	daemon_stop
}
describe_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case busybox
	atf_add_test_case execute
	atf_add_test_case scratch
	atf_add_test_case describe
}
