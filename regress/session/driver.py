"""What drives a session: sandboxctl session as a child, lines in and out.

    s = Session([ctl, "session"])
    for a in s.call("exec", sandbox="web", argv=["true"]): ...

Each wait has a deadline, at which the test fails.
"""

import base64
import json
import os
import select
import subprocess
import time

WAIT = 120 * float(os.environ.get("SLOW", "1"))
OVER = ("end", "error", "cancelled")


class Failed(Exception):
    pass


def b64(data):
    return base64.b64encode(data).decode()


def need(what, *why):
    if not what:
        raise Failed(*why)


class Session:
    def __init__(self, argv, **kw):
        kw.setdefault("stdin", subprocess.PIPE)
        kw.setdefault("stdout", subprocess.PIPE)
        self.p = subprocess.Popen(argv, bufsize=0, **kw)
        self.buf = b""
        self.lines = []
        self.kept = []
        self.n = 0

    def write(self, data):
        """All of it, and what is said meanwhile is kept."""
        fi, fo = self.p.stdin.fileno(), self.p.stdout.fileno()
        os.set_blocking(fi, False)
        end = time.monotonic() + WAIT
        while data:
            r, w, _ = select.select([fo], [fi], [], end - time.monotonic())
            need(r or w, "the session takes no line")
            if r:
                self.fill()
            if w:
                try:
                    data = data[os.write(fi, data):]
                except BlockingIOError:
                    pass

    def send(self, name, _id=None, **members):
        if _id is None:
            self.n += 1
            _id = self.n
        self.write(json.dumps({"id": _id, name: members}).encode() + b"\n")
        return _id

    def fill(self):
        data = os.read(self.p.stdout.fileno(), 1 << 20)
        if not data:
            return False
        *lines, self.buf = (self.buf + data).split(b"\n")
        self.lines += lines
        return True

    def recv(self, wait=WAIT):
        """The next line as an object; None at the end, or if none comes."""
        end = time.monotonic() + wait
        while not self.lines:
            left = max(0, end - time.monotonic())
            r, _, _ = select.select([self.p.stdout], [], [], left)
            if not r:
                need(wait != WAIT, "no line from the session")
                return None
            if not self.fill():
                return None
        return json.loads(self.lines.pop(0))

    def of(self, _id):
        """The next line with this id; the others' are kept."""
        for i, a in enumerate(self.kept):
            if a["id"] == _id:
                return self.kept.pop(i)
        while True:
            a = self.recv()
            need(a is not None, "the session has ended")
            if a["id"] == _id:
                return a
            self.kept.append(a)

    def over(self, _id):
        """All that is said of a request to its end."""
        all = []
        while True:
            a = self.of(_id)
            all.append(a)
            if any(k in a for k in OVER):
                return all

    def call(self, name, **members):
        return self.over(self.send(name, **members))

    def good(self, name, **members):
        all = self.call(name, **members)
        need("end" in all[-1], name, members, all[-1])
        return all

    def run(self, sandbox, *argv, **members):
        """A command: its two outputs and how it ended."""
        return outcome(self.call("exec", sandbox=sandbox, argv=list(argv),
                                 **members))

    def close(self):
        """No more lines; what is still said, and the status."""
        self.p.stdin.close()
        left, self.kept = self.kept, []
        while (a := self.recv()) is not None:
            left.append(a)
        self.p.stdout.close()
        return left, self.p.wait(WAIT)

    def end(self):
        left, status = self.close()
        need(left == [], left)
        need(status == 0, "status", status)


def output(all, stream):
    """The bytes of a stream, which must follow each other."""
    data = bytearray()
    for a in all:
        o = a.get("output")
        if o is None or o["stream"] != stream:
            continue
        need(o["offset"] == len(data), "offset", o["offset"], len(data))
        data += base64.b64decode(o["data"], validate=True)
    return bytes(data)


def outcome(all):
    need("end" in all[-1], all[-1])
    info = [a["exec_info"] for a in all if "exec_info" in a]
    need(len(info) == 1, all)
    return output(all, 1), output(all, 2), info[0]
