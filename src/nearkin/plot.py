"""Pictures: arrays in, Axes out. Needs matplotlib (``pip install nearkin[plot]``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import needing
from nearkin.learners.compositions import last_learner
from nearkin.pairs.checks import checked_count
from nearkin.pairs.labels import class_numbers
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import refuse_triplets
from nearkin.rows.arrays import Floats
from nearkin.rows.sparse import is_sparse
from nearkin.spaces.linalg import principal_coordinates

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "distances",
    "embedding",
    "explanation",
    "grouping",
    "in_the_plane",
    "selection",
    "spectrum",
]

_MARKERS = "osD^vP*X<>"
_UNKNOWN = "0.7"
# Classes that a legend has room for.
_MOST_NAMED = 12


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
    """Points in the plane, coloured by class, with must-links and cannot-links as lines.

    Parameters
    ----------
    Z : array of shape (n, q)
        With more than two columns, the two principal axes are shown.
    y : array of shape (n,), optional
        Labels; unknown ones are grey.
    pairs : Pairs, optional
        Must-links are drawn as solid lines, cannot-links as dashed ones.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    title : str, optional
    size : float, default=12
        Of the markers.
    legend : bool, default=False
        Say what colours and lines mean, of twelve classes at most.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_xor(60, random_state=0)
    >>> pairs = nk.Pairs.from_labels(y, 10, random_state=0)
    >>> ax = nk.plot.embedding(X, y, pairs=pairs, title="before learning")
    >>> ax.get_title()
    'before learning'
    """
    ax = _axes(ax)  # says what is missing, if matplotlib is
    from matplotlib.collections import LineCollection

    plane = in_the_plane(Z)
    classes = np.full(len(plane), -1) if y is None else class_numbers(y)
    for number in np.unique(classes):
        known = number >= 0
        x1, x2 = plane[classes == number].T
        ax.scatter(
            x1,
            x2,
            s=size,
            marker=_MARKERS[number % len(_MARKERS)] if known else "o",
            color=f"C{number % 10}" if known else _UNKNOWN,
            linewidths=0,
            alpha=0.8,
            label=_class_name(y, classes, number) if number < _MOST_NAMED else None,
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
    if title:
        ax.set_title(title, fontsize=10)
    ax.tick_params(labelsize=7)
    ax.set_aspect("equal", adjustable="datalim")  # distances are what is shown
    return ax


def _class_name(y: Any, classes: NDArray[np.integer], number: int) -> str | None:
    if number < 0:
        return None if y is None else "unknown"
    return str(np.asarray(y)[np.argmax(classes == number)])


def in_the_plane(Z: Any) -> Floats:
    """Two columns: the data's own, or the two principal axes where there are more.

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


def spectrum(metric: Any, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Weights of the kernel's directions before and after learning.

    Parameters
    ----------
    metric : fitted KernelBeta
        Or a chain or pipeline with such a last step.
    ax : matplotlib Axes, optional
    title : str, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_xor(60, random_state=0)
    >>> nk.plot.spectrum(nk.KernelBeta(random_state=0).fit(X, y)).get_ylabel()
    'weight'
    """
    ax = _axes(ax)
    metric = last_learner(metric)
    direction = np.arange(1, len(metric.beta_) + 1)
    ax.bar(direction, np.sqrt(metric.eigenvalues_), color="0.8", label="before learning")
    ax.plot(direction, metric.beta_, "o-", markersize=3, color="C0", label="learned")
    return _labelled(ax, "direction", "weight", title)


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
    ax : matplotlib Axes, optional
    title : str, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.plot.distances([0.1, 0.2], [0.8, 0.9, 1.0], threshold=0.5).get_xlabel()
    'distance'
    """
    ax = _axes(ax)
    both = [np.asarray(same, dtype=np.float64), np.asarray(different, dtype=np.float64)]
    most = max((part.max() for part in both if len(part)), default=1.0) or 1.0
    edges = np.linspace(0, most, 31).tolist()
    for part, color, label in zip(both, ("C0", "C3"), ("same", "different"), strict=True):
        if len(part):
            shown = f"{label}, {len(part)} pairs"
            ax.hist(part, edges, color=color, alpha=0.6, label=shown)
    if threshold is not None:
        ax.axvline(threshold, color="0.3", linewidth=1, linestyle="--", label="threshold")
    return _labelled(ax, "distance", "pairs", title)


def selection(report: Any, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Gains of all candidates over the Euclidean distance, with two standard errors.

    Parameters
    ----------
    report : SelectionReport
        ``report_`` of a fitted :class:`nearkin.MetricLearner`; or that learner itself, or a chain
        or pipeline that ends in it.
    ax : matplotlib Axes, optional
    title : str, optional
        The reason for the choice by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_xor(200, random_state=0)
    >>> pairs = nk.Pairs.from_labels(y, 40, random_state=0)
    >>> ax = nk.plot.selection(nk.MetricLearner(random_state=0).fit(X, pairs=pairs))
    >>> len(ax.get_yticks()) > 3
    True
    """
    ax = _axes(ax)
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
    ax : matplotlib Axes, optional
    title : str, optional
        What was chosen by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_three_normal(random_state=0)
    >>> clusters = nk.Clusters((2, 5), metric=nk.Euclidean(), families=["k-means"], random_state=0)
    >>> pairs = nk.Pairs.from_labels(y, 40, random_state=0)
    >>> nk.plot.grouping(clusters.fit(X, pairs=pairs)).get_xlabel()
    'groups'
    """
    ax = _axes(ax)
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
    return _labelled(ax, "groups", "score", report.summary if title is None else title)


def explanation(
    found: Any,
    *,
    shape: tuple[int, int] | None = None,
    most: int = 12,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """The columns that set two rows apart as bars, or a heat map where columns are pixels.

    Parameters
    ----------
    found : Explanation
        What ``metric.explain(a, b)`` gives.
    shape : (int, int), optional
        Height and width, if the columns are pixels of a picture, row by row.
    most : int, default=12
        Columns that are drawn, the largest parts first.
    ax : matplotlib Axes, optional
    title : str, optional
        How far apart the two are by default.

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
    ax = _axes(ax)
    if shape is not None:
        parts = found.pixels(shape)
        reach = float(np.abs(parts).max()) or 1.0
        ax.imshow(parts, cmap="RdBu_r", vmin=-reach, vmax=reach)
        ax.set_axis_off()
    else:
        shares = found.shares
        names = found.named(checked_count(most, "most", least=1))[::-1]
        colours = ["C3" if shares[name] > 0 else "C0" for name in names]
        ax.barh(range(len(names)), [100 * shares[name] for name in names], color=colours)
        ax.set_yticks(range(len(names)), names, fontsize=8)
        ax.axvline(0, color="0.3", linewidth=0.8)
        ax.set_xlabel("part of the squared distance, in %")
    ax.set_title(found.sentence if title is None else title, fontsize=9, wrap=True)
    return ax


def _labelled(ax: Axes, x: str, y: str, title: str | None) -> Axes:
    """With the names of both axes, a legend, and a title if there is one."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.legend(fontsize=8)
    if title:
        ax.set_title(title, fontsize=10)
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    with needing("pictures need matplotlib", "plot"):
        import matplotlib.pyplot as plt
    new: Axes = plt.subplots()[1]
    return new


def __dir__() -> list[str]:
    return __all__
