"""Generative: where the classes' densities bend tells which metric serves neighbours best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats, Integers, Rng
from nearkin.errors import InputError, InputTypeError
from nearkin.learners.base import MetricMixin, gather_read_once, replace_state, stored_learner
from nearkin.learners.parameters import Count, Share, UsualParameters, with_parameters
from nearkin.pairs.closure import find_chunklets, spread_labels
from nearkin.pairs.labels import name_classes
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, gather_evidence
from nearkin.rows import access, backends, device_math
from nearkin.rows.parallel import one_blas_thread
from nearkin.rows.sparse import MOST_COLUMNS
from nearkin.solvers.class_gaussians import ClassModels, fit_class_models
from nearkin.solvers.local_metrics import (
    count_rows_to_average,
    density_weighted_metric,
    draw_rows,
    kernel_density_weights,
    local_neighbors,
    majority_vote,
    mean_metric_at,
    mixture_density_weights,
    predict_left_out_classes,
)
from nearkin.spaces.linalg import leading_components
from nearkin.spaces.maps import Affine
from nearkin.storage.schema import a, floats, ints, labels, maybe, training_rows, truth, whole

# Share of the identity in the metric at a point, where that finds neighbours. Chosen by hand.
_LOCAL_INTERPOLATION = 0.7
# Principal axes that an error proposes in place of very many columns.
_AXES_TO_TRY = 100


def infer_classes(evidence: Evidence) -> tuple[Integers, Integers]:
    """Return the numbers of the rows whose class is known, increasing, and their class numbers.

    Rows that must-links tie to rows of one labelled class belong to it. If labels name less than
    two classes, each group of rows tied by must-links is a class as well. Labels win where
    must-links join different ones, and rows without a label that are tied to several are left out,
    as are groups without any label beside two labelled classes: they may be of these. Fewer than
    two classes are refused. Class numbers are those of the labels.
    """
    labels = evidence.classes
    if labels is not None and labels.max(initial=-1) >= 1:
        classes = spread_labels(labels, evidence.pairs.groups)
        known = np.flatnonzero(classes >= 0)
        return known, classes[known]
    rows, group = find_chunklets(evidence.pairs.must_link, labels)
    order = np.argsort(rows)
    n_classes = len(np.unique(group))
    if n_classes < 2:
        found = "labels of one class" if labels is not None else "one group of linked rows"
        raise InputError(
            "Generative learns from what tells classes apart and needs at least two classes, but "
            f"{found if n_classes else 'none'} was given: give labels of two classes, or "
            "must-links that form two groups."
        )
    return rows[order], np.unique(group[order], return_inverse=True)[1]


@stored_learner(
    metric_=floats("d d"),
    components_=floats("q d"),
    mean_=floats("d"),
    classes_=labels("c"),
    models_=a("ClassModels"),
    weights_=maybe(floats("n")),
    n_iter_=whole,
    _rows=ints("k"),
    _known=training_rows("k d", may_be_none=True),  # none of rows that were read in blocks
    _classes=ints("k", below="c"),
    _metric_at_each_row=truth,
)
@with_parameters
class Generative(MetricMixin, UsualParameters, BaseEstimator):
    r"""A linear metric from Gaussian models of the classes, in closed form.

    At every row there is a metric under which the nearest neighbours' vote is least biased, given
    how the densities of the classes bend there. Their mean is learned. Nothing is optimised over
    pairs of rows, so that it is fast.

    Parameters
    ----------
    combine : {"uniform", "gmm", "kde", "local"}, default="uniform"
        How the local metrics become one. ``"uniform"``: their mean, M^UNI of the paper. ``"gmm"``
        and ``"kde"``: weighted by the density of the rows, by a mixture of Gaussians or by
        kernels, under the learned metric itself. ``"local"``: not at all; ``predict`` and
        ``kneighbors`` use the metric at each new row, GLM^INT of the paper, and ``transform`` the
        mean.
    covariance : {"shrunk", "full", "shared"}, default="shrunk"
        Covariances of the classes: each as far towards that within all classes as makes rows that
        were left out likeliest; each on its own; or one for all.
    regularization : "auto" or float in [0, 1], default="auto"
        Share of a multiple of the identity in each covariance; ``"auto"`` is
        ``0.1 d / (0.1 d + n_c)`` for a class of :math:`n_c` rows.
    interpolation : float in [0, 1] or None, default=None
        Share of the identity in every local metric. None is 0, and 0.7 for ``"local"``.
    n_iter : int, default=20
        Most rounds of weighting and learning for ``"gmm"`` and ``"kde"``.
    n_neighbors : int, default=5
        Neighbours that vote in ``predict``, and in the rounds of ``"gmm"``.
    n_components, scale
        As in :class:`ITML`.
    random_state : int, RandomState or None, default=None
        Draws rows for the density of ``"kde"``, and pairs for ``threshold_``.

    Attributes
    ----------
    metric_ : ndarray of shape (d, d)
        Squared distances are ``(x − x') @ metric_ @ (x − x')``, if all components are kept.
    components_, mean_
        As in :class:`ITML`.
    classes_ : ndarray of shape (c,)
        Labels of the classes; numbers from 0 where they are groups of linked rows.
    models_ : ClassModels
        Gaussians, in the order of ``classes_``.
    weights_ : ndarray of shape (n,)
        With ``"gmm"`` and ``"kde"``: share of each row in the metric, 0 where its class is not
        known.
    n_iter_ : int
        Rounds done; 1 for ``"uniform"`` and ``"local"``.
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Euclidean`; other attributes are of the divided columns.

    References
    ----------
    Y. Shi, Y.-K. Noh, F. Sha, D. D. Lee. Learning discriminative metrics via generative models and
    kernel learning. 2011.

    Notes
    -----
    :mod:`nearkin.solvers.local_metrics` and :mod:`nearkin.solvers.class_gaussians` state the
    mathematics. Rows whose class is unknown are not used. Without labels of two classes, groups of
    rows tied by must-links are the classes. Cannot-links serve ``threshold_`` only.

    Differences from the paper: covariances are regularised, from the data alone; eigenvalues of a
    local metric have a floor; where no metric is free of bias the least biased is taken; classes
    of the ``"gmm"`` mixture and the bandwidth of ``"kde"`` come from the other training rows, not
    from validation rows; rounds end when the metric is at rest.

    O(n d³ + n c d²) time for n rows of known class, on all cores, and O(c d²) memory beside a copy
    of these rows that is kept for ``predict``. Where that would take minutes, the mean of
    ``"uniform"`` and ``"local"`` is that of a random sample of rows: of 8000 or so for 100 classes
    and 30 columns, never of fewer than 300. ``"kde"`` adds O(n min(n, 5000)) time to each round,
    ``"gmm"`` the search for neighbours; ``predict`` of ``"local"`` takes O(n d²) time a row. Of
    labelled rows in files (:func:`nearkin.open_rows`) none is kept: there is no ``predict``.

    Examples
    --------
    >>> from nearkin import Generative
    >>> from nearkin.datasets import make_three_normal
    >>> X, y = make_three_normal(random_state=0)
    >>> metric = Generative(random_state=0).fit(X, y)
    >>> metric.score(X, y) > 0.75
    True
    >>> float((metric.predict(X) == y).mean()) > 0.9
    True
    """

    _array_api: ClassVar[bool] = True
    _remote: ClassVar[bool] = True

    combine: Literal["uniform", "gmm", "kde", "local"] = "uniform"
    covariance: Literal["shrunk", "full", "shared"] = "shrunk"
    regularization: Literal["auto"] | Share = "auto"
    interpolation: Share | None = None
    n_iter: Count = 20
    n_neighbors: Count = 5

    @replace_state
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn from labels, must-links or both.

        Parameters
        ----------
        X : array of shape (n, d)
            Of at most 1000 columns: the models have d² numbers for each class.
        y : array of shape (n,), optional
            Labels; negative means unknown.
        pairs : Pairs, optional
        """
        X = gather_read_once(self, X, y, pairs)
        X = self._check_and_scale(X, reset=True)
        n, d = X.shape
        if d > MOST_COLUMNS:
            raise InputError(
                f"X has {d} columns, and Generative keeps a matrix of so many rows and columns for "
                f"every class: it takes {MOST_COLUMNS} columns at most. Reduce them first, such as "
                f"by Chain([PCA({min(_AXES_TO_TRY, n - 1)}), Generative()]) with scikit-learn's "
                "PCA."
            )
        rng = check_random_state(self.random_state)
        evidence = gather_evidence(X.shape[0], y, pairs)
        rows, classes = infer_classes(evidence)
        self.classes_ = name_classes(y, evidence.classes, int(classes.max()) + 1)
        if backends.is_remote(X) and evidence.classes is not None:  # perhaps all rows are known
            self._refuse_other_than_uniform("arrays", "labelled rows that are read block by block")
            known = X
            of_all = np.full(X.shape[0], -1)
            of_all[rows] = classes
            rows, classes = rows[:0], of_all  # no row is kept
        elif backends.is_foreign(X):
            self._refuse_other_than_uniform("NumPy arrays", f"one of {backends.describe_place(X)}")
            known = access.take(X, rows)
        else:
            known = access.take(X, rows).astype(np.float64)
        if backends.is_foreign(X) or backends.is_remote(X):
            mean, covariance = access.moments(X)
            covariance *= X.shape[0] / (X.shape[0] - 1)
        else:
            mean = X.mean(axis=0, dtype=np.float64)
            covariance = np.cov(X, rowvar=False, dtype=np.float64).reshape(len(mean), -1)
        models = self._fit_models(known, classes)
        centred = replace(models, means=models.means - mean)
        interpolation = self._get_interpolation()
        n_rounds = 1
        weights = None
        if self.combine in ("gmm", "kde"):
            density = self._choose_density(known, classes, rng)
            metric, weights, n_rounds = density_weighted_metric(
                known - mean, centred, density, interpolation, self.n_iter
            )
        else:
            some = known
            if isinstance(known, np.ndarray):
                some = known[draw_rows(len(known), count_rows_to_average(models), rng)]
            metric = mean_metric_at(some, classes, mean, centred, interpolation)

        self.metric_ = metric
        self.components_ = leading_components(metric, covariance, self.n_components)
        self.mean_ = mean
        self.models_ = models
        self.n_iter_ = n_rounds
        self.n_components_ = len(self.components_)
        if weights is not None:
            self.weights_ = np.zeros(len(X))
            self.weights_[rows] = weights
        self._rows = rows
        self._known = access.take(X, rows)
        self._classes = classes[: len(rows)]
        self._metric_at_each_row = self.combine == "local"
        self._keep(Affine(self.components_, mean), X, evidence, rng)
        return self

    def kneighbors(self, X: Any, n_neighbors: int | None = None) -> tuple[Floats, Integers]:
        """Nearest training rows of known class: distances and row numbers of shape (n, k).

        Parameters
        ----------
        X : array of shape (n, d)
        n_neighbors : int, optional
            k, the learner's own by default; all rows if there are fewer.

        Returns
        -------
        distances, rows : ndarray
            Nearest first; under the metric at each row of X with ``combine="local"``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from nearkin import Generative
        >>> X, y = load_iris(return_X_y=True)
        >>> distances, rows = Generative().fit(X, y).kneighbors(X[:1], n_neighbors=3)
        >>> rows.shape, int(rows[0, 0])  # a row is nearest to itself
        ((1, 3), 0)
        """
        distances, positions = self._neighbors(X, n_neighbors)
        return distances, device_math.gather(backends.move_to(self._rows, positions), positions)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row by the vote of the nearest training rows of known class.

        Of equally frequent classes it is that of the nearest row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from nearkin import Generative
        >>> X, y = load_iris(return_X_y=True)
        >>> Generative().fit(X[::2], y[::2]).predict(X[[1, 75, 149]])
        array([0, 1, 2])
        """
        _, positions = self._neighbors(X, None)
        voted = majority_vote(self._classes[backends.to_numpy(positions)])
        return cast("NDArray[Any]", device_math.look_up_labels(self.classes_, voted, positions))

    @one_blas_thread()
    def _neighbors(self, X: Any, n_neighbors: int | None) -> tuple[Floats, Integers]:
        """Distances to the k nearest stored rows, and their positions, both of shape (n, k)."""
        check_is_fitted(self)
        X = self._check_and_scale(X, reset=False)
        if self._known.shape[0] == 0:
            raise InputError(
                "the metric was learned from rows that were read block by block, of which none is "
                "kept: look for neighbours with NeighborIndex(metric), among rows you give it."
            )
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        if wanted < 1:
            raise InputError(f"n_neighbors={wanted} must be at least 1.")
        k = min(wanted, self._known.shape[0])
        if self._metric_at_each_row:
            if backends.is_foreign(X):
                self._refuse_other_than_uniform(
                    "NumPy arrays", f"one of {backends.describe_place(X)}"
                )
            return local_neighbors(X, self._known, self.models_, self._get_interpolation(), k)
        learned = Affine(self.components_, self.mean_)
        known = backends.move_kept(self._known, X)
        if backends.is_foreign(X):
            known = backends.as_type(known, X.dtype)
        Z, known = learned.apply(X), learned.apply(known)
        if backends.is_foreign(X):
            squared, positions = device_math.find_nearest_rows(Z, known, k)
            xp = backends.namespace(X)
            return xp.astype(xp.sqrt(squared), X.dtype), positions
        distances, positions = NearestNeighbors(n_neighbors=k).fit(known).kneighbors(Z)
        return distances.astype(X.dtype), positions

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if "_known" in state:  # devices differ from machine to machine
            state["_known"] = backends.to_host(state["_known"])
        return state

    def _fit_models(self, X: Floats, classes: Integers) -> ClassModels:
        return fit_class_models(
            X, classes, covariance=self.covariance, regularization=self.regularization
        )

    def _refuse_other_than_uniform(self, taken: str, given: str) -> None:
        """Refuse rows on devices or in files (``given``) unless ``combine`` is "uniform"."""
        if self.combine != "uniform":
            raise InputTypeError(
                f"combine={self.combine!r} takes {taken} only, got {given}: use combine='uniform' "
                "there."
            )

    def _get_interpolation(self) -> float:
        """Share of the identity in local metrics: as given, or the default of ``combine``."""
        if self.interpolation is None:
            return _LOCAL_INTERPOLATION if self.combine == "local" else 0.0
        return float(self.interpolation)

    def _choose_density(self, X: Floats, classes: Integers, rng: Rng) -> Callable[[Floats], Floats]:
        """Return a function from mapped rows to weights (n,): the density by "gmm" or "kde"."""
        if self.combine == "kde":
            rank = max(1, int(np.linalg.matrix_rank(X - X[0])))
            seed = rng.randint(2**31)
            # The same rows in every round, so that the metric can come to rest.
            return lambda Z: kernel_density_weights(Z, rank, np.random.RandomState(seed))

        def by_mixture(Z: Floats) -> Floats:
            voted = predict_left_out_classes(Z, classes, self.n_neighbors)
            voted = np.unique(voted, return_inverse=True)[1]
            return mixture_density_weights(X, self._fit_models(X, voted))

        return by_mixture
