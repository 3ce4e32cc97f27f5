"""The next questions, by the rows as the metric sees them."""

from __future__ import annotations

import numpy as np

from nearkin.rows.arrays import Ints
from nearkin.tasks.questions.candidates import scene_of
from nearkin.tasks.questions.strategies import STRATEGIES, questions, strategy_named
from nearkin.tasks.questions.suggest import candidate_rows
from nearkin.teaching.knowledge import Knowledge
from nearkin.teaching.taught_metric import TaughtMetric

# How many are chosen at a time, so that the next one is there at once.
N_QUESTIONS = 12
# The strategy that looks for groups, and the one for distances beside it.
_FOR_GROUPS, _FOR_DISTANCES = "clusters", "consolidate"


def strategies_by_goal(strategy: str) -> dict[str, str]:
    """What questions may be for, ``"distance"`` or ``"clusters"``, and how they are chosen then.

    Parameters
    ----------
    strategy : str
        The one of the lesson.
    """
    strategy_named(strategy)
    found = {"distance": _FOR_DISTANCES if strategy == _FOR_GROUPS else strategy}
    if _FOR_GROUPS in STRATEGIES:
        found["clusters"] = _FOR_GROUPS
    return found


def next_questions(
    known: Knowledge,
    learned: TaughtMetric,
    n: int = N_QUESTIONS,
    *,
    strategy: str,
    seed: int = 0,
) -> Ints:
    """Pairs of rows whose answer would teach most, the best first.

    As :func:`nearkin.suggest_pairs` chooses them, in the learned coordinates that are there
    already. The same knowledge gives the same questions.

    Parameters
    ----------
    known : Knowledge
        Neither what is known is asked nor what follows, nor what someone was unsure of.
    learned : TaughtMetric
    n : int
    strategy : str
    seed : int

    Returns
    -------
    int ndarray of shape (k, 2)
        Fewer than n, or none, where there are no more open questions.
    """
    rng = np.random.RandomState(seed)
    rows = candidate_rows(known.pairs, int(known.pairs.n_rows or 0), n, rng)
    Z = np.asarray(learned.view.embedding(rows), dtype=np.float64)
    scene = scene_of(Z, learned.threshold, rows, known.pairs, known.not_to_ask)
    return np.asarray(rows[questions(scene, strategy_named(strategy), n, rng)])
