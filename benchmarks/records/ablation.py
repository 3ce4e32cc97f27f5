"""What each part of matching is worth: F1 without it, told the same answers as the whole.

Parts are put out of action from outside. The questions are those that the whole asks in the same
draw, so that what differs is what is made of the answers, and not what is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.records.data import given
from benchmarks.records.rounds import SUGGESTED, asked, fitted, judged
from nearkin import Pairs
from nearkin.records import blocking, comparisons, decisions, matcher, model

WHOLE = "nothing left out"
TABLES = ("rldata500", "restaurants", "affiliations", "holders", "cora")
_WRONG = 0.05


def _no_pairs(*_: Any) -> np.ndarray:
    return np.empty((0, 2), dtype=np.int64)


def _none(*_: Any) -> list[Any]:
    return []


def _nothing_shared(column: Any, values: Any, i: Any, *_: Any) -> np.ndarray:
    del column, values
    return np.zeros(len(i), dtype=np.float32)


def _planned_without(part: str) -> Callable[..., Any]:
    planned = comparisons._planned

    def plan(*given: Any) -> Any:
        found = planned(*given)
        kept = tuple(one for one in found.parts if one != part) if found else ()
        return replace(found, parts=kept) if len(kept) > 2 else found

    return plan


# What takes the place of what.
PARTS: dict[str, tuple[Any, str, Any]] = {
    "pairs within likely groups": (model, "pairs_within_groups", _no_pairs),
    "rare values and words": (blocking, "find_value_keys", _none),
    "letters": (comparisons, "_planned", _planned_without("letters")),
    "edits": (comparisons, "_planned", _planned_without("edits")),
    "trigrams": (comparisons, "_planned", _planned_without("grams")),
    "words": (comparisons, "_planned", _planned_without("words")),
    "rarity": (comparisons._PARTS, "rarity", _nothing_shared),
    "random pairs": (matcher, "_AT_RANDOM", 1),
    "columns of sources set aside": (model, "_sources", _none),
    "one column of few believed": (model, "_FEW_COLUMNS", 0),
    "pairs not compared": (decisions, "_NOT_COMPARED", 0.0),
    "learning from what answers lead to": (matcher, "_ROUNDS", 1),
    "doubt by groups": (decisions, "_BY_GROUPS", 0.0),
    "doubt": (decisions, "_DOUBTED", 1.0),
}


@contextmanager
def without(name: str) -> Iterator[None]:
    """Put a part out of action."""
    if name == WHOLE:
        yield
        return
    where, what, other = PARTS[name]
    in_dict = isinstance(where, dict)
    with patch.dict(where, {what: other}) if in_dict else patch.object(where, what, other):
        yield


def measured(name: str, data: str, seed: int) -> list[dict[str, Any]]:
    """F1 without a part, by no answer, by 100, and by 100 of which some are wrong."""
    records = given(data, seed)
    entity, side = records.entity, records.side
    pairs = asked(data, SUGGESTED, seed)
    same = entity[pairs[:, 0]] == entity[pairs[:, 1]]
    wrong = np.random.RandomState(seed).uniform(size=len(same)) < _WRONG
    with without(name):
        first = fitted(records, seed)
        found = {"none": judged(first, entity, side)["f1"]}
        for kind, said in (("right", same), ("5 % wrong", same ^ wrong)):
            told = copy(first).teach(Pairs(pairs[said], pairs[~said], n_rows=len(entity)))
            found[kind] = judged(told, entity, side)["f1"]
    return [{"f1_of": found}]
