"""Sign and log-determinant of many symmetric matrices at once, by products and factorisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin.rows import backends, device_math
from nearkin.rows.backends import library, namespace

Array = Any  # an array of torch or CuPy
# The sign iteration has arrived when the smallest eigenvalue is this near to 1, and no step
# stretches by more: the largest eigenvalues would come back to zero, where rounding decides.
_ARRIVED = 1e-14
_MOST_STRETCH = 1.6
# What single precision can tell the sign of, relative to the largest eigenvalue but two, and how
# much smaller than the norm that one may be taken to be. An eigenvalue of an eighth of the product
# still arrives: those below 1e-9 of the norm, which are zeros, must not.
_SMALLEST_SINGLE, _LEAST_REST = 1e-5, 1e-3
# Turns that find the space of the two largest, and how far it may be from its image: what rounding
# in single precision is, relative to all the others.
_TURNS, _ASTRAY, _NOTHING = 8, 1e-7, 1e-30


def sign_function(matrices: Array, smallest_eigenvalue: float) -> Any:
    r"""Matrix sign function by the iteration of Newton and Schulz: products only.

    Parameters
    ----------
    matrices : array of shape (n, d, d)
        Symmetric, of norm at most 1; of any library, NumPy included.
    smallest_eigenvalue : float
        Eigenvalues of this size, relative to the norm, arrive at ±1; smaller ones may not.

    Notes
    -----
    Each step, :math:`S \leftarrow \tfrac\rho2 S (3 I - \rho^2 S^2)`, is two products. Eigenvectors
    would do as well, but torch finds those of one matrix after another.
    """
    return _iterated(matrices, sign_iteration_scales(smallest_eigenvalue))


def _iterated(sign: Array, scales: list[float]) -> Array:
    """Steps of these scales."""
    for stretch in scales:
        square = sign @ sign
        if library(sign) == "torch":  # the same in one pass over the result
            import torch

            sign = torch.baddbmm(sign, sign, square, beta=1.5 * stretch, alpha=-0.5 * stretch**3)
            continue
        sign = (0.5 * stretch) * (3.0 * sign - stretch**2 * (sign @ square))
    return sign


def _iterated_by_halves(matrices: Array, scales: list[float]) -> Array | None:
    """The same by kernels, in about single precision; None where there are none."""
    if not device_math.usable(namespace(matrices).reshape(matrices, (-1, matrices.shape[-1]))):
        return None

    def work() -> Array:
        from nearkin.solvers import triton_sign

        found = triton_sign.sign_function(device_math.tensor(matrices), scales)
        return device_math.as_given(found, matrices)

    return device_math.attempted(matrices, work)


def sign_by_single(matrices: Array) -> tuple[Array, Array]:
    r"""Sign function with nearly all products in about single precision.

    The largest two eigenvalues often exceed the others a thousand times, and would leave these to
    rounding. If the space of their eigenvectors is found, they are replaced by their signs.

    Parameters
    ----------
    matrices : float64 array of shape (n, d, d), d > 2
        Symmetric, of Frobenius norm 1.

    Returns
    -------
    signs : float32 array of shape (n, d, d)
    doubt : float32 array of shape (n, 1, 1)
        How many eigenvalues have not arrived at ±1: too small for single precision, or zeros.
    """
    xp, d = namespace(matrices), matrices.shape[-1]
    span, inner, astray = _leading_space(matrices)
    others = xp.sqrt(device_math.clipped(1.0 - norms(inner) ** 2, _NOTHING))
    found = astray <= _ASTRAY * others
    inner = xp.where(found, inner, xp.zeros_like(inner))
    signs = xp.where(found, _sign_of_two(inner), xp.zeros_like(inner))
    size = xp.where(found, others, xp.ones_like(others))
    turned = xp.matrix_transpose(span)
    single = xp.astype(matrices / size - span @ ((inner / size) @ turned), xp.float32)
    # The root of the norm of the square: between the largest eigenvalue and the norm.
    largest = xp.maximum(xp.sqrt(norms(single @ single)), xp.astype(_LEAST_REST / size, xp.float32))
    leading = xp.astype(span, xp.float32) @ xp.astype(signs @ turned, xp.float32)
    scaled = single / largest + leading
    scales = [*sign_iteration_scales(_SMALLEST_SINGLE), 1.0]  # one more for what is nearly there
    sign = _iterated_by_halves(scaled, scales)
    if sign is None:
        sign = _iterated(scaled, scales)
    return sign, d - norms(sign) ** 2


def _leading_space(matrices: Array) -> tuple[Array, Array, Array]:
    """Orthonormal bases of the two largest eigenvectors, the matrices there, and what is left."""
    start = np.random.default_rng(0).standard_normal((matrices.shape[-1], 2))
    span = _orthonormal(matrices @ backends.moved(start, matrices))
    for _ in range(_TURNS):
        span = _orthonormal(matrices @ span)
    image = matrices @ span
    inner = namespace(matrices).matrix_transpose(span) @ image
    return span, inner, norms(image - span @ inner)


def _orthonormal(columns: Array) -> Array:
    """Two columns, (n, d, 2), made orthogonal and of length 1, or 0."""
    xp = namespace(columns)

    def unit(column: Array) -> Array:
        length = norms(column)
        return column / xp.where(length > 0, length, xp.ones_like(length))

    first, second = unit(columns[:, :, :1]), unit(columns[:, :, 1:])
    second = unit(second - first * xp.sum(first * second, axis=1, keepdims=True))
    return xp.concat([first, second], axis=2)


def _sign_of_two(matrices: Array) -> Array:
    """Sign function of symmetric matrices of two rows, (n, 2, 2)."""
    xp = namespace(matrices)
    a, b, c = matrices[:, :1, :1], matrices[:, :1, 1:], matrices[:, 1:, 1:]
    root = xp.sqrt((a - c) ** 2 + 4.0 * b * b)  # the difference of the eigenvalues
    identity = backends.moved(np.eye(2), matrices)
    both = (2.0 * matrices - (a + c) * identity) / xp.where(root > 0, root, xp.ones_like(root))
    return xp.where(xp.abs(a + c) < root, both, xp.sign(a + c) * identity)


def norms(matrices: Array) -> Array:
    """Frobenius norms, (n, 1, 1)."""
    return namespace(matrices).linalg.vector_norm(matrices, axis=(-2, -1), keepdims=True)


def sign_iteration_scales(smallest: float) -> list[float]:
    r"""Factors ρ of the steps :math:`S \leftarrow \tfrac\rho2 S (3 I - \rho^2 S^2)`.

    They bring eigenvalues between ``smallest`` and 1 to 1 in the fewest steps, short of factors
    that would bring the largest back to zero, where rounding decides on the sign.
    """
    scales = []
    lower = smallest
    while 1 - lower > _ARRIVED:
        scale = min(_MOST_STRETCH, (3 / (1 + lower + lower**2)) ** 0.5)
        scales.append(scale)
        lower = scale * lower * (3 - (scale * lower) ** 2) / 2
    return scales


def log_determinants(matrices: Array) -> Array:
    """Logarithms of the determinants of positive definite matrices, (n, d, d).

    On accelerators by Cholesky's factorisation, which is fast in batches there; a matrix that
    rounding has made indefinite goes by its LU factorisation, as all do elsewhere.
    """
    xp = namespace(matrices)
    if library(matrices) == "torch":
        import torch

        factors, failed = torch.linalg.cholesky_ex(matrices)
        failed = failed != 0
    elif library(matrices) == "cupy":  # whose factors of indefinite ones are NaN
        factors, failed = xp.linalg.cholesky(matrices), False
    else:
        return xp.linalg.slogdet(matrices)[1]
    found = 2.0 * xp.sum(xp.log(xp.linalg.diagonal(factors)), axis=-1)
    failed = failed | ~xp.isfinite(found)
    if bool(xp.any(failed)):
        those = xp.nonzero(failed)[0]
        exact = xp.linalg.slogdet(xp.take(matrices, those, axis=0))[1]
        found = device_math.replaced(found, those, exact)
    return found
