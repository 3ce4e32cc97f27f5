"""Answers as people gave them: each is one, whatever it says of how many pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nearkin.pairs.answers import UNNAMED
from nearkin.teaching.history import DISPUTED, Past, is_pair, is_voice
from nearkin.teaching.row_checks import Pair


class Spoken(NamedTuple):
    """What one answer says, as far as nobody took it back, nor said something else later.

    Attributes
    ----------
    number : int
        Of the entry; below 0 for a pair that was known from the start.
    by : str
        Who gave it.
    said : mapping
        Of pairs to whether they are the same, None for unsure.
    """

    number: int
    by: str
    said: Mapping[Pair, bool | None]


def spoken_of(past: Past, n_rows: int) -> tuple[Spoken, ...]:
    """All answers about the first so many rows.

    Examples
    --------
    >>> from nearkin.teaching.history import Past, after
    >>> from nearkin.teaching.spoken import spoken_of
    >>> entry = {"do": "which", "left": 0, "rows": [1, 2], "right": 2, "same": True, "by": "Ann"}
    >>> spoken_of(after(Past(), entry, n_rows=3), n_rows=3)
    (Spoken(number=1, by='Ann', said={(0, 1): False, (0, 2): True}),)
    """
    found: dict[tuple[int, str], dict[Pair, bool | None]] = defaultdict(dict)
    named: set[Pair] = set()
    for rows, said in past.answers.items():
        if is_voice(rows) and max(rows[:2]) < n_rows:
            pair = rows[:2]
            named.add(pair)
            found[past.sources.get(rows, 0), rows[2]][pair] = None if said is None else bool(said)
    for k, (rows, said) in enumerate(past.answers.items()):
        if is_pair(rows) and max(rows) < n_rows and rows not in named and said != DISPUTED:
            number = past.sources.get(rows) or -k - 1
            found[number, UNNAMED][rows] = None if said is None else bool(said)
    return tuple(Spoken(number, by, said) for (number, by), said in found.items())


def telling_pairs(spoken: Sequence[Spoken], chance: Mapping[Pair, float]) -> dict[int, Pair]:
    """The pair of each answer by which it is judged, by the numbers of the answers.

    Whoever chooses one of several groups says of a row what it is like, and only so what it is
    unlike. If there is no such pair, or if there are several, it is the one that is likeliest
    wrong. None of answers that one cannot tell.

    Parameters
    ----------
    spoken : sequence of Spoken
    chance : mapping
        Of pairs to the chance that they are the same, where that is known.

    Examples
    --------
    >>> from nearkin.teaching.spoken import Spoken, telling_pairs
    >>> chosen = Spoken(1, "Ann", {(0, 1): False, (0, 2): True})
    >>> none_of_them = Spoken(2, "Bob", {(1, 3): False, (2, 3): False})
    >>> telling_pairs([chosen, none_of_them], {(2, 3): 0.9})
    {1: (0, 2), 2: (2, 3)}
    """
    found = {}
    for number, _, said in spoken:
        alike = [pair for pair, same in said.items() if same]
        apart = [pair for pair, same in said.items() if same is False]
        if alike:
            found[number] = min(alike, key=lambda pair: chance.get(pair, 0.5))
        elif apart:
            found[number] = max(apart, key=lambda pair: chance.get(pair, 0.5))
    return found


def placed_by(spoken: Sequence[Spoken]) -> dict[int, str]:
    """Who has first said of each row that it is like another."""
    found: dict[int, str] = {}
    for _, by, said in sorted(spoken, key=lambda one: one.number):
        for pair, same in said.items():
            if same:
                for row in pair:
                    found.setdefault(row, by)
    return found


def twice_said(spoken: Sequence[Spoken]) -> set[Pair]:
    """Pairs of which two people have said the same."""
    heard: dict[tuple[Pair, bool], set[str]] = defaultdict(set)
    for _, by, said in spoken:
        for pair, same in said.items():
            if same is not None:
                heard[pair, same].add(by)
    return {pair for (pair, _), names in heard.items() if len(names) > 1}
