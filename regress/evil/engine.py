"""
Stands before the Engine and lies.

    engine.py SOCKET ENGINE TRUTH MODE ASKED

Listens on SOCKET and asks ENGINE for what it is asked, and TRUTH, the same by
another way, for what it shows instead of something else.  The file MODE has a
word and an ID: the ID of a container that is none of ours, and how it gets
into the answers:

    honest      not at all
    create      a create's answer has that ID
    inspect     whatever container is asked for, that one is shown
    renamed     the same, and it has the name that was asked for
    labelled    the same, and the labels of the one that was asked for; only
                where that was asked for by its ID: who asks by name has
                nothing else to know it by
    list        the list has that one, with our labels, and its own ID
    swapped     the list has our containers, but the canary, with that one's
                ID: a sandbox whose container is gone is cleaned up
    events      each event is about that one

A line of ASKED for each request has what was asked.
"""

import json
import os
import socket
import sys
import threading

# An isolated interpreter does not look beside the script.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "..", "engine"))
from stand import stand  # noqa: E402

lock = threading.Lock()


class Reader:
    """What comes from one side, by lines and by length."""

    def __init__(self, sock):
        self.sock, self.buf = sock, b""

    def fill(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError
        self.buf += data

    def until(self, mark):
        while mark not in self.buf:
            self.fill()
        i = self.buf.index(mark) + len(mark)
        data, self.buf = self.buf[:i], self.buf[i:]
        return data

    def exactly(self, n):
        while len(self.buf) < n:
            self.fill()
        data, self.buf = self.buf[:n], self.buf[n:]
        return data


def fields(head):
    out = {}
    for line in head.lower().split(b"\r\n")[1:]:
        k, _, v = line.partition(b":")
        out[k.strip()] = v.strip()
    return out


def chunk(reader):
    """One of a chunked body; empty at its end."""
    n = int(reader.until(b"\r\n").partition(b";")[0], 16)
    data = reader.exactly(n + 2)
    return data[:-2]


def body(reader, head):
    h = fields(head)
    if h.get(b"transfer-encoding") == b"chunked":
        data = b""
        while True:
            c = chunk(reader)
            if not c:
                return data
            data += c
    return reader.exactly(int(h.get(b"content-length", b"0")))


class Liar:
    def __init__(self, engine, truth, mode, asked):
        self.engine, self.truth = engine, truth
        self.mode, self.asked = mode, asked

    def ask(self, path):
        """What the Engine has to say of it."""
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.truth)
        s.sendall(b"GET " + path.encode() +
                  b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        r = Reader(s)
        head = r.until(b"\r\n\r\n")
        data = body(r, head)
        s.close()
        return json.loads(data)

    def lie(self, line, data):
        """The answer to the request of that line, or another one."""
        with open(self.mode, encoding="ascii") as f:
            word, other = f.read().split()
        path = line.split()[1]
        post = line.startswith("POST")
        if word == "create" and post and "/containers/create" in path:
            return json.dumps({"Id": other, "Warnings": []}).encode()
        if path.endswith("/json") and "/containers/" in path and \
                word in ("inspect", "renamed", "labelled"):
            truth = json.loads(data)
            shown = self.ask("/v1.41/containers/%s/json" % other)
            if "Id" not in truth or "Config" not in truth:
                return data
            if word != "inspect":
                shown["Name"] = truth["Name"]
            if word == "labelled":
                if truth["Id"] not in path:
                    return data
                shown["Config"]["Labels"] = truth["Config"]["Labels"]
            return json.dumps(shown).encode()
        if "/containers/json" in path and word in ("list", "swapped"):
            mine = json.loads(data)
            if word == "swapped":
                for c in mine:
                    if c["Labels"]["sandboxd.id"] != "canary":
                        c["Id"] = other
            elif mine:
                mine.append(dict(mine[0], Id=other))
            return json.dumps(mine).encode()
        return data

    def event(self, data):
        with open(self.mode, encoding="ascii") as f:
            word, other = f.read().split()
        if word != "events":
            return data
        out = b""
        for line in data.splitlines():
            e = json.loads(line)
            if "Actor" in e:
                e["Actor"]["ID"] = e["id"] = other
            out += json.dumps(e).encode() + b"\n"
        return out

    def one(self, client, engine, to, back):
        """One request and its answer; False if it was the last."""
        head = client.until(b"\r\n\r\n")
        line = head.split(b"\r\n")[0].decode("latin-1")
        with lock:
            self.asked.write(line + "\n")
            self.asked.flush()
        h = fields(head)
        back.sendall(head)
        if h.get(b"transfer-encoding") == b"chunked":
            while True:
                c = chunk(client)
                back.sendall(b"%x\r\n%s\r\n" % (len(c), c))
                if not c:
                    break
        else:
            back.sendall(client.exactly(int(h.get(b"content-length",
                                                  b"0"))))
        head = engine.until(b"\r\n\r\n")
        while head.split()[1] == b"100":
            head = engine.until(b"\r\n\r\n")
        h = fields(head)
        if "/events" in line:
            to.sendall(head)
            while True:
                c = chunk(engine)
                c = self.event(c) if c else c
                to.sendall(b"%x\r\n%s\r\n" % (len(c), c))
                if not c:
                    return False
        status = head.split(b"\r\n")[0]
        if status.split()[1] in (b"204", b"304"):
            to.sendall(head)
            return True
        data = body(engine, head)
        if status.split()[1][:1] == b"2":
            data = self.lie(line, data)
        kept = [f for f in head.split(b"\r\n")[1:-2]
                if f.lower().split(b":")[0] not in
                (b"content-length", b"transfer-encoding")]
        kept.append(b"Content-Length: %d" % len(data))
        to.sendall(b"\r\n".join([status] + kept) + b"\r\n\r\n" + data)
        return True

    def serve(self, client):
        engine = socket.socket(socket.AF_UNIX)
        try:
            engine.connect(self.engine)
            a, b = Reader(client), Reader(engine)
            while self.one(a, b, client, engine):
                pass
        except (OSError, EOFError):
            pass
        finally:
            client.close()
            engine.close()


def main(argv):
    path, engine, truth, mode, asked = argv[1:]
    liar = Liar(engine, truth, mode, open(asked, "a", encoding="latin-1"))
    stand(path, engine, liar.serve)


if __name__ == "__main__":
    main(sys.argv)
