"""Which pairs to ask about: rules that rank the questions that are still open."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from nearkin._types import Doubles, Ints
from nearkin.errors import InputError
from nearkin.pairs.closure import ends_of, keys_of
from nearkin.rows.distances import linked_distances
from nearkin.rows.parallel import blocks
from nearkin.scores.verdicts import guessed_chance
from nearkin.tasks.questions.candidates import Scene
from nearkin.tasks.questions.super_instances import by_clusters

# A batch is spread out over this many times as many of the best pairs.
_SHORTLIST = 3
# Pairs that "spectrum" ranks, or eight times as many as are asked for: it takes longest.
_SPECTRUM_PAIRS = 5000
# Known rows that a row's neighbourhood is looked for among.
_MEMBERS = 500
# Neighbours among which likely pairs are looked for.
_NEIGHBOURS = 5
# Imagined pairs that show nothing, against which answers count (as in KernelBeta).
_PRIOR_PAIRS = 6.0


def expected_change_of_spectrum(
    Z: Doubles, must: Ints, cannot: Ints, pairs: Ints, same: Doubles, prior_pairs: float
) -> Doubles:
    r"""How much the answer to each pair would change the spread of each direction, in the mean.

    Along coordinate r of the embedding, :math:`E_r` is the mean squared difference of known
    pairs over that of random ones, with κ imagined pairs that show nothing:
    :math:`\hat E_r = (\sum e_r + κ) / (k + κ)`, where :math:`e_r = (z_{ir} - z_{jr})^2 / D^0_r`.
    KernelBeta's gain is :math:`\hat E^D_r / \hat E^S_r`; one more must-link divides it by
    :math:`\hat E^{S+}_r / \hat E^S_r`, one more cannot-link multiplies it likewise. With
    :math:`σ_r` the coordinate's deviation, which holds the weights learned so far, the spectrum
    :math:`w = σ / \sum σ` becomes :math:`w^+_r \propto σ_r ρ_r`, ρ being that factor, and

    .. math:: p \, \|w^{S+} - w\| + (1 - p) \, \|w^{D+} - w\|

    is what the answer is expected to change.

    Parameters
    ----------
    Z : ndarray of shape (m, q)
    must, cannot : int ndarray of shape (k, 2)
        Known pairs of rows of Z.
    pairs : int ndarray of shape (s, 2)
        The questions.
    same : ndarray of shape (s,)
        p, the probability that the answer is "same".
    prior_pairs : float
        κ.

    Returns
    -------
    ndarray of shape (s,)

    Notes
    -----
    O(s q) time, and a few megabytes.
    """
    deviation = Z.std(axis=0, ddof=1)
    if deviation.max() == 0:
        return np.zeros(len(pairs))
    varies = deviation > 1e-6 * deviation.max()
    Z, deviation = Z[:, varies] / deviation[varies], deviation[varies]
    spectrum = deviation / deviation.sum()

    def excess(links: Ints) -> Doubles:
        return np.asarray((Z[links[:, 0]] - Z[links[:, 1]]) ** 2 / 2)

    def one_more(known: Ints, further: Doubles) -> Doubles:
        """Ê with each of the further pairs, over Ê without."""
        total, count = prior_pairs + excess(known).sum(axis=0), prior_pairs + len(known)
        return np.asarray((1 + further / total) * count / (count + 1))

    def change(factor: Doubles) -> Doubles:
        weights = spectrum * factor
        weights /= weights.sum(axis=1, keepdims=True)
        return np.asarray(np.linalg.norm(weights - spectrum, axis=1))

    out = np.empty(len(pairs))
    for block in blocks(len(pairs), 1 + 500_000 // len(spectrum)):
        e, p = excess(pairs[block]), same[block]
        out[block] = p * change(1 / one_more(must, e)) + (1 - p) * change(one_more(cannot, e))
    return out


def spread_out(Z: Doubles, pairs: Ints, score: Doubles, n: int) -> Ints:
    """Choose n pairs of high score that are not alike, the highest first.

    Of the best pairs no two of which share a row (as far as there are such), three times n make
    a shortlist. The best of it is taken, then always the one farthest from those taken, by its
    midpoint and its difference.
    """
    order = np.argsort(-score, kind="stable")
    shortlist, used = [], set()
    for k, (i, j) in zip(order.tolist(), pairs[order].tolist(), strict=True):
        if i not in used and j not in used:
            used |= {i, j}
            shortlist.append(k)
        if len(shortlist) == _SHORTLIST * n:
            break
    if len(shortlist) <= n:
        rest = order[~np.isin(order, shortlist)]
        return np.asarray(pairs[[*shortlist, *rest[: n - len(shortlist)]]])
    first, second = Z[pairs[shortlist].T]
    place = np.column_stack([first + second, np.abs(first - second)])
    return np.asarray(pairs[np.array(shortlist)[np.sort(farthest_first(place, n))]])


def farthest_first(Z: Doubles, n: int, nearest: Doubles | None = None) -> Ints:
    """Rows of Z, always the one farthest from those taken; ``nearest`` is how far they are now."""
    nearest = np.full(len(Z), np.inf) if nearest is None else nearest.copy()
    taken: list[int] = []
    for _ in range(min(n, len(Z))):
        taken.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.linalg.norm(Z - Z[taken[-1]], axis=1))
        nearest[taken] = -1
    return np.array(taken, dtype=np.int64)


def at_random(scene: Scene, n: int, rng: np.random.RandomState) -> Ints:
    """Any pairs: the control."""
    return scene.open_pairs(n, rng)[:n]


def by_uncertainty(scene: Scene, n: int, rng: np.random.RandomState) -> Ints:
    """Pairs whose distance is nearest to the threshold."""
    pairs = scene.open_pairs(n, rng)
    score = -np.abs(linked_distances(scene.Z, pairs) - scene.threshold)
    return spread_out(scene.Z, pairs, score, n)


def by_likeness(scene: Scene, n: int, rng: np.random.RandomState) -> Ints:
    """The nearest pairs: those that are likeliest the same.

    Among the nearest neighbours of each candidate, or of some of the others where all that is
    settled. O(m²) time and memory for m candidates, of which there are 2000 as a rule.
    """
    distances = euclidean_distances(scene.Z)
    np.fill_diagonal(distances, np.inf)
    n_near = min(_NEIGHBOURS, max(len(scene.Z) - 1, 0))
    near = np.argpartition(distances, n_near - 1, axis=1)[:, :n_near] if n_near else distances
    pairs = np.column_stack([np.repeat(np.arange(len(near)), n_near), near.ravel()])
    pairs = np.unique(np.sort(pairs.astype(np.int64), axis=1), axis=0)
    pairs = pairs[scene.is_open(pairs)] if len(pairs) else pairs
    if len(pairs) < n:
        pairs = scene.open_pairs(n, rng)
    return spread_out(scene.Z, pairs, -linked_distances(scene.Z, pairs), n)


def by_density(scene: Scene, n: int, rng: np.random.RandomState) -> Ints:
    """Uncertain pairs of rows that lie among many others.

    p (1 − p) times both rows' densities; the density of a row is the mean of
    exp(−(distance / threshold)²) to 200 random candidates.
    """
    pairs = scene.open_pairs(n, rng)
    distances = linked_distances(scene.Z, pairs)
    same = guessed_chance(distances, scene.threshold)
    others = rng.permutation(len(scene.Z))[:200]
    width = scene.threshold or 1.0
    density = np.exp(-((euclidean_distances(scene.Z, scene.Z[others]) / width) ** 2)).mean(axis=1)
    return spread_out(scene.Z, pairs, same * (1 - same) * density[pairs].prod(axis=1), n)


def by_spectrum(scene: Scene, n: int, rng: np.random.RandomState) -> Ints:
    """Pairs whose answer is expected to change the spread of the learned directions most."""
    pairs = scene.open_pairs(n, rng)[: max(_SPECTRUM_PAIRS, 8 * n)]
    same = guessed_chance(linked_distances(scene.Z, pairs), scene.threshold)
    score = expected_change_of_spectrum(
        scene.Z, scene.must, scene.cannot, pairs, same, _PRIOR_PAIRS
    )
    return spread_out(scene.Z, pairs, score, n)


def neighborhoods_of(scene: Scene) -> Ints:
    """Groups that are all known to differ from one another, taken by their size."""
    known = np.unique(scene.group[scene.group < scene.n_known])
    return all_different(known, np.bincount(scene.group), scene.differing)


def all_different(groups: Ints, size: Ints, differing: Ints) -> Ints:
    """Some of the groups, which all differ from one another, taken by their size.

    Parameters
    ----------
    groups : int ndarray of shape (k,)
        Of equally large ones, the first are taken first.
    size : int ndarray
        Of each group, by its number.
    differing : int ndarray
        Keys of groups that differ, see :func:`nearkin.pairs.closure.keys_of`.
    """
    unlike: defaultdict[int, set[int]] = defaultdict(set)
    for one, other in ends_of(differing).tolist():
        unlike[one].add(other)
        unlike[other].add(one)
    chosen: dict[int, None] = {}
    for group in groups[np.argsort(-size[groups], kind="stable")].tolist():
        if unlike[group].issuperset(chosen):
            chosen[group] = None
    return np.array(list(chosen), dtype=np.int64)


def by_neighborhoods(scene: Scene, n: int, rng: np.random.RandomState) -> Ints:
    """Groups without a neighbourhood, those farthest from all first (the min–max criterion)."""
    return _placed(scene, n, rng, farthest_first)


def by_consolidation(scene: Scene, n: int, rng: np.random.RandomState) -> Ints:
    """Groups without a neighbourhood, in random order."""

    def drawn(Z: Doubles, count: int, nearest: Doubles) -> Ints:
        return np.asarray(rng.permutation(len(Z))[:count])

    return _placed(scene, n, rng, drawn)


def _placed(
    scene: Scene,
    n: int,
    rng: np.random.RandomState,
    choose: Callable[[Doubles, int, Doubles], Ints],
) -> Ints:
    """Groups without a neighbourhood, each against the nearest that it may belong to.

    The neighbourhoods are groups that all differ from one another. A group that has differed from
    some comes first, until it is in one or differs from all and is one itself. Then
    ``choose(Z, count, distance)`` says which others, of those at ``Z`` that are so far from the
    nearest neighbourhood.
    """
    homes = neighborhoods_of(scene)
    if not len(homes):
        homes = scene.group[[rng.randint(len(scene.Z))]]
    row, nearest, member, n_noes = compared(scene, homes, rng)
    begun, fresh = np.flatnonzero(n_noes), np.flatnonzero(n_noes == 0)
    begun = begun[np.lexsort((nearest[begun], -n_noes[begun]))][:n]
    fresh = fresh[choose(scene.Z[row[fresh]], n - len(begun), nearest[fresh])]
    return np.asarray(np.column_stack([row, member])[np.concatenate([begun, fresh])])


def compared(
    scene: Scene, homes: Ints, rng: np.random.RandomState
) -> tuple[Ints, Doubles, Ints, Ints]:
    """A candidate of each other group, and the nearest of those at home that it may be like.

    An unsure answer is a no here, for both groups.

    Returns
    -------
    row, nearest, member, n_noes : ndarrays
        The candidate, the distance, the candidate at home, and from how many neighbourhoods its
        group differs. Groups that differ from all are left out.
    """
    at_home = np.isin(scene.group, homes)
    group, first = np.unique(scene.group[~at_home], return_index=True)
    row = np.flatnonzero(~at_home)[first]
    members = rng.permutation(np.flatnonzero(at_home))
    _, first = np.unique(scene.group[members], return_index=True)
    members = members[np.union1d(first, np.arange(min(len(members), _MEMBERS)))]
    if not len(row):
        return row, np.empty(0), row, row
    homes, home = np.unique(scene.group[members], return_inverse=True)
    both = np.stack(np.broadcast_arrays(group[:, None], homes), axis=-1)
    differ = np.isin(keys_of(both.reshape(-1, 2)), scene.noes()).reshape(len(row), len(homes))
    distance = euclidean_distances(scene.Z[row], scene.Z[members])
    distance[differ[:, home]] = np.inf
    place = distance.argmin(axis=1)
    left = ~differ.all(axis=1)
    nearest = distance[np.arange(len(row)), place]
    return row[left], nearest[left], members[place[left]], differ.sum(axis=1)[left]


Strategy = Callable[[Scene, int, np.random.RandomState], Ints]

STRATEGIES: dict[str, Strategy] = {
    "neighborhoods": by_neighborhoods,
    "consolidate": by_consolidation,
    "clusters": by_clusters,
    "uncertainty": by_uncertainty,
    "density": by_density,
    "spectrum": by_spectrum,
    "random": at_random,
}


def strategy_named(name: Any) -> Strategy:
    """The strategy of that name, or an error that lists all."""
    if not isinstance(name, str) or name not in STRATEGIES:
        raise InputError(f"strategy={name!r} is unknown: use one of {', '.join(STRATEGIES)}.")
    return STRATEGIES[name]


def questions(scene: Scene, strategy: Strategy, n: int, rng: np.random.RandomState) -> Ints:
    """Up to n open pairs by a strategy, the most uncertain of the others where it has too few."""
    chosen = strategy(scene, n, rng)
    chosen = chosen[scene.is_open(chosen)]
    _, first = np.unique(keys_of(chosen), return_index=True)
    chosen = chosen[np.sort(first)]
    if len(chosen) == n:
        return chosen
    asked = np.union1d(scene.closed, keys_of(chosen))
    rest = by_uncertainty(replace(scene, closed=asked), n - len(chosen), rng)
    return np.concatenate([chosen, rest])
