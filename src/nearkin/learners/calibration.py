"""Which distance tells same from different, by the pairs that are known, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.pairs.supervision import Evidence, example_pairs
from nearkin.rows import devices
from nearkin.rows.distances import linked_distances
from nearkin.scores.same_threshold import best_verdicts

Floats = NDArray[np.floating]

# Random pairs that stand for "different" when no cannot-link is known.
_BACKGROUND_PAIRS = 2000
# Pairs of each kind, of those that labels imply, that the threshold is found from.
MOST_EXAMPLES = 5000
# What is found of known pairs, in the order of Verdicts.
VERDICTS = ("threshold_", "sharpness_", "far_sharpness_", "prevalence_", "same_distance_")


def calibration(
    drawable: int | NDArray[np.integer],
    evidence: Evidence,
    rng: np.random.RandomState,
    embedded: Callable[[NDArray[np.integer]], Any],
) -> dict[str, float | None]:
    """``threshold_``, the distance that best tells the known pairs apart, and how sure that is.

    Without cannot-links, random pairs of rows stand for them: most differ.

    Parameters
    ----------
    drawable : int or int ndarray
        How many rows X has, or the numbers of those that can be drawn.
    evidence : Evidence
    rng : RandomState
    embedded : callable
        ``embedded(rows)`` gives the embedding of some rows of X by their numbers, each once.
    """
    pairs = example_pairs(evidence, rng, most=MOST_EXAMPLES)
    background: NDArray[np.integer] = np.empty((0, 2), dtype=np.int64)
    if not len(pairs.cannot_link):
        background = rng.choice(drawable, size=(_BACKGROUND_PAIRS, 2))
        background = background[background[:, 0] != background[:, 1]]
    links = np.concatenate([pairs.must_link, pairs.cannot_link, background])
    rows, positions = np.unique(links, return_inverse=True)
    distances = linked_distances(embedded(rows), positions.reshape(links.shape))
    distances = devices.to_numpy(distances)
    n_must = len(pairs.must_link)
    same, different = distances[:n_must], distances[n_must:]
    return verdicts_found(same, different)


def verdicts_found(
    same: Floats,
    different: Floats,
    *,
    weights: tuple[Floats, Floats] | None = None,
    prevalence: float = 0.5,
) -> dict[str, float | None]:
    """Verdicts as attributes of a learner."""
    verdicts = best_verdicts(same, different, weights=weights, prevalence=prevalence)
    usual = float(np.median(same)) if len(same) else None
    return dict(zip(VERDICTS, (*astuple(verdicts), usual), strict=True))
