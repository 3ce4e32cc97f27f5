"""Which answers look wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearkin.pairs.pairs import Pairs
from nearkin.scores.suspects import Suspect, wrong_answers
from nearkin.teaching.quality import Trial, ranks_of
from nearkin.teaching.row_checks import Pair
from nearkin.teaching.spoken import Spoken, twice_said

# Suspects that are listed at most.
_MOST_SUSPECTS = 20
# Chances that an answer is wrong: of all that come to light in the mean, so that most of them are,
# and the least of one.
LEAST_MEAN, LEAST_CHANCE = 0.65, 0.2


def suspects_of(
    trial: Trial,
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
    trial : Trial
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
    others = wrong_answers(pairs, ranks_of(trial, pairs), LEAST_CHANCE)
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
    return found[: int(((mean >= LEAST_MEAN) & (chance >= LEAST_CHANCE)).sum())]


def misplaced_pairs(trial: Trial, pairs: Pairs) -> tuple[list[Suspect], set[Pair]]:
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
