"""Kill a studio in the middle of a stream of answers, again and again: nothing confirmed is lost.

    python -m benchmarks.kill_the_studio [times] [seed]

A studio runs in a process of its own. Three threads answer as fast as they can, and the process is
killed (SIGKILL) at a random moment. The next one must open the journal, and know every answer that
was acknowledged, as it was given, and none that nobody gave.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx
import numpy as np

Pair = tuple[int, int]
N_ROWS = 200
# Seconds that answers stream for, at most.
LONGEST = 0.5
THREADS = 3


@dataclass
class Told:
    """What was sent, and what of it was acknowledged."""

    sent: dict[Pair, bool | None] = field(default_factory=dict)
    acknowledged: dict[Pair, bool | None] = field(default_factory=dict)
    restarts: int = 0


def kill_again_and_again(times: int, folder: Path, seed: int = 0) -> Told:
    """Kill a studio this often; AssertionError if it ever lacks something."""
    chance = random.Random(seed)
    np.save(folder / "rows.npy", np.random.default_rng(seed).normal(size=(N_ROWS, 3)))
    open_pairs = list(combinations(range(N_ROWS), 2))
    chance.shuffle(open_pairs)
    told = Told()
    for _ in range(times):
        with studio(folder) as (process, client):
            _check(client, told)
            told.restarts += 1
            _stream_until_killed(process, client, told, open_pairs, chance)
    with studio(folder) as (_, client):
        _check(client, told)
        told.restarts += 1
    return told


@contextmanager
def studio(folder: Path) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A studio of rows.npy in a process, and a client that knows its token."""
    command = [sys.executable, "-m", "nearkin", "studio", "rows.npy", "--port", "0", "--no-browser"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            address = process.stdout.readline().strip()
            if not address:
                raise AssertionError(f"the studio does not open: {process.stderr.read()}")
            base, token = address.split("/?token=")
            headers = {"X-Nearkin-Token": token}
            with httpx.Client(base_url=base, headers=headers, trust_env=False) as client:
                yield process, client
        finally:
            process.kill()


def _check(client: httpx.Client, told: Told) -> None:
    known = client.get("/api/known").json()
    answers: dict[Pair, Any] = {}
    for kind, same in (("must_link", True), ("cannot_link", False), ("unsure", None)):
        ends = known[kind]
        answers |= dict.fromkeys(zip(ends[::2], ends[1::2], strict=True), same)
    lost = {pair for pair, same in told.acknowledged.items() if answers.get(pair, "lost") != same}
    invented = {pair for pair, same in answers.items() if told.sent.get(pair, "none") != same}
    assert not lost, f"{len(lost)} acknowledged answers are lost: {sorted(lost)[:5]}"
    assert not invented, f"{len(invented)} answers were never given: {sorted(invented)[:5]}"


def _stream_until_killed(
    process: subprocess.Popen[str],
    client: httpx.Client,
    told: Told,
    open_pairs: list[Pair],
    chance: random.Random,
) -> None:
    def answer(seed: int) -> None:
        own = random.Random(seed)
        while True:
            left, right = open_pairs.pop()
            same = own.choice([True, False, None])
            told.sent[left, right] = same
            try:
                body = {"left": left, "right": right, "same": same}
                reply = client.post("/api/answers", json=body)
            except httpx.TransportError:
                return
            assert reply.status_code == 200, reply.text
            told.acknowledged[left, right] = same

    threads = [
        threading.Thread(target=answer, args=[chance.randrange(2**32)]) for _ in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    time.sleep(chance.uniform(0, LONGEST))
    os.kill(process.pid, signal.SIGKILL)
    for thread in threads:
        thread.join()
    process.wait()


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        told = kill_again_and_again(times, Path(folder), seed)
    n_open = len(told.sent) - len(told.acknowledged)
    print(
        f"killed {times} times, opened {told.restarts} times; {len(told.acknowledged)} answers "
        f"acknowledged, all there each time; {n_open} more were under way "
        f"({time.perf_counter() - begun:.0f} s)"
    )


if __name__ == "__main__":
    main()
