"""NeighborIndex: the nearest rows in a learned metric, and which rows are the same thing."""

from __future__ import annotations

import math
import os
from dataclasses import field
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import digamma
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _num_samples, check_is_fitted

from nearkin._types import Floats, Ints, Rng
from nearkin.errors import InputError, InputTypeError, explain_missing_package, raise_input_errors
from nearkin.learners.base import WholeState, replace_state
from nearkin.learners.compositions import last_learner, sees_any_rows
from nearkin.learners.parameters import Count, Seed, with_parameters
from nearkin.messages import notice
from nearkin.pairs.closure import number_by_appearance
from nearkin.pairs.pairs import check_count, find_first
from nearkin.rows import access, backends, device_math, validation
from nearkin.rows.backends import evenly_spaced
from nearkin.rows.distances import (
    centre,
    middle,
    rowwise_distances,
    squared_lengths,
    squared_rowwise_distances,
)
from nearkin.rows.sparse import is_sparse, to_dense, to_plain, variances
from nearkin.rows.streams import copy_to_device
from nearkin.scores.verdicts import check_share
from nearkin.spaces import neighbors
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
# Neighbours of a row that are looked at; the farther half of them are taken to be no copies. Chosen
# by hand: groups of more than ten copies of one thing are rare.
_MOST_NEIGHBORS = 20
# With fewer rows for each of the neighbours than four, density is not even among them; fewer than
# ten neighbours do not tell how it grows. Both chosen by hand.
_ROWS_PER_NEIGHBOR, _LEAST_NEIGHBORS = 4, 10
# Pairs by chance are counted so many times: the power law can be as much too low. Chosen by hand.
_CAUTION = 2.0
# How many times as slowly as those of most rows a row's neighbours can grow. Chosen by hand.
_MOST_UNEVEN = 3.0
# Pairs that the distances of all pairs are judged by: a quantile of 1e-4 then has an error of 10 %.
_SAMPLE = 1_000_000
# Rows of a group that nobody wonders about, even where there are few in all. Chosen by hand.
_MOST_PLAUSIBLE = 5
# Rows no farther apart, as a share of their length, are identical: some roundings of float32.
_IDENTICAL = 1e-6
# Rounding of means and of their squared distances, as a share of squared lengths.
_ROUNDING = 64 * np.finfo(np.float64).eps


class NearPairs(NamedTuple):
    """Numbers of pairs of rows within ascending radii: all, and those expected by chance."""

    radii: Floats
    found: Floats
    by_chance: Floats


def count_near_pairs(distances: Floats) -> NearPairs:
    """Count near pairs, all and by chance, from distances (n, k) of each row's nearest others.

    Distances ascend. Those of the farther half are taken to be of rows that are no duplicates: they
    say how the number of neighbours grows with the distance, a power of it. O(n k log n) time.
    """
    k = distances.shape[1]
    half = k // 2
    last = distances[:, -1].astype(np.float64)
    apart = last > 0  # other rows are all copies, as far as one sees
    radii = np.unique(distances[:, 0]).astype(np.float64)
    found = np.searchsorted(np.sort(distances, axis=None), radii, side="right") / 2
    if not apart.any():
        return NearPairs(radii, found, np.zeros(len(radii)))
    with np.errstate(divide="ignore"):
        growth = np.log(last[apart] / distances[apart, half - 1])
        logs = np.log(radii)
    usual = np.median(growth)
    growth = np.minimum(growth, _MOST_UNEVEN * usual if np.isfinite(usual) else np.inf)
    # The mean of log(d_k / d_j) is (ψ(k) − ψ(j)) / m where density is even.
    mean = growth.mean()
    if not (np.isfinite(mean) and mean > 0):
        return NearPairs(radii, found, np.where(radii > 0, np.inf, 0.0))
    m = float(digamma(k) - digamma(half)) / mean
    log_last = np.sort(np.log(last[apart]))
    # Sums of d_k^-m over rows whose k-th is farther than a radius; those nearer have k within it.
    sums = np.append(np.logaddexp.accumulate(-m * log_last[::-1])[::-1], -np.inf)
    n_nearer = np.searchsorted(log_last, logs)
    by_chance = k / 2 * (n_nearer + np.exp(m * logs + sums[n_nearer]))
    return NearPairs(radii, found, _CAUTION * by_chance)


def choose_radius(pairs: NearPairs, precision: float | None = None) -> float:
    """Choose the distance up to which two rows count as duplicates.

    By default that with most duplicates less other pairs: at its edge, either is as likely. With a
    precision, the largest within which that share of the pairs are duplicates. 0 if no two rows are
    duplicates, unless they are identical.
    """
    if precision is None:
        gain = pairs.found - 2 * pairs.by_chance
        best = int(np.argmax(gain))
        return float(pairs.radii[best]) if gain[best] > 0 else 0.0
    good = np.flatnonzero(pairs.by_chance <= (1 - precision) * pairs.found)
    return float(pairs.radii[good[-1]]) if len(good) else 0.0


def find_radius_of_share(Z: Any, distances: Floats, rows: Ints, share: float, rng: Rng) -> float:
    """Distance within which a given share of all pairs of rows lie; 0 if that share is no pair.

    From each row's nearest others and their distances, (n, k) each, or from a million random pairs
    if the share is larger than these hold.
    """
    n, k = rows.shape
    wanted = round(share * n * (n - 1) / 2)
    if wanted < 1:
        return 0.0
    ends = np.sort(np.column_stack([np.repeat(np.arange(n), k), rows.ravel()]), axis=1)
    _, once = np.unique(ends[:, 0] * n + ends[:, 1], return_index=True)
    if wanted <= max(len(once) // 4, 1) or k == n - 1:
        return float(np.partition(distances.ravel()[once], wanted - 1)[wanted - 1])
    drawn = rng.randint(n, size=(_SAMPLE, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    return float(np.quantile(rowwise_distances(Z, Z, drawn[:, 0], drawn[:, 1]), share))


def describe_doubts(
    Z: Any, labels: Ints, radius: float, *, chained: bool, same_distance: float | None
) -> str | None:
    """Message that groups are implausible as duplicates, with a remedy; None if they are plausible.

    ``labels`` (n,) are the groups of rows Z. They are ``chained`` if steps up to ``radius`` connect
    them. ``same_distance`` is the usual distance of pairs known to be the same, None if unknown.
    """
    sizes = np.bincount(labels)
    n_groups, largest = int((sizes > 1).sum()), int(sizes.max())
    have = f"the largest of {n_groups} groups has {largest} of {len(labels)} rows"
    rows = centre(Z[labels == sizes.argmax()], middle(Z, if_far=True))
    variance = variances(rows) if is_sparse(rows) else rows.var(axis=0, dtype=np.float64)
    # Root mean squares of distances between rows of the largest group, and of their lengths.
    across = float(np.sqrt(2 * variance.sum() * largest / max(largest - 1, 1)))
    length = float(np.sqrt(squared_lengths(rows).sum() / largest))
    many = largest > min(_MOST_NEIGHBORS, max(len(labels) // 2, _MOST_PLAUSIBLE))
    if chained:
        if not many or across <= radius:
            return None
        return (
            f"{have}, which are {across:.3g} apart in the mean: chains of steps up to "
            f"radius={radius:.3g} connect them. Give a smaller radius, or none, to have it found; "
            "for classes, cluster metric.transform(X)."
        )
    if same_distance is not None and same_distance > radius:
        found = have if n_groups else f"no two of {len(labels)} rows are copies"
        return (
            f"{found} (up to a distance of {radius:.3g}), but most pairs known to be the same are "
            f"more than {same_distance:.3g} apart: they seem to be classes, not copies of one "
            "thing. For classes, cluster metric.transform(X); for groups of another size, give "
            "radius= or prevalence=."
        )
    if many and across > _IDENTICAL * length:
        return (
            f"{have}, many for copies of one thing (up to a distance of {radius:.3g}). Give "
            "precision=0.99 or a smaller radius=; for classes, cluster metric.transform(X)."
        )
    return None


def group_by_mean_distance(Z: Any, distances: Floats, rows: Ints, radius: float) -> Ints:
    """Group (n,) of each row: the root mean square distance within a group is at most ``radius``.

    Groups merge, the nearest first, while that holds and a row of one is within the radius of a row
    of the other; ``distances`` and ``rows``, (n, k), are each row's nearest others.
    O(n k q) time for each of some ten rounds, and O(n (k + q)) memory.
    """
    n, k = rows.shape
    Z = centre(Z, middle(Z, if_far=True))
    near = (distances <= radius).ravel()
    edges = np.column_stack([np.repeat(np.arange(n), k), rows.ravel()])[near]
    labels, size, spread = np.arange(n), np.ones(n), np.zeros(n)
    # A row is at the radius itself, up to rounding; so are means of identical rows.
    reach = float(squared_lengths(Z).max())
    most = (radius * (1 + 8 * np.finfo(Z.dtype).eps)) ** 2 + reach * _ROUNDING**2
    while True:
        edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
        mean_of = sp.csr_array((1 / size[labels], (labels, np.arange(n))), shape=(n, n))
        means = mean_of @ Z
        between = squared_rowwise_distances(means, means, *edges.T)
        apart = between + spread[edges].sum(axis=1)
        # Groups that are too far apart stay so, whatever else joins them.
        close = apart <= most
        edges, between, apart = edges[close], between[close], apart[close]
        if not len(edges):
            return number_by_appearance(labels)
        # Edges that are the shortest at both of their ends.
        rank = np.empty(len(edges), dtype=np.int64)
        rank[np.lexsort((edges[:, 1], edges[:, 0], apart))] = np.arange(len(edges))
        first = np.full(n, len(edges))
        for end in edges.T:
            np.minimum.at(first, end, rank)
        joined = (first[edges] == rank[:, None]).all(axis=1)
        a, b = edges[joined].T
        total = size[a] + size[b]
        spread[a] = (size[a] * spread[a] + size[b] * spread[b]) / total
        spread[a] += size[a] * size[b] / total**2 * between[joined]
        size[a] = total
        now = np.arange(n)
        now[b] = a
        labels, edges = now[labels], now[edges]


class _Held(WholeState):
    """What an index holds."""

    _vectors: list[Floats]  # parts, until somebody asks for all
    _ids: list[validation.Ids]
    _known: set[Any] | range | None  # ids; None until rows are added
    _cells: neighbors.CellIndex | None
    _witnesses: tuple[Any, Floats] | None
    # What the metric had learned when it saw the witnesses last: a value that no fit changes.
    _seen_by: Any = None
    # The vectors, and where they are on the device.
    _there: tuple[Any, Any] | None = None


@with_parameters
class NeighborIndex(_Held, BaseEstimator):
    """Nearest neighbours in a learned metric.

    It keeps the embeddings of rows, with an id for each, and finds those nearest to new rows, those
    within a radius, and groups of rows that are the same thing. Of rows equally far, the one added
    first is first.

    Parameters
    ----------
    metric : fitted learner, optional
        Or another fitted transformer, such as a pipeline whose last step is a learner. None takes
        rows as they are. Once it is fitted again, the index refuses to compare what it holds with
        new rows: make a new one.
    search : {"auto", "exact", "approximate"}, default="auto"
        Compare with all rows, or only with those in the cells nearest to the query. ``"auto"`` is
        exact below 100 000 rows.
    n_neighbors : int, default=10
        How many neighbours :meth:`query` gives by default.
    target_recall : float in (0, 1], default=0.98
        Share of the nearest that the approximate search is to find. It looks into as many cells as
        that takes on a sample of the rows; :meth:`recall` measures it on another.
    random_state : int, RandomState or None, default=None
        Of the cells, and of samples.
    device : str, optional
        A device of torch, such as ``"cuda"``: :meth:`query` compares with all rows there, and is
        exact whatever ``search`` says. Of more than eight rows equally far as the last neighbour,
        it may not be the first that are given.

    Attributes
    ----------
    threshold_ : float or None
        The metric's: the distance up to which two rows are the same thing.

    Notes
    -----
    Memory: the embeddings and ids; with the approximate search, a byte more for each number and 12
    for each row. Queries take O(n) time each, or O(√n) with the approximate search, whose cells are
    made at the next query. Later rows are put into them once they are a sixteenth of those there,
    and are all compared with till then; cells are made anew for twice as many rows.

    Examples
    --------
    >>> import nearkin as nk
    >>> X = [[0.0, 0.0], [0.0, 9.0], [5.0, 0.0], [5.0, 9.0]]
    >>> metric = nk.RCA().fit(X, pairs=nk.Pairs([(0, 1), (2, 3)]))
    >>> index = nk.NeighborIndex(metric).add(X, ids=["a", "b", "c", "d"])
    >>> distances, ids = index.query([[5.0, 4.0]], n_neighbors=2)
    >>> ids
    array([['c', 'd']], dtype=object)
    >>> index.query_radius([[5.0, 4.0]], radius=2 * distances[0, 0])[1]
    [array(['c', 'd'], dtype=object)]

    Copies are found among rows as they are, too:

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> X[60] = X[20] + 0.01
    >>> index = nk.NeighborIndex(random_state=0).fit(X)
    >>> index.duplicates()
    [array([20, 60])]
    >>> round(index.radius_for(), 4), index.recall()
    (0.0224, 1.0)
    >>> labels = index.group_labels(radius=0.1)
    >>> bool(labels[20] == labels[60] != labels[0])
    True

    It can be kept in a file, or its vectors given to another program:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index.save(f"{folder}/rows.index")
    ...     index.export(f"{folder}/vectors.npy")
    ...     (
    ...         len(nk.NeighborIndex.load(f"{folder}/rows.index")),
    ...         np.load(f"{folder}/vectors.npy").shape,
    ...     )
    (100, (100, 5))
    """

    metric: Annotated[Any, object] = field(default=None, kw_only=False)
    search: neighbors.SearchMode = "auto"
    n_neighbors: Count = 10
    target_recall: Annotated[float, Interval(Real, 0, 1, closed="right")] = 0.98
    random_state: Seed = None
    device: Annotated[str, str] | None = None

    @replace_state
    def fit(self, X: Any, y: Any = None, *, ids: Any = None) -> Self:
        """Replace the rows of the index by these. The metric is not fitted: it must be already.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
        y : ignored
        ids : array of n int or str, optional
            Row numbers by default.

        Returns
        -------
        self
        """
        self._validate_params()
        vectors = self._embed_own(X)
        own = validation.check_ids(ids, vectors.shape[0], 0, None)
        self._hold(vectors, own, validation.add_new_ids(range(0), own, numbered=ids is None))
        self._witnesses = self._choose_witnesses(X)
        return self

    def add(self, X: Any, ids: Any = None) -> Self:
        """Add rows to the index.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
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
        vectors = self._embed_own(X)
        self._check_columns(vectors, "X")
        new = validation.check_ids(ids, vectors.shape[0], len(self), self._ids[0])
        if self._known is None:
            self._known = set(self.ids.tolist())
        self._known = validation.add_new_ids(self._known, new, numbered=ids is None)
        self._vectors.append(self._convert(vectors))
        self._ids.append(new)
        if self._witnesses is None:
            self._witnesses = self._choose_witnesses(X)
        return self

    @property
    def vectors(self) -> Floats:
        """Embeddings of all rows, of shape (n, q), sparse if they are; not to be written to."""
        self._check_not_empty()
        if len(self._vectors) > 1:
            parts: Any = self._vectors
            sparse = is_sparse(parts[0])
            joined = sp.vstack(parts, format="csr") if sparse else np.concatenate(parts)
            self._vectors = [_set_read_only(joined)]
        return self._vectors[0]

    @property
    def ids(self) -> validation.Ids:
        """Ids of all rows; not to be written to."""
        self._check_not_empty()
        if len(self._ids) > 1:
            self._ids = [_set_read_only(np.concatenate(self._ids))]
        return self._ids[0]

    @property
    def threshold_(self) -> float | None:
        """Distance up to which two rows are the same thing, where the metric has one."""
        return self._read_of_metric("threshold")

    def __len__(self) -> int:
        return sum(int(part.shape[0]) for part in getattr(self, "_vectors", []))

    def __sklearn_is_fitted__(self) -> bool:
        return len(self) > 0

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_there": None}  # devices differ from machine to machine

    def query(self, X_new: Any, n_neighbors: int | None = None) -> tuple[Floats, validation.Ids]:
        """Find the nearest rows of the index for each new row.

        Parameters
        ----------
        X_new : array, sparse matrix or frame of shape (m, d)
            A row that is in the index too finds itself first.
        n_neighbors : int, optional
            The index's own by default. All rows are given, with a warning, if they are fewer.

        Returns
        -------
        distances : ndarray of shape (m, n_neighbors)
            The nearest first.
        ids : ndarray of shape (m, n_neighbors)

        Notes
        -----
        Memory beyond the result: the embedding of the new rows, and some 100 MB.
        """
        self._check_ready()
        k = self._check_n_neighbors(n_neighbors)
        distances, rows = self._find_nearest(self._embed_queries(X_new), k)
        return distances, self.ids[rows]

    def query_radius(
        self, X_new: Any, radius: float | None = None
    ) -> tuple[list[Floats], list[validation.Ids]]:
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
        """
        self._check_ready()
        Q, radius = self._embed_queries(X_new), self._check_radius(radius)
        distances, rows = neighbors.find_within(self.vectors, Q, radius)
        ids = self.ids
        return distances, [ids[near] for near in rows]

    def recall(self, n_sample: int = 1000, n_neighbors: int | None = None) -> float:
        """Measure the share of the true nearest neighbours that the search finds.

        Parameters
        ----------
        n_sample : int, default=1000
            Rows of the index to look for the neighbours of, themselves left out.
        n_neighbors : int, optional
            The index's own by default.

        Returns
        -------
        float
            What is as near as a true neighbour counts as one.
        """
        self._check_not_empty()
        Z, k = self.vectors, self._check_n_neighbors(n_neighbors)
        k = min(k + 1, len(Z))
        if k == 1:
            return 1.0
        rng = check_random_state(self.random_state)
        n_sample = min(check_count(n_sample, "n_sample", least=1), len(Z))
        Q = Z[rng.permutation(len(Z))[:n_sample]]
        found, true = self._find_nearest(Q, k)[0], neighbors.find_nearest(Z, Q, k)[0]
        # The first is the row itself, or another in the same place.
        return float(np.mean(found[:, 1:] <= true[:, -1:]))

    def duplicates(
        self,
        radius: float | None = None,
        *,
        precision: float | None = None,
        prevalence: float | None = None,
    ) -> list[validation.Ids]:
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
            With the approximate search a group may come in parts, see :meth:`group_labels`. There
            is a warning if the groups are implausible as copies of one thing: if one has many rows,
            or if the pairs that the metric was learned from are mostly farther apart.
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
        Without a radius, the 20 nearest of each row are looked at. With one, O(n²) time at most,
        and O(n) memory however many pairs are near. The approximate search joins a row only with
        its ``n_neighbors`` nearest that it finds: a group can then be a part of a larger one.
        """
        self._check_ready()
        said = {"radius": radius, "precision": precision, "prevalence": prevalence}
        if len(given := [name for name, value in said.items() if value is not None]) > 1:
            raise InputError(f"give one of {' and '.join(given)}: each of them says what is near.")
        Z, chained = self.vectors, radius is not None
        if chained:
            radius = self._check_radius(radius)
            if not self._is_approximate():
                labels = neighbors.group_within(Z, radius)
            else:
                distances, rows = self._find_nearest(Z, min(len(Z), self.n_neighbors + 1))
                near = distances <= radius
                edges = np.column_stack([np.nonzero(near)[0], rows[near]])
                merged = neighbors.merge_labels(np.arange(len(Z)), edges)
                labels = number_by_appearance(merged)
        else:
            distances, rows = self._find_nearest_others()
            radius = self._find_radius(distances, rows, precision, prevalence)
            labels = group_by_mean_distance(Z, distances, rows, radius)
        usual = self._read_of_metric("same_distance")
        doubts = describe_doubts(Z, labels, radius, chained=chained, same_distance=usual)
        if doubts is not None:
            notice(doubts)
        return labels

    def radius_for(
        self, *, precision: float | None = None, prevalence: float | None = None
    ) -> float:
        """Find the distance up to which two rows of the index are the same thing.

        Parameters
        ----------
        precision, prevalence : float, optional
            As in :meth:`duplicates`.

        Returns
        -------
        float
            By default the distance at which a pair is as likely the same as not, among all pairs of
            these rows: unlike the metric's ``threshold_``, it does not suppose that same and
            different are equally frequent. With ``prevalence``, the distance within which this
            share of all pairs lie. Of fewer than 40 rows it is the metric's ``threshold_``.
        """
        self._check_ready()
        return self._find_radius(*self._find_nearest_others(), precision, prevalence)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write vectors, ids, threshold and settings to one file. The metric is not stored.

        Parameters
        ----------
        path : str or path
            A safetensors file, without anything that could be executed, and never half written.
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
            "same_distance": self._read_of_metric("same_distance"),
        }
        arrays = {"vectors": self.vectors, **_pack_ids(self.ids)}
        write_arrays(path, KIND, VERSION, arrays, settings)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, metric: Any = None) -> Self:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : str or path
            It is a StorageError if the file is damaged, or of another format or version.
        metric : fitted learner, optional
            The metric that the index was made with; an error if it is another. Without it, rows to
            add or to query must be embedded already, as ``metric.transform(X)``.

        Returns
        -------
        NeighborIndex
        """
        arrays, settings = read_arrays(path, KIND, VERSION)
        vectors = arrays.get("vectors", np.empty(0))
        if vectors.ndim != 2 or 0 in vectors.shape or vectors.dtype not in _DTYPES:
            raise _index_error(path, "it holds no matrix of float32 or float64 vectors")
        if not np.isfinite(vectors).all():
            raise _index_error(path, "its vectors are not all finite")
        ids = _unpack_ids(arrays)
        if ids is None or ids.shape != (len(vectors),):
            raise _index_error(path, f"it does not hold one id for each of {len(vectors)} vectors")
        if not isinstance(settings, dict):
            raise _index_error(path, "it holds no settings")
        names = ("search", "n_neighbors", "target_recall", "random_state")
        try:
            index = cls(metric, **{name: settings[name] for name in names})
            index._validate_params()
            threshold, same_distance = (
                None if settings[name] is None else float(settings[name])
                for name in ("threshold", "same_distance")
            )
            validation.refuse_gaps(vectors, vectors, "vectors")
            if not validation.are_distinct(ids):
                validation.add_new_ids(range(0), ids, numbered=False)  # which says where
            index._hold(vectors, ids, None)
        except (KeyError, TypeError, ValueError) as error:
            raise _index_error(path, repr(error)) from error
        if metric is not None:
            check_fitted(metric)
            learner, n_columns = last_learner(metric), vectors.shape[1]
            given = getattr(learner, "n_components_", n_columns)
            if given != n_columns:
                raise InputError(
                    f"metric gives vectors with {given} columns, but those stored have "
                    f"{n_columns}: it is not the metric that the index was made with."
                )
            given = getattr(learner, "threshold_", None)
            if threshold is not None and given is not None and float(given) != threshold:
                raise InputError(
                    f"metric has threshold_ {given}, but {threshold} is stored: it is not the "
                    "metric that the index was made with, or was fitted or calibrated again. Make "
                    "a new index."
                )
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
        suffix = Path(path).suffix
        if suffix not in (".npy", ".parquet"):
            raise InputError(f"path must end in .npy or .parquet, got {os.fspath(path)!r}.")
        vectors, ids = self.vectors, self.ids
        if suffix == ".npy":
            with whole_file(path) as unfinished, open(unfinished, "wb") as file:
                np.save(file, vectors, allow_pickle=False)
            return
        with explain_missing_package("export to .parquet needs pyarrow", "parquet"):
            import pyarrow as pa
            import pyarrow.parquet as pq
        lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
        kind = pa.int64() if ids.dtype.kind == "i" else pa.string()
        with whole_file(path) as unfinished:
            pq.write_table(pa.table({"id": pa.array(ids, kind), "vector": lists}), unfinished)

    def _hold(self, vectors: Floats, ids: validation.Ids, known: set[Any] | range | None) -> None:
        """Set vectors and ids; ``known`` are the ids as a set, or a range of row numbers."""
        self._vectors, self._ids = [_set_read_only(vectors)], [_set_read_only(ids)]
        self._known = known
        self._cells = self._witnesses = self._seen_by = self._there = None

    def _embed(self, X: Any, name: str) -> Floats:
        """Check rows, and map them by the metric to C-contiguous vectors of finite numbers."""
        metric = self.metric
        Z: Floats = X
        if metric is None and _is_plain_array(X):
            return Z
        if metric is None or not sees_any_rows(metric):
            validation.refuse_non_tables(X, name)
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
        """Map rows to vectors that share no memory with X."""
        Z = self._embed(X, "X")
        shared = self.metric is None or (isinstance(X, np.ndarray) and np.may_share_memory(X, Z))
        return Z.copy() if shared else Z

    def _embed_queries(self, X_new: Any) -> Floats:
        Q = self._embed(X_new, "X_new")
        self._check_columns(Q, "X_new")
        return cast("Floats", self._convert(Q).astype(self.vectors.dtype, copy=False))

    def _convert(self, Z: Any) -> Any:
        return sp.csr_array(Z) if is_sparse(self._vectors[0]) else to_dense(Z)

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

    def _choose_witnesses(self, X: Any) -> tuple[Any, Floats] | None:
        """Some rows and their vectors, by which a new fit of the metric is noticed later.

        None without a metric, or if it gives other vectors each time.
        """
        if self.metric is None:
            return None
        rows = access.take(X, np.unique(evenly_spaced(_num_samples(X), _WITNESSES)))
        first, again = (to_dense(self._embed(rows, "X")) for _ in range(2))
        return (rows, first) if np.array_equal(first, again) else None

    def _check_metric(self) -> None:
        """Raise if the metric was fitted again since rows were added."""
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

    def _read_of_metric(self, name: str) -> float | None:
        """A number that the metric has, such as ``threshold_``, or else that of the file."""
        stored = getattr(self, f"_stored_{name}", None)
        value = getattr(last_learner(self.metric), f"{name}_", None)
        value = stored if value is None else value
        return None if value is None else float(value)

    def _check_not_empty(self) -> None:
        if not len(self):
            raise NotFittedError("this NeighborIndex holds no rows yet: call fit(X) or add(X).")

    def _check_ready(self) -> None:
        """Raise unless there are rows, and the metric is as it was when they were added."""
        self._check_not_empty()
        self._check_metric()

    def _refuse_sparse(self, what: str) -> None:
        if is_sparse(self._vectors[0]):
            raise InputError(
                f"{what} writes dense vectors, but those of this index are sparse: give it a "
                "metric with few columns, such as Chain([TruncatedSVD(100), Euclidean()])."
            )

    def _check_n_neighbors(self, n_neighbors: int | None) -> int:
        """Check a number of neighbours: the index's own by default, at most that of rows."""
        n_neighbors = self.n_neighbors if n_neighbors is None else n_neighbors
        k = check_count(n_neighbors, "n_neighbors", least=1)
        if k > len(self):
            notice(f"n_neighbors={k}, but the index holds only {len(self)} rows: all are given.")
        return min(k, len(self))

    def _check_radius(self, radius: float | None) -> float:
        """Check a radius; by default it is the metric's threshold."""
        radius = self.threshold_ if radius is None else radius
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
        """Distances and row numbers, (m, k) each, of the rows nearest to queries."""
        Z = self.vectors
        if self.device is not None:
            if is_sparse(Z):
                raise InputError(
                    f"device={self.device!r} needs dense vectors, but these rows are sparse: leave "
                    "device out, or use a metric with few columns."
                )
            if self._there is None or self._there[0] is not Z:
                self._there = Z, copy_to_device(Z, self.device)
            queries, there = copy_to_device(Q, self.device), self._there[1]
            squared, rows = device_math.find_nearest_rows(queries, there, k)
            return np.sqrt(backends.to_numpy(squared)).astype(Z.dtype), backends.to_numpy(rows)
        if not self._is_approximate():
            return neighbors.find_nearest(Z, Q, k)
        cells = self._cells
        if cells is None or len(Z) > (1 + _LATER_ROWS) * cells.n_rows:
            rng = check_random_state(self.random_state)
            self._cells = cells = neighbors.CellIndex(Z, self.target_recall, rng, earlier=cells)
        cells.Z = Z[: cells.n_rows]  # where they are now: once is enough
        return neighbors.find_nearest_by_cells(cells, Z, Q, k)

    def _is_approximate(self) -> bool:
        if self.device is not None:
            return False
        if self.search == "auto":
            return len(self) >= _MANY_ROWS and not is_sparse(self._vectors[0])
        return self.search == "approximate" and len(self) > 1

    def _find_nearest_others(self) -> tuple[Floats, Ints]:
        """Distances and row numbers, (n, k) each, of each row's nearest other rows."""
        k = min(_MOST_NEIGHBORS, len(self) - 1)
        if k == 0:
            return np.empty((1, 0), dtype=self.vectors.dtype), np.empty((1, 0), dtype=np.int64)
        return neighbors.drop_itself(*self._find_nearest(self.vectors, k + 1))

    def _find_radius(
        self, distances: Floats, rows: Ints, precision: float | None, prevalence: float | None
    ) -> float:
        """Distance up to which rows are duplicates, by a precision, a prevalence, or neither."""
        if prevalence is not None:
            share = check_share(prevalence, "prevalence", ends=True)
            rng = check_random_state(self.random_state)
            return find_radius_of_share(self.vectors, distances, rows, share, rng)
        if precision is not None:
            precision = check_share(precision, "precision")
        k = min(_MOST_NEIGHBORS, len(self) // _ROWS_PER_NEIGHBOR)
        if k >= _LEAST_NEIGHBORS:
            return choose_radius(count_near_pairs(distances[:, :k]), precision)
        if precision is not None:
            raise InputError(
                f"precision={precision}, but the index has {len(self)} rows, too few to judge by "
                "how near they are to each other: give radius= or prevalence=."
            )
        return self._check_radius(None)


def check_fitted(metric: Any) -> None:
    """Raise unless the metric is a fitted transformer."""
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


def _is_plain_array(X: Any) -> bool:
    """Whether X is a small C-contiguous float array without NaN, infinity or huge numbers."""
    if type(X) is not np.ndarray or X.ndim != 2 or not 0 < X.size <= _FEW_NUMBERS:
        return False
    if X.dtype not in _MOST or not (X.flags.c_contiguous and X.flags.aligned):
        return False
    most = _MOST[X.dtype]
    return bool(X.max() <= most and X.min() >= -most)


def _set_read_only(array: Any) -> Any:
    """Make an array, or all arrays of a sparse matrix, read-only; returns it."""
    for part in (array.data, array.indices, array.indptr) if is_sparse(array) else (array,):
        part.flags.writeable = False
    return array


def _index_error(path: StrPath, reason: str) -> StorageError:
    return StorageError(f"{os.fspath(path)} was not loaded: {reason}.")


def _pack_ids(ids: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Arrays to store ids in: integers as they are, strings as UTF-8 bytes and the end of each."""
    if ids.dtype.kind == "i":
        return {"ids": np.ascontiguousarray(ids)}
    texts = [text.encode() for text in ids.tolist()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {"id_bytes": np.frombuffer(b"".join(texts), dtype=np.uint8), "id_ends": ends}


def _unpack_ids(arrays: dict[str, NDArray[Any]]) -> NDArray[Any] | None:
    """Ids from the arrays of :func:`_pack_ids`; None if the arrays are not valid."""
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
