"""Pictures: arrays in, Axes out. Needs matplotlib (``pip install nearkin[plot]``).

``ax`` is where to draw, a new figure by default; ``title`` stands above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.errors import InputError, explain_missing_package
from nearkin.learners.compositions import last_learner
from nearkin.pairs.labels import number_classes
from nearkin.pairs.pairs import Pairs, check_count
from nearkin.pairs.supervision import refuse_triplets
from nearkin.rows.sparse import is_sparse
from nearkin.scores import pair_auc
from nearkin.spaces.linalg import principal_coordinates

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "calibration",
    "course",
    "distances",
    "embedding",
    "estimates",
    "explanation",
    "grouping",
    "importances",
    "in_the_plane",
    "kernel_matrix",
    "motion",
    "pictures",
    "selection",
    "side_by_side",
    "spectrum",
    "tree",
]

_MARKERS = "osD^vP*X<>"
_UNKNOWN = "0.7"
# Classes that a legend has room for.
_MOST_NAMED = 12
# Equal parts of the chances from 0 to 1 in a picture of calibration.
_BINS = 10


def embedding(
    Z: Any,
    y: Any = None,
    *,
    pairs: Pairs | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    size: float = 12,
    legend: bool = False,
) -> Axes:
    """Plot points in the plane, coloured by class, with must-links and cannot-links as lines.

    Parameters
    ----------
    Z : array of shape (n, q)
        With more than two columns, the two principal axes are shown.
    y : array of shape (n,), optional
        Labels; unknown ones are grey.
    pairs : Pairs, optional
        Must-links are drawn as solid lines, cannot-links as dashed ones.
    ax, title : matplotlib Axes and str, optional
    size : float, default=12
        Of the markers.
    legend : bool, default=False
        Say what colours and lines mean, of twelve classes at most.

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_xor(60, random_state=0)
    >>> pairs = nk.Pairs.from_labels(y, 10, random_state=0)
    >>> ax = nk.plot.embedding(X, y, pairs=pairs, title="before learning")
    >>> ax.get_title()
    'before learning'
    """
    ax = _choose_axes(ax)  # says what is missing, if matplotlib is
    from matplotlib.collections import LineCollection

    plane = in_the_plane(Z)
    classes = np.full(len(plane), -1) if y is None else number_classes(y)
    for number in np.unique(classes):
        known = number >= 0
        name = None if y is None else "unknown"
        if known:
            name = str(np.asarray(y)[np.argmax(classes == number)])
        x1, x2 = plane[classes == number].T
        ax.scatter(
            x1,
            x2,
            s=size,
            marker=_MARKERS[number % len(_MARKERS)] if known else "o",
            color=f"C{number % 10}" if known else _UNKNOWN,
            linewidths=0,
            alpha=0.8,
            label=name if number < _MOST_NAMED else None,
        )
    if pairs is not None:
        refuse_triplets(pairs)
        pairs.check_rows(len(plane))
        for links, style, name in (
            (pairs.must_link, "-", "must-link"),
            (pairs.cannot_link, ":", "cannot-link"),
        ):
            if len(links):
                lines = LineCollection(list(plane[links]), linestyles=style, label=name)
                lines.set(color="0.25", linewidth=0.7, alpha=0.7)
                ax.add_collection(lines)
    if legend and (y is not None or pairs is not None):
        ax.legend(fontsize=8, loc="best")
    ax.tick_params(labelsize=7)
    ax.set_aspect("equal", adjustable="datalim")  # distances are what is shown
    return _add_title(ax, title)


def in_the_plane(Z: Any) -> Floats:
    """Two columns of coordinates: the data's own two, or else its two principal axes.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.plot.in_the_plane([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).shape
    (2, 2)
    """
    Z = Z.toarray() if is_sparse(Z) else np.asarray(Z)
    if Z.shape[1] > 2:
        return principal_coordinates(Z)
    return np.column_stack([Z, np.zeros(len(Z))]) if Z.shape[1] == 1 else Z


def side_by_side(
    spaces: Mapping[str, Any],
    y: Any = None,
    *,
    pairs: Pairs | None = None,
    size: float = 18,
    legend: bool = True,
) -> NDArray[Any]:
    """The same rows in several spaces, a panel for each in a new figure.

    Parameters
    ----------
    spaces : mapping of str to array of shape (n, q)
        Of more than two columns, the two principal axes are shown.
    y : array of shape (n,), optional
        Labels. The pair AUC of each space stands in its title: how often two rows of one class are
        closer than two of different classes, in all its columns.
    pairs : Pairs, optional
        Drawn as :func:`embedding` does.
    size : float, default=18
        Of the markers.
    legend : bool, default=True
        Say below what colours and lines mean, of twelve classes at most.

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_xor(100, random_state=0)
    >>> Z = nk.KernelBeta(random_state=0).fit_transform(X, y)
    >>> before, after = nk.plot.side_by_side({"before": X, "after": Z}, y)
    >>> before.get_title()
    'before: pair AUC 0.51'
    """
    # In two rows, if there are many.
    count = len(spaces)
    width = count if count <= 4 else -(-count // 2)
    panel = 3.4 if width < 4 else 2.7
    axes = _make_grid_of_axes(-(-count // width), width, (panel, panel))
    for ax in axes[count:]:
        ax.set_axis_off()
    axes = axes[:count]
    for ax, (name, Z) in zip(axes, spaces.items(), strict=True):
        title = name if y is None else f"{name}: pair AUC {pair_auc(np.asarray(Z), y):.2f}"
        embedding(Z, y, pairs=pairs, ax=ax, title=title, size=size)
        ax.set(xticks=[], yticks=[])  # only distances mean something
    handles, names = axes[0].get_legend_handles_labels()
    if legend and handles:
        axes[0].figure.legend(
            handles, names, loc="outside lower center", ncols=min(len(names), 10), fontsize=8
        )
    return axes


def motion(
    before: Any,
    after: Any,
    y: Any = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    size: float = 12,
    legend: bool = False,
) -> Axes:
    """Plot a line from the old to the new position of each point.

    Parameters
    ----------
    before, after : array of shape (n, q)
        Coordinates of the same rows. Of more than two columns, two principal axes of both together
        are shown.
    y : array of shape (n,), optional
        Labels; unknown ones are grey.
    ax, title : matplotlib Axes and str, optional
    size : float, default=12
        Of the markers, which are where points are now.
    legend : bool, default=False

    Examples
    --------
    >>> import nearkin as nk
    >>> ax = nk.plot.motion([[0, 0], [1, 0]], [[0.4, 0], [0.6, 0]])
    """
    from matplotlib.collections import LineCollection

    ax = _choose_axes(ax)
    before, after = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if before.shape != after.shape:
        raise InputError(
            f"before has the shape {before.shape} and after {after.shape}: give the same rows in "
            "the same space twice."
        )
    start, end = np.split(in_the_plane(np.concatenate([before, after])), 2)
    lines = LineCollection(list(np.stack([start, end], axis=1)), color="0.6", linewidth=0.6)
    ax.add_collection(lines)
    return embedding(end, y, ax=ax, title=title, size=size, legend=legend)


def pictures(
    rows: Any,
    shape: tuple[int, int],
    *,
    titles: Sequence[str] | None = None,
    n_columns: int = 8,
    axes: Any = None,
) -> NDArray[Any]:
    """Rows of pixels as pictures, side by side.

    Parameters
    ----------
    rows : array of shape (n, height * width)
        The largest number is black.
    shape : (int, int)
        Height and width.
    titles : sequence of n str, optional
    n_columns : int, default=8
        Pictures beside each other.
    axes : array of matplotlib Axes, optional
        Where to draw, one for each row; a new figure by default.

    Examples
    --------
    >>> import nearkin as nk
    >>> axes = nk.plot.pictures([[0, 1, 1, 0], [1, 0, 0, 1]], (2, 2), titles=["rising", "falling"])
    >>> len(axes)
    2
    """
    rows = np.asarray(rows)
    if axes is None:
        width = min(check_count(n_columns, "n_columns", least=1), len(rows))
        aspect = shape[1] / shape[0]
        margin = 0.0 if titles is None else 0.3
        height = -(-len(rows) // width)
        axes = _make_grid_of_axes(
            height, width, (1.1 * max(aspect, 1.0), 1.1 / min(aspect, 1) + margin)
        )
    axes = np.asarray(axes).ravel()
    for ax in axes:
        ax.set_axis_off()
    for number, (ax, row) in enumerate(zip(axes, rows, strict=False)):
        ax.imshow(row.reshape(shape), cmap="gray_r")
        if titles is not None:
            ax.set_title(titles[number], fontsize=8)
    return np.asarray(axes[: len(rows)])


def kernel_matrix(
    K: Any, y: Any = None, *, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """A kernel matrix, or one of distances, with rows of one class beside each other.

    Parameters
    ----------
    K : array of shape (n, n)
        Such as ``metric.kernel_matrix(X)``.
    y : array of shape (n,), optional
        Labels: rows are put in their order, and lines are drawn between classes.
    ax, title : matplotlib Axes and str, optional

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_xor(60, random_state=0)
    >>> ax = nk.plot.kernel_matrix(nk.Euclidean().fit(X, y).kernel_matrix(X), y)
    """
    ax = _choose_axes(ax)
    K = np.asarray(K, dtype=np.float64)
    if y is not None:
        classes = number_classes(y)
        order = np.argsort(classes, kind="stable")
        K = K[np.ix_(order, order)]
        for border in np.flatnonzero(np.diff(classes[order])) + 0.5:
            ax.axvline(border, color="white", linewidth=1)
            ax.axhline(border, color="white", linewidth=1)
    ax.imshow(K, cmap="viridis", interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    return _add_title(ax, title)


def spectrum(metric: Any, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Weights of the kernel's directions before and after learning.

    Parameters
    ----------
    metric : fitted KernelBeta
        Or a chain or pipeline with such a last step.
    ax, title : matplotlib Axes and str, optional

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_xor(60, random_state=0)
    >>> nk.plot.spectrum(nk.KernelBeta(random_state=0).fit(X, y)).get_ylabel()
    'weight'
    """
    ax = _choose_axes(ax)
    metric = last_learner(metric)
    direction = np.arange(1, len(metric.beta_) + 1)
    ax.bar(direction, np.sqrt(metric.eigenvalues_), color="0.8", label="before learning")
    ax.plot(direction, metric.beta_, "o-", markersize=3, color="C0", label="learned")
    return _label_axes(ax, "direction", "weight", title)


def distances(
    same: Any,
    different: Any,
    *,
    threshold: float | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Histograms of the distances of pairs that are the same, and of pairs that are not.

    Parameters
    ----------
    same, different : array of shape (k,)
        Distances; either may be empty.
    threshold : float, optional
        Distance up to which two rows are called the same: a line.
    ax, title : matplotlib Axes and str, optional

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.plot.distances([0.1, 0.2], [0.8, 0.9, 1.0], threshold=0.5).get_xlabel()
    'distance'
    """
    ax = _choose_axes(ax)
    both = [np.asarray(same, dtype=np.float64), np.asarray(different, dtype=np.float64)]
    most = max((part.max() for part in both if len(part)), default=1.0) or 1.0
    edges = np.linspace(0, most, 31).tolist()
    for part, color, label in zip(both, ("C0", "C3"), ("same", "different"), strict=True):
        if len(part):
            shown = f"{label}, {len(part)} pairs"
            ax.hist(part, edges, color=color, alpha=0.6, label=shown)
    if threshold is not None:
        ax.axvline(threshold, color="0.3", linewidth=1, linestyle="--", label="threshold")
    return _label_axes(ax, "distance", "pairs", title)


def calibration(
    chances: Any, same: Any, *, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Plot stated probabilities against the share of pairs that really are the same.

    Parameters
    ----------
    chances : array of shape (k,), or mapping of str to such arrays
        What ``metric.chance_same(A, B)`` says of pairs; several things that were said, by name.
    same : bool array of shape (k,)
        What is true of them.
    ax, title : matplotlib Axes and str, optional

    Returns
    -------
    matplotlib Axes
        A marker for each tenth of the chances, the larger the more pairs there are. On the dotted
        line, chances are right.

    Examples
    --------
    >>> import numpy as np
    >>> import nearkin as nk
    >>> chances = np.random.default_rng(0).uniform(size=1000)
    >>> ax = nk.plot.calibration(chances, np.random.default_rng(1).uniform(size=1000) < chances)
    """
    ax = _choose_axes(ax)
    same = np.asarray(same, dtype=np.float64)
    said = chances if isinstance(chances, Mapping) else {"": chances}
    for name, values in said.items():
        values = np.asarray(values, dtype=np.float64)
        at = np.minimum((values * _BINS).astype(int), _BINS - 1)
        n_pairs = np.bincount(at, minlength=_BINS)
        filled = n_pairs > 0
        mean, share = (
            np.bincount(at, part, _BINS)[filled] / n_pairs[filled] for part in (values, same)
        )
        line = ax.plot(mean, share, linewidth=1, label=name or None)[0]
        sizes = 15 + 150 * n_pairs[filled] / n_pairs.sum()
        ax.scatter(mean, share, s=sizes, color=line.get_color(), alpha=0.8)
    ax.plot([0, 1], [0, 1], ":", color="0.3", linewidth=1, label="as it should be")
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    return _label_axes(ax, "chance to be the same", "share that is the same", title)


def course(
    numbers: Any,
    scores: Mapping[str, Any],
    *,
    x: str = "pairs",
    y: str = "pair AUC",
    log: bool = False,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Plot scores by the number of pairs or answers, one line for each method.

    Parameters
    ----------
    numbers : array of shape (k,)
    scores : mapping of str to array of shape (k,) or (k, repeats)
        Of several repeats, the mean and the range are drawn. A single number is a dashed line.
    x, y : str
        Names of the axes.
    log : bool, default=False
        Whether numbers are spaced by their ratios.
    ax, title : matplotlib Axes and str, optional

    Examples
    --------
    >>> import nearkin as nk
    >>> ax = nk.plot.course([10, 20], {"learned": [[0.7, 0.8], [0.8, 0.9]], "as it is": 0.6})
    """
    ax = _choose_axes(ax)
    numbers = np.asarray(numbers)
    for marker, (name, values) in zip(_MARKERS * len(scores), scores.items(), strict=False):
        values = np.asarray(values, dtype=np.float64)
        if not values.ndim:
            ax.axhline(float(values), color="0.4", linestyle="--", linewidth=1, label=name)
            continue
        repeats = values.reshape(len(numbers), -1)
        mean = repeats.mean(axis=1)
        line = ax.plot(numbers, mean, marker=marker, markersize=5, linewidth=1.5, label=name)[0]
        if repeats.shape[1] > 1:
            low, high = repeats.min(axis=1), repeats.max(axis=1)
            ax.fill_between(numbers, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    if log:
        ax.set_xscale("log")
        ax.set_xticks(numbers, [f"{number:g}" for number in numbers])
        ax.minorticks_off()
    return _label_axes(ax, x, y, title)


def estimates(
    found: Any, *, x: str | None = None, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Figures with their 90 % intervals, one below the other.

    Parameters
    ----------
    found : mapping of str to IntervalEstimate, or list of Answerer
        What ``metric.quality(...)`` has as ``auc``, ``precision`` and so on, by name; or
        ``answerers_`` of a fitted :class:`nearkin.MetricLearner`: how often each is wrong.
    x : str, optional
        What the figures are.
    ax, title : matplotlib Axes and str, optional

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_three_normal(random_state=0)
    >>> quality = nk.ITML(random_state=0).fit(X, y).quality(X, y)
    >>> ax = nk.plot.estimates({"precision": quality.precision, "recall": quality.recall})
    """
    ax = _choose_axes(ax)
    if not isinstance(found, Mapping):
        x = "share of wrong answers" if x is None else x
        found = {f"{one.name}, {one.n_answers} answers": one.wrong for one in found}
    for place, figure in enumerate(list(found.values())[::-1]):
        ends = [[figure.value - figure.low], [figure.high - figure.value]]
        ax.errorbar(figure.value, place, xerr=ends, fmt="o", color="C0", capsize=3)
    ax.set_yticks(range(len(found)), list(found)[::-1], fontsize=9)
    ax.set_ylim(-0.5, len(found) - 0.5)
    ax.set_xlabel(f"{x or ''} (with 90 % interval)".strip())
    return _add_title(ax, title)


def selection(report: Any, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Gains of all candidates over the Euclidean distance, with two standard errors.

    Parameters
    ----------
    report : SelectionReport
        ``report_`` of a fitted :class:`nearkin.MetricLearner`; or that learner itself, or a chain
        or pipeline that ends in it.
    ax, title : matplotlib Axes and str, optional
        The title is the reason for the choice by default.

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_xor(200, random_state=0)
    >>> pairs = nk.Pairs.from_labels(y, 40, random_state=0)
    >>> ax = nk.plot.selection(nk.MetricLearner(random_state=0).fit(X, pairs=pairs))
    >>> len(ax.get_yticks()) > 3
    True
    """
    ax = _choose_axes(ax)
    report = getattr(last_learner(report), "report_", report)
    lines = [line for line in report.candidates if line.name != "Euclidean"]
    for place, line in enumerate(reversed(lines)):
        color = "C3" if line.chosen else "0.5"
        ax.errorbar(line.gain, place, xerr=2 * line.error, fmt="o", color=color, markersize=5)
    ax.set_yticks(range(len(lines)), [line.name for line in reversed(lines)], fontsize=8)
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.set_xlabel("gain in pair AUC over the Euclidean distance, on held-out pairs")
    ax.set_title(report.reason if title is None else title, fontsize=9, wrap=True)
    return ax


def grouping(report: Any, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Scores of groupings by their number of groups, a line for each family.

    Parameters
    ----------
    report : GroupingReport
        ``report_`` of fitted :class:`nearkin.Clusters`, or these themselves. The number that was
        chosen is marked, and its 90 % interval is shaded.
    ax, title : matplotlib Axes and str, optional
        The title is what was chosen by default.

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_three_normal(random_state=0)
    >>> clusters = nk.Clusters((2, 5), metric=nk.Euclidean(), families=["k-means"], random_state=0)
    >>> pairs = nk.Pairs.from_labels(y, 40, random_state=0)
    >>> nk.plot.grouping(clusters.fit(X, pairs=pairs)).get_xlabel()
    'groups'
    """
    ax = _choose_axes(ax)
    report = getattr(report, "report_", report)
    families = dict.fromkeys(line.family for line in report.candidates)
    for marker, family in zip(_MARKERS, families, strict=False):
        lines = sorted(
            (line for line in report.candidates if line.family == family),
            key=lambda line: (line.found, line.score),
        )
        numbers, scores = [line.found for line in lines], [line.score for line in lines]
        ax.plot(numbers, scores, marker=marker, markersize=4, linewidth=1, label=family)
    low, high = report.interval
    ax.axvspan(low - 0.4, high + 0.4, color="0.9", zorder=0, label="90 % interval")
    for line in report.candidates:
        if line.chosen:
            ax.plot(line.found, line.score, "o", color="C3", markersize=11, fillstyle="none")
    ax.set_xscale("log", base=2)
    numbers = sorted({line.found for line in report.candidates})
    shown = [number for number in numbers if number < 6 or number % 5 == 0] or numbers
    ax.set_xticks(shown, [str(number) for number in shown])
    ax.minorticks_off()
    return _label_axes(ax, "groups", "score", report.summary if title is None else title)


def tree(
    clusters: Any,
    *,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Plot the dendrogram of clusters by linkage.

    Parameters
    ----------
    clusters : fitted Clusters
        With ``families=["linkage"]``.
    names : sequence of n str, optional
        Of the rows, to stand below the tree; of rows that must-links put together at the start,
        that of the first.
    ax, title : matplotlib Axes and str, optional

    Returns
    -------
    matplotlib Axes
        Joins are as high as few groups are left after them. A line cuts the tree at the number of
        groups that was chosen, and branches below it have colours.

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_three_normal(60, random_state=0)
    >>> pairs = nk.Pairs.from_labels(y, 20, random_state=0)
    >>> clusters = nk.Clusters(3, metric=nk.ITML(), families=["linkage"], random_state=0)
    >>> ax = nk.plot.tree(clusters.fit(X, pairs=pairs))
    """
    from scipy.cluster.hierarchy import dendrogram

    found = clusters.tree_
    if found is None:
        raise InputError('clusters have a tree with families=["linkage"] only: fit them so.')
    ax = _choose_axes(ax)
    n_leaves, joined = found.blocks.count, found.joined
    # Cannot-links may forbid the last joins: branches that are left hang from one root.
    free = np.setdiff1d(np.arange(n_leaves + len(joined)), joined)
    for _ in range(found.fewest - 1):
        joined = np.concatenate([joined, [free[:2]]])
        free = np.append(free[2:], n_leaves + len(joined) - 1)
    sizes = np.ones(n_leaves + len(joined))
    for t, ends in enumerate(joined):
        sizes[n_leaves + t] = sizes[ends].sum()
    left = n_leaves - np.arange(1, len(joined) + 1)
    heights = np.log2(n_leaves) - np.log2(left)
    chosen = np.log2(n_leaves) - np.log2(clusters.n_clusters_ - 0.5)
    labels = None
    if names is not None:
        first = np.unique(found.blocks.of, return_index=True)[1]
        labels = [names[row] for row in first]
    dendrogram(
        np.column_stack([joined, heights, sizes[n_leaves:]]),
        ax=ax,
        labels=labels,
        no_labels=labels is None,
        color_threshold=chosen,
        above_threshold_color="0.5",
        leaf_font_size=8,
        leaf_rotation=90,
    )
    ax.axhline(chosen, color="0.3", linewidth=1, linestyle="--")
    shown = [2**power for power in range(int(np.log2(n_leaves)) + 1)]
    ax.set_yticks([np.log2(n_leaves) - np.log2(number) for number in shown], shown)
    ax.set_ylabel("groups")
    return _add_title(ax, title)


def importances(
    metric: Any, *, most: int = 12, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Plot the share of each column in the squared distances of a metric.

    Parameters
    ----------
    metric : fitted learner
        With ``importances``; or a mapping of str to such shares.
    most : int, default=12
        Columns that are drawn, the largest shares first.
    ax, title : matplotlib Axes and str, optional

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_three_normal(random_state=0)
    >>> ax = nk.plot.importances(nk.ITML(random_state=0).fit(X, y))
    """
    shares: dict[str, float] = dict(metric if isinstance(metric, Mapping) else metric.importances())
    names = sorted(shares, key=lambda name: -shares[name])[: check_count(most, "most", least=1)]
    ax = _draw_shares(_choose_axes(ax), {name: shares[name] for name in names}, above="C0")
    ax.set_xlabel("part of squared distances, in %")
    return _add_title(ax, title)


def explanation(
    found: Any,
    *,
    shape: tuple[int, int] | None = None,
    most: int = 12,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Plot the columns that set two rows apart: as bars, or as a heat map of pixels.

    Parameters
    ----------
    found : Explanation
        What ``metric.explain(a, b)`` gives.
    shape : (int, int), optional
        Height and width, if the columns are pixels of a picture, row by row.
    most : int, default=12
        Columns that are drawn, the largest parts first.
    ax, title : matplotlib Axes and str, optional
        The title is how far apart the two are by default.

    Returns
    -------
    matplotlib Axes
        What sets them apart is red, what brings them together blue.

    Examples
    --------
    >>> import numpy as np
    >>> import nearkin as nk
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> metric = nk.ITML(random_state=0).fit(X, X[:, 1] > 0)
    >>> ax = nk.plot.explanation(metric.explain(X[0], X[1]), shape=(2, 2))
    """
    ax = _choose_axes(ax)
    if shape is not None:
        parts = found.pixels(shape)
        reach = float(np.abs(parts).max()) or 1.0
        ax.imshow(parts, cmap="RdBu_r", vmin=-reach, vmax=reach)
        ax.set_axis_off()
    else:
        names = found.named(check_count(most, "most", least=1))
        _draw_shares(ax, {name: found.shares[name] for name in names})
        ax.set_xlabel("part of the squared distance, in %")
    ax.set_title(found.sentence if title is None else title, fontsize=9, wrap=True)
    return ax


def _draw_shares(ax: Axes, shares: Mapping[str, float], above: str = "C3") -> Axes:
    """Draw bars of shares, the first on top: negative ones blue, positive in colour ``above``."""
    values = [100 * share for share in list(shares.values())[::-1]]
    ax.barh(range(len(shares)), values, color=[above if value > 0 else "C0" for value in values])
    ax.set_yticks(range(len(shares)), list(shares)[::-1], fontsize=8)
    ax.axvline(0, color="0.3", linewidth=0.8)
    return ax


def _add_title(ax: Axes, title: str | None) -> Axes:
    if title:
        ax.set_title(title, fontsize=10)
    return ax


def _label_axes(ax: Axes, x: str, y: str, title: str | None) -> Axes:
    """Set axis names and legend, and the title if there is one; returns the axes."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.legend(fontsize=8)
    return _add_title(ax, title)


def _choose_axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    return cast("Axes", _import_pyplot().subplots(layout="constrained")[1])


def _make_grid_of_axes(height: int, width: int, panel: tuple[float, float]) -> NDArray[Any]:
    """Axes (height * width,) of a new figure; ``panel`` is their width and height in inches."""
    size = (panel[0] * width, panel[1] * height)
    axes = _import_pyplot().subplots(
        height, width, figsize=size, squeeze=False, layout="constrained"
    )[1]
    return np.asarray(axes).ravel()


def _import_pyplot() -> Any:
    with explain_missing_package("pictures need matplotlib", "plot"):
        import matplotlib.pyplot as plt
    return plt


def __dir__() -> list[str]:
    return __all__
