"""How good the metric is on answers that it has not seen, and which answers look wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearkin.learners.incremental import retaught
from nearkin.learners.selection import LEAST_PAIRS, N_FOLDS
from nearkin.pairs.numbering import keys_of, random_pairs
from nearkin.pairs.pairs import Pairs
from nearkin.rows.arrays import Floats, Ints, Mask
from nearkin.rows.distances import linked_distances
from nearkin.rows.notices import noticed
from nearkin.scores.comparison import auc_of, ranks
from nearkin.scores.pair_folds import pair_folds
from nearkin.scores.quality import quality_of as estimates_of
from nearkin.scores.suspects import suspects
from nearkin.teaching.taught_metric import TaughtMetric, View

# Groups of points that are left out in turn to see how much chance there is in the gain.
_GROUPS = 40
# Suspects that are listed at most, and the least chance of the opposite. Questions are asked where
# the answer is open, so a surprise alone says little: where 5 % of 200 answers were wrong, half of
# them were listed, and more than half of the list was wrong.
_MOST_SUSPECTS = 20
_LEAST_CHANCE = 0.8


@dataclass(frozen=True)
class Trial:
    """Ranks of pairs among random ones, under metrics that were not told of them.

    Attributes
    ----------
    links : int ndarray of shape (k, 2)
        Must-links, then cannot-links.
    same : bool ndarray of shape (k,)
    strict, plain : ndarray of shape (k,)
        Under a metric that knows nothing of either row, and under the Euclidean one; NaN where no
        metric is so.
    loose : ndarray of shape (k,)
        Under metrics that know nothing of one row at least; NaN where there are none.
    called_same : bool ndarray of shape (k,)
        Which are within the threshold of the metric that knows nothing of either row.
    """

    links: Ints
    same: Mask
    strict: Floats
    plain: Floats
    loose: Floats
    called_same: Mask

    @property
    def judged(self) -> Mask:
        """Pairs that quality is measured on."""
        return ~np.isnan(self.strict)


def trial_of(learned: TaughtMetric, X: Floats, told: Pairs, seed: int = 0) -> Trial:
    """Hold out the points of a part of the pairs in turn, learn from the rest, and measure.

    Must-links are transitive, so pairs that are held out may follow from others unless nothing is
    known of their points (:func:`nearkin.scores.pair_folds.pair_folds`). Every part is learned in
    the space that the metric has already, which takes milliseconds.

    Parameters
    ----------
    learned : TaughtMetric
    X : ndarray of shape (n, d)
    told : Pairs
        What was answered and what follows.
    seed : int
    """
    rng = np.random.RandomState(seed)
    links = np.concatenate([told.must_link, told.cannot_link])
    random_links = random_pairs(len(X), rng)
    strict = np.full(len(links), np.nan)
    total, count = np.zeros(len(links)), np.zeros(len(links))
    called_same = np.zeros(len(links), dtype=bool)
    for learn, judge in pair_folds(told, N_FOLDS, rng):
        try:
            with noticed():  # what is worth a note is one of the whole
                metric = retaught(learned.step.metric, X, told.subset(learn))
                view = learned.step.view.seen_by(metric)
        except (ValueError, np.linalg.LinAlgError):
            continue  # the learner can make nothing of this part
        learn, judge = learn[: len(links)], judge[: len(links)]  # triplets are not judged
        others = np.flatnonzero(~learn)
        rank, within = _ranks(view, links[others], random_links, float(metric.threshold_))
        total[others] += rank
        count[others] += 1
        strict[judge] = rank[judge[others]]
        called_same[judge] = within[judge[others]]
    loose = np.divide(total, count, out=np.full(len(links), np.nan), where=count > 0)
    among = linked_distances(X, random_links)
    plain = np.where(np.isnan(strict), np.nan, ranks(linked_distances(X, links), among))
    same = np.arange(len(links)) < len(told.must_link)
    return Trial(links, same, strict, plain, loose, called_same)


def quality_of(trial: Trial) -> dict[str, Any]:
    """Pair AUC beside that of the Euclidean distance, as plain numbers and a sentence.

    ``error`` is the standard error of the difference: groups of points are left out in turn, since
    pairs that share a point are not independent. ``figures`` has pair AUC, precision, recall and F1
    of calling two rows the same, each with the ends of its 90 % interval, as if same and different
    were equally frequent; nothing if one of the kinds is missing.

    Parameters
    ----------
    trial : Trial
    """
    judged = trial.judged
    n_pairs = int(judged.sum())
    if n_pairs < LEAST_PAIRS:
        return {
            "auc": None,
            "euclidean_auc": None,
            "error": None,
            "n_pairs": n_pairs,
            "figures": {},
            "enough": False,
            "said": "There are not enough answers yet to tell how good the metric is.",
        }
    rank, plain, same = trial.strict[judged], trial.plain[judged], trial.same[judged]
    auc, euclidean = auc_of(rank, same), auc_of(plain, same)
    error = _error_of_gain(rank, plain, same, trial.links[judged])
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
        "n_pairs": n_pairs,
        "figures": _figures(trial),
        "enough": True,
        "said": f"On {n_pairs} pairs that it has not seen the metric is {verdict}: pair AUC "
        f"{auc:.3f} against {euclidean:.3f} (difference {gain:+.3f} ± {error:.3f}).",
    }


def suspects_of(trial: Trial, pairs: Pairs, ids: Any) -> list[dict[str, Any]]:
    """Answers of which the opposite is likely, the worst first, as plain dicts.

    Parameters
    ----------
    trial : Trial
    pairs : Pairs
        What was answered: other pairs of the trial are not listed.
    ids : sequence
        What people call the rows.
    """
    out = []
    for suspect in suspects(pairs, ranks_of(trial, pairs), _LEAST_CHANCE)[:_MOST_SUSPECTS]:
        left, right = suspect.pair
        said, lie = ("the same", "far apart") if suspect.same else ("different", "close together")
        out.append(
            {
                "left": left,
                "right": right,
                "same": suspect.same,
                "chance_opposite": suspect.chance_opposite,
                "said": f"{ids[left]} and {ids[right]} are said to be {said} but lie {lie}: wrong, "
                f"by their distance, with a probability of {suspect.chance_opposite:.0%}.",
            }
        )
    return out


def ranks_of(trial: Trial, pairs: Pairs) -> Floats:
    """Ranks of pairs under metrics that know nothing of one row at least; NaN without any."""
    n_must = len(pairs.must_link)
    answered = np.concatenate([pairs.must_link, pairs.cannot_link])
    rank = np.full(len(answered), np.nan)
    for kind, part in ((True, slice(0, n_must)), (False, slice(n_must, None))):
        of_kind = np.flatnonzero(trial.same == kind)
        keys = keys_of(trial.links[of_kind])  # sorted, as Pairs are
        if len(keys):
            wanted = keys_of(answered[part])
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = trial.loose[of_kind[place]]
            rank[part] = np.where(keys[place] == wanted, found, np.nan)
    return rank


def _figures(trial: Trial) -> dict[str, list[float]]:
    """Value and interval of each figure."""
    judged = trial.judged
    same, links, weight = trial.same[judged], trial.links[judged], np.ones(int(judged.sum()))
    if same.all() or not same.any():
        return {}
    by_rank = estimates_of(trial.strict[judged], same, weight, links, 1.0, 0.5)
    apart = np.where(trial.called_same[judged], 0.0, 1.0)
    by_verdict = estimates_of(apart, same, weight, links, 0.5, 0.5)
    found = {"auc": by_rank.auc}
    found |= {name: getattr(by_verdict, name) for name in ("precision", "recall", "f1")}
    return {name: [one.value, one.low, one.high] for name, one in found.items()}


def _error_of_gain(rank: Floats, plain: Floats, same: Mask, links: Ints) -> float:
    """Standard error of the difference of two AUC, by leaving out groups of points in turn."""
    points, ends = np.unique(links, return_inverse=True)
    n_groups = min(_GROUPS, len(points))
    group = (np.random.RandomState(0).permutation(len(points)) % n_groups)[ends].reshape(-1, 2)
    gains = []
    for number in range(n_groups):
        kept = (group != number).all(axis=1)
        if kept.any():
            gains.append(auc_of(rank[kept], same[kept]) - auc_of(plain[kept], same[kept]))
    k = len(gains)
    # Nothing is certain after a few pairs, even if all of them agree.
    least = 0.5 / len(points)
    return float(max(np.sqrt((k - 1) * np.var(gains)), least)) if k > 1 else 0.5


def _ranks(view: View, links: Ints, random_links: Ints, threshold: float) -> tuple[Floats, Mask]:
    """Ranks of pairs among random ones, and which are within a threshold."""
    both = np.concatenate([links, random_links])
    rows, place = np.unique(both, return_inverse=True)
    distances = linked_distances(view.embedding(rows), place.reshape(both.shape))
    of_links = distances[: len(links)]
    return ranks(of_links, distances[len(links) :]), of_links <= threshold
