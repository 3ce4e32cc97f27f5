"""What a lesson asks next, and what for."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin.errors import InputError
from nearkin.rows.arrays import Ints
from nearkin.teaching.knowledge import Knowledge
from nearkin.teaching.looking import Looking
from nearkin.teaching.questions import next_questions, strategies_by_goal
from nearkin.teaching.taught_metric import TaughtMetric


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
        self._questions: Ints = np.empty((0, 2), dtype=np.int64)

    def state(self) -> dict[str, Any]:
        """Counts, and the next question, as plain values."""
        raise NotImplementedError  # Lesson brings it

    def questions(self) -> list[dict[str, int]]:
        """The next questions, the best first: those of a report, which takes longer."""
        known, seen = self._newest()
        return self._ask(known, seen.learned)

    def _ask(self, known: Knowledge, learned: TaughtMetric) -> list[dict[str, int]]:
        goal = self._goal
        found = next_questions(known, learned, strategy=self._strategies[goal], seed=self._seed)
        if goal == self._goal:
            self._questions = found
        return [{"left": i, "right": j} for i, j in found.tolist()]

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
            self._questions = self._questions[:0]
        return self.state()
