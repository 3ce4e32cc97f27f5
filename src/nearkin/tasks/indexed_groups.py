"""Which rows of an index are the same thing."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from nearkin._types import Floats, Ints
from nearkin.errors import InputError
from nearkin.messages import notice
from nearkin.rows.ids import Ids
from nearkin.scores.verdicts import checked_share
from nearkin.spaces.neighbors import by_first_row, joined, near_groups, without_itself
from nearkin.tasks.duplicate_radius import (
    MOST_NEIGHBORS,
    doubts,
    duplicate_radius,
    n_judged,
    near_pairs,
    radius_of_share,
)
from nearkin.tasks.indexed_rows import IndexedRows
from nearkin.tasks.mean_groups import mean_groups


class IndexedGroups(IndexedRows):
    """Rows of an index, and the groups of those that are the same thing."""

    def duplicates(
        self,
        radius: float | None = None,
        *,
        precision: float | None = None,
        prevalence: float | None = None,
    ) -> list[Ids]:
        """Find the groups of rows that are the same thing.

        Parameters
        ----------
        radius : float, optional
            Two rows are the same up to this distance, and so are all that a chain of such rows
            connects. By default :meth:`radius_for` finds the distance, and rows form a group if
            they are no farther apart in the mean: weak links do not chain them.
        precision : float in (0, 1), optional
            Share of the pairs found that are to be right, for example 0.99.
        prevalence : float in [0, 1], optional
            Share of all pairs of rows that are the same, where it is known.

        Returns
        -------
        list of ndarray
            The ids of each group of two rows or more, groups in the order of their first rows.
            With the approximate search a group may come in parts, see :meth:`group_labels`.

        Warns
        -----
        UserWarning
            If the groups are implausible as copies of one thing: if one has many rows, or if the
            pairs that the metric was learned from are mostly farther apart. It says how large the
            largest is, and what to do.

        Examples
        --------
        >>> import numpy as np
        >>> from nearkin import NeighborIndex
        >>> NeighborIndex().fit([[0.0], [7.0], [1.0], [2.0]]).duplicates(radius=1)
        [array([0, 2, 3])]
        >>> X = np.random.default_rng(0).normal(size=(100, 5))
        >>> X[60] = X[20] + 0.01
        >>> NeighborIndex().fit(X).duplicates()
        [array([20, 60])]
        """
        labels, doubt = self._grouped(radius, precision, prevalence)
        if doubt is not None:
            notice(doubt)
        order = np.argsort(labels, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        ids = self.ids
        return [ids[group] for group in groups if len(group) > 1]

    def group_labels(
        self,
        radius: float | None = None,
        *,
        precision: float | None = None,
        prevalence: float | None = None,
    ) -> Ints:
        """Number the groups of rows that are the same thing.

        Parameters
        ----------
        radius, precision, prevalence : float, optional
            As in :meth:`duplicates`, which warns as this does.

        Returns
        -------
        int ndarray of shape (n,)
            Groups count from 0 in the order of their first rows; most have one row, as a rule.

        Notes
        -----
        Without a radius, the 20 nearest of each row are looked at: see
        :func:`nearkin.tasks.duplicate_radius.near_pairs` and
        :func:`nearkin.tasks.mean_groups.mean_groups`.

        With one, exact: O(n²) time at most, and O(n) memory however many pairs are near, see
        :func:`nearkin.spaces.neighbors.near_groups`. With the approximate search only the
        ``n_neighbors`` nearest of each row that it finds are joined with it: what is one group
        there is truly one, but it can be a part of a larger one.

        Examples
        --------
        >>> from nearkin import NeighborIndex
        >>> NeighborIndex().fit([[0.0], [7.0], [1.0], [2.0]]).group_labels(radius=1)
        array([0, 1, 0, 0])
        """
        labels, doubt = self._grouped(radius, precision, prevalence)
        if doubt is not None:
            notice(doubt)
        return labels

    def radius_for(
        self, *, precision: float | None = None, prevalence: float | None = None
    ) -> float:
        """Distance up to which two rows of the index are the same thing.

        Parameters
        ----------
        precision, prevalence : float, optional
            As in :meth:`duplicates`.

        Returns
        -------
        float
            By default the distance at which a pair is as likely the same as not, among all pairs of
            these rows: it is found from the distances of neighbours, and unlike the metric's
            ``threshold_`` does not suppose that same and different are equally frequent. With
            ``prevalence``, the distance within which this share of all pairs lie. Of fewer than 40
            rows, which do not tell, it is the metric's ``threshold_``.

        Examples
        --------
        >>> import numpy as np
        >>> from nearkin import NeighborIndex
        >>> X = np.random.default_rng(0).normal(size=(100, 5))
        >>> X[60] = X[20] + 0.01
        >>> round(NeighborIndex().fit(X).radius_for(), 4)
        0.0224
        """
        self._check_not_empty()
        self._check_metric()
        return self._found_radius(*self._others(), precision, prevalence)

    def _grouped(
        self, radius: float | None, precision: float | None, prevalence: float | None
    ) -> tuple[Ints, str | None]:
        """Group of each row, and what makes the groups implausible."""
        self._check_not_empty()
        self._check_metric()
        said = {"radius": radius, "precision": precision, "prevalence": prevalence}
        if len(given := [name for name, value in said.items() if value is not None]) > 1:
            raise InputError(f"give one of {' and '.join(given)}: each of them says what is near.")
        chained = radius is not None
        if chained:
            radius = self._radius(radius)
            labels = self._chained(radius)
        else:
            distances, rows = self._others()
            radius = self._found_radius(distances, rows, precision, prevalence)
            labels = mean_groups(self.vectors, distances, rows, radius)
        same_distance = self._of_metric("same_distance")
        return labels, doubts(
            self.vectors, labels, radius, chained=chained, same_distance=same_distance
        )

    def _others(self) -> tuple[Floats, Ints]:
        """The nearest others of each row, as many as duplicates are judged by."""
        k = min(MOST_NEIGHBORS, len(self) - 1)
        if k == 0:
            return np.empty((1, 0), dtype=self.vectors.dtype), np.empty((1, 0), dtype=np.int64)
        return without_itself(*self._nearest(self.vectors, k + 1))

    def _found_radius(
        self, distances: Floats, rows: Ints, precision: float | None, prevalence: float | None
    ) -> float:
        if prevalence is not None:
            share = checked_share(prevalence, "prevalence", ends=True)
            rng = check_random_state(self.random_state)
            return radius_of_share(self.vectors, distances, rows, share, rng)
        if precision is not None:
            precision = checked_share(precision, "precision")
        k = n_judged(len(self))
        if k:
            return duplicate_radius(near_pairs(distances[:, :k]), precision)
        if precision is not None:
            raise InputError(
                f"precision={precision}, but the index has {len(self)} rows, too few to judge by "
                "how near they are to each other: give radius= or prevalence=."
            )
        return self._radius(None)

    def _chained(self, radius: float) -> Ints:
        """Groups of rows that chains of steps within the radius connect."""
        if not self._is_approximate():
            return near_groups(self.vectors, radius)
        distances, rows = self._nearest(self.vectors, min(len(self), self.n_neighbors + 1))
        near = distances <= radius
        edges = np.column_stack([np.nonzero(near)[0], rows[near]])
        return by_first_row(joined(np.arange(len(self)), edges))
