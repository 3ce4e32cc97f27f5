r"""Smooth functions of a kernel that a graph bends: new rows have their values, too.

Functions :math:`f = \Phi c` of rows, with coordinates :math:`\Phi` of a kernel :math:`S = \Phi
\Phi^\top` over landmarks, are rough by what they are along a graph and by their norm in the
kernel's own space. The smoothest are the smallest solutions μ of

.. math::

    \big( \rho I + \Phi^\top L \Phi \big) c = \mu \, \Phi^\top \Phi \, c ,

which in coefficients a of kernel functions is :math:`(\rho K_{mm} + K_{mn} L K_{nm}) a = \mu K_{mn}
K_{nm} a`: the leading directions of the kernel :math:`M` with :math:`M^{-1} = \rho S^{-1} + L`,
which V. Sindhwani, P. Niyogi and M. Belkin call deformed (ICML 2005). A function that sits on a
part of the graph without edges to others costs nothing along it, but much by its norm where the
part is small: isolated rows have no functions of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from nearkin._types import Floats
from nearkin.spaces.linalg import fix_signs

# ρ, as a share of the mean squared length of coordinates times the mean degree. Chosen on MNIST and
# optdigits (benchmarks/papers/lu2009_geometry_aware), where three times as much and a third differ
# by a tenth of a point of errors in the mean.
_NORM_SHARE = 0.001
# Columns of Φ that are multiplied with L at a time: bounds memory.
_BLOCK = 100
# A function that varies by no more than this share of the one that varies most is rounding.
_NO_VARIANCE = 1e-10


def find_bent_functions(Phi: Floats, L: Any, n_functions: int) -> tuple[Floats, Floats]:
    """Roughness μ (r,), increasing, and coefficients C (q, r) of the smoothest functions Φ C.

    Phi (n, q) are coordinates of rows and L is the Laplacian (n, n) of their graph. Columns of Φ C
    are orthonormal; there are ``n_functions`` of them, or as many as differ from rounding, but one
    at least.

    O(n q² + q³) time; n + q times 100 numbers of memory beside q².
    """
    size = Phi.T @ Phi
    along = np.empty_like(size)
    for start in range(0, Phi.shape[1], _BLOCK):
        columns = slice(start, start + _BLOCK)
        along[:, columns] = Phi.T @ (L @ Phi[:, columns])
    n, q = Phi.shape
    ridge = _NORM_SHARE * (float(np.trace(size)) / n) * (float(L.diagonal().mean()) or 1.0)
    along = (along + along.T) / 2
    along.flat[:: q + 1] += ridge or 1.0  # rows that all coincide have no functions
    # The largest of the inverse problem, whose right-hand side is positive.
    inverse, C = eigh(size, along, subset_by_index=[max(0, q - n_functions), q - 1])
    inverse, C = inverse[::-1], C[:, ::-1]
    real = inverse > _NO_VARIANCE * max(float(inverse[0]), 0.0)
    real[0] = True
    inverse, C = np.where(inverse > 0, inverse, 1.0)[real], C[:, real]
    return 1 / inverse, fix_signs(C / np.sqrt(inverse))
