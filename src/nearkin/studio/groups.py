"""Groups of all rows in the learned metric: found, described, and a few rows to speak for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import pairwise_distances_argmin

from nearkin._types import Doubles, Floats, Ints
from nearkin.clustering.clusters import Clusters
from nearkin.learners.euclidean import Euclidean
from nearkin.messages import collect_notices, mute_third_party
from nearkin.rows.parallel import one_blas_thread
from nearkin.studio.knowledge import Knowledge, carried, numbered_as_before, shown_name
from nearkin.studio.metric import TaughtMetric, View

# What a broken answer costs where some contradict others: far more than a row in a wrong group.
_STRENGTH = 100.0
# Rows that stand for those that somebody has selected.
N_REPRESENTATIVES = 5
# Rows that stand for a group of which only an example was seen: those in its middle.
N_TYPICAL = 3
# Rows that stand for a selection from many groups.
_MOST_REPRESENTATIVES = 500
# Rows among which these are looked for.
_MOST_LOOKED_AT = 5000


@dataclass(frozen=True)
class FoundGroups:
    """Groups as they were found at one moment. Nothing of it ever changes.

    Attributes
    ----------
    number : int
        How many groupings there were in this lesson, with this one.
    known : Knowledge
        When they were found.
    labels : int ndarray of shape (n,)
        Group of each row, from 0; −1 for outliers.
    medoids : int ndarray of shape (n_groups,)
        A row of each that is an example of it.
    said, reason : str
        What was chosen, and why.
    notes : tuple of str
        What else there is to say.
    """

    number: int
    known: Knowledge
    labels: Ints
    medoids: Ints
    said: str
    reason: str
    notes: tuple[str, ...] = ()

    def rows(self, group: int) -> Ints:
        """Rows of a group."""
        return np.flatnonzero(self.labels == group)

    def names(self, known: Knowledge) -> list[str | None]:
        """The names that people gave to these groups; None where there is none."""
        return carried(list(known.names), list(known.names.values()), self.labels)

    def still_hold(self, known: Knowledge) -> bool:
        """Whether they would be found again: nothing else is known of the rows."""
        return bool(known.pairs == self.known.pairs and known.triplets == self.known.triplets)

    def described(self, known: Knowledge) -> dict[str, Any]:
        """Plain values, see :meth:`nearkin.studio.lesson.InGroups.groups`."""
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=len(self.medoids))
        names = self.names(known)
        parts = zip(names, sizes.tolist(), self.medoids.tolist(), strict=True)
        return {
            "number": self.number,
            "version": self.known.version,
            "said": self.said,
            "reason": self.reason,
            "groups": [
                {
                    "name": shown_name(name, k),
                    "named": name is not None,
                    "size": size,
                    "medoid": row,
                }
                for k, (name, size, row) in enumerate(parts)
            ],
            "n_outliers": int((self.labels < 0).sum()),
            "waiting": [name for name in known.names if name not in names],
            "notes": list(self.notes),
        }


@one_blas_thread()
def found_groups(
    X: Floats, learned: TaughtMetric, known: Knowledge, before: FoundGroups | None, seed: int
) -> FoundGroups:
    """Find groups of all rows.

    What was said is kept, as long as it does not contradict itself: then as much as can be.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        As they were learned from.
    learned : TaughtMetric
    known : Knowledge
        That it was learned from.
    before : FoundGroups or None
        Groups that are still there keep their numbers.
    seed : int
    """
    metric = Euclidean().fit(X) if learned.metric is None else learned.metric
    keep = "soft" if known.n_conflicts else "hard"
    number, labels_before = 1, np.full(len(X), -1)
    if before is not None:
        if before.still_hold(known):
            return replace(before, known=known)
        number, labels_before = before.number + 1, before.labels
    with collect_notices() as notes:
        clusters = Clusters(
            metric=FrozenEstimator(metric), keep=keep, strength=_STRENGTH, random_state=seed
        ).fit(X, pairs=known.pairs)
    texts = [note.text for note in notes]
    if len(clusters.broken_):
        texts.append(
            f"Answers contradict each other, and groups keep to all but {len(clusters.broken_)}."
        )
    outliers = clusters.outliers_.copy()
    outliers[known.pairs.points] = False  # what was said of a row is to be seen
    found = np.where(outliers, -1, clusters.labels_)
    kept, packed = np.unique(found, return_inverse=True)
    packed, kept = packed - int(kept[0] < 0), kept[kept >= 0]
    labels = numbered_as_before(labels_before, packed)
    medoids = np.empty(len(kept), dtype=np.int64)
    medoids[labels[packed >= 0]] = clusters.medoids_[found[packed >= 0]]
    report = clusters.report_
    return FoundGroups(number, known, labels, medoids, report.summary, report.reason, tuple(texts))


def colours_of_groups(found: FoundGroups | None, known: Knowledge, n_rows: int) -> dict[str, Any]:
    """Colours of groups, by their numbers; NaN for outliers, and where no groups were found.

    With the ``number`` of the grouping, or 0.
    """
    labels = np.full(n_rows, -1) if found is None else found.labels
    names = [] if found is None else found.names(known)
    return {
        "number": 0 if found is None else found.number,
        "kind": "categories",
        "categories": [shown_name(name, k) for k, name in enumerate(names)],
        "range": None,
        "values": np.where(labels < 0, np.nan, labels).astype(np.float32),
    }


def representatives_by_group(view: View, rows: Ints, labels: Ints) -> Ints:
    """A few of some rows that stand for all of them: five of those of each group, or fewer.

    Parameters
    ----------
    view : View
        Rows as the metric sees them.
    rows : int ndarray of shape (k,)
    labels : int ndarray of shape (n,)
        Group of each row; outliers are one more.
    """
    groups = np.unique(labels[rows])
    each = max(1, min(N_REPRESENTATIVES, _MOST_REPRESENTATIVES // max(1, len(groups))))
    found = [representatives(view, rows[labels[rows] == group], each) for group in groups]
    return np.concatenate(found) if found else rows[:0]


@one_blas_thread()
def representatives(view: View, rows: Ints, n: int = N_REPRESENTATIVES) -> Ints:
    """At most n of some rows, spread over where most of them are: the nearest to each of n means.

    The same rows have the same representatives.
    """
    if len(rows) <= n:
        return rows
    some, Z = _some(view, rows)
    with mute_third_party():  # scikit-learn warns of fewer different rows than means
        means = KMeans(min(n, len(some)), n_init=1, random_state=0).fit(Z).cluster_centers_
    return np.unique(some[pairwise_distances_argmin(means, Z)])


def typical(view: View, rows: Ints, n: int = N_TYPICAL) -> Ints:
    """At most n of some rows, the nearest to their mean."""
    some, Z = _some(view, rows)
    order = np.argsort(((Z - Z.mean(axis=0)) ** 2).sum(axis=1), kind="stable")
    return np.asarray(some[order[:n]])


def _some(view: View, rows: Ints) -> tuple[Ints, Doubles]:
    """An even choice of rows in their order, not too many, and where they are."""
    some = np.sort(rows)[:: -(-len(rows) // _MOST_LOOKED_AT)]
    return some, np.asarray(view.embedding(some), dtype=np.float64)
