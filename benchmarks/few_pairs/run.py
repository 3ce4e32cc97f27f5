"""Few pairs, some of them wrong: every learner on real data, MetricLearner, and its rivals.

Each draw takes up to 1000 rows. Pairs, half must-links and half cannot-links unless a protocol says
otherwise, are of 60 % of them; methods are judged on the others, which no pair names. Settings were
chosen on half of the data sets (``data.TUNED_ON``); the others are reported.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

from benchmarks.few_pairs import peers
from benchmarks.few_pairs.data import REPORTED, TUNED_ON, Draw
from benchmarks.few_pairs.judging import found_mistakes, judged
from benchmarks.few_pairs.methods import CHIEF, COSINE, EUCLIDEAN, FOR_SEARCH, OURS, methods
from benchmarks.few_pairs.protocols import (
    CLEAN,
    DRAWS,
    FEW_DRAWS,
    NOISY,
    ONE_DRAW,
    PROTOCOLS,
    RANDOM,
    UNSEEN,
)
from benchmarks.few_pairs.rivals import PEERS, listed_by_cleanlab
from benchmarks.few_pairs.tables import draw_pictures, tables
from benchmarks.record import Page, Text, publish_page, stored
from benchmarks.resume import Job, complete, undone
from nearkin import Euclidean
from nearkin.scores.held_out import find_suspects_of_metric

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
BESIDE_CLEANLAB = {(data, 200) for data in REPORTED}
Row = dict[str, Any]


def n_draws(title: str, data: str, name: str) -> int:
    """How often a method is measured: all where it counts most, and some with all pairs right."""
    if name == FOR_SEARCH:
        return DRAWS if title == UNSEEN and data in REPORTED else 0
    if title == RANDOM:
        shown = name in (OURS, COSINE, EUCLIDEAN) and data in REPORTED
        return FEW_DRAWS if shown else 0
    chief = name in CHIEF and (title in (CLEAN, NOISY, UNSEEN) or data in REPORTED)
    if chief:
        return DRAWS if title in (CLEAN, UNSEEN) and data in REPORTED else FEW_DRAWS
    draws = ONE_DRAW if name in peers.NAMES else FEW_DRAWS
    return draws if title == CLEAN and data in REPORTED else 0


def jobs(draws: int) -> Iterator[Job]:
    """Draw by draw, all methods on the same one; what counts most comes first."""
    for seed in range(draws):
        for title, protocol in PROTOCOLS.items():
            for data, n_pairs in product((*REPORTED, *TUNED_ON), protocol.n_pairs):
                for name in methods(seed) if data in protocol.data else ():
                    if seed < n_draws(title, data, name):
                        cell = {"protocol": title, "data": data, "n_pairs": n_pairs, "seed": seed}
                        given = title, data, n_pairs, seed, name
                        yield Job({**cell, "method": name}, measure, given)


def run(draws: int) -> None:
    """Measure what is not stored yet, two methods at a time; times are of one core."""
    complete(RAW, jobs(draws), "few pairs", processes=2)


@lru_cache(maxsize=1)
def _part(title: str, data: str, n_pairs: int, seed: int) -> Draw:
    return PROTOCOLS[title].draw(data, n_pairs, seed)


def measure(title: str, data: str, n_pairs: int, seed: int, name: str) -> list[Row]:
    """One method on one draw. Where it refuses, the Euclidean distance stands for it."""
    part = _part(title, data, n_pairs, seed)
    method = methods(seed)[name]
    refused: Row = {}
    start = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with patch(
                "nearkin.learners.metric_learner.find_suspects_of_metric",
                wraps=find_suspects_of_metric,
            ) as listed:
                method.fit(part.X, pairs=part.pairs)
            seconds = perf_counter() - start
            found = judged(method, part, seed)
        except ValueError:
            refused, method = {"refused": True}, Euclidean().fit(part.X, pairs=part.pairs)
            seconds = perf_counter() - start
            found = judged(method, part, seed)
    found |= {"seconds": round(seconds, 3), **refused}
    if name == OURS:
        found["euclidean_share"] = method.report_.recipe.get(EUCLIDEAN, 0.0)
        found["suspects"] = found_mistakes(method.suspects_, part)
        if title == NOISY and (data, n_pairs) in BESIDE_CLEANLAB and PEERS in os.environ:
            chances = find_suspects_of_metric(*listed.call_args.args, least=0.0)
            found["cleanlab"] = found_mistakes(listed_by_cleanlab(chances), part)
    return [found]


def whole_draws() -> tuple[Row, list[Row]]:
    """What is stored of draws of which nothing is missing but what tables can do without."""
    missing = {
        job.names["seed"]
        for job in undone(RAW, jobs(DRAWS))
        if job.names["method"] not in (*peers.NAMES, FOR_SEARCH)
    }
    source, rows = stored(RAW)
    return source, [row for row in rows if row["seed"] not in missing]


def page() -> Page:
    """Tables from the stored results."""
    source, rows = whole_draws()
    return Page("Few pairs", [Text(__doc__.partition("\n\n")[2]), *tables(rows)], source)


def score() -> None:
    """Tables and pictures from the stored results."""
    publish_page(FOLDER / "RESULTS.md", page())
    draw_pictures(whole_draws()[1], FOLDER)
