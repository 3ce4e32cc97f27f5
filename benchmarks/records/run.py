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
from benchmarks.records import ablation, rivals, rounds
from benchmarks.records.data import DATA, REPORTED, TUNED
from benchmarks.records.tables import OURS, tables
from benchmarks.resume import Job, complete

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
MOST_DRAWS, MOST_ABLATED = 5, 3
SIZES = (10_000, 100_000, 1_000_000)
# Records of the largest groups.
LARGEST = (4, 50)
# Tables on which rivals are measured, small ones first.
BESIDE = ("rldata500", "restaurants", "affiliations", "holders", "cora", "abt_buy", "imdb_tmdb")
# Tables of thousands of records, which take minutes: of each fewer kinds of answers.
LARGE = ("febrl2", "febrl3", "febrl4", "imdb_tmdb")


def run(draws: int) -> None:
    """Measure what is not stored yet."""
    complete(RAW, matched(min(draws, MOST_DRAWS)), "records")
    complete(RAW, compared(), "rivals")
    complete(RAW, growth(), "growth")
    complete(RAW, ablated(min(draws, MOST_ABLATED)), "ablation")


def growth() -> Iterator[Job]:
    """From a file to groups, small tables first."""
    for size, largest in product(SIZES, LARGEST):
        yield Job({"n_records": size, "largest": largest}, _grown, (size, largest))


def matched(draws: int) -> Iterator[Job]:
    """What we find, in tables to report on first."""
    small = [data for data in DATA if data not in (*TUNED, *LARGE)]
    rest = [(data, rounds.PROTOCOLS) for data in (*REPORTED, *TUNED) if data not in small]
    for seed in range(draws):
        for data, protocols in [*((data, rounds.ALL_PROTOCOLS) for data in small), *rest]:
            for protocol in protocols:
                names = {"method": OURS, "data": data, "protocol": protocol, "seed": seed}
                yield Job(names, rounds.measured, (data, protocol, seed))


def compared() -> Iterator[Job]:
    """What rivals find in the first draw."""
    for data, protocol, n, name in product(BESIDE, rounds.PROTOCOLS, (0, 100), rivals.rivals()):
        if (n == 0) != (name in rivals.WITHOUT) or (n == 0 and protocol == rounds.RANDOM):
            continue
        cell = {"method": name, "data": data, "protocol": protocol, "n_answers": n, "seed": 0}
        yield Job(cell, rivals.measured, (name, data, protocol, n, 0))


def ablated(draws: int) -> Iterator[Job]:
    """What is found without each part, table by table."""
    for seed, data, name in product(
        range(draws), ablation.TABLES, (ablation.WHOLE, *ablation.PARTS)
    ):
        names = {"without": name, "data": data, "seed": seed}
        yield Job(names, ablation.measured, (name, data, seed))


def _grown(size: int, largest: int) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.records.growth", str(size), str(largest)]
    return [json.loads(subprocess.run(command, capture_output=True, check=True).stdout)]


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    heading = "Duplicates among records, by no answer or a few"
    publish(FOLDER / "RESULTS.md", heading, tables(rows), source)
