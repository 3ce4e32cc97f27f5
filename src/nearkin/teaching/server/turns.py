"""Whom to ask what, where several people answer: nobody is asked what another is asked just now."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from nearkin.teaching.row_checks import Pair
from nearkin.teaching.server.people import Person

if TYPE_CHECKING:
    from nearkin.teaching.lesson import Lesson


class Turns:
    """The question of each person. It stays the same until it is answered, whatever others do.

    Parameters
    ----------
    lesson : Lesson
    """

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson
        self._asked: dict[str, Pair] = {}

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
        self._asked = {key: pair for key, pair in self._asked.items() if key in here}
        taken = {_sorted(pair) for key, pair in self._asked.items() if key != person.key}
        second, fresh = self._lesson.questions_for(person.name, taken)
        before = self._asked.get(person.key)
        pair = (
            before if before in second or before in fresh else next(iter([*second, *fresh]), None)
        )
        if pair is None:
            self._asked.pop(person.key, None)
            return state | {"question": None, "second": False}
        self._asked[person.key] = pair
        left, right = pair
        return state | {"question": {"left": left, "right": right}, "second": pair in second}


def _sorted(pair: Pair) -> Pair:
    return min(pair), max(pair)
