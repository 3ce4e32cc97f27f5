"""Doubtful pairs of records, from a matcher that is taught what was answered."""

from __future__ import annotations

import threading
from importlib.util import find_spec
from typing import Any

import numpy as np

from nearkin.messages import noticed
from nearkin.pairs.answers import Estimate
from nearkin.records.matcher import RecordMatcher
from nearkin.records.results import Duplicates
from nearkin.tables.reading import Column, columns_of
from nearkin.teaching.knowledge import Knowledge
from nearkin.teaching.records import Records

# Pairs that are listed.
N_LISTED = 20

NEEDS_RAPIDFUZZ = (
    "Doubtful pairs of records can be reviewed here once rapidfuzz is installed: "
    "pip install 'nearkin[records]'"
)


def can_compare() -> bool:
    """Whether rapidfuzz is there, by which records are compared."""
    return find_spec("rapidfuzz") is not None


class RecordReview:
    """A review of records: what is doubtful, and how good the groups are.

    Records are compared at the first look, which takes a second for a thousand of them or so;
    after that, answers are learned from in less.

    Parameters
    ----------
    records : Records
    seed : int
    """

    def __init__(self, records: Records, seed: int) -> None:
        self._records = records
        self._matcher = RecordMatcher(random_state=seed)
        self._learning = threading.Lock()
        self._version: int | None = None
        self._notes: list[str] = []

    def after(self, known: Knowledge) -> dict[str, Any]:
        """Pairs whose answer would change the groups most, and what these are, as plain values.

        Neither what is known is asked nor what follows, nor what someone was unsure of.

        Parameters
        ----------
        known : Knowledge

        Returns
        -------
        dict
            ``version``; ``pairs``, the first 20, each with ``left``, ``right`` and ``chance``;
            ``n_groups`` of several records, and ``n_grouped`` records in them; ``precision`` and
            ``recall``, each with the ends of its 90 % interval; ``n_answers`` that this is learned
            from; and ``notes``.
        """
        with self._learning:
            matcher = self._taught(known)
            found = matcher.duplicates()
            report = matcher.report_
            pairs, chance = matcher.review(max(1, report.n_candidates))
        open_ = np.flatnonzero(known.are_open(pairs))[:N_LISTED]
        ends, chances = pairs[open_].tolist(), chance[open_].tolist()
        sizes = [len(group) for group in found.groups]
        return {
            "version": known.version,
            "pairs": [
                {"left": i, "right": j, "chance": c}
                for (i, j), c in zip(ends, chances, strict=True)
            ],
            "n_groups": len(sizes),
            "n_grouped": sum(sizes),
            "precision": _ends(found.precision),
            "recall": _ends(found.recall),
            "n_answers": report.n_same + report.n_different,
            "notes": self._notes,
        }

    def groups(self, known: Knowledge) -> Duplicates:
        """The records that are the same thing, by all that is known."""
        with self._learning:
            return self._taught(known).duplicates()

    def _taught(self, known: Knowledge) -> RecordMatcher:
        if self._version is None:
            with noticed() as notes:
                self._matcher.fit(_compared_columns(self._records), known.pairs)
            told = self._records.notes
            self._notes = [note.text for note in notes if note.text not in told]
        elif self._version != known.version:
            self._matcher.teach(known.pairs)
        self._version = known.version
        return self._matcher


def _compared_columns(records: Records) -> list[Column]:
    """What is compared, read as the encoder of the records has read it, if there is one."""
    cells, encoder = records.to_compare(), records.encoder
    if encoder is None:
        return columns_of(cells)
    kinds = {name: kind for name, kind in encoder.kinds_.items() if name in cells}
    return columns_of(cells, kinds, encoder.dates)


def _ends(estimate: Estimate) -> list[float]:
    return [estimate.value, estimate.low, estimate.high]
