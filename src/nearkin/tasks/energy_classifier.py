r"""Energy-based classification: the label under which a point fits in best.

A point x that is given label c joins the rows of that class. With squared distances d², μ the
share of pushing and m the margin, that costs (Weinberger and Saul 2009)

.. math::

    E_c(x) = (1 - \mu) \sum_{j \to x} d_{xj}^2
    + \mu \sum_{j \to x} \sum_{l \notin c} [m + d_{xj}^2 - d_{xl}^2]_+
    + \mu \sum_{i \notin c} \sum_{j \to i} [m + d_{ij}^2 - d_{xi}^2]_+ ,

where :math:`j \to x` are the k rows of class c nearest to x: they should be near, rows of other
classes should not come as near, and x should not come as near to such rows as their own k nearest
of their class. Sums over fewer than k rows, in small classes, are scaled to k.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, check_consistent_length, check_random_state, column_or_1d, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from nearkin.errors import InputError, about_input
from nearkin.learners.compositions import seen_first_by, sees_any_rows
from nearkin.learners.fitting import WholeFits
from nearkin.pairs.labels import refuse_unknown
from nearkin.rows import access, device_math, devices, validation
from nearkin.rows import sparse as sparse_rows
from nearkin.rows.blocks import for_each_block
from nearkin.rows.centring import centred, middle
from nearkin.rows.compiled import compiled
from nearkin.rows.scaled import warn_of_units
from nearkin.rows.sparse import is_sparse, plain
from nearkin.solvers.large_margin import nearest_alike

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]

# Multiples of the typical gap between classes that are tried as margins, in order of preference.
FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 0.0)
# Training rows, at most, by which the margin is chosen.
_MOST_JUDGED = 5000
# Working memory of a block of points.
_BLOCK_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Members:
    """Training rows in order of their class, with what their neighbourhoods are.

    Attributes
    ----------
    Z : ndarray or sparse matrix of shape (n, q)
    starts : int ndarray of shape (n_classes + 1,)
        Rows of class c are ``Z[starts[c]:starts[c + 1]]``.
    nearest : int ndarray of shape (n, k + 1)
        Nearest other rows of the class, −1 where there are none; one more than is needed, so that
        any of them can be left out.
    squared : ndarray of shape (n, k + 1)
        Their squared distances.
    """

    Z: Floats
    starts: Ints
    nearest: Ints
    squared: Floats

    @property
    def n_neighbors(self) -> int:
        """Number k of neighbours that count."""
        return int(self.nearest.shape[1]) - 1

    @property
    def number(self) -> Ints:
        """Class of each row."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def gather_members(Z: Floats, number: Ints, n_neighbors: int) -> tuple[Members, Ints]:
    """Rows sorted by class, and their order: row r of the result is row ``order[r]`` of Z."""
    order = np.argsort(number, kind="stable")
    if devices.is_foreign(Z):
        return _gather_foreign(
            devices.wide(access.take(Z, order)), number[order], n_neighbors
        ), order
    number = number[order]
    Z = Z[order].astype(np.float64) if is_sparse(Z) else np.ascontiguousarray(Z[order], np.float64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(number))])
    nearest = nearest_alike(Z, number, n_neighbors + 1)
    squared = np.full(nearest.shape, np.inf)
    for place, rows in enumerate(nearest.T):
        known = np.flatnonzero(rows >= 0)
        if is_sparse(Z):
            squared[known, place] = sparse_rows.squared_rowwise_distances(Z, Z, known, rows[known])
        else:
            squared[known, place] = ((Z[known] - Z[rows[known]]) ** 2).sum(axis=1)
    return Members(Z, starts, nearest, squared), order


def _gather_foreign(Z: Any, number: Ints, n_neighbors: int) -> Members:
    """The same on the device of Z, whose rows are sorted by class."""
    xp = devices.namespace(Z)
    starts = np.concatenate([[0], np.cumsum(np.bincount(number))])
    shape = (Z.shape[0], n_neighbors + 1)
    nearest = xp.full(shape, -1, dtype=xp.int64, device=Z.device)
    squared = xp.full(shape, xp.inf, dtype=Z.dtype, device=Z.device)
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        k = min(n_neighbors + 1, stop - start - 1)
        if k > 0:
            own = Z[start:stop, :]
            near, place = device_math.nearest_rows(own, own, k, skip_self=True)
            squared[start:stop, :k] = near
            nearest[start:stop, :k] = place + start
    return Members(Z, starts, nearest, squared)


def class_distances(Z: Floats, members: Members, left_out: Ints | None = None) -> Floats:
    """Squared distances to the nearest rows of each class.

    Parameters
    ----------
    Z : ndarray of shape (n_points, q)
    members : Members
    left_out : int ndarray of shape (n_points,), optional
        A row that does not count, for each point: the point itself.

    Returns
    -------
    ndarray of shape (n_points, n_classes, k)
        Nearest first, then inf where a class has fewer.
    """
    if devices.is_foreign(Z):
        found: Any = [
            _foreign_nearest_by_class(squared, members)
            for _, squared in _foreign_blocks(Z, members, left_out)
        ]
        return devices.to_numpy(devices.namespace(Z).concat(found))
    out = np.empty((Z.shape[0], len(members.starts) - 1, members.n_neighbors))

    def work(rows: slice) -> None:
        squared = _squared_distances(Z, members.Z, rows, left_out)
        _nearest_by_class(squared, members.starts, out[rows])

    for_each_block(work, Z.shape[0], _block_rows(members))
    return out


def energies(
    Z: Floats,
    members: Members,
    margins: Floats,
    push: float,
    left_out: Ints | None = None,
) -> Floats:
    """Energy of each point under each label, for one or several margins.

    Parameters
    ----------
    Z : ndarray of shape (n_points, q)
    members : Members
    margins : ndarray of shape (n_margins,)
        Squared distances.
    push : float
        μ.
    left_out : int ndarray of shape (n_points,), optional
        A row that does not count, for each point: the point itself.

    Returns
    -------
    ndarray of shape (n_margins, n_points, n_classes)
        inf where a class has no row.

    Notes
    -----
    O(n (q + log(C k))) time for each point and margin, with n training rows and C classes, for
    all sums over rows at once. Memory: some tens of megabytes for each core.
    """
    n_classes = len(members.starts) - 1
    if devices.is_foreign(Z):
        found: Floats = _foreign_energies(Z, members, margins, push, left_out)
        return found
    out = np.empty((len(margins), Z.shape[0], n_classes))
    margins = np.asarray(margins, dtype=np.float64)

    def work(rows: slice) -> None:
        squared = _squared_distances(Z, members.Z, rows, left_out)
        own = np.empty((len(squared), n_classes, members.n_neighbors))
        _nearest_by_class(squared, members.starts, own)
        nobody = np.full(len(squared), -1)
        _fill_energies(
            squared,
            own,
            members.starts,
            members.nearest,
            members.squared,
            nobody if left_out is None else left_out[rows],
            margins,
            push,
            out[:, rows],
        )

    for_each_block(work, Z.shape[0], _block_rows(members))
    return out


def _foreign_blocks(Z: Any, members: Members, left_out: Ints | None) -> Iterator[tuple[slice, Any]]:
    """Squared distances to all members, by blocks of points, on their device."""
    xp = devices.namespace(Z)
    lengths = xp.sum(members.Z * members.Z, axis=1)
    for rows in access.blocks(Z, 64 * len(members.Z)):
        block = devices.wide(Z[rows])
        squared = lengths - 2.0 * (block @ members.Z.T)
        squared = device_math.clipped(squared + xp.sum(block * block, axis=1)[:, None], 0.0)
        if left_out is not None:
            places = xp.arange(block.shape[0], device=Z.device)
            squared[places, devices.moved(left_out[rows], Z)] = xp.inf
        yield rows, squared


def _foreign_nearest_by_class(squared: Any, members: Members) -> Any:
    """Squared distances (n_points, n_classes, k) to the nearest of each class, then inf."""
    xp = devices.namespace(squared)
    shape = (squared.shape[0], len(members.starts) - 1, members.n_neighbors)
    out = xp.full(shape, xp.inf, dtype=squared.dtype, device=squared.device)
    bounds = zip(members.starts[:-1].tolist(), members.starts[1:].tolist(), strict=True)
    for c, (start, stop) in enumerate(bounds):
        k = min(members.n_neighbors, stop - start)
        # A copy: the search overwrites what it is given.
        out[:, c, :k] = device_math.smallest(squared[:, start:stop] + 0.0, k)[0]
    return out


def _foreign_energies(
    Z: Any, members: Members, margins: Floats, push: float, left_out: Ints | None
) -> Any:
    """The energies where Z is: all hinges of a block at once, a pass for each sum over rows."""
    xp = devices.namespace(Z)
    n_classes, k = len(members.starts) - 1, members.n_neighbors
    shape = (len(margins), Z.shape[0], n_classes)
    out = xp.empty(shape, dtype=members.Z.dtype, device=Z.device)
    for rows, squared in _foreign_blocks(Z, members, left_out):
        own = _foreign_nearest_by_class(squared, members)
        there = xp.isfinite(own)
        n_own = xp.sum(xp.astype(there, own.dtype), axis=2)
        scale = k / xp.where(n_own > 0, n_own, xp.ones_like(n_own))
        pulled = xp.sum(xp.where(there, own, xp.zeros_like(own)), axis=2)
        nobody = None if left_out is None else devices.moved(left_out[rows], Z)
        for b, margin in enumerate(np.asarray(margins, dtype=np.float64).tolist()):
            hinges = _foreign_impostors(squared, own, members, margin)
            intrusions = _foreign_intrusions(squared, members, nobody, margin)
            everywhere = xp.sum(intrusions, axis=1, keepdims=True)
            energy = (1.0 - push) * scale * pulled + push * scale * hinges
            energy = energy + push * (everywhere - intrusions)
            out[b, rows] = xp.where(n_own > 0, energy, xp.full_like(energy, xp.inf))
    return out


def _foreign_impostors(squared: Any, own: Any, members: Members, margin: float) -> Any:
    """Hinges of rows of other classes, (n_points, n_classes)."""
    xp = devices.namespace(squared)
    totals = []
    bounds = zip(members.starts[:-1].tolist(), members.starts[1:].tolist(), strict=True)
    for c, (start, stop) in enumerate(bounds):
        total: Any = xp.zeros_like(squared[:, 0])
        for t in range(own.shape[2]):
            limit = xp.where(xp.isfinite(own[:, c, t]), own[:, c, t] + margin, 0.0)[:, None]
            for others in (squared[:, :start], squared[:, stop:]):
                total = total + xp.sum(device_math.clipped(limit - others, 0.0), axis=1)
        totals.append(total)
    return xp.stack(totals, axis=1)


def _foreign_intrusions(squared: Any, members: Members, left_out: Any, margin: float) -> Any:
    """Hinges of the point as an impostor of rows, (n_points, n_classes) by the class of these."""
    xp = devices.namespace(squared)
    k = members.n_neighbors
    nearest: Any = members.nearest
    total = xp.zeros_like(squared)
    n_own: Any = xp.zeros_like(squared)
    for t in range(k + 1):
        counts = (nearest[:, t] >= 0)[None, :]
        if left_out is not None:
            counts = counts & (nearest[:, t][None, :] != left_out[:, None])
        # The one more that is kept takes the place of one that is left out.
        counts = counts & (n_own < k)
        reach: Any = xp.where(nearest[:, t] >= 0, members.squared[:, t], 0.0)
        hinge = device_math.clipped(margin + reach[None, :] - squared, 0.0)
        total = total + xp.where(counts, hinge, xp.zeros_like(hinge))
        n_own = n_own + xp.astype(counts, n_own.dtype)
    total = total * k / xp.where(n_own > 0, n_own, xp.ones_like(n_own))
    bounds = zip(members.starts[:-1].tolist(), members.starts[1:].tolist(), strict=True)
    return xp.stack([xp.sum(total[:, start:stop], axis=1) for start, stop in bounds], axis=1)


def _block_rows(members: Members) -> int:
    return max(1, min(256, _BLOCK_BYTES // (8 * int(members.Z.shape[0]))))


def _squared_distances(A: Floats, B: Floats, rows: slice, left_out: Ints | None) -> Floats:
    """From some rows of A to all of B, with inf for what is left out."""
    block = A[rows].astype(np.float64)
    if is_sparse(block):
        squared = sparse_rows.distances(block, B) ** 2
    else:
        squared = block @ (-2 * B.T)
        squared += np.einsum("iq,iq->i", block, block)[:, None]
        squared += np.einsum("iq,iq->i", B, B)
        np.maximum(squared, 0, out=squared)
    if left_out is not None:
        squared[np.arange(len(squared)), left_out[rows]] = np.inf
    return np.asarray(squared)


@compiled()
def _nearest_by_class(squared: Any, starts: Any, out: Any) -> None:
    k = out.shape[2]
    for r in range(squared.shape[0]):
        for c in range(out.shape[1]):
            best = out[r, c]
            best[:] = np.inf
            for i in range(starts[c], starts[c + 1]):
                value = squared[r, i]
                if value < best[k - 1]:
                    place = k - 1
                    while place > 0 and best[place - 1] > value:
                        best[place] = best[place - 1]
                        place -= 1
                    best[place] = value


@compiled()
def _fill_energies(
    squared: Any,
    own: Any,
    starts: Any,
    nearest: Any,
    member_squared: Any,
    left_out: Any,
    margins: Any,
    push: float,
    out: Any,
) -> None:
    n_classes, k = own.shape[1], own.shape[2]
    for r in range(squared.shape[0]):
        for b in range(margins.shape[0]):
            margin = margins[b]
            hinges = _impostors(squared[r], own[r], starts, margin)
            intrusions = _intrusions(
                squared[r], starts, nearest, member_squared, left_out[r], margin
            )
            everywhere = intrusions.sum()
            for c in range(n_classes):
                pulled, n_own = 0.0, 0
                for t in range(k):
                    if own[r, c, t] < np.inf:
                        pulled += own[r, c, t]
                        n_own += 1
                if n_own == 0:
                    out[b, r, c] = np.inf
                    continue
                scale = k / n_own
                out[b, r, c] = (
                    (1.0 - push) * scale * pulled
                    + push * scale * hinges[c]
                    + push * (everywhere - intrusions[c])
                )


@compiled()
def _impostors(squared: Any, own: Any, starts: Any, margin: float) -> Any:
    """Hinges of rows of other classes, summed for each class that the point may have.

    All rows are sorted into the gaps between all limits (margin and a nearest distance) once.
    With the number and the sum of the distances below it, a limit's hinges are a product and a
    difference; those of the class itself are taken out again.
    """
    n_classes, k = own.shape
    limits = np.sort(own.ravel()) + margin
    n_limits = int(np.searchsorted(limits, np.inf))
    size = 1
    while size <= n_limits:
        size *= 2
    padded = np.full(size, np.inf)
    padded[:n_limits] = limits[:n_limits]
    counts = np.zeros(size)
    sums = np.zeros(size)
    for i in range(squared.shape[0]):
        value = squared[i]
        if value < limits[n_limits - 1]:
            # How many limits are not above it, by bisection without branches.
            place, half = 0, size // 2
            while half > 0:
                place += half * (padded[place + half - 1] <= value)
                half //= 2
            counts[place] += 1.0
            sums[place] += value
    counts = np.cumsum(counts)
    sums = np.cumsum(sums)
    totals = np.zeros(n_classes)
    for c in range(n_classes):
        for t in range(k):
            if own[c, t] == np.inf:
                break
            limit = own[c, t] + margin
            place = np.searchsorted(padded, limit)
            total = limit * counts[place] - sums[place]
            for i in range(starts[c], starts[c + 1]):
                if squared[i] < limit:
                    total -= limit - squared[i]
            totals[c] += max(total, 0.0)
    return totals


@compiled()
def _intrusions(
    squared: Any, starts: Any, nearest: Any, member_squared: Any, left_out: int, margin: float
) -> Any:
    """Hinges of the point as an impostor of rows, summed for each class of these."""
    k = nearest.shape[1] - 1
    totals = np.zeros(starts.shape[0] - 1)
    for c in range(starts.shape[0] - 1):
        for i in range(starts[c], starts[c + 1]):
            reach = 0.0
            # The one more that is kept may have to take another's place.
            for t in range(k, -1, -1):
                if nearest[i, t] >= 0:
                    reach = margin + member_squared[i, t]
                    break
            if squared[i] >= reach:
                continue
            total, n_own = 0.0, 0
            for t in range(k + 1):
                if n_own < k and nearest[i, t] >= 0 and nearest[i, t] != left_out:
                    total += max(0.0, margin + member_squared[i, t] - squared[i])
                    n_own += 1
            if n_own > 0:
                totals[c] += total * k / n_own
    return totals


def choose_margin(
    members: Members, push: float, rng: np.random.RandomState
) -> tuple[float, Floats]:
    r"""The margin with the fewest errors on training rows, each left out in turn.

    With :math:`\gamma` the median over rows of the squared distance to the nearest row of another
    class, less that to the nearest of the same, candidates are βγ for the β in ``FACTORS``. Of
    equally good ones the first is taken. Where classes are so mixed that the median is negative,
    γ is the median of the absolute differences.

    Returns
    -------
    margin : float
    errors : ndarray of shape (len(FACTORS),)
        Share of rows that each candidate gets wrong.
    """
    n = members.Z.shape[0]
    judged: Ints = np.arange(n)
    if n > _MOST_JUDGED:
        judged = np.sort(rng.choice(n, _MOST_JUDGED, replace=False))
    number = members.number[judged]
    judged, number = _with_company(judged, number, members)
    if len(judged) == 0:  # one row in every class
        return 0.0, np.zeros(len(FACTORS))
    Z = access.take(members.Z, judged)
    nearest = class_distances(Z, members, judged)[:, :, 0]
    rows = np.arange(len(judged))
    same = nearest[rows, number]
    nearest[rows, number] = np.inf
    gaps = nearest.min(axis=1) - same
    gap = float(np.median(gaps))
    if gap <= 0:
        gap = float(np.median(np.abs(gaps)))
    margins = gap * np.array(FACTORS)
    found = devices.to_numpy(energies(Z, members, margins, push, judged)).argmin(axis=2)
    errors = (found != number).mean(axis=1)
    return float(margins[errors.argmin()]), errors


def _with_company(judged: Ints, number: Ints, members: Members) -> tuple[Ints, Ints]:
    """Without the only rows of their classes, which nothing could get right."""
    kept = np.diff(members.starts)[number] > 1
    return judged[kept], number[kept]


class EnergyClassifier(WholeFits, ClassifierMixin, BaseEstimator):
    """Classify by the energy of each label: by neighbours and by those left behind.

    A point gets the label whose rows are near, while rows of other labels stay away from it and
    it from their neighbourhoods, by a margin. Under the same metric this is often more accurate
    than voting among nearest neighbours.

    Parameters
    ----------
    metric : transformer or None, default=None
        Any learner of this library, or another object with ``fit`` and ``transform``, whose
        Euclidean distances count. If it is fitted already, it is used as it is; otherwise a
        clone of it is fitted to the training rows and their labels. None takes the rows as they
        are; for columns of different units, ``Euclidean(scale=True)`` divides them by their
        spreads. Scikit-learn's tools clone what they are given, and a clone is not fitted; wrap a
        metric in ``sklearn.frozen.FrozenEstimator`` if it must not be fitted again in them.
    n_neighbors : int, default=3
        Nearest rows of each class that count. Classes with fewer use what there is.
    margin : "auto" or float, default="auto"
        A squared distance. ``"auto"`` takes a multiple of the typical gap between classes, the
        one with the fewest errors on (up to 5000) training rows, each left out in turn.
    push : float, default=0.5
        μ, the share of hinges in the energy, from 0 to 1. With 0 only the mean distance to the
        nearest rows of each class counts.
    random_state : int, RandomState or None, default=None
        Draws the training rows by which the margin is chosen, if there are more than 5000.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    metric_ : transformer or None
        In use, fitted.
    margin_ : float
        In use, a squared distance.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X has column names.

    References
    ----------
    K. Q. Weinberger, L. K. Saul. Distance metric learning for large margin nearest neighbor
    classification. Journal of Machine Learning Research 10, 2009.

    Y. Shi, Y.-K. Noh, F. Sha, D. D. Lee. Learning discriminative metrics via generative models
    and kernel learning. 2011.

    Notes
    -----
    The energy is at the head of :mod:`nearkin.tasks.energy_classifier`; the rule for the margin
    is that of the second paper, with squared distances, as in the energy, and with rows left out
    in the place of a validation set.

    All labels are known here, negative numbers too, as in other classifiers: no label means
    "unknown" as it does for learners.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from nearkin import LMNN, EnergyClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> classifier = EnergyClassifier(LMNN(scale=True), random_state=0).fit(X[::2], y[::2])
    >>> classifier.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _array_api: ClassVar[bool] = True

    def __init__(
        self,
        metric: Any = None,
        *,
        n_neighbors: int = 3,
        margin: str | float = "auto",
        push: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.margin = margin
        self.push = push
        self.random_state = random_state

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [HasMethods(["fit", "transform"]), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "margin": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "push": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows of each class, and choose the margin.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels, all of them known.

        Returns
        -------
        self
        """
        given = X
        if devices.library(y) is not None:
            devices.refuse_stranded(y, "y")
            y = devices.to_numpy(y)
        refuse_unknown(y)
        if devices.is_foreign(X) or self._sees_any_rows:
            X = self._seen(X, reset=True)
            with about_input():
                check_consistent_length(X, y)
                y = column_or_1d(y, warn=True)
        else:
            X, y = validation.validated(self, X, reset=True, y=y, accept_sparse="csr")
        with about_input():
            check_classification_targets(y)
        classes, number = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise InputError(
                f"all rows are of one class ({classes[0]!r}), but labels of at least two classes "
                "are needed to tell them apart."
            )
        metric = self.metric
        if metric is None:
            Z = X
            remedy = "Use metric=Euclidean(scale=True), which divides columns by their spread."
            warn_of_units(self, X, remedy)
        else:
            if not _is_fitted(metric):
                metric = clone(metric).fit(given, number)
            Z = _plain(metric.transform(given))
        rng = check_random_state(self.random_state)
        center = middle(Z)
        members, _ = gather_members(_centered(Z, center), number, self.n_neighbors)
        if isinstance(self.margin, str):  # "auto"
            margin, _ = choose_margin(members, float(self.push), rng)
        else:
            margin = float(self.margin)
        self.classes_ = classes
        self.metric_ = metric
        self.margin_ = margin
        self._center = center
        self._members = members
        return self

    def predict(self, X: Any) -> Any:
        """Give the label of least energy.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        found = self._energies(X)
        if devices.is_foreign(found):
            xp = devices.namespace(found)
            return device_math.named(self.classes_, xp.argmin(found, axis=1), found)
        return self.classes_[found.argmin(axis=1)]

    def decision_function(self, X: Any) -> Floats:
        """Negative energies: the largest is the predicted label's.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_classes), or (n,) for two classes
            For two classes, by how much the first's energy exceeds the second's.
        """
        found = self._energies(X)
        if len(self.classes_) == 2:
            found = found[:, 0] - found[:, 1]
            return found
        return -found

    @property
    def _sees_any_rows(self) -> bool:
        return self.metric is not None and sees_any_rows(self.metric)

    def _seen(self, X: Any, *, reset: bool) -> Any:
        if self._sees_any_rows:
            return seen_first_by(self, X, [self.metric], reset=reset)
        return validation.validated(self, X, reset=reset, accept_sparse="csr")

    def _energies(self, X: Any) -> Floats:
        check_is_fitted(self)
        given = X
        X = self._seen(X, reset=False)
        Z = X if self.metric_ is None else _plain(self.metric_.transform(given))
        margins = np.array([self.margin_])
        found: Floats = energies(_centered(Z, self._center), self._members, margins, self.push)[0]
        return found

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric is None or get_tags(self.metric).input_tags.sparse
        return tags


def _plain(Z: Any) -> Any:
    """An embedding as a plain array, whatever ``set_output`` made of it, or as a foreign one."""
    return Z if devices.is_foreign(Z) else plain(Z)


def _centered(Z: Any, center: Floats) -> Any:
    return centred(devices.wide(Z) if devices.is_foreign(Z) else Z.astype(np.float64), center)


def _is_fitted(metric: Any) -> bool:
    try:
        check_is_fitted(metric)
    except NotFittedError:
        return False
    return True
