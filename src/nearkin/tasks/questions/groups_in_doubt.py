r"""Questions for groups: rows that stand for many others whose group is in doubt.

Every row is in one of the groups that answers have made so far, or in none of them. With
:math:`\ell` the log-odds of being the same at a distance (0 at the threshold, and less where most
answers were "different"), and :math:`d_{ig}` the distance to the nearest known row of group g,

.. math:: P_{ig} = \frac{e^{\ell(d_{ig})}}{1 + \sum_h e^{\ell(d_{ih})}}, \qquad
          u_i = 1 - \sum_g P_{ig}^2 - \Big(1 - \sum_g P_{ig}\Big)^2 ,

where groups that row i is known to differ from, and its own, are left out. :math:`u_i` is how much
its group is in doubt. An answer about row i tells of all rows that are probably like it, so

.. math:: P_{ig} (1 - P_{ig}) \sum_j K_{ij} u_j , \qquad K = \frac{1}{1 + e^{-\ell(d)}} ,

is how much the answer to "is i of group g?" is expected to clear up. So rows in the middle of large
parts of the data are asked about first, then those between groups, and a row that was of none of
the likely groups waits until there is nothing better to ask: so COBRAS splits and joins its
super-instances, but here these are of any size, and made anew by the metric learned so far.

T. Van Craenendonck, S. Dumančić, E. Van Wolputte, H. Blockeel. COBRAS: interactive clustering with
pairwise queries. IDA 2018.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.metrics.pairwise import euclidean_distances

from nearkin.pairs.numbering import keys_of
from nearkin.rows.arrays import Doubles, Ints
from nearkin.tasks.questions.candidates import Scene, some_of_each

# Rows that are looked at, and known ones among them, with which others are compared.
_ROWS, _KNOWN = 2000, 500
# Odds of "same" go up or down by no more than this as answers are mostly the one or the other.
_MOST_SURPRISE = 10.0
# Log-odds beyond which nothing is in doubt.
_CERTAIN = 30.0


def by_clusters(scene: Scene, n: int, rng: np.random.RandomState) -> Ints:
    """Rows that stand for many whose group is in doubt, each against the group it may be of."""
    named = scene.group < scene.n_known
    known = some_of_each(scene.group, np.flatnonzero(named), _KNOWN, rng)
    others = rng.permutation(np.flatnonzero(~named))[: _ROWS - len(known)]
    rows = np.concatenate([known, np.sort(others)])
    odds = log_odds(euclidean_distances(scene.Z[rows]), scene)
    alike = expit(odds)
    # Where nothing is known, the row that has most others around is a group to begin with.
    homes = np.arange(len(known)) if len(known) else alike.sum(axis=1).argmax(keepdims=True)
    member, chance = memberships(odds, rows, homes, scene)
    doubt = 1 - (chance**2).sum(axis=1) - (1 - chance.sum(axis=1)) ** 2
    unsettled = chance * (1 - chance)
    best = unsettled.argmax(axis=1, keepdims=True)
    unsettled = np.take_along_axis(unsettled, best, axis=1)[:, 0]
    partner = np.take_along_axis(member, best, axis=1)[:, 0]
    chosen = standing_for_most(alike, doubt, unsettled, n)
    return np.column_stack([rows[chosen], rows[partner[chosen]]])


def log_odds(distances: Doubles, scene: Scene) -> Doubles:
    """Of two rows being the same, by their distance and by how the answers were so far.

    As :func:`nearkin.scores.same_threshold.guessed_chance` has it, times the odds of the answers.
    """
    scale = float(distances.std()) / 4
    answered = (len(scene.must) + 1) / (len(scene.cannot) + 1)
    surprise = np.log(np.clip(answered, 1 / _MOST_SURPRISE, _MOST_SURPRISE))
    if scale == 0:
        return np.full(distances.shape, surprise)
    found: Doubles = np.clip((scene.threshold - distances) / scale + surprise, -_CERTAIN, _CERTAIN)
    return found


def memberships(odds: Doubles, rows: Ints, known: Ints, scene: Scene) -> tuple[Ints, Doubles]:
    """Nearest row of each known group, and the chance of being in that group, for each row.

    Parameters
    ----------
    odds : ndarray of shape (m, m)
        Log-odds of being the same.
    rows : int ndarray of shape (m,)
        Candidates.
    known : int ndarray of shape (k,)
        Which of the m are known rows.
    scene : Scene

    Returns
    -------
    member : int ndarray of shape (m, n_groups)
        Which of the m.
    chance : ndarray of shape (m, n_groups)
        0 for the group that a row is in, and for those that it is known to differ from, or about
        which someone was unsure.
    """
    known = known[np.argsort(scene.group[rows[known]], kind="stable")]
    groups, first = np.unique(scene.group[rows[known]], return_index=True)
    member = np.empty((len(rows), len(groups)), dtype=np.int64)
    for column, part in enumerate(np.split(known, first[1:])):
        member[:, column] = part[odds[:, part].argmax(axis=1)]
    found = np.take_along_axis(odds, member, axis=1)
    mine = np.broadcast_to(scene.group[rows][:, None], found.shape)
    links = np.stack([mine, np.broadcast_to(groups, found.shape)], axis=-1)
    told = np.isin(keys_of(links.reshape(-1, 2)), scene.noes()).reshape(found.shape)
    found = np.where(told | (mine == groups), -np.inf, found)
    nothing = np.zeros((len(rows), 1))
    return member, np.exp(found - logsumexp(np.hstack([nothing, found]), axis=1, keepdims=True))


def standing_for_most(alike: Doubles, doubt: Doubles, unsettled: Doubles, n: int) -> Ints:
    """Up to n rows, always the one whose answer clears up most of the doubt that others leave."""
    doubt, unsettled = doubt.copy(), unsettled.copy()
    weight = alike @ doubt
    chosen: list[int] = []
    for _ in range(min(n, len(doubt))):
        row = int((unsettled * weight).argmax())
        if unsettled[row] * weight[row] <= 0:
            break
        chosen.append(row)
        unsettled[row] = 0
        cleared = doubt * alike[:, row]
        doubt -= cleared
        weight -= alike @ cleared
    return np.array(chosen, dtype=np.int64)
