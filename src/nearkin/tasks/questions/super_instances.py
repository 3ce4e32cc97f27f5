r"""Questions for groups: about rows that stand for many others whose group is in doubt.

Rows lie in small cells, as k-means finds them in learned coordinates. The row in the middle of a
cell stands for it: it is a *super-instance*, as in COBRAS. Every row is in one of the groups that
answers have made so far, or, with chance ν, in none of them. With :math:`d_{ig}` the distance to
the nearest known row of group g, the chances are

.. math:: p_{ig} = (1 - ν) \frac{e^{-s d_{ig}}}{\sum_h e^{-s d_{ih}}}, \qquad
          P_{ig} = \frac{p_{ig}}{ν + \sum_h p_{ih}} ,

before answers and after them: the second sum leaves out groups that the row is known to differ
from. ν is the share of known rows that are alone in their group. The row's group is in doubt by

.. math:: u_i = 1 - \sum_g P_{ig}^2 - \Big(1 - \sum_g P_{ig}\Big)^2 .

The answer to "is i of group g?" tells of its cell C, and

.. math:: P_{ig} (1 - P_{ig}) \sum_{j \in C} u_j

is how much it is expected to clear up. So large cells come first, then those between groups. A row
that was not of the likeliest group is compared with the next where groups are few; where they are
many, it waits until there is nothing better to ask. Cells become smaller as more is known, and are
made anew by the metric learned so far.

T. Van Craenendonck, S. Dumančić, E. Van Wolputte, H. Blockeel. COBRAS: interactive clustering with
pairwise queries. IDA 2018.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from nearkin._types import Doubles, Ints, Mask
from nearkin.messages import silenced
from nearkin.pairs.closure import keys_of, random_pairs
from nearkin.rows.distances import linked_distances
from nearkin.tasks.questions.candidates import Scene, some_of_each

# Known rows that others are compared with.
_KNOWN = 500
# Cells at the start; one more for each row that is known, up to so many.
_CELLS, _MOST_CELLS = 20, 300
# The deviation of distances is so many times that over which "same" becomes "different".
_SHARPNESS = 4.0


def by_clusters(scene: Scene, n: int, rng: np.random.RandomState) -> Ints:
    """Rows that stand for many whose group is in doubt, each against the group it may be of."""
    known = np.flatnonzero(scene.group < scene.n_known)
    cell, middle = cells(scene.Z, max(_CELLS + len(known), 2 * n), rng)
    # Where nothing is known, the middle of the largest cell is a group to begin with.
    homes = some_of_each(scene.group, known, _KNOWN, rng)
    homes = homes if len(homes) else middle[[np.bincount(cell).argmax()]]
    member, chance = memberships(scene, homes, rng)
    new = 1 - chance.sum(axis=1)
    doubt = 1 - (chance**2).sum(axis=1) - new**2
    rows = np.union1d(middle, homes)
    cleared = chance[rows] * (1 - chance[rows]) * np.bincount(cell, doubt)[cell[rows], None]
    best = cleared.argmax(axis=1)
    cleared = cleared[np.arange(len(rows)), best]
    order = np.argsort(-cleared, kind="stable")[:n]
    order = order[cleared[order] > 0]
    return np.column_stack([rows[order], member[rows[order], best[order]]])


def cells(Z: Doubles, count: int, rng: np.random.RandomState) -> tuple[Ints, Ints]:
    """Cell of each row, and the row in the middle of each cell; half as many as rows at most."""
    count = max(1, min(count, _MOST_CELLS, len(Z) // 2))
    with silenced():  # there may be fewer different rows than cells
        found = KMeans(count, n_init=1, max_iter=20, random_state=rng.randint(2**31)).fit(Z)
    offset = np.linalg.norm(Z - found.cluster_centers_[found.labels_], axis=1)
    order = np.lexsort((offset, found.labels_))
    _, first, cell = np.unique(found.labels_[order], return_index=True, return_inverse=True)
    return cell[np.argsort(order)], order[first]


def memberships(scene: Scene, homes: Ints, rng: np.random.RandomState) -> tuple[Ints, Doubles]:
    """Nearest known row of each group, and the chance of being in that group.

    Parameters
    ----------
    scene : Scene
        Of m candidates.
    homes : int ndarray of shape (k,)
        Which of them groups are known by.
    rng : RandomState

    Returns
    -------
    member : int ndarray of shape (m, n_groups)
    chance : ndarray of shape (m, n_groups)
        0 for the group that a row is in, and for those that it is known to differ from, or about
        which someone was unsure: that makes all others likelier, and a new one.
    """
    homes = homes[np.argsort(scene.group[homes], kind="stable")]
    groups, first = np.unique(scene.group[homes], return_index=True)
    distances = euclidean_distances(scene.Z, scene.Z[homes])
    member = np.empty((len(scene.Z), len(groups)), dtype=np.int64)
    for column, (start, end) in enumerate(zip(first, [*first[1:], len(homes)], strict=True)):
        member[:, column] = start + distances[:, start:end].argmin(axis=1)
    odds = -sharpness(scene, rng) * np.take_along_axis(distances, member, axis=1)
    odds[scene.group[:, None] == groups] = -np.inf
    new = chance_of_new(np.unique(scene.group[homes], return_counts=True)[1])
    others = np.isfinite(odds).any(axis=1)
    before = np.zeros(odds.shape)
    before[others] = (1 - new) * softmax(odds[others], axis=1)
    left = np.where(told(scene, groups), 0.0, before)
    return homes[member], left / (new + left.sum(axis=1, keepdims=True))


def chance_of_new(sizes: Ints) -> float:
    """Chance that a row is of a group that nobody has seen (Good and Turing's estimate).

    As many of the known rows as are alone in their group, with one of either kind imagined.

    Parameters
    ----------
    sizes : int ndarray of shape (n_groups,)
        How many known rows each group has.
    """
    return float((np.count_nonzero(sizes == 1) + 1) / (sizes.sum() + 2))


def sharpness(scene: Scene, rng: np.random.RandomState) -> float:
    """By how much log-odds fall with distance."""
    links = random_pairs(len(scene.Z), rng)
    deviation = float(linked_distances(scene.Z, links).std()) if len(links) else 0.0
    return _SHARPNESS / deviation if deviation > 0 else 0.0


def told(scene: Scene, groups: Ints) -> Mask:
    """Whether each candidate is known to differ from each group, or someone was unsure of it."""
    mine = np.broadcast_to(scene.group[:, None], (len(scene.group), len(groups)))
    links = np.stack([mine, np.broadcast_to(groups, mine.shape)], axis=-1)
    return np.asarray(np.isin(keys_of(links.reshape(-1, 2)), scene.noes()).reshape(mine.shape))
