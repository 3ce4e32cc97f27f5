"""What was answered, in its order: every answer is in the journal before it counts."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from nearkin.errors import counted
from nearkin.pairs.pairs import Pairs
from nearkin.storage.files import StrPath
from nearkin.studio.events import (
    AnswerConflict,
    Pair,
    Past,
    after,
    after_in_place,
    change_of,
    check_belief,
    idle_step,
    is_about_rows,
    is_pair,
    sort_groups,
    takes_back_nothing,
)
from nearkin.studio.journal import InMemory, JournalError, KeptAnswers
from nearkin.studio.knowledge import Knowledge, as_shown, knowledge_of, list_answers, start_of
from nearkin.studio.records import StudioRecords


class AnswerBook:
    """Answers about rows, and what is known by them.

    Parameters
    ----------
    n_rows : int
    pairs : Pairs or None
        What is known before the first answer; its triplets are to be given by ``order``.

    Attributes
    ----------
    known : Knowledge
        After the last change.
    notes : list of str
        What is to be said of the pairs that were given, and of the journal.
    """

    def __init__(self, n_rows: int, pairs: Pairs | None) -> None:
        self._n_rows = n_rows
        self._changing = threading.RLock()
        self._past, self._weights, self.notes = start_of(pairs)
        self._start = self._past
        self._is_given = bool(self._past.answers)
        self._journal: KeptAnswers | InMemory = InMemory()
        self.known = self._known_of(self._past, 0)
        self._listed: tuple[int, list[dict[str, Any]]] = (0, [])

    def open(self, journal: StrPath, records: StudioRecords) -> None:
        """Keep answers in a file from now on, which may have some already about these records."""
        self._journal = KeptAnswers(journal, records)
        self.notes += self._journal.notes

    def go_on_from(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Begin with entries of another book, unless the journal has some of its own."""
        if not self._journal.entries:
            for entry in entries:
                self._journal.append(dict(entry))

    @property
    def entries(self) -> list[dict[str, Any]]:
        """All that was answered and undone, as the journal has it."""
        return list(self._journal.entries)

    @property
    def path(self) -> Path | None:
        """Where answers are kept, None if only in memory."""
        return self._journal.path

    def change(
        self, entry: dict[str, Any], *, before: str | None = None, version: int | None = None
    ) -> tuple[Knowledge, list[dict[str, Any]]]:
        """Write one entry, and give what is known after it and what it changed.

        AnswerConflict if something else than ``before`` is said of the rows, or if the change is
        meant for knowledge of another ``version``. Nothing is changed then.
        """
        with self._changing:
            entry = sort_groups(_plain(entry))
            past = after(self._past, entry, self._n_rows)
            if before is not None:
                change = change_of(self._past.answers, entry, self._n_rows)
                check_belief(self._past.answers, change, before)
            if version is not None and version != self.known.version:
                raise AnswerConflict(
                    "something was answered meanwhile, and nothing is undone: look at it, and try "
                    "again.",
                    "nothing",
                )
            known = self._known_of(past, self.known.version + 1)
            self._journal.append(entry | {"at": _now()})
            self._past, self.known = past, known
            changes = as_shown(past, self._journal.entries)
            return known, [one for one in changes if self._are_here(one["left"], one["right"])]

    @property
    def last_by(self) -> str | None:
        """Who made the last change that can be undone, if that is known."""
        past = self._past
        if not past.undo:
            return None
        by = self._journal.entries[past.undo[-1].number - 1].get("by")
        return None if by is None else str(by)

    @property
    def undone(self) -> dict[str, Any] | None:
        """The entry that was taken back last, if it can be done again."""
        redo = self._past.redo
        return dict(self._journal.entries[redo[-1].number - 1]) if redo else None

    def entry_of(self, pair: Pair) -> tuple[int, dict[str, Any] | None]:
        """Number of the entry that says something of a pair, 0 if none does, and the entry."""
        number = self._past.sources.get(pair, 0)
        return number, dict(self._journal.entries[number - 1]) if number else None

    def listed(self) -> list[dict[str, Any]]:
        """What was answered and still counts, see :func:`nearkin.studio.knowledge.list_answers`."""
        past, entries = self._past, self._journal.entries
        version, found = self._listed
        if version != past.n_entries or not found:
            here = {rows: said for rows, said in past.answers.items() if self._are_here(*rows)}
            found = list_answers(replace(past, answers=here), entries)
            self._listed = past.n_entries, found
        return found

    def pairs_of_entry(self, number: int) -> list[Pair]:
        """The pairs of which an entry still says what counts."""
        sources = self._past.sources
        return [
            rows
            for rows, one in sources.items()
            if one == number and is_pair(rows) and self._are_here(*rows)
        ]

    def _are_here(self, *rows: int | str) -> bool:
        """Whether all rows of what is spoken of are among the records."""
        return all(isinstance(row, str) or row < self._n_rows for row in rows)

    def _known_of(self, past: Past, version: int) -> Knowledge:
        return knowledge_of(past, version, self._n_rows, self._weights)

    def resume(self) -> None:
        """Go through the journal."""
        self._past = self._after(self._journal.entries)
        self.known = self._known_of(self._past, len(self._journal.entries))
        self.notes += _said_of_others(self._past, self._n_rows)

    def after_entries(self, n: int) -> Knowledge:
        """What was known after the first so many entries."""
        return self._known_of(self._after(self._journal.entries[:n]), n)

    def _after(self, entries: Sequence[Mapping[str, Any]]) -> Past:
        """What was known from the start, and by some entries."""
        past, go_on = self._start, after
        n_rows = self._n_rows + self._journal.n_away
        for number, entry in enumerate(entries, 1):
            try:
                if self._is_given and takes_back_nothing(past, entry, n_rows):
                    past = idle_step(past)  # other pairs are given than when it was said
                    continue
                past = go_on(past, entry, n_rows)
                go_on = after_in_place  # what was known in between is looked at by nobody
            except (ValueError, TypeError, KeyError) as error:
                raise JournalError(
                    f"entry {number} of {self._journal.path or 'what was answered'} does not fit "
                    f"what was known before: {error} Give the pairs that the lesson was begun with."
                ) from error
        return past

    def order(self, given: Pairs) -> None:
        """Take triplets that are known from the start, unless they were given before.

        So what was said of them later, or taken back, still counts.
        """
        before = [entry for entry in self._journal.entries if entry["do"] == "closer"]
        known = {told for entry in before if entry.get("given") for told in _weighted(entry)}
        entry = {"do": "closer", "triplets": given.closer, "weights": given.closer_weight}
        new = [told for told in _weighted(_plain(entry)) if told not in known]
        if new:
            rows, weights = zip(*new, strict=True)
            self.change({"do": "closer", "triplets": rows, "weights": weights, "given": True})

    def close(self) -> None:
        """Let others have the journal, once a change that has begun is in it."""
        with self._changing:
            self._journal.close()


def _said_of_others(past: Past, n_rows: int) -> list[str]:
    """A word on answers about records that are not here."""
    about = [{*rows} for rows in past.answers if is_about_rows(rows)]
    others = [{row for row in rows if row >= n_rows} for rows in about]
    n_answers, away = sum(map(bool, others)), set().union(*others)
    if not away:
        return []
    are, count = ("is", "counts") if n_answers == 1 else ("are", "count")
    they_are, them = ("is", "it") if len(away) == 1 else ("are", "them")
    return [
        f"{counted(n_answers, 'answer')} {are} about {counted(len(away), 'record')} that "
        f"{they_are} not here now: kept, and {count} again with {them}."
    ]


def _weighted(entry: Mapping[str, Any]) -> list[tuple[tuple[int, ...], float]]:
    """Triplets of an entry, with their weights."""
    weights = entry.get("weights") or [1.0] * len(entry["triplets"])
    return list(zip(map(tuple, entry["triplets"]), weights, strict=True))


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """Numbers of NumPy as Python's own, so that they can be written."""

    def plain(value: Any) -> Any:
        if isinstance(value, (np.generic, np.ndarray)):
            return value.tolist()
        return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value

    return {key: plain(value) for key, value in entry.items()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# Rows whose text is kept for the next search.
_MOST_TEXTS = 200_000


class AnswerList:
    """What was answered and still counts, as a list that can be searched.

    Parameters
    ----------
    records : StudioRecords
    book : AnswerBook
    """

    def __init__(self, records: StudioRecords, book: AnswerBook) -> None:
        self._records, self._book = records, book
        self._texts: dict[int, str] = {}

    def page(
        self, start: int, n: int, text: str = "", said: str | None = None, by: str | None = None
    ) -> dict[str, Any]:
        """Some of the answers, see :meth:`nearkin.studio.lesson.Lesson.answers`."""
        version, n_rows = self._book.known.version, len(self._records)
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
        ids = self._records.ids
        shown = [
            item | {"ids": [str(ids[item[end]])[:200] for end in ("left", "right")]}
            for item in found[start : start + n]
        ]
        return {
            "version": version,
            "n_answers": len(listed),
            "n_found": len(found),
            "names": sorted({name for item in listed for name in _names_of(item)}),
            "answers": shown,
        }

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
            record = self._records.record(row)
            values = (str(field["value"]) for field in record["fields"])
            found = "\n".join([str(record["id"]), *values]).casefold()
            if len(self._texts) < _MOST_TEXTS:
                self._texts[row] = found
        return found


def _names_of(item: dict[str, Any]) -> list[str]:
    """Who said something of it."""
    names = [voice["by"] for voice in item["voices"]]
    return names if names or item["by"] is None else [item["by"]]
