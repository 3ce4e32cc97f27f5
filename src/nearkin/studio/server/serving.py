"""A server that listens, in this thread or in one of its own."""

from __future__ import annotations

import errno
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn

from nearkin.errors import InputError
from nearkin.studio.server.security import Access, Visitors, hosts_of, in_url

if TYPE_CHECKING:
    from nearkin.studio.lesson import Lesson

THIS_MACHINE = "127.0.0.1"
PORT = 8765
# Ports that are tried after it.
_MORE_PORTS = 100
# Seconds that a request may take to end when the server ends.
_PATIENCE = 3
# Connections that may wait to be accepted, and that are accepted in one go. Three times as many
# come while one of them is read: it must not have to go before, see visitors.MOST_STRANGERS.
_WAITING = 1024
_AT_ONCE = 16


class AddressError(InputError):
    """An address or port cannot be listened on."""


# Seconds that a thread has for itself while another waits: what is seen next waits for reports.
_TURN = 0.0005


def listening_socket(address: str, port: int | None) -> socket.socket:
    """Return a socket that listens on a port, or on the first free one from 8765 on.

    Connections are accepted from now on, and wait until the server runs.
    """
    ports = range(PORT, PORT + _MORE_PORTS) if port is None else [port]
    for wanted in ports:
        try:
            return _bind(address, wanted)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise AddressError(_explain_error(address, wanted, error)) from error
    if port is not None:
        raise AddressError(
            f"port {port} is in use by another program, perhaps another studio: choose another "
            "one, or none for the first that is free."
        )
    raise AddressError(f"ports {PORT} to {PORT + _MORE_PORTS - 1} are all in use: choose another.")


def _bind(address: str, port: int) -> socket.socket:
    """Return a socket that listens on a port; raise OSError if that is not possible."""
    found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, place = found[0]
    bound = socket.socket(family, kind, protocol)
    try:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows: or two programs share the port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:  # not in use, though connections of the one before may linger
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(place)
        bound.listen(_WAITING)
    except OSError:
        bound.close()
        raise
    return bound


def _explain_error(address: str, port: int, error: OSError) -> str:
    """Say why a port cannot be listened on."""
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"{address} is not an address of this machine."
    return f"port {port} of {address} cannot be used: {error.strerror or error}."


@contextmanager
def _handle_signal(name: str, handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle a signal within a block, in the main thread, if it exists here and is not ignored."""
    number = getattr(signal, name, None)
    is_told = threading.current_thread() is threading.main_thread()
    if number is None or not is_told or signal.getsignal(number) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


class Serving:
    """A server of a lesson, which it closes at the end, in this thread or one of its own.

    Without a ``port`` it takes the first free one from 8765 on, and with 0 any free one; the
    ``token`` is that of a server that this one replaces, or a new one. ``visitors`` has limits of
    connections other than usual, and ``allowed`` names of proxies that may pass requests on, see
    :func:`nearkin.studio.server.security.check_names`. Raises AddressError if the address or port
    cannot be listened on.
    """

    def __init__(
        self,
        lesson: Lesson,
        *,
        address: str = THIS_MACHINE,
        port: int | None = None,
        token: str | None = None,
        visitors: Visitors | None = None,
        allowed: Collection[str] = (),
    ) -> None:
        from nearkin.studio.server.app import make_app

        self._socket = listening_socket(address, port)
        self.port = int(self._socket.getsockname()[1])
        self._access = Access(token)
        self.token = self._access.token
        self._home = f"http://{in_url(address)}:{self.port}/"
        # For people.
        self.url = f"{self._home}?token={self.token}"
        self.app = make_app(lesson, self._access, hosts_of(address, self.port, allowed))
        settings: dict[str, Any] = {
            # What is installed beside must not change how we behave.
            "loop": "asyncio",
            "http": (Visitors() if visitors is None else visitors).protocol,
            "ws": "websockets-sansio",
            "backlog": _AT_ONCE,
            "ws_max_size": 4096,
            "ws_per_message_deflate": False,  # it takes longer than the way within a machine
            "access_log": False,  # which would have the token in it
            "log_level": "critical",
            "server_header": False,
            "timeout_graceful_shutdown": _PATIENCE,
            "lifespan": "on",
        }
        end, waiting_room = self._end, self._socket
        came = self._signals = list[int]()

        class Server(uvicorn.Server):
            async def main_loop(self) -> None:
                """Serve, unless a signal came during the start."""
                self.should_exit |= bool(came)
                await super().main_loop()

            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                """Start, with the socket's long queue of connections."""
                await super().startup(sockets)
                waiting_room.listen(_WAITING)  # asyncio has made it as small as what it accepts

            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                """Handle signals until the lesson is closed: a second one ends it no sooner."""
                with super().capture_signals(), _handle_signal("SIGHUP", self.handle_exit):
                    try:
                        yield
                    finally:
                        end()

        self._server = Server(uvicorn.Config(self.app, **settings))
        self._thread: threading.Thread | None = None
        self._closing = threading.Lock()

    @property
    def lesson(self) -> Lesson:
        """The lesson that is taught now."""
        found: Lesson = self.app.state.sessions.lesson
        return found

    def url_for_a_program(self) -> str:
        """Address of the page with a code instead of the token, which opens it once and soon."""
        return f"{self._home}?code={self._access.new_code()}"

    def run(self) -> None:
        """Serve until Ctrl-C or a signal to end."""
        sys.setswitchinterval(_TURN)
        try:
            # From here on no signal stops what has begun half way; the server has handlers of its
            # own once it runs, and hands on to these what they were told.
            with ExitStack() as stack:
                for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                    handler = _handle_signal(name, lambda number, _: self._signals.append(number))
                    stack.enter_context(handler)
                self._server.run(sockets=[self._socket])
        finally:
            self._end()
        with suppress(KeyboardInterrupt):
            for number in self._signals[:1]:
                signal.raise_signal(number)

    def start(self) -> None:
        """Serve in a thread, until :meth:`close`."""
        self._thread = threading.Thread(
            target=self._server.run,
            kwargs={"sockets": [self._socket]},
            name="nearkin.studio",
            daemon=True,
        )
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                self._end()
                raise RuntimeError("the studio's server has not started.")
            time.sleep(0.005)

    def close(self) -> None:
        """End the server. Closing twice does no harm."""
        with self._closing:
            self._server.should_exit = True
            if self._thread is not None:
                self._thread.join()
                self._thread = None
            self._end()

    def _end(self) -> None:
        """Close the socket and the lesson."""
        self._socket.close()
        self.lesson.close()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the server ends, or for some seconds; return whether it has ended."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()
