"""Questions about records, from a matcher that learns while it asks."""

from __future__ import annotations

import numpy as np

from nearkin._types import Ints
from nearkin.errors import counted
from nearkin.pairs.pairs import Pairs
from nearkin.records.matcher import RecordMatcher

# Answers after which a matcher is taught again, which takes a second or some.
_EVERY = 5


class RecordQuestions:
    """Questions about the records of a table.

    Parameters
    ----------
    matcher : RecordMatcher
        With the table, and with what is known from the start.
    known : Pairs or None
        That.
    learns : bool
        Whether answers are learned from, or only kept.
    review : bool
        Whether questions come in the order of what an answer would change, instead of that by
        which a matcher learns most.
    """

    def __init__(
        self, matcher: RecordMatcher, known: Pairs | None, *, learns: bool, review: bool
    ) -> None:
        self._matcher = matcher
        self._known = Pairs() if known is None else known
        self._learns = learns
        self._review = review
        self._answers: list[tuple[int, int, bool | None]] = []
        self._n_learned: int | None = None
        self._standing = ""
        self._waiting: list[tuple[int, int]] = []

    def tell(self, left: int, right: int, same: bool | None) -> None:
        """Take an answer into account."""
        self._answers.append((left, right, same))

    def take_back(self) -> None:
        """Forget the last answer."""
        del self._answers[-1]
        self._n_learned = min(self._n_learned or 0, len(self._answers))

    def one(self) -> tuple[int, int] | None:
        """The next pair of row numbers, or None if there is nothing to ask."""
        self._keep_up()
        if not self._open():
            self._waiting = [(int(i), int(j)) for i, j in self.next(_EVERY)]
        open_ = self._open()
        self._waiting = open_[1:]
        return open_[0] if open_ else None

    def next(self, n: int) -> Ints:
        """Pairs of row numbers, in the order in which they are to be asked."""
        self._keep_up()
        asked = self._asked()
        some = n + len(asked)
        found = self._matcher.review(some)[0] if self._review else self._matcher.suggest(some)
        fresh = [pair for pair in found.tolist() if frozenset(pair) not in asked]
        return np.array(fresh[:n], dtype=np.int64).reshape(-1, 2)

    def standing(self) -> str:
        """How good the groups are by now, as far as that is known."""
        self._keep_up()
        return self._standing

    def _keep_up(self) -> None:
        """Learn from what was answered, if that is enough to be worth it."""
        due = 1 if self._n_learned is None else self._n_learned + _EVERY
        self._n_learned = self._n_learned or 0
        if len(self._answers) < due:
            return
        told = Pairs(
            [(i, j) for i, j, same in self._answers if same is True],
            [(i, j) for i, j, same in self._answers if same is False],
        )
        pairs = self._known + told
        if self._learns:
            self._matcher.teach(pairs)
        else:
            self._matcher = self._matcher.on(pairs=pairs)
        found = self._matcher.duplicates()
        self._standing = (
            f"after {counted(len(pairs), 'answer')}: precision {found.precision}, recall "
            f"{found.recall} are expected (90 % intervals)"
        )
        self._n_learned = len(self._answers)
        self._waiting = []

    def _asked(self) -> set[frozenset[int]]:
        return {frozenset((i, j)) for i, j, _ in self._answers}

    def _open(self) -> list[tuple[int, int]]:
        """Questions that wait and were not answered meanwhile."""
        asked = self._asked()
        return [pair for pair in self._waiting if frozenset(pair) not in asked]
