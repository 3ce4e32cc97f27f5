r"""Which of these is it like? One row beside rows that stand for groups, in place of many pairs.

The groups shown are all known to differ from one another, so a row that is like one of them is
unlike the others: one answer tells as much as a run of "different" and a "same" would. With
:math:`P_g` the chance that the row is of group g (:mod:`nearkin.questions.strategies`),
the answer is worth its entropy,

.. math:: -\sum_{g\ \mathrm{shown}} P_g \log_2 P_g - P_0 \log_2 P_0 ,
          \qquad P_0 = 1 - \sum_{g\ \mathrm{shown}} P_g ,

and that to "is it like g?" the entropy of :math:`P_g` and :math:`1 - P_g`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import entr

from nearkin._types import Doubles, Ints
from nearkin.questions.strategies import (
    Scene,
    compare_with_groups,
    draw_of_each_group,
    estimate_memberships,
    find_neighborhoods,
    pick_by_clusters,
    pick_farthest_first,
)

# How many groups can be shown: each has a key of its own.
MOST_SHOWN = 9
# Known rows that a row is compared with: a bound on time, not tuned.
_KNOWN = 500
# The row nearest to its group is looked for among so many, so that it is not always an obvious one.
# Chosen by hand.
_DRAWN = 20


Choice = Literal["random", "far", "near", "clusters"]


@dataclass(frozen=True)
class WhichQuestion:
    """A row, and rows that stand for the groups that it may be in.

    Attributes
    ----------
    row : int
    shown : int ndarray of shape (k,)
        One for each group, those first that the row is likelier in.
    information : float
        Bits that the answer is expected to tell.
    plain : float
        Bits that it would tell whether the row is in the likeliest group.
    """

    row: int
    shown: Ints
    information: float
    plain: float


def pick_which_questions(
    scene: Scene, n: int, rng: np.random.RandomState, choose: Choice, most: int = MOST_SHOWN
) -> list[WhichQuestion]:
    """Rows to be placed in one of the groups that differ from one another.

    A row that was unlike some of the groups comes first, until it is in one or unlike all, and so
    is a group itself; but not where an answer "same" is looked for.

    Parameters
    ----------
    scene : Scene
    n : int
        How many at most.
    rng : RandomState
    choose : {"random", "far", "near", "clusters"}
        Which rows come up: any, which is a fair test of the metric; those farthest from all that
        is known, which teach most; those of which an answer "same" is likeliest; or those that
        stand for many others whose group is in doubt.
    most : int, default=9
        Groups that are shown at most.

    Returns
    -------
    list of Which
        In positions of the scene; none while there are fewer than two groups.
    """
    homes = find_neighborhoods(scene)
    if len(homes) < 2:
        return []
    row, nearest, _, n_noes = compare_with_groups(scene, homes, rng)
    begun, fresh = np.flatnonzero(n_noes), np.flatnonzero(n_noes == 0)
    begun = begun[np.lexsort((nearest[begun], -n_noes[begun]))][: 0 if choose == "near" else n]
    if choose == "clusters":
        wanted = pick_by_clusters(scene, n, rng)[:, 0]
        order = np.flatnonzero(np.isin(row[fresh], wanted))
        order = order[np.argsort([np.argmax(wanted == one) for one in row[fresh[order]]])]
    else:
        order = _ORDERS[choose](scene.Z[row[fresh]], nearest[fresh], n - len(begun), rng)
    return ask_beside_groups(
        scene, row[np.concatenate([begun, fresh[order]])][:n], homes, rng, most
    )


def ask_beside_groups(
    scene: Scene, rows: Ints, homes: Ints, rng: np.random.RandomState, most: int
) -> list[WhichQuestion]:
    """Questions about some candidates, each beside rows of the groups that it may be in."""
    known = draw_of_each_group(
        scene.group, np.flatnonzero(np.isin(scene.group, homes)), _KNOWN, rng
    )
    _, chance = estimate_memberships(scene, known, rng)
    stand = np.array([find_typical(scene, group) for group in np.unique(scene.group[known])])
    found = []
    for row in rows.tolist():
        likely = np.argsort(-chance[row], kind="stable")
        likely = likely[: min(np.count_nonzero(chance[row]), most)]
        shown = chance[row, likely]
        if len(shown):
            found.append(WhichQuestion(row, stand[likely], entropy(shown), entropy(shown[:1])))
    return found


def entropy(chances: Doubles) -> float:
    """Bits of an answer that has these chances, and one more for "none of them"."""
    all_of_them = np.append(chances, max(0.0, 1 - float(chances.sum())))
    return float(entr(all_of_them).sum() / np.log(2))


def find_typical(scene: Scene, group: int) -> int:
    """The candidate of a group that is nearest to its mean."""
    members = np.flatnonzero(scene.group == group)
    Z = scene.Z[members]
    return int(members[((Z - Z.mean(axis=0)) ** 2).sum(axis=1).argmin()])


def _at_random(Z: Doubles, nearest: Doubles, n: int, rng: np.random.RandomState) -> Ints:
    del nearest
    return np.asarray(rng.permutation(len(Z))[:n])


def _farthest(Z: Doubles, nearest: Doubles, n: int, rng: np.random.RandomState) -> Ints:
    del rng
    return pick_farthest_first(Z, n, nearest)


def _nearest(Z: Doubles, nearest: Doubles, n: int, rng: np.random.RandomState) -> Ints:
    drawn = rng.permutation(len(Z))[: max(n, _DRAWN)]
    return np.asarray(drawn[np.argsort(nearest[drawn], kind="stable")[:n]])


_ORDERS: dict[str, Callable[[Doubles, Doubles, int, np.random.RandomState], Ints]] = {
    "random": _at_random,
    "far": _farthest,
    "near": _nearest,
}
