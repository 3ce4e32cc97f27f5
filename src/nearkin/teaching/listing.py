"""The answers of a lesson as a list that can be searched, and from which they can be taken back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearkin.errors import InputError
from nearkin.teaching.history import DISPUTED
from nearkin.teaching.looking import Looking

# Rows whose text is kept for the next search.
_MOST_TEXTS = 200_000


class Listing(Looking):
    """The list of answers of a :class:`nearkin.teaching.lesson.Lesson`."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def _change(
        self, entry: dict[str, Any], *, before: str | None = None, version: int | None = None
    ) -> dict[str, Any]:
        raise NotImplementedError  # Lesson brings it

    def answers(
        self,
        start: int = 0,
        n: int = 50,
        text: str = "",
        said: str | None = None,
        by: str | None = None,
    ) -> dict[str, Any]:
        """What was answered and still counts, the newest first.

        Parameters
        ----------
        start, n : int
            Which of those that are found.
        text : str
            Words that ids or fields of either record have in them, or names of who answered, in
            capitals or not; all of them must be there.
        said : {"same", "different", "unsure", "disputed"}, optional
        by : str, optional
            Who answered.

        Returns
        -------
        dict
            ``version``; ``n_answers`` in the list, and ``n_found`` of these; ``names`` of all who
            answered; and ``answers``, as :func:`nearkin.teaching.answered.answered` gives them,
            with ``ids`` of both records, and ``which``, the question beside groups that people
            disagree about, or None.
        """
        version, n_rows = self._book.known.version, len(self.records)
        # Records that are gone have numbers behind those of all rows.
        listed = [item for item in self._book.listed() if max(item["left"], item["right"]) < n_rows]
        words = text.casefold().split()
        found = [
            item
            for item in listed
            if (said is None or item["said"] == said)
            and (by is None or by in _names_of(item))
            and self._has(item, words)
        ]
        ids = self.records.ids
        shown = [
            item
            | {"ids": [str(ids[item[end]])[:200] for end in ("left", "right")]}
            | {"which": self._asked_in(item)}
            for item in found[start : start + n]
        ]
        names = sorted({name for item in listed for name in _names_of(item)})
        return {
            "version": version,
            "n_answers": len(listed),
            "n_found": len(found),
            "names": names,
            "answers": shown,
        }

    def _asked_in(self, item: dict[str, Any]) -> dict[str, Any] | None:
        disputed = item["said"] == DISPUTED and item["number"]
        return self._which_of(self._book.entries[item["number"] - 1]) if disputed else None

    def _which_of(self, entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
        raise NotImplementedError  # Asking brings it

    def _has(self, item: dict[str, Any], words: list[str]) -> bool:
        if not words:
            return True
        parts = [self._text(item["left"]), self._text(item["right"]), *_names_of(item)]
        whole = "\n".join(parts).casefold()
        return all(word in whole for word in words)

    def _text(self, row: int) -> str:
        """What can be searched of a record."""
        found = self._texts.get(row)
        if found is None:
            record = self.records.record(row)
            values = (str(field["value"]) for field in record["fields"])
            found = "\n".join([str(record["id"]), *values]).casefold()
            if len(self._texts) < _MOST_TEXTS:
                self._texts[row] = found
        return found

    def withdraw_entry(self, number: int) -> dict[str, Any]:
        """Take back all that an entry said of pairs and that still counts.

        Parameters
        ----------
        number : int
            As :meth:`answers` lists them.

        Returns
        -------
        dict
            As :meth:`nearkin.teaching.lesson.Lesson.answer`.
        """
        pairs = self._book.pairs_of_entry(number)
        if not pairs:
            raise InputError("what was said there does not count any more, and nothing is changed.")
        return self._change({"do": "withdraw", "pairs": [list(pair) for pair in pairs]})


def _names_of(item: dict[str, Any]) -> list[str]:
    """Who said something of it."""
    names = [voice["by"] for voice in item["voices"]]
    return names if names or item["by"] is None else [item["by"]]
