#!/usr/bin/env python3
# edits.py make seed dir: a tree of text files, links and odd names.
# edits.py edit seed dir: changes in it, of every kind that a patch can have.
# edits.py list dir: a line for each entry but directories: what git knows.

import hashlib
import os
import random
import shutil
import stat
import sys

NAMES = [b"a", b"b", b"c.txt", b"with space", b"tab\there", b'q"uote', b"\\",
         b"nl\nx", b"\xff\xfe", b"\xc3\xa4", b"-dash", b" ", b"trail ", b"\x01",
         b"+++ b", b"x" * 200]


def text(r, n):
    lines = [r.choice([b"one", b"two", b"", b"  x", b"{", b"}", b"--- a",
                       b"+++ b", b"@@ -1 +1 @@", b"\r", b"\xff", b"\\ No"])
             + r.choice([b"", b"", str(r.randrange(9)).encode()])
             for _ in range(n)]
    s = b"\n".join(lines)
    return s + b"\n" if n > 0 and r.random() < 0.8 else s


def write(r, path, data):
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, r.choice([0o644, 0o644, 0o755, 0o600]))


def link(r, path):
    if os.path.lexists(path):
        os.unlink(path)
    # To nothing that is there: git would look through it.
    os.symlink(b"to " + r.choice(NAMES), path)


def some(r, path):
    if r.random() < 0.15:
        link(r, path)
    else:
        write(r, path, text(r, r.choice([0, 1, 2, 5, 30, 300])))


def entries(top, dirs=False):
    got = []
    for d, ds, fs in os.walk(top):
        links = [x for x in ds if os.path.islink(os.path.join(d, x))]
        got += [os.path.join(d, f) for f in fs + links]
        if dirs:
            got += [os.path.join(d, x) for x in ds if x not in links]
    return sorted(got)


def make(r, top):
    os.mkdir(top)
    for d in [top, top + b"/d", top + b"/d/e f", top + b"/\xfe"]:
        os.makedirs(d, exist_ok=True)
        for name in r.sample(NAMES, 8):
            some(r, d + b"/" + name)


def lines_of(r, path):
    data = open(path, "rb").read().split(b"\n")
    for _ in range(r.choice([1, 1, 3, 20])):
        i = r.randrange(len(data) + 1)
        what = r.randrange(3)
        if what == 0 and data:
            del data[i % len(data)]
        elif what == 1:
            data.insert(i, text(r, r.randrange(4)))
        elif data:
            data[i % len(data)] = text(r, 1)
    mode = os.stat(path).st_mode
    with open(path, "wb") as f:
        f.write(b"\n".join(data))
    os.chmod(path, mode)


def edit(r, top):
    for _ in range(25):
        path = r.choice(entries(top, True))
        what = r.randrange(8)
        isdir = os.path.isdir(path) and not os.path.islink(path)
        isfile = os.path.isfile(path) and not os.path.islink(path)
        if what < 3 and isfile:
            lines_of(r, path)
        elif what == 3 and isfile:
            os.chmod(path, os.stat(path).st_mode ^ 0o111)
        elif what == 4 and not isdir:
            os.unlink(path)
        elif what == 5 and not isdir:
            some(r, path)
        elif what == 6 and isdir and r.random() < 0.3:
            shutil.rmtree(path)
            some(r, path)
        elif what == 6 and not isdir and r.random() < 0.3:
            os.unlink(path)
            os.mkdir(path)
            some(r, path + b"/below")
        elif what == 7:
            some(r, (path if isdir else os.path.dirname(path)) +
                 b"/new%d" % r.randrange(1000))


def listing(top):
    for path in entries(top):
        st = os.lstat(path)
        if stat.S_ISLNK(st.st_mode):
            kind, data = "l", os.readlink(path)
        else:
            kind = "x" if st.st_mode & 0o100 else "f"
            data = open(path, "rb").read()
        print(kind, hashlib.sha256(data).hexdigest(),
              ascii(os.path.relpath(path, top)))


def main():
    top = os.fsencode(sys.argv[-1])
    if sys.argv[1] == "list":
        return listing(top)
    r = random.Random(sys.argv[1] + sys.argv[2])
    if sys.argv[1] == "make":
        make(r, top)
    else:
        edit(r, top)


main()
