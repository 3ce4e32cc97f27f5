"""Who answered how often wrong, and which answers look wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nearkin.pairs.answers import UNNAMED, Agreement, Answers, advise_on_answerers
from nearkin.pairs.pairs import Pairs
from nearkin.scores.held_out import Suspect, estimate_chances, find_wrong_answers
from nearkin.studio.events import Pair
from nearkin.studio.knowledge import Knowledge, Spoken, twice_said
from nearkin.studio.quality import HeldOutRanks, ranks_of

# Suspects that are listed at most.
_MOST_SUSPECTS = 20
# Chances that an answer is wrong: of all that come to light in the mean, so that most of them are;
# and the least of one, where people have disagreed and where nothing else came to light. Below
# that, distances alone claimed more to be wrong than was.
LEAST_MEAN, LEAST_CHANCE, LEAST_ALONE = 0.65, 0.2, 0.5


def suspects_of(
    trial: HeldOutRanks,
    pairs: Pairs,
    ids: Any,
    spoken: Sequence[Spoken] = (),
    telling: Mapping[int, Pair] | None = None,
    n_found: int = 0,
) -> list[dict[str, Any]]:
    """Answers that are likely wrong, the worst first, as plain dicts.

    Of rows that were put in a group, it goes by their distances from all groups; of other answers,
    by the distance of the two rows.

    Parameters
    ----------
    trial : HeldOutRanks
    pairs : Pairs
        What was answered: other pairs of the trial are not listed.
    ids : sequence
        What people call the rows.
    spoken : sequence of Spoken, optional
        The answers, of which one may speak of many pairs. What two people have said is not listed.
    telling : mapping, optional
        Of the numbers of answers to the pairs by which these are judged, and which alone are
        listed; all pairs without.
    n_found : int
        Wrong answers that came to light otherwise: the more they are, the more may be listed.
    """
    misplaced, told = misplaced_pairs(trial, pairs)
    others = find_wrong_answers(pairs, ranks_of(trial, pairs), LEAST_CHANCE)
    found = [*misplaced, *(one for one in others if one.pair not in told)]
    if telling is not None:
        n_pairs = {telling[one.number]: len(one.said) for one in spoken if one.number in telling}
        twice = twice_said(spoken)
        found = [
            _of_several(one, n_pairs[one.pair])
            for one in found
            if one.pair in n_pairs and one.pair not in twice
        ]
    found.sort(key=lambda one: -one.chance_opposite)
    return [_told(suspect, ids) for suspect in worth_listing(found, n_found)[:_MOST_SUSPECTS]]


def _of_several(suspect: Suspect, n: int) -> Suspect:
    """A pair that was looked for among so many of one answer: it is likelier there by chance.

    Not so where one of them was chosen.
    """
    chance = suspect.chance_opposite
    if suspect.same or chance in (0.0, 1.0):
        return suspect
    odds = chance / (1 - chance) / n
    return suspect._replace(chance_opposite=odds / (1 + odds))


def worth_listing(found: list[Suspect], n_found: int = 0) -> list[Suspect]:
    """As many of the worst as are wrong for the most part, by their own chances.

    Those count too that were found to be wrong by people who disagreed.
    """
    chance = np.array([one.chance_opposite for one in found])
    mean = (n_found + np.cumsum(chance)) / (n_found + np.arange(1, len(chance) + 1))
    return found[: int(((mean >= LEAST_MEAN) & (chance >= least_chance(n_found))).sum())]


def least_chance(n_found: int) -> float:
    """The least chance of a suspect beside so many wrong answers that came to light otherwise."""
    return LEAST_CHANCE if n_found else LEAST_ALONE


def misplaced_pairs(trial: HeldOutRanks, pairs: Pairs) -> tuple[list[Suspect], set[Pair]]:
    """Must-links that put rows in groups, with the chances of that, and all that could be told.

    A cannot-link of rows that are in their groups is wrong if one of these is in a wrong one, and
    then a must-link is.
    """
    chance = np.full(int(trial.points.max(initial=-1)) + 2, np.nan)
    chance[trial.points] = trial.placed.misplaced
    told = {
        (i, j)
        for i, j in np.concatenate([pairs.must_link, pairs.cannot_link]).tolist()
        if not np.isnan(chance[[i, j]]).any()
    }
    found = []
    for i, j in pairs.must_link.tolist():
        # If both are wrong, the link may be right.
        wrong = chance[i] * (1 - chance[j]) + chance[j] * (1 - chance[i])
        if not np.isnan(wrong):
            found.append(Suspect((i, j), True, float(wrong)))
    return found, told


def _told(suspect: Suspect, ids: Any) -> dict[str, Any]:
    left, right = suspect.pair
    said, lie = ("the same", "far apart") if suspect.same else ("different", "close together")
    return {
        "left": left,
        "right": right,
        "same": suspect.same,
        "chance_opposite": suspect.chance_opposite,
        "said": f"{ids[left]} and {ids[right]} are said to be {said} but lie {lie}: wrong, "
        f"by their distance, with a probability of {suspect.chance_opposite:.0%}.",
    }


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


def heard(trial: HeldOutRanks, known: Knowledge, telling: Mapping[int, Pair]) -> Heard | None:
    """Who is right how often; None if nobody is named.

    Answers to one pair are evidence, as are pairs that form triangles, and metrics that were not
    told of a pair. Of an answer that speaks of several pairs, one counts.

    Parameters
    ----------
    trial : HeldOutRanks
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
    agreement = answers.agreed(before)
    n_answers = Counter(spoken.by for spoken in known.spoken if spoken.number in telling)
    return Heard(agreement, telling, _doubts(trial, agreement, telling, known), n_answers)


def chances_of(trial: HeldOutRanks, pairs: Pairs) -> dict[Pair, float]:
    """Chance that each pair which was answered is the same, by metrics that were not told of it."""
    links = np.concatenate([pairs.must_link, pairs.cannot_link]).tolist()
    chance = estimate_chances(pairs, ranks_of(trial, pairs)).tolist()
    return {(i, j): p for (i, j), p in zip(links, chance, strict=True) if not np.isnan(p)}


def _doubts(
    trial: HeldOutRanks, agreement: Agreement, telling: Mapping[int, Pair], known: Knowledge
) -> dict[int, float]:
    """Chances that answers are wrong, of those that count."""
    chance_same = _chances_same(agreement)
    misplaced, _ = misplaced_pairs(trial, known.pairs)
    by_groups = {one.pair: one.chance_opposite for one in misplaced}
    counts = dict.fromkeys(map(tuple, known.pairs.must_link.tolist()), True)
    counts |= dict.fromkeys(map(tuple, known.pairs.cannot_link.tolist()), False)
    found = {}
    for number, _, said in known.spoken:
        pair = telling.get(number)
        if pair is not None and counts.get(pair) is said[pair]:
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


def n_disagreements(known: Knowledge) -> int:
    """Pairs of which two people say opposite things, so that one of them is wrong."""
    heard_of = {rows[:2]: set[bool]() for rows in known.voices}
    for rows, same in known.voices.items():
        if same is not None:
            heard_of[rows[:2]].add(same)
    return sum(len(said) > 1 for said in heard_of.values())


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
    return {"listed": listed, "said": advise_on_answerers(told)}
