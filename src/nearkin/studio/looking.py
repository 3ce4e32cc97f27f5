"""What the page shows of a lesson's data, and files of it: nothing here changes answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from nearkin._types import Ints
from nearkin.errors import InputError
from nearkin.studio import reports
from nearkin.studio.groups import FoundGroups
from nearkin.studio.knowledge import Knowledge, group_name
from nearkin.studio.metric import Seen, TaughtMetric, distances_from
from nearkin.studio.records import MOST_NAMES, StudioRecords, format_for_file

_CLUSTERS = 10


EXPORTS = ("pairs", "triplets", "embedding", "clusters", "model", "groups", "grouping")


class Looks:
    """Descriptions, colours, neighbours and files of a lesson's records.

    Parameters
    ----------
    notes : sequence of str
        Further sentences for the user on the data.
    seed : int
        Seed of the clustering that colours rows.
    """

    def __init__(self, records: StudioRecords, notes: Sequence[str], seed: int) -> None:
        self._records, self._start_notes = records, notes
        self._seed = seed
        self._found_clusters: tuple[tuple[int, int], Ints] | None = None

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
        learned = {"known": "known groups", "groups": "groups found", "clusters": "clusters"}
        found = [(key, name, "categories") for key, name in learned.items()]
        for j, (name, values) in enumerate(self._records.columns.items()):
            kind = reports.colouring_kind(values)
            if kind is not None:
                found.append((f"column-{j}", name, kind))
        features = [] if self._records.of_words else self._records.features
        for j, name in enumerate(features[: reports.MOST_FEATURES]):
            found.append((f"feature-{j}", name, "numbers"))
        return {key: {"key": key, "name": name, "kind": kind} for key, name, kind in found}

    def colouring(
        self, key: str, known: Knowledge, learned: TaughtMetric, n_clusters: int | None
    ) -> dict[str, Any]:
        """Colour values of all rows, see :meth:`nearkin.studio.lesson.Lesson.colouring`.

        For found groups only key, name and kind are returned: their colours come with the groups.
        """
        if key not in self._colourings:
            raise InputError(f"there is no colouring {key!r:.60}.")
        about = self._colourings[key]
        if key == "groups":
            return dict(about)
        if key == "known":
            found = known.groups.colours()
        elif key == "clusters":
            found = reports.colours_of_clusters(self.clusters(learned, n_clusters))
        elif key.startswith("column-"):
            values = list(self._records.columns.values())[int(key.removeprefix("column-"))]
            found = reports.colours_of_column(values, about["kind"])
        else:
            column = self._records.X[:, int(key.removeprefix("feature-"))]
            found = reports.colours_of_numbers(column)
        return {**about, **found}

    def clusters(self, learned: TaughtMetric, n_clusters: int | None) -> Ints:
        """Cluster number of each row; the result is cached for one metric and one count."""
        n = len(self._records)
        count = min(_CLUSTERS, n) if n_clusters is None else n_clusters
        found = self._found_clusters
        if found is None or found[0] != (learned.version, count):
            clusters = reports.clusters_of(learned.view, n, count, self._seed)
            found = self._found_clusters = ((learned.version, count), clusters)
        return found[1]

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

    def rows_file(
        self, rows: Sequence[int], found: FoundGroups | None, known: Knowledge
    ) -> tuple[str, bytes]:
        """CSV file of some rows, its name and bytes, with their group if groups were found."""
        records, fields = self._records, self._records.fields
        names = list(fields.all_names)
        group = "group" if "group" not in names else "group (found)"
        told = [] if found is None else [group_name(n, k) for k, n in enumerate(found.names(known))]
        lines = []
        for row in map(records.check_row, rows):
            first = [records.ids[row], int(records.numbers[row])]
            cells = [format_for_file(fields.cell(name, row)) for name in names]
            if found is not None:
                label = int(found.labels[row])
                cells.append("" if label < 0 else told[label])
            lines.append([*(first[1:] if records.id_name == "row" else first), *cells])
        shown = [*names, *([group] if found is not None else [])]
        return reports.rows_file(lines, shown, records.id_name, "row")

    def groups_file(self, groups: Any) -> tuple[str, bytes]:
        """Name and bytes of a file of groups of records that are the same thing."""
        return reports.groups_file(groups, *self._ids)

    def grouping_file(self, found: FoundGroups, known: Knowledge) -> tuple[str, bytes]:
        """Name and bytes of a file with each row's group in a clustering, by name."""
        named = [group_name(name, k) for k, name in enumerate(found.names(known))]
        return reports.grouping_file(found.labels, named, *self._ids)

    def export(
        self, what: str, known: Knowledge, seen: Seen, n_clusters: int | None
    ) -> tuple[str, bytes]:
        """Name and bytes of a file of the pairs, triplets, clusters or the embedding."""
        ids, id_name = self._ids
        if what == "pairs":
            return reports.pairs_file(known.pairs, known.unsure, ids, known.voices)
        if what == "triplets":
            return reports.triplets_file(known.triplets, ids)
        if what == "clusters":
            return reports.clusters_file(self.clusters(seen.learned, n_clusters), ids, id_name)
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
