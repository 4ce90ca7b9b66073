"""cases.py case ctl [argument ...]: a session's cases on a real daemon."""

import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from driver import Failed, Session, b64, need, outcome, output  # noqa: E402


def commands(s, box):
    """Plain requests, and the text of an error as -j has it."""
    need([k for a in s.good("ping") for k in a] == ["id", "end"])
    show = s.good("show", id=box)
    need(show[0]["sandbox"]["id"] == box, show)
    need(any("control" in a for a in show), show)
    need(box in [a["sandbox"]["id"] for a in s.good("list")[:-1]])
    need("status_info" in s.good("status")[-2])
    need(s.good("version")[0]["version"]["sandboxctl"])
    for name in ("rules", "doctor", "log_verify"):
        need(len(s.good(name)) > 1, name)
    made = s.good("create", labels={"a": "b"}, wait=1)
    need(made[1]["sandbox"]["state"] == "ready", made)
    other = made[1]["sandbox"]["id"]
    need(len(s.good("list", labels={"a": "b"})) == 2)
    need(s.good("stop", id=other, wait=True)[1]["sandbox"]["state"] ==
         "stopped")
    need(s.good("wait_state", id=other, states=["stopped"]))
    s.good("delete", id=other, wait=1)
    # What it is given comes before it is ready.
    made = s.good("create", wait=1, hold=1)
    need(made[1]["sandbox"]["state"] == "pending", made)
    other = made[1]["sandbox"]["id"]
    s.good("tool_write", sandbox=other, path="a/b", data=b64(b"given"))
    e = s.call("exec", sandbox=other, argv=["true"])[-1]["error"]
    need(e["code"] == "wrong_state", e)
    made = s.good("resume", id=other, wait=1)
    need(made[1]["sandbox"]["state"] == "ready", made)
    need(s.run(other, "cat", "a/b")[0] == b"given")
    s.good("delete", id=other, wait=1)
    e = s.call("show", id="no.such")[-1]["error"]
    need(e["code"] == "invalid_argument" and e["field"] == "id", e)
    j = subprocess.run([s.ctl, "-j", "show", "nosuch"], capture_output=True)
    need(('{"id":99,' + j.stderr.decode()[1:]).encode() ==
         s.line("show", 99, id="nosuch"), j.stderr)


def execs(s, box):
    """Output, input, ends, signals, detached ones and their logs."""
    out, err, info = s.run(box, "printf", "a")
    need(out == b"a" and err == b"", out, err)
    out, err, info = s.run(box, "sh", "-c", "printf out; printf err >&2; "
                           "exit 3")
    need((out, err, info["state"], info["code"]) ==
         (b"out", b"err", "exited", 3), out, err, info)
    every = bytes(range(256)) * 400
    n = s.send("exec", sandbox=box, argv=["cat"], input=1)
    for i in range(0, len(every), 10000):
        s.good("input", request=n, data=b64(every[i:i + 10000]))
    s.good("input", request=n, end=1)
    out, err, info = outcome(s.over(n))
    need(out == every and info["code"] == 0, info)
    # A name with any byte, both ways.
    name = b"\xff\xfe\x01"
    arg = {"base64": b64(name)}
    all = s.good("exec", sandbox=box, argv=["printf", "%s", arg])
    need(output(all, 1) == name)
    need(all[-2]["exec_info"]["argv"][2] == arg, all[-2])
    acc = s.good("exec", sandbox=box, argv=["sh", "-c", "sleep 1; echo x"],
                 detach=1)
    x = acc[0]["accepted"]["id"]
    need(s.good("wait", exec=x)[0]["exec_info"]["state"] == "exited")
    need(output(s.good("logs", exec=x), 1) == b"x\n")
    need(outcome(s.good("attach", exec=x))[0] == b"x\n")
    n = s.send("exec", sandbox=box, argv=["sleep", "1000"])
    x = s.of(n)["accepted"]["id"]
    s.good("kill", exec=x, signo=9)
    need(outcome(s.over(n))[2]["state"] == "signaled")
    # On a terminal.
    n = s.send("exec", sandbox=box, flags=2 + 16 + 32, rows=7, cols=33,
               argv=["sh", "-c", "stty size; read x; stty size; exit 4"])
    x = s.of(n)["accepted"]["id"]
    first = s.of(n)
    s.good("resize", exec=x, rows=9, cols=44)
    s.good("input", request=n, data=b64(b"k\n"))
    out, err, info = outcome([first] + s.over(n))
    need((out, err, info["code"]) == (b"7 33\r\nk\r\n9 44\r\n", b"", 4), out)
    # Nobody listens there.
    n = s.send("call", sandbox=box, op="connect", count=1, input=1)
    e = s.over(n)[-1]["error"]
    need(e["code"] == "unavailable" and "refused" in e["text"], e)


def cancel(s, box):
    """What is under way, what waits, and what is not there."""
    n = s.send("exec", sandbox=box, argv=["sleep", "1000"])
    need("accepted" in s.of(n))
    s.good("cancel", request=n)
    info = outcome(s.over(n))[2]
    need(info["state"] == "cancelled", info)
    n = s.send("events", follow=1)
    need("event" in s.of(n))
    s.good("cancel", request=n)
    need("cancelled" in s.over(n)[-1])
    n = s.send("wait_state", id=box, states=["stopped"])
    s.good("cancel", request=n)
    need("cancelled" in s.over(n)[-1])
    # Waits for one command, of which one is given up, and one goes on.
    acc = s.good("exec", sandbox=box, argv=["sleep", "1000"], detach=1)
    x = acc[0]["accepted"]["id"]
    gone, kept = s.send("wait", exec=x), s.send("wait", exec=x)
    s.good("cancel", request=gone)
    need(s.over(gone) == [{"id": gone, "cancelled": {}}])
    s.good("kill", exec=x, signo=9)
    need(s.over(kept)[0]["exec_info"]["state"] == "signaled")
    # More than 64 of them are given up, also those that were never sent.
    acc = s.good("exec", sandbox=box, argv=["sleep", "1000"], detach=1)
    x = acc[0]["accepted"]["id"]
    ids = [s.send("wait", exec=x) for _ in range(100)]
    for n in ids:
        s.good("cancel", request=n)
        need("cancelled" in s.over(n)[-1])
    # Their places are free when there is nothing to wait for.
    s.good("kill", exec=x, signo=9)
    need(s.run(box, "echo", "x")[0] == b"x\n")
    e = s.call("cancel", request=n)[-1]["error"]
    need(e["code"] == "not_found" and e["field"] == "request", e)
    s.good("ping")


def many(s, box, count):
    """A thousand requests under way, and commands at once."""
    ids = [s.send("show", id=box) for _ in range(1000)]
    for n in ids:
        need("end" in s.over(n)[-1])
    ids = [s.send("exec", sandbox=box, argv=["sh", "-c", "echo %d" % i])
           for i in range(int(count))]
    for i, n in enumerate(ids):
        need(outcome(s.over(n))[0] == b"%d\n" % i)


def windows(s, box):
    """One that nobody reads holds up no other, and continues by credit."""
    big = s.send("exec", sandbox=box, window=100000,
                 argv=["sh", "-c", "seq 1 200000"])
    got = [s.of(big)]
    data = b""
    while len(data) < 100000:
        a = s.of(big)
        got.append(a)
        data = output(got, 1)
    need(len(data) < 100000 + 65536, len(data))
    for i in range(20):
        need(s.run(box, "echo", "x")[0] == b"x\n")
    need(not [a for a in s.kept if a["id"] == big], "more than its window")
    s.good("credit", request=big, n=1 << 40)
    got += s.over(big)
    need(outcome(got)[0] == b"".join(b"%d\n" % i
                                     for i in range(1, 200001)))
    e = s.call("credit", request=big, n=1)[-1]["error"]
    need(e["code"] == "not_found", e)


def events(s, box):
    """Of a subscription, in order, by credit of its own and ours."""
    n = s.send("events", sandbox=box, follow=1, credit=2, **{"from": 1})
    a = [s.of(n)["event"]["seq"] for _ in range(2)]
    need(a == [1, 2], a)
    for _ in range(30):
        s.run(box, "true")
    need(not [k for k in s.kept if k["id"] == n], "more than its credit")
    s.good("credit", request=n, n=20)
    a = [s.of(n)["event"]["seq"] for _ in range(20)]
    need(a == list(range(3, 23)), a)
    m = s.send("events", sandbox=box, **{"from": 1})
    all = s.over(m)
    need([k["event"]["seq"] for k in all[:-1]] ==
         list(range(1, len(all))), len(all))
    need(len(all) > 60, len(all))


def files(s, box):
    """Written and read whole, by parts, by records; refused and cancelled."""
    every = bytes(range(256))
    name = b"/workspace/a \n\xff"
    path = {"base64": b64(name)}
    all = s.good("call", sandbox=box, op="write", path=path, flags=4,
                 data=b64(every))
    need(all[0]["result"]["count"] == 256, all)
    all = s.good("call", sandbox=box, op="read", path=path, length=-1)
    need(output(all, 1) == every and all[-2]["result"]["out"] == 256)
    all = s.good("call", sandbox=box, op="read", path=path, offset=10,
                 length=5)
    need(output(all, 1) == every[10:15])
    r = s.good("call", sandbox=box, op="stat", path=path)[0]["record"]
    need(r["name"] == path and r["size"] == 256, r)
    # More than fits in a request, and in pipes.
    big = every * 20000
    n = s.send("call", sandbox=box, op="write", path="big", flags=4, input=1)
    for i in range(0, len(big), 400000):
        s.good("input", request=n, data=b64(big[i:i + 400000]))
    s.good("input", request=n, end=1)
    need(s.over(n)[-2]["result"]["count"] == len(big))
    all = s.good("call", sandbox=box, op="read", path="big", length=-1)
    need(output(all, 1) == big)
    e = s.call("call", sandbox=box, op="read", path="/nosuch",
               length=-1)[-1]["error"]
    need(e["code"] == "file_not_found", e)
    n = s.send("call", sandbox=box, op="write", path="half", flags=4, input=1)
    s.good("input", request=n, data=b64(every))
    s.good("cancel", request=n)
    need(s.over(n)[-1]["error"]["code"] == "cancelled")
    e = s.call("call", sandbox=box, op="stat", path="half")[-1]["error"]
    need(e["code"] == "file_not_found", e)


def trees(s, box):
    """A tree copied inside: what is left out as records; given up; ctl."""
    s.run(box, "sh", "-c", "mkdir -p t/d; echo a >t/d/a; mkfifo t/p")
    all = s.good("call", sandbox=box, op="tree_copy", path="t", path2="u")
    need([(a["record"]["name"], a["record"]["code"], a["record"]["target"])
          for a in all[:-2]] == [("p", 22, "a FIFO")], all)
    need((all[-2]["result"]["count"], all[-2]["result"]["count2"]) ==
         (3, 1), all)
    need(s.run(box, "cat", "u/d/a")[0] == b"a\n")
    e = s.call("call", sandbox=box, op="tree_copy", path="t",
               path2="t/d")[-1]["error"]
    need(e["code"] == "invalid_path", e)
    all = s.good("ctl", argv=["cp", "-r", box, "t/d", "t/d/a", "u"])
    need(all[-2]["exited"]["code"] == 0 and output(all, 1) ==
         b'{"path":"u/d","entries":2,"left_out":0}\n'
         b'{"path":"u/a","entries":1,"left_out":0}\n', all)
    # More records than anybody takes: it waits, and is given up.
    s.run(box, "sh", "-c", "mkdir n; cd n; echo >z; x=$(printf %0200d 0); "
          "for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do mkdir $x; cd $x; "
          "done; i=0; while [ $i -lt 1000 ]; do mkfifo $i; i=$((i + 1)); done")
    n = s.send("call", sandbox=box, op="tree_copy", path="n", path2="m",
               window=1)
    need("record" in s.of(n))
    s.good("cancel", request=n)
    need(s.over(n)[-1]["error"]["code"] == "cancelled")
    e = s.call("call", sandbox=box, op="stat", path="m/z")[-1]["error"]
    need(e["code"] == "file_not_found", e)
    all = s.good("call", sandbox=box, op="tree_copy", path="n", path2="m",
                 window=1 << 30)
    need(len(all) == 1002 and (all[-2]["result"]["count"],
         all[-2]["result"]["count2"]) == (18, 1000), all[-2:])


def tools(s, box):
    """The tools of an agent, as sandboxctl tool has them."""
    def tool(name, **members):
        all = s.good("tool_" + name, sandbox=box, **members)
        got = [a["tool_" + name] for a in all[:-1]]
        return got[0] if len(got) == 1 else got

    def bad(name, **members):
        all = s.call("tool_" + name, sandbox=box, **members)
        need("error" in all[-1], all)
        return all[-1]["error"]["code"]

    every = bytes(range(256)) * 1000
    need(tool("write", path="a/all", data=b64(every)) ==
         {"path": "a/all", "size": 256000, "created": True})
    n = s.send("tool_write", sandbox=box, path="a/all", input=1)
    for i in range(0, len(every), 10000):
        s.good("input", request=n, data=b64(every[i:i + 10000]))
    s.good("input", request=n, end=1)
    need(s.over(n)[0]["tool_write"]["created"] is False)
    tool("write", path="t", data=b64(b"one\ntwo\nthree\n"))
    need(tool("read", path="t", offset=1, limit=1, number=1)["content"] ==
         "     2\ttwo\n")
    need(tool("read", path="t", limit=0)["content"] == "")
    need(tool("read", path="t")["total_lines"] == 3)
    need(tool("edit", path="t", old="two", new="2")["occurrences"] == 1)
    big = "x" * 200000
    tool("edit", path="t", old="2", new=big)
    need(tool("edit", path="t", old=big, new="2")["occurrences"] == 1)
    need(bad("edit", path="t", old="e", new="") == "conflict")
    need(tool("edit", path="t", old="e", new="", all=1)["occurrences"] == 3)
    need([f["path"] for f in tool("ls")["files"]] == ["a", "t"])
    need([f["path"] for f in tool("glob", pattern="**", files=1)["files"]] ==
         ["a/all", "t"])
    need(tool("grep", pattern="^thr$", regex=1)["matches"] ==
         [{"path": "t", "line": 3, "text": "thr"}])
    paths = ["rel", "/workspace/u/1", "/workspace/a", "/workspace/u/2",
             "x"]
    every = every[:100000]
    need([f["error"] for f in
          tool("upload", paths=paths, contents=[b64(every)] * 5)] ==
         ["invalid_path", None, "is_directory", None, "invalid_path"])
    down = tool("download", paths=["/nothing"] + paths)
    need([f["error"] for f in down] ==
         ["file_not_found", "invalid_path", None, "is_directory", None,
          "invalid_path"], down)
    need([f["path"] for f in down] == ["/nothing"] + paths)
    need([f["content"] == b64(every) for f in down] ==
         [False, False, True, False, True, False])
    need(bad("upload", paths=["/a"], contents=[]) == "invalid_argument")
    need(bad("upload", paths=["/a"], contents=["x"]) == "invalid_argument")
    need(s.good("tool_download", sandbox=box, paths=[])[0].get("end"))
    need(tool("delete", path="u")["deleted"] == 3)
    need(bad("delete", path="u") == "file_not_found")
    need(bad("read", path="a", mode=1) == "invalid_argument")
    x = tool("execute", command="echo out; echo err >&2; exit 3")
    need((x["output"], x["exit_code"]) == ("out\nerr\n", 3), x)
    x = tool("execute", command="sleep 100", timeout=300)
    need(x["exit_code"] == 124 and x["timed_out"], x)
    x = tool("execute", command="seq 30000; exit 4", max=10)
    need(x["output"] == "1\n2\n3\n4\n5\n" and x["exit_code"] == 4 and
         x["truncated"] and x["kept"] == x["size"], x)
    need(tool("read", path=x["file"], offset=29999)["content"] == "30000\n")
    x = tool("execute", command=": " + "x" * 402000 + "\necho $((2 + 3))")
    need(x["output"] == "5\n", x)
    n = s.send("tool_execute", sandbox=box, command="sleep 1000")
    s.good("cancel", request=n)
    x = s.over(n)[0]
    need(x.get("cancelled") == {} or x["tool_execute"]["exit_code"] is None)
    # As many as one likes, and those of a batch between them.
    ids = [s.send("tool_download", sandbox=box, paths=["/workspace/t"] * 20)
           for _ in range(100)]
    for n in ids:
        need(len(s.over(n)) == 21)


def memory(s, box):
    """With little memory: an error for who asked too much, and it goes on."""
    def oom(a):
        return "error" in a and "memory" in a["error"]["text"]

    for _ in range(2):
        a = s.call("tool_execute", sandbox=box, max=60 << 20,
                   command="head -c 60000000 /dev/zero")[-1]
        need(oom(a), str(a)[:300])
        s.good("ping")
    s.good("call", sandbox=box, op="write", path="big", data="", flags=4)
    s.good("call", sandbox=box, op="truncate", path="big", length=200 << 20)
    f = s.good("tool_download", sandbox=box, paths=["/workspace/big"])[0]
    need(f["tool_download"]["error"] is not None, str(f)[:300])
    need(s.run(box, "echo", "x")[0] == b"x\n")


def other(s, box):
    """What is no request of its own is a sandboxctl of its own."""
    def ctl(*argv, **kw):
        all = s.good("ctl", argv=list(argv), **kw)
        return output(all, 1), output(all, 2), all[-2]["exited"]["code"]
    out, err, code = ctl("show", box)
    need(b'"id":"' + box.encode() in out and err == b"" and code == 0)
    out, err, code = ctl("show", "nosuch")
    need(out == b"" and b'{"error":{"code":"not_found"' in err, err)
    need(code == 66, code)
    need(ctl("run", "echo", "a b") == (b"a b\n", b"", 0))
    out, err, code = ctl("tool", "describe", box)
    need(json.loads(out)["workdir"] == "/workspace" and code == 0, err)
    head = b"---\nname: one\ndescription: the first\n---\n"
    s.good("call", sandbox=box, op="write", path="skills/one/SKILL.md",
           data=b64(head), flags=4 + 8)
    out, err, code = ctl("skills", "list", box)
    need(json.loads(out)["path"] == "/workspace/skills/one", err)
    n = s.send("ctl", argv=["exec", box, "cat"], input=1)
    data = bytes(range(256)) * 1000
    for i in range(0, len(data), 50000):
        s.good("input", request=n, data=b64(data[i:i + 50000]))
    s.good("input", request=n, end=1)
    all = s.over(n)
    need(output(all, 1) == data and all[-2]["exited"]["code"] == 0)
    n = s.send("ctl", argv=["exec", box, "sh", "-c", "echo a; sleep 1000"])
    need("output" in s.of(n))
    s.good("cancel", request=n)
    need(s.over(n)[-2]["exited"]["code"] == 128 + 15)
    ids = [s.send("ctl", argv=["events", "-f"]) for _ in range(17)]
    need("limit_exceeded" in str(s.over(ids[-1])))
    for n in ids[:-1]:
        s.good("cancel", request=n)
        need(s.over(n)[-2]["exited"]["code"] == 128 + 15)


def hostile(s, box):
    """Lines that are none end nothing; each is answered, in its order."""
    bad = [
        (b"x", None, "invalid_argument", ""),
        (b"\0", None, "invalid_argument", ""),
        (b"\xff\xfe", None, "invalid_argument", ""),
        (b'{"id":1}', 1, "invalid_argument", ""),
        (b'{"id":2,"nosuch":{}}', 2, "invalid_argument", ""),
        (b'{"id":"\\u0007","ping":7}', "\7", "invalid_argument", "ping"),
        (b'{"id":3,"show":{"id":"a","x":1}}', 3, "invalid_argument", ""),
        (b'{"id":3,"show":{"id":7}}', 3, "invalid_argument", "id"),
        (b"[" * 100000, None, "limit_exceeded", ""),
        (b'{"id":4,"show":{"id":"' + b"x" * (1 << 20) + b'"}}', None,
         "limit_exceeded", ""),
        (b"y" * (5 << 20), None, "limit_exceeded", ""),
        (b'{"id":5,"show":{"id":"' + b"x" * 500000 + b'"}}', 5,
         "limit_exceeded", "id"),
        (b'{"id":6,"exec":{"sandbox":"a","argv":[' + b'"",' * 5000 +
         b'""]}}', 6, "limit_exceeded", "argv"),
        (b'{"id":7,"exec":{"sandbox":"a","argv":["' + b"x" * 400000 +
         b'"]}}', 7, "limit_exceeded", ""),
        (b'{"id":8,"cancel":{"request":8}}', 8, "not_found", "request"),
        (b'{"id":9,"credit":{"request":77,"n":1}}', 9, "not_found",
         "request"),
        (b'{"id":9,"input":{"request":77}}', 9, "not_found", "request"),
    ]
    for text, _id, code, field in bad:
        s.write(text + b"\r\n \n\n")
        a = s.recv()
        e = a.get("error")
        need(a["id"] == _id and e is not None, text[:60], a)
        need(e["code"] == code, text[:60], e)
        need(e.get("field", "") == field, text[:60], e)
    # An id that is in use is not told the other's end.
    n = s.send("exec", sandbox=box, argv=["cat"], input=1)
    need("accepted" in s.of(n))
    for text in ('{"id":%d,"ping":{}}', '{"id":%d,"nosuch":{}}'):
        s.write((text % n).encode() + b"\n")
        a = s.recv()
        need(a["id"] is None and "error" in a, a)
    s.good("cancel", request=n)
    need(outcome(s.over(n))[2]["state"] == "cancelled")
    s.good("ping")


def input_bound(s, box):
    """Input that is not taken is kept up to a bound, and waits for room."""
    n = s.send("exec", sandbox=box, input=1, argv=["sleep", "1000"])
    need("accepted" in s.of(n))
    data = b64(bytes(700000))
    one = s.send("input", request=n, data=data)
    # The pipes take some of it; then the bound is reached in any case.
    more = [s.send("input", request=n, data=data) for _ in range(4)]
    e = s.over(more[-1])[-1]["error"]
    need(e["code"] == "limit_exceeded" and e["field"] == "data", e)
    need("1048576" in e["text"], e)
    s.good("ping")
    s.good("kill", exec=s.good("ps")[0]["exec_info"]["id"], signo=9)
    need(outcome(s.over(n))[2]["state"] == "signaled")
    for i in [one] + more[:-1]:
        s.over(i)


def eof(s, box):
    """What is under way is finished; what nothing could end is not."""
    a = s.send("exec", sandbox=box, argv=["sh", "-c", "sleep 2; echo a"])
    b = s.send("exec", sandbox=box, argv=["cat"], input=1)
    c = s.send("events", follow=1)
    s.of(c)
    d = s.send("show", id=box)
    s.write(b'{"id":1000,"ping":{}}')
    left, status = s.close()
    need(status == 0, status)

    def of(n):
        return [k for k in left if k["id"] == n]
    need(outcome(of(a))[0] == b"a\n")
    need("cancelled" in of(b)[-1] or
         outcome(of(b))[2]["state"] == "cancelled", of(b))
    need("cancelled" in of(c)[-1], of(c)[-1])
    need("end" in of(d)[-1] and "end" in of(1000)[-1])


def term(s, box):
    """A signal ends the commands, gives up the rest, and is told."""
    a = s.send("exec", sandbox=box, argv=["sleep", "1000"])
    x = s.of(a)["accepted"]["id"]
    b = s.send("wait", exec=x)
    c = s.send("events", follow=1)
    s.of(c)
    s.p.send_signal(15)
    left = []
    while (k := s.recv()) is not None:
        left.append(k)
    need(s.p.wait(60) == 128 + 15, s.p.returncode)
    need(outcome([k for k in left if k["id"] == a])[2]["state"] ==
         "cancelled")
    for n in (b, c):
        need("cancelled" in [k for k in left if k["id"] == n][-1])


def deaf(s, box):
    """Nobody reads it: it reads nobody, and grows no further."""
    count = 10000
    lines = b"".join(b'{"id":%d,%s"ping":{}}\n' % (i, b" " * 1000)
                     for i in range(1000, 1000 + count))
    out = s.send("exec", sandbox=box, argv=["sh", "-c", "seq 1 3000000"])
    got = [s.of(out), s.of(out)]
    need("output" in got[1])
    fi = s.p.stdin.fileno()
    os.set_blocking(fi, False)
    sent, still = 0, time.monotonic()
    # It has stopped when it takes nothing for a while.
    while sent < len(lines) and time.monotonic() - still < 3:
        try:
            sent += os.write(fi, lines[sent:sent + 65536])
            still = time.monotonic()
        except BlockingIOError:
            time.sleep(0.01)
    need(sent < len(lines), "all was read")
    with open("/proc/%d/status" % s.p.pid) as f:
        most = [int(k.split()[1]) for k in f if k.startswith("VmHWM")][0]
    need(most < 64000, "%d KB" % most)
    # And then all of it.
    s.write(lines[sent:])
    ends = set()
    while len(ends) < count + 1:
        a = s.recv()
        if a["id"] == out:
            got.append(a)
        if "end" in a:
            need(a["id"] not in ends, a)
            ends.add(a["id"])
    need(outcome(got)[0] == b"".join(b"%d\n" % i
                                     for i in range(1, 3000001)))


def closed(s, box):
    """Nobody will read it any more: it ends."""
    a = s.send("exec", sandbox=box, argv=["sleep", "1000"])
    x = s.of(a)["accepted"]["id"]
    s.p.stdout.close()
    need(s.p.wait(60) == 128 + 13, s.p.returncode)
    s.p.stdin.close()
    t = Case(s.ctl)
    t.good("kill", exec=x)
    need(t.good("wait", exec=x)[0]["exec_info"]["state"] == "cancelled")
    t.end()


def restart(s, box, go, back):
    """The daemon goes and comes back in the middle of all this."""
    seq = s.send("exec", sandbox=box, argv=[
        "sh", "-c", "i=0; while [ $i -lt 40 ]; do echo $i; i=$((i + 1)); "
        "usleep 50000 2>/dev/null || sleep 0.05; done"])
    cat = s.send("exec", sandbox=box, argv=["cat"], input=1)
    s.good("input", request=cat, data=b64(b"before "))
    first = s.of(seq)
    x = first["accepted"]["id"]
    w = s.send("wait", exec=x)
    st = s.send("wait_state", id=box, states=["stopped"])
    ev = s.send("events", sandbox=box, follow=1)
    seen = [s.of(ev)["event"]["seq"]]
    held = s.send("exec", sandbox=box, window=1,
                  argv=["sh", "-c", "seq 1 20000"])
    need("accepted" in s.of(held))
    got = [s.of(held)]
    wr = s.send("call", sandbox=box, op="write", path="half", flags=4,
                input=1)
    s.good("input", request=wr, data=b64(b"x"))
    subprocess.run([go], check=True)
    asked = s.send("show", id=box)
    s.send("input", _id=7777, request=cat, data=b64(b"after"), end=1)
    subprocess.run([back], check=True)
    need("end" in s.over(asked)[-1])
    need(s.over(wr)[-1]["error"]["code"] == "unavailable")
    out = outcome([first] + s.over(seq))[0]
    need(out == b"".join(b"%d\n" % i for i in range(40)), out)
    need(s.over(w)[0]["exec_info"]["state"] == "exited")
    s.over(7777)
    need(outcome(s.over(cat))[0] == b"before after")
    s.good("credit", request=held, n=1 << 30)
    need(outcome(got + s.over(held))[0] ==
         b"".join(b"%d\n" % i for i in range(1, 20001)))
    s.good("stop", id=box, wait=1)
    need(s.over(st)[0]["sandbox"]["state"] == "stopped")
    while True:
        e = s.of(ev)["event"]
        seen.append(e["seq"])
        if e["type"] == "sandbox.stopped":
            break
    need(seen == list(range(seen[0], seen[0] + len(seen))), seen)
    s.good("cancel", request=ev)
    need("cancelled" in s.over(ev)[-1])


def alone(s, box, go, back):
    """Nothing but one command, which says nothing meanwhile."""
    n = s.send("exec", sandbox=box, input=1,
               argv=["sh", "-c", "read x; sleep 3; echo $x"])
    first = s.of(n)
    s.good("input", request=n, data=b64(b"hello\n"))
    subprocess.run([go], check=True)
    subprocess.run([back], check=True)
    out = outcome([first] + s.over(n))
    need(out[0] == b"hello\n" and out[2]["code"] == 0, out)


class Case(Session):
    def __init__(self, ctl):
        self.ctl = ctl
        super().__init__([ctl, "session"])

    def line(self, name, _id, **members):
        """A request's last line as it came."""
        self.send(name, _id=_id, **members)
        end = time.monotonic() + 60
        while not self.lines and time.monotonic() < end:
            self.fill()
        return self.lines.pop(0) + b"\n"


def main():
    name, ctl, *args = sys.argv[1:]
    s = Case(ctl)
    try:
        globals()[name](s, *args)
        if s.p.returncode is None and not s.p.stdin.closed:
            s.end() if name != "events" else s.close()
    except Failed as e:
        s.p.kill()
        sys.exit("%s: %s" % (name, e))


if __name__ == "__main__":
    main()
