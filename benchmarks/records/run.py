"""Duplicates among records, by no answer or a few: how good, and whether what is stated holds.

Answers are those to the questions of ``RecordMatcher.suggest``, ten at a time, or to candidates
drawn at random, half of which are the same thing. Groups are judged by the pairs that they imply
among all pairs of records; rivals are told the same answers, in the first draw. Growth is measured
in processes of their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.record import publish, stored
from benchmarks.records import publications, rivals, rounds
from benchmarks.records.data import DATA
from benchmarks.records.tables import OURS, tables
from benchmarks.resume import Job, complete

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
MOST_DRAWS = 10
SIZES = (10_000, 100_000, 1_000_000)
ON_DASK = (1_000_000,)
# Sets on which rivals are measured, small ones first.
BESIDE = ("restaurants", "rldata500", publications.DATA, "febrl1", "febrl2", "febrl3", "febrl4")
# Seeds of made-up people on whom nothing was chosen.
FRESH = range(100, 110)


def run(draws: int) -> None:
    """Measure what is not stored yet."""
    complete(RAW, growth(), "growth")
    complete(RAW, matched(min(draws, MOST_DRAWS)), "records")
    complete(RAW, compared(), "rivals")


def growth() -> Iterator[Job]:
    """From a file to groups, small tables first, in memory and then on dask."""
    for size in SIZES:
        yield Job({"n_records": size}, _grown, ("growth", size))
    for size in ON_DASK:
        yield Job({"n_on_dask": size}, _grown, ("distributed", size))


def matched(draws: int) -> Iterator[Job]:
    """What we find, on fresh tables first."""
    for seed in range(draws):
        names = {"method": OURS, "data": publications.DATA, "protocol": rounds.RANDOM, "seed": seed}
        yield Job(names, publications.ours, (seed,))
    made = [(seed, data, rounds.SUGGESTED) for seed, data in product(FRESH, rounds.MADE)]
    cells = product(range(draws), (*DATA, *rounds.MADE), rounds.PROTOCOLS)
    for seed, data, protocol in (*made, *cells):
        if protocol == rounds.SUGGESTED or data in DATA:
            names = {"method": OURS, "data": data, "protocol": protocol, "seed": seed}
            yield Job(names, rounds.measured, (data, protocol, seed))


def compared() -> Iterator[Job]:
    """What rivals find in the first draw."""
    for data, protocol, n, name in product(
        BESIDE, rounds.PROTOCOLS, rounds.N_ANSWERS, rivals.rivals()
    ):
        if (n == 0) != (name in rivals.WITHOUT) or (n == 0 and protocol == rounds.RANDOM):
            continue
        cell = {"method": name, "data": data, "protocol": protocol, "n_answers": n, "seed": 0}
        if data in DATA:
            yield Job(cell, rivals.measured, (name, data, protocol, n, 0))
        elif protocol == rounds.SUGGESTED:  # once, by random answers: nobody knows others
            yield Job({**cell, "protocol": rounds.RANDOM}, publications.by_rival, (name, n, 0))


def _grown(module: str, size: int) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", f"benchmarks.records.{module}", str(size)]
    return [json.loads(subprocess.run(command, capture_output=True, check=True).stdout)]


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    heading = "Duplicates among records, by no answer or a few"
    publish(FOLDER / "RESULTS.md", heading, tables(rows, FRESH.start), source)
