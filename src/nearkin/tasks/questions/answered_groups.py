"""Groups from answers to questions, which are no random pairs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import clone

from nearkin._types import Floats
from nearkin.clustering.clusters import Clusters
from nearkin.clustering.partitions import coordinates, share_of_same
from nearkin.messages import noticed
from nearkin.pairs.pairs import Pairs
from nearkin.rows import access
from nearkin.tasks.questions.inferred import in_balance
from nearkin.tasks.questions.suggest import candidate_rows
from nearkin.tasks.questions.super_instances import chance_of_new


def clusters_of_answers(learner: Any, X: Any, pairs: Pairs, rng: np.random.RandomState) -> Clusters:
    """Groups that keep the answers; some are broken where they contradict one another.

    Questions are about rows that are hard to tell apart. Judged by these alone, few large groups
    look as good as many small ones: so there is a least number of them, see
    :func:`fewest_groups`, and a most, see :func:`most_groups`.

    Parameters
    ----------
    learner : learner
        Not changed.
    X : array, sparse matrix or frame of shape (n, d)
    pairs : Pairs
        Not empty.
    rng : RandomState
    """
    seed = int(rng.randint(np.iinfo(np.int32).max))
    n_rows = int(pairs.n_rows or 0)
    told = in_balance(pairs, rng)
    with noticed():  # the last fit warns
        metric = clone(learner).fit(X, pairs=told)
    rows = candidate_rows(pairs, n_rows, 1, rng)
    fewest = fewest_groups(metric, coordinates(metric, access.take(X, rows), seed), pairs, seed)
    found: Clusters = Clusters(
        (fewest, max(fewest, min(most_groups(pairs), n_rows))),
        metric=learner,
        keep="soft" if pairs.groups.contradicted.any() else "hard",
        random_state=seed,
    ).fit(X, pairs=told)
    return found


def fewest_groups(metric: Any, Z: Floats, pairs: Pairs, seed: int) -> int:
    """The least number of groups that answers and distances let expect.

    Where a share π of all pairs are the same, there are 1 / π groups of one size; distances say
    what π is, about. Answers have left so many groups apart, of which some are one. Half of the
    smaller number is taken.
    """
    share = max(share_of_same(metric, Z, seed), 1e-6)
    return int(max(2, min(1 / share, pairs.groups.count) // 2))


def most_groups(pairs: Pairs) -> int:
    """The largest number of groups that answers let expect.

    A question compares a row with the group that it is likeliest of, so few groups are left apart
    that are one. Those seen have a share of all rows that is estimated by how many known rows are
    alone in their group.
    """
    sizes = np.bincount(pairs.groups.number)
    return math.ceil(pairs.groups.count / (1 - chance_of_new(sizes)))
