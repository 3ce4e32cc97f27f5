"""Who has answered in a lesson, and how often wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin.pairs.answered import Agreement
from nearkin.pairs.answerers import advice
from nearkin.pairs.numbering import keys_of
from nearkin.rows.arrays import Ints
from nearkin.scores.suspects import chance_by_metric
from nearkin.teaching.knowledge import Knowledge
from nearkin.teaching.quality import Trial, ranks_of
from nearkin.teaching.row_checks import Pair

# What people come to when they look at a pair again is hardly ever wrong.
_SETTLED = 0.98


def agreement_of(trial: Trial, known: Knowledge) -> Agreement | None:
    """What the answers of people with names come to; None if nobody is named.

    Answers to one pair are evidence, as are pairs that form triangles, and metrics that were not
    told of a pair.

    Parameters
    ----------
    trial : Trial
    known : Knowledge
    """
    answers = known.answers
    if answers is None:
        return None
    before = np.full(len(answers.links), np.nan)
    judged = np.concatenate([known.pairs.must_link, known.pairs.cannot_link])
    chance = chance_by_metric(known.pairs, ranks_of(trial, known.pairs))
    _, here, there = np.intersect1d(keys_of(answers.links), keys_of(judged), return_indices=True)
    before[here] = chance[there]
    for place, same in _settled(known, answers.links):
        before[place] = _SETTLED if same else 1 - _SETTLED
    return answers.agreed(before)


def _settled(known: Knowledge, links: Ints) -> list[tuple[int, bool]]:
    """Places of pairs about which people disagreed until somebody settled it, and how."""
    place = {(i, j): k for k, (i, j) in enumerate(links.tolist())}
    kinds = ((True, known.pairs.must_link), (False, known.pairs.cannot_link))
    return [
        (place[i, j], same)
        for same, pairs in kinds
        for i, j in pairs.tolist()
        if (i, j) in known.settled and (i, j) in place
    ]


def answerers_of(agreement: Agreement | None) -> dict[str, Any]:
    """Answerers with their rates, the most reliable first, and a sentence on them: plain values."""
    found = [] if agreement is None else agreement.answerers
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


def doubts_of(agreement: Agreement | None, known: Knowledge) -> dict[Pair, float]:
    """Chance that what counts of each pair is wrong, by all who answered and by the metric."""
    if agreement is None:
        return {}
    pairs, found = agreement.pairs, {}
    kinds = ((pairs.must_link, pairs.must_weight), (pairs.cannot_link, pairs.cannot_weight))
    chance_same = {}
    for same, (links, weight) in zip((True, False), kinds, strict=True):
        # What is right with probability p has the weight (2 p - 1)².
        right = (1 + np.sqrt(weight)) / 2
        for (i, j), p in zip(links.tolist(), right.tolist(), strict=True):
            chance_same[i, j] = p if same else 1 - p
    for same, links in ((True, known.pairs.must_link), (False, known.pairs.cannot_link)):
        for i, j in links.tolist():
            p = chance_same.get((i, j), 0.5)
            found[i, j] = 1 - p if same else p
    return found
