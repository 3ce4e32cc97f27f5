"""Groups of a lesson: found anew when that is wanted, named, joined and split by what is said."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from nearkin._types import Ints
from nearkin.errors import InputError
from nearkin.teaching.answer_book import AnswerBook
from nearkin.teaching.group_links import split_of_groups
from nearkin.teaching.groups import (
    FoundGroups,
    found_groups,
    representatives,
    representatives_by_group,
    typical,
)
from nearkin.teaching.history import Conflict
from nearkin.teaching.looking import Looking
from nearkin.teaching.row_checks import checked_name, checked_rows

# Whatever a group is called; no name is empty.
ANY_NAME = ""


class InGroups(Looking):
    """The groups of a :class:`nearkin.teaching.lesson.Lesson`, which brings these."""

    _book: AnswerBook
    _rows: Any

    def __init__(self) -> None:
        self._grouping = threading.Lock()

    def _change(self, entry: dict[str, Any], *, before: str | None = None) -> dict[str, Any]:
        raise NotImplementedError  # Lesson brings it

    def _voiced(self, entry: dict[str, Any], by: str | None) -> dict[str, Any]:
        raise NotImplementedError  # Lesson brings it

    def answer_groups(
        self,
        first: Sequence[int],
        second: Sequence[int],
        same: bool,
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Say of two groups of rows whether they are the same."""
        raise NotImplementedError  # Lesson brings it

    # Finding

    def find_groups(self) -> dict[str, Any]:
        """Find groups of all rows in the learned metric, by all that is known.

        It takes seconds, and may run in another thread while answers are taken.

        Returns
        -------
        dict
            As :meth:`groups`.
        """
        with self._grouping:
            known, seen = self._newest()
            self._found = found_groups(self._rows, seen.learned, known, self._found, self._seed)
            return self._found.described(self._book.known)

    def groups(self) -> dict[str, Any] | None:
        """The groups that were found last, as plain values; None if there are none yet.

        Returns
        -------
        dict or None
            ``number`` of this grouping; ``version`` of the knowledge that it comes from; ``said``
            and ``reason``, what was chosen and why; ``groups``, each with ``name``, whether it is
            ``named`` by people, ``size`` and ``medoid``, the row that is an example of it;
            ``n_outliers``; ``waiting``, names of groups that are not there now; and ``notes``.
        """
        found = self._found
        return None if found is None else found.described(self._book.known)

    # Changes

    def name_group(
        self,
        group: int,
        name: str | None,
        number: int | None = None,
        before: str | None = ANY_NAME,
    ) -> dict[str, Any]:
        """Give a group a name, in place of the one that it has.

        Names survive relearning: each goes by the rows that were in the group when it was named,
        see :func:`nearkin.tasks.grouping.names.carried`.

        Parameters
        ----------
        group : int
            From 0, as :meth:`groups` lists them.
        name : str or None
            None takes the name away.
        number : int, optional
            Of the grouping that is meant: InputError if there is another one by now.
        before : str or None, optional
            What whoever names it believes it to be called, None if it has no name: a Conflict if
            somebody has given it another one meanwhile. Without, whatever it is.

        Returns
        -------
        dict
            As :meth:`nearkin.teaching.lesson.Lesson.answer`.
        """
        found = self._meant(number)
        rows = self._rows_of(found, group)
        names = found.names(self._book.known)
        if before != ANY_NAME and before != names[group] != name:
            now = "without a name" if names[group] is None else f"called {names[group]!r:.80}"
            raise Conflict(
                f"this group is {now} meanwhile, and nothing was changed: name it again to have "
                f"{'no name' if name is None else repr(name)[:80]} in its place.",
                "nothing",
            )
        entry: dict[str, Any] = {"do": "name", "name": None, "instead": names[group]}
        if name is not None:
            entry |= {"name": checked_name(name), "rows": rows}
            if entry["name"] in names[:group] + names[group + 1 :]:
                raise InputError(
                    f"another group is called {entry['name']!r:.80}: give this one another name, "
                    "or say that the two are one group."
                )
        elif names[group] is None:
            raise InputError(f"group {group + 1} has no name to be taken away.")
        return self._change(entry)

    def say_one_group(
        self,
        rows: Sequence[int],
        number: int | None = None,
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Say of some rows that they belong to one group.

        Must-links tie a few of them to one another, five of each group that they are in now.

        Parameters
        ----------
        rows : sequence of int
        number : int, optional
            Of the grouping, as in :meth:`name_group`.
        before, by : str, optional
            As in :meth:`nearkin.teaching.lesson.Lesson.answer_groups`.

        Returns
        -------
        dict
            As :meth:`nearkin.teaching.lesson.Lesson.answer_groups`.
        """
        found = self._meant(number)
        some = checked_rows(rows, len(self.records))
        chosen = representatives_by_group(self._view, some, found.labels)
        return self.answer_groups(chosen.tolist(), (), True, before, by)

    def split_off(
        self,
        rows: Sequence[int],
        number: int | None = None,
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Say of some rows of a group that they belong together, and not to the rest of it.

        Must-links tie five of them together, and cannot-links part these from the three rows in the
        middle of the rest.
        Rows of other groups than the one that most are in are left out.

        Parameters
        ----------
        rows, number, before, by
            As in :meth:`say_one_group`.

        Returns
        -------
        dict
            As :meth:`nearkin.teaching.lesson.Lesson.answer`, with ``n_pairs`` that were made of it,
            ``group``, the one that was split, and ``n_left_out`` rows.
        """
        found = self._meant(number)
        some = checked_rows(rows, len(self.records))
        inside = found.labels[some]
        if not (inside >= 0).any():
            raise InputError("none of these rows is in a group that could be split.")
        group = int(np.bincount(inside[inside >= 0]).argmax())
        part = some[inside == group]
        rest = np.setdiff1d(found.rows(group), part)
        if not len(rest):
            raise InputError("this is a whole group: select a part of it.")
        first = representatives(self._view, part).tolist()
        second = typical(self._view, rest).tolist()
        n_pairs = sum(map(len, split_of_groups(first, second, len(self.records)).values()))
        entry = {"do": "split", "first": first, "second": second, "origin": "group"}
        told = {"n_pairs": n_pairs, "group": group, "n_left_out": len(some) - len(part)}
        return self._change(self._voiced(entry, by), before=before) | told

    def say_of_groups(
        self,
        first: int,
        second: int,
        same: bool,
        number: int | None = None,
        before: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """Say of two groups that they are one, or that they are to be kept apart.

        It is said of the three rows in the middle of each.

        Parameters
        ----------
        first, second : int
            From 0, as :meth:`groups` lists them.
        same : bool
        number, before, by
            As in :meth:`say_one_group`.

        Returns
        -------
        dict
            As :meth:`nearkin.teaching.lesson.Lesson.answer_groups`.
        """
        found = self._meant(number)
        if first == second:
            raise InputError("these are one group already: give two.")
        one, two = (
            typical(self._view, self._rows_of(found, group)).tolist() for group in (first, second)
        )
        return self.answer_groups(one, two, same, before, by)

    @property
    def _view(self) -> Any:
        return self._seen.learned.view

    def _meant(self, number: int | None) -> FoundGroups:
        found = self._found
        if found is None:
            raise InputError("no groups were found yet: find them first.")
        if number is not None and number != found.number:
            raise InputError(
                "groups were found anew meanwhile, and nothing was changed: look at them, and try "
                "again."
            )
        return found

    def _rows_of(self, found: FoundGroups, group: int) -> Ints:
        if not 0 <= group < len(found.medoids):
            raise InputError(f"there is no group {group}: there are {len(found.medoids)}, from 0.")
        return found.rows(group)
