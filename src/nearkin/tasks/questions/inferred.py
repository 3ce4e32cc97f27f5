"""What a learner is told of answers: these, and what follows from them."""

from __future__ import annotations

import numpy as np

from nearkin.pairs.pairs import Pairs

# Pairs of each kind that a fit is told, of all that follow from the answers.
MOST_TOLD = 10_000


def with_inferred(pairs: Pairs, rng: np.random.RandomState, most: int = MOST_TOLD) -> Pairs:
    """The closure, or random pairs of it; the pairs alone where it is too large to be listed."""
    try:
        closure = pairs.closure()
    except ValueError:
        return pairs
    if max(len(closure.must_link), len(closure.cannot_link)) <= most:
        return closure
    must = rng.permutation(len(closure.must_link))[:most]
    cannot = rng.permutation(len(closure.cannot_link))[:most]
    return pairs + Pairs(
        closure.must_link[must],
        closure.cannot_link[cannot],
        must_weight=closure.must_weight[must],
        cannot_weight=closure.cannot_weight[cannot],
    )
