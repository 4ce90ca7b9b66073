"""limits.py ctl box root: limits tell, whoever asks.

One of four ways in, the commands and the requests of a session: each is told
the code, and leaves nothing half written under the name that was meant.
box has 64 megabytes in /tmp, root is one with a root that is read-only.
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from driver import Failed, Session, b64, need  # noqa: E402

LARGE = 80000000
PART = 300000


class World:
    def __init__(self, ctl, box):
        self.ctl, self.box = ctl, box
        self.s = Session([ctl, "session"])

    def run(self, *argv, **kw):
        p = subprocess.run([self.ctl, *argv], capture_output=True, **kw)
        return p.returncode, p.stdout, p.stderr.decode(errors="replace")

    def code(self, *argv, **kw):
        """The code with which a command is refused."""
        status, out, err = self.run(*argv, **kw)
        need(status != 0, argv[:3], "it was done")
        need(err.rstrip().endswith(")"), argv[:3], err)
        return err.rstrip()[err.rstrip().rindex("(") + 1:-1]

    def told(self, *argv, **kw):
        """The same of one of a batch, which has it in its answer."""
        status, out, err = self.run(*argv, **kw)
        need(status != 0 and out, argv[:3], status, err)
        return json.loads(out)["error"]

    def asked(self, name, **members):
        a = self.s.call(name, sandbox=self.box, **members)[-1]
        need("error" in a, name, a)
        return a["error"]["code"]

    def fed(self, name, size, **members):
        """The code for what is given so many bytes by its input."""
        n = self.s.send(name, sandbox=self.box, input=1, **members)
        part, left = b64(b"x" * PART), size
        while left > 0:
            end = left <= PART
            a = self.s.call("input", request=n, data=part, end=int(end))[-1]
            if "end" not in a:
                break
            left -= PART
        a = self.s.over(n)[-1]
        need("error" in a, name, a)
        return a["error"]["code"]

    def is_there(self, path):
        status, out, err = self.run("stat", self.box, path)
        return status == 0

    def names(self, path):
        status, out, err = self.run("ls", self.box, path)
        need(status == 0, err)
        return out.decode().split()


def each_way(w, path, size, large):
    """Of writing a file: what it is called, and its code."""
    yield "put", w.code("put", w.box, large, path)
    yield "put -a", w.code("put", "-a", w.box, large, path)
    with open(large, "rb") as f:
        yield "put -", w.code("put", w.box, "-", path, stdin=f)
    with open(large, "rb") as f:
        yield "tool write", w.code("tool", "write", w.box, path, stdin=f)
    yield "tool upload", w.told("tool", "upload", w.box, large, path)
    yield "tool_write", w.fed("tool_write", size, path=path)
    yield "call", w.fed("call", size, op="write", path=path, flags=4)


def full(w, large):
    """A full disk: a new file is not there, of an old one nothing is lost."""
    for how, code in each_way(w, "/tmp/new", LARGE, large):
        need(code == "no_space", how, code)
        need(w.names("/tmp") == [], how, w.names("/tmp"))
    small = b64(b"old")
    w.s.good("tool_write", sandbox=w.box, path="/tmp/old", data=small)
    ways = each_way(w, "/tmp/old", LARGE, large)
    for how, code in ways:
        need(code == "no_space", how, code)
        need(w.names("/tmp") == ["old"], how, w.names("/tmp"))
        # What is not asked to be atomic has written into the old one.
        if how in ("put", "put -"):
            w.run("rm", w.box, "/tmp/old")
        else:
            got = w.s.good("tool_read", sandbox=w.box, path="/tmp/old")
            need(got[0]["tool_read"]["content"] == "old", how)
        w.s.good("tool_write", sandbox=w.box, path="/tmp/old", data=small)
    # What is small, on a disk that has no room left.
    w.run("exec", w.box, "sh", "-c", "cat /dev/zero >/tmp/fill 2>/dev/null")
    data = b64(b"y" * PART)
    need(w.asked("tool_write", path="/tmp/n", data=data) == "no_space")
    a = w.s.good("tool_upload", sandbox=w.box, paths=["/tmp/n", "/workspace/n"],
                 contents=[data, data])
    need([x["tool_upload"]["error"] for x in a[:-1]] == ["no_space", None], a)
    need(w.asked("tool_edit", path="/tmp/old", old="old",
                 new="z" * PART) == "no_space")
    need(w.names("/tmp") == ["fill", "old"], w.names("/tmp"))
    got = w.s.good("tool_read", sandbox=w.box, path="/tmp/old")
    need(got[0]["tool_read"]["content"] == "old", got)
    w.run("rm", w.box, "/tmp/fill")
    w.s.good("tool_write", sandbox=w.box, path="/tmp/n", data=data)


def read_only(w, small):
    """A place that nobody may write to."""
    for how, code in each_way(w, "/new", PART, small):
        need(code == "read_only", how, code)
        need(not w.is_there("/new"), how)
    need(w.code("mkdir", w.box, "/d") == "read_only")
    need(w.code("rm", w.box, "/bin/busybox") == "read_only")
    need(w.code("mv", w.box, "/bin/busybox", "/b") == "read_only")
    need(w.code("tool", "delete", w.box, "/bin/busybox") == "read_only")
    need(w.asked("tool_edit", path="/etc/passwd", old="root:", new="x",
                 all=1) in ("read_only", "permission_denied"))
    need(w.asked("tool_delete", path="/bin/busybox") == "read_only")


def too_large(w):
    """Larger than it may be, said before it is carried."""
    w.s.good("call", sandbox=w.box, op="write", path="huge", data="", flags=4)
    w.s.good("call", sandbox=w.box, op="truncate", path="huge",
             length=(1 << 30) + 1)
    need(w.code("get", "-m", "1M", w.box, "huge", "-") == "too_large")
    status, out, err = w.run("tool", "download", w.box, "/workspace/huge")
    need(status != 0 and json.loads(out) ==
         {"path": "/workspace/huge", "content": None, "error": "too_large"},
         out[:200], err)
    a = w.s.good("tool_download", sandbox=w.box, paths=["/workspace/huge"])
    need((a[0]["tool_download"]["error"], a[0]["tool_download"]["content"]) ==
         ("too_large", None), str(a)[:300])
    need(w.asked("call", op="read", path="huge", length=-1,
                 limit=1 << 20) == "too_large")
    status, out, err = w.run("tool", "execute", w.box, "-",
                             input=b"#" * ((16 << 20) + 1))
    need(status != 0 and "too_large" in err, err)
    w.run("rm", w.box, "huge")


def arguments(w):
    """More of them, or longer ones, than a command may have."""
    for argv in (["true"] + ["x"] * 4096, ["true", "x" * 131072],
                 ["true"] + ["x" * 100000] * 3):
        c = w.code("exec", w.box, *argv) \
            if max(map(len, argv)) < 131072 else "limit_exceeded"
        need(c == "limit_exceeded", len(argv), c)
        need(w.asked("exec", argv=argv) == "limit_exceeded", len(argv))
    env = {"V%d" % i: "x" for i in range(4097)}
    need(w.asked("exec", argv=["true"], env=env) == "limit_exceeded")
    need(w.asked("tool_execute", command="true", env=env) == "limit_exceeded")
    for name in ("x" * 256, "d/" * 2050 + "x"):
        for c in (w.code("stat", w.box, name),
                  w.code("tool", "read", w.box, name),
                  w.asked("tool_read", path=name),
                  w.asked("tool_write", path=name, data="")):
            need(c in ("invalid_path", "limit_exceeded", "invalid_argument"),
                 len(name), c)
    need(w.run("exec", w.box, "true")[0] == 0)


def main():
    ctl, box, root = sys.argv[1:]
    with open("large", "wb") as f:
        f.truncate(LARGE)
    with open("small", "wb") as f:
        f.write(b"x" * PART)
    w, r = World(ctl, box), World(ctl, root)
    try:
        full(w, "large")
        read_only(r, "small")
        too_large(w)
        arguments(w)
        w.s.end()
        r.s.end()
    except Failed as e:
        w.s.p.kill()
        r.s.p.kill()
        tb = e.__traceback__
        while tb.tb_next.tb_next is not None:
            tb = tb.tb_next
        sys.exit("line %d: %s" % (tb.tb_lineno, e))


if __name__ == "__main__":
    main()
