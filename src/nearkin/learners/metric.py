"""What every learned metric can do, given that it can embed rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats
from nearkin.errors import InputError, InputTypeError, few
from nearkin.learners.explaining import ExplainingMixin
from nearkin.learners.fitting import WholeState
from nearkin.learners.judging import JudgingMixin
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, check_roles
from nearkin.rows import access, backends, device_math, validation
from nearkin.rows.distances import rowwise_distances
from nearkin.rows.scaling import scaled
from nearkin.rows.sparse import is_sparse, plain
from nearkin.rows.validation import (
    frame_of,
    matrix_of_rows,
    n_rows_of,
    refuse_what_is_no_table,
    row_by_row,
    types_of_words,
)
from nearkin.scores import order_kept
from nearkin.spaces.maps import Map, after_scaling
from nearkin.storage import models as model_file
from nearkin.storage.files import StrPath


class MetricMixin(
    ExplainingMixin, JudgingMixin, WholeState, ClassNamePrefixFeaturesOutMixin, TransformerMixin
):
    """Distances and scores of a learner.

    The learner brings ``map_``, ``n_components_`` and ``threshold_``; ``_checked`` where it takes
    rows that others do not.

    A learned metric is a Euclidean embedding: the distance between two rows is the Euclidean
    distance between their images under ``transform``.

    Attributes
    ----------
    map_ : map
        What was learned, see :mod:`nearkin.maps`.
    threshold_ : float
        Distance that best tells same from different, if both are equally frequent.
    sharpness_, far_sharpness_ : float
        How quickly :meth:`chance_same` falls with the distance, below and above the threshold.
    prevalence_ : float
        Share of pairs that are the same, as far as verdicts suppose: ½ after ``fit``.
    same_distance_ : float or None
        Median distance of the pairs known to be the same.
    table_ : TableEncoder
        Where X was a data frame with words: what makes numbers of it, and of new ones. All else is
        learned from these numbers; ``n_features_in_`` counts them.
    """

    # scikit-learn's metadata routing, where it is on, hands on the pairs without being asked to.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"pairs": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"pairs": True}
    # Whether rows are taken as they are, with words and gaps: if a transformer sees them first.
    _sees_any_rows = False
    # Whether sparse rows are taken, and in which order rows lie in memory: any, or C.
    _sparse: ClassVar[bool] = False
    _order: ClassVar[str | None] = None
    # Whether it is told who answered, and finds out who is right.
    _takes_answers: ClassVar[bool] = False
    map_: Map

    def transform(self, X: Any) -> Floats:
        """Embed rows; Euclidean distances between the results are the learned distances.

        Parameters
        ----------
        X : array of shape (n, d)
            Or what else ``fit`` takes: a sparse matrix, an array on a device, or rows that are
            read block by block. With a precomputed kernel, kernel values against all training
            rows.

        Returns
        -------
        ndarray of shape (n, n_components_)
            Where X is, and in its type. Sparse rows stay sparse under the Euclidean distance.

        Notes
        -----
        It is ``map_``, applied to rows that are checked first, by blocks on all cores: beyond
        input and output it needs about ten megabytes for each core. Steps of a chain hold what the
        one before has made of all rows.

        Examples
        --------
        >>> import nearkin as nk
        >>> X = [[0.0, 0.0], [0.0, 9.0], [5.0, 0.0], [5.0, 9.0]]
        >>> metric = nk.RCA().fit(X, pairs=nk.Pairs([(0, 1), (2, 3)]))  # the second column varies
        >>> metric.transform(X).shape
        (4, 2)
        """
        check_is_fitted(self)
        X = self._checked(X)
        if not backends.is_remote(X):
            found: Floats = self.map_.apply(X)
            return found
        wanted = _get_output_config("transform", self)["dense"]
        if wanted != "default":
            raise InputTypeError(
                f"transform of rows that are read block by block gives such rows, not data "
                f"frames of {wanted}: use set_output(transform='default')."
            )
        mapped: Floats = X.mapped(self.map_.apply, list(self.get_feature_names_out()))
        return mapped

    @matrix_of_rows
    def distance(self, X_a: Any, X_b: Any = None) -> Floats:
        """Learned distance between every row of one set and every row of another.

        Parameters
        ----------
        X_a : array of shape (n_a, d)
            Or one row, of shape (d,) or a Series of pandas. It has no axis in the result: of two
            rows that is a number.
        X_b : array of shape (n_b, d), optional
            ``X_a`` itself by default.

        Returns
        -------
        ndarray of shape (n_a, n_b)
            n_a × n_b numbers are held in memory.

        Examples
        --------
        >>> import nearkin as nk
        >>> X = [[0.0, 0.0], [3.0, 4.0]]
        >>> metric = nk.Euclidean().fit(X, pairs=nk.Pairs([(0, 1)]))
        >>> metric.distance(X)
        array([[0., 5.],
               [5., 0.]])
        >>> float(metric.distance(X[0], X[1]))
        5.0
        """
        Z_a, Z_b = self._embedded_both(X_a, X_b)
        return _in_their_type(device_math.distances(Z_a, Z_b), Z_a, Z_b)

    @row_by_row
    def pair_distance(self, X_a: Any, X_b: Any) -> Floats:
        """Learned distance between two sets row by row.

        Parameters
        ----------
        X_a, X_b : array of shape (n, d)
            Or one row, of shape (d,) or a Series of pandas, which is compared with all of the
            other's. Of two rows the result is a number.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import nearkin as nk
        >>> X = [[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]
        >>> metric = nk.Euclidean().fit(X, pairs=nk.Pairs([(0, 2)]))
        >>> metric.pair_distance(X[:2], X[1:])
        array([5.        , 4.24264069])
        """
        Z_a, Z_b = self._embedded_both(X_a, X_b)
        if Z_a.shape[0] != Z_b.shape[0]:
            raise InputError(
                f"pair_distance compares row by row, but X_a has {Z_a.shape[0]} rows and X_b has "
                f"{Z_b.shape[0]}. Use distance(X_a, X_b) for all pairs of rows."
            )
        return _in_their_type(rowwise_distances(Z_a, Z_b), Z_a, Z_b)

    @matrix_of_rows
    def kernel_matrix(self, X_a: Any, X_b: Any = None) -> Floats:
        """Learned kernel, the inner products of the embeddings.

        Parameters
        ----------
        X_a : array of shape (n_a, d)
            Or one row, of shape (d,) or a Series of pandas. It has no axis in the result: of two
            rows that is a number.
        X_b : array of shape (n_b, d), optional
            ``X_a`` itself by default.

        Returns
        -------
        ndarray of shape (n_a, n_b)

        Examples
        --------
        >>> import nearkin as nk
        >>> X = [[1.0, 0.0], [1.0, 2.0]]
        >>> nk.Euclidean().fit(X, pairs=nk.Pairs([(0, 1)])).kernel_matrix(X)
        array([[1., 1.],
               [1., 5.]])
        """
        Z_a, Z_b = self._embedded_both(X_a, X_b)
        product: Any = Z_a @ Z_b.T
        found: Floats = product.toarray() if is_sparse(product) else product
        return found

    def score(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> float:
        """Area under the ROC curve of telling same from different by the learned distance.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows, preferably not used in ``fit``.
        y : array of shape (n,), optional
            Labels; negative means unknown.
        pairs : Pairs, optional
            Pairs of rows of this X, with both must-links and cannot-links; or triplets.

        Returns
        -------
        float
            Between 0 and 1; see :func:`nearkin.scores.pair_auc`. For triplets, the share in the
            right order (:func:`nearkin.scores.triplets_kept`). If there are both pairs and
            triplets, the mean of the two scores, weighted by their total weights.

        Examples
        --------
        >>> import nearkin as nk
        >>> X, y = nk.datasets.make_xor(400, random_state=0)
        >>> metric = nk.KernelBeta(random_state=0).fit(X[:200], y[:200])
        >>> metric.score(X[200:], y[200:]) > 0.95
        True
        >>> metric.score(X, pairs=nk.Pairs.from_labels(y, 50, random_state=0)) > 0.95
        True
        """
        check_roles(y, pairs, triplets=True)
        if y is None and pairs is None:
            raise InputError(
                "nothing to judge by: give score(X, y) or score(X, pairs=pairs). For "
                "cross-validation by pairs, use nearkin.cross_validate or nearkin.grid_search: "
                "scikit-learn's functions give no pairs to score, unless "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        if not self._sees_any_rows:
            refuse_what_is_no_table(X)
        if y is None and pairs is not None and len(pairs):
            pairs.check_rows(n_rows_of(X))
            rows = pairs.points
            pairs = pairs.restrict(rows)
            return order_kept(self._embedded_rows(X, rows), pairs=pairs)
        return order_kept(self._embedded(X), y, pairs=pairs)

    def save(self, path: StrPath, *, forget_names: bool = False) -> None:
        """Write the fitted learner to a file that :func:`nearkin.load` reads.

        The file holds parameters and arrays, never code, and no more of the training data than
        the metric needs: landmarks are rows of it (:func:`nearkin.model_file.describe` says how
        many). A file that is there already is replaced once the new one is complete.

        Parameters
        ----------
        path : path
            By custom with the ending ``.nearkin``.
        forget_names : bool, default=False
            Leave out the names of the columns.

        Raises
        ------
        StorageError
            If the learner holds what cannot be stored, such as a function as its kernel.

        Examples
        --------
        >>> import tempfile, nearkin
        >>> X, y = nearkin.datasets.make_xor(100, random_state=0)
        >>> metric = nearkin.KernelBeta(n_landmarks=20, random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     metric.save(f"{folder}/xor.nearkin")
        ...     loaded = nearkin.load(f"{folder}/xor.nearkin")
        >>> (loaded.transform(X) == metric.transform(X)).all()
        np.True_
        """
        check_is_fitted(self)
        if forget_names and hasattr(self, "table_"):
            raise InputError(
                "forget_names=True: columns of a table with words are known by their names, "
                "without which the model could not be used."
            )
        model_file.save(self, path, forget_names=forget_names)

    def _encoded(self, X: Any, *, reset: bool) -> Any:
        """A table as ``table_`` makes numbers of it; rows of numbers as they are.

        In ``fit`` a data frame with words has a ``table_`` made for it, and any data frame if the
        learner was given a ``table``.
        """
        if reset:
            given = getattr(self, "table", None)
            if frame_of(X) is None or (given is None and not types_of_words(X)):
                return X
            if getattr(self, "kernel", None) == "precomputed":
                return X
            from nearkin.tables.encoder import TableEncoder  # with much of scikit-learn

            self.table_ = TableEncoder() if given is None else clone(given)
            return plain(self.table_.fit_transform(X))
        table = getattr(self, "table_", None)
        if table is None:
            return X
        if frame_of(X) is not None:
            return plain(table.transform(X))
        if isinstance(X, np.ndarray) and X.dtype.kind in "OUS":
            raise InputError(
                f"X has no names of columns, by which {type(self).__name__} knows them: give a "
                f"data frame with the columns {few(map(repr, table.columns_))}."
            )
        return X

    def _checked(self, X: Any, *, reset: bool = False) -> Any:
        """Rows as they are given, which the learner can take: ``reset`` in ``fit``."""
        return validation.validated(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if self._sparse else False,
            order=self._order,
            ensure_min_samples=2 if reset else 1,
        )

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """Rows as the learner sees them, checked and with their columns divided."""
        return scaled(self, self._checked(X, reset=reset), reset=reset)

    def _embedded_rows(self, X: Any, rows: NDArray[np.integer]) -> Any:
        """Embedding of some rows of an X that is not checked yet, as a plain array."""
        if backends.is_remote(X):  # whose names of columns the rows alone would not have
            return self.map_.apply(self._checked(X).take(rows))
        return self._embedded(access.take(X, rows))

    def _embedded(self, X: Any) -> Floats:
        """Embedding as a plain array, whatever ``set_output`` asks ``transform`` for."""
        check_is_fitted(self)
        X = self._checked(X)
        if backends.is_remote(X):
            raise InputTypeError(
                "distances and scores take arrays, not rows that are read block by block: give "
                "some of them, for example rows.take(numbers), or blocks of transform(rows)."
            )
        Z = self.map_.apply(X)
        found: Floats = Z if backends.is_foreign(Z) else plain(Z)
        return found

    def _embedded_both(self, X_a: Any, X_b: Any) -> tuple[Floats, Floats]:
        """Embeddings of two sets of rows that are in one place; the first again if X_b is None."""
        Z_a = self._embedded(X_a)
        Z_b = Z_a if X_b is None else self._embedded(X_b)
        if backends.home(Z_a) != backends.home(Z_b):
            raise InputError(
                f"X_a is an array of {backends.home(Z_a) or 'NumPy'} and X_b one of "
                f"{backends.home(Z_b) or 'NumPy'}: bring both to one place."
            )
        return Z_a, Z_b

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _keep(
        self,
        learned: Map,
        X: Any,
        evidence: Evidence,
        rng: np.random.RandomState,
        embedding: Any = None,
    ) -> None:
        """Keep the map that was learned from X as the learner sees it, and find its threshold.

        The embedding of all rows saves another one of some.
        """

        def embedded(X: Any, rows: NDArray[np.integer]) -> Any:
            return learned.apply(access.take(X, rows)) if embedding is None else embedding[rows]

        self.map_ = after_scaling(self.column_scale_, learned)
        self._calibrate(X, evidence, rng, embedded)


def opened(learner: Any, X: Any, y: Any, pairs: Pairs | None) -> Any:
    """X for ``fit``: of blocks that can be read only once, what one pass can keep."""
    if not getattr(X, "is_read_once", False):
        return X
    if y is not None:
        raise InputError(
            "labels need a second pass over the rows, but these can be read only once. Give a list "
            "of blocks, or a function that returns a new iterable of them."
        )
    points = pairs.points if isinstance(pairs, Pairs) else np.empty(0, dtype=np.int64)
    landmarks = getattr(learner, "landmarks", "random")
    if not isinstance(landmarks, str):  # row numbers
        points = np.union1d(points, np.asarray(landmarks)).astype(np.int64)
    return X.gathered(points, random_state=learner.random_state)


def _in_their_type(distances: Any, Z_a: Any, Z_b: Any) -> Floats:
    found: Floats = backends.as_type(
        distances, backends.namespace(Z_a).result_type(Z_a.dtype, Z_b.dtype)
    )
    return found
