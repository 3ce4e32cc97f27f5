"""How often somebody has answered: one answer may say something of many pairs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from nearkin.teaching.history import DISPUTED, Past, Said, is_pair


class Counts(NamedTuple):
    """Answers that still count, by what they say.

    Attributes
    ----------
    same : int
        Those that tie some rows together, whatever else they say.
    different, unsure, disputed : int
    run : int
        How many of the last answers, one after the other, have found nothing alike.
    """

    same: int
    different: int
    unsure: int
    disputed: int
    run: int

    @property
    def told(self) -> int:
        """How many say something that can be learned from."""
        return self.same + self.different

    @property
    def n_answers(self) -> int:
        """How many there are in all."""
        return self.same + self.different + self.unsure + self.disputed


NO_ANSWERS = Counts(0, 0, 0, 0, 0)


def counts_of(past: Past, n_rows: int) -> Counts:
    """Count the answers of which something is left: not taken back, nor said otherwise since.

    Only what is said of the first ``n_rows`` rows counts: the others are not here.

    Pairs that are known from the start are an answer each.

    Examples
    --------
    >>> from nearkin.teaching.counting import counts_of
    >>> from nearkin.teaching.history import Past, after
    >>> entry = {"do": "which", "left": 5, "rows": [1, 2, 3], "right": 2, "same": True}
    >>> counts_of(after(Past(), entry, n_rows=10), n_rows=10)
    Counts(same=1, different=0, unsure=0, disputed=0, run=0)
    """
    answers: dict[int, list[Said]] = {}
    for k, (rows, said) in enumerate(past.answers.items()):
        if is_pair(rows) and max(rows) < n_rows:
            answers.setdefault(past.sources.get(rows) or -k - 1, []).append(said)
    kinds = [_kind(said) for said in answers.values()]
    latest = [_kind(answers[number]) for number in sorted(answers, reverse=True) if number > 0]
    run = next((k for k, kind in enumerate(latest) if kind is True), len(latest))
    same, different, unsure, disputed = (
        kinds.count(kind) for kind in (True, False, None, DISPUTED)
    )
    return Counts(same, different, unsure, disputed, run)


def _kind(said: Iterable[Said]) -> Said:
    """What an answer says, in a word: same if it says so of any pair, or that people disagree."""
    told = set(said)
    return next(kind for kind in (True, DISPUTED, False, None) if kind in told)
