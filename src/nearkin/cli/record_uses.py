"""What a matcher says of the records of a file: of pairs, neighbours, and how good it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from nearkin._types import Floats, Ints, Mask
from nearkin.cli.failures import UserError
from nearkin.cli.files.batches import table_of
from nearkin.cli.files.named_rows import NamedRows
from nearkin.cli.messages import say
from nearkin.cli.scoring import verdict_lines
from nearkin.pairs.labels import class_numbers
from nearkin.records.matcher import RecordMatcher
from nearkin.scores.quality import Quality, quality_of
from nearkin.tables.reading import Column


def neighbor_table(table: NamedRows, asked: NamedRows, rows: Ints, chance: Floats) -> Iterator[Any]:
    """Record, rank, neighbour and chance, the likeliest first."""
    record, rank = np.nonzero(rows >= 0)
    found = {
        asked.id_name: asked.shown_ids().take(pa.array(record)),
        "rank": rank + 1,
        "neighbor": table.shown_ids().take(pa.array(rows[record, rank])),
        "chance": chance[record, rank],
    }
    return table_of(found)


def quality_of_chances(
    chance: Floats,
    same: Mask,
    weight: Floats,
    ends: Ints,
    level: float = 0.5,
    prevalence: float | None = None,
) -> Quality:
    """Precision and recall of calling pairs the same from a chance on, by what is known of them.

    Same and different are taken to be as frequent as among these, unless a prevalence is stated.
    """
    share = float(weight[same].sum() / weight.sum()) if prevalence is None else prevalence
    return quality_of(1 - chance, same, weight, ends, 1 - level, share)


def scores_by_known(
    matcher: RecordMatcher,
    compared: list[Column],
    known: tuple[Ints, Mask, Floats],
    prevalence: float | None,
) -> list[dict[str, Any]]:
    """How good a matcher's chances are, by pairs whose answer is known."""
    ends, same, weight = known
    chance = matcher.chance_of_pairs(ends, compared)
    quality = quality_of_chances(chance, same, weight, ends, prevalence=prevalence)
    say(f"pairs: {quality.brief}")
    auc = asdict(quality.auc)
    line = {"judged_by": "pairs", "measure": "pair_auc", "learned": auc.pop("value"), **auc}
    line |= {"pairs": len(ends), "rows": len(np.unique(ends))}
    return [line, *verdict_lines(quality, line)]


def scores_by_labels(groups: Ints, labels: Any) -> list[dict[str, Any]]:
    """Precision, recall and F1 of the pairs within groups, by what records are known to be of."""
    classes = class_numbers(labels)
    known = classes >= 0
    groups, classes = groups[known], classes[known]

    def n_pairs(*numbers: Ints) -> int:
        counts = np.unique(np.column_stack(numbers), axis=0, return_counts=True)[1]
        return int((counts * (counts - 1) // 2).sum())

    right, called, same = n_pairs(groups, classes), n_pairs(groups), n_pairs(classes)
    if not same:
        raise UserError("--labels: no two records are of one class, so that nothing can be found.")
    n = len(groups)
    figures = {
        "precision": right / called if called else None,
        "recall": right / same,
        "f1": 2 * right / (called + same),
    }
    line = {"judged_by": "labels", "pairs": n * (n - 1) // 2, "rows": n}
    return [line | {"measure": name, "learned": value} for name, value in figures.items()]
