"""NeighborIndex: the nearest rows in a learned metric, and which rows are the same thing."""

from __future__ import annotations

import math
import os
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from nearkin._types import Floats, Ints
from nearkin.errors import InputError, InputTypeError, explain_missing_package, raise_input_errors
from nearkin.learners.base import WholeState, replace_state
from nearkin.learners.compositions import last_learner, sees_any_rows
from nearkin.messages import notice
from nearkin.pairs.pairs import check_count, find_first
from nearkin.rows import access, backends, device_math, validation
from nearkin.rows.backends import evenly_spaced
from nearkin.rows.sparse import is_sparse, to_dense, to_plain
from nearkin.rows.streams import copy_to_device
from nearkin.rows.validation import (
    Ids,
    add_new_ids,
    are_distinct,
    check_ids,
    refuse_gaps,
    refuse_non_tables,
)
from nearkin.scores.verdicts import check_share
from nearkin.search.duplicates import (
    MOST_NEIGHBORS,
    count_near_pairs,
    describe_doubts,
    duplicate_radius,
    group_by_mean_distance,
    n_judged_neighbors,
    radius_of_share,
)
from nearkin.spaces.neighbors import (
    SEARCH_MODES,
    CellIndex,
    SearchMode,
    drop_itself,
    find_nearest,
    find_nearest_by_cells,
    find_within,
    group_within,
    merge_labels,
    number_by_first_row,
)
from nearkin.storage.arrays import StorageError, read_arrays, write_arrays
from nearkin.storage.files import StrPath, whole_file

# Kind and version of an index file.
KIND, VERSION = "nearkin index", 2
_DTYPES = (np.float64, np.float32)
# Rows from which "auto" is approximate. Chosen by hand: a query among 100 000 rows takes some
# milliseconds when all are compared, and cells take seconds to make (benchmarks/speed/README.md).
_MANY_ROWS = 100_000
# Cells are made again when more than this share of the rows came after them. Chosen by hand: till
# then a query compares with that many rows more.
_LATER_ROWS = 1 / 16
# How many rows are embedded again to see whether the metric is still the one they were added with,
# and how far they may move, as a share of their coordinates. Chosen by hand, above what float32 and
# other numbers of threads change.
_WITNESSES = 3
_SAME_PLACE = 1e-5
# The largest numbers whose squares can be summed up over a million columns.
_MOST = {np.dtype(kind): float(np.finfo(kind).max) ** 0.5 / 1000 for kind in _DTYPES}
# Arrays up to this size are checked by their extremes alone if these are finite: the checks of
# scikit-learn take longer than a query of one row. Chosen by hand.
_FEW_NUMBERS = 2**14
# Ids that are read from a file at a time: bounds the memory of their numbers as Python objects.
_SOME_IDS = 2**16


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
        :mod:`nearkin.spaces.neighbors`. ``"auto"`` is exact below 100 000 rows.
    n_neighbors : int, default=10
        How many neighbours :meth:`query` gives by default.
    target_recall : float in (0, 1], default=0.98
        Share of the nearest that the approximate search is to find. It looks into as many cells as
        that takes on a sample of the rows; :meth:`recall` measures it on another.
    random_state : int, RandomState or None, default=None
        Seed of the cells, and of samples.
    device : str, optional
        A device of torch, such as ``"cuda"``: :meth:`query` compares with all rows there, and is
        exact whatever ``search`` says. Vectors are kept there too. Of more than eight rows equally
        far as the last neighbour, it may not be the first that are given.

    Attributes
    ----------
    threshold_ : float or None
        The metric's: the distance up to which two rows are the same thing.

    Notes
    -----
    Memory: the embeddings, and the ids; with the approximate search, a byte more for each number
    and 12 for each row.
    Queries take O(n) time each, or O(√n) with the approximate search, in which :meth:`add` only
    stores: cells are made at the next query. Later rows are put into them once they are more than a
    sixteenth of those that are there, and are all compared with till then; cells are made anew when
    there are twice as many rows.

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
        "search": [StrOptions(set(SEARCH_MODES))],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "target_recall": [Interval(Real, 0, 1, closed="right")],
        "random_state": ["random_state"],
        "device": [None, str],
    }

    _vectors: list[Floats]
    _ids: list[Ids]
    _known: set[Any] | range | None  # ids; None until rows are added
    _cells: CellIndex | None
    _witnesses: tuple[Any, Floats] | None
    # What the metric had learned when it saw the witnesses last: a value that no fit changes.
    _seen_by: Any = None
    # The vectors, and where they are on the device.
    _there: tuple[Any, Any] | None = None

    def __init__(
        self,
        metric: Any = None,
        *,
        search: SearchMode = "auto",
        n_neighbors: int = 10,
        target_recall: float = 0.98,
        random_state: Any = None,
        device: str | None = None,
    ) -> None:
        self.metric = metric
        self.search = search
        self.n_neighbors = n_neighbors
        self.target_recall = target_recall
        self.random_state = random_state
        self.device = device

    @replace_state
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

        Examples
        --------
        >>> from nearkin import NeighborIndex
        >>> len(NeighborIndex().fit([[0.0], [1.0], [5.0]]))
        3
        """
        del y
        self._validate_params()
        vectors = self._embed_own(X)
        self._hold(vectors, check_ids(ids, vectors.shape[0], 0, None), numbered=ids is None)
        self._witnesses = self._choose_witnesses(X)
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

        Examples
        --------
        >>> from nearkin import NeighborIndex
        >>> index = NeighborIndex().add([[0.0], [1.0]], ids=["a", "b"]).add([[5.0]], ids=["c"])
        >>> index.ids
        array(['a', 'b', 'c'], dtype=object)
        """
        if not len(self):
            return self.fit(X, ids=ids)
        self._validate_params()
        self._check_metric()
        vectors = self._embed_own(X)
        self._check_columns(vectors, "X")
        new = check_ids(ids, vectors.shape[0], len(self), self._ids[0])
        if self._known is None:
            self._known = set(self.ids.tolist())
        self._known = add_new_ids(self._known, new, numbered=ids is None)
        self._vectors.append(self._as_stored(vectors))
        self._ids.append(new)
        if self._witnesses is None:
            self._witnesses = self._choose_witnesses(X)
        return self

    @property
    def vectors(self) -> Floats:
        """Embeddings of all rows, of shape (n, q), sparse if they are; not to be written to."""
        self._check_not_empty()
        if len(self._vectors) > 1:
            self._vectors = [_set_read_only(_stack(self._vectors))]
        return self._vectors[0]

    @property
    def ids(self) -> Ids:
        """Ids of all rows; not to be written to."""
        self._check_not_empty()
        if len(self._ids) > 1:
            self._ids = [_set_read_only(np.concatenate(self._ids))]
        return self._ids[0]

    @property
    def threshold_(self) -> float | None:
        """Distance up to which two rows are the same thing, where the metric has one."""
        return self._of_metric("threshold")

    def __len__(self) -> int:
        return sum(int(part.shape[0]) for part in getattr(self, "_vectors", []))

    def __sklearn_is_fitted__(self) -> bool:
        return len(self) > 0

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_there": None}  # devices differ from machine to machine

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

        Examples
        --------
        >>> from nearkin import NeighborIndex
        >>> distances, ids = (
        ...     NeighborIndex().fit([[0.0], [1.0], [5.0]]).query([[1.5]], n_neighbors=2)
        ... )
        >>> distances, ids
        (array([[0.5, 1.5]]), array([[1, 0]]))
        """
        self._check_not_empty()
        self._check_metric()
        k = self._check_n_neighbors(n_neighbors)
        distances, rows = self._find_nearest(self._embed_queries(X_new), k)
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
        Q, radius = self._embed_queries(X_new), self._check_radius(radius)
        distances, rows = find_within(self.vectors, Q, radius)
        ids = self.ids
        return distances, [ids[near] for near in rows]

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

        Examples
        --------
        >>> import numpy as np
        >>> from nearkin import NeighborIndex
        >>> X = np.random.default_rng(0).normal(size=(200, 5))
        >>> NeighborIndex(random_state=0).fit(X).recall()  # the search is exact for so few rows
        1.0
        """
        self._check_not_empty()
        Z, k = self.vectors, self._check_n_neighbors(n_neighbors)
        k = min(k + 1, len(Z))
        if k == 1:
            return 1.0
        rng = check_random_state(self.random_state)
        n_sample = min(check_count(n_sample, "n_sample", least=1), len(Z))
        Q = Z[rng.permutation(len(Z))[:n_sample]]
        found, true = self._find_nearest(Q, k)[0], find_nearest(Z, Q, k)[0]
        # The first is the row itself, or another in the same place.
        return float(np.mean(found[:, 1:] <= true[:, -1:]))

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
        labels = self.group_labels(radius, precision=precision, prevalence=prevalence)
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
        :func:`nearkin.search.duplicates.count_near_pairs` and
        :func:`nearkin.search.duplicates.group_by_mean_distance`.

        With one, exact: O(n²) time at most, and O(n) memory however many pairs are near, see
        :func:`nearkin.spaces.neighbors.group_within`. With the approximate search only the
        ``n_neighbors`` nearest of each row that it finds are joined with it: what is one group
        there is truly one, but it can be a part of a larger one.

        Examples
        --------
        >>> from nearkin import NeighborIndex
        >>> NeighborIndex().fit([[0.0], [7.0], [1.0], [2.0]]).group_labels(radius=1)
        array([0, 1, 0, 0])
        """
        self._check_not_empty()
        self._check_metric()
        said = {"radius": radius, "precision": precision, "prevalence": prevalence}
        if len(given := [name for name, value in said.items() if value is not None]) > 1:
            raise InputError(f"give one of {' and '.join(given)}: each of them says what is near.")
        chained = radius is not None
        if chained:
            radius = self._check_radius(radius)
            labels = self._chain_groups(radius)
        else:
            distances, rows = self._nearest_others()
            radius = self._find_radius(distances, rows, precision, prevalence)
            labels = group_by_mean_distance(self.vectors, distances, rows, radius)
        same_distance = self._of_metric("same_distance")
        doubts = describe_doubts(
            self.vectors, labels, radius, chained=chained, same_distance=same_distance
        )
        if doubts is not None:
            notice(doubts)
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
        return self._find_radius(*self._nearest_others(), precision, prevalence)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write vectors, ids, threshold and settings to one file. The metric is not stored.

        Parameters
        ----------
        path : str or path
            A safetensors file, without anything that could be executed. It is written to another
            name and renamed, so that no half a file is ever there.

        Examples
        --------
        >>> import tempfile
        >>> from nearkin import NeighborIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     NeighborIndex().fit([[0.0], [3.0]]).save(f"{folder}/rows.index")
        ...     len(NeighborIndex.load(f"{folder}/rows.index"))
        2
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
        arrays = {"vectors": self.vectors, **_pack_ids(self.ids)}
        write_arrays(path, KIND, VERSION, arrays, settings)

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
            same_distance = settings["same_distance"]
            same_distance = None if same_distance is None else float(same_distance)
            refuse_gaps(vectors, vectors, "vectors")
            if not are_distinct(ids):
                add_new_ids(range(0), ids, numbered=False)  # which says where
            index._hold(vectors, ids, numbered=None)
        except (KeyError, TypeError, ValueError) as error:
            raise _unreadable_index(path, repr(error)) from error
        if metric is not None:
            check_fitted(metric)
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

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from nearkin import NeighborIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     NeighborIndex().fit([[0.0, 1.0], [3.0, 2.0]]).export(f"{folder}/rows.npy")
        ...     np.load(f"{folder}/rows.npy")
        array([[0., 1.],
               [3., 2.]])
        """
        self._check_not_empty()
        self._refuse_sparse("export")
        suffix = Path(path).suffix
        if suffix not in (".npy", ".parquet"):
            raise InputError(f"path must end in .npy or .parquet, got {os.fspath(path)!r}.")
        with whole_file(path) as unfinished:
            if suffix == ".parquet":
                _write_parquet(unfinished, self.vectors, self.ids)
                return
            with open(unfinished, "wb") as file:
                np.save(file, self.vectors, allow_pickle=False)

    def _hold(self, vectors: Floats, ids: Ids, *, numbered: bool | None) -> None:
        """Hold these vectors and ids alone; ``numbered`` is None if ids are known to differ."""
        if numbered is None:
            self._known = None
        else:
            self._known = add_new_ids(range(0), ids, numbered=numbered)
        self._vectors, self._ids = [_set_read_only(vectors)], [_set_read_only(ids)]
        self._cells = None
        self._witnesses = None
        self._seen_by = None
        self._there = None

    def _embed(self, X: Any, name: str) -> Floats:
        """Embed rows by the metric, and check them; the result is C-contiguous."""
        metric = self.metric
        Z: Floats
        if metric is None and _is_plain_array(X):
            Z = X
            return Z
        if metric is None or not sees_any_rows(metric):
            refuse_non_tables(X, name)
        with raise_input_errors():
            n_rows = _num_samples(X)
        if n_rows == 0:
            raise InputError(f"{name} has no rows: at least one is needed.")
        if metric is None:
            Z = validation.check_input(X, name, accept_sparse="csr", order="C")
        else:
            check_fitted(metric)
            Z = metric.transform(X)
            if _is_plain_array(Z):
                return Z
            Z = check_array(
                to_plain(Z),
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
        most = _MOST[Z.dtype]
        fine = (to_dense(Z.max(axis=1)) <= most) & (to_dense(Z.min(axis=1)) >= -most)
        if (row := find_first(~fine.ravel())) is not None:
            what = "" if self.metric is None else "the embedding of "
            raise InputError(
                f"{what}row {row} of {name} holds NaN, infinity or numbers beyond {most:.0e}, too "
                "large to be squared. Leave the row out, or fill in what is missing."
            )
        return Z

    def _embed_own(self, X: Any) -> Floats:
        """Embeddings that are the index's own, whatever becomes of X."""
        Z = self._embed(X, "X")
        shared = self.metric is None or (isinstance(X, np.ndarray) and np.may_share_memory(X, Z))
        return Z.copy() if shared else Z

    def _embed_queries(self, X_new: Any) -> Floats:
        """Embeddings of queries in the type and layout of the index's own."""
        Q = self._embed(X_new, "X_new")
        self._check_columns(Q, "X_new")
        found: Floats = self._as_stored(Q).astype(self.vectors.dtype, copy=False)
        return found

    def _as_stored(self, Z: Any) -> Any:
        """Z sparse or dense, as the vectors of the index are."""
        return sp.csr_array(Z) if is_sparse(self._vectors[0]) else to_dense(Z)

    def _check_columns(self, Z: Floats, name: str) -> None:
        """Raise unless rows have as many columns as the vectors of the index."""
        q = self._vectors[0].shape[1]
        if Z.shape[1] == q:
            return
        hint = ""
        if getattr(self, "_stored_threshold", None) is not None and self.metric is None:
            hint = " It was loaded without a metric: give rows embedded by it, or load(metric=...)."
        raise InputError(
            f"{name} has {Z.shape[1]} columns, but the vectors of the index have {q}.{hint}"
        )

    def _choose_witnesses(self, X: Any) -> tuple[Any, Floats] | None:
        """Some rows as they were given, and their embeddings, by which a new fit is noticed.

        None without a metric, and for a metric that embeds a row differently at different times.
        """
        if self.metric is None:
            return None
        rows = access.take(X, np.unique(evenly_spaced(_num_samples(X), _WITNESSES)))
        first, again = (to_dense(self._embed(rows, "X")) for _ in range(2))
        return (rows, first) if np.array_equal(first, again) else None

    def _check_metric(self) -> None:
        """Raise if the metric sees rows otherwise than when they were added."""
        if self._witnesses is None or self.metric is None:
            return
        learned = vars(self.metric).get("map_") if hasattr(self.metric, "__dict__") else None
        if learned is not None and learned is self._seen_by:
            return
        rows, then = self._witnesses
        now = to_dense(self._embed(rows, "X"))
        if now.shape != then.shape or not np.allclose(
            now, then, rtol=_SAME_PLACE, atol=_SAME_PLACE * float(np.abs(then).max())
        ):
            raise InputError(
                "the metric was fitted again after rows were added to this index: their vectors "
                "are of the metric as it was, and cannot be compared with new ones. Make a new "
                "index, NeighborIndex(metric).fit(X)."
            )
        self._seen_by = learned

    def _of_metric(self, name: str) -> float | None:
        """An attribute of the metric such as ``threshold_``, or its value in the file."""
        value = getattr(last_learner(self.metric), f"{name}_", None)
        if value is None:
            value = getattr(self, f"_stored_{name}", None)
        return None if value is None else float(value)

    def _check_not_empty(self) -> None:
        """Raise unless there are rows."""
        if not len(self):
            raise NotFittedError("this NeighborIndex holds no rows yet: call fit(X) or add(X).")

    def _refuse_sparse(self, what: str) -> None:
        """Raise if vectors are sparse, which files cannot hold."""
        if is_sparse(self._vectors[0]):
            raise InputError(
                f"{what} writes dense vectors, but those of this index are sparse: give it a "
                "metric with few columns, such as Chain([TruncatedSVD(100), Euclidean()])."
            )

    def _check_n_neighbors(self, n_neighbors: int | None) -> int:
        """How many neighbours to find: the index's own number by default, at most all rows."""
        n_neighbors = self.n_neighbors if n_neighbors is None else n_neighbors
        k = check_count(n_neighbors, "n_neighbors", least=1)
        if k > len(self):
            notice(
                f"n_neighbors={k}, but the index holds only {len(self)} rows: all are given.",
            )
        return min(k, len(self))

    def _check_radius(self, radius: float | None) -> float:
        """A radius that was given, or else the metric's threshold."""
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

    def _find_nearest(self, Q: Floats, k: int) -> tuple[Floats, Ints]:
        """Distances and row numbers of the nearest, by the search that the parameters name."""
        Z = self.vectors
        if self.device is not None:
            return self._find_nearest_on_device(Q, k)
        if not self._is_approximate():
            return find_nearest(Z, Q, k)
        cells = self._cells
        if cells is None or len(Z) > (1 + _LATER_ROWS) * cells.n_rows:
            rng = check_random_state(self.random_state)
            self._cells = cells = CellIndex(Z, self.target_recall, rng, earlier=cells)
        cells.Z = Z[: cells.n_rows]  # where they are now: once is enough
        return find_nearest_by_cells(cells, Z, Q, k)

    def _find_nearest_on_device(self, Q: Floats, k: int) -> tuple[Floats, Ints]:
        """The same by comparison with all rows on the device."""
        Z = self.vectors
        if is_sparse(Z):
            raise InputError(
                f"device={self.device!r} needs dense vectors, but these rows are sparse: leave "
                "device out, or use a metric with few columns."
            )
        if self._there is None or self._there[0] is not Z:
            self._there = Z, copy_to_device(Z, str(self.device))
        squared, rows = device_math.find_nearest_rows(
            copy_to_device(Q, str(self.device)), self._there[1], k
        )
        distances = np.sqrt(backends.to_numpy(squared)).astype(Z.dtype)
        return distances, backends.to_numpy(rows)

    def _is_approximate(self) -> bool:
        """Whether queries look into near cells only."""
        if self.device is not None:
            return False
        if self.search == "auto":
            return len(self) >= _MANY_ROWS and not is_sparse(self._vectors[0])
        return self.search == "approximate" and len(self) > 1

    def _nearest_others(self) -> tuple[Floats, Ints]:
        """The nearest others of each row, as many as duplicates are judged by."""
        k = min(MOST_NEIGHBORS, len(self) - 1)
        if k == 0:
            return np.empty((1, 0), dtype=self.vectors.dtype), np.empty((1, 0), dtype=np.int64)
        return drop_itself(*self._find_nearest(self.vectors, k + 1))

    def _find_radius(
        self, distances: Floats, rows: Ints, precision: float | None, prevalence: float | None
    ) -> float:
        """Radius of duplicates, by each row's nearest others and what is known of the answer."""
        if prevalence is not None:
            share = check_share(prevalence, "prevalence", ends=True)
            rng = check_random_state(self.random_state)
            return radius_of_share(self.vectors, distances, rows, share, rng)
        if precision is not None:
            precision = check_share(precision, "precision")
        k = n_judged_neighbors(len(self))
        if k:
            return duplicate_radius(count_near_pairs(distances[:, :k]), precision)
        if precision is not None:
            raise InputError(
                f"precision={precision}, but the index has {len(self)} rows, too few to judge by "
                "how near they are to each other: give radius= or prevalence=."
            )
        return self._check_radius(None)

    def _chain_groups(self, radius: float) -> Ints:
        """Groups of rows that chains of steps within the radius connect."""
        if not self._is_approximate():
            return group_within(self.vectors, radius)
        distances, rows = self._find_nearest(self.vectors, min(len(self), self.n_neighbors + 1))
        near = distances <= radius
        edges = np.column_stack([np.nonzero(near)[0], rows[near]])
        return number_by_first_row(merge_labels(np.arange(len(self)), edges))


def check_fitted(metric: Any) -> None:
    """Raise unless the metric can be asked for distances."""
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


def _is_plain_array(X: Any) -> bool:
    """Whether X is a small array without NaN, infinity or huge numbers, without full checks."""
    if type(X) is not np.ndarray or X.ndim != 2 or not 0 < X.size <= _FEW_NUMBERS:
        return False
    if X.dtype not in _MOST or not (X.flags.c_contiguous and X.flags.aligned):
        return False
    most = _MOST[X.dtype]
    return bool(X.max() <= most and X.min() >= -most)


def _stack(parts: list[Any]) -> Any:
    """Stack vectors below one another."""
    return sp.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)


def _set_read_only(array: Any) -> Any:
    """Make an array read-only, of a sparse matrix all its arrays."""
    for part in (array.data, array.indices, array.indptr) if is_sparse(array) else (array,):
        part.flags.writeable = False
    return array


def read_index(path: StrPath) -> tuple[NDArray[Any], NDArray[Any], dict[str, Any]]:
    """Vectors, ids and settings of a file; a StorageError says what is wrong with other files."""
    arrays, settings = read_arrays(path, KIND, VERSION)
    vectors = arrays.get("vectors", np.empty(0))
    if vectors.ndim != 2 or 0 in vectors.shape or vectors.dtype not in _DTYPES:
        raise _unreadable_index(path, "it holds no matrix of float32 or float64 vectors")
    if not np.isfinite(vectors).all():
        raise _unreadable_index(path, "its vectors are not all finite")
    ids = _unpack_ids(arrays)
    if ids is None or ids.shape != (len(vectors),):
        raise _unreadable_index(path, f"it does not hold one id for each of {len(vectors)} vectors")
    if not isinstance(settings, dict):
        raise _unreadable_index(path, "it holds no settings")
    return vectors, ids, settings


def _unreadable_index(path: StrPath, reason: str) -> StorageError:
    """An error for a file that holds no index."""
    return StorageError(f"{os.fspath(path)} was not loaded: {reason}.")


def _pack_ids(ids: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Ids as arrays: strings become their UTF-8 bytes one after the other, and where each ends."""
    if ids.dtype.kind == "i":
        return {"ids": np.ascontiguousarray(ids)}
    texts = [text.encode() for text in ids.tolist()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {"id_bytes": np.frombuffer(b"".join(texts), dtype=np.uint8), "id_ends": ends}


def _unpack_ids(arrays: dict[str, NDArray[Any]]) -> NDArray[Any] | None:
    """Ids as they were, or nothing if the arrays are not what :func:`_pack_ids` gives."""
    kinds = {name: (a.ndim, a.dtype.name) for name, a in arrays.items() if name != "vectors"}
    if kinds == {"ids": (1, "int64")}:
        return arrays["ids"]
    if kinds != {"id_bytes": (1, "uint8"), "id_ends": (1, "int64")}:
        return None
    text, ends = arrays["id_bytes"].data, arrays["id_ends"]
    # Texts that overlap could take any amount of memory.
    in_order = ends[:1].min(initial=0) == 0 and bool((ends[1:] >= ends[:-1]).all())
    if not in_order or ends.max(initial=0) != len(text):
        return None
    ids = np.empty(len(ends), dtype=object)
    start = 0
    try:
        for first in range(0, len(ends), _SOME_IDS):
            for row, end in enumerate(ends[first : first + _SOME_IDS].tolist(), first):
                ids[row] = str(text[start:end], "utf-8")
                start = end
    except UnicodeDecodeError:
        return None
    return ids


def _write_parquet(path: Path, vectors: NDArray[Any], ids: NDArray[Any]) -> None:
    """Write vectors and ids as columns of a Parquet file."""
    with explain_missing_package("export to .parquet needs pyarrow", "parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    kind = pa.int64() if ids.dtype.kind == "i" else pa.string()
    pq.write_table(pa.table({"id": pa.array(ids, kind), "vector": lists}), path)
