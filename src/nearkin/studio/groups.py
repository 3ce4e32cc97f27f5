"""Groups of all rows, clustered in the learned metric, and rows that represent them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import pairwise_distances_argmin

from nearkin._types import Doubles, Floats, Ints
from nearkin.clustering.clusters import Clusters
from nearkin.errors import InputError
from nearkin.learners.euclidean import Euclidean
from nearkin.messages import collect_notices, mute_third_party
from nearkin.rows.parallel import one_blas_thread
from nearkin.studio.events import AnswerConflict, check_name, pairs_of_split
from nearkin.studio.knowledge import Knowledge, group_name, match_names, renumber_groups
from nearkin.studio.metric import RowsView, TaughtMetric

# Whatever a group is called; no name is empty.
ANY_NAME = ""
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
    """A clustering of all rows at one moment, as an immutable value.

    Attributes
    ----------
    number : int
        Number of this grouping in the lesson, from 1.
    known : Knowledge
        The knowledge by which the groups were found.
    labels : int ndarray of shape (n,)
        Group of each row, from 0; −1 for outliers.
    medoids : int ndarray of shape (n_groups,)
        Row number of each group's medoid.
    said, reason : str
        Which clustering was chosen, and why.
    notes : tuple of str
        Warnings of the clustering.
    """

    number: int
    known: Knowledge
    labels: Ints
    medoids: Ints
    said: str
    reason: str
    notes: tuple[str, ...] = ()

    def rows(self, group: int) -> Ints:
        """Row numbers of the members of a group; raise if there is no such group."""
        if not 0 <= group < len(self.medoids):
            raise InputError(f"there is no group {group}: there are {len(self.medoids)}, from 0.")
        return np.flatnonzero(self.labels == group)

    def names(self, known: Knowledge) -> list[str | None]:
        """Names that people gave to these groups; None for groups without."""
        return match_names(list(known.names), list(known.names.values()), self.labels)

    def still_hold(self, known: Knowledge) -> bool:
        """Whether pairs and triplets are as when the groups were found."""
        return bool(known.pairs == self.known.pairs and known.triplets == self.known.triplets)

    def describe(self, known: Knowledge) -> dict[str, Any]:
        """Return the groups as plain values, see :meth:`nearkin.studio.lesson.Lesson.groups`."""
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
                    "name": group_name(name, k),
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

    def make_name_entry(
        self, group: int, name: str | None, known: Knowledge, before: str | None = ANY_NAME
    ) -> dict[str, Any]:
        """Make the journal entry that gives a group a name, or takes its name away.

        Parameters
        ----------
        name : str or None
        before : str or None
            Name that the person saw: raise AnswerConflict if the group has another one by now.
        """
        rows, names = self.rows(group), self.names(known)
        if before != ANY_NAME and before != names[group] != name:
            now = "without a name" if names[group] is None else f"called {names[group]!r:.80}"
            raise AnswerConflict(
                f"this group is {now} meanwhile, and nothing was changed: name it again to have "
                f"{'no name' if name is None else repr(name)[:80]} in its place.",
                "nothing",
            )
        entry: dict[str, Any] = {"do": "name", "name": None, "instead": names[group]}
        if name is not None:
            entry |= {"name": check_name(name), "rows": rows}
            if entry["name"] in names[:group] + names[group + 1 :]:
                raise InputError(
                    f"another group is called {entry['name']!r:.80}: give this one another name, "
                    "or say that the two are one group."
                )
        elif names[group] is None:
            raise InputError(f"group {group + 1} has no name to be taken away.")
        return entry

    def make_split_entry(self, view: RowsView, rows: Ints) -> tuple[dict[str, Any], dict[str, int]]:
        """Make the journal entry that splits some rows off the group that most of them are in.

        Must-links tie five of them together, and cannot-links separate these from the three rows
        in the middle of the rest of the group.

        Returns
        -------
        entry : dict
        told : dict
            ``n_pairs`` that follow, ``group``, the number of the group that is split, and
            ``n_left_out``, how many of the rows are in other groups.
        """
        inside = self.labels[rows]
        if not (inside >= 0).any():
            raise InputError("none of these rows is in a group that could be split.")
        group = int(np.bincount(inside[inside >= 0]).argmax())
        part = rows[inside == group]
        rest = np.setdiff1d(self.rows(group), part)
        if not len(rest):
            raise InputError("this is a whole group: select a part of it.")
        first = representatives(view, part).tolist()
        second = middle_rows(view, rest).tolist()
        n_pairs = sum(map(len, pairs_of_split(first, second, len(self.labels)).values()))
        entry = {"do": "split", "first": first, "second": second, "origin": "group"}
        return entry, {"n_pairs": n_pairs, "group": group, "n_left_out": len(rows) - len(part)}


@one_blas_thread()
def cluster_rows(
    X: Floats, learned: TaughtMetric, known: Knowledge, before: FoundGroups | None, seed: int
) -> FoundGroups:
    """Cluster all rows in the learned metric, keeping all answered pairs.

    If answers contradict each other, as many as possible are kept.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows that the metric was learned from.
    known : Knowledge
        The knowledge that the metric was learned from.
    before : FoundGroups or None
        The grouping before: groups that are still there keep their numbers.
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
    found = clusters.labels_
    kept, packed = np.unique(found, return_inverse=True)
    packed, kept = packed - int(kept[0] < 0), kept[kept >= 0]
    labels = renumber_groups(labels_before, packed)
    medoids = np.empty(len(kept), dtype=np.int64)
    medoids[labels[packed >= 0]] = clusters.medoids_[found[packed >= 0]]
    report = clusters.report_
    return FoundGroups(number, known, labels, medoids, report.summary, report.reason, tuple(texts))


def colours_of_groups(found: FoundGroups | None, known: Knowledge, n_rows: int) -> dict[str, Any]:
    """Colour values of all rows by their groups, NaN for outliers, with the legend.

    ``number`` is the grouping's; it is 0, and all values are NaN, if no groups were found.
    """
    labels = np.full(n_rows, -1) if found is None else found.labels
    names = [] if found is None else found.names(known)
    return {
        "number": 0 if found is None else found.number,
        "kind": "categories",
        "categories": [group_name(name, k) for k, name in enumerate(names)],
        "range": None,
        "values": np.where(labels < 0, np.nan, labels).astype(np.float32),
    }


def representatives_by_group(view: RowsView, rows: Ints, labels: Ints) -> Ints:
    """Choose representatives of some rows: five or fewer of each group among them.

    Parameters
    ----------
    view : RowsView
        Learned coordinates of the rows.
    rows : int ndarray of shape (k,)
    labels : int ndarray of shape (n,)
        Group of each row; outliers count as a group.
    """
    groups = np.unique(labels[rows])
    each = max(1, min(N_REPRESENTATIVES, _MOST_REPRESENTATIVES // max(1, len(groups))))
    found = [representatives(view, rows[labels[rows] == group], each) for group in groups]
    return np.concatenate(found) if found else rows[:0]


@one_blas_thread()
def representatives(view: RowsView, rows: Ints, n: int = N_REPRESENTATIVES) -> Ints:
    """Choose at most n representatives of some rows: the nearest to each of n k-means centres.

    The same rows have the same representatives.
    """
    if len(rows) <= n:
        return rows
    some, Z = _sample_coordinates(view, rows)
    with mute_third_party():  # scikit-learn warns of fewer different rows than means
        means = KMeans(min(n, len(some)), n_init=1, random_state=0).fit(Z).cluster_centers_
    return np.unique(some[pairwise_distances_argmin(means, Z)])


def middle_rows(view: RowsView, rows: Ints, n: int = N_TYPICAL) -> Ints:
    """Choose the n of some rows that are nearest to their mean."""
    some, Z = _sample_coordinates(view, rows)
    order = np.argsort(((Z - Z.mean(axis=0)) ** 2).sum(axis=1), kind="stable")
    return np.asarray(some[order[:n]])


def _sample_coordinates(view: RowsView, rows: Ints) -> tuple[Ints, Doubles]:
    """Take every k-th row, at most 5000 in all; returns row numbers and learned coordinates."""
    some = np.sort(rows)[:: -(-len(rows) // _MOST_LOOKED_AT)]
    return some, np.asarray(view.embedding(some), dtype=np.float64)
