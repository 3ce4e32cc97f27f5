"""Who has answered in a lesson, how often wrong, and which answers are in doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nearkin._types import Ints
from nearkin.pairs.answers import UNNAMED, Agreement, Answers, advice
from nearkin.pairs.pairs import Pairs
from nearkin.scores.suspects import chance_by_metric
from nearkin.teaching.knowledge import Knowledge
from nearkin.teaching.quality import Trial, ranks_of
from nearkin.teaching.row_checks import Pair
from nearkin.teaching.suspicion import misplaced_pairs

# What people come to when they look at a pair again is hardly ever wrong.
_SETTLED = 0.98


class Heard(NamedTuple):
    """What the answers of people with names come to.

    Attributes
    ----------
    agreement : Agreement
    telling : mapping
        Of the numbers of answers to the pairs by which these are judged.
    doubts : mapping
        Of the numbers of those that count to the chance that they are wrong, by all who answered
        and by the metric.
    n_answers : mapping
        Of names.
    """

    agreement: Agreement
    telling: Mapping[int, Pair]
    doubts: Mapping[int, float]
    n_answers: Mapping[str, int]


def heard(trial: Trial, known: Knowledge, telling: Mapping[int, Pair]) -> Heard | None:
    """Who is right how often; None if nobody is named.

    Answers to one pair are evidence, as are pairs that form triangles, and metrics that were not
    told of a pair. Of an answer that speaks of several pairs, one counts.

    Parameters
    ----------
    trial : Trial
    known : Knowledge
    telling : mapping
        Of the numbers of answers to the pairs by which these are judged.
    """
    if all(spoken.by == UNNAMED for spoken in known.spoken):
        return None
    by_metric = chances_of(trial, known.pairs)
    judged = set(telling.values())
    voices = [
        (pair, said, spoken.by)
        for spoken in known.spoken
        for pair, said in spoken.said.items()
        if pair in judged and said is not None
    ]
    if not voices:
        return None
    links, said_of, by = zip(*voices, strict=True)
    answers = Answers(np.array(links), said_of, by)
    before = np.array([by_metric.get((i, j), np.nan) for i, j in answers.links.tolist()])
    for place, same in _settled(known, answers.links):
        before[place] = _SETTLED if same else 1 - _SETTLED
    agreement = answers.agreed(before)
    n_answers = Counter(spoken.by for spoken in known.spoken if spoken.number in telling)
    return Heard(agreement, telling, _doubts(trial, agreement, telling, known), n_answers)


def chances_of(trial: Trial, pairs: Pairs) -> dict[Pair, float]:
    """Chance that each pair which was answered is the same, by metrics that were not told of it."""
    links = np.concatenate([pairs.must_link, pairs.cannot_link]).tolist()
    chance = chance_by_metric(pairs, ranks_of(trial, pairs)).tolist()
    return {(i, j): p for (i, j), p in zip(links, chance, strict=True) if not np.isnan(p)}


def _doubts(
    trial: Trial, agreement: Agreement, telling: Mapping[int, Pair], known: Knowledge
) -> dict[int, float]:
    """Chances that answers are wrong; not of what people disagree about, or have settled."""
    chance_same = _chances_same(agreement)
    misplaced, _ = misplaced_pairs(trial, known.pairs)
    by_groups = {one.pair: one.chance_opposite for one in misplaced}
    counts = dict.fromkeys(map(tuple, known.pairs.must_link.tolist()), True)
    counts |= dict.fromkeys(map(tuple, known.pairs.cannot_link.tolist()), False)
    found = {}
    for number, _, said in known.spoken:
        pair = telling.get(number)
        if pair is not None and counts.get(pair) is said[pair] and pair not in known.settled:
            wrong = 1 - chance_same[pair] if said[pair] else chance_same[pair]
            found[number] = by_groups.get(pair, wrong)
    return found


def _chances_same(agreement: Agreement) -> dict[Pair, float]:
    """Chance that pairs are the same, by what answers come to."""
    pairs, found = agreement.pairs, {}
    kinds = ((pairs.must_link, pairs.must_weight), (pairs.cannot_link, pairs.cannot_weight))
    for same, (links, weight) in zip((True, False), kinds, strict=True):
        # What is right with probability p has the weight (2 p - 1)².
        right = (1 + np.sqrt(weight)) / 2
        for (i, j), p in zip(links.tolist(), right.tolist(), strict=True):
            found[i, j] = p if same else 1 - p
    return found


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


def answerers_of(found: Heard | None) -> dict[str, Any]:
    """Answerers with their rates, the most reliable first, and a sentence on them: plain values."""
    answerers = [] if found is None else found.agreement.answerers
    told = [one._replace(n_answers=found.n_answers[one.name]) for one in answerers if found]
    listed = [
        {
            "name": one.name,
            "n_answers": one.n_answers,
            "wrong": one.wrong.value,
            "low": one.wrong.low,
            "high": one.wrong.high,
        }
        for one in told
    ]
    return {"listed": listed, "said": advice(told)}
