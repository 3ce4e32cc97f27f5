"""Answers in their order, and their list: each is in the journal before it counts."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nearkin.errors import counted
from nearkin.pairs.pairs import Pairs
from nearkin.storage.files import StrPath
from nearkin.studio.events import (
    AnswerConflict,
    Change,
    Event,
    NothingSaid,
    Order,
    Pair,
    State,
    add_step,
    after,
    after_in_place,
    change_of,
    check_belief,
    read_event,
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

    ``pairs`` are pairs and triplets known before the first answer. ``known`` is the knowledge after
    the last change, and ``notes`` are sentences for the user on given pairs and journal.
    """

    def __init__(self, n_rows: int, pairs: Pairs | None) -> None:
        self._n_rows = n_rows
        self._changing = threading.RLock()
        given = Pairs() if pairs is None else pairs
        self._start, self._weights, self.notes = read_given_pairs(given)
        self._triplets = Pairs(
            closer=given.closer, closer_weight=given.closer_weight, n_rows=n_rows
        )
        self._state = self._start
        self._journal: KeptAnswers | InMemory = InMemory()
        self.known = self._build_known(self._state, 0)
        self._listed: tuple[int, list[dict[str, Any]]] = (0, [])

    def open(
        self, journal: StrPath | None, records: StudioRecords, events: Sequence[Event]
    ) -> None:
        """Keep answers in a journal file, if any, from now on; what it holds is read.

        If that is nothing, the events of another book are appended.
        """
        if journal is not None:
            self._journal = KeptAnswers(journal, records)
            self.notes += self._journal.notes
        if not self._journal.events:
            for event in events:
                self._journal.append(event)

    @property
    def events(self) -> list[Event]:
        """All events of the journal, also undone ones."""
        return list(self._journal.events)

    @property
    def path(self) -> Path | None:
        """The journal's file, or None if answers are only in memory."""
        return self._journal.path

    def change(
        self, event: Event, *, before: str | None = None, version: int | None = None
    ) -> tuple[Knowledge, list[dict[str, Any]]]:
        """Write one event to the journal and apply it.

        Returns the knowledge after it, and the changed pairs, see :meth:`State.changes`. Raises
        AnswerConflict, and changes nothing, if the pairs' answer is not ``before`` or the knowledge
        has not this ``version``.
        """
        with self._changing:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            event = read_event(event.entry() | {"at": now})  # with plain values alone
            state = after(self._state, event, self._n_rows)
            if before is not None:
                check_belief(self._state, change_of(self._state, event, self._n_rows), before)
            if version is not None and version != self.known.version:
                raise AnswerConflict(
                    "something was answered meanwhile, and nothing is undone: look at it, and try "
                    "again.",
                    "nothing",
                )
            known = self._build_known(state, self.known.version + 1)
            self._journal.append(event)
            self._state, self.known = state, known
            changes = orient_changes(state, self._journal.events)
            return known, [one for one in changes if max(one["left"], one["right"]) < self._n_rows]

    @property
    def last_by(self) -> str | None:
        """Name of the person whose change would be undone next, or None if unknown."""
        undo = self._state.undo
        return self._journal.events[undo[-1].number - 1].by if undo else None

    @property
    def undone(self) -> Event | None:
        """The event that was undone last, or None if there is nothing to redo."""
        redo = self._state.redo
        return self._journal.events[redo[-1].number - 1] if redo else None

    def event_of(self, pair: Pair) -> tuple[int, Event | None]:
        """Number and content of the event that a pair's answer comes from; 0 and None if none."""
        told = self._state.pairs.get(pair)
        number = 0 if told is None else told.entry
        return number, self._journal.events[number - 1] if number else None

    def list_answers(self) -> list[dict[str, Any]]:
        """List the answers that still count, see :func:`nearkin.studio.knowledge.list_answers`."""
        known = self.known
        if self._listed[0] != known.version or not self._listed[1]:
            self._listed = known.version, list_answers(known.events, self._journal.events)
        return self._listed[1]

    def pairs_of_event(self, number: int) -> list[Pair]:
        """List the pairs whose answer comes from an event, by its number from 1."""
        told = self.known.events.pairs.items()
        return [pair for pair, one in told if one.entry == number > 0]

    def _build_known(self, state: State, version: int) -> Knowledge:
        """Build the knowledge of a state of answers."""
        return build_knowledge(state, version, self._n_rows, self._weights, self._triplets)

    def resume(self) -> None:
        """Apply all events of the journal, and set ``known`` by them."""
        self._state = self._replay(self._journal.events)
        self.known = self._build_known(self._state, len(self._journal.events))
        self.notes += _note_absent_records(self._state, self._n_rows)
        if any(isinstance(one, Order) for one in self.events) and not len(self._triplets):
            self.notes.append("Triplets were given when the journal was begun: give them again.")

    def _replay(self, events: Sequence[Event]) -> State:
        """Return the state after some events, applied to the pairs given at the start."""
        state, go_on = self._start, after
        n_rows = self._n_rows + self._journal.n_away
        for number, event in enumerate(events, 1):
            try:
                state = go_on(state, event, n_rows)
                go_on = after_in_place  # what was known in between is looked at by nobody
            except (ValueError, TypeError) as error:
                if isinstance(error, NothingSaid) and self._start.pairs:
                    state = add_step(state, Change())  # other pairs are given than when it was said
                    continue
                raise JournalError(
                    f"entry {number} of {self._journal.path or 'what was answered'} does not fit "
                    f"what was known before: {error} Give the pairs that the lesson was begun with."
                ) from error
        return state

    def close(self) -> None:
        """Close the journal, once a change that has begun is in it, so that others may open it."""
        with self._changing:
            self._journal.close()


def _note_absent_records(state: State, n_rows: int) -> list[str]:
    """Return a sentence on answers about records that are missing from the data, in a list."""
    others = [{row for row in pair if row >= n_rows} for pair in state.pairs]
    n_answers, away = sum(map(bool, others)), set[int]().union(*others)
    if not away:
        return []
    are, count = ("is", "counts") if n_answers == 1 else ("are", "count")
    they_are, them = ("is", "it") if len(away) == 1 else ("are", "them")
    return [
        f"{counted(n_answers, 'answer')} {are} about {counted(len(away), 'record')} that "
        f"{they_are} not here now: kept, and {count} again with {them}."
    ]


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
        version, listed = self._book.known.version, self._book.list_answers()
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
