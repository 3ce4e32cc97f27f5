"""GeometryAware: a metric on the manifold that the data lie on, from few pairs."""

from __future__ import annotations

from numbers import Real
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import Interval, StrOptions

from nearkin._types import Floats, Integers, Rng
from nearkin.errors import InputError
from nearkin.learners.base import MetricMixin, stored_learner
from nearkin.learners.fit_steps import call_once
from nearkin.learners.parameters import (
    Count,
    KernelParameters,
    NotNegative,
    Positive,
    with_parameters,
)
from nearkin.messages import notice
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, draw_example_pairs
from nearkin.rows.sparse import to_dense
from nearkin.scores.held_out import average_precision, make_pair_folds, rank_among
from nearkin.solvers import logdet
from nearkin.solvers.kernel_families import (
    DataDependentFamily,
    RbfFamily,
    SomeFamily,
    SpectralFamily,
    alternate,
    learn_width_for_pairs,
)
from nearkin.solvers.stress import all_squared_distances
from nearkin.spaces import graph
from nearkin.spaces.bent_functions import find_bent_functions
from nearkin.spaces.feature_space import (
    Extension,
    KernelExpansion,
    LocalExtension,
    choose_landmark_rows,
    find_feature_space,
)
from nearkin.spaces.kernels import KERNEL_NAMES, Kernel, KernelFunction, Rows, bind_kernel
from nearkin.spaces.landmarks import KernelLandmarks, choose_landmarks
from nearkin.spaces.linalg import leading_coordinates
from nearkin.spaces.maps import ThroughLandmarks
from nearkin.spaces.neighbors import SearchMode
from nearkin.storage.schema import floats, maybe, numbers, positive, real, tuple_of, whole

# Rows that the learned width is judged by as a rule: bounds memory and time, not tuned.
_WIDTH_POINTS = 200
# Data-dependent family: eigenvalue cut-off of the kernel and most landmarks. Chosen on MNIST and
# optdigits (benchmarks/papers/lu2009_geometry_aware); most coordinates of all rows bound memory.
_RANK_TOL, _MOST_LANDMARKS = 1e-4, 2000
_MOST_NUMBERS = 100_000_000
# Bounds on a graph, as percentiles of distances between random rows, from pairs of this weight on.
# Chosen on sets to tune on (benchmarks/papers/lu2009_geometry_aware, bounds): few pairs teach more
# by the wider ones, with many of them metrics end above their start.
_MANY_PAIRS = 100
_OF_MANY_PAIRS = (5, 95)
# Weights that a spectral kernel starts with at least, so that its logarithm is finite.
_LEAST_WEIGHT = 1e-12
# Parts that pairs are dealt into to see how many rounds pay: by custom.
_FOLDS = 5
# There is a warning where more than half of what was learned is of functions that sit on fewer rows
# than five, or one in a hundred; among fewer than 200 rows nobody can tell. Chosen by hand.
_FEW_ROWS, _SMALL_PART, _ENOUGH_ROWS = 5, 0.01, 200
_MOST_OF_IT = 0.5


class FewRowsWarning(UserWarning):
    """What was learned is mostly about a few rows."""


def find_smooth_functions(learner: Any, X: Rows, rng: Rng, W: Any = None) -> tuple[Floats, Floats]:
    """Roughness (r,), increasing, and functions (n, r) of rows that are smooth along the data.

    ``W`` is the graph of the rows, if it is there already.
    """
    if learner.coordinates == "lle":
        found = graph.lle_coordinates(X, learner.graph_neighbors, learner.n_vectors)
    elif learner.coordinates == "isomap":
        found = graph.isomap_coordinates(X, learner.graph_neighbors, learner.n_vectors)
    else:
        found = graph.smoothest_functions(
            _build_graph(learner, X, rng) if W is None else W,
            learner.n_vectors,
            normalized=learner.normalized,
            random_state=rng,
        )
        if len(found[0]) > 1 and found[0][-1] == 0 and len(found[0]) < X.shape[0]:
            notice(
                f"the graph falls into at least {len(found[0])} parts, and n_vectors="
                f"{learner.n_vectors} functions can tell no more than its largest parts apart. "
                "Raise n_vectors, or join more rows (graph_neighbors, radius)."
            )
    return found


def warn_of_few_rows(Z: Floats, *, can_normalize: bool) -> None:
    """Warn if learned distances mostly tell how far a few rows are from all others.

    Smooth functions may sit on rows that hang by few edges. No pair names these, so that nothing
    keeps the functions from being weighted most. Z, of shape (n, q), is the learned configuration
    along its principal axes; normalised functions, where they can be had, keep off such rows.
    """
    squares = (Z - Z.mean(axis=0)) ** 2
    total = squares.sum(axis=0)
    if not total.any():
        return
    # As many rows as would have a function's squares if these were equal there and 0 elsewhere.
    fourth = (squares**2).sum(axis=0)
    n_rows = np.divide(total**2, fourth, out=np.zeros_like(total), where=fourth > 0)
    narrow = n_rows < max(_FEW_ROWS, _SMALL_PART * len(Z))
    share = float(total[narrow].sum() / total.sum())
    if len(Z) < _ENOUGH_ROWS or share <= _MOST_OF_IT:
        return
    remedy = "Use normalized=True, or join" if can_normalize else "Join"
    notice(
        f"{share:.0%} of the spread of the learned distances is of functions that sit on a few of "
        f"{len(Z)} rows: distances mostly tell these rows from all others. {remedy} more rows "
        "(graph_neighbors).",
        FewRowsWarning,
    )


def _build_graph(learner: Any, X: Rows, rng: Rng) -> Any:
    """Build the learner's neighbour graph of the rows: by radius or nearest neighbours."""
    metric, weight = learner.metric, learner.edge_weight
    if learner.radius is not None:
        return graph.ball_graph(X, learner.radius, metric=metric, weight=weight)
    return graph.neighbor_graph(
        X,
        learner.graph_neighbors,
        metric=metric,
        weight=weight,
        mutual=learner.mutual,
        search=learner.search,
        random_state=rng,
    )


def choose_percentiles(links: Pairs) -> tuple[float, float]:
    """Percentiles of distances between random rows that are the bounds of a metric on a graph."""
    of_each = links.must_weight, links.cannot_weight, links.closer_weight, links.graded_weight
    weight = sum(float(weights.sum()) for weights in of_each)
    return _OF_MANY_PAIRS if weight >= _MANY_PAIRS else logdet.PERCENTILES


def count_gaining_rounds(
    family: SomeFamily,
    links: Pairs,
    bounds: tuple[float, float],
    slack: float,
    ends: Integers,
    *,
    most: int,
    rng: Rng,
) -> int:
    """Number of rounds of learning after which held-out pairs are not told apart any better.

    A round (:func:`nearkin.solvers.kernel_families.alternate`) is accepted if it raises the average
    precision of held-out pairs, in the mean over five folds, and the first that does not is the
    end. If the gain of all accepted rounds is within its standard error, the result is 0. Each
    held-out pair has a point that is in no pair learned from. ``bounds`` are not squared; ``ends``,
    of shape (2, k), are random pairs of rows that stand for a kind of pair that is missing.

    Average precision looks at the nearest pairs most, as nearest neighbours do: pair AUC goes on
    rising where errors of nearest neighbours have risen long since.

    It takes the time of one more round than are accepted, on each of five parts.
    """
    links = links.as_weak_pairs()
    pairs = np.concatenate([links.must_link, links.cannot_link])
    same = np.arange(len(pairs)) < len(links.must_link)
    folds = make_pair_folds(links, _FOLDS, rng, unseen="one")
    parts = [logdet.bound_pairs(links.subset(learn), bounds, slack) for learn, _ in folds]
    members = [family] * len(folds)

    def find_distances(B: Floats, left: Integers, right: Integers) -> Floats:
        Z = family.coordinates[left] - family.coordinates[right]
        return np.asarray(np.sqrt(np.maximum(np.einsum("kr,kr->k", Z @ B, Z), 0)))

    def score_folds(metrics: list[Floats]) -> Floats:
        found = []
        for B, (_, judge) in zip(metrics, folds, strict=True):
            rank = rank_among(find_distances(B, *pairs[judge].T), find_distances(B, *ends))
            found.append(average_precision(rank, same[judge]))
        return np.array(found)

    before = best = score_folds([family.prior] * len(folds))
    accepted = 0
    while folds and accepted < most:
        solved = [alternate(m, part, n_iter=1) for m, part in zip(members, parts, strict=True)]
        metrics = [found.solution.B for found in solved]
        after = score_folds(metrics)
        if after.mean() <= best.mean():
            break
        best, accepted = after, accepted + 1
        members = [m.nearest_to(B) for m, B in zip(members, metrics, strict=True)]
    gains = best - before
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0  # one fold has none
    return accepted if accepted and gains.mean() > error else 0


@stored_learner(
    n_vectors_=maybe(whole),
    eigenvalues_=maybe(floats("_")),
    weights_=maybe(floats("_")),
    gamma_=maybe(positive),
    bounds_=tuple_of(real, real),
    objective_=numbers("_"),
    n_iter_=whole,
    embedding_=floats("n q"),
)
@with_parameters
class GeometryAware(MetricMixin, KernelParameters, BaseEstimator):
    """Metric that follows the shape of the data, using unlabelled rows as well.

    A graph joins near rows. Functions that are smooth on it are the coordinates: along the data,
    not through the empty space between them. The metric is the nearest one to a kernel of such
    functions that keeps must-linked rows within a bound and cannot-linked ones beyond another;
    that kernel is learned too, within a family.

    Parameters
    ----------
    family : {"spectral", "data_dependent", "rbf"}, default="spectral"
        ``"spectral"``: sums of smooth functions, the smoother the more weight. New rows get their
        coordinates from their nearest training rows.
        ``"data_dependent"``: a kernel bent by a penalty on what is rough on the graph, along the
        functions of it that are smoothest. New rows get their coordinates from their nearest
        landmarks.
        ``"rbf"``: no graph, but an rbf kernel whose width is learned.
    n_vectors : int, default=20
        Smooth functions; all that there are if that is less. In the data-dependent family those of
        the graph, by which a penalty is learned, and those of the kernel.
    coordinates : {"laplacian", "lle", "isomap"}, default="laplacian"
        Where they come from: eigenvectors of the graph's Laplacian, locally linear embedding, or
        Isomap (O(n²) memory or more for these two).
    graph_neighbors : int, default=10
        Nearest others that each row is joined with.
    radius : float or None, default=None
        Join all rows up to this distance instead.
    metric : {"euclidean", "cosine"}, default="euclidean"
        What near means. ``"cosine"`` suits text and embeddings.
    edge_weight, mutual, search
        Of :func:`nearkin.spaces.graph.neighbor_graph`.
    normalized : bool, default=False
        Take the normalised Laplacian.
    diffusion : float, default=0.1
        t: the spectral family starts at the diffusion kernel, weights ``exp(-t · eigenvalue)``.
    slack : float, default=0.5
        γ: how much pairs count beside the kernel. ``inf`` makes the bounds strict.
    bounds : (float, float) or None, default=None
        Largest distance of must-links and smallest of cannot-links under the first kernel. None
        takes percentiles of distances between random rows: the 1st and the 90th, and in the
        families of a graph, from pairs of a weight of 100 on (50 labels), the 5th and the 95th.
    n_iter : int, default=20
        Most rounds of projecting onto the bounds and moving within the family. Without
        cannot-links the spectral family keeps its size, or all would shrink to one place.
    tol : float, default=1e-3
        Share of the objective below which a round is the last.
    stop : {"converged", "held_out"}, default="converged"
        ``"held_out"``: take a round only if pairs that are held out are told apart better after
        it, perhaps none; then learn anew from all. Not in the rbf family.
    beyond : float, default=1.0
        Data-dependent family: how many times as rough as the last smooth function all others
        count at the start.
    kernel, gamma, degree, coef0, n_landmarks, landmarks, rank_tol
        Of the data-dependent family, as in :class:`KernelBeta`, but for at most 2000 landmarks by
        default and a ``rank_tol`` of 0.0001. ``gamma`` is where the rbf family
        starts; ``n_landmarks`` the number of rows that its width is judged by, at most 200 by
        default, by up to 300 pairs of each kind. In the spectral family new rows get their
        coordinates from the landmarks among the rows of the graph: by default from every row.
    n_components, scale
        As in :class:`ITML`.
    n_neighbors : int, default=5
        Nearest training rows or landmarks that a new row is composed of (not in the rbf family).
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components_)
        Where the training rows lie in the learned space; ``transform`` gives the same. With
        ``n_landmarks``, where the m landmarks lie, and of shape ``(m, n_components_)``.
    objective_ : ndarray
        LogDet objective after each half round; it never rises.
    n_iter_, bounds_, n_vectors_
        In use.
    weights_, eigenvalues_ : ndarray of shape (n_vectors_,)
        Learned weights of the smooth functions (spectral family), and how rough they are (not in
        the rbf family).
    gamma_ : float
        Of the kernel, learned in the rbf family.
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Euclidean`; other attributes are of the divided columns.

    References
    ----------
    Z. Lu, P. Jain, I. S. Dhillon. Geometry-aware metric learning. ICML 2009.

    Notes
    -----
    The weights' order is restored exactly by isotonic regression, where the paper cycles through
    projections. In the data-dependent family rough functions are penalised more than smooth ones,
    and not less as eq. (5) has it. Labels act through pairs drawn from them.

    Triplets, the paper's relative constraints, are part of the problem as in :class:`ITML`; the
    width of the rbf family is chosen as if each were a weak must-link and a weak cannot-link.
    Graded pairs are held between the bounds as in :class:`ITML`; where rounds or a width are
    chosen, they count as what :meth:`nearkin.Pairs.as_weak_pairs` makes of them.

    O(n² d) time for the graph, O(n k r) for its eigenvectors (k neighbours, r vectors), O(r²) a
    pair and sweep for the rest; O(n (k + r)) memory. ``transform`` compares each row with all
    landmarks, which are all training rows unless ``n_landmarks`` says less: then a metric, and its
    file, have no more rows than that.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from nearkin import GeometryAware, Pairs
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> pairs = Pairs.from_labels(y, 20, random_state=0)
    >>> metric = GeometryAware(random_state=0).fit(X, pairs=pairs)
    >>> X_new, y_new = make_moons(100, noise=0.05, random_state=1)
    >>> metric.score(X_new, y_new) > 0.95
    True
    """

    _sparse: ClassVar[bool] = True
    _takes_triplets: ClassVar[bool] = True
    _takes_graded: ClassVar[bool] = True
    _order: ClassVar[str | None] = "C"  # of frames too: the last digits of sums would depend on it

    family: Literal["spectral", "data_dependent", "rbf"] = "spectral"
    n_vectors: Count = 20
    coordinates: Literal["laplacian", "lle", "isomap"] = "laplacian"
    graph_neighbors: Count = 10
    radius: Positive | None = None
    metric: graph.Metric = "euclidean"
    edge_weight: graph.Weight = "heat"
    mutual: bool = False
    search: SearchMode = "auto"
    normalized: bool = False
    diffusion: NotNegative = 0.1
    slack: float = 0.5
    bounds: tuple[float, float] | None = None
    n_iter: Count = 20
    tol: NotNegative = 1e-3
    stop: Literal["converged", "held_out"] = "converged"
    beyond: Annotated[float, Interval(Real, 1, None, closed="left")] = 1.0
    kernel: str | KernelFunction = "rbf"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **logdet.BOUNDS_CONSTRAINTS,
        # A graph needs rows, not kernel values.
        "kernel": [StrOptions(set(KERNEL_NAMES) - {"precomputed"}), callable],
    }

    def _learn_from(self, X: Rows, evidence: Evidence, rng: Rng) -> None:
        """Learn within the family, and embed the training rows or the landmarks."""
        links = draw_example_pairs(evidence, rng)
        if self.family == "spectral":
            extension, landmarks = self._learn_on_graph(X, links, rng)
        elif self.family == "data_dependent":
            extension, landmarks = self._learn_bent_kernel(X, links, rng)
        else:
            extension, landmarks = self._learn_width(X, links, rng)
        learned = ThroughLandmarks(extension, landmarks)
        self.n_components_ = landmarks.shape[1]
        # On the graph every row is a landmark, at its own place, unless there are to be fewer.
        on_graph = self.family == "spectral"
        if self.n_landmarks is not None:
            self.embedding_ = learned.apply(extension.landmarks.rows)
            self._keep(learned, X, evidence, rng)
            return
        self.embedding_ = landmarks.astype(X.dtype) if on_graph else learned.apply(X)
        if on_graph:
            warn_of_few_rows(landmarks, can_normalize=not self.normalized)
        self._keep(learned, X, evidence, rng, self.embedding_)

    def _learn_on_graph(self, X: Rows, links: Pairs, rng: Rng) -> tuple[Extension, Floats]:
        """Learn in the spectral family: return extension and coordinates of landmarks."""
        self.eigenvalues_, V = call_once(find_smooth_functions, self, X, rng)
        self.n_vectors_ = V.shape[1]
        V = graph.average_equal_rows(X, V, self.metric)
        unknown = np.full(len(V), -1)
        weights = graph.diffusion(self.eigenvalues_, V, unknown, time=self.diffusion)
        alone = len(links.cannot_link) == 0 and not (links.grades < 1).any()
        family = SpectralFamily(V, np.maximum(weights, _LEAST_WEIGHT), keeps_size=alone)
        family, B = self._solve(family, links, rng, self.n_iter)
        self.weights_ = family.weights
        kernel = Kernel("cosine" if self.metric == "cosine" else "linear")
        found = leading_coordinates(B, V, V, self.n_components)
        if self.n_landmarks is not None:
            rows = choose_landmark_rows(
                X, kernel, links.points, self.n_landmarks, self.landmarks, rng
            )
            X, found = X[rows], found[rows]
        return LocalExtension(KernelLandmarks(kernel, X), self.n_neighbors), found

    def _learn_bent_kernel(self, X: Rows, links: Pairs, rng: Rng) -> tuple[Extension, Floats]:
        """Learn in the data-dependent family: return extension and coefficients."""
        W = call_once(_build_graph, self, X, rng)
        self.eigenvalues_, V = call_once(find_smooth_functions, self, X, rng, W)
        self.n_vectors_ = V.shape[1]
        rank_tol = _RANK_TOL if self.rank_tol is None else float(self.rank_tol)
        few = clone(self)
        if self.n_landmarks is None and X.shape[0] > _MOST_LANDMARKS:
            few.n_landmarks = _MOST_LANDMARKS
        space = find_feature_space(few, X, links.points, rank_tol, rng)
        extension = space.extension("local", self.n_neighbors)
        directions = space.weighted_directions[:, : max(1, _MOST_NUMBERS // X.shape[0])]
        Phi = extension.embed(X, directions).astype(np.float64)
        # Of the kernel only where it is smoothest along the graph: that subspace, as it lies in S.
        L = graph.laplacian(W, normalized=self.normalized)
        smoothest = find_bent_functions(Phi, L, self.n_vectors)[1]
        basis = np.linalg.qr(smoothest)[0]
        directions, F = directions @ basis, Phi @ basis
        family = DataDependentFamily.on_graph(F, self.eigenvalues_, V, self.beyond)
        _, B = self._solve(family, links, rng, self.n_iter)
        self.gamma_ = space.kernel.gamma
        return extension, leading_coordinates(B, F, directions, self.n_components)

    def _learn_width(self, X: Rows, links: Pairs, rng: Rng) -> tuple[Extension, Floats]:
        """Learn the width of an rbf kernel from some rows: return extension and coefficients."""
        if self.stop == "held_out":
            raise InputError(
                'stop="held_out" counts rounds on a graph, and family="rbf" has none: take '
                'stop="converged", or another family.'
            )
        kernel = bind_kernel("rbf", X, gamma=self.gamma, random_state=rng)
        wanted = self.n_landmarks or min(X.shape[0], _WIDTH_POINTS)
        named = links.points
        if len(named) > wanted:
            named = np.sort(rng.choice(named, wanted, replace=False))
        rows = choose_landmarks(
            X, wanted, self.landmarks, kernel=kernel, include=named, random_state=rng
        )
        if len(rows) < 2:
            raise InputError(
                f"n_landmarks={self.n_landmarks} is one row, which has no distance to judge a "
                "width by: take 2 at least."
            )
        points = X[rows].astype(np.float64)
        squared = all_squared_distances(to_dense(points))
        links = links.restrict(rows)
        found = learn_width_for_pairs(squared, kernel.gamma, links.as_weak_pairs(), rng)
        family = RbfFamily(squared, found.family.gamma)
        _, B = self._solve(family, links, rng, n_iter=1)
        self.objective_, self.n_iter_ = found.objective, (len(found.objective) + 1) // 2
        self.gamma_ = family.gamma
        F, axes = family.coordinates, np.eye(len(rows) - 1)
        components = leading_coordinates(B, F, axes, self.n_components).T
        expansion = KernelExpansion(KernelLandmarks(Kernel("rbf", family.gamma), X[rows]))
        return expansion, family.coefficients(components)

    def _solve(
        self, family: SomeFamily, links: Pairs, rng: Rng, n_iter: int
    ) -> tuple[SomeFamily, Floats]:
        """Set bounds and objective; return the learned member of the family and its metric B."""
        ends = logdet.draw_random_pairs(len(family.coordinates), rng)
        percentiles = logdet.PERCENTILES if self.family == "rbf" else choose_percentiles(links)
        drawn = logdet.estimate_bounds(family.coordinates, ends, family.prior, percentiles)
        self.bounds_ = bounds = logdet.check_distance_bounds(self.bounds) or drawn
        if self.stop == "held_out":
            slack = float(self.slack)
            n_iter = count_gaining_rounds(family, links, bounds, slack, ends, most=n_iter, rng=rng)
        if n_iter == 0:
            self.objective_, self.n_iter_ = np.empty(0), 0
            return family, family.prior
        bounded = logdet.bound_pairs(links, bounds, self.slack)
        learned = alternate(family, bounded, n_iter=n_iter, tol=self.tol)
        logdet.warn_of_rounds(learned.solution, family.prior, learned.family.prior, "GeometryAware")
        self.objective_ = learned.objective
        self.n_iter_ = (len(learned.objective) + 1) // 2
        return learned.family, learned.solution.B
