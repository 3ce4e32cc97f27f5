"""Rows that are kept apart while a metric is learned, to see how good it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from nearkin._types import Mask
from nearkin.cli.failures import UserError
from nearkin.cli.models import Model
from nearkin.cli.scoring import (
    Score,
    can_be_judged,
    scores_by_labels,
    scores_by_pairs,
    scores_by_triplets,
)
from nearkin.errors import counted
from nearkin.pairs.answers import Answers
from nearkin.pairs.pairs import Pairs
from nearkin.rows.backends import Block
from nearkin.rows.streams import RowStream

Rng = np.random.Generator
# Draws until there are pairs of both kinds to judge by.
_MOST_DRAWS = 100


@dataclass(frozen=True)
class Part:
    """Some rows of a file, with what is known of them."""

    rows: RowStream
    labels: Any
    pairs: Pairs | None
    answers: Answers | None = None

    def told(self, learner: type) -> Pairs | Answers | None:
        """What a learner learns from: who said what, if it can tell who is right."""
        takes_answers = getattr(learner, "_takes_answers", False)
        return self.answers if takes_answers and self.answers is not None else self.pairs

    def chosen(self, rows: Mask) -> Part:
        """Some of them; of pairs and triplets, those that have all their rows there."""
        return Part(
            rows=_chosen(self.rows, np.flatnonzero(rows)),
            labels=None if self.labels is None else self.labels[rows],
            pairs=None if self.pairs is None else self.pairs.restrict(rows),
            answers=None if self.answers is None else self.answers.restrict(rows),
        )

    def scores(self, model: Model, seed: int) -> list[Score]:
        """How good a model is here, by whatever there is to judge by."""
        found: list[Score] = []
        if _has_both(self.pairs):
            assert self.pairs is not None
            found += scores_by_pairs(model, self.rows, self.pairs, "--pairs")
        if _has_triplets(self.pairs):
            assert self.pairs is not None
            found += scores_by_triplets(model, self.rows, self.pairs)
        if can_be_judged(self.labels):
            found += scores_by_labels(model, self.rows, self.labels, seed)
        return found


def kept_apart(whole: Part, share: float, seed: int) -> tuple[Part, Part]:
    """Rows to learn from, and a share of them to judge by, drawn at random.

    Rows that pairs and triplets tie together stay together, so that nothing is known of those to
    judge by. Where nearly all hang together they cannot, and what is said of rows of both parts is
    not used.
    """
    n = len(whole.rows)
    rng = np.random.default_rng(seed)
    for _ in range(_MOST_DRAWS):
        drawn = _drawn(n, share, whole.pairs, rng)
        test = whole.chosen(drawn)
        by_pairs = [kind(test.pairs) for kind in (_has_both, _has_triplets) if kind(whole.pairs)]
        if all(by_pairs) if whole.pairs is not None else can_be_judged(test.labels):
            break
    else:
        if not any(by_pairs) and not can_be_judged(test.labels):
            raise UserError(
                f"--test {share:g}: the {counted(int(drawn.sum()), 'row')} kept apart have no "
                "pairs that are the same and others that are different to judge by. Give more "
                "pairs, or keep more rows apart."
            )
    learn = whole.chosen(~drawn)
    if len(learn.rows) < 2 or not (learn.labels is not None or learn.pairs):
        raise UserError(f"--test {share:g} leaves nothing to learn from.")
    return learn, test


def what_is_apart(whole: Part, learn: Part, test: Part) -> str:
    """In words, with what is not used."""
    said = f"{len(test.rows)} of {len(whole.rows)} rows are kept apart"
    apart, between = [], []
    for kind in ("pair", "triplet"):
        n, n_learn, n_test = (_number_of_kind(kind, part.pairs) for part in (whole, learn, test))
        if n:
            apart.append(f"{n_test} of {counted(n, kind)}")
        if n > n_learn + n_test:
            between.append(counted(n - n_learn - n_test, kind))
    said += f", with {' and '.join(apart)}" * bool(apart)
    return said + f"; not used: {' and '.join(between)} between them and the others" * bool(between)


def _has_both(pairs: Pairs | None) -> bool:
    return pairs is not None and min(len(pairs.must_link), len(pairs.cannot_link)) > 0


def _has_triplets(pairs: Pairs | None) -> bool:
    return _number_of_kind("triplet", pairs) > 0


def _number_of_kind(kind: str, pairs: Pairs | None) -> int:
    if pairs is None:
        return 0
    return len(pairs.closer) if kind == "triplet" else len(pairs) - len(pairs.closer)


def _drawn(n_rows: int, share: float, pairs: Pairs | None, rng: Rng) -> Mask:
    apart = np.zeros(n_rows, dtype=bool)
    free = np.ones(n_rows, dtype=bool)
    if pairs is not None:
        free[pairs.points] = False
        apart[pairs.points[_drawn_points(pairs, share, rng)]] = True
    others = np.flatnonzero(free)
    apart[rng.choice(others, round(share * len(others)), replace=False)] = True
    return apart


def _drawn_points(pairs: Pairs, share: float, rng: Rng) -> Mask:
    """A share of the points that pairs name, whole groups of them if these are small."""
    n = len(pairs.points)
    links = [pairs.must_link, pairs.cannot_link, pairs.closer[:, :2], pairs.closer[:, 1:]]
    ends = np.searchsorted(pairs.points, np.concatenate(links))
    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))
    _, group = connected_components(graph, directed=False)
    sizes = np.bincount(group)
    room = share * n
    chosen = np.zeros(len(sizes), dtype=bool)
    for number in rng.permutation(len(sizes)):
        if sizes[number] <= room:
            chosen[number] = True
            room -= sizes[number]
    if room <= share * n / 2:
        return np.asarray(chosen[group])
    return rng.permutation(n) < round(share * n)


def _chosen(rows: RowStream, numbers: NDArray[np.int64]) -> RowStream:
    """Some rows of a stream, read as it is."""

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        for block in rows.blocks(None if wanted is None else numbers[wanted]):
            first, last = np.searchsorted(numbers, [block.start, block.start + len(block.rows)])
            yield Block(int(first), block.rows[numbers[first:last] - block.start])

    return rows.read_by(read, len(numbers))
