"""Ask, teach, ask again: groups of records after so many answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from time import process_time
from typing import Any

import numpy as np

from benchmarks.records.data import DATA, Records, people, records
from benchmarks.records.judging import quality
from nearkin import Pairs, RecordMatcher

N_ANSWERS = (0, 20, 50, 100)
AT_A_TIME = 10
SUGGESTED, RANDOM = PROTOCOLS = ("suggested", "random")
# Made-up people: name, records and mistakes in a copy. More draws of them show intervals at work.
MADE = {"few mistakes": (600, 1.5), "many mistakes": (600, 3.0)}


def given(data: str, seed: int) -> Records:
    """Columns and truth of a set; people who are made up differ from seed to seed."""
    if data in DATA:
        return records(data)
    n_records, mistakes = MADE[data]
    return people(n_records, seed, mistakes)


def measured(data: str, protocol: str, seed: int) -> list[dict[str, Any]]:
    """Groups after each number of answers."""
    return [row for row, _ in rounds(given(data, seed), protocol, seed)]


@lru_cache(maxsize=1)
def asked(data: str, protocol: str, seed: int) -> np.ndarray:
    """The pairs that were asked, in order: others are told the same."""
    return list(rounds(given(data, seed), protocol, seed))[-1][1]


def rounds(table: Records, protocol: str, seed: int) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """What is found after so many answers, and the pairs asked up to then."""
    columns, entity = table
    rng = np.random.RandomState(seed)
    matcher = RecordMatcher(random_state=seed).fit(columns)
    pairs = np.empty((0, 2), dtype=np.int64)
    start = process_time()
    while True:
        if len(pairs) in N_ANSWERS:
            found = matcher.duplicates()
            seconds = {"processor": round(process_time() - start, 1)}
            row = {"n_answers": len(pairs), **quality(found.labels, entity)}
            yield row | stated(found) | seconds, pairs
        if len(pairs) >= max(N_ANSWERS):
            return
        if protocol == RANDOM:
            more = _drawn(matcher.candidates()[0], pairs, entity, rng)
        else:
            more = matcher.suggest(AT_A_TIME)
        pairs = np.concatenate([pairs, more])
        same = entity[pairs[:, 0]] == entity[pairs[:, 1]]
        matcher.teach(Pairs(pairs[same], pairs[~same], n_rows=len(entity)))


def stated(found: Any) -> dict[str, float]:
    """The ends of what is stated of groups or links."""
    figures = {"precision": found.precision, "recall": found.recall}
    return {
        f"{name}_{end}": getattr(figure, end)
        for name, figure in figures.items()
        for end in ("low", "high")
    }


def _drawn(
    pairs: np.ndarray, known: np.ndarray, entity: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Candidates that were not asked, half of either kind as far as there are so many."""
    keys = {tuple(pair) for pair in known.tolist()}
    order = [
        pair for pair in pairs[rng.permutation(len(pairs))].tolist() if tuple(pair) not in keys
    ]
    kinds: dict[bool, list[Any]] = {True: [], False: []}
    for pair in order:
        kinds[bool(entity[pair[0]] == entity[pair[1]])].append(pair)
    half = kinds[True][: AT_A_TIME // 2]
    return np.array(half + kinds[False][: AT_A_TIME - len(half)])
