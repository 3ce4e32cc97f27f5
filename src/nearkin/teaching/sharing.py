"""Questions of a lesson that several people share: each has their own, but for some of two."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from nearkin.teaching.answerers import Heard
from nearkin.teaching.knowledge import Knowledge
from nearkin.teaching.known_groups import KnownGroups
from nearkin.teaching.looking import Looking
from nearkin.teaching.questions import Questions, WhichAsked, follows
from nearkin.teaching.row_checks import Pair
from nearkin.teaching.second_opinions import checked_share, second_opinions
from nearkin.teaching.spoken import telling_pairs


class Sharing(Looking):
    """What each person is asked in a :class:`nearkin.teaching.lesson.Lesson`.

    Parameters
    ----------
    overlap : float
        Share of the questions that two people are asked.

    Attributes
    ----------
    overlap : float
    """

    _questions: Questions

    def _known_groups(self, known: Knowledge) -> KnownGroups:
        raise NotImplementedError  # Asking brings it

    def __init__(self, overlap: float) -> None:
        self.overlap = checked_share(overlap)
        self._heard: Heard | None = None

    def share(self, overlap: float) -> dict[str, Any]:
        """Have another share of the questions asked of two people; gives the state."""
        self.overlap = checked_share(overlap)
        return self.state()

    def state(self) -> dict[str, Any]:
        """Counts, and the next question, as plain values."""
        raise NotImplementedError  # Lesson brings it

    def still_asked(self, pair: Pair, name: str | None, second: bool) -> bool:
        """Whether a question that one person has need not change, whatever others answered.

        Parameters
        ----------
        pair : (int, int)
        name : str or None
            Who it is.
        second : bool
            Whether it is a second opinion.
        """
        known = self._book.known
        if not second:
            return bool(known.are_open(np.array([pair]))[0])
        left, right = sorted(pair)
        return known.said(left, right) and (left, right, name) not in known.voices

    def has_answered(self, pair: Pair, name: str | None) -> bool:
        """Whether a person has answered a pair; of whoever has no name, whether anybody has."""
        known, ends = self._book.known, (min(pair), max(pair))
        return known.said(*ends) if name is None else (*ends, name) in known.voices

    def questions_for(
        self, name: str | None, taken: Collection[Pair] = ()
    ) -> tuple[list[Pair], list[Pair]]:
        """What to ask one of several people.

        Parameters
        ----------
        name : str or None
            Who it is. Those without a name are asked for no second opinions, since nobody would
            know whose they are.
        taken : collection of (int, int)
            What others are being asked, the smaller row first.

        Returns
        -------
        second, fresh : list of (int, int)
            Pairs that somebody else alone has answered, and open questions, the best first.
        """
        known = self._book.known
        second: list[Pair] = []
        if name is not None and self.overlap > 0:
            telling = telling_pairs(known.spoken, {})
            doubts: Mapping[int, float] = {}
            if self._heard is not None:
                telling |= self._heard.telling
                doubts = self._heard.doubts
            second = second_opinions(known.spoken, telling, doubts, self.overlap, name)
        questions = self._questions.pairs
        fresh = questions[known.are_open(questions)] if len(questions) else np.empty((0, 2), int)
        pairs = [(int(i), int(j)) for i, j in fresh.tolist()]
        return [pair for pair in second if pair not in taken], [
            pair for pair in pairs if (min(pair), max(pair)) not in taken
        ]

    def asked_of(self, pair: Pair) -> dict[str, Any] | None:
        """The question beside groups that answered a pair, as ``which`` of a state, if it was one.

        None if its groups are not what they were.
        """
        number, entry = self._book.entry_of((min(pair), max(pair)))
        which = self._which_of(entry) if number else None
        if which is None or len(which["rows"]) < 2:
            return None
        groups = [group["number"] for group in which["groups"]]
        shown = {which["left"], *which["rows"]}
        return which if len(set(groups)) == len(groups) and shown >= set(pair) else None

    def _which_of(self, entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
        raise NotImplementedError  # Asking brings it

    def rows_to_place(self) -> list[dict[str, Any]]:
        """Rows beside groups that they may be in, the best first, as ``which`` of a state."""
        known = self._book.known
        groups = self._known_groups(known)
        told = (which.described(known, groups) for which in self._questions.which)
        return [one for one in told if one is not None]

    def still_to_place(self, which: Mapping[str, Any]) -> dict[str, Any] | None:
        """A row beside groups that somebody is asked about, as it is now; None if it was placed."""
        known = self._book.known
        asked = WhichAsked(which["left"], np.array(which["rows"]), which["origin"] == "sought")
        return asked.described(known, self._known_groups(known))

    def still_to_check(self, check: Mapping[str, int]) -> bool:
        """Whether a pair still follows from answers, and was not answered itself."""
        return follows(self._book.known, check["left"], check["right"])
