"""How often somebody has answered: one answer may say something of many pairs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from nearkin.teaching.history import Key, Past, Said


class Counts(NamedTuple):
    """Answers that still count, by what they say.

    Attributes
    ----------
    same : int
        Those that tie some rows together, whatever else they say.
    different, unsure : int
    run : int
        How many of the last answers, one after the other, have found nothing alike.
    """

    same: int
    different: int
    unsure: int
    run: int


NO_ANSWERS = Counts(0, 0, 0, 0)


def counts_of(past: Past) -> Counts:
    """Count the answers of which something is left: not taken back, nor said otherwise since.

    Pairs that are known from the start are an answer each.

    Examples
    --------
    >>> from nearkin.teaching.counting import counts_of
    >>> from nearkin.teaching.history import Past, after
    >>> entry = {"do": "which", "left": 5, "rows": [1, 2, 3], "right": 2, "same": True}
    >>> counts_of(after(Past(), entry, n_rows=10))
    Counts(same=1, different=0, unsure=0, run=0)
    """
    said_in: dict[Key, int] = {}
    for step, back in enumerate(past.undo):
        said_in |= dict.fromkeys((rows for rows, _ in back if _is_pair(rows)), step)
    answers: dict[int, list[Said]] = {}
    alone = 0
    for rows, said in past.answers.items():
        if _is_pair(rows):
            alone += rows not in said_in
            answers.setdefault(said_in.get(rows, -alone), []).append(said)
    kinds = [_kind(said) for said in answers.values()]
    latest = [_kind(answers[step]) for step in sorted(answers, reverse=True) if step >= 0]
    run = next((k for k, kind in enumerate(latest) if kind is True), len(latest))
    return Counts(kinds.count(True), kinds.count(False), kinds.count(None), run)


def _is_pair(rows: Key) -> bool:
    return len(rows) == 2


def _kind(said: Iterable[Said]) -> bool | None:
    """What an answer says, in a word: same if it says so of any pair, unsure if of no other."""
    told = set(said)
    return True if True in told else False if False in told else None
