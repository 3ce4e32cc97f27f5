"""Answers in a journal: on the disk by the names of records, here by the rows that these have now.

A line of the second format has an entry in which records have names, see
:class:`nearkin.teaching.record_keys.RecordKeys`, and beside it ``cells``: for each that is called
by its id, and for the first time, what its cells were. ``keyed_by`` in the first line says which
column has the ids and which columns' cells count.

In the first format entries had row numbers, and the first line a fingerprint of all rows in their
order. Such a journal opens if that is still right; the line of its next entry has ``keyed_by``, and
``rows``: the names of all rows that were spoken of before.

Records that are not here any more stand for themselves: they have numbers behind those of all rows,
so that what was answered of them can be undone and done again, and counts once they are back.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nearkin.errors import InputError, InputTypeError, counted, few
from nearkin.storage.files import StrPath
from nearkin.teaching.entry_rows import as_once_linked, check_parts, renamed, rows_in
from nearkin.teaching.identity import Identity
from nearkin.teaching.journal import Journal, JournalError, Line, OtherData
from nearkin.teaching.record_keys import RecordKeys
from nearkin.teaching.records import MOST_NAMES, Records

# Columns that a message names.
_MOST_NAMED = 8


def suits(path: StrPath, records: Records) -> bool:
    """Whether a journal, which may be open elsewhere, has answers that can be about these records.

    It is left as it is: a copy is looked into.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            KeptAnswers(shutil.copy(path, folder), records).close()
        except (JournalError, OSError):
            return False
    return True


class KeptAnswers:
    """Entries about rows, in a journal that speaks of records.

    Parameters
    ----------
    path : path
        Of the journal, made if there is none.
    records : Records

    Attributes
    ----------
    entries : list of dict
        In row numbers; from ``len(records)`` on for records that are not here.
    notes : list of str
        What is to be said of the journal.

    Raises
    ------
    JournalInUse, JournalError
        As :class:`nearkin.teaching.journal.Journal`, and if it is about other data.
    """

    def __init__(self, path: StrPath, records: Records) -> None:
        self._path, self._records = Path(path), records
        self.entries: list[dict[str, Any]] = []
        self.notes: list[str] = []
        # Records that are not here, the cells that others had, and what the next line says of both.
        self._away: dict[str, int] = {}
        self._cells: dict[str, str] = {}
        self._upgrade: Line = {}
        self._by = _keyed_by(records.identity)
        self._keys = RecordKeys(records.identity, self._by["id"], self._by["columns"])
        about = {"source": records.source, "rows": len(records)}
        about |= {"features": records.learned_from[:MOST_NAMES]}
        self._journal = Journal(os.fspath(path), about, {"keyed_by": self._by}, self._read)

    @property
    def path(self) -> Path:
        """Where the journal is."""
        return self._journal.path

    @property
    def n_away(self) -> int:
        """How many records are spoken of that are not here."""
        return len(self._away)

    def append(self, entry: dict[str, Any]) -> None:
        """Add an entry, see :meth:`nearkin.teaching.journal.Journal.append`."""
        check_parts(entry)
        cells = self._new_cells(rows_in(entry))
        if self._upgrade:
            cells |= self._new_cells(map(int, self._upgrade["rows"]))
        beside = {**self._upgrade, **({"cells": cells} if cells else {})}
        self._journal.append(renamed(entry, self._keys.name), **beside)
        self._upgrade = {}
        self._cells |= cells
        self.entries.append(entry)

    def close(self) -> None:
        """Let others open the journal."""
        self._journal.close()

    def _new_cells(self, rows: Iterable[int]) -> dict[str, str]:
        """The cells of records that are called by their ids, as far as the journal lacks them."""
        found = {}
        for row in rows:
            name, cells = self._keys.name(row), self._keys.cells(row)
            if cells is not None and name != cells and name not in self._cells:
                found[name] = cells
        return found

    # Reading

    def _read(self, header: Line, lines: list[Line]) -> None:
        """Take what a journal says, or refuse it."""
        try:
            entries = self._by_name(header, lines)
            if self._upgrade:
                self.entries = entries
                return
            self.entries = [renamed(entry, self._row) for entry in entries]
            self._compare(header, {name for entry in entries for name in rows_in(entry)})
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            if isinstance(error, JournalError):
                raise
            raise JournalError(
                f"{self._path} says something that no journal of nearkin says ({error!r:.100}); "
                "the file is left as it is. Restore it from a copy."
            ) from error

    def _by_name(self, header: Line, lines: list[Line]) -> list[dict[str, Any]]:
        """Entries by the names of records; by row numbers if they are still to be named."""
        named, start = header, 0
        before: list[dict[str, Any]] = []
        if header["version"] == 1:
            start = next((k for k, line in enumerate(lines) if "keyed_by" in line), len(lines))
            before = [as_once_linked(line["entry"]) for line in lines[:start]]
            if start == len(lines):
                self._check_fingerprint(header)
                rows = sorted({int(row) for entry in before for row in rows_in(entry)})
                names = {str(row): self._keys.name(row) for row in rows}
                self._upgrade = {"keyed_by": self._by, "rows": names}
                return before
            named = lines[start]
            before = [renamed(entry, lambda row: named["rows"][str(row)]) for entry in before]
        self._go_by(named["keyed_by"], header)
        for line in lines[start:]:
            self._cells |= line.get("cells", {})
        return [*before, *(line["entry"] for line in lines[start:])]

    def _check_fingerprint(self, header: Line) -> None:
        features = header["about"].get("features")
        if not _has_fingerprint(self._records, header.get("fingerprint"), features):
            columns = ", ".join(map(str, features[:20])) if isinstance(features, list) else ""
            learned = f", learned from {columns}" if columns else ""
            raise OtherData(
                f"{self._path} has answers about other data{_source(header)}: rows, columns or ids "
                f"differ. Give the data it was made with{learned}, or another name for a new "
                "journal."
            )

    def _go_by(self, keyed_by: Mapping[str, Any], header: Line) -> None:
        """Find records by what the journal goes by."""
        self._by = {"id": keyed_by["id"], "columns": [str(name) for name in keyed_by["columns"]]}
        identity, columns = self._records.identity, self._by["columns"]
        self._keys = RecordKeys(identity, self._by["id"], columns)
        others = set(columns) - {self._by["id"]}
        if self._keys.by_cells or (self._keys.by_id and (others & {*identity.kinds} or not others)):
            return
        absent = [name for name in columns if name not in identity.kinds]
        shown = few(map(repr, absent), _MOST_NAMED)
        self._refuse(header, f"it tells records apart by columns that are not here, {shown}")

    def _row(self, name: Any) -> int:
        """The row of a record, or a number behind all rows if it is not here."""
        if not isinstance(name, str):
            raise InputTypeError(f"{name!r:.60} is the name of no record.")
        row = self._keys.row(name, self._cells.get(name))
        if row is None:
            row = self._away.setdefault(name, len(self._records) + len(self._away))
        return row

    def _compare(self, header: Line, names: set[str]) -> None:
        """Refuse a journal that has no record in common with these, and say what is strange."""
        if names and len(names) == len(self._away):
            self._refuse(
                header, f"none of the {counted(len(names), 'record')} that it speaks of is here"
            )
        known = {name: self._keys.row(name) for name in names & self._cells.keys()}
        found = {name: row for name, row in known.items() if row is not None}
        if (
            self._keys.by_cells
            and found
            and all(self._keys.cells(row) != self._cells[name] for name, row in found.items())
        ):
            self.notes.append(
                f"All {counted(len(found), 'record')} that {self._path.name} has answers about, by "
                f"their ids in {self._by['id']!r}, have other cells than they had. If these are "
                "other data, name another journal."
            )

    def _refuse(self, header: Line, why: str) -> None:
        about = header["about"]
        then, now = about.get("rows"), len(self._records)
        rows = f" It was made with {then} rows, and here are {now}." if then != now else ""
        raise OtherData(
            f"{self._path} has answers about other data{_source(header)}: {why}.{rows} Give the "
            "data it was made with, or another name for a new journal."
        )


def _has_fingerprint(records: Records, fingerprint: Any, features: Any) -> bool:
    """Whether records have a fingerprint, by the columns learned from now, or by those of then."""
    if records.fingerprint == fingerprint:
        return True
    if records.choice is None or not isinstance(features, list):
        return False
    with suppress(InputError):
        return bool(records.choice.records(features).fingerprint == fingerprint)
    return False


def _keyed_by(identity: Identity) -> Line:
    return {"id": identity.usual_ids(), "columns": identity.columns}


def _source(header: Line) -> str:
    source = header["about"].get("source")
    return f" ({source})" if source else ""
