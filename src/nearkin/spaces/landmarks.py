"""Choosing landmarks: the few rows that stand for all others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from sklearn.utils import check_random_state

from nearkin.errors import InputError
from nearkin.rows import access, backends
from nearkin.spaces.kernels import Kernel, Rows, distances_from_kernel, half_squared_distances

STRATEGIES = ("random", "kmeans++", "farthest", "leverage")
# Strategies that look at the data do so on a sample of rows of this size, or ten times the number
# of landmarks where that is more.
_SAMPLE_ROWS = 20_000
# Leverage scores are estimated against this many reference rows at most.
_REFERENCE_ROWS = 1000
# Smallest ridge of these scores, as a share of the largest eigenvalue.
_LEAST_RIDGE = np.sqrt(np.finfo(np.float64).eps)


def choose_landmarks(
    X: Rows,
    n_landmarks: int,
    strategy: str | ArrayLike,
    *,
    kernel: Kernel,
    include: NDArray[np.integer],
    random_state: Any = None,
) -> NDArray[np.int64]:
    """Row numbers of the landmarks, in increasing order.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or kernel matrix of shape (n, n)
    n_landmarks : int
        How many; all rows if that is more than there are. ``include`` may make it more.
    strategy : str or array of row numbers
        ``"random"`` draws rows uniformly. ``"kmeans++"`` draws each next row with a probability
        proportional to its squared distance in feature space from the landmarks so far.
        ``"farthest"`` takes the farthest row each time. ``"leverage"`` draws rows by their ridge
        leverage scores: how much the kernel matrix would lose without them. An array names the
        rows outright and ``n_landmarks`` is not used.
    kernel : Kernel
    include : int array
        Rows that are landmarks in any case.
    random_state : int, RandomState or None

    Notes
    -----
    ``"random"`` costs nothing in n. The others look at a sample of max(20 000, 10 m) rows, for
    O(m d) time a row and O(1) memory a row (leverage: 1000 numbers a row, by blocks).
    """
    n = X.shape[0]
    if not isinstance(strategy, str):
        return np.union1d(_named_rows(strategy, n), include).astype(np.int64)
    if strategy not in STRATEGIES:
        raise InputError(
            f"landmarks={strategy!r} is unknown: use one of {STRATEGIES} or row numbers."
        )
    missing = min(n_landmarks, n) - len(include)
    if missing <= 0:
        return np.sort(include).astype(np.int64)
    available = access.drawable_numbers(X)
    others = np.setdiff1d(available, include, assume_unique=True)
    if missing >= len(others):
        return np.asarray(available)
    rng = check_random_state(random_state)
    if strategy != "random":
        sample = max(_SAMPLE_ROWS, 10 * n_landmarks)
        if len(others) > sample:
            others = np.sort(rng.choice(others, sample, replace=False))
        if backends.is_foreign(X) or backends.is_remote(
            X
        ):  # the sample is small enough for the host
            seen = np.union1d(others, include).astype(np.int64)
            place = choose_landmarks(
                access.take_home(X, seen),
                min(n_landmarks, n),
                strategy,
                kernel=kernel,
                include=np.searchsorted(seen, include),
                random_state=rng,
            )
            return seen[place]
        if strategy == "leverage":
            scores = _leverage_scores(X, others, kernel, n_landmarks, rng)
            # A few rows may hold all the leverage; every row keeps some chance.
            chances = scores + 1e-3 * scores.mean() + np.finfo(float).tiny
            chosen = rng.choice(others, missing, replace=False, p=chances / chances.sum())
        else:
            chosen = _spread_out(X, others, missing, kernel, include, strategy, rng)
    else:
        chosen = rng.choice(others, missing, replace=False)
    return np.union1d(chosen, include).astype(np.int64)


def _named_rows(rows: ArrayLike, n: int) -> NDArray[np.int64]:
    named = np.asarray(rows)
    if named.ndim != 1 or len(named) == 0 or named.dtype.kind not in "iu":
        raise InputError(
            "landmarks given as row numbers must be a non-empty one-dimensional array of "
            f"integers, got shape {named.shape} of {named.dtype}."
        )
    outside = named[(named < 0) | (named >= n)]
    if len(outside):
        raise InputError(f"landmarks names row {outside[0]}, but X has {n} rows.")
    return np.unique(named).astype(np.int64)


def _distances(X: Rows, rows: NDArray[np.integer], kernel: Kernel, to: Any) -> Any:
    """Half squared feature-space distances between some rows of X and some others."""
    if kernel.name == "precomputed":
        diagonal = X.diagonal()
        return distances_from_kernel(X[np.ix_(rows, to)], diagonal[rows], diagonal[to])[0]
    return half_squared_distances(kernel, X[rows], X[to])[0]


def _spread_out(
    X: Rows,
    candidates: NDArray[np.integer],
    n_chosen: int,
    kernel: Kernel,
    include: NDArray[np.integer],
    strategy: str,
    rng: np.random.RandomState,
) -> NDArray[np.integer]:
    """Add one candidate at a time, far from the landmarks so far.

    Scikit-learn's ``kmeans_plusplus`` would do for one of the two, but it works in input space
    and cannot start from given rows.
    """
    nearest = np.full(len(candidates), np.inf)
    if len(include):
        for start in range(0, len(include), 256):
            to = include[start : start + 256]
            nearest = np.minimum(nearest, _distances(X, candidates, kernel, to).min(axis=1))
    chosen: list[int] = []
    for _ in range(n_chosen):
        if not np.isfinite(nearest[0]):
            pick = int(rng.randint(len(candidates)))
        elif strategy == "farthest":
            pick = int(nearest.argmax())
        else:
            cumulated = np.cumsum(nearest, dtype=np.float64)
            pick = int(np.searchsorted(cumulated, rng.uniform() * cumulated[-1], side="right"))
            pick = min(pick, len(candidates) - 1)
        if nearest[pick] <= 0:
            # Only copies of landmarks are left: take any that are not chosen yet.
            left = np.setdiff1d(np.arange(len(candidates)), chosen)
            chosen.extend(left[: n_chosen - len(chosen)].tolist())
            break
        chosen.append(pick)
        to = candidates[[pick]]
        nearest = np.minimum(nearest, _distances(X, candidates, kernel, to)[:, 0])
        nearest[pick] = 0
    return candidates[chosen]


def _leverage_scores(
    X: Rows,
    rows: NDArray[np.integer],
    kernel: Kernel,
    n_landmarks: int,
    rng: np.random.RandomState,
) -> NDArray[np.float64]:
    """Ridge leverage scores ``[K (K + λI)⁻¹]_ii``, estimated against a uniform reference sample.

    λ is set so that the scores of the reference rows sum to half the number of landmarks (the
    effective dimension that so many landmarks can cover).
    """
    reference = np.sort(rng.choice(rows, min(len(rows), _REFERENCE_ROWS), replace=False))
    K = np.asarray(_kernel_between(X, reference, reference, kernel), dtype=np.float64)
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    values = np.maximum(values, 0)
    goal = min(n_landmarks, len(reference)) / 2
    top = max(float(values[-1]), np.finfo(float).tiny)

    def excess(log_ridge: float) -> float:
        return float((values / (values + np.exp(log_ridge))).sum()) - goal

    # With less, of a kernel of low rank, scores would be rounding errors.
    low, high = np.log(top) + np.log(_LEAST_RIDGE), np.log(top) + 30
    ridge = np.exp(brentq(excess, low, high)) if excess(low) > 0 else np.exp(low)
    # k_ii − k_iR (K_RR + λI)⁻¹ k_Ri, over λ: what the reference does not explain of a row.
    scores = np.empty(len(rows))
    for start in range(0, len(rows), 4096):
        block = rows[start : start + 4096]
        to_reference = _kernel_between(X, block, reference, kernel) @ vectors
        explained = (to_reference**2 / (values + ridge)).sum(axis=1)
        own = X.diagonal()[block] if kernel.name == "precomputed" else kernel.diagonal(X[block])
        scores[start : start + 4096] = np.maximum(own - explained, 0)
    return scores


def _kernel_between(X: Rows, rows: Any, to: Any, kernel: Kernel) -> Any:
    if kernel.name == "precomputed":
        return X[np.ix_(rows, to)]
    return kernel(X[rows], X[to])
