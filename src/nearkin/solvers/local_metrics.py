r"""The metric at a point under which nearest neighbours err least, and the mean over points.

Neighbours are never quite at the point that they stand for. To first order in that, the error of
a nearest-neighbour rule exceeds its limit by :math:`\operatorname{tr}(M^{-1} \Phi)` times a
number, where M is the metric and

.. math::

    \Phi = \sum_c \nabla\nabla p_c \Big( \sum_{c' \ne c} p_{c'}^2
        - p_c \sum_{c' \ne c} p_{c'} \Big)

tells how the densities :math:`p_c` of the classes bend at the point (eq. 16 of Shi et al. 2011).
The local metric solves

.. math:: \min_M \; \big(\operatorname{tr} M^{-1} \Phi\big)^2
    \quad\text{s.t.}\quad \det M = 1, \; M \succ 0 .
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.neighbors import NearestNeighbors

from nearkin._types import DOUBLE_BYTES, Floats, Integers
from nearkin.rows import access, backends, device_math
from nearkin.rows.backends import library, namespace
from nearkin.rows.distances import squared_distances
from nearkin.rows.parallel import one_blas_thread, rows_per_block, run_in_blocks, split_range
from nearkin.solvers.class_gaussians import ClassModels

Array = Any  # an array of torch or CuPy
# The sign iteration has arrived when the smallest eigenvalue is this near to 1, and no step
# stretches by more: at √3 the largest eigenvalues would come back to zero, where rounding decides.
_ARRIVED = 1e-14
_MOST_STRETCH = 1.6
# What single precision can tell the sign of, relative to the largest eigenvalue but two, and how
# much smaller than the norm that one may be taken to be. An eigenvalue of an eighth of the product
# still arrives: those below 1e-9 of the norm, which are zeros, must not.
_SMALLEST_SINGLE, _LEAST_REST = 1e-5, 1e-3
# Turns that find the space of the two largest, and how far it may be from its image: what rounding
# in single precision is, relative to all the others.
_TURNS, _ASTRAY, _NOTHING = 8, 1e-7, 1e-30
# Added to the size of each eigenvalue of Φ, as a share of their root mean square: without it the
# metric would ignore directions in which the densities happen not to bend. Chosen by hand.
FLOOR = 1e-3
# Coefficients of Φ below this are what is left of equal densities after rounding.
_ROUNDING = 1e-13
# Sums of metrics that are held at a time, whatever the number of cores, and rows of each at least.
_MOST_PARTS = 64
_LEAST_ROWS = 16
# Rows that a mean is taken of at least, and the operations that more of them may take: some seconds
# on a core. The second line has those of a row, for eigenvectors and for densities. Chosen by hand.
_LEAST_SAMPLE, _WORK = 300, 10**10
_EIGENVECTOR_WORK, _DENSITY_WORK = 2, 12
# Rows at which neighbours are found at a time by one thread, and parts that are left for others.
_NEIGHBOR_ROWS, _NEIGHBOR_PARTS = 64, 16
# Eigenvalues below this share of the norm are zeros after rounding.
_NO_SIGN = 1e-9
# The sign iteration: eigenvalues this small, relative to the norm, are to arrive at 1, and how far
# the number of those that have, or are zero, may be from a whole one.
_DOUBT = {"float64": 1e-6, "float32": 1e-2}
_SMALLEST_EIGENVALUE = {"float64": 1e-8, "float32": 1e-6}
_FINEST = 1e-13
# Columns from which on products in float64 cost more than what spares most of them. Chosen by hand
# on an H200, as the next.
_LEAST_WIDE = 96
# Arrays of d × d and of c × d numbers that a row's metric takes, on the host and on a device.
_MATRICES, _GRADIENTS, _DEVICE_ARRAYS = 5, 4, 6
# Working memory of a batch of metrics that keeps an accelerator busy.
_BATCH_BYTES = 2**34
# Local metrics are kept between the rounds of Algorithm 1 if they take no more numbers (256 MB).
_MOST_NUMBERS = 2**25
# The rounds end when no entry of the metric changes by more than this share of the largest.
_TOL = 1e-6
# Kernel density estimate: rows that it is made of, rows that judge bandwidths, how many of these
# there are, and by how much the least is below the median distance of nearest rows. Chosen by hand.
_REFERENCES = 5000
_JUDGES = 1000
_BANDWIDTHS, _LEAST_BANDWIDTH = 12, 1 / 4


# ---- Matrix sign function and log-determinants


def sign_function(matrices: Array, smallest_eigenvalue: float) -> Any:
    r"""Matrix sign function by the iteration of Newton and Schulz: products only.

    For symmetric matrices (n, d, d) of norm at most 1, of any library. Eigenvalues of
    ``smallest_eigenvalue``, relative to the norm, arrive at ±1; smaller ones may not. Each step,
    :math:`S \leftarrow \tfrac\rho2 S (3 I - \rho^2 S^2)`, is two products. Eigenvectors would do as
    well, but torch finds those of one matrix after another.
    """
    return _iterate_sign(matrices, sign_iteration_scales(smallest_eigenvalue))


def _iterate_sign(sign: Array, scales: list[float]) -> Array:
    """Take one step of the sign iteration for each of ``scales``."""
    for stretch in scales:
        square = sign @ sign
        if library(sign) == "torch":  # the same in one pass over the result
            import torch

            sign = torch.baddbmm(sign, sign, square, beta=3 * stretch / 2, alpha=-(stretch**3) / 2)
            continue
        sign = (0.5 * stretch) * (3.0 * sign - stretch**2 * (sign @ square))
    return sign


def _iterate_sign_triton(matrices: Array, scales: list[float]) -> Array | None:
    """Take the same steps by Triton's kernels, nearly in float32; None where these cannot run."""
    if not device_math.can_use_kernels(
        namespace(matrices).reshape(matrices, (-1, matrices.shape[-1]))
    ):
        return None

    def work() -> Array:
        from nearkin.solvers import triton_kernels

        found = triton_kernels.sign_function_triton(device_math.to_tensor(matrices), scales)
        return device_math.from_tensor(found, matrices)

    return device_math.try_kernels(matrices, work)


def sign_by_single(matrices: Array) -> tuple[Array, Array]:
    """Sign function of float64 matrices (n, d, d), d > 2, by products nearly in float32.

    The matrices are symmetric, of Frobenius norm 1. The largest two eigenvalues often exceed the
    others a thousand times, and would leave these to rounding. If the space of their eigenvectors
    is found, they are replaced by their signs. Also returned, (n, 1, 1): how many eigenvalues of
    each matrix have not arrived at ±1, being zeros or too small for single precision.
    """
    xp, d = namespace(matrices), matrices.shape[-1]
    span, inner, astray = _find_leading_space(matrices)
    others = xp.sqrt(device_math.clip(1.0 - frobenius_norms(inner) ** 2, _NOTHING))
    found = astray <= _ASTRAY * others
    inner = xp.where(found, inner, xp.zeros_like(inner))
    signs = xp.where(found, _sign_of_two(inner), xp.zeros_like(inner))
    size = xp.where(found, others, xp.ones_like(others))
    turned = xp.matrix_transpose(span)
    single = xp.astype(matrices / size - span @ ((inner / size) @ turned), xp.float32)
    # The root of the norm of the square: between the largest eigenvalue and the norm.
    largest = xp.maximum(
        xp.sqrt(frobenius_norms(single @ single)), xp.astype(_LEAST_REST / size, xp.float32)
    )
    leading = xp.astype(span, xp.float32) @ xp.astype(signs @ turned, xp.float32)
    scaled = single / largest + leading
    scales = [*sign_iteration_scales(_SMALLEST_SINGLE), 1.0]  # one more for what is nearly there
    sign = _iterate_sign_triton(scaled, scales)
    sign = _iterate_sign(scaled, scales) if sign is None else sign
    return sign, d - frobenius_norms(sign) ** 2


def _find_leading_space(matrices: Array) -> tuple[Array, Array, Array]:
    """Basis (n, d, 2) of two leading eigenvectors, matrices in it (n, 2, 2), and residual norms."""
    start = np.random.default_rng(0).standard_normal((matrices.shape[-1], 2))
    span = _orthonormalize_two(matrices @ backends.move_to(start, matrices))
    for _ in range(_TURNS):
        span = _orthonormalize_two(matrices @ span)
    image = matrices @ span
    inner = namespace(matrices).matrix_transpose(span) @ image
    return span, inner, frobenius_norms(image - span @ inner)


def _orthonormalize_two(columns: Array) -> Array:
    """Orthonormalise two columns, (n, d, 2); columns of zeros stay."""
    xp = namespace(columns)

    def unit(column: Array) -> Array:
        """Divide a column by its length, unless that is 0."""
        length = frobenius_norms(column)
        return column / xp.where(length > 0, length, xp.ones_like(length))

    first, second = unit(columns[:, :, :1]), unit(columns[:, :, 1:])
    second = unit(second - first * xp.sum(first * second, axis=1, keepdims=True))
    return xp.concat([first, second], axis=2)


def _sign_of_two(matrices: Array) -> Array:
    """Sign function of symmetric matrices of two rows, (n, 2, 2)."""
    xp = namespace(matrices)
    a, b, c = matrices[:, :1, :1], matrices[:, :1, 1:], matrices[:, 1:, 1:]
    root = xp.sqrt((a - c) ** 2 + 4.0 * b * b)  # the difference of the eigenvalues
    identity = backends.move_to(np.eye(2), matrices)
    both = (2.0 * matrices - (a + c) * identity) / xp.where(root > 0, root, xp.ones_like(root))
    return xp.where(xp.abs(a + c) < root, both, xp.sign(a + c) * identity)


def frobenius_norms(matrices: Array) -> Array:
    """Frobenius norms of matrices, of shape (n, 1, 1)."""
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
        found = device_math.replace_rows(found, those, exact)
    return found


def bias_matrices(X: Any, models: ClassModels) -> Any:
    r"""Bias matrix Φ at every row (n, d, d), up to a positive factor.

    With :math:`u_c = \Sigma_c^{-1} (x - \mu_c)` the Hessian of a Gaussian density is :math:`p_c
    (u_c u_c^\top - \Sigma_c^{-1})` (eq. 17). Zero where all densities are equal, and where all of
    them are too small for a number's logarithm. The factor is such that nothing underflows, however
    far a row is from every class. O(n c d²) time and O(n d (c + d)) memory for c classes.
    """
    xp = backends.namespace(X)
    c, d = models.means.shape
    differences, gradients = models.gradients(X)
    with np.errstate(over="ignore", invalid="ignore"):
        log_densities = models.log_densities_of(differences, gradients)
        lengths = device_math.rowwise_products(gradients, gradients)
    coefficients = bias_coefficients(log_densities)
    # Rows far from every class: squares of their gradients may exceed all numbers.
    curvature = xp.linalg.trace(models.precisions)
    scale = xp.max(xp.maximum(lengths, curvature), axis=1)
    lost = ~xp.isfinite(scale)
    scale = xp.where(lost, xp.ones_like(scale), scale)
    coefficients = xp.where(lost[:, None], xp.zeros_like(coefficients), coefficients)
    rows = xp.permute_dims(gradients, (1, 0, 2))  # row, class, column
    rows = xp.where(lost[:, None, None], xp.zeros_like(rows), rows)
    rows = rows / xp.sqrt(scale)[:, None, None]
    bent = xp.matrix_transpose(rows * coefficients[:, :, None]) @ rows
    flat = (coefficients / scale[:, None]) @ xp.reshape(models.precisions, (c, d * d))
    bent -= xp.reshape(flat, (-1, d, d))
    return bent


def bias_coefficients(log_densities: Any) -> Any:
    r"""Weight of each class's Hessian, relative to its density, in Φ, from log densities (n, c).

    .. math:: a_c = \frac{p_c}{p_{(1)}^2 \, p_{(2)}}
        \Big( \sum_{c' \ne c} p_{c'}^2 - p_c \sum_{c' \ne c} p_{c'} \Big),

    with :math:`p_{(1)} \ge p_{(2)}` the two largest densities of the row. That factor makes the
    largest coefficients of the order of one, so that no row is lost to 0/0.
    """
    xp = backends.namespace(log_densities)
    top = xp.argmax(log_densities, axis=1)[:, None]
    is_top = top == xp.arange(log_densities.shape[1], device=log_densities.device)[None, :]
    largest = xp.max(log_densities, axis=1, keepdims=True)
    others = xp.where(is_top, xp.full_like(log_densities, -xp.inf), log_densities)
    with np.errstate(invalid="ignore"):
        to_largest = xp.exp(others - largest)
        to_second = xp.exp(others - xp.max(others, axis=1, keepdims=True))
    total = xp.sum(to_largest, axis=1, keepdims=True)
    squares = xp.sum(to_largest * to_largest, axis=1, keepdims=True)
    coefficients = to_second * ((1 - to_largest) + squares - to_largest * total)
    at_top = xp.sum(to_second * (to_largest - 1), axis=1, keepdims=True)
    coefficients = xp.where(is_top, at_top, coefficients)
    # Not a number: a row at which every density, or every one but the largest, is exp(−inf).
    known = xp.max(xp.abs(coefficients), axis=1, keepdims=True) > _ROUNDING
    return xp.where(known, coefficients, xp.zeros_like(coefficients))


def local_metrics(Phi: Floats, interpolation: float = 0.0) -> Floats:
    r"""Local metrics (n, d, d) for bias matrices Φ (n, d, d), by eigenvectors (eq. 8).

    .. math::

        M \propto U \begin{pmatrix} d^+ \Lambda^+ & \\ & -d^- \Lambda^- \end{pmatrix} U^\top
        \quad\text{for}\quad \Phi + \varepsilon \operatorname{sign} \Phi = U \Lambda U^\top,
        \qquad \det M = 1,

    where :math:`d^+` eigenvalues are positive and :math:`d^-` negative; one of zero is given the
    weight :math:`(d^+ + d^-) / 2`. ε is ``FLOOR`` times the root mean square of the eigenvalues of
    Φ and 0 in the paper; it keeps the metric from being singular. If Φ has eigenvalues of both
    signs, the trace of :math:`M^{-1} (\Phi + \varepsilon \operatorname{sign} \Phi)` is zero. If all
    are of one sign, no metric makes it zero, and :math:`M \propto |\Phi|` makes it least, by the
    inequality of the arithmetic and the geometric mean. The metric is the identity where Φ = 0.

    Returned is ``(1 − s) M + s I`` with the interpolation s.
    """
    values, vectors = metric_eigenpairs(Phi)
    values = (1 - interpolation) * values + interpolation
    return np.asarray((vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1))


def metric_eigenpairs(Phi: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues (n, d) and eigenvectors (n, d, d), in columns, of the local metrics."""
    values, vectors = np.linalg.eigh(Phi)
    norm = np.sqrt((values**2).sum(axis=1, keepdims=True))
    signs = np.where(np.abs(values) > _NO_SIGN * norm, np.sign(values), 0.0)
    # d⁺ for positive eigenvalues, d⁻ for negative ones, the mean of both for zeros.
    rank = (signs**2).sum(axis=1, keepdims=True)
    weights = (rank + signs * signs.sum(axis=1, keepdims=True)) / 2
    sizes = weights * (values * signs + FLOOR / Phi.shape[1] ** 0.5 * norm)
    sizes[norm[:, 0] == 0] = 1.0
    logs = np.log(sizes)
    return np.exp(logs - logs.mean(axis=1, keepdims=True)), vectors


def mean_local_metric(
    X: Floats, models: ClassModels, weights: Floats | None = None, interpolation: float = 0.0
) -> Floats:
    r"""Mean of the local metrics at all rows, :math:`\sum_i w_i M_i / \sum_i w_i` (eq. 10).

    With equal weights the paper's M^UNI (eq. 11). ``interpolation`` is the share of the identity in
    every local metric. The same for any number of cores.

    O(n d³ + n c d²) time, nearly all of it in eigenvectors, on all cores; O(d²) memory beside
    blocks of a few megabytes for each core.
    """
    n, d = X.shape
    if backends.is_foreign(X):
        total = _sum_metrics_on_device(X, models, weights)
    else:
        part_rows = max(_LEAST_ROWS, -(-n // _MOST_PARTS))
        parts = np.zeros((-(-n // part_rows), d, d))
        at_a_time = count_metrics_per_block(models)

        def add_rows(rows: slice) -> None:
            for block in split_range(rows.stop - rows.start, at_a_time):
                some = slice(rows.start + block.start, rows.start + block.stop)
                own = None if weights is None else weights[some]
                parts[rows.start // part_rows] += _sum_metrics(X[some], models, own)

        run_in_blocks(add_rows, n, part_rows)
        total = parts.sum(axis=0)
    total = total / (n if weights is None else weights.sum())
    mean = (1 - interpolation) * total + interpolation * np.eye(d)
    return np.asarray((mean + mean.T) / 2)


def count_metrics_per_block(models: ClassModels) -> int:
    """Number of local metrics to compute at a time, so that they fit into a block of memory."""
    c, d = models.means.shape
    return rows_per_block(DOUBLE_BYTES * (_MATRICES * d * d + _GRADIENTS * c * d))


def count_rows_to_average(models: ClassModels) -> int:
    """Most rows whose metrics are averaged, such that it takes seconds on a core."""
    c, d = models.means.shape
    return max(_LEAST_SAMPLE, int(_WORK // (_EIGENVECTOR_WORK * d**3 + _DENSITY_WORK * c * d**2)))


def _sum_metrics(X: Floats, models: ClassModels, weights: Floats | None) -> Floats:
    """Sum of the local metrics at rows (d, d), weighted if weights are given."""
    values, vectors = metric_eigenpairs(bias_matrices(X.astype(np.float64), models))
    if weights is not None:
        values = values * weights[:, None]
    # All eigenvectors side by side: one product for the whole block instead of one per row.
    vectors *= np.sqrt(values)[:, None, :]
    side_by_side = vectors.transpose(1, 0, 2).reshape(X.shape[1], -1)
    return np.asarray(side_by_side @ side_by_side.T)


def _sum_metrics_on_device(X: Any, models: ClassModels, weights: Floats | None) -> Floats:
    """Sum of the local metrics at rows on a device, as a host array (d, d).

    Φ is computed in float64, all else in float64 unless float32 is faster.
    """
    xp = backends.namespace(X)
    c, d = models.means.shape
    precise = models.move_to(backends.widen(X[:0, :]))
    fast = backends.has_fast_float64(X)
    dtype = precise.means.dtype if fast else X.dtype
    mostly_single = fast and d >= _LEAST_WIDE and backends.dtype_name(X) == "float32"
    total: Any = 0.0
    bytes_per_row = _DEVICE_ARRAYS * DOUBLE_BYTES * (d * d + c * d)
    for rows in access.split_by_memory(X, bytes_per_row, _BATCH_BYTES):
        Phi = bias_matrices(backends.widen(X[rows, :]), precise)
        metrics = (
            _compute_mostly_in_float32(Phi) if mostly_single else _compute_on_device(Phi, dtype)
        )
        if weights is not None:
            metrics = metrics * backends.move_to(weights[rows], metrics)[:, None, None]
        total = total + xp.sum(metrics, axis=0, dtype=precise.means.dtype)
    return backends.to_numpy(total).astype(np.float64)


def _compute_mostly_in_float32(Phi: Any) -> Any:
    """Local metrics of float64 Φ, by float32 products wherever these tell every sign.

    As exact as rows in float32 are, and as symmetric. With :math:`S^2 = I`, the second factor of
    :func:`local_metrics_by_sign` needs no product.
    """
    xp, d = backends.namespace(Phi), Phi.shape[-1]
    identity = backends.move_to(np.eye(d), Phi)
    norm = frobenius_norms(Phi)
    scaled = Phi / xp.where(norm > 0, norm, xp.ones_like(norm))
    sign, doubt = sign_by_single(scaled)
    sign = backends.widen(sign)
    floor = FLOOR / d**0.5
    balance = xp.sum(sign * identity, axis=(-2, -1), keepdims=True)  # d⁺ − d⁻
    metrics = d * (scaled @ sign) + (balance * scaled + (floor * balance) * sign)
    metrics += (d * floor) * identity
    metrics /= xp.exp(log_determinants(metrics) / d)[:, None, None]
    those = xp.nonzero(xp.abs(doubt[:, 0, 0]) > _DOUBT["float32"])[0]
    if those.shape[0] == 0:
        return metrics
    certain = _compute_on_device(xp.take(Phi, those, axis=0), Phi.dtype)
    return device_math.replace_rows(metrics, those, certain)


def _compute_on_device(Phi: Any, dtype: Any) -> Any:
    """Local metrics (n, d, d) of Φ on a device, by the sign function in ``dtype``.

    Where float32 cannot tell a sign it is done in float64, and what is in doubt there too, which is
    rare, with a limit below which eigenvalues are zeros: every metric is that of
    :func:`local_metrics`.
    """
    xp = backends.namespace(Phi)
    metrics, doubt = _compute_by_sign(xp.astype(Phi, dtype, copy=False))
    name = backends.dtype_name(metrics)
    those = xp.nonzero(doubt > _DOUBT[name])[0]
    if those.shape[0] == 0:
        return metrics
    left = xp.take(Phi, those, axis=0)
    if name == "float64":
        certain = _compute_by_sign(left, with_zeros=True)[0]
    elif backends.dtype_name(Phi) == "float64":
        certain = xp.astype(_compute_on_device(left, Phi.dtype), dtype)
    else:  # a device without float64
        certain = backends.move_to(local_metrics(backends.to_numpy(left)), Phi)
    return device_math.replace_rows(metrics, those, certain)


def local_metrics_by_sign(Phi: Any) -> Any:
    r"""Local metrics (n, d, d) by products of matrices only, for accelerators.

    With :math:`S = \operatorname{sign} \Phi`, found by the iteration of Newton and Schulz, the size
    of Φ is :math:`|\Phi| = \Phi S`, the numbers of eigenvalues are :math:`d^\pm =
    (\operatorname{tr} S^2 \pm \operatorname{tr} S) / 2`, and

    .. math:: M \propto (|\Phi| + \varepsilon I) \,
        \big( (\operatorname{tr} S^2) I + (\operatorname{tr} S) S \big) .

    As by :func:`local_metrics`, but that eigenvalues of Φ between 1e-11 and 1e-8 of its norm (in
    float32 up to 1e-6) may have been given a weight between those of both signs, which changes an
    eigenvalue of M of the size of the floor.

    O(n d³) time and O(n d²) memory. Each step (about 25, in float32 20) is two products.
    """
    return _compute_by_sign(Phi)[0]


def _compute_by_sign(Phi: Any, *, with_zeros: bool = False) -> tuple[Any, Any]:
    """Local metrics, and how many eigenvalues are neither 0 nor of a certain sign.

    Zeros cannot be told in float32 and are in doubt there. In float64 ``with_zeros`` tells them at
    twice the cost: the mean of the signs of Φ + τ and Φ − τ is zero for eigenvalues below τ.
    """
    xp, d = namespace(Phi), Phi.shape[-1]
    identity = xp.eye(d, dtype=Phi.dtype, device=getattr(Phi, "device", None))
    norm = xp.sqrt(xp.sum(Phi * Phi, axis=(-2, -1), keepdims=True))
    flat = norm == 0
    scaled = Phi / xp.where(flat, xp.ones_like(norm), norm)
    if with_zeros:
        limit = _NO_SIGN * identity
        above = sign_function(scaled + limit, _FINEST)
        sign = 0.5 * (above + sign_function(scaled - limit, _FINEST))
    else:
        sign = sign_function(scaled, _SMALLEST_EIGENVALUE[backends.dtype_name(Phi)])
    rank = xp.sum(sign * sign, axis=(-2, -1), keepdims=True)  # d⁺ + d⁻
    doubt = d - rank
    if backends.dtype_name(Phi) == "float64":
        square = sign @ sign
        doubt = rank - xp.sum(square * square, axis=(-2, -1), keepdims=True)
        # s ← (5 s³ − 3 s⁵) / 2 keeps ±1, and what rounding made of zeros goes back to zero.
        sign = 0.5 * ((sign @ square) @ (5.0 * identity - 3.0 * square))
        rank = xp.sum(sign * sign, axis=(-2, -1), keepdims=True)
    sizes = scaled @ sign + FLOOR / d**0.5 * identity
    balance = xp.sum(sign * identity, axis=(-2, -1), keepdims=True)  # d⁺ − d⁻
    metrics = sizes @ (rank * identity + balance * sign)
    metrics = 0.5 * (metrics + xp.matrix_transpose(metrics))
    metrics = xp.where(flat, identity, metrics)
    log_determinant = log_determinants(metrics)
    return metrics / xp.exp(log_determinant / d)[..., None, None], doubt[..., 0, 0]


def local_neighbors(
    X: Floats, training: Floats, models: ClassModels, interpolation: float, n_neighbors: int
) -> tuple[Floats, Integers]:
    """Nearest training rows of each row of X under the metric at that row.

    Returns distances and positions (n, n_neighbors). O(p d²) time for each row of X and p training
    rows, on all cores; O(p d) memory for each core.
    """
    distances = np.empty((len(X), n_neighbors))
    positions = np.empty((len(X), n_neighbors), dtype=np.int64)
    training = training.astype(np.float64)

    def search_block(rows: slice) -> None:
        block = X[rows].astype(np.float64)
        values, vectors = metric_eigenpairs(bias_matrices(block, models))
        roots = vectors * np.sqrt((1 - interpolation) * values + interpolation)[:, None, :]
        for i, (row, root) in enumerate(zip(block, roots, strict=True), start=rows.start):
            squared = (((training - row) @ root) ** 2).sum(axis=1)
            nearest = np.argpartition(squared, n_neighbors - 1)[:n_neighbors]
            nearest = nearest[np.lexsort([nearest, squared[nearest]])]
            distances[i] = np.sqrt(squared[nearest])
            positions[i] = nearest

    run_in_blocks(search_block, len(X), max(1, min(_NEIGHBOR_ROWS, len(X) // _NEIGHBOR_PARTS)))
    return distances.astype(X.dtype), positions


def mean_metric_at(
    X: Any, classes: Integers, mean: Floats, models: ClassModels, interpolation: float
) -> Floats:
    """Mean (d, d) of local metrics at rows of known class less ``mean``, as models have them."""
    if not backends.is_remote(X):
        return mean_local_metric(X - backends.move_to(mean, X), models, None, interpolation)

    def of_block(block: Any, number: Integers) -> tuple[Floats]:
        known = backends.widen(access.take(block, np.flatnonzero(number >= 0)))
        if len(known) == 0:
            return (np.zeros((len(mean), len(mean))),)
        known = known - backends.move_to(mean, known)
        return (len(known) * mean_local_metric(known, models, None, interpolation),)

    return np.asarray(X.reduced(of_block, classes)[0] / (classes >= 0).sum())


# ---- Averages weighted by density


def mixture_density_weights(X: Floats, models: ClassModels) -> Floats:
    """Weights proportional to the density of the mixture of all classes, of sum 1."""
    priors = np.log(models.counts / models.counts.sum())
    logs = models.log_densities(X) + priors
    return np.asarray(softmax(np.logaddexp.reduce(logs, axis=1)))


def kernel_density_weights(Z: Floats, rank: int, rng: np.random.RandomState) -> Floats:
    r"""Weights proportional to a kernel density estimate, of sum 1.

    .. math:: w_i \propto \sum_j \exp(-\lVert z_i - z_j \rVert^2 / \sigma^2)

    with that of 12 bandwidths σ that makes the rows likeliest when each is left out of its own
    density, which is :math:`\sigma^{-r} \sum_{j \ne i}` of the same but for a factor; r is the
    ``rank``, the dimension of the space that the rows span. Drawn are at most 5000 rows j, and 1000
    rows that judge bandwidths.

    O(n m) time for m ≤ 5000 rows j, on all cores; memory for a block of distances in each.
    """
    n = len(Z)
    references = draw_rows(n, _REFERENCES, rng)
    judges = draw_rows(n, _JUDGES, rng)
    squared = _squared_distances(Z, judges, references)
    nearest = squared.min(axis=1)
    nearest = nearest[(nearest > 0) & np.isfinite(nearest)]
    if len(nearest) == 0:  # rows coincide: no place is denser than another
        return np.full(n, 1 / n)
    farthest = squared[np.isfinite(squared)].max()
    widths = np.geomspace(_LEAST_BANDWIDTH * np.median(nearest), farthest, _BANDWIDTHS)
    likelihoods = [
        _log_sums(squared / width).sum() - len(judges) * rank / 2 * np.log(width)
        for width in widths
    ]
    width = widths[int(np.argmax(likelihoods))]
    logs = np.empty(n)

    def weigh_block(rows: slice) -> None:
        own = np.arange(rows.start, rows.stop)
        others = _log_sums(_squared_distances(Z, own, references) / width)
        logs[rows] = np.logaddexp(others + np.log(n / len(references)), 0)

    run_in_blocks(weigh_block, n, rows_per_block(2 * DOUBLE_BYTES * len(references)))
    return np.asarray(softmax(logs))


def draw_rows(n: int, most: int, rng: np.random.RandomState) -> Integers:
    """Draw at most ``most`` of n row numbers, increasing."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _squared_distances(Z: Floats, rows: Integers, references: Integers) -> Floats:
    """Squared distances from ``rows`` of Z to ``references``; infinite from a row to itself."""
    squared = squared_distances(Z[rows], Z[references])
    squared[rows[:, None] == references] = np.inf
    return np.asarray(squared)


def _log_sums(exponents: Floats) -> Floats:
    """Logarithm of the sum over each row of exp(−exponent)."""
    least = exponents.min(axis=1)
    return np.asarray(np.log(np.exp(least[:, None] - exponents).sum(axis=1)) - least)


@one_blas_thread()
def predict_left_out_classes(Z: Floats, classes: Integers, n_neighbors: int) -> Integers:
    """Predict the class of every row by its nearest neighbours among the others."""
    k = min(n_neighbors, len(Z) - 1)
    indices = NearestNeighbors(n_neighbors=k).fit(Z).kneighbors(return_distance=False)
    return majority_vote(classes[indices])


def majority_vote(votes: Integers) -> Integers:
    """Most frequent class in each row of votes; of equally frequent ones the first voted for."""
    counts = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
    return np.asarray(votes[np.arange(len(votes)), counts.argmax(axis=1)])


def density_weighted_metric(
    X: Floats,
    models: ClassModels,
    density: Callable[[Floats], Floats],
    interpolation: float,
    n_iter: int,
) -> tuple[Floats, Floats, int]:
    """Iterate Algorithm 1: weigh local metrics by a density that is estimated under the metric.

    ``density`` returns weights of sum 1 for rows mapped by the current metric. There are at most
    ``n_iter`` rounds, fewer where the metric converges. Returns the metric (d, d), the weights
    (n,), and the number of rounds. Local metrics are kept while they take less than 256 megabytes;
    otherwise every round computes them again.
    """
    n, d = X.shape
    kept = None
    if n * d * d <= _MOST_NUMBERS:
        kept = np.empty((n, d, d))

        def keep_block(rows: slice) -> None:
            kept[rows] = local_metrics(bias_matrices(X[rows], models), interpolation)

        run_in_blocks(keep_block, n, count_metrics_per_block(models))
    metric: Floats = np.eye(d)
    n_rounds = 0
    at_rest = False
    while n_rounds < n_iter and not at_rest:
        before = metric
        values, vectors = np.linalg.eigh(metric)
        weights = density((X @ vectors) * np.sqrt(np.maximum(values, 0)))
        if kept is None:
            metric = mean_local_metric(X, models, weights, interpolation)
        else:
            metric = (weights @ kept.reshape(n, d * d)).reshape(d, d)
            metric = (metric + metric.T) / 2
        at_rest = np.abs(metric - before).max() <= _TOL * np.abs(metric).max()
        n_rounds += 1
    return metric, weights, n_rounds
