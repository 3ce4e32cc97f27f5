"""Quality of the metric on held-out answers, doubtful rows, and the course of quality."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from nearkin._types import Floats, Ints, Mask
from nearkin.learners.selection import LEAST_PAIRS, N_FOLDS
from nearkin.learners.teachable import learn_again
from nearkin.messages import collect_notices
from nearkin.pairs.closure import draw_links, keys_of
from nearkin.pairs.pairs import Pairs
from nearkin.questions.outlook import STEP, describe_outlook, predict_outlook
from nearkin.rows.distances import linked_distances
from nearkin.rows.parallel import one_blas_thread, split_range
from nearkin.scores.held_out import (
    Membership,
    judge_membership,
    make_pair_folds,
    measure_group_distances,
    rank_among,
    rank_auc,
)
from nearkin.scores.quality import estimate_quality as estimates_of
from nearkin.scores.verdicts import read_verdicts
from nearkin.spaces.neighbors import find_nearest
from nearkin.studio.metric import RowsView, TaughtMetric

# Groups of points that are left out in turn to see how much chance there is in the gain.
_GROUPS = 40
# Pairs of either kind below which there are no figures.
_LEAST_OF_A_KIND = 3
# So many times pairs are dealt into parts until so many of either kind could be held out.
_MOST_DEALS, _WANTED_OF_A_KIND = 4, 10
# Rows whose groups are looked at.
_MOST_PLACED = 600
# People whose rates are told apart there; those who come later are taken together.
_MOST_PEOPLE = 4


@dataclass(frozen=True)
class HeldOutRanks:
    """Ranks of answered pairs' distances among those of random pairs, under held-out metrics.

    Attributes
    ----------
    links : int ndarray of shape (k, 2)
        Must-links, then cannot-links.
    same : bool ndarray of shape (k,)
        Whether each is a must-link.
    strict, plain : ndarray of shape (k,)
        Ranks under metrics learned without either row, and under the Euclidean metric; NaN where
        no metric was learned without both.
    loose : ndarray of shape (k,)
        Mean ranks under metrics learned without one row at least; NaN where there are none.
    called_same : bool ndarray of shape (k,)
        Whether the distance is within the threshold of a metric learned without either row.
    fair : bool ndarray of shape (k,)
        Whether both rows came up by chance.
    points : int ndarray of shape (p,)
        Rows of the answered pairs.
    placed : Membership
        Chances that each of these is in its group.
    seen : ndarray of shape (k,)
        Ranks under the metric that was learned from all pairs.
    """

    links: Ints
    same: Mask
    strict: Floats
    plain: Floats
    loose: Floats
    called_same: Mask
    fair: Mask
    points: Ints
    placed: Membership
    seen: Floats

    @property
    def judged(self) -> Mask:
        """Whether each pair is one that quality is measured on, shape (k,)."""
        return ~np.isnan(self.strict) & self.fair


def held_out_ranks(
    learned: TaughtMetric,
    X: Floats,
    told: Pairs,
    seed: int = 0,
    sought: Ints | None = None,
    placed_by: Mapping[int, str] | None = None,
    before_each_fit: Callable[[], object] = lambda: None,
) -> HeldOutRanks:
    """Rank pairs by cross-validation: hold out the rows of each fold of pairs, learn from the rest.

    Must-links are transitive, so pairs may follow from others unless all pairs of their rows are
    held out (:func:`nearkin.scores.held_out.make_pair_folds`). Every fold is learned in the space
    of the metric, which takes milliseconds.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    told : Pairs
        Answered pairs and those that follow.
    sought : int ndarray, optional
        Rows that were chosen because they are far from others or near: they are no fair test.
    placed_by : mapping, optional
        From rows to the name of the person who put them in their group.
    before_each_fit : callable, optional
        Called before each fit; may wait for more urgent work.
    """
    rng = np.random.RandomState(seed)
    links = np.concatenate([told.must_link, told.cannot_link])
    random_links = draw_links(len(X), rng)
    same = np.arange(len(links)) < len(told.must_link)
    fair = np.asarray(~np.isin(links, () if sought is None else sought).any(axis=1))
    total, count = np.zeros(len(links)), np.zeros(len(links))
    held, n_held = np.zeros(len(links)), np.zeros(len(links))
    called_same = np.zeros(len(links), dtype=bool)
    group_distances = _GroupDistances(told, placed_by or {})
    for _ in range(_MOST_DEALS):
        for learn, judge in make_pair_folds(told, N_FOLDS, rng, unseen="both"):
            before_each_fit()
            try:
                with collect_notices():  # what is worth a note is one of the whole
                    metric = learn_again(learned.step.metric, X, told.subset(learn))
                    view = learned.step.view.seen_by(metric)
            except (ValueError, np.linalg.LinAlgError):
                continue  # the learner can make nothing of this part
            group_distances.see(view, told.subset(learn))
            learn, judge = learn[: len(links)], judge[: len(links)]  # triplets are not judged
            others = np.flatnonzero(~learn)
            rank, within = _ranks(view, links[others], random_links, float(metric.threshold_))
            total[others] += rank
            count[others] += 1
            held[judge] += rank[judge[others]]
            n_held[judge] += 1
            called_same[judge] = within[judge[others]]
        judged = fair & (n_held > 0)
        if min((judged & same).sum(), (judged & ~same).sum()) >= _WANTED_OF_A_KIND:
            break
    strict = np.divide(held, n_held, out=np.full(len(links), np.nan), where=n_held > 0)
    loose = np.divide(total, count, out=np.full(len(links), np.nan), where=count > 0)
    among = linked_distances(X, random_links)
    plain = np.where(np.isnan(strict), np.nan, rank_among(linked_distances(X, links), among))
    seen, _ = _ranks(learned.view, links, random_links, learned.threshold)
    where = group_distances.points, group_distances.chances()
    return HeldOutRanks(links, same, strict, plain, loose, called_same, fair, *where, seen)


class _GroupDistances:
    """Distances of rows from groups, under metrics that were learned without these rows."""

    def __init__(self, told: Pairs, placed_by: Mapping[int, str]) -> None:
        groups = told.groups
        names = [placed_by.get(row) for row in groups.points.tolist()]
        number = {name: k for k, name in enumerate(dict.fromkeys(names))}
        self._who = np.array([min(number[name], _MOST_PEOPLE) for name in names], dtype=np.int64)
        self.points, self._group = groups.points, groups.number
        self._distance = np.full((len(self.points), groups.count), np.inf)
        self._few = 0 < len(self.points) <= _MOST_PLACED

    def see(self, view: RowsView, learned: Pairs) -> None:
        """Measure the rows that are in none of the pairs that the view was learned from."""
        out = np.flatnonzero(~np.isin(self.points, learned.points))
        if not len(out) or not self._few:
            return
        Z = np.asarray(view.embedding(self.points), dtype=np.float64)
        found = measure_group_distances(Z[out], out, Z, self._group)
        scale = float(np.median(found[np.isfinite(found)])) if np.isfinite(found).any() else 0.0
        self._distance[out] = found / (scale or 1.0)

    def chances(self) -> Membership:
        """Estimate the chances that each row is in its group; NaN for groups of one row."""
        alone = np.bincount(self._group, minlength=1)[self._group] == 1
        distance = np.where(np.isfinite(self._distance), self._distance, np.inf)
        distance[:, np.bincount(self._group, minlength=distance.shape[1]) == 1] = np.inf
        found = judge_membership(distance, self._group, self._who)
        return Membership(*(np.where(alone, np.nan, one) for one in found))


def describe_quality(held_out: HeldOutRanks) -> dict[str, Any]:
    """Compare the metric's pair AUC with the Euclidean one, as plain numbers and a sentence.

    ``error`` is the standard error of the difference: groups of rows are left out in turn, since
    pairs that share a row are not independent. ``figures`` has both pair AUC, and precision,
    recall and F1 of the verdict "same", each with the ends of its 90 % interval, as if same and
    different were equally frequent. ``n_records`` is the number of rows of the judged pairs. With
    too few pairs ``enough`` is False, and there are no figures.
    """
    judged = held_out.judged
    rank, plain, same = held_out.strict[judged], held_out.plain[judged], held_out.same[judged]
    links = held_out.links[judged]
    n_records = len(np.unique(links))
    if len(same) < LEAST_PAIRS or min(same.sum(), (~same).sum()) < _LEAST_OF_A_KIND:
        return _too_early(n_records, _explain_lack(same))
    figures = _estimate_figures(held_out)
    (auc, *ends), (euclidean, *euclidean_ends) = figures["auc"], figures["euclidean_auc"]
    error = _error_of_gain(rank, plain, same, links)
    if ends[1] - ends[0] > _TOO_WIDE:
        return _too_early(
            n_records, f"they leave it open between {_format_interval(ends)} in pair AUC"
        )
    gain = auc - euclidean
    if gain > 2 * error:
        verdict = "better than the Euclidean distance"
    elif gain < -2 * error:
        verdict = "worse than the Euclidean distance"
    else:
        verdict = "not clearly different from the Euclidean distance"
    return {
        "auc": auc,
        "euclidean_auc": euclidean,
        "error": error,
        "n_records": n_records,
        "figures": figures,
        "enough": True,
        "said": f"By answers about {n_records} records that it has not seen, the metric is "
        f"{verdict}: pair AUC {auc:.3f} ({_format_interval(ends)}) against {euclidean:.3f} "
        f"({_format_interval(euclidean_ends)}), a difference of {gain:+.3f} ± {error:.3f}.",
    }


def _too_early(n_records: int, why: str) -> dict[str, Any]:
    """Describe the quality while there are too few answers, and say why."""
    said = f"There are not enough answers yet to tell how good the metric is: {why}."
    nothing: dict[str, Any] = {
        "auc": None,
        "euclidean_auc": None,
        "error": None,
        "figures": {},
        "enough": False,
    }
    return {**nothing, "n_records": n_records, "said": said}


# Of a 90 % interval that says nothing.
_TOO_WIDE = 0.6


def outlook_of_answers(
    X: Floats,
    pairs: Pairs,
    n_answers: int,
    before_each_fit: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """Estimate what the next ten answers will gain, as plain values.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    pairs : Pairs
        The answered pairs.
    n_answers : int
        Number of answers, each of which may speak of several pairs.
    before_each_fit : callable, optional
        Called before each fit; may wait for more urgent work.

    Returns
    -------
    dict
        ``said``, a sentence; ``gain``, ``low`` and ``high`` in pair AUC, None with too few answers.
    """
    seen = predict_outlook(X, pairs, before_each_fit)
    n_more = STEP * max(len(pairs) / n_answers, 1.0) if n_answers else STEP
    too_early = seen.halves is None
    value, low, high = (None,) * 3 if too_early else astuple(seen.gain_of(n_more))
    return {"said": describe_outlook(seen, n_more), "gain": value, "low": low, "high": high}


def _format_interval(ends: list[float]) -> str:
    """Format the two ends of an interval with three digits."""
    low, high = ends
    return f"{low:.3f} to {high:.3f}"


def _explain_lack(same: Mask) -> str:
    """Say which held-out pairs there are too few of; ``same`` marks must-links among them."""
    if len(same) >= LEAST_PAIRS:
        kind = "alike" if same.sum() < _LEAST_OF_A_KIND else "different"
        return f"too few of the records that can be held out are {kind}"
    return "too few records can be held out"


def ranks_of(held_out: HeldOutRanks, pairs: Pairs) -> Floats:
    """Look up the mean ranks of pairs under metrics learned without one row at least.

    Returns an array of shape (k,), must-links first; NaN for pairs that have no such rank.
    """
    n_must = len(pairs.must_link)
    answered = np.concatenate([pairs.must_link, pairs.cannot_link])
    rank = np.full(len(answered), np.nan)
    for kind, part in ((True, slice(0, n_must)), (False, slice(n_must, None))):
        of_kind = np.flatnonzero(held_out.same == kind)
        keys = keys_of(held_out.links[of_kind])  # sorted, as Pairs are
        if len(keys):
            wanted = keys_of(answered[part])
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = held_out.loose[of_kind[place]]
            rank[part] = np.where(keys[place] == wanted, found, np.nan)
    return rank


def _estimate_figures(held_out: HeldOutRanks) -> dict[str, list[float]]:
    """Estimate pair AUC, precision, recall and F1: value, low and high end of each by name."""
    judged = held_out.judged
    same, links, weight = held_out.same[judged], held_out.links[judged], np.ones(int(judged.sum()))
    # The metric has learned from more than those that are judged, and is not far from between.
    by_rank = estimates_of(
        held_out.strict[judged], same, weight, links, 1.0, 0.5, seen=held_out.seen[judged]
    )
    by_plain = estimates_of(held_out.plain[judged], same, weight, links, 1.0, 0.5)
    apart = np.where(held_out.called_same[judged], 0.0, 1.0)
    by_verdict = estimates_of(apart, same, weight, links, 0.5, 0.5)
    found = {"auc": by_rank.auc, "euclidean_auc": by_plain.auc}
    found |= {name: getattr(by_verdict, name) for name in ("precision", "recall", "f1")}
    return {name: [one.value, one.low, one.high] for name, one in found.items()}


def _error_of_gain(rank: Floats, plain: Floats, same: Mask, links: Ints) -> float:
    """Standard error of the difference of two AUC, by a jackknife over groups of rows."""
    points, ends = np.unique(links, return_inverse=True)
    n_groups = min(_GROUPS, len(points))
    group = (np.random.RandomState(0).permutation(len(points)) % n_groups)[ends].reshape(-1, 2)
    gains = []
    for number in range(n_groups):
        kept = (group != number).all(axis=1)
        if kept.any():
            gains.append(rank_auc(rank[kept], same[kept]) - rank_auc(plain[kept], same[kept]))
    k = len(gains)
    # Nothing is certain after a few pairs, even if all of them agree.
    least = 0.5 / len(points)
    return float(max(np.sqrt((k - 1) * np.var(gains)), least)) if k > 1 else 0.5


def _ranks(
    view: RowsView, links: Ints, random_links: Ints, threshold: float
) -> tuple[Floats, Mask]:
    """Rank pairs' distances among those of random pairs, and say which are within a threshold."""
    both = np.concatenate([links, random_links])
    rows, place = np.unique(both, return_inverse=True)
    distances = linked_distances(view.embedding(rows), place.reshape(both.shape))
    of_links = distances[: len(links)]
    return rank_among(of_links, distances[len(links) :]), of_links <= threshold


# Chances of being the same between which a verdict is unsure.
UNSURE = (0.2, 0.8)
_NEIGHBORS = 10
# Up to so many rows, neighbours are looked for among all; of more, among as many as follow.
_MANY = 20_000
_LOOKED_AT = 2000
_BLOCK = 16_384


@one_blas_thread()
def find_doubtful_rows(learned: TaughtMetric, n_rows: int, seed: int = 0) -> Mask | None:
    """Mark rows whose median chance to be the same as their ten neighbours is 0.2 to 0.8.

    Parameters
    ----------
    seed : int
        Seed of the sample of 2000 rows that neighbours are searched in beyond 20 000 rows.

    Returns
    -------
    bool ndarray of shape (n_rows,) or None
        None as long as nothing is learned.
    """
    if learned.metric is None or not len(learned.step.told):
        return None
    some = np.arange(n_rows)
    if n_rows > _MANY:
        some = np.sort(np.random.RandomState(seed).choice(n_rows, _LOOKED_AT, replace=False))
    near = np.ascontiguousarray(learned.view.embedding(some))
    k = min(_NEIGHBORS + 1, len(some))
    verdicts = read_verdicts(learned.metric)
    found = np.empty(n_rows, dtype=bool)
    for block in split_range(n_rows, _BLOCK):
        Z = np.ascontiguousarray(learned.view.embedding(np.arange(n_rows)[block]))
        distances, _ = find_nearest(near, Z, k)
        # A row is the nearest to itself, unless it was not drawn; then one is left out for nothing.
        middle = np.median(verdicts.chance(distances[:, 1:].astype(np.float64)), axis=1)
        found[block] = (middle > UNSURE[0]) & (middle < UNSURE[1])
    return found


# Points that are found again from a journal, and those that are kept at all.
_FOUND_AGAIN = 12
_MOST_POINTS = 300


class QualityHistory:
    """Quality of the metric after each number of answers, without undone answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._points: dict[int, dict[str, float]] = {}

    def add(self, n_answers: int, quality: Mapping[str, Any]) -> None:
        """Add the quality after n answers, and drop points of more answers, which are undone."""
        with self._lock:
            self._points = {n: one for n, one in self._points.items() if n < n_answers}
            self._keep(n_answers, quality)

    def fill(self, n_answers: int, quality: Mapping[str, Any]) -> None:
        """Add a point recomputed from the journal, if it lies before the last and has none yet."""
        with self._lock:
            if self._points and n_answers < max(self._points) and n_answers not in self._points:
                self._keep(n_answers, quality)

    def _keep(self, n_answers: int, quality: Mapping[str, Any]) -> None:
        """Store both pair AUC with intervals as a point, if there were enough pairs."""
        figures = quality["figures"]
        if quality["enough"]:
            auc, low, high = figures["auc"]
            euclidean, euclidean_low, euclidean_high = figures["euclidean_auc"]
            self._points[n_answers] = {
                "answers": n_answers,
                "auc": auc,
                "low": low,
                "high": high,
                "euclidean": euclidean,
                "euclidean_low": euclidean_low,
                "euclidean_high": euclidean_high,
            }

    def list_points(self) -> list[dict[str, float]]:
        """List the last 300 points in the order of answers."""
        with self._lock:
            return [self._points[n] for n in sorted(self._points)][-_MOST_POINTS:]

    def missing(self, n_entries: int) -> list[int]:
        """Numbers of entries, evenly spaced, after which to recompute quality, largest first."""
        wanted = np.linspace(0, n_entries, _FOUND_AGAIN + 1)[1:-1].astype(int)
        return sorted({int(n) for n in wanted if n > 0}, reverse=True)
