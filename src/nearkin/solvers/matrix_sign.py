"""Sign and log-determinant of many symmetric matrices at once, by products and factorisations."""

from __future__ import annotations

from typing import Any

from nearkin.rows import device_math
from nearkin.rows.devices import library, namespace

Array = Any  # an array of torch or CuPy
# The sign iteration has arrived when the smallest eigenvalue is this near to 1, and no step
# stretches by more: the largest eigenvalues would come back to zero, where rounding decides.
_ARRIVED = 1e-14
_MOST_STRETCH = 1.6


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
    sign = matrices
    for stretch in sign_iteration_scales(smallest_eigenvalue):
        square = sign @ sign
        if library(sign) == "torch":  # the same in one pass over the result
            import torch

            sign = torch.baddbmm(sign, sign, square, beta=1.5 * stretch, alpha=-0.5 * stretch**3)
            continue
        sign = (0.5 * stretch) * (3.0 * sign - stretch**2 * (sign @ square))
    return sign


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
