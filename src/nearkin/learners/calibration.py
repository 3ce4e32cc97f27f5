"""By which distance a metric tells same from different: pairs to judge by, and what they show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.pairs.supervision import Evidence, example_pairs
from nearkin.rows import backends
from nearkin.rows.distances import linked_distances
from nearkin.scores.same_threshold import Verdicts, best_verdicts

# Random pairs that stand for "different" when no cannot-link is known.
_BACKGROUND_PAIRS = 2000
# Pairs of each kind, of those that labels imply, that the threshold is found from.
MOST_EXAMPLES = 5000
# What is found of known pairs, in the order of Verdicts.
VERDICTS = ("threshold_", "sharpness_", "far_sharpness_", "prevalence_", "same_distance_")


@dataclass(frozen=True)
class Examples:
    """Pairs that are the same and pairs that differ, by which a metric learns to judge.

    Attributes
    ----------
    rows : int ndarray of shape (p,)
        Numbers of the rows that they name, each once.
    links : int ndarray of shape (k, 2)
        The pairs, by positions among these rows.
    n_same : int
        How many of them are the same: the first ones.
    """

    rows: NDArray[np.integer]
    links: NDArray[np.integer]
    n_same: int

    def verdicts(self, Z: Any) -> dict[str, float | None]:
        """What a learner keeps of the distances between embedded rows, in the order of ``rows``."""
        distances = backends.to_numpy(linked_distances(Z, self.links))
        return verdicts_found(distances[: self.n_same], distances[self.n_same :])


@dataclass(frozen=True)
class LateVerdicts:
    """What a learner keeps of known pairs, found when it is first asked for: many never are.

    Attributes
    ----------
    X : array of shape (n, d)
        As the learner saw it, which nobody else may change.
    drawable : int or int ndarray
        How many rows X has, or the numbers of those that can be drawn.
    evidence : Evidence
    random_state : dict
        Of the generator that draws examples.
    embedded : callable
        ``embedded(X, rows)`` gives the learned coordinates of some rows of X by their numbers.
    """

    X: Any
    drawable: int | NDArray[np.integer]
    evidence: Evidence
    random_state: dict[str, Any]
    embedded: Callable[[Any, NDArray[np.integer]], Any]

    def found(self) -> dict[str, float | None]:
        """The verdicts, which are the same at every call."""
        rng = np.random.RandomState(0)
        rng.set_state(self.random_state)
        examples = draw_examples(self.drawable, self.evidence, rng)
        return examples.verdicts(self.embedded(self.X, examples.rows))


def draw_examples(
    drawable: int | NDArray[np.integer], evidence: Evidence, rng: np.random.RandomState
) -> Examples:
    """The given pairs, and some of those that labels imply.

    Without any that differ, random pairs of rows stand for them: most do. Where nothing but
    triplets is known, the nearer row of each stands for the same and the farther for another.

    Parameters
    ----------
    drawable : int or int ndarray
        How many rows X has, or the numbers of those that can be drawn.
    evidence : Evidence
    rng : RandomState
    """
    pairs = example_pairs(evidence, rng, most=MOST_EXAMPLES)
    if not len(pairs.must_link) and not len(pairs.cannot_link):
        pairs = pairs.as_weak_pairs()
    background: NDArray[np.integer] = np.empty((0, 2), dtype=np.int64)
    if not len(pairs.cannot_link):
        background = rng.choice(drawable, size=(_BACKGROUND_PAIRS, 2))
        background = background[background[:, 0] != background[:, 1]]
    links = np.concatenate([pairs.must_link, pairs.cannot_link, background])
    rows, positions = np.unique(links, return_inverse=True)
    return Examples(rows, positions.reshape(links.shape), len(pairs.must_link))


def verdicts_found(
    same: Floats,
    different: Floats,
    *,
    weights: tuple[Floats, Floats] | None = None,
    prevalence: float = 0.5,
) -> dict[str, float | None]:
    """``threshold_``, the distance that best tells pairs apart, and how sure that is.

    Parameters
    ----------
    same, different : ndarray
        Distances of pairs.
    weights : (ndarray, ndarray), optional
        How much each counts; equal by default.
    prevalence : float, default=0.5
        Share of pairs that are the same where the metric is used.

    Returns
    -------
    dict
        Attributes of a learner.
    """
    found = best_verdicts(same, different, weights=weights, prevalence=prevalence)
    return as_attributes(found, float(np.median(same)) if len(same) else None)


def as_attributes(verdicts: Verdicts, same_distance: float | None) -> dict[str, float | None]:
    """Verdicts, and the median distance of pairs that are the same, as a learner keeps them."""
    return dict(zip(VERDICTS, (*astuple(verdicts), same_distance), strict=True))
