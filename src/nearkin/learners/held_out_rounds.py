"""How many rounds of geometry-aware learning pay, by pairs that are held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats, Mask
from nearkin.pairs.pairs import Pairs
from nearkin.scores.held_out import average_precision, new_point_folds, ranks
from nearkin.solvers.kernel_families import SomeFamily, alternate
from nearkin.solvers.logdet import bounded_pairs

_FOLDS = 5


def rounds_that_gain(
    family: SomeFamily,
    links: Pairs,
    bounds: tuple[float, float],
    slack: float,
    ends: NDArray[np.integer],
    *,
    most: int,
    rng: np.random.RandomState,
) -> int:
    """Rounds of :func:`nearkin.solvers.kernel_families.alternate` after which held-out pairs gain.

    A round is accepted if it raises the average precision of held-out pairs, in the mean over
    folds, and the first that does not is the end. If all that was gained then is within its
    standard error, the start stays. What is held out has a point each that is in no pair learned
    from.

    Parameters
    ----------
    family : Family
        Where rounds start. Its coordinates do not change with its member.
    links : Pairs
        Triplets among them count as weak pairs.
    bounds : (float, float)
        On distances, which are not squared.
    slack : float
    ends : int ndarray of shape (2, k)
        Random pairs of rows, which stand for a kind of pair that is missing.
    most : int
    rng : RandomState
        Deals the folds.

    Returns
    -------
    int
        Between 0, if nothing is gained or there is nothing to judge by, and ``most``.

    Notes
    -----
    Average precision looks at the nearest pairs most, as nearest neighbours do. Pair AUC goes on
    rising where errors of nearest neighbours have risen long since.

    As much time as ``alternate`` takes for one more round than are accepted, on each of five parts.
    """
    links = links.as_weak_pairs()
    pairs = np.concatenate([links.must_link, links.cannot_link])
    same = np.arange(len(pairs)) < len(links.must_link)
    folds = new_point_folds(links, _FOLDS, rng)
    parts = [bounded_pairs(links.subset(learn), bounds, slack) for learn, _ in folds]
    members = [family] * len(folds)

    def judged(metrics: list[Floats]) -> Floats:
        """Average precision on each fold."""
        return np.array(
            [
                _precision(family.coordinates, B, pairs[judge], same[judge], ends)
                for B, (_, judge) in zip(metrics, folds, strict=True)
            ]
        )

    before = best = judged([family.prior] * len(folds))
    accepted = 0
    while folds and accepted < most:
        solved = [alternate(m, part, n_iter=1) for m, part in zip(members, parts, strict=True)]
        metrics = [found.solution.B for found in solved]
        after = judged(metrics)
        if after.mean() <= best.mean():
            break
        best, accepted = after, accepted + 1
        members = [m.nearest_to(B) for m, B in zip(members, metrics, strict=True)]
    return accepted if accepted and _is_sure(best - before) else 0


def _is_sure(gains: Floats) -> bool:
    """Whether their mean is above its standard error, which one alone does not tell."""
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return bool(gains.mean() > error)


def _precision(
    F: Floats, B: Floats, pairs: NDArray[np.integer], same: Mask, ends: NDArray[np.integer]
) -> float:
    """Average precision of the metric B on the coordinates F."""

    def distances(left: NDArray[np.integer], right: NDArray[np.integer]) -> Floats:
        Z = F[left] - F[right]
        return np.asarray(np.sqrt(np.maximum(np.einsum("kr,kr->k", Z @ B, Z), 0)))

    return average_precision(ranks(distances(*pairs.T), distances(*ends)), same)
