r"""Kernel functions, their bandwidth rules and centring.

The mathematics stands in free functions; :class:`Kernel` binds a function to its parameters.
Feature-space geometry is expressed by *half squared distances*,

.. math:: e(x, y) = \tfrac12 \|\phi(x) - \phi(y)\|^2 = \tfrac12 (k(x,x) + k(y,y)) - k(x,y),

because the local Gram matrix of a point is a plain sum of them and they can be computed without
cancellation where ``k(x, x)`` is constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import squareform
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from nearkin._types import DOUBLE_BYTES, Doubles, Floats
from nearkin.errors import InputError, InputTypeError
from nearkin.rows import access, backends, device_math
from nearkin.rows.distances import (
    centre,
    middle,
    squared_distances,
    squared_distances_and_rounding,
    squared_lengths,
)
from nearkin.rows.parallel import rows_per_block, run_in_blocks
from nearkin.rows.sparse import is_sparse, variances
from nearkin.storage.schema import a, maybe, one_word_of, positive, real, stored

Rows: TypeAlias = Any  # a dense array, NumPy's or foreign, or a sparse matrix, samples as rows
KernelFunction: TypeAlias = Callable[[Any, Any], Any]
KernelName: TypeAlias = Literal["rbf", "laplacian", "poly", "cosine", "linear", "precomputed"]

KERNEL_NAMES = ("rbf", "laplacian", "poly", "cosine", "linear", "precomputed")
GAMMA_RULES = ("mean", "median")
# Distances for a bandwidth rule are taken among at most this many rows: two million distances,
# whose mean and median hardly vary with the draw. Chosen by hand.
_BANDWIDTH_ROWS = 2000
# Arrays of a block of rows by which blocks are sized: small enough for memory to be used again.
_BLOCK_ARRAYS = 4
# What a kernel matrix may violate by rounding or by a user's own arithmetic in single precision, as
# shares of its largest entry: symmetry, k(x, x) >= 0, and the Cauchy-Schwarz inequality. Chosen by
# hand, far below what a matrix of distances violates.
_MOST_ASYMMETRY, _MOST_NEGATIVE, _MOST_EXCESS = 1e-4, 1e-6, 1e-3
# Rounding of half squared distances from kernel values, and of entries of X, in units in the last
# place: a small multiple of the few operations that they take.
_KERNEL_ROUNDING, _ENTRY_ROUNDING = 8, 4


@stored(
    name=one_word_of(*KERNEL_NAMES, "callable"),
    gamma=positive,
    degree=real,
    coef0=real,
    function=maybe(a("Kernel")),
)
@dataclass(frozen=True)
class Kernel:
    """A kernel function with fixed parameters."""

    name: str  # of KERNEL_NAMES, or "callable" with a function that gives the kernel matrix
    gamma: float = 1.0  # inverse bandwidth (rbf, laplacian), or scale of the inner product (poly)
    degree: float = 3  # of the polynomial kernel, as is the next
    coef0: float = 1
    function: KernelFunction | None = None

    @property
    def is_euclidean(self) -> bool:
        """Whether feature-space neighbours are Euclidean ones (for cosine, of unit rows)."""
        return self.name in ("rbf", "cosine", "linear")

    @property
    def saturates(self) -> bool:
        """Whether half squared feature-space distances are ``1 − exp(−x)``, never more than 1."""
        if isinstance(self.function, Kernel):
            return self.function.saturates
        return self.name in ("rbf", "laplacian")

    def __call__(self, A: Rows, B: Rows) -> Any:
        """Kernel matrix between the rows of A and of B, where they are."""
        if backends.is_foreign(A) and self.name in ("callable", "precomputed"):
            named = [name for name in KERNEL_NAMES if name != "precomputed"]
            raise InputTypeError(
                f"a {self.name} kernel takes NumPy arrays only: use a kernel by name, of {named}, "
                f"for {backends.describe_place(A)}."
            )
        if self.function is not None:
            return _call_function(self.function, A, B)
        return self.values(_BetweenArrays(A, B))

    def values(self, between: _Between) -> Any:
        """Kernel values from distances or products, in any arithmetic that provides these."""
        if self.name in ("rbf", "laplacian"):
            is_rbf = self.name == "rbf"
            distances = between.squared_distances() if is_rbf else between.city_block_distances()
            distances *= -self.gamma
            return between.exp(distances)
        if self.name == "poly":
            return self.polynomial(between.products(self.gamma))
        if self.name == "cosine":
            return between.cosines()
        if self.name == "linear":
            return between.products()
        raise InputError(f"a {self.name!r} kernel cannot be evaluated on rows")

    def polynomial(self, products: Any) -> Any:
        """The polynomial kernel of inner products times γ, which may be overwritten."""
        products += float(self.coef0)
        products **= float(self.degree)
        return products

    def diagonal(self, A: Rows) -> Any:
        """``k(x, x)`` of every row of A, in the type of A."""
        if isinstance(self.function, Kernel):
            return self.function.diagonal(A)
        if self.function is not None:
            return np.array([self(A[[i]], A[[i]])[0, 0] for i in range(A.shape[0])], dtype=A.dtype)
        lengths: Any = squared_lengths(unit_rows(A) if self.name == "cosine" else A)
        if self.name in ("rbf", "laplacian"):
            lengths = backends.namespace(A).ones_like(lengths)
        elif self.name == "cosine":
            lengths = lengths > 0
        lengths = backends.as_type(lengths, A.dtype)
        return self.polynomial(self.gamma * lengths) if self.name == "poly" else lengths


class _Between(Protocol):
    """Distances and products between two sets of rows, from which kernels are computed.

    Of all rows of the one to all of the other: squared Euclidean and city-block distances, inner
    products times a factor, and those of rows of length one. What ``exp`` gets may be overwritten.
    """

    def squared_distances(self) -> Any: ...
    def city_block_distances(self) -> Any: ...
    def products(self, factor: float = 1.0) -> Any: ...
    def cosines(self) -> Any: ...
    def exp(self, values: Any) -> Any: ...


@dataclass(frozen=True)
class _BetweenArrays:
    """Distances and products between arrays or sparse matrices in one place."""

    A: Rows
    B: Rows

    def squared_distances(self) -> Any:
        return squared_distances(self.A, self.B)

    def city_block_distances(self) -> Any:
        return device_math.exact_distances(self.A, self.B, city_block=True)

    def products(self, factor: float = 1.0) -> Any:
        found = device_math.products(self.A, self.B)
        if factor != 1.0:
            found *= factor
        return found

    def cosines(self) -> Any:
        return device_math.products(unit_rows(self.A), unit_rows(self.B))

    def exp(self, values: Any) -> Any:
        if backends.is_foreign(values):
            return backends.namespace(values).exp(values)
        return np.exp(values, out=values)


def half_squared_distances(kernel: Kernel, A: Rows, B: Rows) -> tuple[Floats, Floats]:
    """Half squared feature-space distances (n_A, n_B), and the rounding (n_A,) of a row's."""
    found, rounding = unsaturated_distances(kernel, A, B)
    return saturate(found) if kernel.saturates else found, rounding


def unsaturated_distances(kernel: Kernel, A: Rows, B: Rows) -> tuple[Floats, Floats]:
    """Numbers that half squared feature-space distances increase with, and their rounding.

    For rbf and laplacian kernels the exponents x of ``1 − exp(−x)``, which tell near from far where
    all distances are 1 up to rounding; for all others the half squared distances themselves.
    """
    if isinstance(kernel.function, Kernel):
        kernel = kernel.function
    if kernel.name == "laplacian":
        found = kernel.gamma * device_math.exact_distances(A, B, city_block=True)
        return found, backends.namespace(found).zeros_like(found[:, 0])
    if kernel.name in ("rbf", "linear"):
        squared, rounding = squared_distances_and_rounding(A, B)
        factor = 0.5 if kernel.name == "linear" else kernel.gamma
        return factor * squared, factor * rounding
    return distances_from_kernel(kernel(A, B), kernel.diagonal(A), kernel.diagonal(B))


def saturate(exponents: Any) -> Any:
    """``1 − exp(−x)``, without cancellation."""
    return -backends.namespace(exponents).expm1(-exponents)


def unit_rows(X: Rows) -> Rows:
    """Rows divided by their lengths; rows of zeros stay. Entries of any size are safe."""
    if is_sparse(X):
        return normalize(normalize(X, norm="max"))
    # Own code, since scikit-learn's leaves rows alone that are short but not zero.
    xp = backends.namespace(X)
    if isinstance(X, np.ndarray) and len(X):
        squared, limits = np.einsum("ij,ij->i", X, X), np.finfo(X.dtype)
        if limits.tiny / limits.eps < squared.min() and squared.max() < limits.max * limits.eps:
            return X / np.sqrt(squared)[:, None]
    largest = xp.max(xp.abs(X), axis=1, keepdims=True)
    X = X / xp.where(largest > 0, largest, xp.ones_like(largest))
    length = xp.sqrt(squared_lengths(X))[:, None]
    return X / backends.as_type(xp.where(length > 0, length, xp.ones_like(length)), X.dtype)


def normalize_rows(X: Rows) -> Rows:
    """Divide rows by their lengths, with the very digits that scikit-learn's ``normalize`` gives.

    Rows of zeros stay. What a row is divided by first is a power of two, which rounds nothing.
    """
    if is_sparse(X):
        X = sp.csr_array(X, copy=True)
        largest = np.asarray(abs(X).max(axis=1).todense()).ravel()
        exponents = np.repeat(np.frexp(largest)[1], np.diff(X.indptr))
        X.data = np.ldexp(X.data, -exponents)
        return normalize(X, copy=False)
    exponents = np.frexp(np.abs(X).max(axis=1, keepdims=True))[1]
    return normalize(np.ldexp(X, -exponents), copy=False)


def distances_from_kernel(
    K: Floats, diagonal_A: Floats, diagonal_B: Floats
) -> tuple[Floats, Floats]:
    """Half squared feature-space distances from kernel values, ``(k(x,x) + k(y,y))/2 − k(x,y)``."""
    xp = backends.namespace(K)
    distances = 0.5 * (diagonal_A[:, None] + diagonal_B) - K
    largest = xp.max(device_math.clip(diagonal_B, 0.0)) if diagonal_B.shape[0] else 0.0
    rounding = _KERNEL_ROUNDING * float(xp.finfo(K.dtype).eps) * (diagonal_A + largest)
    return device_math.clip(distances, 0.0), rounding


def bind_kernel(
    kernel: str | KernelFunction,
    X: Rows,
    *,
    gamma: str | float = "mean",
    degree: float = 3,
    coef0: float = 1,
    random_state: Any = None,
) -> Kernel:
    """Make a kernel from its name and parameters; rules such as ``gamma="mean"`` look at X."""
    if callable(kernel):
        return Kernel("callable", function=kernel)
    if kernel not in KERNEL_NAMES:
        raise InputError(f"kernel={kernel!r} is unknown: use one of {KERNEL_NAMES} or a callable.")
    if kernel == "poly" and not (degree >= 1 and float(degree).is_integer() and coef0 >= 0):
        raise InputError(
            f"degree={degree!r}, coef0={coef0!r} make no kernel: use a whole degree of at least 1 "
            "and coef0 of at least 0."
        )
    if kernel in ("cosine", "linear", "precomputed"):
        return Kernel(kernel)
    value = resolve_gamma(gamma, X, manhattan=kernel == "laplacian", random_state=random_state)
    return Kernel(kernel, gamma=value, degree=degree, coef0=coef0)


def resolve_gamma(
    gamma: str | float, X: Rows, *, manhattan: bool = False, random_state: Any = None
) -> float:
    """Inverse bandwidth, from a number, or from a rule and X.

    One over the mean or median squared distance between two rows, for the laplacian kernel
    (``manhattan``) over that of the city-block distance itself. Rows are drawn where every pair
    would be too many, but for the mean squared distance, which is twice the total variance. 1.0
    where all rows are equal: any bandwidth is right then.
    """
    by_rule = isinstance(gamma, str)
    is_right = gamma in GAMMA_RULES if by_rule else np.isfinite(gamma) and float(gamma) > 0
    if not is_right:
        raise InputError(f"gamma={gamma!r}: use a positive number, 'mean' or 'median'.")
    if not by_rule:
        return float(gamma)
    if gamma == "mean" and not manhattan:
        typical = _mean_squared_distance(X)
    else:
        n = X.shape[0]
        if n > _BANDWIDTH_ROWS:
            rng, numbers = check_random_state(random_state), access.takeable_numbers(X)
            rows = rng.choice(numbers, min(_BANDWIDTH_ROWS, len(numbers)), replace=False)
            X = access.take_to_host(X, np.sort(rows))
        elif backends.is_foreign(X) or backends.is_remote(X):
            X = access.take_to_host(X, np.arange(n))
        distances = (
            device_math.exact_distances(X, X, city_block=True)
            if manhattan
            else squared_distances(X, X)
        )
        between = squareform(distances, checks=False)  # those above the diagonal
        typical = float(np.mean(between) if gamma == "mean" else np.median(between))
        if typical == 0:  # more than half the rows coincide: the median says nothing
            typical = float(np.mean(between))
    if typical == 0:
        return 1.0
    if not np.isfinite([typical, 1 / typical]).all():
        raise InputError(
            f"the {gamma} distance between rows of X is {typical:g}, too extreme for floating "
            "point: scale the columns first, for example with StandardScaler."
        )
    return 1 / typical


def _mean_squared_distance(X: Rows) -> float:
    """Mean of ‖x_i − x_j‖² over all i ≠ j, in one pass: twice the unbiased total variance."""
    n, d = map(int, X.shape)
    if backends.is_remote(X):
        return 2 * float(X.squared_deviations()) / (n - 1)
    if backends.is_foreign(X):
        origin, covariance = access.moments(X)
        spread = n * float(np.trace(covariance))
    else:
        origin = middle(X)
        spread = _squared_deviations(X, origin)
    # Rows may differ by rounding alone.
    rounding = _ENTRY_ROUNDING * np.finfo(np.float64).eps * float(np.abs(origin).max())
    return 2 * spread / (n - 1) if spread > n * d * rounding**2 else 0.0


def _squared_deviations(X: Rows, origin: Floats) -> float:
    """Sum of squared distances from the mean, of rows around an origin."""
    n, d = map(int, X.shape)
    if is_sparse(X):
        return n * float(variances(centre(X, origin)).sum())
    size = rows_per_block(_BLOCK_ARRAYS * DOUBLE_BYTES * d)
    totals, squares = np.empty((-(-n // size), d)), np.empty(-(-n // size))

    def sum_block(rows: slice) -> None:
        shifted, block = X[rows] - origin, rows.start // size
        totals[block], squares[block] = shifted.sum(axis=0), np.vdot(shifted, shifted)

    run_in_blocks(sum_block, n, size)
    total = totals.sum(axis=0)
    return float(squares.sum() - total @ total / n)


def _call_function(function: KernelFunction, A: Rows, B: Rows) -> Floats:
    """Call a user's kernel function, and check the shape and the values that it gives."""
    K = np.asarray(function(A, B))
    if K.shape != (A.shape[0], B.shape[0]):
        raise InputError(
            f"the kernel callable gave shape {K.shape} for {A.shape[0]} and {B.shape[0]} rows: "
            f"it must return a matrix of shape {(A.shape[0], B.shape[0])}."
        )
    if not np.isfinite(K).all():
        raise InputError("the kernel callable gave NaN or infinite values.")
    return K


def check_kernel_matrix(K: Floats) -> None:
    """Refuse a matrix that is not symmetric or breaks ``k(x,y)² <= k(x,x) k(y,y)``; name an entry.

    A distance matrix given by mistake has a zero diagonal and fails the second.
    """
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InputError(
            f"kernel='precomputed' needs the square kernel matrix of the training rows, "
            f"got shape {K.shape}."
        )
    scale = float(np.abs(K).max(initial=0.0))
    asymmetry = np.abs(K - K.T)
    if asymmetry.max(initial=0.0) > _MOST_ASYMMETRY * scale:
        i, j = np.unravel_index(asymmetry.argmax(), K.shape)
        raise InputError(
            f"the kernel matrix is not symmetric: K[{i}, {j}] = {K[i, j]:g} but "
            f"K[{j}, {i}] = {K[j, i]:g}. Use (K + K.T) / 2 if both were meant to be equal."
        )
    diagonal = np.diagonal(K)
    if diagonal.min(initial=0.0) < -_MOST_NEGATIVE * scale:
        row = int(diagonal.argmin())
        raise InputError(
            f"this is not a kernel matrix: K[{row}, {row}] = {K[row, row]:g}, but k(x, x) cannot "
            "be negative."
        )
    # Divided by the scale, so that squares of very large entries do not overflow.
    root = np.sqrt(np.maximum(diagonal, 0) / (scale or 1.0))
    excess = np.abs(K) / (scale or 1.0) - np.multiply.outer(root, root)
    if excess.max(initial=0.0) > _MOST_EXCESS:
        i, j = np.unravel_index(excess.argmax(), K.shape)
        raise InputError(
            f"this is not a kernel matrix: K[{i}, {j}] = {K[i, j]:g} while K[{i}, {i}] = "
            f"{K[i, i]:g} and K[{j}, {j}] = {K[j, j]:g}, but |k(x, y)| is at most "
            "sqrt(k(x, x) k(y, y)). Is it a matrix of distances?"
        )


def center_kernel(K: Floats, *, overwrite: bool = False) -> Floats:
    """``H K H`` with ``H = I − 11ᵀ/n``: the kernel matrix of feature vectors with mean zero."""
    means = K.mean(axis=0)
    centered: Floats = np.subtract(K, means, out=K if overwrite else None)
    centered -= means[:, None]
    centered += means.mean()
    return centered


def center_coefficients(coefficients: Floats, column_means: Floats) -> tuple[Doubles, Doubles]:
    """Coefficients (n, q), and a constant (q), that centre the kernel values they multiply.

    New rows' values times these, plus the constant, are values centred by the training rows' mean
    times the coefficients. ``column_means`` (n,) are those of the training rows' own matrix.
    """
    centered = coefficients - coefficients.mean(axis=0, dtype=np.float64)
    return centered, -(column_means - column_means.mean()) @ centered
