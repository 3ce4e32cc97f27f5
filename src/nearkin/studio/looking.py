"""What the page shows of a lesson's data, and files of it: nothing here changes answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from nearkin.errors import InputError
from nearkin.studio import reports
from nearkin.studio.groups import LikelyGroups
from nearkin.studio.knowledge import Knowledge
from nearkin.studio.metric import Seen, TaughtMetric, distances_from
from nearkin.studio.records import MOST_NAMES, StudioRecords, format_for_file

EXPORTS = ("pairs", "embedding", "model", "groups", "duplicates")


class Looks:
    """Descriptions, colours, neighbours and files of a lesson's records.

    Parameters
    ----------
    notes : sequence of str
        Further sentences for the user on the data.
    """

    def __init__(self, records: StudioRecords, notes: Sequence[str]) -> None:
        self._records, self._start_notes = records, notes

    def about(self, journal: str | None) -> dict[str, Any]:
        """Describe the data as plain values; ``journal`` is the name of the journal's file."""
        records = self._records
        shown = records.learned_from
        return {
            "source": records.source,
            "n_rows": len(records),
            "n_total": records.n_total,
            "n_features": len(shown),
            "features": shown[:MOST_NAMES],
            "of_words": records.of_words,
            "has_columns": records.choice is not None,
            "has_images": records.pictures is not None,
            "id_name": records.id_name,
            "colourings": [dict(one) for one in self._colourings.values()],
            "journal": journal,
            "notes": list(self.notes),
        }

    @cached_property
    def notes(self) -> list[str]:
        """Sentences for the user on the data."""
        records = self._records
        notes = list(records.notes)
        if records.n_total > len(records):
            notes.append(
                f"{_format_thousands(len(records))} of {_format_thousands(records.n_total)} rows "
                "are shown, drawn at random; the metric is learned from these."
            )
        if not records.ids_differ:
            notes.append("Some rows have the same id: exported files go by row numbers instead.")
        return [*notes, *self._start_notes]

    @cached_property
    def _colourings(self) -> dict[str, dict[str, str]]:
        """Ways to colour rows by their keys: each has a ``key``, a ``name`` and a ``kind``."""
        found = []
        for j, (name, values) in enumerate(self._records.columns.items()):
            kind = reports.colouring_kind(values)
            if kind is not None:
                found.append((f"column-{j}", name, kind))
        if self._records.named and not self._records.of_words:
            for j, name in enumerate(self._records.features[: reports.MOST_FEATURES]):
                found.append((f"feature-{j}", name, "numbers"))
        return {key: {"key": key, "name": name, "kind": kind} for key, name, kind in found}

    def colouring(self, key: str) -> dict[str, Any]:
        """Colour values of all rows, see :meth:`nearkin.studio.lesson.Lesson.colouring`."""
        if key not in self._colourings:
            raise InputError(f"there is no colouring {key!r:.60}.")
        about = self._colourings[key]
        if key.startswith("feature-"):
            column = self._records.X[:, int(key.removeprefix("feature-"))]
            return {**about, **reports.colours_of_numbers(column)}
        values = list(self._records.columns.values())[int(key.removeprefix("column-"))]
        return {**about, **reports.colours_of_column(values, about["kind"])}

    def neighbors(
        self, row: int, n: int, known: Knowledge, learned: TaughtMetric
    ) -> list[dict[str, Any]]:
        """List the n rows nearest to a row, see :meth:`nearkin.studio.lesson.Lesson.neighbors`."""
        row = self._records.check_row(row)
        n = max(0, min(int(n), len(self._records) - 1))
        distances = distances_from(learned.view, row, len(self._records))
        distances[row] = np.inf
        nearest = np.argpartition(distances, max(n - 1, 0))[:n]
        nearest = nearest[np.argsort(distances[nearest], kind="stable")]
        said = known.find_relations(row, nearest)
        return [
            {
                "row": other,
                "id": str(self._records.ids[other])[:200],
                "distance": float(distances[other]),
                "same": same,
            }
            for other, same in zip(nearest.tolist(), said, strict=True)
        ]

    def rows_file(self, rows: Sequence[int], groups: Sequence[str]) -> tuple[str, bytes]:
        """CSV file of some rows, its name and bytes, with the name of each row's group, if any."""
        records, fields = self._records, self._records.fields
        names = list(fields.all_names)
        group = ["group" if "group" not in names else "group (likely)"] if any(groups) else []
        lines = []
        for row in map(records.check_row, rows):
            first = [records.ids[row], int(records.numbers[row])]
            cells = [format_for_file(fields.cell(name, row)) for name in names]
            first = first[1:] if records.id_name == "row" else first
            lines.append([*first, *cells, *([groups[row]] if group else [])])
        return reports.rows_file(lines, [*names, *group], records.id_name, "row")

    def duplicates_file(self, groups: Any) -> tuple[str, bytes]:
        """Name and bytes of a file of groups of records that are the same thing."""
        return reports.duplicates_file(groups, *self._ids)

    def groups_file(self, likely: LikelyGroups, known: Knowledge) -> tuple[str, bytes]:
        """Name and bytes of a file with each row's likely group, by name."""
        return reports.groups_file(likely.labels, likely.names(known), likely.sure, *self._ids)

    def export(self, what: str, known: Knowledge, seen: Seen) -> tuple[str, bytes]:
        """Name and bytes of a file of the pairs, or of the embedding."""
        ids, id_name = self._ids
        if what == "pairs":
            return reports.pairs_file(known.pairs, known.unsure, ids, known.voices)
        return reports.embedding_file(seen.learned.view.embedding(), seen.coordinates, ids, id_name)

    @property
    def _ids(self) -> tuple[Any, str]:
        """Ids of the rows in files, or row numbers if ids repeat, and the column's name."""
        records = self._records
        if records.ids_differ:
            return records.ids, records.id_name
        return records.numbers.tolist(), "row"


def _format_thousands(number: int) -> str:
    """Format a number with blanks between thousands."""
    return f"{number:,}".replace(",", " ")
