"""soak.py ctl box large files: much by one session, and by its tools.

large bytes go into a file and come back, and that many files are written and
listed; the session, which holds none of it, stays small.
"""

import base64
import hashlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from driver import OVER, Failed, Session, b64, need  # noqa: E402

PART = 300000
HWM = 64 * 1024
AT_ONCE = 100
TOOL_FILE = 1 << 30


def hwm(pid):
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    raise Failed("no VmHWM")


def put(s, box, size, name, **members):
    """So many bytes, in parts; their hash."""
    want, part = hashlib.sha256(), os.urandom(PART)
    n = s.send(name, sandbox=box, input=1, **members)
    while size > 0:
        data = part[:min(PART, size)]
        size -= len(data)
        want.update(data)
        a = s.call("input", request=n, data=b64(data), end=int(size == 0))
        need("end" in a[-1], a)
    a = s.over(n)
    need("end" in a[-1], a)
    return want.digest()


def get(s, box, name, **members):
    """The hash of what comes, which is not kept."""
    got, window = hashlib.sha256(), 1 << 20
    n = s.send(name, sandbox=box, window=window, **members)
    used = 0
    while True:
        a = s.of(n)
        if any(k in a for k in OVER):
            need("end" in a, a)
            return got.digest()
        if "output" in a:
            data = base64.b64decode(a["output"]["data"])
            got.update(data)
            used += len(data)
            if used >= window // 2:
                s.send("credit", request=n, n=used)
                used = 0
                s.kept.clear()


def too_large(s, box):
    """What does not fit into one answer is told so, and nothing of it."""
    s.good("call", sandbox=box, op="write", path="over", flags=4)
    s.good("call", sandbox=box, op="truncate", path="over",
           length=TOOL_FILE + 1)
    a = s.call("tool_download", sandbox=box, paths=["/workspace/over"])
    need("too_large" in str(a), str(a)[:300])


def main():
    ctl, box, large, files = *sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4])
    s = Session([ctl, "session"])
    try:
        want = put(s, box, large, "call", op="write", path="big", flags=4)
        need(get(s, box, "call", op="read", path="big", length=-1) == want,
             "other bytes by call")
        want = put(s, box, large, "tool_write", path="/workspace/tool")
        need(get(s, box, "call", op="read", path="tool", length=-1) == want,
             "other bytes by tool_write")
        for i in range(0, files, AT_ONCE):
            s.good("tool_upload", sandbox=box,
                   paths=["/workspace/d/%d/%d" % (i // 1000, i + j)
                          for j in range(AT_ONCE)],
                   contents=[b64(b"%d" % (i + j)) for j in range(AT_ONCE)])
        n = s.send("call", sandbox=box, op="usage", path="d")
        need(s.over(n)[0]["result"]["count2"] ==
             files + (files + 999) // 1000 + 1, "files")
        r = hwm(s.p.pid)
        print("session: VmHWM %d KiB" % r)
        # The sanitizers keep what was freed.
        need(r < HWM or "ASAN_OPTIONS" in os.environ, "VmHWM", r)
        if large >= TOOL_FILE:
            too_large(s, box)
        s.close()
    except Failed as e:
        s.p.kill()
        sys.exit("soak: %s" % e)


if __name__ == "__main__":
    main()
