"""The metric that is learned from answers, and the layout of rows on the map."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import Normalizer, StandardScaler

from nearkin._types import Floats, Ints
from nearkin.errors import InputError, InputTypeError
from nearkin.learners.compositions import Chain
from nearkin.learners.itml import ITML
from nearkin.learners.live_view import LiveView
from nearkin.learners.teachable import TeachableMixin, find_space_only, learn_again
from nearkin.messages import Note, collect_notices, hand_on, mute_categories, notice
from nearkin.pairs.pairs import Pairs
from nearkin.rows.parallel import REORDER, compiled, split_range
from nearkin.rows.scaling import ScaleWarning
from nearkin.scores.verdicts import measure_usual_distance
from nearkin.spaces.linalg import principal_coordinates
from nearkin.spaces.neighbors import (
    CellIndex,
    SearchMode,
    find_nearest_by_cells,
    find_nearest_others,
)
from nearkin.studio.records import StudioRecords

# The usual learner is ITML in a kernel's feature space: on digits, 100 answers teach it more than
# 500 random pairs teach KernelBeta, whose weights of directions have learned all they can by then.
# Up to this many rows all are landmarks, which makes the metric exact; of more, so many are.
_EXACT_ROWS = 1000
_LANDMARKS = 500
_BLOCK = 16_384


class RowsView(Protocol):
    """Rows in the learned coordinates of a metric."""

    def coordinates(self, n_components: int = 2) -> Floats:
        """Coordinates along the principal axes, shape (n, n_components)."""

    def embedding(self, rows: Any = None) -> Floats:
        """Coordinates between which Euclidean distances are those of the metric."""


class PlainView:
    """Rows under the Euclidean metric, where nothing is learned."""

    def __init__(self, X: Floats) -> None:
        self._X = X

    def coordinates(self, n_components: int = 2) -> Floats:
        """Coordinates along the principal axes, shape (n, n_components)."""
        return principal_coordinates(self._X, n_components)

    def embedding(self, rows: Any = None) -> Floats:
        """Return the rows themselves: nothing is learned yet."""
        return self._X if rows is None else self._X[rows]


class MetricStep(NamedTuple):
    """A fitted metric, the pairs it was learned from, and the rows in its coordinates."""

    metric: Any
    told: Pairs
    view: LiveView

    def describe(self, scaler: Any) -> str:
        """The learner's name, its landmarks and how columns were scaled, as a text for the page."""
        landmarks = getattr(self.metric, "landmarks_", None)
        parts = [] if landmarks is None else [f"{len(landmarks)} landmarks"]
        parts += ["standardised columns"] * isinstance(scaler, StandardScaler)
        parts += ["directions of vectors"] * isinstance(scaler, Normalizer)
        return ", ".join([type(self.metric).__name__, *parts])


@dataclass(frozen=True)
class TaughtMetric:
    """The result of learning from the knowledge of one moment, as an immutable value."""

    # Version of the knowledge.
    version: int
    # The last step that could be learned, from which the next is learned.
    step: MetricStep
    # Whether ``step`` was learned from this knowledge, and not from an earlier one.
    succeeded: bool
    # Rows in learned coordinates, or in their own if nothing could be learned.
    view: RowsView
    # Distance at which same and different are equally likely.
    threshold: float
    # The learner's warnings.
    notes: tuple[str, ...]

    @property
    def metric(self) -> Any:
        """The fitted learner, or None if it cannot learn from this knowledge."""
        return self.step.metric if self.succeeded else None


def check_learner(learner: Any, n_rows: int, seed: int) -> Any:
    """Return an unfitted copy of a learner; raise if it cannot learn answer by answer.

    None stands for ITML with an RBF kernel. A learner without a random state of its own gets
    ``seed``, so that it learns the same each time.
    """
    if learner is None:
        landmarks = None if n_rows <= _EXACT_ROWS else _LANDMARKS
        return ITML(kernel="rbf", n_landmarks=landmarks, random_state=seed)
    if isinstance(learner, type) or not isinstance(learner, TeachableMixin):
        name = learner.__name__ if isinstance(learner, type) else type(learner).__name__
        raise InputTypeError(
            f"learner must be one that learns answer by answer (partial_fit), such as "
            f"KernelBeta(), ITML() or GMML(), not {name}."
        )
    if getattr(learner, "kernel", None) == "precomputed":
        raise InputError("kernel='precomputed' has no rows to look at: use another kernel.")
    own = clone(learner)
    if own.random_state is None:
        own.set_params(random_state=seed)
    return own


def refuse_triplets_for(learner: Any, n: int) -> None:
    """Raise if there are n > 0 triplets and the learner does not use triplets."""
    if n and not learner._takes_triplets:
        raise InputError(
            f"{type(learner).__name__} does not learn from triplets, of which there "
            f"{'is' if n == 1 else 'are'} {n}: take ITML or KernelBeta."
        )


def learn_first(learner: Any, X: Floats, pairs: Pairs) -> TaughtMetric:
    """Learn the first metric of a lesson, from the given pairs or from none.

    Space and landmarks are found here once, so that the same answers give the same metric in
    whatever order they came.
    """
    with (
        collect_notices() as notes,
        mute_categories(ScaleWarning),
    ):  # of which the lesson has a word itself
        start = find_space_only(learner, X, pairs)
        view = LiveView(start, X)
    return _learn(MetricStep(start, Pairs(), view), X, pairs, 0, notes)


def learn_again_from(before: TaughtMetric, X: Floats, told: Pairs, version: int) -> TaughtMetric:
    """Learn a metric from the pairs ``told``, in the space of an earlier metric.

    ``version`` is that of the knowledge that ``told`` comes from.
    """
    return _learn(before.step, X, told, version, [])


def _learn(
    step: MetricStep, X: Floats, told: Pairs, version: int, before: list[Note]
) -> TaughtMetric:
    """Learn from pairs in a step's space; if that fails, keep the step and view plain rows."""
    view: RowsView
    with collect_notices() as notes:
        hand_on(before)
        try:
            metric = learn_again(step.metric, X, told)
            step, succeeded = MetricStep(metric, told, step.view.seen_by(metric)), True
            view = step.view
        except (ValueError, np.linalg.LinAlgError) as error:
            view, succeeded = PlainView(X), False
            notice(
                "Nothing can be learned from these answers, and rows are shown as they are: "
                f"{error}"
            )
    if succeeded and len(told):
        threshold = float(step.metric.threshold_)
    else:  # the usual distance between rows
        threshold = measure_usual_distance(view.embedding(), np.random.RandomState(0))
    texts = tuple(note.text for note in notes)
    return TaughtMetric(version, step, succeeded, view, threshold, texts)


def metric_of_records(learned: TaughtMetric, records: StudioRecords, scaler: Any) -> Any:
    """Return a copy of the learned metric that takes rows as ``records.X`` and has feature names.

    The scaler of rows before learning, if any, becomes part of the metric.
    """
    metric = learned.metric
    if metric is None:
        raise InputError(f"there is no metric yet. {learned.notes[-1]}")
    metric = deepcopy(metric)
    if scaler is not None:
        chain = Chain([clone(scaler), clone(metric)])
        metric = chain._made_of([scaler, metric], records.X.shape[1])
    if records.named:
        metric.feature_names_in_ = np.array(records.features, dtype=object)
    for name, value in records.remembered.items():
        setattr(metric, name, value)
    return metric


def distances_from(view: RowsView, row: int, n_rows: int) -> NDArray[np.float64]:
    """Learned distance of every row from one row, shape (n_rows,)."""
    here = np.asarray(view.embedding(np.array([row])), dtype=np.float64)
    found = np.empty(n_rows)
    for block in split_range(n_rows, _BLOCK):
        Z = view.embedding(np.arange(n_rows)[block])
        found[block] = np.sqrt(((Z - here) ** 2).sum(axis=1))
    return found


Layout = NDArray[np.float32]


def scale_to_unit_size(coordinates: Floats) -> NDArray[np.float64]:
    """Centre points and scale them to a mean squared norm of 1; zeros if all points coincide."""
    centred = coordinates - coordinates.mean(axis=0, dtype=np.float64)
    size = np.sqrt((centred**2).sum(axis=1).mean())
    # Rounding alone may keep equal points apart.
    if size <= 1e-6 * np.abs(coordinates).max(initial=0.0):
        return np.zeros_like(centred)
    return np.asarray(centred / size)


def turn_towards(centred: Floats, before: Floats) -> NDArray[np.float64]:
    r"""Return the orthogonal R that brings points nearest to where they were before.

    .. math:: \min_R \sum_i \|R^\top z_i - b_i\|^2 = U V^\top, \quad Z^\top B = U S V^\top .

    Principal axes are determined up to their signs, and two of nearly equal variance up to a
    rotation: without this the points would flip and spin from answer to answer.

    >>> before = np.array([[1.0, 0], [-1, 0], [0, 3], [0, -3]])
    >>> now = before[:, ::-1] * [1, -1]
    >>> bool(np.allclose(now @ turn_towards(now, before), before))
    True
    """
    U, _, Vt = np.linalg.svd(centred.T @ np.asarray(before, dtype=np.float64))
    return np.asarray(U @ Vt)


@dataclass(frozen=True)
class Seen:
    """The metric learned last, and the rows' coordinates in the picture, shape (n, 2)."""

    learned: TaughtMetric
    coordinates: Layout


class PictureSeries:
    """Two-dimensional pictures of successive metrics, each rotated towards the one before.

    The first is rotated towards ``plane``. Rotations are remembered by the pairs learned from:
    after an undo, a redo or the opposite answer and back, the rows are where they were, whatever
    was shown in between.
    """

    def __init__(self, plane: Layout) -> None:
        self._before = plane
        self._turns: dict[int, NDArray[np.float64]] = {}  # by the hash of the pairs

    def take(self, learned: TaughtMetric, told: Pairs) -> Seen:
        """Make the picture of a metric that was learned from the pairs ``told``."""
        centred = scale_to_unit_size(learned.view.coordinates())
        turn = self._turns.get(hash(told))
        if turn is None:
            turn = self._turns[hash(told)] = turn_towards(centred, self._before)
        self._before = np.asarray(centred @ turn, dtype=np.float32)
        self._before.setflags(write=False)
        return Seen(learned, self._before)


# Passes over all edges from the beginning of the schedule to its end.
EPOCHS = 300
# Of q, near the curve that UMAP fits for points 0.1 apart; and points that repel for each edge.
_CURVE, _REPELLING = np.float32(1.6), 5
# How closeness falls off, in mean distances from the neighbours beyond the nearest.
_WIDTH = 0.7
# No step goes farther along an axis, at the beginning of the schedule.
_LONGEST = np.float32(4.0)


class Edges(NamedTuple):
    """A symmetric graph of neighbours, each edge stored at both of its rows, as a CSR matrix."""

    # The edges of row i are those from ``starts[i]`` up to ``starts[i + 1]``.
    starts: NDArray[np.int32]
    # The other row of each edge.
    ends: NDArray[np.int32]
    # In (0, 1].
    weights: NDArray[np.float32]


def closeness(distances: Floats) -> Floats:
    r"""Weigh each row's neighbours by their distances relative to those of the row's others.

    .. math:: w_{ij} = \exp(-(d_{ij} - \rho_i) / \sigma_i), \quad \sigma_i = 0.7 \,
        \mathrm{mean}_j (d_{ij} - \rho_i)

    with :math:`\rho_i` the distance of the nearest that is no duplicate. ``distances`` and weights,
    which are in (0, 1], have the shape (n, k).

    >>> closeness(np.array([[0.0, 0.0], [2.0, 2.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1, keepdims=True)
    beyond = np.maximum(distances - np.where(np.isfinite(nearest), nearest, 0.0), 0.0)
    width = _WIDTH * beyond.mean(axis=1, keepdims=True)
    return np.asarray(np.exp(-beyond / np.where(width > 0, width, 1.0)))


def edges_between(Z: Floats, near: Ints) -> Edges:
    """Build the graph of neighbours, weighted by :func:`closeness`.

    An edge with weight a from one row and b from the other gets a + b − ab, so that it is enough
    for one row to be among the nearest of the other (``near``, shape (n, k)). Takes some 50 bytes
    for each row and neighbour.
    """
    n, k = near.shape
    weights = closeness(_distances(Z, near)).astype(np.float32)
    starts = np.arange(0, n * k + 1, k)
    own = sp.csr_array((weights.ravel(), near.ravel(), starts), shape=(n, n))
    theirs = own.T.tocsr()
    both = (own + theirs - own.multiply(theirs)).tocsr()
    return Edges(both.indptr.astype(np.int32), both.indices.astype(np.int32), both.data)


def run_epochs(layout: Layout, edges: Edges, first: int, last: int, seed: int) -> Layout:
    """Improve a layout by some epochs of gradient descent: edges pull, random rows repel.

    Coordinates are of the order of 10. ``last`` is the epoch after the last, at most
    :data:`EPOCHS`. Draws are seeded with the number of the epoch, too: epochs run one by one give
    the same result as all at once.
    """
    found = np.array(layout, dtype=np.float32, order="C")
    for epoch in range(first, last):
        step = np.float32(1.0 - epoch / EPOCHS)
        _descend(found, *edges, step, np.uint64((seed * EPOCHS + epoch) % 2**64))
    return found


def average_neighbors(layout: Layout, rows: Ints, weights: Floats) -> Layout:
    """Lay rows out at the weighted means of their neighbours' coordinates.

    ``rows``, of shape (n, k), are the neighbours of each, as rows of ``layout``.
    """
    shares = weights / weights.sum(axis=1, keepdims=True)
    found = np.zeros((len(rows), 2))
    for column, share in zip(rows.T, shares.T, strict=True):
        found += share[:, None] * layout[column]
    return found.astype(np.float32)


@compiled(fastmath=REORDER)
def _distances(Z: Floats, near: Ints) -> Floats:
    """Distances of each row from its neighbours, of the shape of ``near``."""
    found = np.empty(near.shape)
    for i in range(near.shape[0]):
        for place in range(near.shape[1]):
            total = 0.0
            for axis in range(Z.shape[1]):
                difference = Z[i, axis] - Z[near[i, place], axis]
                total += difference * difference
            found[i, place] = np.sqrt(total)
    return found


@compiled(fastmath=REORDER)
def _descend(
    layout: Layout,
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
    weights: NDArray[np.float32],
    step: np.float32,
    seed: np.uint64,
) -> None:
    """Run one epoch in place: use each edge with the probability that is its weight.

    A single thread makes the order of updates, and so the result, reproducible.
    """
    n = len(layout)
    one, two, least = np.float32(1.0), np.float32(2.0), np.float32(1e-3)
    part = np.float32(1.0 / 2147483648.0)
    factor, more = np.uint64(6364136223846793005), np.uint64(1442695040888963407)
    state = (seed * factor + more) * factor + more
    for i in range(n):
        x, y = layout[i, 0], layout[i, 1]
        for edge in range(starts[i], starts[i + 1]):
            state = state * factor + more
            if np.float32(state >> np.uint64(33)) * part >= weights[edge]:
                continue
            j = ends[edge]
            dx, dy = x - layout[j, 0], y - layout[j, 1]
            pull = two * _CURVE / (one + _CURVE * (dx * dx + dy * dy))
            move_x = step * max(-_LONGEST, min(_LONGEST, pull * dx))
            move_y = step * max(-_LONGEST, min(_LONGEST, pull * dy))
            x -= move_x
            y -= move_y
            layout[j, 0] += move_x
            layout[j, 1] += move_y
            for _ in range(_REPELLING):
                state = state * factor + more
                k = np.int64(((state >> np.uint64(33)) * np.uint64(n)) >> np.uint64(31))
                if k == i:
                    continue
                dx, dy = x - layout[k, 0], y - layout[k, 1]
                squared = dx * dx + dy * dy
                push = two / ((least + squared) * (one + _CURVE * squared))
                x += step * max(-_LONGEST, min(_LONGEST, push * dx))
                y += step * max(-_LONGEST, min(_LONGEST, push * dy))
        layout[i, 0], layout[i, 1] = x, y


_NEIGHBORS = 15
# Principal axes of the learned metric along which rows are compared.
_AXES = 60
# Rows that are all laid out; of more so many are drawn, and the others put among their nearest.
_MOST_ROWS, _SAMPLE, _AMONG = 30_000, 10_000, 3
_RECALL = 0.9
# Rows from which neighbours are looked for in near cells only.
_MANY = 5000
# Where a map that goes on takes up the schedule, and after how many epochs it is first shown.
_GOES_ON, _FIRST_SHOWN = 0.7, 4
# Seconds between two pictures, and rows that add one more.
_PAUSE, _ROWS_A_SECOND = 0.12, 400_000
# Size of a map that begins, and by how much points that coincide there are moved apart.
_START_SIZE, _JITTER = 5.0, 1e-3


@dataclass(frozen=True)
class Among:
    """Nearest rows of the sample, for each of the other rows, which are laid out among them."""

    # Positions in the sample.
    near: Ints
    # Closeness to each.
    weights: Floats


@dataclass(frozen=True)
class NeighborMap:
    """A map of neighbours in two dimensions, finished or not."""

    # Coordinates of the rows.
    layout: Layout
    # Share of the schedule that is done; 1 for a finished map.
    share: float
    # Neighbours of the rows that are laid out.
    near: Ints | None = None
    # Where the other rows belong, if only a sample is laid out.
    among: Among | None = None


def lay_out(
    view: RowsView, plane: Floats, before: NeighborMap | None, seed: int
) -> Iterator[NeighborMap]:
    """Lay rows out as a map of their neighbours, and yield it from time to time until finished.

    A new map begins at ``plane``; else it goes on from an earlier one, finished or not. Which
    unfinished maps are shown depends on time; the last map on the arguments alone.

    Takes O(n √n) time above 5000 rows, and O(n) memory: some 1 kB for each row. Of 2000 rows the
    first map takes half a second, the next ones a tenth. Above 30 000 rows 10 000 are laid out.
    """
    n = len(plane)
    size = scale_to_unit_size(plane)
    if n < 3 or not size.any():  # there is nothing to arrange
        yield NeighborMap(np.asarray(size, dtype=np.float32), 1.0)
        return
    Z = _scale_coordinates(view)
    if n <= _MOST_ROWS:
        layout = _start_layout(size, seed) if before is None else before.layout
        for found, share, near in _run_schedule(Z, layout, before, n, seed):
            yield NeighborMap(found, share, near)
    else:
        yield from _lay_out_sample(Z, size, before, seed)


def _lay_out_sample(
    Z: Floats, plane: Floats, before: NeighborMap | None, seed: int
) -> Iterator[NeighborMap]:
    """Lay out a sample of the rows, and the others among it; yield maps from time to time."""
    n = len(Z)
    in_sample = np.zeros(n, dtype=bool)
    in_sample[np.random.RandomState(seed).choice(n, _SAMPLE, replace=False)] = True
    some = Z[in_sample]
    among = None if before is None else before.among
    if before is None or among is None:
        among = _find_neighbors_in_sample(some, Z[~in_sample], seed)
        layout = _start_layout(plane[in_sample], seed)
    else:
        layout = before.layout[in_sample]

    def whole(found: Layout, share: float, near: Ints, among: Among) -> NeighborMap:
        """Map of all rows, from the layout of the sample."""
        whole_layout = np.empty((n, 2), dtype=np.float32)
        whole_layout[in_sample] = found
        whole_layout[~in_sample] = average_neighbors(found, among.near, among.weights)
        return NeighborMap(whole_layout, share, near, among)

    for layout, share, near in _run_schedule(some, layout, before, n, seed):  # noqa: B020
        # Rows that are not in it follow those that were near; who that is now is looked for last.
        if share == 1.0 and before is not None:
            yield whole(layout, 1 - 1 / EPOCHS, near, among)
            among = _find_neighbors_in_sample(some, Z[~in_sample], seed)
        yield whole(layout, share, near, among)


def _scale_coordinates(view: RowsView) -> Floats:
    """Coordinates along the first 60 principal axes, divided by the largest absolute value."""
    n_axes = min(_AXES, view.embedding(np.arange(1)).shape[1])
    Z = np.asarray(view.coordinates(n_axes), dtype=np.float64)
    largest = np.abs(Z).max(initial=0.0)
    return Z / largest if largest > 0 else Z


def _find_neighbors_in_sample(sample: Floats, others: Floats, seed: int) -> Among:
    """Find the nearest rows of the sample for each other row."""
    cells = CellIndex(sample, _RECALL, np.random.RandomState(seed))
    distances, near = find_nearest_by_cells(cells, sample, others, _AMONG)
    return Among(near.astype(np.int32), closeness(distances))


def _start_layout(plane: Floats, seed: int) -> Layout:
    """Scale a plane to the size of a new map, clip far points, and add noise so none coincide."""
    near = np.clip(_START_SIZE * plane, -3 * _START_SIZE, 3 * _START_SIZE)
    jitter = np.random.RandomState(seed).normal(scale=_JITTER, size=near.shape)
    return np.asarray(near + jitter, dtype=np.float32)


def _run_schedule(
    Z: Floats, layout: Layout, before: NeighborMap | None, n_shown: int, seed: int
) -> Iterator[tuple[Layout, float, Ints]]:
    """Run the schedule from its beginning, or from where ``before`` goes on.

    Yields the layout from time to time, with the share of the schedule that is done and each row's
    neighbours. With more rows to show (``n_shown``) it is yielded less often.
    """
    first = 0 if before is None else round(EPOCHS * min(before.share, _GOES_ON))
    if before is not None and before.near is not None:
        # Those who were neighbours are at other distances now: enough for the first picture.
        shown = first + _FIRST_SHOWN
        layout = run_epochs(layout, edges_between(Z, before.near), first, shown, seed)
        yield layout, shown / EPOCHS, before.near
        first = shown
    search: SearchMode = "exact" if len(Z) < _MANY else "approximate"
    n_near = min(_NEIGHBORS, len(Z) - 1)
    near: Ints = np.asarray(
        find_nearest_others(Z, n_near, search=search, random_state=seed), np.int64
    )
    edges = edges_between(Z, near)
    pause = _PAUSE + n_shown / _ROWS_A_SECOND
    told = time.monotonic()
    for epoch in range(first, EPOCHS):
        layout = run_epochs(layout, edges, epoch, epoch + 1, seed)
        now = time.monotonic()
        is_due = epoch + 1 == _FIRST_SHOWN or now - told >= pause
        if is_due or epoch + 1 == EPOCHS:
            told = now
            yield layout, (epoch + 1) / EPOCHS, near


class NeighborMaps:
    """Maps of neighbours of successive metrics, each begun from the last; not thread-safe."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._last: tuple[RowsView | None, NeighborMap | None] = (None, None)

    def follow(self, newest: Callable[[], Seen]) -> Iterator[dict[str, Any]]:
        """Yield maps of the newest metric until finished, or until ``newest`` returns another.

        See :meth:`nearkin.studio.lesson.Lesson.arrange`.
        """
        seen = newest()
        view, version = seen.learned.view, seen.learned.version
        of_view, before = self._last
        if before is not None and of_view is view and before.share == 1.0:
            yield _describe_map(version, before)
            return
        for found in lay_out(view, seen.coordinates, before, self._seed):
            self._last = view, found
            yield _describe_map(version, found)
            if newest().learned.view is not view:
                return


def _describe_map(version: int, found: NeighborMap) -> dict[str, Any]:
    """Return a map as plain values for the page."""
    return {"version": version, "coordinates": found.layout, "share": found.share}
