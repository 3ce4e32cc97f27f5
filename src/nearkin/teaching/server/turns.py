"""Whom to ask what, where several people answer: nobody is asked what another is asked just now."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nearkin.teaching.row_checks import Pair
from nearkin.teaching.server.people import Person

if TYPE_CHECKING:
    from nearkin.teaching.lesson import Lesson


class _Turn(NamedTuple):
    """What somebody is asked: whatever of it is shown, it stays until it is answered.

    Attributes
    ----------
    pair : (int, int)
    second : bool
        Whether it is a second opinion.
    goal : str
        What questions are for.
    which : mapping or None
        A row beside groups, in place of the pair.
    check : mapping or None
        A pair that follows from answers, in place of both.
    """

    pair: Pair
    second: bool
    goal: str
    which: Mapping[str, Any] | None = None
    check: Mapping[str, int] | None = None


class Turns:
    """The question of each person. It stays the same until it is answered, whatever others do.

    Parameters
    ----------
    lesson : Lesson
    """

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson
        self._asked: dict[str, _Turn] = {}
        self._noted: tuple[str, int] | None = None

    def note(self, state: dict[str, Any], person: Person) -> None:
        """Remember what somebody is asked who is alone, should others join.

        Their page shows what it is told after each change, and keeps that until the next one.
        """
        question, noted = state["question"], (person.key, state["version"])
        if self._noted == noted and self._kept(state, person) is not None:
            return
        self._asked, self._noted = {}, None
        if question is not None:
            pair = question["left"], question["right"]
            turn = _Turn(pair, False, state["goal"], state["which"], state["check"])
            self._asked, self._noted = {person.key: turn}, noted

    def own(self, state: dict[str, Any], person: Person, here: Collection[str]) -> dict[str, Any]:
        """A state with what this person is asked.

        Parameters
        ----------
        state : dict
            As all are told.
        person : Person
        here : collection of str
            Keys of everybody who is here.
        """
        self._asked = {key: turn for key, turn in self._asked.items() if key in here}
        turn = self._kept(state, person) or self._next(state, person)
        if turn is None:
            self._asked.pop(person.key, None)
            return state | {"question": None, "which": None, "check": None, "second": False}
        self._asked[person.key] = turn
        left, right = turn.pair
        which = self._lesson.asked_of(turn.pair) if turn.second else turn.which
        own = {"question": {"left": left, "right": right}, "which": which, "check": turn.check}
        return state | own | {"second": turn.second}

    def _kept(self, state: dict[str, Any], person: Person) -> _Turn | None:
        """What somebody is asked, as it is by now; None if it was answered."""
        turn, lesson = self._asked.get(person.key), self._lesson
        if turn is None or turn.goal != state["goal"]:
            return None
        if turn.check is not None and not lesson.still_to_check(turn.check):
            return None
        which = None if turn.which is None else lesson.still_to_place(turn.which)
        if which is None and turn.which is not None:
            return None
        if lesson.still_asked(turn.pair, person.name, turn.second):
            return turn._replace(which=which)
        if which is None or lesson.has_answered(turn.pair, person.name):
            return None
        # Others have answered it, but this person may be looking at the row.
        pair = self._fresh(person)
        return None if pair is None else turn._replace(pair=pair, which=which)

    def _next(self, state: dict[str, Any], person: Person) -> _Turn | None:
        second, fresh = self._lesson.questions_for(person.name, self._taken(person))
        goal = state["goal"]
        if second:
            return _Turn(second[0], True, goal)
        if not fresh:
            return None
        others = [turn for key, turn in self._asked.items() if key != person.key]
        rows = {turn.which["left"] for turn in others if turn.which is not None}
        found = (one for one in self._lesson.rows_to_place() if one["left"] not in rows)
        # What follows from answers is checked by one of them.
        check = None if any(turn.check for turn in others) else state["check"]
        return _Turn(fresh[0], False, goal, next(found, None), check)

    def _fresh(self, person: Person) -> Pair | None:
        _, fresh = self._lesson.questions_for(person.name, self._taken(person))
        return next(iter(fresh), None)

    def _taken(self, person: Person) -> set[Pair]:
        """What others are asked."""
        others = (turn.pair for key, turn in self._asked.items() if key != person.key)
        return {(min(pair), max(pair)) for pair in others}
