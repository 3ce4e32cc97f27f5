"""A table of dask and its candidates, ready to be compared where its records are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearkin._types import Doubles, Ints, Mask
from nearkin.records.candidates import Candidates
from nearkin.records.comparisons import Comparisons, Table32, compare, prepared
from nearkin.records.dask_candidates import candidates_on_dask
from nearkin.records.dask_parts import Parts, computed
from nearkin.records.dask_table import DaskTable
from nearkin.records.matching import Matching
from nearkin.records.packed import Packed, unpacked

# Pairs that are compared in one task.
_PAIRS_OF_A_TASK = 1 << 16


@dataclass(frozen=True)
class DaskWork:
    """What :class:`nearkin.records.scoring.Work` is for a table in memory.

    Attributes
    ----------
    plan : Comparisons
    candidates : Candidates
    parts : Parts
        Of :class:`Packed` records.
    """

    plan: Comparisons
    candidates: Candidates
    parts: Parts

    @property
    def side(self) -> Mask | None:
        """Of one table there is one side."""
        return None

    def compare(self, pairs: Ints) -> Table32:
        """Comparisons of some pairs, whose records come to this process."""
        if not len(pairs):
            return np.empty((0, len(self.plan.names)), dtype=np.float32)
        records, local = np.unique(pairs, return_inverse=True)
        found = computed(self.parts.taken(records), self.parts.client)
        return compare(self.plan, prepared(self.plan, unpacked(found)), local.reshape(-1, 2))

    def compared(self, chosen: Ints) -> Table32:
        """Comparisons of some candidates."""
        return self.compare(self.candidates.pairs[chosen])

    def scored(self, matching: Matching, chosen: Ints) -> Doubles:
        """Scores of some candidates, which the workers compare."""
        pairs, out = self.candidates.pairs[chosen], np.empty(len(chosen))
        for cut, scores in self.parts.of_pairs(
            pairs, _scores, self.plan, matching, size=_PAIRS_OF_A_TASK
        ):
            out[cut] = scores
        return out


def work_on_dask(table: DaskTable, plan: Comparisons, n_best: int, seed: int) -> DaskWork:
    """Find the candidates of a table of dask."""
    names = [column.name for column in plan.columns]
    return DaskWork(plan, candidates_on_dask(table.parts, names, n_best, seed), table.parts)


def _scores(parts: list[Packed], pairs: Ints, plan: Comparisons, matching: Matching) -> Doubles:
    return matching.scores(plan, compare(plan, prepared(plan, unpacked(parts)), pairs))
