"""Quality of the metric on held-out answers, doubtful rows, and answers that look wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from nearkin._types import Floats, Ints, Mask
from nearkin.learners.selection import LEAST_PAIRS, N_FOLDS
from nearkin.learners.teachable import learn_again
from nearkin.messages import collect_notices
from nearkin.pairs.answers import UNNAMED, Answers, advise_on_answerers
from nearkin.pairs.closure import draw_links, keys_of
from nearkin.pairs.pairs import Pairs
from nearkin.questions.outlook import STEP, describe_outlook, predict_outlook
from nearkin.rows.distances import linked_distances
from nearkin.rows.parallel import one_blas_thread, split_range
from nearkin.scores.held_out import (
    Membership,
    Suspect,
    estimate_chances,
    find_wrong_answers,
    judge_membership,
    make_pair_folds,
    measure_group_distances,
    rank_among,
    rank_auc,
)
from nearkin.scores.quality import estimate_quality as estimates_of
from nearkin.scores.verdicts import read_verdicts
from nearkin.spaces.neighbors import find_nearest
from nearkin.studio.events import Pair
from nearkin.studio.knowledge import Knowledge, Spoken, find_confirmed_pairs
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
    """Ranks of answered pairs' distances among those of random pairs, under held-out metrics."""

    # Must-links, then cannot-links, shape (k, 2).
    links: Ints
    # Whether each is a must-link.
    same: Mask
    # Ranks under metrics learned without either row, and under the Euclidean metric; NaN where no
    # metric was learned without both.
    strict: Floats
    plain: Floats
    # Mean ranks under metrics learned without one row at least; NaN where there are none.
    loose: Floats
    # Whether the distance is within the threshold of a metric learned without either row.
    called_same: Mask
    # Whether both rows came up by chance.
    fair: Mask
    # Rows of the answered pairs, and chances that each of these is in its group.
    points: Ints
    placed: Membership
    # Ranks under the metric that was learned from all pairs.
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

    ``told`` are answered pairs and those that follow; ``sought`` are rows that were chosen because
    they are far from others or near, which are no fair test; ``placed_by`` maps rows to the name of
    the person who put them in their group; ``before_each_fit`` may wait for more urgent work.
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

    ``figures`` has both pair AUC, and precision, recall and F1 of the verdict "same", each with the
    ends of its 90 % interval, as if same and different were equally frequent. With too few pairs
    ``enough`` is False, and there are no figures.
    """
    judged = held_out.judged
    rank, plain, same = held_out.strict[judged], held_out.plain[judged], held_out.same[judged]
    links = held_out.links[judged]
    n_records = len(np.unique(links))
    if len(same) < LEAST_PAIRS:
        return _too_early("too few records can be held out")
    if min(same.sum(), (~same).sum()) < _LEAST_OF_A_KIND:
        kind = "alike" if same.sum() < _LEAST_OF_A_KIND else "different"
        return _too_early(f"too few of the records that can be held out are {kind}")
    figures = _estimate_figures(held_out)
    (auc, *ends), (euclidean, *euclidean_ends) = figures["auc"], figures["euclidean_auc"]
    error = _error_of_gain(rank, plain, same, links)
    if ends[1] - ends[0] > _TOO_WIDE:
        return _too_early(f"they leave it open between {_format_interval(ends)} in pair AUC")
    gain = auc - euclidean
    if gain > 2 * error:
        verdict = "better than the Euclidean distance"
    elif gain < -2 * error:
        verdict = "worse than the Euclidean distance"
    else:
        verdict = "not clearly different from the Euclidean distance"
    return {
        "figures": figures,
        "enough": True,
        "said": f"By answers about {n_records} records that it has not seen, the metric is "
        f"{verdict}: pair AUC {auc:.3f} ({_format_interval(ends)}) against {euclidean:.3f} "
        f"({_format_interval(euclidean_ends)}), a difference of {gain:+.3f} ± {error:.3f}.",
    }


def _too_early(why: str) -> dict[str, Any]:
    """Describe the quality while there are too few answers, and say why."""
    said = f"There are not enough answers yet to tell how good the metric is: {why}."
    return {"figures": {}, "enough": False, "said": said}


# Of a 90 % interval that says nothing.
_TOO_WIDE = 0.6


def outlook_of_answers(
    X: Floats,
    pairs: Pairs,
    n_answers: int,
    before_each_fit: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """Estimate what the next ten answers will gain, as plain values.

    Each of ``n_answers`` may speak of several ``pairs``. Returns ``said``, a sentence; ``gain``,
    ``low`` and ``high`` in pair AUC, None with too few answers.
    """
    seen = predict_outlook(X, pairs, before_each_fit)
    n_more = STEP * max(len(pairs) / n_answers, 1.0) if n_answers else STEP
    too_early = seen.halves is None
    value, low, high = (None,) * 3 if too_early else astuple(seen.gain_of(n_more))
    return {"said": describe_outlook(seen, n_more), "gain": value, "low": low, "high": high}


def _format_interval(ends: list[float]) -> str:
    """Format the two ends of an interval with three digits."""
    return "{:.3f} to {:.3f}".format(*ends)


def ranks_of(held_out: HeldOutRanks, pairs: Pairs) -> Floats:
    """Look up the mean ranks of pairs under metrics learned without one row at least.

    Returns an array of shape (k,), must-links first; NaN for pairs that have no such rank.
    """
    found: list[float] = []
    for links, of_kind in ((pairs.must_link, held_out.same), (pairs.cannot_link, ~held_out.same)):
        keys, ranks = keys_of(held_out.links[of_kind]).tolist(), held_out.loose[of_kind].tolist()
        rank = dict(zip(keys, ranks, strict=True))
        found += [rank.get(key, np.nan) for key in keys_of(links).tolist()]
    return np.array(found)


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

    Beyond 20 000 rows, neighbours are searched in a sample of 2000. Returns None as long as nothing
    is learned.
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


# Points of the curve that are kept.
_MOST_POINTS = 300


class QualityHistory:
    """Quality of the metric after each number of answers, without undone answers."""

    def __init__(self) -> None:
        self._points: list[dict[str, float]] = []

    def add(self, n_answers: int, quality: Mapping[str, Any]) -> list[dict[str, float]]:
        """Add the quality after n answers, and drop points of more answers, which are undone.

        Returns the last 300 points: pair AUC, learned and Euclidean, with intervals.
        """
        points = [one for one in self._points if one["answers"] < n_answers]
        if quality["enough"]:
            auc, low, high = quality["figures"]["auc"]
            points.append({"answers": n_answers, "auc": auc, "low": low, "high": high})
            euclidean = zip(("", "_low", "_high"), quality["figures"]["euclidean_auc"], strict=True)
            points[-1] |= {f"euclidean{end}": value for end, value in euclidean}
        self._points = points[-_MOST_POINTS:]
        return self._points


# Suspects that are listed at most.
_MOST_SUSPECTS = 20
# Chances that an answer is wrong: of all that come to light in the mean, so that most of them are;
# and the least of one, where people have disagreed and where nothing else came to light. Below
# that, distances alone claimed more to be wrong than was.
LEAST_MEAN, LEAST_CHANCE, LEAST_ALONE = 0.65, 0.2, 0.5


def find_suspects(
    held_out: HeldOutRanks,
    pairs: Pairs,
    ids: Any,
    spoken: Sequence[Spoken] = (),
    telling: Mapping[int, Pair] | None = None,
    n_found: int = 0,
) -> list[dict[str, Any]]:
    """List the answers that are likely wrong, at most 20, the likeliest first, as plain dicts.

    Answers that put rows in groups are judged by the rows' distances to all groups, others by the
    distance of the two rows. Listed are pairs of ``pairs`` that no two people agree on; if given,
    only the one pair by which each answer is judged, see
    :func:`nearkin.studio.knowledge.telling_pairs`. The more wrong answers were found otherwise
    (``n_found``), the more may be listed.
    """
    misplaced, told = find_misplaced(held_out, pairs)
    others = find_wrong_answers(pairs, ranks_of(held_out, pairs), LEAST_CHANCE)
    found = [*misplaced, *(one for one in others if one.pair not in told)]
    if telling is not None:
        n_pairs = {telling[one.number]: len(one.said) for one in spoken if one.number in telling}
        twice = find_confirmed_pairs(spoken)
        found = [
            _lower_chance(one, n_pairs[one.pair])
            for one in found
            if one.pair in n_pairs and one.pair not in twice
        ]
    found.sort(key=lambda one: -one.chance_opposite)
    return [
        _describe_suspect(suspect, ids)
        for suspect in select_suspects(found, n_found)[:_MOST_SUSPECTS]
    ]


def _lower_chance(suspect: Suspect, n: int) -> Suspect:
    """Divide the odds that a cannot-link is wrong by n, the number of pairs of its answer.

    It was chosen as the answer's most suspicious pair, which is likelier to look wrong by chance.
    A must-link is the one pair that was chosen by the person, and is returned as it is.
    """
    chance = suspect.chance_opposite
    if suspect.same or chance in (0.0, 1.0):
        return suspect
    odds = chance / (1 - chance) / n
    return suspect._replace(chance_opposite=odds / (1 + odds))


def select_suspects(found: list[Suspect], n_found: int = 0) -> list[Suspect]:
    """Cut sorted suspects off where, on average, they are not likely enough to be wrong.

    ``n_found`` answers that disagreement between people showed to be wrong count in the average.
    """
    chance = np.array([one.chance_opposite for one in found])
    mean = (n_found + np.cumsum(chance)) / (n_found + np.arange(1, len(chance) + 1))
    least = LEAST_CHANCE if n_found else LEAST_ALONE
    return found[: int(((mean >= LEAST_MEAN) & (chance >= least)).sum())]


def find_misplaced(held_out: HeldOutRanks, pairs: Pairs) -> tuple[list[Suspect], set[Pair]]:
    """Return must-links with the chance that one of their rows, not both, is in a wrong group.

    Also returns the set of all pairs, cannot-links too, whose rows have such chances: a cannot-link
    is wrong only if a row is in a wrong group, and then a must-link of that row is wrong.
    """
    chance = np.full(int(held_out.points.max(initial=-1)) + 2, np.nan)
    chance[held_out.points] = held_out.placed.misplaced
    told = {
        (i, j)
        for i, j in np.concatenate([pairs.must_link, pairs.cannot_link]).tolist()
        if not np.isnan(chance[[i, j]]).any()
    }
    found = []
    for i, j in pairs.must_link.tolist():
        # If both are wrong, the link may be right.
        wrong = chance[i] * (1 - chance[j]) + chance[j] * (1 - chance[i])
        if not np.isnan(wrong):
            found.append(Suspect((i, j), True, float(wrong)))
    return found, told


def _describe_suspect(suspect: Suspect, ids: Any) -> dict[str, Any]:
    """Return a suspect as plain values, with a sentence that names the rows by their ids."""
    left, right = suspect.pair
    said, lie = ("the same", "far apart") if suspect.same else ("different", "close together")
    return {
        "left": left,
        "right": right,
        "same": suspect.same,
        "chance_opposite": suspect.chance_opposite,
        "said": f"{ids[left]} and {ids[right]} are said to be {said} but lie {lie}: wrong, "
        f"by their distance, with a probability of {suspect.chance_opposite:.0%}.",
    }


def judge_answerers(
    held_out: HeldOutRanks, known: Knowledge, telling: Mapping[int, Pair]
) -> dict[str, Any]:
    """Estimate how often each person is right, as plain values.

    Evidence are answers of several people to one pair, pairs that form triangles, and distances
    under metrics learned without the pair. Of an answer about several pairs, the ``telling`` one
    counts. Returns ``listed``, people with error rates, the best first; none if no answer has a
    person's name; and ``said``, advice on them.
    """
    judged = set(telling.values())
    voices = [
        (pair, said, spoken.by)
        for spoken in known.spoken
        for pair, said in spoken.said.items()
        if pair in judged and said is not None
    ]
    if not voices or all(spoken.by == UNNAMED for spoken in known.spoken):
        return {"listed": [], "said": ""}
    links, said_of, by = zip(*voices, strict=True)
    answers = Answers(np.array(links), said_of, by)
    by_metric = chances_of(held_out, known.pairs)
    before = np.array([by_metric.get((i, j), np.nan) for i, j in answers.links.tolist()])
    counts = Counter(spoken.by for spoken in known.spoken if spoken.number in telling)
    people = [one._replace(n_answers=counts[one.name]) for one in answers.agreed(before).answerers]
    listed = [
        {
            "name": one.name,
            "n_answers": one.n_answers,
            "wrong": one.wrong.value,
            "low": one.wrong.low,
            "high": one.wrong.high,
        }
        for one in people
    ]
    return {"listed": listed, "said": advise_on_answerers(people)}


def chances_of(held_out: HeldOutRanks, pairs: Pairs) -> dict[Pair, float]:
    """Map answered pairs to their chance to be the same, by metrics learned without them."""
    links = np.concatenate([pairs.must_link, pairs.cannot_link]).tolist()
    chance = estimate_chances(pairs, ranks_of(held_out, pairs)).tolist()
    return {(i, j): p for (i, j), p in zip(links, chance, strict=True) if not np.isnan(p)}


def n_disagreements(known: Knowledge) -> int:
    """Count the pairs to which two people gave opposite answers, so that one of them is wrong."""
    voices = known.events.voices.items()
    told = {(voice[:2], one.same) for voice, one in voices if one.same is not None}
    return len(told) - len({pair for pair, _ in told})
