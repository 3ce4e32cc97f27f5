"""Leading eigenvectors with reproducible signs, and coordinates along principal axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy.linalg import eigh, eigh_tridiagonal, eigvalsh_tridiagonal, get_lapack_funcs, svd
from scipy.linalg.lapack import dstein
from scipy.sparse.linalg import eigsh
from sklearn.decomposition import PCA

from nearkin._types import Doubles, Floats
from nearkin.rows.parallel import one_blas_thread

# Up to this size a full decomposition is faster than asking Lanczos how many vectors are needed.
# Chosen by hand on a few cores, as are the next four.
_FULL_EIGH_ROWS = 1500
# From this size on, vectors of small eigenvalues are worth leaving out; a lower cut-off than this
# share of the largest eigenvalue leaves out few. Values a little below the cut-off are found too,
# so that rounding does not decide.
_SOME_EIGH_ROWS = 300
_LEAST_CUT, _BELOW_CUT = 1e-3, 0.999
# The share of all vectors of a tridiagonal matrix up to which each is found by itself; entries
# beside its diagonal that are smaller than this share of their neighbours on it part the matrix.
_FEW_OF_ALL = 0.25
_APART = 1e-15
# Columns of the blocks by which LAPACK works on matrices of any size: what it needs room for.
_LAPACK_BLOCK = 64
# Eigenvectors that Lanczos finds first, and at most, as a share; most columns of a factor.
_FEW, _FEW_OF_LANCZOS = 64, 1 / 8
_LOW_RANK = 256
# Symmetric rounding leaves eigenvalues of this relative size where the truth is zero.
_NUMERICAL_RANK = 1e-10
# An estimated rank is no larger than the number of vectors found times e to this.
_MOST_LOG_GROWTH = 100.0
# Axes of less than this share of the largest deviation, rounding of float32, are left out.
_LEAST_DEVIATION = 1e-6


def fix_signs(vectors: Floats) -> Floats:
    """Flip columns so that the entry of largest magnitude in each is positive.

    That makes eigenvectors reproducible, and moves with the rows when these are permuted. Where
    several entries are largest but for rounding, as in symmetric graphs, the first of them counts.
    """
    sizes = np.abs(vectors)
    rounding = np.sqrt(np.finfo(vectors.dtype).eps)
    largest = (sizes >= (1 - rounding) * sizes.max(axis=0, initial=0.0)).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1, signs)


def largest_entry(matrix: Floats) -> float:
    """The magnitude of the largest entry, without a copy of the matrix; 0 if there is none."""
    return float(max(matrix.max(initial=0.0), -matrix.min(initial=0.0)))


def principal_coordinates(Z: Floats, n_components: int = 2) -> Floats:
    """Centred coordinates (n, n_components) along the axes of largest variance, for a picture.

    Zero where there are no more axes; equal Z give equal signs. O(n q² + q³) time and a copy of Z;
    where n and q are large, the axes are found to a few digits in O(n q) time.
    """
    n_axes = min(n_components, *Z.shape)
    with np.errstate(invalid="ignore"):  # shares of no variance, where all rows are equal
        pca = PCA(n_axes, random_state=0).fit(Z)
    found = (Z - pca.mean_) @ fix_signs(pca.components_.T)
    return np.pad(found, ((0, 0), (0, n_components - n_axes)))


def principal_axes(covariance: Floats, n_axes: int | None = None) -> Floats:
    """Directions of largest variance, or only ``n_axes`` of them, as columns with fixed signs."""
    q = len(covariance)
    if n_axes is None:
        return fix_signs(np.linalg.eigh(covariance)[1][:, ::-1])
    return fix_signs(eigh(covariance, subset_by_index=[q - n_axes, q - 1])[1][:, ::-1])


def leading_components(B: Floats, covariance: Floats, n_components: int | None) -> Floats:
    """Factor a metric ``B = Lᵀ L``, with L along the principal axes of rows of this covariance."""
    values, vectors = np.linalg.eigh(B)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    learned = root @ covariance @ root
    axes = principal_axes((learned + learned.T) / 2)
    return np.ascontiguousarray((root @ axes).T[:n_components])


def along_principal_axes(L: Floats, X: Floats) -> Floats:
    """Rotate the rows of L onto the principal axes of the mapped rows of X; the metric stays."""
    Z = X @ L.T
    Z = Z - Z.mean(axis=0)
    return np.ascontiguousarray(principal_axes(Z.T @ Z).T @ L)


def leading_coordinates(B: Floats, F: Floats, at: Floats, n_components: int | None) -> Floats:
    """Coordinates of points ``at`` along the principal axes that rows F have under the metric B.

    Axes along which the rows hardly vary are left out, but for the first.
    """
    covariance = np.atleast_2d(np.cov(F.T, bias=True))
    components = leading_components(B, covariance, n_components)
    deviations = (F @ components.T).std(axis=0)
    told_apart = deviations > _LEAST_DEVIATION * deviations.max()
    told_apart[0] = True
    return np.asarray(at @ components[told_apart].T)


def leading_eigenpairs(
    matrix: Floats, rank_tol: float, noise: float = 0.0
) -> tuple[Floats, Floats]:
    """Eigenpairs of a symmetric matrix with values above ``rank_tol`` of the largest, decreasing.

    Vectors have the signs of :func:`fix_signs`. The cut-off is never below numerical rank, nor
    below n times ``noise``, the size of rounding errors in the matrix: a centred one carries the
    errors of the larger one it was made from. Empty if it is zero.

    O(n³) time for small matrices; where the cut-off leaves out vectors, of 4/3 n³ operations and
    O(n²) for each that is found. Large ones of low rank q go through a factor of q columns, O(n
    q²); others through Lanczos with a growing number of vectors, O(n² q).
    """
    n = len(matrix)
    rank_tol = max(rank_tol, _NUMERICAL_RANK)
    noise = max(noise, largest_entry(matrix) * float(np.finfo(matrix.dtype).eps))
    values, vectors = _eigenpairs(matrix, rank_tol, noise)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    kept = values > max(rank_tol * values[0], n * noise)
    return values[kept], fix_signs(vectors[:, kept])


def _eigenpairs(matrix: Floats, rank_tol: float, noise: float) -> tuple[Floats, Floats]:
    """Eigenvalues above ``rank_tol`` of the largest, perhaps more, unsorted, and eigenvectors."""
    n = len(matrix)
    if n > _FULL_EIGH_ROWS:
        factor = low_rank_factor(matrix, _LOW_RANK, noise)
        if factor is not None:
            with one_blas_thread():  # as for small matrices, below
                vectors, singular_values, _ = svd(factor, full_matrices=False)
            return singular_values**2, vectors
        wanted = _FEW
        while wanted <= _FEW_OF_LANCZOS * n:
            start = np.random.default_rng(0).standard_normal(n).astype(matrix.dtype)
            values, vectors = eigsh(matrix, k=wanted, which="LA", v0=start)
            if values.min() <= rank_tol * values.max():
                return values, vectors
            if _estimate_rank(values, rank_tol) > n // 2:
                break
            wanted *= 2
    # Two threads gain little on a matrix this small, and lose all where cores are shared.
    with one_blas_thread(n <= _FULL_EIGH_ROWS):
        if n >= _SOME_EIGH_ROWS and rank_tol >= _LEAST_CUT:
            found = _largest_eigenpairs(matrix, rank_tol)
            if found is not None:
                return found
        values, vectors = eigh(matrix, driver="evd")
    return values, vectors


def _largest_eigenpairs(matrix: Floats, rank_tol: float) -> tuple[Floats, Floats] | None:
    """Eigenpairs above ``rank_tol`` of the largest, or None where LAPACK does not find them.

    Faster than ``eigh``: only wanted vectors are turned back, and no value is found by bisection.
    """
    n = len(matrix)
    lapack: Any = get_lapack_funcs(("sytrd", "ormqr"), (matrix,))
    reduce, turn = lapack
    reflectors, diagonal, beside, factors, info = reduce(matrix.T, lower=1, lwork=_LAPACK_BLOCK * n)
    if info != 0:
        return None
    try:
        found = _largest_of_tridiagonal(
            diagonal.astype(np.float64), beside.astype(np.float64), rank_tol
        )
    except np.linalg.LinAlgError:
        return None
    if found is None:
        return None
    # The first row is not turned: reflectors are those of a QR factorisation of the others.
    vectors = np.asfortranarray(found[1], dtype=matrix.dtype)
    vectors[1:], _, info = turn(
        "L", "N", reflectors[1:, :-1], factors, vectors[1:], _LAPACK_BLOCK * n
    )
    return (found[0].astype(matrix.dtype), vectors) if info == 0 else None


def _largest_of_tridiagonal(
    diagonal: Doubles, beside: Doubles, rank_tol: float
) -> tuple[Floats, Floats] | None:
    """Eigenpairs of a tridiagonal matrix above ``rank_tol`` of the largest, if that is positive.

    All values are found at once. Few vectors follow from them by inverse iteration, many with all
    others by relatively robust representations; so do those of a matrix in parts.
    """
    n = len(diagonal)
    values = eigvalsh_tridiagonal(diagonal, beside, lapack_driver="sterf")
    if values[-1] <= 0:
        return None
    wanted = values > _BELOW_CUT * rank_tol * values[-1]
    size = np.abs(diagonal)
    in_parts = np.any(np.abs(beside) <= _APART * np.sqrt(size[1:] * size[:-1]))
    if wanted.sum() <= _FEW_OF_ALL * n and not in_parts:
        one_part = np.ones(n, np.int32)
        vectors, info = dstein(diagonal, beside, values[wanted], one_part, n * one_part)
        if info == 0:
            return values[wanted], vectors
    values, vectors = eigh_tridiagonal(diagonal, beside, lapack_driver="stemr")
    return values[wanted], vectors[:, wanted]


def _estimate_rank(leading: Floats, rank_tol: float) -> float:
    """Upper estimate of how many eigenvalues exceed ``rank_tol`` of the largest, by a power law."""
    half, last = np.sort(leading)[[len(leading) // 2, 0]] / leading.max()
    steepness = max(float(np.log2(half / last)), _NUMERICAL_RANK)
    return float(len(leading) * np.exp(min(np.log(last / rank_tol) / steepness, _MOST_LOG_GROWTH)))


def some_eigenpairs(make: Callable[[], Floats], first: int, last: int) -> tuple[Floats, Floats]:
    """Eigenpairs number ``first`` to ``last`` of a symmetric matrix, in increasing order.

    ``make`` gives the matrix, which is overwritten. LAPACK's way to some eigenpairs fails where
    very many are equal: then it is called again, and all are found.
    """
    try:
        return cast(
            tuple[Floats, Floats], eigh(make(), subset_by_index=[first, last], overwrite_a=True)
        )
    except np.linalg.LinAlgError:
        values, vectors = eigh(make(), driver="evd", overwrite_a=True)
        return values[first : last + 1], vectors[:, first : last + 1]


def low_rank_factor(matrix: Floats, most_columns: int, noise: float) -> Floats | None:
    """Factor ``matrix = R Rᵀ`` up to entries of size ``noise``; None if R needs more columns.

    Cholesky's factorisation of a positive semi-definite matrix, taking out the row with the largest
    diagonal entry left at each step. O(n q²) time and O(n q) memory for q columns.
    """
    n = len(matrix)
    left = matrix.diagonal().copy()
    factor = np.empty((most_columns, n), dtype=matrix.dtype)
    for q in range(most_columns):
        row = int(left.argmax())
        if left[row] <= noise:
            return factor[:q].T
        column = matrix[row] - factor[:q, row] @ factor[:q]
        factor[q] = column / np.sqrt(left[row])
        left -= factor[q] ** 2
    return None
