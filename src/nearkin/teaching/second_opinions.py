"""Answers that a second person is asked for too, so that it is seen who is how often wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from zlib import crc32

from nearkin.errors import InputError, InputTypeError
from nearkin.pairs.answers import UNNAMED
from nearkin.teaching.row_checks import Pair
from nearkin.teaching.spoken import Spoken

# Of so many that are asked twice, one is any: nobody is to be judged by the hardest alone.
_ONE_OF = 4
# Groups that can be shown beside a row; what is said of more was not asked.
_MOST_PAIRS = 9


def checked_share(share: float) -> float:
    """A share from 0 to 1, or an error."""
    if isinstance(share, bool) or not isinstance(share, (int, float)):
        raise InputTypeError(f"a share is a number from 0 to 1, not {share!r:.60}.")
    if not 0 <= share <= 1:
        raise InputError(f"a share is a number from 0 to 1, not {share:g}.")
    return float(share)


def second_opinions(
    spoken: Sequence[Spoken],
    telling: Mapping[int, Pair],
    doubts: Mapping[int, float],
    share: float,
    name: str,
) -> list[Pair]:
    """Pairs that someone else alone has answered, and this person is to answer too.

    Those first that are likeliest wrong, so that mistakes come to light; but every fourth is any.
    Whoever's own answers are likeliest wrong is asked for none: others are, about these.

    Parameters
    ----------
    spoken : sequence of Spoken
        What each person said.
    telling : mapping
        Of the numbers of answers to the pairs by which they are judged.
    doubts : mapping
        Of their numbers to the chance that they are wrong, where that is known.
    share : float
        Of the questions that anybody answered, those that two people are asked.
    name : str
        Whom to ask.

    Returns
    -------
    list of (int, int)
        The first is to be asked first; none if the share is reached.

    Examples
    --------
    >>> from nearkin.teaching.second_opinions import second_opinions
    >>> from nearkin.teaching.spoken import Spoken
    >>> said = {1: (0, 1), 2: (2, 3), 3: (4, 5)}
    >>> who = {1: "Ann", 2: "Ann", 3: "Bob"}
    >>> spoken = [Spoken(number, who[number], {pair: True}) for number, pair in said.items()]
    >>> second_opinions(spoken, said, {1: 0.1, 2: 0.7}, 0.5, "Bob")
    [(2, 3)]
    """
    heard_of: dict[Pair, set[str]] = defaultdict(set)
    for one in spoken:
        for pair in one.said:
            heard_of[pair].add(one.by)
    asked = [
        one
        for one in spoken
        if one.number in telling and one.by != UNNAMED and len(one.said) <= _MOST_PAIRS
    ]
    single = [one for one in asked if len(heard_of[telling[one.number]]) == 1]
    n_twice = (len(asked) - len(single)) // 2
    wanted = int(share * (len(single) + n_twice)) - n_twice
    by = {one.number: one.by for one in single}
    doubtful = iter(sorted(by, key=lambda number: -doubts.get(number, 0.0)))
    drawn = iter(sorted(by, key=lambda number: crc32(f"{telling[number]}".encode())))
    order: dict[int, None] = {}
    while len(order) < min(wanted, len(by)):
        turn = drawn if (n_twice + len(order)) % _ONE_OF == _ONE_OF - 1 else doubtful
        order[next(number for number in turn if number not in order)] = None
    return [telling[number] for number in order if by[number] != name]
