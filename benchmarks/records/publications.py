"""Publications in DBLP and ACM, of which 450 pairs are labelled: half to learn from, half to judge.

Only what is said of labelled pairs that were not told can be judged.
"""

from __future__ import annotations

import csv
import gzip
from functools import cache
from typing import Any

import numpy as np

from benchmarks.data import in_folder
from benchmarks.records.rivals import in_time, processor_seconds, same_things
from benchmarks.records.rounds import N_ANSWERS, stated
from nearkin import Pairs, RecordMatcher
from nearkin.pairs.closure import keys_of
from nearkin.records.comparisons import join_columns
from nearkin.tables.reading import Column

DATA = "DBLP and ACM"
COLUMNS = {"title": "text", "authors": "text", "venue": "name", "year": "number"}


def ours(seed: int) -> list[dict[str, Any]]:
    """Links after each number of answers, with what is stated of them."""
    left, right, pairs, same = labelled()
    told, judged = halves(seed)
    matcher = RecordMatcher(random_state=seed).fit_link(left, right)
    n_rows = len(left[0]) + len(right[0])
    rows = []
    for n in N_ANSWERS:
        start = processor_seconds()
        if n:
            known = told[:n]
            must, cannot = pairs[known[same[known]]], pairs[known[~same[known]]]
            matcher.teach(Pairs(must, cannot, n_rows=n_rows))
        links = matcher.link()
        seconds = round(processor_seconds() - start, 1)
        found = links.pairs + np.array([0, len(left[0])])
        row = {"n_answers": n, **quality(found, pairs[judged], same[judged])}
        rows.append({**row, **stated(links), "processor": seconds})
    return rows


def by_rival(name: str, n_answers: int, seed: int) -> list[dict[str, Any]]:
    """What a rival says of the same pairs; it is given both tables as one."""
    left, right, pairs, same = labelled()
    told, judged = halves(seed)
    known = told[:n_answers]
    return in_time(
        lambda: quality(
            same_things(name, join_columns(left, right), pairs[known], same[known]),
            pairs[judged],
            same[judged],
        )
    )


def quality(found: np.ndarray, pairs: np.ndarray, same: np.ndarray) -> dict[str, float]:
    """Precision, recall and F1 among labelled pairs."""
    called = np.isin(keys_of(pairs), keys_of(found))
    right = int((called & same).sum())
    values = {
        "precision": right / called.sum() if called.any() else 1.0,
        "recall": right / same.sum(),
        "f1": 2 * right / (called.sum() + same.sum()),
    }
    counts = {"n_called": int(called.sum()), "n_same": int(same.sum())}
    return {name: round(float(value), 5) for name, value in values.items()} | counts


def halves(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labelled pairs that may be told, in random order, and those that are judged."""
    order = np.random.RandomState(seed).permutation(len(labelled()[2]))
    return order[: len(order) // 2], np.sort(order[len(order) // 2 :])


@cache
def labelled() -> tuple[list[Column], list[Column], np.ndarray, np.ndarray]:
    """Both tables, labelled pairs of their rows numbered through, and which are the same."""
    left, right = _rows("dblp"), _rows("acm")
    number = {row["id"]: place for place, row in enumerate([*left, *right])}
    said = _rows("dblp_acm_pairs")
    pairs = np.array([[number[row["ltable_id"]], number[row["rtable_id"]]] for row in said])
    same = np.array([row["label"] == "1" for row in said])
    return _columns(left), _columns(right), pairs, same


def _rows(name: str) -> list[dict[str, str]]:
    with gzip.open(in_folder(f"records/{name}.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _columns(rows: list[dict[str, str]]) -> list[Column]:
    found = []
    for name, kind in COLUMNS.items():
        texts = [" ".join(row[name].lower().split()) or None for row in rows]
        if kind == "number":
            numbers = np.array([np.nan if text is None else float(text) for text in texts])
            found.append(Column(name, kind, numbers))
        else:
            found.append(Column(name, kind, np.array(texts, dtype=object)))
    return found
