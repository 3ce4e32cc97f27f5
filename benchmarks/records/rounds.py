"""Ask, teach, ask again: groups of records, or links, after so many answers of several kinds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from time import process_time
from typing import Any

import numpy as np

from benchmarks.records.data import Records, given
from benchmarks.records.judging import quality, quality_of_pairs
from nearkin import Pairs, RecordMatcher

N_ANSWERS = (0, 20, 50, 100)
AT_A_TIME = 10
# Questions of ours; candidates half of which are the same; any candidates; those that are the same
# alone, and those that are not; questions of ours with wrong answers.
SUGGESTED, RANDOM = PROTOCOLS = ("suggested", "random")
SOME_WRONG, ONE_WRONG = "5 % wrong", "first wrong"
ALL_PROTOCOLS = (*PROTOCOLS, "any", "same only", "different only", SOME_WRONG, ONE_WRONG)


def measured(data: str, protocol: str, seed: int) -> list[dict[str, Any]]:
    """Groups after each number of answers."""
    return [row for row, _ in rounds(given(data, seed), protocol, seed)]


@lru_cache(maxsize=1)
def asked(data: str, protocol: str, seed: int) -> np.ndarray:
    """The pairs that were asked, in order: others are told the same."""
    return list(rounds(given(data, seed), protocol, seed))[-1][1]


def fitted(records: Records, seed: int) -> RecordMatcher:
    """A matcher that was told nothing, as a new user makes it."""
    table, _, side = records
    matcher = RecordMatcher(random_state=seed)
    if side is None:
        return matcher.fit(table)
    left, right = (
        {name: [cells[i] for i in np.flatnonzero(side == which)] for name, cells in table.items()}
        for which in (False, True)
    )
    return matcher.fit_link(left, right)


def rounds(
    records: Records, protocol: str, seed: int
) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """What is found after so many answers, and the pairs asked up to then."""
    entity, side = records.entity, records.side
    rng = np.random.RandomState(seed)
    start = process_time()
    matcher = fitted(records, seed)
    pairs, said = np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=bool)
    drawn = None if protocol in (SUGGESTED, SOME_WRONG, ONE_WRONG) else _drawn(matcher, entity, rng)
    while True:
        if len(pairs) in N_ANSWERS:
            row = {"n_answers": len(pairs), **judged(matcher, entity, side)}
            yield {**row, "processor": round(process_time() - start, 1)}, pairs
        if len(pairs) >= max(N_ANSWERS):
            return
        more = matcher.suggest(AT_A_TIME) if drawn is None else _next(drawn, protocol, len(pairs))
        if not len(more):
            return
        same = entity[more[:, 0]] == entity[more[:, 1]]
        if protocol == SOME_WRONG:
            same ^= rng.uniform(size=len(same)) < 0.05
        elif protocol == ONE_WRONG and not len(pairs):
            same[0] ^= True
        pairs, said = np.concatenate([pairs, more]), np.concatenate([said, same])
        if drawn is None or len(pairs) in N_ANSWERS:
            matcher.teach(Pairs(pairs[said], pairs[~said], n_rows=len(entity)))


def judged(matcher: RecordMatcher, entity: np.ndarray, side: np.ndarray | None) -> dict[str, Any]:
    """How good groups or links are, and what is stated of them."""
    found: Any
    if side is None:
        found = matcher.duplicates()
        true = quality(found.labels, entity)
    else:
        found = matcher.link()
        true = quality_of_pairs(found.pairs + np.array([0, int((~side).sum())]), entity)
    return {**true, **stated(found)}


def stated(found: Any) -> dict[str, Any]:
    """The ends of what is stated of groups or links, and whether anything is."""
    row: dict[str, Any] = {}
    for name in ("precision", "recall"):
        figure = getattr(found, name)
        row |= {f"{name}_low": figure.low, f"{name}_high": figure.high}
        row[f"{name}_known"] = not figure.more
    return row


def _drawn(
    matcher: RecordMatcher, entity: np.ndarray, rng: np.random.RandomState
) -> dict[str, np.ndarray]:
    """Candidates in a random order: any, the same and the different ones."""
    pairs = matcher.candidates()[0]
    pairs = pairs[rng.permutation(len(pairs))]
    same = entity[pairs[:, 0]] == entity[pairs[:, 1]]
    return {"any": pairs, "same only": pairs[same], "different only": pairs[~same]}


def _next(drawn: dict[str, np.ndarray], protocol: str, n: int) -> np.ndarray:
    """Those after the first ``n``; half of either kind in turn if that is the protocol."""
    if protocol != RANDOM:
        return drawn[protocol][n : n + AT_A_TIME]
    half = [drawn["same only"][n // 2 :][: AT_A_TIME // 2]]
    half.append(drawn["different only"][n - n // 2 :][: AT_A_TIME - len(half[0])])
    return np.concatenate(half)
