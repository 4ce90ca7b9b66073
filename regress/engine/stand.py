"""
What stands before the Engine: a socket that looks like the Engine's.
"""

import os
import socket
import threading


def stand(path, engine, serve):
    """Calls serve(connection) in a thread for each; it does not return."""
    threading.stack_size(256 * 1024)
    sock = socket.socket(socket.AF_UNIX)
    # There it is when it can be used, and for whom the Engine's is.
    sock.bind(path + ".new")
    st = os.stat(engine)
    os.chown(path + ".new", st.st_uid, st.st_gid)
    os.chmod(path + ".new", st.st_mode & 0o777)
    sock.listen(1024)
    os.rename(path + ".new", path)
    while True:
        client = sock.accept()[0]
        threading.Thread(target=serve, args=(client,), daemon=True).start()
