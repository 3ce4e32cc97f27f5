"""Learners for rows of dask arrays and data frames, on one machine or a cluster.

Each is the learner of the same name without "Dask", and gives the same metric. Rows stay on the
workers, which make the sums over them; rows that are named in pairs, landmarks and labels come to
this process. So do the 5000 rows that DaskMetricLearner learns from, all if there are no more.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import _clone_parametrized
from sklearn.utils.validation import check_is_fitted

from nearkin.errors import InputError, InputTypeError, explain_missing_package

with explain_missing_package("rows of dask need dask", "dask"):
    import dask
    import dask.array as da

from nearkin._types import Floats
from nearkin.learners.base import MetricMixin
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import check_roles
from nearkin.registry import LEARNERS
from nearkin.rows.dask_rows import DaskRows, explain_failures, find_client, is_dask
from nearkin.rows.distances import rowwise_distances
from nearkin.scores import score_order
from nearkin.scores.verdicts import Prevalence
from nearkin.storage.files import StrPath

_LEARNERS = [learner for learner in LEARNERS if learner.elsewhere]
__all__ = ["DaskMetric", "DaskRows", *(f"Dask{learner.name}" for learner in _LEARNERS)]


_EXAMPLES = """

    Examples
    --------
    >>> import dask.array as da
    >>> import nearkin as nk
    >>> from nearkin.dask import Dask{name}
    >>> X, y = nk.datasets.make_three_normal(random_state=0)
    >>> rows = da.from_array(X, chunks=(100, 2))
    >>> metric = Dask{name}().fit(rows, y)
    >>> metric.transform(rows).chunks[0]  # not computed yet
    (100, 100, 100, 100, 100, 100)
    >>> len(metric.pair_distance(rows[:9], rows[9:18]).compute())
    9
    >>> metric.calibrate(rows, y).score(rows, y) > 0.5
    True
    >>> len(metric.get_feature_names_out()) == metric.n_components_
    True
    >>> type(metric.to_local()) is nk.{name}  # metric.save(path) stores that one
    True
    """


class DaskMetric(MetricMixin, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """What learners for dask add to a learner: methods that take dask collections, too."""

    _learner: ClassVar[type[Any]]
    client: Any

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn from pairs, labels or both.

        Parameters
        ----------
        X : dask array of shape (n, d) or dask data frame
            In chunks of rows whose sizes are known. It is passed over a few times:
            ``X.persist()`` first, if the workers' memory has room.
        y : array of shape (n,), dask array or dask series, optional
            Labels; negative means unknown. They come to this process.
        pairs : Pairs, optional
            Pairs of rows of X.
        """
        params = self.get_params(deep=False)
        client = params.pop("client")
        rows = DaskRows(X, client=client)
        local = self._learner(**params).fit(rows, self._fetch_labels(y), pairs=pairs)
        self.__dict__.update(vars(local))
        return self

    def transform(self, X: Any) -> Any:
        """Embed rows of a dask array or data frame, or of an array.

        The result of shape (n, n_components_) is a dask array, not computed yet, in chunks of the
        same rows (for a data frame, of sizes not known yet); or an ndarray for an array.
        """
        with config_context(transform_output="default"):
            return super().transform(self._open_rows(X))

    def pair_distance(self, X_a: Any, X_b: Any) -> Any:
        """Learned distance between two sets row by row; a dask array is not computed yet."""
        if not (is_dask(X_a) or is_dask(X_b)):
            return super().pair_distance(X_a, X_b)
        if not (is_dask(X_a) and is_dask(X_b)):
            raise InputTypeError(
                f"X_a is of type {type(X_a).__name__} and X_b of type {type(X_b).__name__}: give "
                "two dask collections or two arrays."
            )
        Z_a, Z_b = self.transform(X_a), self.transform(X_b)
        if Z_a.chunks[0] != Z_b.chunks[0] or np.isnan(Z_a.shape[0]):
            if np.isnan(Z_a.shape[0]) or np.isnan(Z_b.shape[0]):
                raise InputError(
                    "the sizes of chunks are not known, so that rows cannot be compared one by "
                    "one: call X.compute_chunk_sizes() first, or X.to_dask_array(lengths=True)."
                )
            if len(Z_a) != len(Z_b):
                raise InputError(
                    f"pair_distance compares row by row, but X_a has {len(Z_a)} rows and X_b has "
                    f"{len(Z_b)}."
                )
            Z_b = Z_b.rechunk({0: Z_a.chunks[0]})
        dtype = np.result_type(Z_a.dtype, Z_b.dtype)
        empty = np.empty(0, dtype=dtype)
        return da.map_blocks(_row_distances, Z_a, Z_b, dtype=dtype, drop_axis=1, meta=empty)

    def calibrate(
        self, X: Any, y: Any = None, *, pairs: Pairs | None = None, prevalence: Prevalence = None
    ) -> Self:
        """Fit threshold and probabilities to pairs other than the metric was learned from.

        Only rows of the pairs come to this process.
        """
        return super().calibrate(
            self._open_rows(X), self._fetch_labels(y), pairs=pairs, prevalence=prevalence
        )

    def score(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> float:
        """Area under the ROC curve of telling same from different, as the local learner's.

        With labels the embedding of all rows comes to this process, with pairs only their rows.
        """
        if y is None or not is_dask(X):
            return super().score(self._open_rows(X), self._fetch_labels(y), pairs=pairs)
        y = self._fetch_labels(y)
        check_roles(y, pairs, triplets=True)
        return score_order(self._compute(self.transform(X)), y, pairs=pairs)

    def to_local(self) -> Any:
        """The learner without dask, such as KernelBeta, as if fitted to the rows in memory."""
        check_is_fitted(self)
        local = object.__new__(self._learner)
        local.__dict__ = {name: value for name, value in vars(self).items() if name != "client"}
        return local

    def save(self, path: StrPath, *, forget_names: bool = False) -> None:
        """Write the learner to a file, from which :func:`nearkin.load` gives the local one."""
        self.to_local().save(path, forget_names=forget_names)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that ``transform`` gives, as the local learner's."""
        return cast("NDArray[Any]", self.to_local().get_feature_names_out(input_features))

    @property
    def client_(self) -> Any:
        """The client in use; None if dask works without one."""
        return find_client(self.client)

    def _fetch_labels(self, y: Any) -> Any:
        return np.asarray(self._compute(y)) if is_dask(y) else y

    def _compute(self, collection: Any) -> Any:
        client = self.client_
        with explain_failures(client):
            return dask.compute(collection, scheduler=client)[0]

    def _open_rows(self, X: Any) -> Any:
        """Dask collections as DaskRows; other rows as they are."""
        return DaskRows(X, client=self.client) if is_dask(X) else X

    def _keep_some_rows(self, X: Any) -> None:
        """Do nothing: the local learner has seen the rows."""

    def _embed(self, X: Any) -> Floats:
        """Embedded rows (n, q) of an array; an error for dask collections."""
        if is_dask(X):
            raise InputTypeError(
                "distance and kernel_matrix make an array of all pairs of rows, from arrays only: "
                "give some rows, for example X[:100].compute(), or use pair_distance."
            )
        return super()._embed(X)

    def __sklearn_clone__(self) -> Self:
        # A client is a connection: the clone uses the same.
        bare = self.__copy__()
        bare.client = None
        found: Self = _clone_parametrized(bare)
        found.client = self.client
        return found

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(vars(self))
        return other

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "client": None}


DaskMetric.__doc__ = f"{DaskMetric.__doc__}{_EXAMPLES.format(name='ITML')}"


def _make_initialiser(learner: type[Any]) -> Any:
    """``__init__`` with the parameters of a learner and ``client``, as scikit-learn expects it."""
    known = inspect.signature(learner.__init__).parameters.values()
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    signature = inspect.Signature([*known, client])

    def __init__(self: Any, **params: Any) -> None:
        bound = signature.bind(self, **params)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def _make_class(name: str, home: str) -> type[DaskMetric]:
    text = f""":class:`{name}` for rows of dask arrays and data frames.

    Parameters
    ----------
    **params
        Those of :class:`{name}`.
    client : distributed.Client or None, default=None
        None is the client that dask would use, or dask's own threads where there is none.

    Attributes
    ----------
    client_ : distributed.Client or None
        In use.
    **attributes
        Those of :class:`{name}`.{_EXAMPLES.format(name=name)}"""

    learner = getattr(import_module(home), name)
    attributes = {
        "__doc__": text,
        "__module__": __name__,
        "__init__": _make_initialiser(learner),
        "_learner": learner,
    }
    return type(f"Dask{name}", (DaskMetric, learner), attributes)


if TYPE_CHECKING:
    DaskMetricLearner = DaskMetric
    DaskKernelBeta = DaskMetric
    DaskITML = DaskMetric
    DaskGMML = DaskMetric
    DaskColumnWeights = DaskMetric
    DaskCosineMetric = DaskMetric
    DaskPLDA = DaskMetric
    DaskGenerative = DaskMetric
    DaskRCA = DaskMetric
    DaskEuclidean = DaskMetric
else:
    for _learner in _LEARNERS:
        globals()[f"Dask{_learner.name}"] = _make_class(_learner.name, _learner.home)


def _row_distances(Z_a: Floats, Z_b: Floats) -> Floats:
    """Distances (n,) row by row between two blocks, in their common type."""
    return np.asarray(rowwise_distances(Z_a, Z_b), dtype=np.result_type(Z_a, Z_b))
