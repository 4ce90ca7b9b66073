"""The cases of contract.py: by block, each with the titles of the suites."""

import json
import os
import tempfile

from contract import case
from driver import b64, need, output

EVERY = bytes(range(256))
ODD = "it's \"q\" $x `y` \\n ;&|<> {a} #"


# --- lifecycle and command execution

@case("lifecycle", "J id is a non-empty string", "J running after create",
      "J not running after close", "P re-attach by id", "P env at create",
      "P workdir", "P labels of 64 and 128 bytes")
def lifecycle(b):
    labels = {"case%d" % i: "x" * 128 for i in range(4)}
    labels["k" * 64] = "two"
    all = b.s.good("create", wait=1, labels=labels, workdir="/tmp",
                   env={"GREETING": "two words"})
    name = all[-2]["sandbox"]["id"]
    need(name and all[-2]["sandbox"]["state"] == "ready", all)
    x = b.s.good("tool_execute", sandbox=name,
                 command="echo \"$GREETING\"; pwd")
    need(x[0]["tool_execute"]["output"] == "two words\n/tmp\n", x)
    for want, n in [(labels, 1), ({"case1": "x" * 128, "k" * 64: "two"}, 1),
                    ({"case1": "x" * 128, "k" * 64: "one"}, 0)]:
        need(len(b.s.good("list", labels=want)) == n + 1, want)
    all = b.s.call("create", wait=1, id=name)
    need(all[-1]["error"]["code"] == "already_exists", all)
    all = b.s.call("tool_execute", sandbox="nosuch", command="echo hi")
    need(all[-1]["error"]["code"] == "not_found", all)
    b.s.good("delete", id=name, wait=1)
    for _ in range(2):
        all = b.s.call("tool_execute", sandbox=name, command="echo hi")
        need(all[-1]["error"]["code"] in ("not_found", "wrong_state"), all)
        b.s.good("delete", id=name, wait=1)


def answers(b, command, output, code=0, **members):
    x = b.sh(command, **members)
    need((x["output"], x["exit_code"], x["truncated"]) ==
         (output, code, False), command, x)


@case("execute", "J echo", "J exit 42", "J several lines",
      "J variable set and used in one line", "J fresh shell each time")
def execute(b):
    answers(b, "echo hi", "hi\n")
    answers(b, "exit 42", "", 42)
    answers(b, "echo one; echo two; printf three", "one\ntwo\nthree")
    answers(b, "A=1; export A; cd /; echo $A", "1\n")
    answers(b, "echo \"$A\"; pwd", "\n/workspace\n")


@case("execute", "J stderr seen", "J unknown command", "P signal is 128+n",
      "P empty stdin", "P background process")
def execute_ends(b):
    answers(b, "echo out; echo err >&2; echo out", "out\nerr\nout\n")
    need(b.sh("nonexistent_command")["exit_code"] == 127)
    answers(b, "kill -9 $$", "", 137)
    answers(b, "cat; echo done", "done\n")
    # It runs yet when that is answered, and this.
    answers(b, "sleep 3973 & echo hi", "hi\n")
    x = b.sh("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")
    need("sleep 3973" in x["output"], x)


@case("execute", "P timeout answers 124", "P nothing is left of it")
def execute_timeout(b):
    x = b.sh("echo a; sleep 3971", timeout=200)
    need((x["output"], x["exit_code"], x["timed_out"]) ==
         ("a\n", 124, True), x)
    x = b.sh("for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; "
             "done 2>/dev/null | grep '^[s]leep 3971'")
    need(x["output"] == "", x)


@case("execute", "J abort", "P abort ends what it has begun")
def execute_abort(b):
    seen = ("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | "
            "grep -c '[s]leep 3979'")
    n = b.s.send("tool_execute", sandbox=b.name,
                 command="sleep 3979 & sleep 3979")
    b.sh("until [ $(%s) != 0 ]; do sleep 0.1; done" % seen, timeout=60000)
    b.s.good("cancel", request=n)
    all = b.s.over(n)
    need("cancelled" in all[-1] or
         all[0]["tool_execute"]["exit_code"] != 0, all)
    x = b.sh("until [ $(%s) = 0 ]; do sleep 0.1; done" % seen, timeout=60000)
    need(x["exit_code"] == 0 and not x["timed_out"], x)


@case("execute", "P execute_large_stdout_payload",
      "P aexecute_large_stdout_payload", "P 16 at once")
def execute_large(b):
    big = "awk 'BEGIN { for (i = 0; i < 51200; i++) print \"%dxxxxxxxx\" }'"
    ids = [b.s.send("tool_execute", sandbox=b.name, command=big % i)
           for i in range(1, 6)]
    for i, n in enumerate(ids, 1):
        x = b.s.over(n)[0]["tool_execute"]
        need(x["output"] == ("%dxxxxxxxx\n" % i) * 51200 and
             not x["truncated"] and x["exit_code"] == 0, i)
    ids = [b.s.send("tool_execute", sandbox=b.name,
                    command="echo %d; exit %d" % (i, i)) for i in range(16)]
    for i, n in enumerate(ids):
        x = b.s.over(n)[0]["tool_execute"]
        need((x["output"], x["exit_code"]) == ("%d\n" % i, i), x)


@case("execute", "P execute_large_stdout_payload by python", kind="python")
def execute_python(b):
    x = b.sh("python -c \"import sys; sys.stdout.write('x' * 512000)\"")
    need(x["output"] == "x" * 512000 and not x["truncated"], x["size"])
    x = b.sh("python3 -c 'import json; print(json.dumps({\"a\": [1]}))'")
    need(json.loads(x["output"]) == {"a": [1]}, x)


@case("execute", "P output cap", "P capped output is kept",
      "P NUL and non-UTF-8 output")
def execute_cap(b):
    x = b.sh("i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i + 1)); done; "
             "exit 7", max=1000)
    need(len(x["output"]) == 1000 and x["truncated"] and
         x["exit_code"] == 7, x)
    need(b.cat(x["file"], offset=1999) == "1999\n", x)
    need(b.sh("printf 'a\\0b\\377'")["output"] == {"base64": "YQBi/w=="})


@case("execute", "P 402218 byte command", "P 135546 byte command")
def execute_long(b):
    for n in (402218, 135546):
        text = "x" * (n - 12)
        x = b.sh("printf %s '" + text + "'")
        need(x["output"] == text and x["exit_code"] == 0, n, x["size"])


# --- write, upload, download

WRITES = [
    ("J new", "P write_new_file", "new", "text\n"),
    ("J parents", "P write_creates_parent_dirs", "a/b/c/d", "deep"),
    ("J shell characters", "P write_special_characters", "odd", ODD),
    ("J empty", "P write_empty_file", "empty", ""),
    ("J spaces", "P write_path_with_spaces", "a b/c d", "x"),
    ("J unicode", "P write_unicode_content", "\u00fc\u4e16.txt",
     "\u00fc \u4e16\u754c \U0001f600\n"),
    ("J repeated slashes", "P write_consecutive_slashes_in_path", "x///y//z",
     "x"),
    ("J 1000 lines", "P write_very_long_content", "long",
     "".join("line %d\n" % i for i in range(1000))),
    ("J only newlines", "P write_content_with_only_newlines", "nl", "\n\n\n"),
]
for js, py, path, text in WRITES:
    @case("write", js, py)
    def write(b, path=path, text=text):
        need(b.put(path, text) == {"path": b.at(path), "created": True,
             "size": len(text.encode())}, path)
        b.same(path, text)


@case("write", "J overwrite", "P write over a file keeps its mode",
      "P write to /large_tool_results or an artifacts root")
def overwrite(b):
    b.put("f", "old and longer")
    b.sh("chmod 750 f", dir=b.dir)
    need(b.put("f", "new")["created"] is False)
    need(b.cat("f") == "new")
    answers(b, "ls -l f | cut -c 1-10", "-rwxr-x---\n", dir=b.dir)
    b.put("/tmp/large_tool_results/x", "y")
    need(b("write", "/proc/x", data="") in
         ("permission_denied", "file_not_found", "read_only"))


@case("upload", "J upload then cat", "J download",
      "J three files in one upload", "P upload_single_file",
      "P download_single_file", "P upload_download_roundtrip",
      "P upload_multiple_files_order_preserved",
      "P download_multiple_files_order_preserved",
      "P upload_binary_content_roundtrip",
      "P upload_missing_parent_dir_or_roundtrip")
def upload(b):
    paths = [b.at(p) for p in ("one", "new/two", "t h[r]ee'\"")]
    data = [b64(d) for d in (b"1", EVERY * 4, b"")]
    need(b("upload", paths=paths, contents=data) ==
         [{"path": p, "error": None} for p in paths])
    paths.reverse()
    data.reverse()
    need(b("download", paths=paths) ==
         [{"path": p, "content": d, "error": None}
          for p, d in zip(paths, data)])
    answers(b, "cat one", "1", dir=b.dir)


@case("upload", "J download of a missing file",
      "P download_error_file_not_found", "P download_error_is_directory",
      "P download_error_invalid_path_relative",
      "P upload_relative_path_returns_invalid_path",
      "P partial success in order")
def batch_errors(b):
    b.put("d/f", "x")
    d = [b.at("d/f"), b.at("no"), b.at("d"), "rel", b.at("d/f")]
    got = b("download", paths=d)
    need([f["error"] for f in got] == [None, "file_not_found",
         "is_directory", "invalid_path", None], got)
    need([f["content"] for f in got] == ["eA==", None, None, None, "eA=="])
    got = b("upload", paths=[b.at("1"), "rel", b.at("d"), b.at("2")],
            contents=["eA=="] * 4)
    need([f["error"] for f in got] == [None, "invalid_path", "is_directory",
         None], got)
    below = [b.at("d/f/x"), b.at("1/y")]
    got = b("upload", paths=below, contents=["eA=="] * 2)
    need([f["error"] for f in got] == ["not_directory"] * 2, got)
    got = b("download", paths=below)
    need([(f["error"], f["content"]) for f in got] ==
         [("not_directory", None)] * 2, got)


@case("upload", "P download_error_permission_denied",
      "P upload to /etc is refused", "P edit, read, ls without permission",
      user="user")
def permission(b):
    b.put("s", "secret")
    b.sh("chmod 000 s; mkdir d; chmod 000 d", dir=b.dir)
    got = b("download", paths=[b.at("s")])[0]
    need((got["error"], got["content"]) == ("permission_denied", None), got)
    got = b("upload", paths=["/etc/x"], contents=["eA=="])[0]
    need(got["error"] in ("permission_denied", "read_only"), got)
    need(b("read", "s") == "permission_denied")
    need(b("edit", "s", old="a", new="b") == "permission_denied")
    need(b("ls", "d") == "permission_denied")
    x = b("grep", ".", pattern="secret")
    need(x["matches"] == [] and x["denied"], x)
    x = b("glob", ".", pattern="d/**")
    need(x["files"] == [] and x["denied"], x)
    need(b("write", "d/x", data="") == "permission_denied")
    need(b("delete", "d") == "permission_denied")
    b.sh("chmod 700 d", dir=b.dir)


@case("large", "P upload_large_file_reports_expected_size",
      "P aupload_adownload_large_file_roundtrip",
      "P awrite_aread_large_text_payload",
      "P aread_large_text_payload_paginated_roundtrip",
      "P adownload_large_text_payload_roundtrip", user="user")
def large(b):
    line = "0123456789" * 10 + "\u4e16\"\\\t\n"
    text = (line * 100000).encode()[:10 << 20]
    n = b.s.send("tool_write", sandbox=b.name, path=b.at("big"), input=1)
    for i in range(0, len(text), 700000):
        b.s.good("input", request=n, data=b64(text[i:i + 700000]))
    b.s.good("input", request=n, end=1)
    need(b.s.over(n)[0]["tool_write"]["size"] == len(text))
    answers(b, "wc -c <big", "%d\n" % len(text), dir=b.dir)
    got, offset = "", 0
    while offset is not None:
        x = b("read", "big", offset=offset, limit=4000)
        got += x["content"]
        offset = x.get("next_offset")
    need(got.encode() == text or
         got == text.decode(errors="ignore"), len(got), len(text))
    n = b.s.send("tool_download", sandbox=b.name, paths=[b.at("big")])
    need(b.s.over(n)[0]["tool_download"]["content"] == b64(text))


# --- read

@case("read", "J basic", "P read_basic_file", "J missing",
      "P read_nonexistent_file", "J empty", "P read_empty_file", "J unicode",
      "P read_unicode_content", "P a directory is refused",
      "P read_path_is_sanitized")
def read(b):
    b.put("f", "one\ntwo\n\u4e16 three\n")
    x = b("read", "f")
    need((x["content"], x["start_line"], x["end_line"], x["total_lines"],
          x["truncated"], "next_offset" in x) ==
         ("one\ntwo\n\u4e16 three\n", 1, 3, 3, False, False), x)
    need(b("read", "no") == "file_not_found")
    b.put("e", "")
    need((b.cat("e"), b("read", "e")["total_lines"]) == ("", 0))
    need(b("read", ".") == "is_directory")
    need(b("read", "f'; touch /tmp/pwned; '") == "file_not_found")
    need(b.sh("test -e /tmp/pwned")["exit_code"] == 1)


@case("read", "J offset", "P read_with_offset", "J limit",
      "P read_with_limit", "J both", "P read_with_offset_and_limit",
      "J limit 0", "P read_with_zero_limit", "J offset beyond",
      "P read_offset_beyond_file_length", "J offset at end",
      "P read_offset_at_exact_file_length", "J numbered lines")
def read_window(b):
    b.put("f", "".join("l%d\n" % i for i in range(1, 11)))
    need(b.cat("f", offset=8) == "l9\nl10\n")
    x = b("read", "f", limit=2)
    need((x["content"], x["next_offset"]) == ("l1\nl2\n", 2), x)
    need(b.cat("f", offset=4, limit=2) == "l5\nl6\n")
    need(b.cat("f", limit=0) == "")
    for n in (10, 11, 1000):
        x = b("read", "f", offset=n)
        need(x["content"] == "" and "next_offset" not in x and
             x["total_lines"] == 10, x)
    need(b.cat("f", offset=9, number=1) == "    10\tl10\n")


@case("read", "J 3000-character line", "P read_file_with_very_long_lines",
      "J chunks of a 1000-line file", "P read_very_large_file_in_chunks",
      "P page cap 512000 bytes")
def read_long(b):
    b.put("f", "x" * 3000 + "\nshort\n")
    need(b.cat("f") == "x" * 3000 + "\nshort\n")
    text = "".join("line %d\n" % i for i in range(1000))
    b.put("g", text)
    need("".join(b.cat("g", offset=i, limit=100)
                 for i in range(0, 1000, 100)) == text)
    b.put("h", "y" * 99 + "\n" + ("y" * 99 + "\n") * 5999)
    x = b("read", "h", limit=10000)
    need((len(x["content"]), x["next_offset"]) == (512000, 5120), x)
    b.put("i", "z" * 600000)
    x = b("read", "i")
    need(x["truncated"] and len(x["content"]) <= 512000, len(x["content"]))


@case("read", "P read_binary_file", "P read_binary_file_100_kib",
      "P read_binary_file_1_mib_returns_error", "P aread_binary_image_file",
      "P not UTF-8 is base64", "P CRLF")
def read_binary(b):
    for n in (1, 400):
        b.put("f.png", EVERY * n)
        x = b("read", "f.png")
        need((x["encoding"], x["content"]) == ("base64", b64(EVERY * n)), n)
    b.put("g.png", b"x" * 10)
    need(b("read", "g.png")["encoding"] == "base64")
    b.put("h.txt", b"a\xffb")
    need(b("read", "h.txt")["content"] == b64(b"a\xffb"))
    data = EVERY * 2000
    n = b.s.send("tool_write", sandbox=b.name, path=b.at("i.png"), input=1)
    b.s.good("input", request=n, data=b64(data), end=1)
    b.s.over(n)
    b.sh("cat i.png i.png >j.png", dir=b.dir)
    need(b("read", "j.png") == "too_large")
    b.put("crlf", "a\r\nb\r\n")
    # Byte for byte: an adapter makes of it what its language wants.
    x = b("read", "crlf", offset=1, limit=1)
    need((b.cat("crlf"), x["content"], x["total_lines"]) ==
         ("a\r\nb\r\n", "b\r\n", 2), x)


# --- edit

EDITS = [
    (["J one", "P edit_single_occurrence"], "a b c", "b", "x", 0, 1, "a x c"),
    (["J several refused and file untouched",
      "P edit_multiple_occurrences_without_replace_all"],
     "a b b", "b", "x", 0, "conflict", "a b b"),
    (["J all", "P edit_multiple_occurrences_with_replace_all"],
     "a b b", "b", "x", 1, 2, "a x x"),
    (["J not found", "P edit_string_not_found"],
     "a", "b", "x", 0, "not_found", "a"),
    (["J special characters", "P edit_special_characters"],
     "a.*[b]$c", ".*[b]$", ODD, 0, 1, "a" + ODD + "c"),
    (["J multi-line", "P edit_multiline_support"],
     "1\n2\n3\n", "1\n2", "x\ny\nz", 0, 1, "x\ny\nz\n3\n"),
    (["J delete text"], "a b c", " b", "", 0, 1, "a c"),
    (["J equal strings"], "a b", "b", "b", 0, 1, "a b"),
    (["J unicode"], "\u4e16\u754c", "\u754c", "\U0001f600", 0, 1,
     "\u4e16\U0001f600"),
    (["J blanks"], "a  b\t", "  b\t", " ", 0, 1, "a "),
    (["J 1000 characters"], "x" * 999 + "y" * 1000, "y" * 1000, "z", 0, 1,
     "x" * 999 + "z"),
    (["J line endings"], "a\r\nb\r\n", "a\r\n", "c\r\n", 0, 1,
     "c\r\nb\r\n"),
    (["J inside a line"], "abc", "b", "", 0, 1, "ac"),
    (["P overlapping occurrences are not"], "aaaa", "aa", "b", 1, 2, "bb"),
    (["P empty old string of an empty file"], "", "", "new", 0, 1, "new"),
    (["P empty old string of another"], "x", "", "new", 0,
     "invalid_argument", "x"),
    (["P edit over the inline limit"], "a" + "\u4e16" * 20000, "\u4e16" *
     20000, "\u754c" * 40000, 0, 1, "a" + "\u754c" * 40000),
]
for titles, text, old, new, every, want, after in EDITS:
    @case("edit", *titles)
    def edit(b, text=text, old=old, new=new, every=every, want=want,
             after=after):
        b.put("f", text)
        b.sh("chmod 640 f", dir=b.dir)
        x = b("edit", "f", old=old, new=new, all=every)
        need((x["occurrences"] if isinstance(x, dict) else x) == want, x)
        b.same("f", after)
        answers(b, "ls -l f | cut -c 1-10", "-rw-r-----\n", dir=b.dir)


@case("edit", "J not found file", "P edit_nonexistent_file",
      "P a directory is refused")
def edit_missing(b):
    need(b("edit", "no", old="a", new="b") == "file_not_found")
    b.put("d/f", "")
    need(b("edit", "d", old="a", new="b") == "is_directory")


CRLF = [("a\r\nb\r\n", "a\nb", "c\nd", "c\r\nd\r\n"),
        ("a\nb\n", "a\r\nb", "c\r\nd", "c\nd\n"),
        ("a\r\nb\n", "a\r\nb", "c", "c\n"),
        ("a\nb\n", "a\nb", "c", "c\n"),
        ("a\r\nb\r\n", "a\r\nb", "c", "c\r\n"),
        ("a\nb\r\n", "b\r\n", "c\r\n", "a\nc\r\n"),
        ("a\r\nb\r\n", "b\n", "", "a\r\n"),
        ("a\r\nb\r\n", "b", "x\ny", None),
        ("a\r\nb", "a\nb\n", "x", "not_found"),
        ("a\r\nb\r\na\r\nb", "a\nb", "x", "conflict"),
        ("a\rb", "a\nb", "x", "not_found")]
for text, old, new, after in CRLF:
    @case("edit", "P CRLF of %r in %r" % (old, text))
    def crlf(b, text=text, old=old, new=new, after=after):
        b.put("f", text)
        x = b("edit", "f", old=old, new=new, crlf=1)
        if after in ("not_found", "conflict"):
            need(x == after, x)
            b.same("f", text)
            return
        need(isinstance(x, dict) and x["occurrences"] == 1, x)
        # What has no line end to be found by is put in as it is.
        b.same("f", "a\r\nx\ny\r\n" if after is None else after)


@case("edit", "P bytes that are no UTF-8 stay", "P an edited link stays one")
def edit_odd(b):
    b.put("f", b"a\xff one \x80")
    b.sh("ln -s f l", dir=b.dir)
    need(b("edit", "l", old="one", new="two")["occurrences"] == 1)
    b.same("f", b"a\xff two \x80")
    answers(b, "[ -L l ] && cat f | wc -c", "8\n", dir=b.dir)


# --- ls

@case("ls", "J absolute paths", "J files and folders", "P ls_lists_files",
      "P ls_lists_nested_directories", "J hidden", "J spaces", "J unicode",
      "P ls_unicode_filenames", "J brackets",
      "P ls_special_characters_in_filenames", "J trailing slash",
      "P ls_path_with_trailing_slash")
def ls(b):
    names = [".hidden", "a b", "b[1]", "c'\"$x", "d\ne", "\u00fc\u4e16"]
    for n in names:
        b.put(n, "1234")
    b.put("dir/f", "")
    want = sorted(names + ["dir"], key=str.encode)
    need(b.names("ls", ".") == want, b.names("ls", "."))
    need(b.names("ls", b.dir + "/") == want)
    x = b("ls", ".")["files"]
    need([f["path"] for f in x if f["is_dir"]] == ["dir"], x)
    need({f["size"] for f in x if not f["is_dir"]} == {4}, x)
    need(all(len(f["modified_at"]) == 20 for f in x), x)


@case("ls", "J empty", "J missing", "J 50 files", "P ls_large_directory",
      "P not_a_directory", "P ls_path_is_sanitized",
      "J symlinks followed, dangling ones listed as files")
def ls_odd(b):
    b.sh("mkdir -p \"$P/e\" \"$P/m\" && cd \"$P/m\" && "
         "for i in $(seq 250); do : >f$i; done; "
         "mkdir ../l; ln -s ../e ../l/dir; ln -s no ../l/none",
         env={"P": b.dir})
    need(b.names("ls", "e") == [])
    need(b("ls", "no") == "file_not_found")
    need(len(b.names("ls", "m")) == 250)
    need(b("ls", "m/f1") == "not_directory")
    need(b("ls", "e'; echo pwned; '") == "file_not_found")
    x = b("ls", "l")["files"]
    need([(f["path"], f["is_dir"]) for f in x] ==
         [("dir", True), ("none", False)], x)


# --- grep

@case("grep", "J basic", "P grep_basic_search", "J with glob",
      "P grep_with_glob_pattern", "J none", "P grep_no_matches",
      "J several in a file", "P grep_multiple_matches_per_file",
      "J line number", "P grep_reports_correct_line_numbers", "J nested",
      "P grep_across_nested_directories",
      "P grep_with_globstar_include_pattern", "P max_count exactly")
def grep(b):
    b.put("a.py", "x\nfind me\n\nfind me 2\n")
    b.put("b.txt", "find me\n")
    b.put("d/e/c.py", "\n\nfind me\n")
    hits = [("a.py", 2, "find me"), ("a.py", 4, "find me 2"),
            ("b.txt", 1, "find me"), ("d/e/c.py", 3, "find me")]
    need(b.found("find me") == hits, b.found("find me"))
    need(b.found("find me", filter="*.py") == [hits[i] for i in (0, 1, 3)])
    need(b.found("find me", filter="d/**/*.py") == hits[3:])
    need(b.found("nothing") == [])
    need(not b("grep", ".", pattern="find me", max=4)["truncated"])
    x = b("grep", ".", pattern="find me", max=3)
    need(x["truncated"] and len(x["matches"]) == 3, x)


@case("grep", "J literal", "P grep_literal",
      "P grep_literal_string_matching", "J unicode",
      "P grep_unicode_pattern", "J case", "P grep_case_sensitivity",
      "J special characters", "P grep_with_special_characters",
      "J empty folder", "P grep_empty_directory", "P missing root",
      "P a colon in a name", "J binary files dropped")
def grep_odd(b):
    b.put("a:b 1", "a.b*c[d]\naxbc\n" + ODD + "\nWord\n\u4e16\u754c\n-x\n")
    b.put("bin", b"Word\0\n")
    b.sh("mkdir \"$P/e\"", env={"P": b.dir})
    for n, p in enumerate(("a.b*c[d]", None, ODD, "Word", "\u754c", "-x")):
        if p is not None:
            need([m[:2] for m in b.found(p)] == [("a:b 1", n + 1)], p)
    need(b.found("word") == [])
    need(len(b.found("word", icase=1)) == 1)
    need(len(b.found("^a.b", regex=1)) == 2)
    need(b.found("Word", "e") == [])
    need(b("grep", "no", pattern="x") == "file_not_found")


# --- glob

@case("glob", "J *", "J **", "P glob_recursive_pattern", "J none",
      "P glob_no_matches", "J folders too", "P glob_with_directories",
      "J extension", "P glob_basic_pattern", "J hidden by pattern",
      "P glob_hidden_files_explicitly", "J class",
      "P glob_with_character_class", "J ?", "P glob_with_question_mark",
      "J two patterns", "J deep", "P braces", "P [^ equals [!",
      "P files only", "P any depth", "P leading dot only when spelled",
      "P truncated")
def glob(b):
    for n in ("a1.py", "a2.py", "b1.txt", ".h.py", "d/c.py", "d/e/f/g.py"):
        b.put(n, "x")
    for pattern, members, want in [
            ("*", {}, ".h.py a1.py a2.py b1.txt d"),
            ("*.py", {}, ".h.py a1.py a2.py"),
            ("*.py", {"nodot": 1}, "a1.py a2.py"),
            ("**/*.py", {"nodot": 1}, "a1.py a2.py d/c.py d/e/f/g.py"),
            ("*.py", {"nodot": 1, "anydepth": 1},
             "a1.py a2.py d/c.py d/e/f/g.py"),
            ("**", {"files": 1},
             ".h.py a1.py a2.py b1.txt d/c.py d/e/f/g.py"),
            (".*", {}, ".h.py"), ("a[1-9].py", {}, "a1.py a2.py"),
            ("a[!1].py", {}, "a2.py"), ("a[^1].py", {}, "a2.py"),
            ("?1.*", {}, "a1.py b1.txt"), ("d/**/g.py", {}, "d/e/f/g.py"),
            ("{a1,b1}.{py,txt}", {}, "a1.py b1.txt"), ("*.no", {}, "")]:
        got = b.names("glob", ".", pattern=pattern, **members)
        need(" ".join(got) == want, pattern, members, got)
    x = b("glob", ".", pattern="**", max=2)
    need(len(x["files"]) == 2 and x["truncated"], x)
    # Neither what a link leads to, nor what is no file of the image's.
    b.sh("ln -s / out; ln -s a1.py in", dir=b.dir)
    need(b.names("glob", ".", pattern="out/**") == [])
    need(b.names("glob", ".", pattern="in") == ["in"])
    for d in ("proc", "sys", "dev"):
        need(b.names("glob", "/", pattern=d + "/**", max=1) == [], d)
    need(b("glob", ".", pattern="../*") == "invalid_argument")
    need(b("glob", "no", pattern="*") == "file_not_found")


# --- initial files, delete, and all of them in a row

@case("initialFiles", "J two files", "J nested", "J empty map",
      "J via read", "J via download", "J run as script", "J via ls")
def initial(b):
    paths = [b.at("run.sh"), b.at("in/er/f")]
    need([f["error"] for f in b("upload", paths=paths, contents=[
         b64(b"#!/bin/sh\necho ran $1\n"), b64(b"text")])] == [None, None])
    need(b("upload", paths=[], contents=[]) == [])
    need(b.cat("in/er/f") == "text")
    need(b("download", paths=paths)[1]["content"] == b64(b"text"))
    answers(b, "sh run.sh x", "ran x\n", dir=b.dir)
    need(b.names("ls", ".") == ["in", "run.sh"])


def ctl(b, *argv):
    """A command of sandboxctl: its output, and its status."""
    all = b.s.good("ctl", argv=list(argv))
    return output(all, 1), [a["exited"]["code"] for a in all
                            if "exited" in a][0]


@case("initialFiles", "J by create", "P setup script",
      "P failing setup script leaves no sandbox", "P readiness")
def initial_create(b):
    box = b.s.good("show", id=b.name)[0]["sandbox"]
    opts = ["-I", box["image"]] + ["-u", "root"] * (b.user == "root")
    with tempfile.TemporaryDirectory() as d:
        os.mkdir(d + "/in")
        with open(d + "/in/run.sh", "wb") as f:
            f.write(b"echo ran $1 >told\n")
        opts += ["-C", d + "/in:a/b", "-C", d + "/in/run.sh:one"]
        for last, ok in [("sh a/b/run.sh x", 1), ("sh one; exit 4", 0)]:
            name = "c%d-%s-%d" % (os.getpid(), b.kind, ok)
            _, code = ctl(b, "create", "-i", name, *opts, "-P", last)
            need((code == 0) == ok, code)
            all = b.s.call("tool_read", sandbox=name, path="told")
            if ok:
                need(all[0]["tool_read"]["content"] == "ran x\n", all)
                b.s.good("delete", id=name, wait=1)
            else:
                need(all[-1]["error"]["code"] == "wrong_state", all)


@case("delete", "P tree", "P dangling link", "P missing is not found",
      "P not what a link leads to")
def delete(b):
    b.put("d/e/f", "x")
    b.put("keep/f", "x")
    b.sh("ln -s no l; ln -s ../keep d/k", dir=b.dir)
    need(b("delete", "l")["deleted"] == 1)
    need(b("delete", "d")["deleted"] == 4)
    need(b.names("ls", ".") == ["keep"] and b.names("ls", "keep") == ["f"])
    need(b("delete", "d") == "file_not_found")


@case("integration", "J write-read-edit-read", "J tree with ls, glob, grep",
      "P write_read_download_large_text_with_escaped_content",
      "P awrite_aread_adownload_large_text_with_escaped_content")
def integration(b):
    b.put("src/main.py", "def f():\n    return 1\n")
    need("return 1" in b.cat("src/main.py"))
    b("edit", "src/main.py", old="return 1", new="return 2")
    need("return 2" in b.cat("src/main.py"))
    need(b.names("ls", ".") == ["src"])
    need(b.names("glob", ".", pattern="**/*.py") == ["src/main.py"])
    need(b.found("return 2") == [("src/main.py", 2, "    return 2")])
    text = (ODD + "\t\\u0000 \u4e16\n") * 10000
    b.put("esc", text)
    need(b.cat("esc", limit=10000)[:1000] == text[:1000])
    b.same("esc", text)
