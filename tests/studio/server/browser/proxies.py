"""A reverse proxy below a path, as JupyterHub and jupyter-server-proxy are one."""

import re
import socket
import threading
from contextlib import contextmanager, suppress

_PREFIX = re.compile(rb"/user/ann/proxy/(\d+)(/[^ ]*)")


@contextmanager
def path_proxy(websockets=True):
    """The port of a proxy that passes ``/user/ann/proxy/PORT/...`` on as ``/...`` to PORT.

    Names of hosts and pages go through as they are, and so do WebSockets, unless it has none.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_accept, args=[listening, websockets], daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def _accept(listening, websockets):
    with suppress(OSError):
        while True:
            caller, _ = listening.accept()
            threading.Thread(target=_pass_on, args=[caller, websockets], daemon=True).start()


def _pass_on(caller, websockets):
    """One request, and all that is said after it both ways."""
    with caller, suppress(OSError):
        head = b""
        while b"\r\n\r\n" not in head and (part := caller.recv(65536)):
            head += part
        asked, _, rest = head.partition(b"\r\n")
        method, path, version = asked.split(b" ")
        found = _PREFIX.fullmatch(path)
        is_websocket = b"upgrade: websocket" in rest.lower()
        if found is None or (is_websocket and not websockets):
            caller.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        if not is_websocket:  # so that no other request comes this way
            rest = b"Connection: close\r\n" + re.sub(rb"(?i)connection: [^\r]*\r\n", b"", rest)
        with socket.create_connection(("127.0.0.1", int(found[1]))) as studio:
            studio.sendall(b" ".join([method, found[2], version]) + b"\r\n" + rest)
            back = threading.Thread(target=_relay, args=[studio, caller], daemon=True)
            back.start()
            _relay(caller, studio)
            back.join()


def _relay(source, target):
    with suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
