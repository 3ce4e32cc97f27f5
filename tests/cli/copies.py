"""Processes of nearkin that start at once: copies of one process that has imported everything.

To import what nearkin stands on takes seconds, and what it does then a moment. A copy has streams,
folder, environment, signals and a status of its own, as any process has.

    python -W error copies.py serve ADDRESS   # makes copies until its standard input ends
    python copies.py ask ADDRESS fit --help   # is ``nearkin fit --help``, by a copy
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

STREAMS = (0, 1, 2)
# How many digits a copy knows of; all without.
N_DIGITS = "NEARKIN_TESTS_DIGITS"


@contextmanager
def begun(address, arguments, streams=STREAMS, folder=None, **environment):
    """A copy that works in a folder: its process id, and lines of which the next is its status."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [b"."], streams)
        with connection.makefile("rw", encoding="ascii") as lines:
            asked = [arguments, str(folder or os.getcwd()), {**os.environ, **environment}]
            print(json.dumps(asked), file=lines, flush=True)
            yield int(lines.readline()), lines


def ask(address, arguments):
    """Status of a copy that works for this process, and gets the signals that come here."""
    passed_on = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)  # they wait until there is a copy
    with begun(address, arguments) as (copy, lines):
        for number in passed_on:
            signal.signal(number, lambda number, frame: os.kill(copy, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
        return int(lines.readline())


@contextmanager
def serving(*options):
    """The address of a process that makes copies, with options of Python."""
    with tempfile.TemporaryDirectory(prefix="nearkin") as folder:  # sockets have short names
        address = Path(folder, "address")
        with subprocess.Popen(
            [sys.executable, *options, __file__, "serve", address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as server:
            assert server.stdout.readline() == b"ready\n"
            yield address
            server.stdin.close()


def serve(address):
    """Make copies. It is they that return, as the processes they are to be."""
    import select

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            asked, _, _ = select.select([server, sys.stdin], [], [])
            if server not in asked:
                os._exit(0)
            with server.accept()[0] as connection:
                if not _fork():
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    server.close()
                    _become(connection)
                    return


def _become(connection):
    """In a copy, be what was asked for; the process in between waits, and says how that ended."""
    _, streams, _, _ = socket.recv_fds(connection, 1, len(STREAMS))
    with connection.makefile("rw", encoding="ascii") as lines:
        arguments, folder, environment = json.loads(lines.readline())
        copy = _fork()
        for stream, number in zip(streams, STREAMS, strict=True):
            if not copy:
                os.dup2(stream, number)
            os.close(stream)
        if copy:
            print(copy, file=lines, flush=True)
            _, status = os.waitpid(copy, 0)
            print(os.waitstatus_to_exitcode(status), file=lines, flush=True)
            os._exit(0)
    # Test runners in the background may ignore it, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["nearkin", *arguments]
    if (n_digits := os.environ.get(N_DIGITS)) is not None:
        _keep_digits(int(n_digits))


def _keep_digits(n):
    """Let scikit-learn have the first so many digits only, which the demonstration shows."""
    from sklearn import datasets

    data = datasets.load_digits()
    few = {name: data[name][:n] for name in ("data", "target", "images")}
    datasets.load_digits = lambda: type(data)(**{**data, **few})


def _fork():
    with warnings.catch_warnings():
        # Of threads that are there: those of BLAS, which knows what to do.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


if __name__ == "__main__":
    role, address, *arguments = sys.argv[1:]
    if role == "ask":
        status = ask(address, arguments)
        if status < 0:
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        sys.exit(status)

    import pkgutil
    from importlib import import_module

    import nearkin.cli

    for name in nearkin.__all__:
        getattr(nearkin, name)
    for module in pkgutil.walk_packages(nearkin.cli.__path__, "nearkin.cli."):
        import_module(module.name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those in between
    serve(address)
    sys.exit(nearkin.cli.main())
