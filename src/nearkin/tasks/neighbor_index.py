"""NeighborIndex: the nearest rows in a learned metric, and which rows are the same thing."""

from __future__ import annotations

import math
import os
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from nearkin.errors import InputError, InputTypeError, about_input
from nearkin.learners.compositions import last_learner
from nearkin.learners.fitting import WholeState
from nearkin.learners.steps import sees_any_rows
from nearkin.pairs.checks import checked_count, first_true
from nearkin.rows import access, validation
from nearkin.rows.given import refuse_gaps, refuse_what_is_no_table
from nearkin.rows.ids import Ids, are_distinct, checked_ids, with_new_ids
from nearkin.rows.notices import notice
from nearkin.rows.sparse import dense, is_sparse, plain
from nearkin.spaces.neighbor_cells import SEARCHES, Cells, Search, nearest_by_cells
from nearkin.spaces.neighbors import (
    by_first_row,
    joined,
    near_groups,
    nearest,
    within,
    without_itself,
)
from nearkin.storage.index_files import export_vectors, read_index, refusal, write_index
from nearkin.tasks.duplicate_radius import (
    MOST_NEIGHBORS,
    doubts,
    duplicate_radius,
    n_judged,
    near_pairs,
    radius_of_share,
)
from nearkin.tasks.mean_groups import mean_groups

Floats: TypeAlias = NDArray[np.floating]
Ints: TypeAlias = NDArray[np.int64]

# From this many rows on, "auto" is approximate.
_MANY_ROWS = 100_000
# Cells are made anew when more than this share of the rows came after them.
_LATER_ROWS = 1 / 16
# Rows that tell whether the metric is still the one they were added with: if they stay where they
# were, up to this share of their coordinates.
_WITNESSES = 3
_SAME_PLACE = 1e-5
_DTYPES = (np.float64, np.float32)


class NeighborIndex(WholeState, BaseEstimator):
    """Nearest neighbours in a learned metric.

    It keeps the embeddings of rows, with an id for each, and finds those nearest to new rows,
    those within a radius, and groups of rows that are the same thing. Distances are the metric's
    own, to the last bit that its vectors have; of rows equally far, the one added first is first.

    Parameters
    ----------
    metric : fitted learner, optional
        Any of the library's, or another fitted transformer, such as a pipeline whose last step is
        a learner. None takes rows as they are. Once it is fitted again, the index refuses to
        compare what it holds with new rows: make a new one.
    search : {"auto", "exact", "approximate"}, default="auto"
        Compare with all rows, or only with those in the cells nearest to the query, see
        :mod:`nearkin.spaces.neighbor_cells`. ``"auto"`` is exact below 100 000 rows.
    n_neighbors : int, default=10
        How many neighbours :meth:`query` gives by default.
    target_recall : float in (0, 1], default=0.98
        Share of the nearest that the approximate search is to find. It looks into as many cells as
        that takes on a sample of the rows; :meth:`recall` measures it on another.
    random_state : int, RandomState or None, default=None
        Seed of the cells, and of samples.

    Attributes
    ----------
    threshold_ : float or None
        The metric's: the distance up to which two rows are the same thing.

    Notes
    -----
    Memory: the embeddings, and the ids; a copy of the embeddings with the approximate search.
    Queries take O(n) time each, or O(√n) with the approximate search, in which :meth:`add` only
    stores: cells are made at the next query, and made anew once more than a sixteenth of the rows
    came after them. Till then later rows are all compared with.

    Examples
    --------
    >>> import nearkin as nk
    >>> X = [[0.0, 0.0], [0.0, 9.0], [5.0, 0.0], [5.0, 9.0]]
    >>> metric = nk.RCA().fit(X, pairs=nk.Pairs([(0, 1), (2, 3)]))
    >>> index = nk.NeighborIndex(metric).add(X, ids=["a", "b", "c", "d"])
    >>> distances, ids = index.query([[5.0, 4.0]], n_neighbors=2)
    >>> ids
    array([['c', 'd']], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [None, object],
        "search": [StrOptions(set(SEARCHES))],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "target_recall": [Interval(Real, 0, 1, closed="right")],
        "random_state": ["random_state"],
    }

    _vectors: list[Floats]
    _ids: list[Ids]
    _known: set[Any] | range | None
    _cells: Cells | None
    _witnesses: tuple[Any, Floats] | None

    def __init__(
        self,
        metric: Any = None,
        *,
        search: Search = "auto",
        n_neighbors: int = 10,
        target_recall: float = 0.98,
        random_state: Any = None,
    ) -> None:
        self.metric = metric
        self.search = search
        self.n_neighbors = n_neighbors
        self.target_recall = target_recall
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, ids: Any = None) -> Self:
        """Hold these rows, and no others. The metric is not fitted: it must be already.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            As the metric takes them.
        y : ignored
        ids : array of n int or str, optional
            Row numbers by default.

        Returns
        -------
        self
        """
        del y
        self._validate_params()
        vectors = self._new_rows(X)
        self._hold(vectors, checked_ids(ids, vectors.shape[0], 0, None), numbered=ids is None)
        self._witnesses = self._witnesses_among(X)
        return self

    def add(self, X: Any, ids: Any = None) -> Self:
        """Hold more rows.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            As the metric takes them.
        ids : array of n int or str, optional
            All of one kind, and none of them there already. By default row numbers, counted on.

        Returns
        -------
        self
        """
        if not len(self):
            return self.fit(X, ids=ids)
        self._validate_params()
        self._check_metric()
        vectors = self._new_rows(X)
        self._check_columns(vectors, "X")
        new = checked_ids(ids, vectors.shape[0], len(self), self._ids[0])
        if self._known is None:
            self._known = set(self.ids.tolist())
        self._known = with_new_ids(self._known, new, numbered=ids is None)
        self._vectors.append(self._stored_alike(vectors))
        self._ids.append(new)
        if self._witnesses is None:
            self._witnesses = self._witnesses_among(X)
        return self

    def query(self, X_new: Any, n_neighbors: int | None = None) -> tuple[Floats, Ids]:
        """Find the nearest rows of the index for each new row.

        Parameters
        ----------
        X_new : array, sparse matrix or frame of shape (m, d)
            A row that is in the index too finds itself first.
        n_neighbors : int, optional
            The index's own by default.

        Returns
        -------
        distances : ndarray of shape (m, n_neighbors)
            In the learned metric, the nearest first.
        ids : ndarray of shape (m, n_neighbors)

        Warns
        -----
        UserWarning
            If there are fewer rows than neighbours asked for. All rows are given then.

        Notes
        -----
        Memory beyond the result: the embedding of the new rows, and some 100 MB.
        """
        self._check_not_empty()
        self._check_metric()
        k = self._count(self.n_neighbors if n_neighbors is None else n_neighbors)
        distances, rows = self._nearest(self._queries(X_new), k)
        return distances, self.ids[rows]

    def query_radius(
        self, X_new: Any, radius: float | None = None
    ) -> tuple[list[Floats], list[Ids]]:
        """Find all rows of the index near each new row. Always exact.

        Parameters
        ----------
        X_new : array, sparse matrix or frame of shape (m, d)
        radius : float, optional
            By default the metric's threshold, which supposes that same and different are equally
            frequent. For copies, which are rare among many rows, give :meth:`radius_for`.

        Returns
        -------
        distances : list of m ndarrays
            The nearest first; empty where nothing is near.
        ids : list of m ndarrays

        Examples
        --------
        >>> from nearkin import NeighborIndex
        >>> NeighborIndex().fit([[0.0], [1.0], [5.0]]).query_radius([[0.9]], radius=2)[1]
        [array([1, 0])]
        """
        self._check_not_empty()
        self._check_metric()
        distances, rows = within(self.vectors, self._queries(X_new), self._radius(radius))
        ids = self.ids
        return distances, [ids[near] for near in rows]

    def duplicates(
        self,
        radius: float | None = None,
        *,
        precision: float | None = None,
        prevalence: float | None = None,
    ) -> list[Ids]:
        """Find the groups of rows that are the same thing.

        Parameters
        ----------
        radius : float, optional
            Two rows are the same up to this distance, and so are all that a chain of such rows
            connects. By default :meth:`radius_for` finds the distance, and rows form a group if
            they are no farther apart in the mean: weak links do not chain them.
        precision : float in (0, 1), optional
            Share of the pairs found that are to be right, for example 0.99.
        prevalence : float in [0, 1], optional
            Share of all pairs of rows that are the same, where it is known.

        Returns
        -------
        list of ndarray
            The ids of each group of two rows or more, groups in the order of their first rows.
            With the approximate search a group may come in parts, see :meth:`group_labels`.

        Warns
        -----
        UserWarning
            If the groups are implausible as copies of one thing: if one has many rows, or if the
            pairs that the metric was learned from are mostly farther apart. It says how large the
            largest is, and what to do.

        Examples
        --------
        >>> import numpy as np
        >>> from nearkin import NeighborIndex
        >>> NeighborIndex().fit([[0.0], [7.0], [1.0], [2.0]]).duplicates(radius=1)
        [array([0, 2, 3])]
        >>> X = np.random.default_rng(0).normal(size=(100, 5))
        >>> X[60] = X[20] + 0.01
        >>> NeighborIndex().fit(X).duplicates()
        [array([20, 60])]
        """
        labels, doubt = self._grouped(radius, precision, prevalence)
        if doubt is not None:
            notice(doubt)
        order = np.argsort(labels, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        ids = self.ids
        return [ids[group] for group in groups if len(group) > 1]

    def group_labels(
        self,
        radius: float | None = None,
        *,
        precision: float | None = None,
        prevalence: float | None = None,
    ) -> Ints:
        """Number the groups of rows that are the same thing.

        Parameters
        ----------
        radius, precision, prevalence : float, optional
            As in :meth:`duplicates`, which warns as this does.

        Returns
        -------
        int ndarray of shape (n,)
            Groups count from 0 in the order of their first rows; most have one row, as a rule.

        Notes
        -----
        Without a radius, the 20 nearest of each row are looked at: see
        :func:`nearkin.tasks.duplicate_radius.near_pairs` and
        :func:`nearkin.tasks.mean_groups.mean_groups`.

        With one, exact: O(n²) time at most, and O(n) memory however many pairs are near, see
        :func:`nearkin.spaces.neighbors.near_groups`. With the approximate search only the
        ``n_neighbors`` nearest of each row that it finds are joined with it: what is one group
        there is truly one, but it can be a part of a larger one.
        """
        labels, doubt = self._grouped(radius, precision, prevalence)
        if doubt is not None:
            notice(doubt)
        return labels

    def radius_for(
        self, *, precision: float | None = None, prevalence: float | None = None
    ) -> float:
        """Distance up to which two rows of the index are the same thing.

        Parameters
        ----------
        precision, prevalence : float, optional
            As in :meth:`duplicates`.

        Returns
        -------
        float
            By default the distance at which a pair is as likely the same as not, among all pairs of
            these rows: it is found from the distances of neighbours, and unlike the metric's
            ``threshold_`` does not suppose that same and different are equally frequent. With
            ``prevalence``, the distance within which this share of all pairs lie. Of fewer than 40
            rows, which do not tell, it is the metric's ``threshold_``.

        Examples
        --------
        >>> import numpy as np
        >>> from nearkin import NeighborIndex
        >>> X = np.random.default_rng(0).normal(size=(100, 5))
        >>> X[60] = X[20] + 0.01
        >>> round(NeighborIndex().fit(X).radius_for(), 4)
        0.0224
        """
        self._check_not_empty()
        self._check_metric()
        return self._found_radius(*self._others(), precision, prevalence)

    def _grouped(
        self, radius: float | None, precision: float | None, prevalence: float | None
    ) -> tuple[Ints, str | None]:
        """Group of each row, and what makes the groups implausible."""
        self._check_not_empty()
        self._check_metric()
        said = {"radius": radius, "precision": precision, "prevalence": prevalence}
        if len(given := [name for name, value in said.items() if value is not None]) > 1:
            raise InputError(f"give one of {' and '.join(given)}: each of them says what is near.")
        chained = radius is not None
        if chained:
            radius = self._radius(radius)
            labels = self._chained(radius)
        else:
            distances, rows = self._others()
            radius = self._found_radius(distances, rows, precision, prevalence)
            labels = mean_groups(self.vectors, distances, rows, radius)
        same_distance = self._of_metric("same_distance")
        return labels, doubts(
            self.vectors, labels, radius, chained=chained, same_distance=same_distance
        )

    def _others(self) -> tuple[Floats, Ints]:
        """The nearest others of each row, as many as duplicates are judged by."""
        k = min(MOST_NEIGHBORS, len(self) - 1)
        if k == 0:
            return np.empty((1, 0), dtype=self.vectors.dtype), np.empty((1, 0), dtype=np.int64)
        return without_itself(*self._nearest(self.vectors, k + 1))

    def _found_radius(
        self, distances: Floats, rows: Ints, precision: float | None, prevalence: float | None
    ) -> float:
        if prevalence is not None:
            share = _checked_share(prevalence, "prevalence", ends=True)
            rng = check_random_state(self.random_state)
            return radius_of_share(self.vectors, distances, rows, share, rng)
        if precision is not None:
            precision = _checked_share(precision, "precision", ends=False)
        k = n_judged(len(self))
        if k:
            return duplicate_radius(near_pairs(distances[:, :k]), precision)
        if precision is not None:
            raise InputError(
                f"precision={precision}, but the index has {len(self)} rows, too few to judge by "
                "how near they are to each other: give radius= or prevalence=."
            )
        return self._radius(None)

    def _chained(self, radius: float) -> Ints:
        """Groups of rows that chains of steps within the radius connect."""
        if not self._is_approximate():
            return near_groups(self.vectors, radius)
        distances, rows = self._nearest(self.vectors, min(len(self), self.n_neighbors + 1))
        near = distances <= radius
        edges = np.column_stack([np.nonzero(near)[0], rows[near]])
        return by_first_row(joined(np.arange(len(self)), edges))

    def recall(self, n_sample: int = 1000, n_neighbors: int | None = None) -> float:
        """Share of the true nearest neighbours that the search finds.

        Parameters
        ----------
        n_sample : int, default=1000
            Rows of the index to look for the neighbours of, themselves left out.
        n_neighbors : int, optional
            The index's own by default.

        Returns
        -------
        float
            1 for the exact search. What is as near as a true neighbour counts as one.
        """
        self._check_not_empty()
        Z, k = self.vectors, self._count(self.n_neighbors if n_neighbors is None else n_neighbors)
        k = min(k + 1, len(Z))
        if k == 1:
            return 1.0
        rng = check_random_state(self.random_state)
        n_sample = min(checked_count(n_sample, "n_sample", least=1), len(Z))
        Q = Z[rng.permutation(len(Z))[:n_sample]]
        found, true = self._nearest(Q, k)[0], nearest(Z, Q, k)[0]
        # The first is the row itself, or another in the same place.
        return float(np.mean(found[:, 1:] <= true[:, -1:]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write vectors, ids, threshold and settings to one file. The metric is not stored.

        Parameters
        ----------
        path : str or path
            A safetensors file, without anything that could be executed. It is written to another
            name and renamed, so that no half a file is ever there.
        """
        self._check_not_empty()
        self._refuse_sparse("save")
        seed = self.random_state
        if not (seed is None or isinstance(seed, Integral)):
            raise InputError(f"save needs random_state to be an int or None, not {seed!r:.60}.")
        settings = {
            "search": self.search,
            "n_neighbors": int(self.n_neighbors),
            "target_recall": float(self.target_recall),
            "random_state": None if seed is None else int(seed),
            "threshold": self.threshold_,
            "same_distance": self._of_metric("same_distance"),
        }
        write_index(path, self.vectors, self.ids, settings)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, metric: Any = None) -> Self:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : str or path
        metric : fitted learner, optional
            The metric that the index was made with. Without it, rows to add or to query must be
            embedded already, as ``metric.transform(X)``.

        Returns
        -------
        NeighborIndex

        Raises
        ------
        StorageError
            If the file is damaged, or of another format or version.
        ValueError
            If the metric is another one.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from nearkin import NeighborIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "rows.index"
        ...     NeighborIndex().fit([[0.0], [3.0]], ids=["a", "b"]).save(path)
        ...     NeighborIndex.load(path).query([[2.0]], 1)
        (array([[1.]]), array([['b']], dtype=object))
        """
        vectors, ids, settings = read_index(path)
        names = ("search", "n_neighbors", "target_recall", "random_state")
        try:
            index = cls(metric, **{name: settings[name] for name in names})
            index._validate_params()
            threshold = settings["threshold"]
            threshold = None if threshold is None else float(threshold)
            same_distance = settings.get("same_distance")  # files of before do not have it
            same_distance = None if same_distance is None else float(same_distance)
            refuse_gaps(vectors, vectors, "vectors")
            if not are_distinct(ids):
                with_new_ids(range(0), ids, numbered=False)  # which says where
            index._hold(vectors, ids, numbered=None)
        except (KeyError, TypeError, ValueError) as error:
            raise refusal(path, repr(error)) from error
        if metric is not None:
            _check_fitted(metric)
            _check_same_metric(last_learner(metric), vectors.shape[1], threshold)
        index._stored_threshold, index._stored_same_distance = threshold, same_distance
        return index

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the vectors for a vector database or another program.

        Euclidean distances between them are the learned ones, so any store that searches by
        Euclidean (L2) distance serves the metric.

        Parameters
        ----------
        path : str or path
            ``.npy`` for the vectors alone, in the order of :attr:`ids`; ``.parquet`` for columns
            ``id`` and ``vector``, lists of one length, which needs pyarrow.
        """
        self._check_not_empty()
        self._refuse_sparse("export")
        export_vectors(path, self.vectors, self.ids)

    @property
    def vectors(self) -> Floats:
        """Embeddings of all rows, of shape (n, q), sparse if they are; not to be written to."""
        self._check_not_empty()
        if len(self._vectors) > 1:
            self._vectors = [_read_only(_stacked(self._vectors))]
        return self._vectors[0]

    @property
    def ids(self) -> Ids:
        """Ids of all rows; not to be written to."""
        self._check_not_empty()
        if len(self._ids) > 1:
            self._ids = [_read_only(np.concatenate(self._ids))]
        return self._ids[0]

    @property
    def threshold_(self) -> float | None:
        """Distance up to which two rows are the same thing, where the metric has one."""
        return self._of_metric("threshold")

    def _of_metric(self, name: str) -> float | None:
        """What the metric has found, or was stored of it."""
        value = getattr(last_learner(self.metric), f"{name}_", None)
        if value is None:
            value = getattr(self, f"_stored_{name}", None)
        return None if value is None else float(value)

    def __len__(self) -> int:
        return sum(int(part.shape[0]) for part in getattr(self, "_vectors", []))

    def __sklearn_is_fitted__(self) -> bool:
        return len(self) > 0

    def _hold(self, vectors: Floats, ids: Ids, *, numbered: bool | None) -> None:
        """Take vectors and their ids; ``numbered`` is None for ids that are known to differ.

        A set of these is made when more are added.
        """
        if numbered is None:
            self._known = None
        else:
            self._known = with_new_ids(range(0), ids, numbered=numbered)
        self._vectors, self._ids = [_read_only(vectors)], [_read_only(ids)]
        self._cells = None
        self._witnesses = None

    def _embedded(self, X: Any, name: str) -> Floats:
        """Rows as the metric sees them, checked, and C-contiguous."""
        metric = self.metric
        if metric is None or not sees_any_rows(metric):
            refuse_what_is_no_table(X, name)
        with about_input():
            n_rows = _num_samples(X)
        if n_rows == 0:
            raise InputError(f"{name} has no rows: at least one is needed.")
        Z: Floats
        if metric is None:
            Z = validation.checked_rows(X, name, accept_sparse="csr", order="C")
        else:
            _check_fitted(metric)
            Z = check_array(
                plain(metric.transform(X)),
                accept_sparse="csr",
                dtype=list(_DTYPES),
                order="C",
                ensure_all_finite=False,
                input_name=name,
            )
        if is_sparse(Z) and self.search == "approximate":
            raise InputError(
                "search='approximate' needs dense vectors, but these rows are sparse: use "
                "search='exact', or a metric with few columns, such as Chain([TruncatedSVD(100), "
                "Euclidean()])."
            )
        most = float(np.finfo(Z.dtype).max) ** 0.5 / 1000
        fine = (dense(Z.max(axis=1)) <= most) & (dense(Z.min(axis=1)) >= -most)
        if (row := first_true(~fine.ravel())) is not None:
            what = "" if self.metric is None else "the embedding of "
            raise InputError(
                f"{what}row {row} of {name} holds NaN, infinity or numbers beyond {most:.0e}, too "
                "large to be squared. Leave the row out, or fill in what is missing."
            )
        return Z

    def _witnesses_among(self, X: Any) -> tuple[Any, Floats] | None:
        """Some rows as they were given, and what the metric makes of them: whether it stays so.

        None without a metric, and for one that makes different things of a row at different times.
        """
        if self.metric is None:
            return None
        rows = access.take(X, np.unique(access.evenly_spaced(_num_samples(X), _WITNESSES)))
        first, again = (dense(self._embedded(rows, "X")) for _ in range(2))
        return (rows, first) if np.array_equal(first, again) else None

    def _check_metric(self) -> None:
        """Raise if the metric sees rows otherwise than when they were added."""
        if self._witnesses is None or self.metric is None:
            return
        rows, then = self._witnesses
        now = dense(self._embedded(rows, "X"))
        if now.shape != then.shape or not np.allclose(
            now, then, rtol=_SAME_PLACE, atol=_SAME_PLACE * float(np.abs(then).max())
        ):
            raise InputError(
                "the metric was fitted again after rows were added to this index: their vectors "
                "are of the metric as it was, and cannot be compared with new ones. Make a new "
                "index, NeighborIndex(metric).fit(X)."
            )

    def _new_rows(self, X: Any) -> Floats:
        """Rows to keep, whatever becomes of X."""
        Z = self._embedded(X, "X")
        shared = self.metric is None or (isinstance(X, np.ndarray) and np.may_share_memory(X, Z))
        return Z.copy() if shared else Z

    def _queries(self, X_new: Any) -> Floats:
        Q = self._embedded(X_new, "X_new")
        self._check_columns(Q, "X_new")
        found: Floats = self._stored_alike(Q).astype(self.vectors.dtype, copy=False)
        return found

    def _stored_alike(self, Z: Any) -> Any:
        """Sparse or dense, as the rows that are there."""
        return sp.csr_array(Z) if is_sparse(self._vectors[0]) else dense(Z)

    def _check_columns(self, Z: Floats, name: str) -> None:
        q = self._vectors[0].shape[1]
        if Z.shape[1] == q:
            return
        hint = ""
        if getattr(self, "_stored_threshold", None) is not None and self.metric is None:
            hint = " It was loaded without a metric: give rows embedded by it, or load(metric=...)."
        raise InputError(
            f"{name} has {Z.shape[1]} columns, but the vectors of the index have {q}.{hint}"
        )

    def _nearest(self, Q: Floats, k: int) -> tuple[Floats, Ints]:
        Z = self.vectors
        if not self._is_approximate():
            return nearest(Z, Q, k)
        if self._cells is None or len(Z) > (1 + _LATER_ROWS) * self._cells.n_rows:
            rng = check_random_state(self.random_state)
            self._cells = Cells(Z, self.target_recall, rng)
        return nearest_by_cells(self._cells, Z, Q, k)

    def _is_approximate(self) -> bool:
        if self.search == "auto":
            return len(self) >= _MANY_ROWS and not is_sparse(self._vectors[0])
        return self.search == "approximate" and len(self) > 1

    def _count(self, n_neighbors: Any) -> int:
        k = checked_count(n_neighbors, "n_neighbors", least=1)
        if k > len(self):
            notice(
                f"n_neighbors={k}, but the index holds only {len(self)} rows: all are given.",
            )
        return min(k, len(self))

    def _radius(self, radius: float | None) -> float:
        if radius is None:
            radius = self.threshold_
            if radius is None:
                raise InputError(
                    "radius is needed, since the index has no metric with a threshold_: give the "
                    "distance up to which two rows are the same."
                )
        if isinstance(radius, bool) or not isinstance(radius, Real):
            raise InputTypeError(f"radius must be a number, not {radius!r}.")
        if not (math.isfinite(radius) and radius >= 0):
            raise InputError(f"radius must be finite and not negative, got {radius!r}.")
        return float(radius)

    def _refuse_sparse(self, what: str) -> None:
        if is_sparse(self._vectors[0]):
            raise InputError(
                f"{what} writes dense vectors, but those of this index are sparse: give it a "
                "metric with few columns, such as Chain([TruncatedSVD(100), Euclidean()])."
            )

    def _check_not_empty(self) -> None:
        if not len(self):
            raise NotFittedError("this NeighborIndex holds no rows yet: call fit(X) or add(X).")


def _check_fitted(metric: Any) -> None:
    if isinstance(metric, type) or not hasattr(metric, "transform"):
        raise InputTypeError(
            "metric must be None or a fitted learner, such as KernelBeta().fit(X, pairs=pairs), "
            f"not {metric!r:.60}."
        )
    check_is_fitted(
        metric,
        msg="this %(name)s is not fitted, so it knows no distances yet: call its fit(X, "
        "pairs=pairs) before it is given to an index.",
    )


def _check_same_metric(metric: Any, n_columns: int, threshold: float | None) -> None:
    """Raise if the metric cannot be the one that stored vectors were made with."""
    given = getattr(metric, "n_components_", n_columns)
    if given != n_columns:
        raise InputError(
            f"metric gives vectors with {given} columns, but those stored have {n_columns}: it is "
            "not the metric that the index was made with."
        )
    given = getattr(metric, "threshold_", None)
    if threshold is not None and given is not None and float(given) != threshold:
        raise InputError(
            f"metric has threshold_ {given}, but {threshold} is stored: it is not the metric that "
            "the index was made with, or was fitted or calibrated again. Make a new index."
        )


def _checked_share(share: Any, name: str, *, ends: bool) -> float:
    """A number between 0 and 1, these included or not."""
    if isinstance(share, bool) or not isinstance(share, Real):
        raise InputTypeError(f"{name} must be a number, not {share!r}.")
    value = float(share)
    if not (0 <= value <= 1 if ends else 0 < value < 1):
        raise InputError(f"{name} must be between 0 and 1, got {share!r}.")
    return value


def _stacked(parts: list[Any]) -> Any:
    """Vectors below one another."""
    return sp.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)


def _read_only(array: Any) -> Any:
    for part in (array.data, array.indices, array.indptr) if is_sparse(array) else (array,):
        part.flags.writeable = False
    return array
