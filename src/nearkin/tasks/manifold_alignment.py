"""ManifoldAlignment: several sets of rows, brought together by a few links between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from numbers import Integral
from typing import Annotated, Any, ClassVar, Self, cast

import numpy as np
import scipy.sparse as sp
from scipy.linalg import block_diag
from sklearn.base import BaseEstimator, _fit_context
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats, Integers
from nearkin.errors import InputError
from nearkin.learners.base import WholeState, replace_state
from nearkin.learners.parameters import Count, NotNegative, SeedParameter, with_parameters
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import gather_evidence
from nearkin.rows import validation
from nearkin.rows.distances import centre, middle
from nearkin.rows.parallel import one_blas_thread
from nearkin.rows.validation import count_rows
from nearkin.solvers.kernel_families import SpectralFamily, alternate
from nearkin.solvers.logdet import (
    BOUNDS_CONSTRAINTS,
    bound_pairs,
    check_distance_bounds,
    draw_random_pairs,
    estimate_bounds,
    warn_of_rounds,
)
from nearkin.spaces.feature_space import LocalExtension
from nearkin.spaces.graph import (
    Metric,
    Weight,
    average_equal_rows,
    diffusion,
    neighbor_graph,
    smoothest_functions,
)
from nearkin.spaces.kernels import Kernel, Rows, normalize_rows
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.spaces.linalg import leading_components
from nearkin.spaces.maps import ThroughLandmarks

# Linked rows are to meet: within this share of a large distance between random rows.
_MEET = 0.03


def pairs_between(sets: Sequence[Any], links: Iterable[tuple[int, int, int, int]]) -> Pairs:
    """Make must-links between rows of several tables, whose rows are numbered consecutively.

    Parameters
    ----------
    sets : sequence of arrays
    links : iterable of (set, row, set, row)

    Examples
    --------
    >>> from nearkin import pairs_between
    >>> pairs_between([[[0.0], [1.0]], [[5.0], [6.0]]], [(0, 1, 1, 0)]).must_link
    array([[1, 2]])
    """
    sizes = [count_rows(rows) for rows in sets]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    joined = []
    for link in links:
        if len(link) != 4:
            raise InputError(f"link {link!r} must name a set and a row, twice.")
        ends = []
        for number, row in (link[:2], link[2:]):
            if not 0 <= number < len(sizes) or not 0 <= row < sizes[number]:
                raise InputError(
                    f"link {tuple(link)!r} names row {row} of set {number}, but there are "
                    f"{len(sizes)} sets with {sizes} rows."
                )
            ends.append(int(starts[number] + row))
        joined.append(tuple(ends))
    return Pairs(joined)


@with_parameters
class ManifoldAlignment(WholeState, SeedParameter, BaseEstimator):
    """Map several tables into one space in which linked rows are near each other.

    A graph joins near rows of each set and gives coordinates along the set's own shape. Links
    between sets then teach a metric on all of these coordinates together, in which a row of one set
    has neighbours in the others. Sets may have different columns: two instruments, two languages,
    text and images.

    Parameters
    ----------
    n_vectors : int, default=5
        Smooth functions on each set.
    graph_neighbors : int, default=5
        Nearest others in the same set that each row is joined with.
    cross_neighbors : int, default=0
        Nearest rows of every other set that each row is joined with; sets must have the same
        columns then.
    metric : {"euclidean", "cosine"}, default="euclidean"
    edge_weight : {"binary", "heat", "cosine"}, default="binary"
        See :func:`nearkin.spaces.graph.neighbor_graph`.
    diffusion : float, default=0.1
        t: functions start with weights ``exp(-t · eigenvalue)``.
    slack : float, default=100.0
        γ: how much links count beside these weights. ``inf`` makes the bounds strict.
    bounds : (float, float) or None, default=None
        Largest distance of must-links and smallest of cannot-links, under the first weights. By
        default the latter is the 90th percentile of distances between random rows, and the former
        0.03 times that: linked rows are to meet.
    n_iter : int, default=1
        Rounds of projecting onto the links' bounds and putting the weights in order.
    n_components : int or None, default=None
        Keep this many axes of the common space, those of largest variance.
    n_neighbors : int, default=5
        Nearest rows of its own set that a new row is composed of.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    embeddings_ : list of ndarray of shape (n_s, n_components_)
        The rows of each set in the common space.
    maps_ : list of maps
        Of each set into the common space, see :mod:`nearkin.maps`.
    objective_ : ndarray
        LogDet objective after each half round.
    bounds_ : (float, float)
    n_components_ : int

    References
    ----------
    Z. Lu, P. Jain, I. S. Dhillon. Geometry-aware metric learning. ICML 2009.

    Notes
    -----
    Each set gives the same number of functions, whatever its size. O(Σ n_s² d_s) time for the
    graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import ManifoldAlignment, pairs_between
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> bent = np.column_stack([3 * np.sin(angle), np.cos(angle), np.cos(angle) ** 2])
    >>> pairs = pairs_between([circle, bent], [(0, i, 1, i) for i in range(0, 40, 5)])
    >>> alignment = ManifoldAlignment(n_vectors=3, random_state=0)
    >>> alignment = alignment.fit([circle, bent], pairs=pairs)
    >>> _, found = alignment.retrieve(circle[[12]], of=0, among=1, n=3)
    >>> bool(abs(found - 12).max() <= 2)
    True
    >>> alignment.transform(bent[:4], of=1).shape
    (4, 6)
    """

    n_vectors: Count = 5
    graph_neighbors: Count = 5
    cross_neighbors: Annotated[int, Interval(Integral, 0, None, closed="left")] = 0
    metric: Metric = "euclidean"
    edge_weight: Weight = "binary"
    diffusion: NotNegative = 0.1
    slack: float = 100.0
    bounds: tuple[float, float] | None = None
    n_iter: Count = 1
    n_components: Count | None = None
    n_neighbors: Count = 5

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BOUNDS_CONSTRAINTS,
    }

    @replace_state
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, sets: Sequence[Any], y: Any = None, *, pairs: Pairs) -> Self:
        """Learn maps of all sets into one space, from links between their rows.

        Parameters
        ----------
        sets : sequence of arrays of shape (n_s, d_s)
            Dense or sparse.
        y : ignored
        pairs : Pairs
            Of rows numbered through from the first set to the last, as
            :func:`nearkin.pairs_between` makes them. Those within a set count as well.

        Returns
        -------
        self
        """
        if hasattr(sets, "shape") or len(sets) < 2:
            raise InputError("ManifoldAlignment takes a list of two sets of rows or more.")
        checked = [
            validation.check_input(rows, f"set {number}", accept_sparse="csr", ensure_min_samples=2)
            for number, rows in enumerate(sets)
        ]
        rng = check_random_state(self.random_state)
        gather_evidence(sum(rows.shape[0] for rows in checked), None, pairs)
        graphs = [
            neighbor_graph(rows, self.graph_neighbors, metric=self.metric, weight=self.edge_weight)
            for rows in checked
        ]
        if self.cross_neighbors == 0:  # the smoothest functions of each graph, zero on others
            found = [smoothest_functions(W, self.n_vectors, random_state=rng) for W in graphs]
            eigenvalues = np.concatenate([values for values, _ in found])
            order = np.argsort(eigenvalues, kind="stable")
            eigenvalues = eigenvalues[order]
            V: Floats = block_diag(*[functions for _, functions in found])[:, order]
        else:
            joint = sp.block_diag(graphs, format="csr") + self._find_cross_edges(checked)
            n_vectors = self.n_vectors * len(graphs)
            eigenvalues, V = smoothest_functions(joint, n_vectors, random_state=rng)
        starts = np.cumsum([rows.shape[0] for rows in checked])[:-1]
        parts = zip(checked, np.split(V, starts), strict=True)
        V = np.concatenate([average_equal_rows(rows, part, self.metric) for rows, part in parts])
        unknown = np.full(len(V), -1)
        weights = np.maximum(diffusion(eigenvalues, V, unknown, time=self.diffusion), 1e-12)
        family = SpectralFamily(V, weights, keeps_size=len(pairs.cannot_link) == 0)
        large = estimate_bounds(V, draw_random_pairs(len(V), rng), family.prior)[1]
        bounds = check_distance_bounds(self.bounds) or (_MEET * large, large)
        learned = alternate(family, bound_pairs(pairs, bounds, self.slack), n_iter=self.n_iter)
        warn_of_rounds(learned.solution, family.prior, learned.family.prior, "ManifoldAlignment")

        covariance = np.atleast_2d(np.cov(V.T, bias=True))
        components = leading_components(learned.solution.B, covariance, self.n_components)
        kernel = Kernel("cosine" if self.metric == "cosine" else "linear")
        self.embeddings_ = np.split(V @ components.T, starts)
        self.objective_ = learned.objective
        self.bounds_ = bounds
        self.n_components_ = len(components)
        self.maps_ = [
            ThroughLandmarks(LocalExtension(KernelLandmarks(kernel, rows), self.n_neighbors), Z)
            for rows, Z in zip(checked, self.embeddings_, strict=True)
        ]
        return self

    def transform(self, X: Any, *, of: int) -> Floats:
        """Map rows of one of the sets, known or new, into the common space.

        Parameters
        ----------
        X : array of shape (n, d)
        of : int
            Number of the set they belong to.

        Returns
        -------
        ndarray of shape (n, n_components_)
        """
        check_is_fitted(self)
        learned = self._find_map(of)
        X = validation.check_input(X, f"rows of set {of}", accept_sparse="csr")
        expected = learned.extension.landmarks.rows.shape[1]
        if X.shape[1] != expected:
            raise InputError(f"X has {X.shape[1]} columns, but set {of} has {expected}.")
        return cast("Floats", learned.apply(X))

    def retrieve(self, X: Any, *, of: int, among: int, n: int = 5) -> tuple[Floats, Integers]:
        """Find the nearest rows of another set (or of the same) in the common space.

        Parameters
        ----------
        X : array of shape (n_queries, d)
        of, among : int
            Numbers of the set that the queries belong to, and of the one to look in.
        n : int, default=5

        Returns
        -------
        distances : ndarray of shape (n_queries, n)
        rows : int ndarray of shape (n_queries, n)
            Row numbers within that set, the nearest first.
        """
        queries = self.transform(X, of=of)
        self._find_map(among)  # an error if there is none
        n = min(n, len(self.embeddings_[among]))
        index = NearestNeighbors(n_neighbors=n, algorithm="brute").fit(self.embeddings_[among])
        with one_blas_thread():
            distances, rows = index.kneighbors(queries)
        return distances, rows

    @one_blas_thread()
    def _find_cross_edges(self, sets: list[Rows]) -> Any:
        """Sparse adjacency of near rows of different sets, with weight one, over all rows."""
        widths = {rows.shape[1] for rows in sets}
        if len(widths) > 1:
            raise InputError(
                f"cross_neighbors={self.cross_neighbors} compares rows of different sets, but "
                f"these have {sorted(widths)} columns: use cross_neighbors=0."
            )
        prepared = [normalize_rows(rows) if self.metric == "cosine" else rows for rows in sets]
        starts = np.concatenate([[0], np.cumsum([rows.shape[0] for rows in sets])])
        first, second = [], []
        for of, among in permutations(range(len(sets)), 2):
            k = min(self.cross_neighbors, sets[among].shape[0])
            origin = middle(prepared[among])
            others, own = (centre(prepared[number], origin) for number in (among, of))
            index = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(others)
            nearest = index.kneighbors(own, return_distance=False)
            first.append(starts[of] + np.repeat(np.arange(len(nearest)), k))
            second.append(starts[among] + nearest.ravel())
        ends = np.array([np.concatenate(first), np.concatenate(second)])
        edges = sp.csr_array((np.ones(ends.shape[1]), tuple(ends)), shape=(starts[-1],) * 2)
        edges = edges + edges.T
        edges.data[:] = 1
        return edges

    def _find_map(self, number: int) -> ThroughLandmarks:
        if not 0 <= number < len(self.maps_):
            raise InputError(f"there is no set {number}: they are 0 to {len(self.maps_) - 1}.")
        return self.maps_[number]
