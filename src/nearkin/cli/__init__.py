"""The command line as a process: streams that may be closed, and signals that end it.

What is imported here is there before any command, so that Ctrl-C finds it at any moment; the
program is in :mod:`nearkin.cli.app`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from nearkin.cli.common import DONE, INTERRUPTED, MISUSE, complain
from nearkin.storage.files import Ended, end_tidily

# Before what was lost in a callback is said again.
_SECONDS = 0.02
# New objects before Python looks for garbage: imports make hundreds of thousands, and none.
_OBJECTS = 200_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``nearkin`` with some arguments, by default those of the process; returns its status."""
    if arguments is not None:
        return run_tidily(lambda: _run(arguments), is_all=False)
    gc.set_threshold(_OBJECTS)
    status = run_tidily(lambda: _run(None), is_all=True)
    gc.freeze()  # a last look for garbage would take half a second
    return status


def _run(arguments: Sequence[str] | None) -> int:
    """Import the program and run it; if a package is missing, say what to install."""
    try:
        from nearkin.cli.app import run_command
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "pyarrow"):
            raise
        complain("the command line needs more packages: pip install 'nearkin[cli]'")
        return MISUSE
    return run_command(arguments)


def run_tidily(run: Callable[[], int], *, is_all: bool) -> int:
    """Run a function; its status, without a traceback when it is interrupted.

    SIGTERM and SIGHUP end the process as they always do, after clean-up. ``is_all`` says that the
    process ends with the function.
    """
    if is_all:
        for descriptor in (0, 1, 2):
            try:
                os.fstat(descriptor)
            except OSError:  # other files would get the numbers of closed streams
                os.open(os.devnull, os.O_RDWR)
    came: list[int] = []
    with end_tidily():
        try:
            with _raise_on_interrupt(came, is_all=is_all):
                status = run()
        except KeyboardInterrupt:
            complain("interrupted")
            status = INTERRUPTED
        forget_if_broken(sys.stdout)
        forget_if_broken(sys.stderr)
    if came:
        # CPython keeps in mind that code in a text was interrupted, as libraries make it, and would
        # end by the signal itself; the next code in a text is all that makes it forget.
        exec("")
    # An interrupted import may be reported as one that failed.
    return INTERRUPTED if came and status != DONE else status


def forget_if_broken(stream: Any) -> None:
    """Redirect a stream to nowhere if it cannot be flushed; Python would end with status 120."""
    try:
        if stream is not None:
            stream.flush()
    except (OSError, ValueError):
        forget(stream)


def forget(stream: Any) -> None:
    """Redirect a stream that nobody reads to nowhere."""
    with suppress(AttributeError, OSError, ValueError):
        descriptor = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


@contextmanager
def _raise_on_interrupt(came: list[int], *, is_all: bool) -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt in a block, in callbacks, too; signals go to ``came``."""
    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not is_ours:
        yield
        return

    def interrupt(number: int, frame: Any) -> None:
        """Raise KeyboardInterrupt, and remember the signal."""
        del frame
        came.append(number)
        raise KeyboardInterrupt

    def send_again(lost: Any) -> None:
        """Send the signal again if its exception was lost in a callback."""
        if not isinstance(lost.exc_value, KeyboardInterrupt):
            known(lost)
            return
        number = lost.exc_value.number if isinstance(lost.exc_value, Ended) else signal.SIGINT
        again = threading.Timer(_SECONDS, _signal_ourselves, [number])
        again.daemon = True
        again.start()
        waiting.append(again)

    known = sys.unraisablehook
    waiting: list[threading.Timer] = []
    try:
        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = send_again
        yield
    finally:
        # Nothing is left to be done well: an impatient second one ends the process at once.
        at_once = (lambda *_: os._exit(INTERRUPTED)) if is_all else signal.default_int_handler
        signal.signal(signal.SIGINT, at_once)
        sys.unraisablehook = known
        for again in waiting:
            again.cancel()


def _signal_ourselves(number: int) -> None:
    """Send a signal to this process, as Ctrl-C does."""
    if sys.platform == "win32":  # where ``os.kill`` would end the process
        signal.raise_signal(number)
    else:  # it wakes a main thread that waits, too
        os.kill(os.getpid(), number)
