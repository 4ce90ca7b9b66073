"""contract.py ctl box ...: what agent frameworks ask of a sandbox, by case.

Each case has the suites that have it: J of Deep Agents in JavaScript, P of
those in Python.  What they say differently in the two languages is made of
the same answer by their adapters; here it is the answer that is looked at.
A box is name:kind:user, of which kind is busybox or python.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from driver import Failed, Session, b64, need  # noqa: E402

CASES = []
N = 0


def case(block, *titles, kind=None, user=None):
    """A case, by the titles that the suites give it."""
    def add(f):
        CASES.append((block, titles, kind, user, f))
        return f
    return add


class Box:
    """One sandbox, and a folder of its own for each case."""
    def __init__(self, s, name, kind, user):
        self.s, self.name, self.kind, self.user = s, name, kind, user

    def enter(self):
        global N
        N += 1
        self.dir = "/workspace/case %d" % N
        return self

    def __call__(self, tool, *where, **members):
        """A tool's answer, or the code of its error."""
        if where:
            members["path"] = self.at(where[0])
        all = self.s.call("tool_" + tool, sandbox=self.name, **members)
        if "error" in all[-1]:
            return all[-1]["error"]["code"]
        got = [a["tool_" + tool] for a in all[:-1]]
        return got if tool in ("upload", "download") else got[0]

    def at(self, path):
        return path if path.startswith("/") else self.dir + "/" + path

    def put(self, path, text):
        data = text.encode() if isinstance(text, str) else text
        x = self("write", path, data=b64(data))
        need(isinstance(x, dict) and x["size"] == len(data), x)
        return x

    def cat(self, path, **members):
        x = self("read", path, **members)
        need(isinstance(x, dict), path, x)
        return x["content"]

    def sh(self, command, **members):
        x = self("execute", command=command, **members)
        need(isinstance(x, dict), command, x)
        return x

    def same(self, path, data):
        """As the commands of the sandbox see it, too."""
        data = data.encode() if isinstance(data, str) else data
        got = self("download", paths=[self.at(path)])[0]
        need(got["error"] is None and got["content"] == b64(data), path)
        if len(data) < 60000:
            self.put("same", data)
            need(self.sh("cmp '%s/same' \"$P\"" % self.dir,
                         env={"P": self.at(path)})["exit_code"] == 0, path)

    def names(self, tool, *where, **members):
        x = self(tool, *where, **members)
        need(isinstance(x, dict), x)
        return [f["path"] for f in x["files"]]

    def found(self, pattern, path=".", **members):
        x = self("grep", path, pattern=pattern, **members)
        need(isinstance(x, dict), x)
        return [(m["path"], m["line"], m["text"]) for m in x["matches"]]


def load():
    import contract_cases  # noqa: F401


def main():
    ctl, *boxes = sys.argv[1:]
    s = Session([ctl, "session"])
    load()
    done = 0
    for b in boxes:
        box = Box(s, *b.split(":"))
        for block, titles, kind, user, f in CASES:
            if kind not in (None, box.kind) or user not in (None, box.user):
                continue
            try:
                f(box.enter())
            except Failed as e:
                s.p.kill()
                sys.exit("%s %s: %s: %s" % (b, block, titles[0], e))
            done += len(titles)
    s.end()
    print("%d cases in %d sandboxes" % (done, len(boxes)))


if __name__ == "__main__":
    # What the cases import is this module, and not another one.
    sys.modules["contract"] = sys.modules["__main__"]
    main()
