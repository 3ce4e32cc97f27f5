"""Who has answered in a lesson, and how often wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin.pairs.answerers import advice
from nearkin.pairs.numbering import keys_of
from nearkin.scores.suspects import chance_by_metric
from nearkin.teaching.knowledge import Knowledge
from nearkin.teaching.quality import Trial, ranks_of


def answerers_of(trial: Trial, known: Knowledge) -> dict[str, Any]:
    """Answerers with their rates, the most reliable first, and a sentence on them: plain values.

    Answers to one pair are evidence, as are pairs that form triangles, and metrics that were not
    told of a pair.

    Parameters
    ----------
    trial : Trial
    known : Knowledge
    """
    answers = known.answers
    if answers is None:
        return {"listed": [], "said": ""}
    before = np.full(len(answers.links), np.nan)
    judged = np.concatenate([known.pairs.must_link, known.pairs.cannot_link])
    chance = chance_by_metric(known.pairs, ranks_of(trial, known.pairs))
    _, here, there = np.intersect1d(keys_of(answers.links), keys_of(judged), return_indices=True)
    before[here] = chance[there]
    found = answers.agreed(before).answerers
    listed = [
        {
            "name": one.name,
            "n_answers": one.n_answers,
            "wrong": one.wrong.value,
            "low": one.wrong.low,
            "high": one.wrong.high,
        }
        for one in found
    ]
    return {"listed": listed, "said": advice(found)}
