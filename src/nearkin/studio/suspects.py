"""Error rates of the people who answer, and answers that look wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nearkin.pairs.answers import UNNAMED, Agreement, Answers, advise_on_answerers
from nearkin.pairs.pairs import Pairs
from nearkin.scores.held_out import Suspect, estimate_chances, find_wrong_answers
from nearkin.studio.events import Pair
from nearkin.studio.knowledge import Knowledge, Spoken, find_confirmed_pairs
from nearkin.studio.quality import HeldOutRanks, ranks_of

# Suspects that are listed at most.
_MOST_SUSPECTS = 20
# Chances that an answer is wrong: of all that come to light in the mean, so that most of them are;
# and the least of one, where people have disagreed and where nothing else came to light. Below
# that, distances alone claimed more to be wrong than was.
LEAST_MEAN, LEAST_CHANCE, LEAST_ALONE = 0.65, 0.2, 0.5


def find_suspects(
    held_out: HeldOutRanks,
    pairs: Pairs,
    ids: Any,
    spoken: Sequence[Spoken] = (),
    telling: Mapping[int, Pair] | None = None,
    n_found: int = 0,
) -> list[dict[str, Any]]:
    """List the answers that are likely wrong, at most 20, the likeliest first, as plain dicts.

    Answers that put rows in groups are judged by the rows' distances to all groups, others by the
    distance of the two rows.

    Parameters
    ----------
    pairs : Pairs
        The answered pairs: other pairs of ``held_out`` are not listed.
    ids : sequence
        Id of each row.
    spoken : sequence of Spoken, optional
        The answers, each with all its pairs. Pairs that two people agree on are not listed.
    telling : mapping, optional
        From the numbers of answers to the one pair by which each is judged, see
        :func:`nearkin.studio.knowledge.telling_pairs`; no other pairs are listed then.
    n_found : int
        Number of wrong answers found otherwise: the more they are, the more may be listed.
    """
    misplaced, told = find_misplaced(held_out, pairs)
    others = find_wrong_answers(pairs, ranks_of(held_out, pairs), LEAST_CHANCE)
    found = [*misplaced, *(one for one in others if one.pair not in told)]
    if telling is not None:
        n_pairs = {telling[one.number]: len(one.said) for one in spoken if one.number in telling}
        twice = find_confirmed_pairs(spoken)
        found = [
            _lower_chance(one, n_pairs[one.pair])
            for one in found
            if one.pair in n_pairs and one.pair not in twice
        ]
    found.sort(key=lambda one: -one.chance_opposite)
    return [
        _describe_suspect(suspect, ids)
        for suspect in select_suspects(found, n_found)[:_MOST_SUSPECTS]
    ]


def _lower_chance(suspect: Suspect, n: int) -> Suspect:
    """Divide the odds that a cannot-link is wrong by n, the number of pairs of its answer.

    It was chosen as the answer's most suspicious pair, which is likelier to look wrong by chance.
    A must-link is the one pair that was chosen by the person, and is returned as it is.
    """
    chance = suspect.chance_opposite
    if suspect.same or chance in (0.0, 1.0):
        return suspect
    odds = chance / (1 - chance) / n
    return suspect._replace(chance_opposite=odds / (1 + odds))


def select_suspects(found: list[Suspect], n_found: int = 0) -> list[Suspect]:
    """Cut sorted suspects off where, on average, they are not likely enough to be wrong.

    ``n_found`` answers that disagreement between people showed to be wrong count in the average.
    """
    chance = np.array([one.chance_opposite for one in found])
    mean = (n_found + np.cumsum(chance)) / (n_found + np.arange(1, len(chance) + 1))
    return found[: int(((mean >= LEAST_MEAN) & (chance >= least_chance(n_found))).sum())]


def least_chance(n_found: int) -> float:
    """Return the least chance of a listed suspect: lower if wrong answers were found otherwise."""
    return LEAST_CHANCE if n_found else LEAST_ALONE


def find_misplaced(held_out: HeldOutRanks, pairs: Pairs) -> tuple[list[Suspect], set[Pair]]:
    """Return must-links with the chance that one of their rows, not both, is in a wrong group.

    Also returns the set of all pairs, cannot-links too, whose rows have such chances: a cannot-link
    is wrong only if a row is in a wrong group, and then a must-link of that row is wrong.
    """
    chance = np.full(int(held_out.points.max(initial=-1)) + 2, np.nan)
    chance[held_out.points] = held_out.placed.misplaced
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


def _describe_suspect(suspect: Suspect, ids: Any) -> dict[str, Any]:
    """Return a suspect as plain values, with a sentence that names the rows by their ids."""
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


class Reliability(NamedTuple):
    """How reliable people and their answers are.

    Attributes
    ----------
    agreement : Agreement
        Error rates of people, and pairs weighted by how sure their answers are.
    telling : mapping
        From the numbers of answers to the one pair by which each is judged.
    doubts : mapping
        From the numbers of answers that count to the chance that they are wrong, estimated from
        all people and the metric.
    n_answers : mapping
        From people's names to their numbers of answers.
    """

    agreement: Agreement
    telling: Mapping[int, Pair]
    doubts: Mapping[int, float]
    n_answers: Mapping[str, int]


def judge_answerers(
    held_out: HeldOutRanks, known: Knowledge, telling: Mapping[int, Pair]
) -> Reliability | None:
    """Estimate how often each person is right; None if no answer has a person's name.

    Evidence are answers of several people to one pair, pairs that form triangles, and distances
    under metrics learned without the pair. Of an answer about several pairs, one pair counts.

    Parameters
    ----------
    telling : mapping
        From the numbers of answers to the one pair by which each is judged.
    """
    if all(spoken.by == UNNAMED for spoken in known.spoken):
        return None
    by_metric = chances_of(held_out, known.pairs)
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
    doubts = _estimate_doubts(held_out, agreement, telling, known)
    return Reliability(agreement, telling, doubts, n_answers)


def chances_of(held_out: HeldOutRanks, pairs: Pairs) -> dict[Pair, float]:
    """Map answered pairs to their chance to be the same, by metrics learned without them."""
    links = np.concatenate([pairs.must_link, pairs.cannot_link]).tolist()
    chance = estimate_chances(pairs, ranks_of(held_out, pairs)).tolist()
    return {(i, j): p for (i, j), p in zip(links, chance, strict=True) if not np.isnan(p)}


def _estimate_doubts(
    held_out: HeldOutRanks, agreement: Agreement, telling: Mapping[int, Pair], known: Knowledge
) -> dict[int, float]:
    """Map the numbers of answers that count to the chance that they are wrong."""
    chance_same = _read_chances(agreement)
    misplaced, _ = find_misplaced(held_out, known.pairs)
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


def _read_chances(agreement: Agreement) -> dict[Pair, float]:
    """Map pairs to their chance to be the same, read from the weights of the agreement's pairs."""
    pairs, found = agreement.pairs, {}
    kinds = ((pairs.must_link, pairs.must_weight), (pairs.cannot_link, pairs.cannot_weight))
    for same, (links, weight) in zip((True, False), kinds, strict=True):
        # What is right with probability p has the weight (2 p - 1)².
        right = (1 + np.sqrt(weight)) / 2
        for (i, j), p in zip(links.tolist(), right.tolist(), strict=True):
            found[i, j] = p if same else 1 - p
    return found


def n_disagreements(known: Knowledge) -> int:
    """Count the pairs to which two people gave opposite answers, so that one of them is wrong."""
    heard_of = {rows[:2]: set[bool]() for rows in known.voices}
    for rows, same in known.voices.items():
        if same is not None:
            heard_of[rows[:2]].add(same)
    return sum(len(said) > 1 for said in heard_of.values())


def list_answerers(found: Reliability | None) -> dict[str, Any]:
    """List people with error rates, the best first (``listed``), and advice on them (``said``)."""
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
