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


def in_balance(pairs: Pairs, rng: np.random.RandomState, most: int = MOST_TOLD) -> Pairs:
    """What :func:`with_inferred` gives, weighted such that large groups do not outvote small ones.

    A group of s rows has s (s − 1) / 2 must-links: these weigh as much as the s − 1 that make it,
    2 / s each. Cannot-links between two groups weigh as much together as the smaller has rows. So
    where most questions were about few groups, the others are heard all the same.
    """
    told = with_inferred(pairs, rng, most)
    groups = told.groups
    size = np.bincount(groups.number, minlength=1)
    larger = size[groups.of(told.cannot_link)].max(axis=1, initial=1)
    return Pairs(
        told.must_link,
        told.cannot_link,
        must_weight=told.must_weight * 2 / size[groups.of(told.must_link[:, 0])],
        cannot_weight=told.cannot_weight / larger,
        n_rows=told.n_rows,
    )
