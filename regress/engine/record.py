"""
Stands before the Engine and writes down what it is asked.

    record.py SOCKET ENGINE FILE FOLDER

Listens on SOCKET and passes every byte on to the socket ENGINE and back, as
they come.  Each request becomes a line of FILE, in JSON: "head" has the line
and the headers byte for byte, "body" that of a create or an update, "size" the
length of any, and "cut" is true if the caller went away within it.  The first
line says below which FOLDER the directories of the run lie.  check_body.py
judges them.
"""

import json
import os
import socket
import sys
import threading

# An isolated interpreter does not look beside the script.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from stand import stand  # noqa: E402

HEAD_MAX = 1 << 16
BODY_MAX = 1 << 22
lock = threading.Lock()


class Requests:
    """What one connection asks, cut into requests."""

    def __init__(self, out):
        self.out = out
        self.buf = bytearray()
        self.head = None
        self.size, self.body = 0, b""
        self.broken = False

    def write(self, cut):
        line = json.dumps({"head": self.head.decode("latin-1"), "cut": cut,
                           "size": self.size, "body":
                           bytes(self.body).decode("utf-8", "replace")})
        with lock:
            # At once: whoever is killed in between leaves no half.
            self.out.write(line.encode("ascii") + b"\n")
        self.head = None

    def begin(self):
        i = self.buf.find(b"\r\n\r\n")
        if i == -1:
            # No request: it is judged as one that may not be.
            if len(self.buf) > HEAD_MAX:
                self.head, self.size, self.body = bytes(self.buf), 0, b""
                self.write(False)
                self.broken = True
            return False
        self.head = bytes(self.buf[:i])
        del self.buf[:i + 4]
        self.body = bytearray()
        self.size = self.left = 0
        self.chunked = False
        for line in self.head.lower().split(b"\r\n")[1:]:
            k, _, v = line.partition(b":")
            if k == b"content-length":
                self.left = int(v)
            elif k == b"transfer-encoding":
                self.chunked = True
        line = self.head.split(b"\r\n")[0]
        self.keep = b"/containers/create" in line or b"/update " in line
        self.chunk = self.last = False
        return True

    def take(self, n):
        if self.keep and len(self.body) < BODY_MAX:
            self.body += self.buf[:n]
        self.size += n
        del self.buf[:n]

    def chunks(self):
        """True when the last one has been."""
        while True:
            if self.left > 0:
                n = min(self.left, len(self.buf))
                self.take(n)
                self.left -= n
                if self.left > 0:
                    return False
            i = self.buf.find(b"\r\n")
            if i == -1:
                return False
            line = bytes(self.buf[:i])
            del self.buf[:i + 2]
            if self.last:           # the empty line after it
                return True
            if self.chunk:          # the end of the one before
                self.chunk = False
                continue
            self.left = int(line.partition(b";")[0], 16)
            self.chunk = self.left > 0
            self.last = self.left == 0

    def feed(self, data):
        if self.broken:
            return
        self.buf += data
        while self.buf or self.head is not None:
            if self.head is None and not self.begin():
                return
            if self.chunked:
                if not self.chunks():
                    return
            else:
                n = min(self.left, len(self.buf))
                self.take(n)
                self.left -= n
                if self.left > 0:
                    return
            self.write(False)

    def end(self):
        if self.head is not None:
            self.write(True)


def shut(*socks):
    for s in socks:
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def relay(src, dst, requests):
    """Until one side is gone; then the other is told."""
    try:
        while True:
            data = src.recv(65536)
            if not data:
                break
            dst.sendall(data)
            if requests is not None:
                requests.feed(data)
    except OSError:
        pass
    shut(src, dst)


def serve(client, path, out):
    engine = socket.socket(socket.AF_UNIX)
    requests = Requests(out)
    try:
        engine.connect(path)
        back = threading.Thread(target=relay, args=(engine, client, None),
                                daemon=True)
        back.start()
        relay(client, engine, requests)
        back.join()
    except OSError as e:
        print("record.py: %s: %s" % (path, e), file=sys.stderr)
    except ValueError as e:
        # A length that is none.  It must not look as if all were well.
        requests.broken = True
        requests.head = b"unsound: %r" % str(e)
    finally:
        requests.end()
        shut(client, engine)
        client.close()
        engine.close()


def main(argv):
    path, engine, name, folder = argv[1:]
    out = open(name, "wb", buffering=0)
    out.write(json.dumps({"under": folder}).encode("ascii") + b"\n")
    stand(path, engine, lambda client: serve(client, engine, out))


if __name__ == "__main__":
    main(sys.argv)
