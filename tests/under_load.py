"""Run tests again and again while all cores are kept busy: what races fails here sooner.

    python -m tests.under_load --rounds 20 tests/studio/server/browser
    python -m tests.under_load --rounds 5 -n 2 -k journal tests/studio
    python -m tests.under_load --concurrent   # all with threads, processes and sockets but those

Arguments that are not listed by ``--help`` go to pytest as they are. The first round that fails is
the last: its output is printed, the names of the failed tests follow, and the exit status is 1.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

# A process that computes until it is ended, or the one that started it is gone.
_SPIN = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000):
        pass
"""
# Where tests have threads, processes or sockets, but for those in a browser.
CONCURRENT = (
    "--ignore=tests/studio/server/browser",
    "tests/studio/server",
    "tests/studio/test_journal.py",
    "tests/studio/test_kept_answers.py",
    "tests/studio/test_kept_file.py",
    "tests/studio/test_lesson.py",
    "tests/studio/test_notebook.py",
    "tests/cli/test_pipes.py",
    "tests/cli/test_process.py",
    "tests/cli/test_studio.py",
    "tests/cli/test_targets.py",
    "tests/records/test_dask.py",
    "tests/rows/test_dask.py",
    "tests/learners/test_memo.py",
    "tests/rows/test_parallel.py",
    "tests/rows/test_streams.py::test_a_process_that_ends_leaves_the_old_file",
    "tests/storage/test_whole_file.py",
    "tests/test_messages.py",
)
# Seconds that an interrupted run has to end its servers and browsers.
PATIENCE = 60


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m tests.under_load",
        description=__doc__.partition("\n")[0],
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--rounds", type=int, default=20, help="how often the tests are run (20)")
    add("--busy", type=int, default=os.cpu_count(), help="how many processes spin (one a core)")
    add("--concurrent", action="store_true", help="all tests with threads, processes and sockets")
    settings, for_pytest = parser.parse_known_args(arguments)
    if settings.concurrent:
        for_pytest += CONCURRENT
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with spinning(settings.busy):
            return _run_rounds(settings.rounds, for_pytest)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def spinning(n):
    """Keep n processes busy, of the same niceness as this one, and end them afterwards."""
    command = [sys.executable, "-S", "-c", _SPIN, str(os.getpid())]
    with ExitStack() as stack:
        found = []
        for _ in range(n):
            one = stack.enter_context(subprocess.Popen(command))
            stack.callback(one.kill)
            found.append(one)
        yield found


def _run_rounds(rounds, for_pytest):
    begin = time.monotonic()
    for k in range(1, rounds + 1):
        clock = time.monotonic()
        status, failed, output = run_once(for_pytest)
        said = (output.strip().splitlines() or ["nothing was printed"])[-1].strip("= ")
        took = time.monotonic() - clock
        print(f"round {k} of {rounds}: {said} (status {status}, {took:.0f} s)", flush=True)
        if status:
            print(output)
            print(f"round {k} of {rounds} failed, with status {status}:")
            print("\n".join(f"  {name}" for name in failed) or "  no test of its own")
            return 1
    print(f"{rounds} rounds, none failed, in {time.monotonic() - begin:.0f} s")
    return 0


def run_once(for_pytest):
    """The exit status of pytest, the names of the failed tests, and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder, "output.txt")
        command = [sys.executable, "-m", "pytest", "-q", "-o", f"cache_dir={folder}/cache"]
        with printed.open("wb") as out:
            # A session of its own: Ctrl-C reaches this process, which interrupts pytest once.
            running = subprocess.Popen(
                [*command, *for_pytest],
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                status = running.wait()
            finally:
                _end(running)
        kept = Path(folder, "cache", "v", "cache", "lastfailed")
        failed = sorted(json.loads(kept.read_text())) if kept.exists() else []
        return status, failed, printed.read_text(errors="replace")


def _end(running):
    """End pytest, if it still runs, as Ctrl-C does, and what is left of its processes."""
    try:
        if running.poll() is None:
            running.send_signal(signal.SIGINT)
            running.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


if __name__ == "__main__":
    sys.exit(main())
