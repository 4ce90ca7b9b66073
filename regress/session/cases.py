"""cases.py case ctl [argument ...]: a session's cases on a real daemon."""

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
        s.end() if name != "events" else s.close()
    except Failed as e:
        s.p.kill()
        sys.exit("%s: %s" % (name, e))


if __name__ == "__main__":
    main()
