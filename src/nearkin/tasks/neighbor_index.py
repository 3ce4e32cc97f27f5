"""NeighborIndex: the nearest rows in a learned metric, and which rows are the same thing."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from nearkin._types import Floats
from nearkin.errors import InputError
from nearkin.learners.compositions import last_learner
from nearkin.messages import notice
from nearkin.pairs.pairs import checked_count
from nearkin.rows.ids import Ids, are_distinct, checked_ids, with_new_ids
from nearkin.rows.validation import refuse_gaps
from nearkin.spaces.neighbors import SEARCHES, Search, nearest, within
from nearkin.storage.index_files import export_vectors, read_index, refusal, write_index
from nearkin.tasks.indexed_groups import IndexedGroups
from nearkin.tasks.indexed_rows import check_fitted


class NeighborIndex(IndexedGroups):
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
        "search": [StrOptions(set(SEARCHES))],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "target_recall": [Interval(Real, 0, 1, closed="right")],
        "random_state": ["random_state"],
        "device": [None, str],
    }

    def __init__(
        self,
        metric: Any = None,
        *,
        search: Search = "auto",
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
        export_vectors(path, self.vectors, self.ids)

    def _count(self, n_neighbors: Any) -> int:
        k = checked_count(n_neighbors, "n_neighbors", least=1)
        if k > len(self):
            notice(
                f"n_neighbors={k}, but the index holds only {len(self)} rows: all are given.",
            )
        return min(k, len(self))


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
