"""Kill a studio at any moment, again and again: nothing confirmed is lost, nothing half is left.

    python -m benchmarks.kill_the_studio 20 [--seed 0] [--workers 2]

A trial is a series of kills. A studio runs in a process of its own, three threads answer as fast as
they can, and the process is sent SIGKILL, SIGTERM or SIGHUP: while it starts, while it answers, or
twice, the second time while it ends. The next one must open the journal, and know every answer that
was acknowledged, as it was given, and none that nobody gave. No other file is left.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks import campaign
from benchmarks.campaign import Campaign, Case

Pair = tuple[int, int]
N_ROWS = 200
THREADS = 3
MOST_KILLS = 10
SIGNALS = ("KILL", "TERM", "HUP")
# Seconds until a kill, at most: from the start of a process, of answers, or of its end.
LONGEST = {"starting": 3.0, "answering": 0.5, "ending": 0.2}
# Seconds until a process that was asked to end has done so.
TO_END = 300.0


@dataclass
class Told:
    """What was sent, and what of it was acknowledged."""

    sent: dict[Pair, bool | None] = field(default_factory=dict)
    acknowledged: dict[Pair, bool | None] = field(default_factory=dict)


def draw(rng: np.random.Generator) -> Case:
    """Some kills, most of them while there are answers."""
    kills = []
    for _ in range(rng.integers(1, MOST_KILLS + 1)):
        when = str(rng.choice(list(LONGEST), p=[0.15, 0.65, 0.2]))
        after = round(float(rng.uniform(0, LONGEST[when])), 3)
        kills.append({"when": when, "signal": str(rng.choice(SIGNALS)), "after": after})
    return {"kills": kills, "seed": int(rng.integers(2**31))}


def check(case: Case) -> str:
    """Kill a studio this often; AssertionError if it ever lacks something."""
    chance, told = random.Random(case["seed"]), Told()
    open_pairs = list(combinations(range(N_ROWS), 2))
    chance.shuffle(open_pairs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "rows.npy", np.random.default_rng(0).normal(size=(N_ROWS, 3)))
        for kill in case["kills"]:
            with process_of(folder) as process:
                if kill["when"] == "starting":
                    time.sleep(kill["after"])
                    _end(process, kill["signal"])
                    continue
                with client_of(process) as client:
                    check_answers(client, told)
                    _stream_until_killed(process, client, told, open_pairs, chance, kill)
            _check_files(folder)
        with process_of(folder) as process, client_of(process) as client:
            check_answers(client, told)
            _end(process, "TERM")
        _check_files(folder)
    return f"series of {len(case['kills'])}"


@contextmanager
def process_of(
    folder: Path, program: Sequence[str] = ("-m", "nearkin")
) -> Iterator[subprocess.Popen[str]]:
    """A studio of rows.npy in a process, which heeds SIGHUP though this one may not (nohup)."""
    command = [sys.executable, *program, "studio", "rows.npy", "--port", "0", "--no-browser"]
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_hangup,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def heed_hangup() -> None:
    """Have a child end by SIGHUP."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextmanager
def client_of(process: subprocess.Popen[str]) -> Iterator[httpx.Client]:
    """A client that knows the token of a studio that starts."""
    assert process.stdout is not None
    assert process.stderr is not None
    address = process.stdout.readline().strip()
    assert address, f"the studio does not open: {process.stderr.read()}"
    base, token = address.split("/?token=")
    headers = {"X-Nearkin-Token": token}
    with httpx.Client(base_url=base, headers=headers, trust_env=False, timeout=60) as client:
        yield client


def check_answers(client: httpx.Client, told: Told) -> None:
    """AssertionError if a studio lacks an answer, or has one that nobody gave."""
    known = client.get("/api/known").json()
    answers: dict[Pair, Any] = {}
    for kind, same in (("must_link", True), ("cannot_link", False), ("unsure", None)):
        ends = known[kind]
        answers |= dict.fromkeys(zip(ends[::2], ends[1::2], strict=True), same)
    lost = {pair for pair, same in told.acknowledged.items() if answers.get(pair, "lost") != same}
    invented = {pair for pair, same in answers.items() if told.sent.get(pair, "none") != same}
    assert not lost, f"acknowledged answers are lost: {sorted(lost)[:5]} of {len(lost)}"
    assert not invented, f"answers were never given: {sorted(invented)[:5]} of {len(invented)}"


def _check_files(folder: Path) -> None:
    left = {path.name for path in folder.iterdir()} - {"rows.npy", "rows.npy.answers.jsonl"}
    assert not left, f"files are left behind: {sorted(left)}"


def _stream_until_killed(
    process: subprocess.Popen[str],
    client: httpx.Client,
    told: Told,
    open_pairs: list[Pair],
    chance: random.Random,
    kill: dict[str, Any],
) -> None:
    refused: list[str] = []

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
            if reply.status_code != 200:
                refused.append(f"{reply.status_code} {reply.text}")
                return
            told.acknowledged[left, right] = same

    threads = [
        threading.Thread(target=answer, args=[chance.randrange(2**32)]) for _ in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    if kill["when"] == "ending":
        time.sleep(0.1)
        os.kill(process.pid, signal.SIGTERM)
    time.sleep(kill["after"])
    _end(process, kill["signal"])
    for thread in threads:
        thread.join()
    assert not refused or kill["when"] == "ending", f"an answer is refused: {refused[0]}"


def _end(process: subprocess.Popen[str], name: str) -> None:
    """Send a signal, and see that the process ends as it should."""
    number = getattr(signal, f"SIG{name}")
    process.send_signal(number)
    try:
        status = process.wait(TO_END)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"the studio does not end: SIG{name}") from None
    # Of a signal, or as shells say it; a studio that was ending already may end in peace.
    ends = {0, *(-signal.SIGTERM, 128 + signal.SIGTERM), *(-number, 128 + number)}
    assert status in ends, f"the studio ends in a strange way: {status}"
    assert process.stderr is not None
    said = process.stderr.read()
    assert "Traceback" not in said, f"the studio ends in a traceback: {said}"


UNIT = f"series of 1 to {MOST_KILLS} kills, 111 in the first 20"
CAMPAIGN = Campaign("kill_the_studio", UNIT, draw, check, seconds=600)


if __name__ == "__main__":
    campaign.main(CAMPAIGN)
