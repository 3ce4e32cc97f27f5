"""A Gaussian for every class, with covariances that exist however few rows there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from nearkin._types import DOUBLE_BYTES, Floats, Integers, Ints
from nearkin.errors import InputError
from nearkin.rows import access, backends, device_math
from nearkin.rows.backends import Parts, block_moments, merge_moments
from nearkin.rows.parallel import rows_per_block, run_in_blocks
from nearkin.storage.schema import floats, ints, stored

# How much of the covariance within all classes a class may take over, which rows left out in so
# many parts decide. Chosen by hand.
POOLED_SHARES = (0.0, 0.1, 0.3, 0.6, 1.0)
_FOLDS = 5
# Classes that find their own, for 30 d³ operations; others take the median. Chosen by hand.
_MOST_TRIALS = 500
# A class of n rows is held to say as much about d columns as n / (n + 0.1 d). Chosen by hand.
_COLUMNS_PER_ROW = 0.1
# Keeps a covariance invertible where the share of the identity is given as 0. Chosen by hand.
_LEAST_IDENTITY = 1e-10
_LOG_2_PI = float(np.log(2 * np.pi))
# Spread of a class, relative to that of all, that is rounding.
_NO_SPREAD = 1e-12


@stored(
    means=floats("c d"),
    precisions=floats("c d d"),
    log_determinants=floats("c"),
    counts=ints("c"),
    pooled_shares=floats("c"),
    identity_shares=floats("c"),
)
@dataclass(frozen=True)
class ClassModels:
    """Gaussian densities of c classes in d columns."""

    means: Floats
    precisions: Floats  # (c, d, d), inverse covariances
    log_determinants: Floats
    counts: Integers
    pooled_shares: Floats  # (c,), how much of a covariance is that within all classes
    identity_shares: Floats  # and a multiple of the identity

    def gradients(self, X: Floats) -> tuple[Floats, Floats]:
        r"""Differences :math:`x - \mu_c`, and these times :math:`\Sigma_c^{-1}`, each (c, n, d)."""
        differences = X[None, :, :] - self.means[:, None, :]
        return differences, differences @ self.precisions

    def log_densities_of(self, differences: Floats, gradients: Floats) -> Floats:
        """Log densities (n, c) from the differences and gradients of :meth:`gradients`."""
        squared = device_math.rowwise_products(differences, gradients)
        found: Floats = -(squared + (self.log_determinants + self.means.shape[1] * _LOG_2_PI)) / 2
        return found

    def move_to(self, like: Any) -> ClassModels:
        """Copy these Gaussians to the device and type of a foreign array."""
        return replace(
            self,
            means=backends.move_to(self.means, like),
            precisions=backends.move_to(self.precisions, like),
            log_determinants=backends.move_to(self.log_determinants, like),
        )

    def log_densities(self, X: Floats) -> Floats:
        """Log density of each class at each row, of shape (n, c), computed by blocks."""
        c, d = self.means.shape
        found = np.empty((len(X), c))

        def weigh_block(rows: slice) -> None:
            found[rows] = self.log_densities_of(*self.gradients(X[rows].astype(np.float64)))

        run_in_blocks(weigh_block, len(X), rows_per_block(2 * DOUBLE_BYTES * c * d))
        return found


def fit_class_models(
    X: Floats,
    classes: Integers,
    *,
    covariance: str = "shrunk",
    regularization: str | float = "auto",
) -> ClassModels:
    r"""Estimate the mean and covariance of every class.

    .. math::

        \Sigma_c = (1 - s_c) A_c + s_c \frac{\operatorname{tr} A_c}{d} I, \qquad
        A_c = (1 - a_c) S_c + a_c S,

    with :math:`S_c` the covariance of class c and S the covariance within all classes. Classes are
    numbers from 0, none missing, negative for rows that are left out.

    ``"full"`` is :math:`a_c = 0`, ``"shared"`` is 1. ``"shrunk"`` looks which of 0, 0.1, 0.3, 0.6
    and 1 makes the rows of the class likeliest when they are left out in turn (5 parts), and takes
    the smallest that is worse by no more than a standard error; 1 for a class of fewer than 5 rows.
    Of more than 500 classes the largest find theirs, and the median of those serves the others.
    Rows left out together are drawn whatever their order. ``regularization`` is s; ``"auto"`` is
    ``0.1 d / (0.1 d + n_c)`` for :math:`n_c` rows, where ``"shared"`` counts all n.

    No covariance is singular, and nothing is NaN. A class without any variation, such as one of a
    single row, takes S. Without variation within any class S is the covariance of all rows, and
    without variation at all the identity. Where ``regularization`` is 0, 1e-10 is used.

    O(n d² + c d³) time, for ``"shrunk"`` about 30 times c d³ for up to 500 classes; O(c d²) memory.
    Four passes over X for ``"shrunk"``, otherwise one.
    """
    d = X.shape[1]
    n_folds = _FOLDS if covariance == "shrunk" else 1
    known = classes >= 0
    n = int(known.sum())
    counts = np.bincount(classes[known])
    fold = _assign_folds(X, classes, n_folds, np.random.RandomState(0))
    groups = _group_moments(X, fold, len(counts) * n_folds)
    folds = ([array[k::n_folds] for array in groups] for k in range(n_folds))
    _, means, scatters = reduce(_merge_moments, map(tuple, folds))
    total = scatters.sum(axis=0)
    if np.trace(total) == 0:
        total = groups.pool(range(len(counts) * n_folds)).scatter
    if np.trace(total) == 0:
        total = np.eye(d) * n
    trust = np.full(len(counts), n) if covariance == "shared" else counts
    identity = np.array([identity_share(int(k), d, regularization) for k in trust])
    spread = np.trace(scatters, axis1=1, axis2=2) / counts
    pooled = np.where(spread <= _NO_SPREAD * np.trace(total) / n, 1.0, 0.0)
    if covariance == "shared":
        pooled[:] = 1.0
    elif covariance == "shrunk":
        pooled = _choose_pooled_shares(X, fold, groups, pooled, scatters, identity)
    precisions = np.empty_like(scatters)
    log_determinants = np.empty(len(counts))
    for c, count in enumerate(counts):
        matrix = shrink_class_covariance(
            scatters[c] / count, total / n, float(pooled[c]), float(identity[c])
        )
        precisions[c], log_determinants[c] = _invert_covariance(matrix)
    return ClassModels(means, precisions, log_determinants, counts, pooled, identity)


def identity_share(n_rows: int, n_columns: int, regularization: str | float) -> float:
    """Share of the identity in the covariance of a class of ``n_rows`` rows."""
    if isinstance(regularization, str):  # "auto"
        return _COLUMNS_PER_ROW * n_columns / (_COLUMNS_PER_ROW * n_columns + n_rows)
    return max(float(regularization), _LEAST_IDENTITY)


def shrink_class_covariance(own: Floats, pooled: Floats, share: float, identity: float) -> Floats:
    """Shrink a covariance, ``(1 − s) A + s tr(A)/d I`` with ``A = (1 − a) S_c + a S``."""
    mixed = (1 - share) * own + share * pooled
    mean_variance = np.trace(mixed) / len(mixed)
    return np.asarray((1 - identity) * mixed + identity * mean_variance * np.eye(len(mixed)))


def _assign_folds(X: Any, classes: Integers, n_folds: int, rng: np.random.RandomState) -> Ints:
    """Assign the rows of each class to folds: class times ``n_folds`` plus fold, −1 if unknown.

    The rows of a class are ordered from its mean outwards, and each run of ``n_folds`` of them is
    drawn to different folds. So the folds depend neither on the order nor on rotations of the rows.
    """
    if n_folds == 1:
        return np.where(classes < 0, -1, classes)
    known = np.flatnonzero(classes >= 0)
    places = _find_order_keys(X, classes, rng.standard_normal(X.shape[1]))
    order = known[np.lexsort((*(place[known] for place in places), classes[known]))]
    turn = np.arange(len(order)) - np.searchsorted(classes[order], classes[order])
    draws = rng.random_sample(len(order))[turn]  # the same for all classes, whose order is chance
    drawn = order[np.lexsort((draws, turn // n_folds, classes[order]))]
    fold = np.full(len(classes), -1)
    fold[drawn] = classes[drawn] * n_folds + turn % n_folds
    return fold


def _find_order_keys(X: Any, classes: Integers, direction: Floats) -> Parts:
    """Two arrays (n,) that order rows: projection on a direction, squared distance from the mean.

    The latter is float32, so that rows equally far out tie in spite of rounding. Only these numbers
    are copied to the host.
    """

    def sum_known(block: Any, number: Integers) -> Parts:
        rows = _take_in_float64(block, np.flatnonzero(number >= 0))
        return (backends.to_numpy(backends.namespace(rows).sum(rows, axis=0)),)

    mean = access.reduce_rows(X, sum_known, classes)[0] / (classes >= 0).sum()

    def of_block(block: Any) -> Parts:
        block = backends.widen(block)
        xp = backends.namespace(block)
        center, axis = backends.move_to(mean, block), backends.move_to(direction, block)
        squared = backends.to_numpy(xp.sum((block - center) ** 2, axis=1))
        return backends.to_numpy(xp.sum(block * axis, axis=1)), squared

    def append(one: Parts, other: Parts) -> Parts:
        return tuple(map(np.concatenate, zip(one, other, strict=True)))

    with np.errstate(over="ignore"):
        along, squared = access.reduce_rows(X, of_block, combine=append)
        return along, squared.astype(np.float32)


class _Moments(NamedTuple):
    """Number of rows, mean and scatter: of one group, or of each of several."""

    n: Any
    mean: Floats
    scatter: Floats

    def pool(self, groups: Iterable[int]) -> _Moments:
        """Number of rows, mean and scatter of some groups taken together."""
        parts = ((self.n[g], self.mean[g], self.scatter[g]) for g in groups if self.n[g])
        return _Moments(*reduce(merge_moments, parts))


def _group_moments(X: Any, group: Integers, n_groups: int) -> _Moments:
    """Number of rows, mean and scatter of each group of rows, wherever the rows are."""
    d = X.shape[1]

    def of_block(block: Any, number: Integers) -> Parts:
        found = np.zeros(n_groups), np.zeros((n_groups, d)), np.zeros((n_groups, d, d))
        for g, members in _iterate_groups(number):
            found[0][g] = len(members)
            found[1][g], found[2][g] = _mean_and_scatter(_take_in_float64(block, members))
        return found

    return _Moments(*access.reduce_rows(X, of_block, group, combine=_merge_moments))


def _merge_moments(one: Parts, other: Parts) -> Parts:
    """Merge the moments of each group in two sets of rows; a group may be missing in one."""
    (n_one, mean, scatter), (n_other, other_mean, other_scatter) = one, other
    n = n_one + n_other
    share = n_other / np.maximum(n, 1)
    there = (n_one > 0)[:, None]
    apart = np.where(there & (n_other > 0)[:, None], other_mean - mean, 0.0)
    mean = np.where(there, mean + share[:, None] * apart, other_mean)
    between = (n_one * share)[:, None, None] * apart[:, :, None] * apart[:, None, :]
    return n, mean, scatter + other_scatter + between


def _iterate_groups(number: Integers) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield the number of each group that occurs, and the positions of its members."""
    order = np.argsort(number, kind="stable")
    present, start = np.unique(number[order], return_index=True)
    for g, members in zip(present.tolist(), np.split(order, start[1:]), strict=True):
        if g >= 0:
            yield g, members


def _take_in_float64(X: Any, rows: Integers) -> Any:
    """Take some rows in float64, on the device where they are."""
    return backends.widen(access.take(X, rows))


def _mean_and_scatter(X: Any) -> tuple[Floats, Floats]:
    """Mean and scatter of rows, exactly zero scatter for equal ones."""
    shifted = X - X[0, :]  # equal rows now differ by exactly zero
    mean = backends.namespace(X).mean(shifted, axis=0)
    centered = shifted - mean
    return backends.to_numpy(mean + X[0, :]), backends.to_numpy(centered.T @ centered)


def _log_densities(factor: Floats, rows: Any) -> Floats:
    """Log densities (n,), but for a constant, of centred rows; ``factor`` is of the covariance."""
    if backends.is_foreign(rows):
        root = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)
        whitened = rows @ backends.move_to(root.T, rows)
        squared = backends.to_numpy(backends.namespace(rows).sum(whitened * whitened, axis=1))
    else:
        whitened = solve_triangular(factor, rows.T, lower=True, check_finite=False)
        squared = (whitened**2).sum(axis=0)
    return np.asarray(-squared / 2 - np.log(factor.diagonal()).sum())


def _choose_pooled_shares(
    X: Any, fold: Integers, groups: _Moments, fixed: Floats, scatters: Floats, identity: Floats
) -> Floats:
    """Choose each class's share of the covariance within all classes; 1 where ``fixed`` is 1."""
    free = np.flatnonzero(fixed == 0)
    counts = groups.n.reshape(-1, _FOLDS).sum(axis=1)
    largest = free[np.argsort(-counts[free], kind="stable")[:_MOST_TRIALS]]
    trials = {
        c: trial
        for c, others in _sum_scatters_of_others(scatters, np.sort(largest).tolist()).items()
        if (trial := _fit_without_each_fold(groups, c, others, float(identity[c]))) is not None
    }
    shares = np.ones(len(fixed))
    if not trials:
        return shares
    n_shares = len(POOLED_SHARES)

    def of_block(block: Any, number: Integers) -> Parts:
        """Moments, by class, of the log-likelihood that left-out rows gain by each share over 0."""
        n = np.zeros(len(fixed))
        mean = np.zeros((len(fixed), n_shares))
        scatter = np.zeros((len(fixed), n_shares, n_shares))
        for g, members in _iterate_groups(number):
            c, fold = divmod(g, _FOLDS)
            if c not in trials:
                continue
            center, factors = trials[c][fold]
            rows = _take_in_float64(block, members)
            center = backends.move_to(center, rows)
            likelihoods = np.stack([_log_densities(f, rows - center) for f in factors], axis=1)
            found = block_moments(likelihoods - likelihoods[:, :1])
            if n[c]:
                found = merge_moments((n[c], mean[c], scatter[c]), found)
            n[c], mean[c], scatter[c] = found
        return n, mean, scatter

    gains = _Moments(*access.reduce_rows(X, of_block, fold, combine=_merge_moments))
    for c in trials:
        mean, covariance = gains.mean[c], gains.scatter[c] / gains.n[c]
        best = int(mean.argmax())
        variance = covariance[best, best] + covariance.diagonal() - 2 * covariance[best]
        error = np.sqrt(np.maximum(variance, 0) / gains.n[c])
        shares[c] = POOLED_SHARES[int((mean[best] - mean <= error).argmax())]
    others = np.setdiff1d(free[counts[free] >= _FOLDS], largest)
    shares[others] = np.median(shares[list(trials)])
    return shares


def _sum_scatters_of_others(scatters: Floats, classes: list[int]) -> dict[int, Floats]:
    """For each of some classes, the sum of the scatters of all other classes.

    Added up from both sides: the sum of all less the class's own would leave rounding of far rows.
    """
    found = {c: np.zeros_like(scatters[0]) for c in classes}
    for order in (range(len(scatters)), range(len(scatters) - 1, -1, -1)):
        so_far = np.zeros_like(scatters[0])
        for c in order:
            if c in found:
                found[c] += so_far
            so_far += scatters[c]
    return found


def _fit_without_each_fold(
    groups: _Moments, c: int, others: Floats, identity: float
) -> list[tuple[Floats, list[Floats]]] | None:
    """Mean, and a covariance factor for each share, of a class without each of its folds.

    None where the class has too few rows, or no spread without one of its folds.
    """
    folds = range(c * _FOLDS, (c + 1) * _FOLDS)
    n, n_rows = float(groups.n[folds].sum()), float(groups.n.sum())
    if n < _FOLDS:
        return None
    own = groups.pool(folds)
    mean_spread = np.trace(others + own.scatter) / n_rows
    trial = []
    for fold in folds:
        kept = groups.pool(g for g in folds if g != fold)
        if np.trace(kept.scatter) / kept.n <= _NO_SPREAD * mean_spread:
            return None
        within = (others + kept.scatter) / (n_rows - n + kept.n)
        shrink = partial(shrink_class_covariance, kept.scatter / kept.n, within, identity=identity)
        factors = [np.linalg.cholesky(shrink(share)) for share in POOLED_SHARES]
        trial.append((kept.mean, factors))
    return trial


def _invert_covariance(matrix: Floats) -> tuple[Floats, float]:
    """Inverse of a covariance, exactly symmetric, and the log of its determinant."""
    factor = np.linalg.cholesky(matrix)
    root = solve_triangular(factor, np.eye(len(matrix)), lower=True, check_finite=False)
    with np.errstate(over="ignore"):
        precision = root.T @ root
    if not np.isfinite(precision).all():
        raise InputError(
            f"a class has a variance of {np.diag(matrix).min():.3g} in some column, whose inverse "
            "overflows: multiply X by a large number, or raise regularization."
        )
    return precision, 2 * float(np.log(factor.diagonal()).sum())
