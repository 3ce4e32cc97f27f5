"""Answers in their order, and their list: each is in the journal before it counts."""

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
    add_idle_step,
    after,
    after_in_place,
    change_of,
    check_belief,
    is_about_rows,
    is_pair,
    sort_groups,
    withdraws_nothing,
)
from nearkin.studio.journal import InMemory, JournalError, KeptAnswers
from nearkin.studio.knowledge import (
    Knowledge,
    build_knowledge,
    list_answers,
    orient_changes,
    read_given_pairs,
)
from nearkin.studio.records import StudioRecords


class AnswerBook:
    """Answers about rows with their journal, and the knowledge that follows from them.

    Parameters
    ----------
    pairs : Pairs or None
        Pairs known before the first answer; their triplets must go to ``add_triplets``.

    Attributes
    ----------
    known : Knowledge
        The knowledge after the last change.
    notes : list of str
        Sentences for the user on the given pairs and on the journal.
    """

    def __init__(self, n_rows: int, pairs: Pairs | None) -> None:
        self._n_rows = n_rows
        self._changing = threading.RLock()
        self._past, self._weights, self.notes = read_given_pairs(pairs)
        self._start = self._past
        self._is_given = bool(self._past.answers)
        self._journal: KeptAnswers | InMemory = InMemory()
        self.known = self._build_known(self._past, 0)
        self._listed: tuple[int, list[dict[str, Any]]] = (0, [])

    def open(self, journal: StrPath, records: StudioRecords) -> None:
        """Keep answers in a journal file from now on; answers that it holds are read."""
        self._journal = KeptAnswers(journal, records)
        self.notes += self._journal.notes

    def continue_from(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Append the entries of another book to the journal, if it is still empty."""
        if not self._journal.entries:
            for entry in entries:
                self._journal.append(dict(entry))

    @property
    def entries(self) -> list[dict[str, Any]]:
        """All entries of the journal, also undone ones."""
        return list(self._journal.entries)

    @property
    def path(self) -> Path | None:
        """The journal's file, or None if answers are only in memory."""
        return self._journal.path

    def change(
        self, entry: dict[str, Any], *, before: str | None = None, version: int | None = None
    ) -> tuple[Knowledge, list[dict[str, Any]]]:
        """Write one entry to the journal and apply it.

        Returns the knowledge after it, and the list of changed pairs, see :meth:`Past.changes`.
        Raises AnswerConflict, and changes nothing, if the pairs' answer is not ``before`` or the
        knowledge has not this ``version``.
        """
        with self._changing:
            entry = sort_groups(_to_plain_values(entry))
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
            known = self._build_known(past, self.known.version + 1)
            self._journal.append(entry | {"at": _timestamp()})
            self._past, self.known = past, known
            changes = orient_changes(past, self._journal.entries)
            return known, [one for one in changes if self._are_here(one["left"], one["right"])]

    @property
    def last_by(self) -> str | None:
        """Name of the person whose change would be undone next, or None if unknown."""
        past = self._past
        if not past.undo:
            return None
        by = self._journal.entries[past.undo[-1].number - 1].get("by")
        return None if by is None else str(by)

    @property
    def undone(self) -> dict[str, Any] | None:
        """The entry that was undone last, or None if there is nothing to redo."""
        redo = self._past.redo
        return dict(self._journal.entries[redo[-1].number - 1]) if redo else None

    def entry_of(self, pair: Pair) -> tuple[int, dict[str, Any] | None]:
        """Number and content of the entry that a pair's answer comes from; 0 and None if none."""
        number = self._past.sources.get(pair, 0)
        return number, dict(self._journal.entries[number - 1]) if number else None

    def list_answers(self) -> list[dict[str, Any]]:
        """List the answers that still count, see :func:`nearkin.studio.knowledge.list_answers`."""
        past, entries = self._past, self._journal.entries
        version, found = self._listed
        if version != past.n_entries or not found:
            here = {rows: said for rows, said in past.answers.items() if self._are_here(*rows)}
            found = list_answers(replace(past, answers=here), entries)
            self._listed = past.n_entries, found
        return found

    def pairs_of_entry(self, number: int) -> list[Pair]:
        """List the pairs whose answer comes from an entry."""
        sources = self._past.sources
        return [
            rows
            for rows, one in sources.items()
            if one == number and is_pair(rows) and self._are_here(*rows)
        ]

    def _are_here(self, *rows: int | str) -> bool:
        """Whether all rows are among the records; names in a key of answers are skipped."""
        return all(isinstance(row, str) or row < self._n_rows for row in rows)

    def _build_known(self, past: Past, version: int) -> Knowledge:
        """Build the knowledge of a state of answers."""
        return build_knowledge(past, version, self._n_rows, self._weights)

    def resume(self) -> None:
        """Apply all entries of the journal, and set ``known`` by them."""
        self._past = self._replay(self._journal.entries)
        self.known = self._build_known(self._past, len(self._journal.entries))
        self.notes += _note_absent_records(self._past, self._n_rows)

    def knowledge_after(self, n: int) -> Knowledge:
        """Return the knowledge after the first n entries."""
        return self._build_known(self._replay(self._journal.entries[:n]), n)

    def _replay(self, entries: Sequence[Mapping[str, Any]]) -> Past:
        """Return the state after some entries, applied to the pairs given at the start."""
        past, go_on = self._start, after
        n_rows = self._n_rows + self._journal.n_away
        for number, entry in enumerate(entries, 1):
            try:
                if self._is_given and withdraws_nothing(past, entry, n_rows):
                    past = add_idle_step(past)  # other pairs are given than when it was said
                    continue
                past = go_on(past, entry, n_rows)
                go_on = after_in_place  # what was known in between is looked at by nobody
            except (ValueError, TypeError, KeyError) as error:
                raise JournalError(
                    f"entry {number} of {self._journal.path or 'what was answered'} does not fit "
                    f"what was known before: {error} Give the pairs that the lesson was begun with."
                ) from error
        return past

    def add_triplets(self, given: Pairs) -> None:
        """Add the given triplets to the journal, except those it was given before.

        So what was later said of those, or withdrawn, still counts.
        """
        before = [entry for entry in self._journal.entries if entry["do"] == "closer"]
        known = {told for entry in before if entry.get("given") for told in _zip_weights(entry)}
        entry = {"do": "closer", "triplets": given.closer, "weights": given.closer_weight}
        new = [told for told in _zip_weights(_to_plain_values(entry)) if told not in known]
        if new:
            rows, weights = zip(*new, strict=True)
            self.change({"do": "closer", "triplets": rows, "weights": weights, "given": True})

    def close(self) -> None:
        """Close the journal, once a change that has begun is in it, so that others may open it."""
        with self._changing:
            self._journal.close()


def _note_absent_records(past: Past, n_rows: int) -> list[str]:
    """Return a sentence on answers about records that are missing from the data, in a list."""
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


def _zip_weights(entry: Mapping[str, Any]) -> list[tuple[tuple[int, ...], float]]:
    """List the triplets of an entry, each with its weight."""
    weights = entry.get("weights") or [1.0] * len(entry["triplets"])
    return list(zip(map(tuple, entry["triplets"]), weights, strict=True))


def _to_plain_values(entry: dict[str, Any]) -> dict[str, Any]:
    """Convert NumPy numbers and arrays of an entry to plain Python, so that JSON can hold them."""

    def plain(value: Any) -> Any:
        """Convert one value."""
        if isinstance(value, (np.generic, np.ndarray)):
            return value.tolist()
        return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value

    return {key: plain(value) for key, value in entry.items()}


def _timestamp() -> str:
    """Return the time now, in UTC, as ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# Rows whose text is kept for the next search.
_MOST_TEXTS = 200_000


class AnswerList:
    """The answers that still count, as a list that can be searched."""

    def __init__(self, records: StudioRecords, book: AnswerBook) -> None:
        self._records, self._book = records, book
        self._texts: dict[int, str] = {}

    def page(
        self, start: int, n: int, text: str = "", said: str | None = None, by: str | None = None
    ) -> dict[str, Any]:
        """Return n answers from the start-th on, see :meth:`nearkin.studio.lesson.Lesson.answers`.

        Only answers are counted that contain all words of ``text``, say ``said`` and are of ``by``.
        """
        version, n_rows = self._book.known.version, len(self._records)
        # Records that are gone have numbers behind those of all rows.
        listed = [
            item for item in self._book.list_answers() if max(item["left"], item["right"]) < n_rows
        ]
        words = text.casefold().split()
        found = [
            item
            for item in listed
            if (said is None or item["said"] == said)
            and (by is None or by in _names_of(item))
            and self._contains(item, words)
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

    def _contains(self, item: dict[str, Any], words: list[str]) -> bool:
        """Whether an answer's records and answerers' names contain all of these words."""
        if not words:
            return True
        parts = [
            self._searchable_text(item["left"]),
            self._searchable_text(item["right"]),
            *_names_of(item),
        ]
        whole = "\n".join(parts).casefold()
        return all(word in whole for word in words)

    def _searchable_text(self, row: int) -> str:
        """Return a record's id and values as one text in lower case."""
        found = self._texts.get(row)
        if found is None:
            record = self._records.record(row)
            values = (str(field["value"]) for field in record["fields"])
            found = "\n".join([str(record["id"]), *values]).casefold()
            if len(self._texts) < _MOST_TEXTS:
                self._texts[row] = found
        return found


def _names_of(item: dict[str, Any]) -> list[str]:
    """Names of the people who gave an answer of the list."""
    names = [voice["by"] for voice in item["voices"]]
    return names if names or item["by"] is None else [item["by"]]
