"""What a lesson asks next, and what for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearkin.errors import InputError
from nearkin.teaching.history import SETTLING
from nearkin.teaching.knowledge import Knowledge
from nearkin.teaching.known_groups import KnownGroups, known_groups
from nearkin.teaching.looking import Looking
from nearkin.teaching.questions import Questions, next_questions, strategies_by_goal
from nearkin.teaching.row_checks import checked_name
from nearkin.teaching.taught_metric import TaughtMetric

# Where something may have been answered, for the journal.
ORIGINS = (
    "question", "sought", "check", "suspect", "neighbors", "group", "review", "list", SETTLING,
)  # fmt: skip
# Groups that a row is shown beside: pictures are seen at a glance, words are to be read.
_PICTURES, _TEXTS = 9, 5


class Asking(Looking):
    """The questions of a :class:`nearkin.teaching.lesson.Lesson`.

    Parameters
    ----------
    strategy : str
        How questions are chosen.
    seed : int
    """

    def __init__(self, strategy: str, seed: int) -> None:
        self._seed, self._strategies = seed, strategies_by_goal(strategy)
        self._goal = next(goal for goal, one in self._strategies.items() if one == strategy)
        self._questions = Questions.none()
        self._grouped: tuple[int, KnownGroups] | None = None

    def state(self) -> dict[str, Any]:
        """Counts, and the next question, as plain values."""
        raise NotImplementedError  # Lesson brings it

    def _change(self, entry: dict[str, Any], *, before: str | None = None) -> dict[str, Any]:
        raise NotImplementedError  # Lesson brings it

    def _voiced(self, entry: dict[str, Any], by: str | None) -> dict[str, Any]:
        raise NotImplementedError  # Lesson brings it

    def answer_which(
        self,
        left: int,
        rows: Sequence[int],
        right: int | None,
        same: bool | None,
        origin: str = "question",
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Say which of some rows, of groups that differ, a row is like.

        It is like that one and unlike all others. It is one answer, and undone as one.

        Parameters
        ----------
        left : int
        rows : sequence of int
            Those that were shown beside it.
        right : int or None
            One of them.
        same : bool or None
            True with ``right``; False if it is like none of them; None for unsure.
        origin, before, by
            As in :meth:`answer`; ``before`` of all these pairs.

        Returns
        -------
        dict
            As :meth:`answer`.
        """
        check_origin(origin)
        entry = {"do": "which", "left": left, "rows": list(rows), "same": same, "origin": origin}
        if right is not None:
            entry["right"] = right
        return self._change(self._voiced(entry, by), before=before)

    def name_known_group(self, row: int, name: str | None) -> dict[str, Any]:
        """Give the group that answers have put a row in a name, or None to take it away.

        As :meth:`answer`.
        """
        row = self.records.checked_row(row)
        name = None if name is None else checked_name(name)
        return self._change(self._known_groups(self._book.known).naming(row, name))

    def questions(self) -> list[dict[str, int]]:
        """The next questions, the best first: those of a report, which takes longer."""
        known, seen = self._newest()
        return self._ask(known, seen.learned)

    def _ask(self, known: Knowledge, learned: TaughtMetric) -> list[dict[str, int]]:
        goal = self._goal
        found = next_questions(
            known,
            learned,
            strategy=self._strategies[goal],
            most_shown=_TEXTS if self.records.pictures is None else _PICTURES,
            seed=self._seed,
        )
        if goal == self._goal:
            self._questions = found
        return [{"left": i, "right": j} for i, j in found.pairs.tolist()]

    def _asked(self, known: Knowledge) -> dict[str, Any]:
        """What is next, as plain values, see :meth:`state`."""
        return self._questions.state(known, self._known_groups(known)) | {"goal": self._goal}

    def _which_of(self, entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The question that an entry answers, if it is one beside groups that are still there."""
        if entry is None or entry["do"] != "which":
            return None
        groups = self._known_groups(self._book.known)
        n_rows = len(self.records)
        told = [(row, groups.of(row)) for row in entry["rows"] if row < n_rows]
        shown = [(row, group) for row, group in told if group is not None]
        if not shown or entry["left"] >= n_rows:
            return None
        rows, found = zip(*shown, strict=True)
        origin = "sought" if entry["origin"] == "sought" else "question"
        return {"left": entry["left"], "rows": list(rows), "groups": list(found), "origin": origin}

    def _said_in(self, left: int, right: int) -> dict[str, Any]:
        """The ``number`` of the entry that says something of two rows, and what that answered."""
        number, entry = self._book.entry_of((left, right))
        return {"number": number, "which": self._which_of(entry)}

    def _known_groups(self, known: Knowledge) -> KnownGroups:
        """Groups that answers make; the last ones are kept."""
        kept = self._grouped
        if kept is None or kept[0] != known.version:
            kept = self._grouped = (known.version, known_groups(known, len(self.records)))
        return kept[1]

    def aim(self, goal: str) -> dict[str, Any]:
        """Choose what questions are for, from the next report on.

        Parameters
        ----------
        goal : {"distance", "clusters"}
            To improve the distance, or to find the groups.

        Returns
        -------
        dict
            As :meth:`state`; there is no question until the next report.
        """
        if goal not in self._strategies:
            raise InputError(
                f"goal must be one of {', '.join(self._strategies)}, not {goal!r:.60}."
            )
        if goal != self._goal:
            self._goal = goal
            self._questions = Questions.none()
        return self.state()


def check_origin(origin: str) -> None:
    """Raise if nothing is answered in a place of that name."""
    if origin not in ORIGINS:
        raise InputError(f"origin must be one of {', '.join(ORIGINS)}, not {origin!r:.60}.")
