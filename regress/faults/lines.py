"""lines.py ask: the lines of a session; lines.py check answers status errors

What is asked is the same each time; whatever the session had no memory for,
each answer that is there must be right, each request has one end at most, and
exactly one if the session says that all is well.
"""

import base64
import builtins
import json
import sys

EVERY = bytes(range(256)) * 40
LARGE = EVERY * 10
TEXT = "one \u4e16\ntwo\n" * 300
OVER = ("end", "error", "cancelled")


def b64(data):
    return base64.b64encode(data).decode()


def joined(all):
    return b"".join(base64.b64decode(a["output"]["data"]) for a in all
                    if "output" in a)


def requests(box):
    """Each with what is true of all that is said of it, if it ends well."""
    def one(name):
        return lambda all: [a[name] for a in all if name in a][0]

    def has(_name, **want):
        def f(all):
            got = one(_name)(all)
            return all and {k: got.get(k) for k in want} == want
        return f

    def files(all):
        return [f["path"] for f in one("tool_glob")(all)["files"]] == ["text"]

    def batch(all):
        """Each file has an answer of its own; of memory, too."""
        want = [(None, b64(EVERY)), ("file_not_found", None),
                (None, b64(TEXT.encode()))]
        got = [(a["tool_download"]["error"], a["tool_download"]["content"])
               for a in all if "tool_download" in a]
        return len(got) == 3 and builtins.all(
            g == w or g in (("internal", None), ("unavailable", None))
            for g, w in zip(got, want))

    return {
        1: ("ping", {}, lambda all: len(all) == 1),
        2: ("show", {"id": box}, has("sandbox", id=box)),
        3: ("list", {}, lambda all: [a for a in all if "sandbox" in a]),
        4: ("exec", {"sandbox": box, "argv": ["cat"], "input": 1},
            # Without all of its input it ends with the session's.
            lambda all: joined(all) == LARGE or
            one("exec_info")(all)["state"] == "cancelled"),
        5: ("input", {"request": 4, "data": b64(LARGE), "end": 1},
            lambda all: True),
        6: ("call", {"sandbox": box, "op": "read", "path": "every",
                     "length": -1}, lambda all: joined(all) == EVERY),
        7: ("call", {"sandbox": box, "op": "stat", "path": "every"},
            has("record", name="every", size=len(EVERY))),
        8: ("tool_read", {"sandbox": box, "path": "text", "limit": 9999},
            has("tool_read", content=TEXT)),
        9: ("tool_glob", {"sandbox": box, "pattern": "te*"}, files),
        10: ("tool_grep", {"sandbox": box, "pattern": "two"},
             lambda all: len(one("tool_grep")(all)["matches"]) == 300),
        11: ("tool_execute", {"sandbox": box, "command": "cat text; exit 3"},
             has("tool_execute", output=TEXT, exit_code=3)),
        12: ("tool_write", {"sandbox": box, "path": "written",
                            "data": b64(LARGE)},
             has("tool_write", path="written", size=len(LARGE))),
        13: ("tool_download", {"sandbox": box, "paths": [
            "/workspace/every", "/no", "/workspace/text"]}, batch),
        14: ("tool_execute", {"sandbox": box, "max": 10,
                              "command": "cat text"},
             has("tool_execute", output="one \u4e16\ntw",
                 size=len(TEXT.encode()), truncated=True)),
        15: ("tool_edit", {"sandbox": box, "path": "edited", "old": "a",
                           "new": "b" * 1000, "all": 1},
             lambda all: one("tool_edit")(all)["occurrences"] in (0, 1)),
        16: ("ctl", {"argv": ["exec", box, "cat", "text"]},
             lambda all: joined(all) == TEXT.encode() or
             one("exited")(all)["code"] != 0),
        17: ("events", {"sandbox": box},
             lambda all: [a["event"]["seq"] for a in all if "event" in a]
             == list(range(1, len(all)))),
    }


def ask(box):
    for n, (name, members, _) in requests(box).items():
        print(json.dumps({"id": n, name: members}))


def check(box, answers, status, errors):
    asked = requests(box)
    said = {n: [] for n in asked}
    with open(answers, "rb") as f:
        data = f.read()
    if status != 0 and data and not data.endswith(b"\n"):
        data = data[:data.rfind(b"\n") + 1]
    for line in data.splitlines():
        a = json.loads(line)
        if a["id"] is None:
            assert "error" in a, a
            continue
        all = said[a["id"]]
        assert not (all and any(k in all[-1] for k in OVER)), (all, a)
        all.append(a)
    nulls = data.count(b'{"id":null,')
    for n, all in said.items():
        over = bool(all) and any(k in all[-1] for k in OVER)
        if over and "end" in all[-1]:
            assert asked[n][2](all), (asked[n][0], all)
        if not over:
            nulls -= 1
    if status == 0:
        assert nulls >= 0, "no end: %s" % [
            n for n, all in said.items() if not all or
            not any(k in all[-1] for k in OVER)]
    else:
        if any("error" in a for all in said.values() for a in all):
            return
        with open(errors, "rb") as f:
            assert f.read().strip(), "status %d without a word" % status


def main():
    if sys.argv[1] == "ask":
        ask(sys.argv[2])
    elif sys.argv[1] == "file":
        sys.stdout.buffer.write({"every": EVERY, "text": TEXT.encode(),
                                 "large": LARGE}[sys.argv[2]])
    else:
        check(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])


if __name__ == "__main__":
    main()
