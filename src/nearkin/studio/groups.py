"""Groups of all rows: what answers say of some, and what the metric makes likely of the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nearkin._types import Doubles, Floats, Ints
from nearkin.rows.distances import linked_distances
from nearkin.rows.parallel import one_blas_thread, split_range
from nearkin.spaces.neighbors import find_nearest_others
from nearkin.studio.knowledge import Knowledge, KnownGroups, group_name
from nearkin.studio.metric import RowsView, closeness
from nearkin.studio.records import StudioRecords

# A row is placed for sure if its group has at least this share of all that speaks for any group.
_CLEAR = 0.6
# Neighbours from which a row hears of groups, how much of what it hears it hands on, and how often.
_NEIGHBORS, _HANDED_ON, _ROUNDS = 10, 0.9, 30
# Beyond so many rows neighbours would take too long to find: distances from groups speak alone.
_MOST_SPREAD = 10_000
# How fast it falls off with the distance from a group what speaks for it: beside neighbours, alone.
_BESIDE, _ALONE = 2, 8
# Members of a group that rows are compared with; of more, some of the first and the last are.
_MOST_MEMBERS = 50
# Examples of a group that are shown.
_EXAMPLES = 6
_BLOCK = 8192


@dataclass(frozen=True)
class LikelyGroups:
    """The group that each row is likely of, as an immutable value."""

    # Version of the knowledge and metric that it comes from.
    version: int
    # Number of each row's group, from 0; −1 as long as there are no groups.
    labels: Ints
    # Whether the row was said to be of its group, or far more speaks for it than for any other.
    sure: NDArray[np.bool_]
    # From numbers of groups to rows that stand for them, the most typical first.
    examples: dict[int, list[int]]

    def describe(self, known: Knowledge, contents: GroupContents) -> list[dict[str, Any]]:
        """List the groups as plain values, by number.

        Each has ``number``, ``name``, whether it is ``named`` by people, its ``size`` by answers,
        how many rows are ``likely`` of it, ``examples``, row numbers, and what it is ``about``.
        """
        about = contents.tell_apart(np.where(self.sure, self.labels, -1), known.groups.numbers)
        groups = known.groups
        likely = np.bincount(self.labels[self.labels >= 0], minlength=len(groups.names))
        return [
            groups.describe(number)
            | {"likely": int(likely[number]), "examples": self.examples.get(number, [])}
            | {"about": about.get(number, "")}
            for number in groups.numbers
        ]

    def values(self) -> NDArray[np.float32]:
        """Group numbers of all rows for the page: a half more where unsure, NaN without group."""
        found = self.labels + np.where(self.sure, 0.0, 0.5)
        return np.where(self.labels < 0, np.nan, found).astype(np.float32)

    def names(self, known: Knowledge) -> list[str]:
        """Name of each row's group; empty without group."""
        told = [group_name(name, number) for number, name in enumerate(known.groups.names)]
        return [told[number] if number >= 0 else "" for number in self.labels.tolist()]


@one_blas_thread()
def join_neighbors(X: Floats, seed: int) -> sp.csr_array | None:
    """Join each row with its ten nearest, whatever is learned; None of more than 10 000 rows.

    Returns weights, shape (n, n), divided by the square roots of both rows' sums.
    """
    n = len(X)
    if not 2 <= n <= _MOST_SPREAD:
        return None
    k = min(_NEIGHBORS, n - 1)
    near = find_nearest_others(X, k, random_state=seed)
    ends = np.column_stack([np.arange(n).repeat(k), near.ravel()])
    weights = closeness(linked_distances(X, ends).reshape(n, k)).ravel().astype(np.float64)
    found = sp.csr_array((weights, (ends[:, 0], ends[:, 1])), shape=(n, n))
    found = sp.csr_array(found + found.T)
    scale = sp.diags_array(1 / np.sqrt(found.sum(axis=1)))
    return sp.csr_array(scale @ found @ scale)


def spread_groups(graph: sp.csr_array, groups: KnownGroups) -> Doubles:
    r"""Shares of the groups in what each row hears of from its neighbours, shape (n, groups).

    .. math:: F \leftarrow 0.9 \, S F + 0.1 \, Y,

    thirty times, with S the graph and Y the rows of each group, of sum 1: local and global
    consistency (Zhou and others, 2004). Rows that hear of no group have equal shares.
    """
    said = np.stack([groups.labels == number for number in groups.numbers], axis=1)
    start = said / said.sum(axis=0)
    found = start
    for _ in range(_ROUNDS):
        found = _HANDED_ON * (graph @ found) + (1 - _HANDED_ON) * start
    return _to_shares(found)


def _to_shares(found: Doubles) -> Doubles:
    """Divide rows by their sums; rows of zeros become equal shares."""
    total = found.sum(axis=1, keepdims=True)
    return np.where(total > 0, found / np.where(total > 0, total, 1), 1 / found.shape[1])


@one_blas_thread()
def place_rows(
    view: RowsView, known: Knowledge, version: int, n_rows: int, graph: sp.csr_array | None = None
) -> LikelyGroups:
    """Find the group that each row is likely of, by its neighbours and by the learned metric.

    What a row hears of from its neighbours is weighed by how near each group is in the learned
    metric: as near as its members are in the mean. Rows that were said to be of a group are of
    that one. ``version`` is that of the metric; for ``graph`` see :func:`join_neighbors`.
    """
    groups = known.groups
    numbers = groups.numbers
    if not numbers:
        return LikelyGroups(version, np.full(n_rows, -1), np.zeros(n_rows, dtype=bool), {})
    # All rows of a group, or every k-th of many.
    members = [groups.rows(number) for number in numbers]
    members = [rows[:: -(-len(rows) // _MOST_MEMBERS)] for rows in members]
    starts = np.cumsum([0, *map(len, members[:-1])])
    sizes = np.array([len(rows) for rows in members])
    Z = np.asarray(view.embedding(np.concatenate(members)), dtype=np.float64)
    shares = np.ones((n_rows, len(numbers))) if graph is None else spread_groups(graph, groups)
    power = _ALONE if graph is None else _BESIDE
    for block in split_range(n_rows, _BLOCK):
        here = np.asarray(view.embedding(np.arange(n_rows)[block]), dtype=np.float64)
        far = np.add.reduceat(_distances(here, Z), starts, axis=1) / sizes
        nearest = far.min(axis=1, keepdims=True)
        shares[block] *= (np.maximum(nearest, 1e-12) / np.maximum(far, 1e-12)) ** power
    shares = _to_shares(shares)
    labels = np.array(numbers)[shares.argmax(axis=1)]
    best = shares.max(axis=1)
    sure = (best >= _CLEAR) & (len(numbers) > 1)
    told = groups.labels >= 0
    labels[told], sure[told] = groups.labels[told], True
    return LikelyGroups(version, labels, sure, _choose_examples(groups, labels, -best))


def _distances(A: Doubles, B: Doubles) -> Doubles:
    """Distances of the rows of two arrays, shape (len(A), len(B))."""
    found = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.asarray(np.sqrt(np.maximum(found, 0.0)))


def _choose_examples(groups: KnownGroups, labels: Ints, far: Doubles) -> dict[int, list[int]]:
    """Choose rows that stand for each group: of those said to be in it first, the most typical."""
    order = np.lexsort((far, groups.labels < 0))
    found: dict[int, list[int]] = {number: [] for number in groups.numbers}
    for row in order.tolist():
        some = found[int(labels[row])]
        if len(some) < _EXAMPLES:
            some.append(row)
        elif all(len(one) >= _EXAMPLES for one in found.values()):
            break
    return found


# Rows by which it is told what groups are about, and words that are counted.
_MOST_READ = 3000
_MOST_WORDS = 5000
# Texts of at least so many words in the mean are told apart by words.
_WORDS_OF_A_TEXT = 4
_WORD = r"(?u)\b[^\W\d_]{3,}\b"
# Addresses are no words: of e-mail, and of pages.
_ADDRESS = r"\S+@\S+|\w+://\S+"
# Keywords, and fields, of a group.
_KEYWORDS, _TELLING_FIELDS = 3, 2
# A value tells a group apart that most of it have, and so many times the share of all rows.
_MOSTLY, _LIFT = 0.6, 1.5
# An amount does that is so many deviations from the mean of all.
_DEVIATIONS = 0.8


class GroupContents:
    """What rows say, by which groups are told apart: words of texts, values and amounts of fields.

    Columns that are not shown with a question do not count.
    """

    def __init__(self, records: StudioRecords) -> None:
        self._records = records
        n = len(records)
        self._rows = np.arange(n) if n <= _MOST_READ else np.arange(_MOST_READ) * n // _MOST_READ

    def tell_apart(self, labels: Ints, numbers: Sequence[int]) -> dict[int, str]:
        """Say in a few words what each group is about, as far as something tells it apart.

        ``labels`` are the numbers of all rows' groups, −1 for rows that do not count.
        """
        labels = labels[self._rows]
        masks = {number: labels == number for number in numbers}
        masks = {number: inside for number, inside in masks.items() if inside.any()}
        if len(masks) < 2:
            return {}
        texts = self._words
        if texts is not None:
            return {number: _keywords(*texts, inside) for number, inside in masks.items()}
        found = {number: self._telling_fields(inside) for number, inside in masks.items()}
        return {number: told for number, told in found.items() if told}

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        """Cells of the fields that are shown, by name, of the rows that are read."""
        records, rows = self._records, self._rows.tolist()
        return {name: [records.cell(name, row) for row in rows] for name in records.fields}

    @cached_property
    def _words(self) -> tuple[sp.csr_array, list[str]] | None:
        """Which words each row has, and the words; None if rows have no texts."""
        from sklearn.feature_extraction.text import CountVectorizer

        texts = [""] * len(self._rows)
        for cells in self._columns.values():
            told = [cell for cell in cells if isinstance(cell, str) and cell]
            n_words = sum(len(cell.split()) for cell in told)
            if told and n_words >= _WORDS_OF_A_TEXT * len(told):
                texts = [
                    f"{text} {cell}" if isinstance(cell, str) else text
                    for text, cell in zip(texts, cells, strict=True)
                ]
        texts = [re.sub(_ADDRESS, " ", text) for text in texts]
        counter = CountVectorizer(
            binary=True, stop_words="english", token_pattern=_WORD, max_features=_MOST_WORDS
        )
        try:
            found = counter.fit_transform(texts)
        except ValueError:  # no text, or nothing but words that all texts have
            return None
        return sp.csr_array(found), counter.get_feature_names_out().tolist()

    def _telling_fields(self, inside: NDArray[np.bool_]) -> str:
        """Say which values and amounts tell some rows from all others, the most telling first."""
        told: list[tuple[float, str]] = []
        for name, cells in self._columns.items():
            found = _describe_cells(name, cells, inside)
            if found is not None:
                told.append(found)
        told.sort(key=lambda one: -one[0])
        return ", ".join(text for _, text in told[:_TELLING_FIELDS])


def _keywords(has: sp.csr_array, words: list[str], inside: NDArray[np.bool_]) -> str:
    """Words that tell some rows from all: frequent in these, and more so than in all."""
    here = np.asarray(has[inside].mean(axis=0)).ravel()
    everywhere = np.asarray(has.mean(axis=0)).ravel()
    gain = here * np.log((here + 1e-9) / (everywhere + 1e-9))
    best = np.argsort(-gain, kind="stable")[:_KEYWORDS]
    return ", ".join(words[k] for k in best.tolist() if gain[k] > 0)


def _describe_cells(
    name: str, cells: list[Any], inside: NDArray[np.bool_]
) -> tuple[float, str] | None:
    """Say how some rows differ in a field, after how much that tells; None if they do not."""
    if all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells if cell):
        amounts = np.array([np.nan if c is None or c == "" else float(c) for c in cells])
        if not np.isfinite(amounts[inside]).any() or not np.nanstd(amounts) > 0:
            return None
        far = float((np.nanmean(amounts[inside]) - np.nanmean(amounts)) / np.nanstd(amounts))
        return (
            (abs(far), f"{name} {'high' if far > 0 else 'low'}") if abs(far) > _DEVIATIONS else None
        )
    texts = np.array([str(cell) for cell in cells])
    values, counts = np.unique(texts[inside], return_counts=True)
    best = int(counts.argmax())
    share = counts[best] / inside.sum()
    lift = share / (texts == values[best]).mean()
    if share < _MOSTLY or lift < _LIFT or values[best] in ("", "None"):
        return None
    return float(lift), f"{name} {values[best][:30]}"
