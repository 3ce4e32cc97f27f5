"""Whom to ask what, where several people answer: nobody is asked what another is asked just now."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from nearkin.teaching.row_checks import Pair
from nearkin.teaching.server.people import Person

if TYPE_CHECKING:
    from nearkin.teaching.lesson import Lesson


class _Turn(NamedTuple):
    """A pair, whether it is a second opinion, what it is for, and a row that is to be placed."""

    pair: Pair
    second: bool
    goal: str
    row: int | None = None


class Turns:
    """The question of each person. It stays the same until it is answered, whatever others do.

    Parameters
    ----------
    lesson : Lesson
    """

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson
        self._asked: dict[str, _Turn] = {}

    def note(self, state: dict[str, Any], person: Person) -> None:
        """Remember what somebody is asked who is alone, should others join."""
        question = state["question"]
        if self._kept(state, person) is None and question is not None:
            pair = question["left"], question["right"]
            self._asked = {person.key: _Turn(pair, False, state["goal"])}

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
        left, right = turn.pair
        which = None if turn.second else self._place(turn, person)
        # What follows from answers is checked by one of them.
        check = None if turn.second or person.key != min(here) else state["check"]
        self._asked[person.key] = turn._replace(row=None if which is None else which["left"])
        own = {"question": {"left": left, "right": right}, "which": which, "check": check}
        return state | own | {"second": turn.second}

    def _place(self, turn: _Turn, person: Person) -> dict[str, Any] | None:
        """The row that was to be placed, as long as it is not, or one that nobody else places."""
        found = self._lesson.rows_to_place()
        others = {one.row for key, one in self._asked.items() if key != person.key}
        kept = (one for one in found if one["left"] == turn.row)
        fresh = (one for one in found if one["left"] not in others)
        return next(kept, None) or next(fresh, None)

    def _kept(self, state: dict[str, Any], person: Person) -> _Turn | None:
        turn = self._asked.get(person.key)
        if turn is None or turn.goal != state["goal"]:
            return None
        kept = self._lesson.still_asked(turn.pair, person.name, turn.second)
        return turn if kept else None

    def _next(self, state: dict[str, Any], person: Person) -> _Turn | None:
        taken = {
            (min(turn.pair), max(turn.pair))
            for key, turn in self._asked.items()
            if key != person.key
        }
        second, fresh = self._lesson.questions_for(person.name, taken)
        pair = next(iter([*second, *fresh]), None)
        return None if pair is None else _Turn(pair, pair in second, state["goal"])
