"""Pairs that a second person is asked about, so that it is seen who is how often wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from zlib import crc32

from nearkin.errors import InputError, InputTypeError
from nearkin.teaching.history import Voice
from nearkin.teaching.row_checks import Pair


def checked_share(share: float) -> float:
    """A share from 0 to 1, or an error."""
    if isinstance(share, bool) or not isinstance(share, (int, float)):
        raise InputTypeError(f"a share is a number from 0 to 1, not {share!r:.60}.")
    if not 0 <= share <= 1:
        raise InputError(f"a share is a number from 0 to 1, not {share:g}.")
    return float(share)


def second_opinions(
    voices: Mapping[Voice, bool | None],
    doubts: Mapping[Pair, float],
    share: float,
    name: str,
) -> list[Pair]:
    """Pairs that someone else alone has answered, and this person is to answer too.

    Every other one is that which is likeliest wrong, so that mistakes come to light; those in
    between are any, so that nobody is judged by the hardest pairs alone.

    Parameters
    ----------
    voices : mapping
        What each person said of pairs.
    doubts : mapping
        Chance that what was said is wrong, where that is known.
    share : float
        Of the pairs that anybody answered, those that two people are asked about.
    name : str
        Whom to ask.

    Returns
    -------
    list of (int, int)
        The first is to be asked first; none if the share is reached.

    Examples
    --------
    >>> from nearkin.teaching.second_opinions import second_opinions
    >>> voices = {(0, 1, "Ann"): True, (2, 3, "Ann"): False, (4, 5, "Bob"): True}
    >>> second_opinions(voices, {(0, 1): 0.1, (2, 3): 0.7}, 0.5, "Bob")
    [(2, 3)]
    """
    by: dict[Pair, dict[str, bool | None]] = defaultdict(dict)
    for (left, right, who), said in voices.items():
        by[left, right][who] = said
    n_twice = sum(len(said) > 1 for said in by.values())
    wanted = int(share * len(by)) - n_twice
    if wanted <= 0:
        return []
    single = [
        pair
        for pair, said in by.items()
        if len(said) == 1 and name not in said and None not in said.values()
    ]
    doubtful = sorted(single, key=lambda pair: -doubts.get(pair, 0.0))
    drawn = sorted(single, key=lambda pair: crc32(f"{pair}".encode()))
    turn = (doubtful, drawn) if n_twice % 2 == 0 else (drawn, doubtful)
    both = (pair for two in zip(*turn, strict=True) for pair in two)
    return list(dict.fromkeys(both))[:wanted]
