"""A studio in all the trouble that its machine may give it: no acknowledged answer may be lost.

    python -m benchmarks.studio.troubles [--kills 50] [--stopped 62]

One journal goes through all of it. Three threads answer as fast as they can, and the studio is sent
SIGKILL, again and again; between kills its journal is moved, deleted, emptied, replaced by another
file, and may not grow (as on a full disk); the process is stopped for a minute; and its clock goes
back by years and forth again. After each, the next studio must know every answer that was
acknowledged, as it was given, and none that was refused or never given.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import httpx
import numpy as np

from benchmarks.kill_the_studio import N_ROWS, Told, check_answers, client_of, process_of
from nearkin.studio.journal import read_lines

JOURNAL = "rows.npy.answers.jsonl"
THREADS = 3
# A studio whose clock jumps by up to ten years with every look at it.
_ODD_CLOCK = """
import random, sys
from datetime import UTC, datetime, timedelta
from nearkin.studio import answers, journal
def now():
    days = random.uniform(-3650, 3650)
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="milliseconds")
answers._now = journal._now = now
from nearkin.cli import main
sys.exit(main(sys.argv[1:]))
"""


class Campaign:
    """A journal, what was said to it, and how many answers there were."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.folder, self.told = folder, Told()
        self.chance = random.Random(seed)
        self._open = list(combinations(range(N_ROWS), 2))
        self.chance.shuffle(self._open)
        self.n_refused = 0
        np.save(folder / "rows.npy", np.random.default_rng(0).normal(size=(N_ROWS, 3)))

    @property
    def journal(self) -> Path:
        return self.folder / JOURNAL

    @contextmanager
    def studio(
        self, odd_clock: bool = False
    ) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
        """A studio that knows all that was acknowledged before."""
        program = ["-c", _ODD_CLOCK] if odd_clock else ["-m", "nearkin"]
        with process_of(self.folder, program) as process, client_of(process) as client:
            check_answers(client, self.told)
            yield process, client

    def say(self, client: httpx.Client, chance: random.Random | None = None) -> int | None:
        """Answer once; the status of the reply, None if there was none."""
        left, right = self._open.pop()
        same = (chance or self.chance).choice([True, False, None])
        self.told.sent[left, right] = same
        try:
            body = {"left": left, "right": right, "same": same}
            status = client.post("/api/answers", json=body, timeout=180).status_code
        except httpx.TransportError:
            return None
        if status == 200:
            self.told.acknowledged[left, right] = same
        else:  # then it must not be known later
            del self.told.sent[left, right]
            self.n_refused += 1
        return status

    def on_disk(self) -> int:
        """How many entries the file has."""
        lines, _, _ = read_lines(self.journal.read_bytes(), self.journal)
        return sum("entry" in line for line in lines)

    def kill(self, client: httpx.Client, process: subprocess.Popen[str], seconds: float) -> None:
        """Answer in threads for a while, and at least some times, and then send SIGKILL."""

        def answer(seed: int) -> None:
            own = random.Random(seed)
            while self.say(client, own) is not None:
                pass

        enough = len(self.told.acknowledged) + 3
        seeds = [self.chance.randrange(2**32) for _ in range(THREADS)]
        threads = [threading.Thread(target=answer, args=[seed]) for seed in seeds]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        while len(self.told.acknowledged) < enough and any(one.is_alive() for one in threads):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for thread in threads:
            thread.join()


def moved(c: Campaign, process: subprocess.Popen[str], client: httpx.Client) -> None:
    """The journal gets another name: it is written anew."""
    c.journal.rename(c.folder / f"moved.{time.monotonic_ns()}")
    assert c.say(client) == 200


def deleted(c: Campaign, process: subprocess.Popen[str], client: httpx.Client) -> None:
    """It is deleted: it is written anew."""
    c.journal.unlink()
    assert c.say(client) == 200


def emptied(c: Campaign, process: subprocess.Popen[str], client: httpx.Client) -> None:
    """It is emptied: what it lacks is written again."""
    c.journal.write_bytes(b"")
    assert c.say(client) == 200


def replaced(c: Campaign, process: subprocess.Popen[str], client: httpx.Client) -> None:
    """Another file takes its name: answers are refused, until that is put right."""
    n_before = c.on_disk()
    (c.folder / "other").write_text("something else\n")
    os.replace(c.folder / "other", c.journal)
    assert c.say(client) == 507
    assert c.journal.read_text() == "something else\n"
    # Whoever kills it now finds all that was acknowledged in a copy.
    (copy,) = c.folder.glob("rows.npy.answers.*.jsonl")
    assert sum("entry" in line for line in read_lines(copy.read_bytes(), copy)[0]) == n_before
    c.journal.unlink()
    assert c.say(client) == 200
    assert not copy.exists()


def full(c: Campaign, process: subprocess.Popen[str], client: httpx.Client) -> None:
    """It may not grow, as on a full disk: answers are refused, and go on when there is room."""
    size = c.journal.stat().st_size
    unlimited = resource.RLIM_INFINITY
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size + 20, unlimited))
    assert [c.say(client) for _ in range(3)] == [507] * 3
    assert c.journal.stat().st_size == size
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
    assert c.say(client) == 200


TROUBLES: list[Callable[[Campaign, subprocess.Popen[str], httpx.Client], None]]
TROUBLES = [moved, deleted, emptied, replaced, full]


def stopped(c: Campaign, seconds: float) -> None:
    """The process is stopped; an answer that is given meanwhile is kept once it goes on."""
    with c.studio() as (process, client):
        assert c.say(client) == 200
        process.send_signal(signal.SIGSTOP)
        found: list[int | None] = []
        thread = threading.Thread(target=lambda: found.append(c.say(client)))
        thread.start()
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)
        thread.join()
        assert found in ([200], [None]), found
        assert c.say(client) == 200
        check_answers(client, c.told)


def run(folder: Path, kills: int, seconds_stopped: float, seed: int = 0) -> Campaign:
    """All of it; AssertionError if something is lost, or known that was not acknowledged."""
    c = Campaign(folder, seed)
    for number in range(kills):
        with c.studio(odd_clock=number % 3 == 1) as (process, client):
            before = len(c.told.acknowledged)
            TROUBLES[number % len(TROUBLES)](c, process, client)
            assert c.on_disk() >= len(c.told.acknowledged) > before
            c.kill(client, process, c.chance.uniform(0.05, 0.5))
    if seconds_stopped:
        stopped(c, seconds_stopped)
    with c.studio() as (_, client):
        assert c.on_disk() == client.get("/api/lesson").json()["state"]["version"]
    return c


def main() -> None:
    """Run it from the command line, and print how many answers went through it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--stopped", type=float, default=62.0, help="seconds")
    parser.add_argument("--seed", type=int, default=0)
    wished = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        c = run(Path(folder), wished.kills, wished.stopped, wished.seed)
    print(
        f"{wished.kills} kills, stopped for {wished.stopped:g} s: of {len(c.told.acknowledged)} "
        f"answers that were acknowledged none is lost, of {c.n_refused} refused none is kept."
    )


if __name__ == "__main__":
    main()
