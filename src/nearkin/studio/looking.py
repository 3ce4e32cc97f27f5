"""What is seen of a lesson, and files of it: nothing here changes what is known."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Ints
from nearkin.errors import InputError
from nearkin.studio import reports
from nearkin.studio.answers import AnswerBook
from nearkin.studio.find import Finder, Wanted
from nearkin.studio.groups import FoundGroups, colours_of_groups
from nearkin.studio.knowledge import Knowledge, known_groups, shown_name
from nearkin.studio.metric import TaughtMetric, distances_from, metric_of_records
from nearkin.studio.pictures import LONGEST_SIDE, Image
from nearkin.studio.records import MOST_NAMES, Records, in_file
from nearkin.studio.reports import RecordReview, why

# What there is to look at in a lesson: the data, colours, clusters and neighbours.


_CLUSTERS = 10


class Looks:
    """Records as people look at them.

    Parameters
    ----------
    records : Records
    notes : sequence of str
        What else is to be said of the data.
    seed : int
        Of clusters.
    """

    def __init__(self, records: Records, notes: Sequence[str], seed: int) -> None:
        self._records, self._start_notes = records, notes
        self._seed = seed
        self._found_clusters: tuple[tuple[int, int], Ints] | None = None

    def about(self, journal: str | None) -> dict[str, Any]:
        """What the data are, and the name of the journal, as plain values."""
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
        """What is to be said of the data."""
        records = self._records
        notes = list(records.notes)
        if records.n_total > len(records):
            notes.append(
                f"{_spaced(len(records))} of {_spaced(records.n_total)} rows are shown, drawn at "
                "random; the metric is learned from these."
            )
        if not records.ids_differ:
            notes.append("Some rows have the same id: exported files go by row numbers instead.")
        return [*notes, *self._start_notes]

    @cached_property
    def _colourings(self) -> dict[str, dict[str, str]]:
        learned = {"known": "known groups", "groups": "groups found", "clusters": "clusters"}
        found = [(key, name, "categories") for key, name in learned.items()]
        for j, (name, values) in enumerate(self._records.columns.items()):
            kind = reports.kind_of(values)
            if kind is not None:
                found.append((f"column-{j}", name, kind))
        features = [] if self._records.of_words else self._records.features
        for j, name in enumerate(features[: reports.MOST_FEATURES]):
            found.append((f"feature-{j}", name, "numbers"))
        return {key: {"key": key, "name": name, "kind": kind} for key, name, kind in found}

    def colouring(
        self, key: str, known: Knowledge, learned: TaughtMetric, n_clusters: int | None
    ) -> dict[str, Any]:
        """Colours of the rows, see :meth:`nearkin.studio.lesson.Lesson.colouring`.

        Of groups that were found, the name alone.
        """
        if key not in self._colourings:
            raise InputError(f"there is no colouring {key!r:.60}.")
        about = self._colourings[key]
        if key == "groups":
            return dict(about)
        if key == "known":
            found = known_groups(known, len(self._records)).colours()
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
        """Number of each row's cluster; the last ones are kept."""
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
        """The rows nearest to one, see :meth:`nearkin.studio.lesson.Lesson.neighbors`."""
        row = self._records.checked_row(row)
        n = max(0, min(int(n), len(self._records) - 1))
        distances = distances_from(learned.view, row, len(self._records))
        distances[row] = np.inf
        nearest = np.argpartition(distances, max(n - 1, 0))[:n]
        nearest = nearest[np.argsort(distances[nearest], kind="stable")]
        said = known.said_of(row, nearest)
        return [
            {
                "row": other,
                "id": str(self._records.ids[other])[:200],
                "distance": float(distances[other]),
                "same": same,
            }
            for other, same in zip(nearest.tolist(), said, strict=True)
        ]


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


EXPORTS = ("pairs", "triplets", "embedding", "clusters", "model", "groups", "grouping")


@dataclass(frozen=True)
class Seen:
    """What was learned last, and the picture of it."""

    learned: TaughtMetric
    coordinates: NDArray[np.float32]


class Looking:
    """Looks at a :class:`nearkin.studio.lesson.Lesson`, which brings these."""

    records: Records
    _book: AnswerBook
    _looks: Looks
    _learner: Any
    _seen: Seen
    _euclidean: Any
    _scaler: Any
    _by: str | None
    _review: RecordReview | None
    _seed: int
    _strategies: dict[str, str]
    _found: FoundGroups | None = None
    _rows: Any
    _explaining: threading.Lock

    def _newest(self) -> tuple[Knowledge, Seen]:
        raise NotImplementedError  # Lesson brings it

    def about(self) -> dict[str, Any]:
        """What the data are, as plain values."""
        path = self._book.path
        about = self._looks.about(None if path is None else path.name)
        takes_triplets = bool(self._learner._takes_triplets)
        reviewed = self._review is not None
        about |= {"takes_triplets": takes_triplets, "by": self._by, "review": reviewed}
        return about | {"goals": list(self._strategies)}

    def layout(self, name: str) -> dict[str, Any]:
        """The picture that is there: ``"euclidean"``, or ``"learned"`` as it was placed last."""
        if name == "euclidean":
            return {"version": 0, "coordinates": self._euclidean}
        if name == "learned":
            seen = self._seen
            return {"version": seen.learned.version, "coordinates": seen.coordinates}
        raise InputError(f"there is no layout {name!r:.60}: euclidean and learned there are.")

    def colouring(self, key: str, n_clusters: int | None = None) -> dict[str, Any]:
        """Colours of the rows.

        Parameters
        ----------
        key : str
            One of those that :meth:`about` lists.
        n_clusters : int, optional
            For ``"clusters"``.

        Returns
        -------
        dict
            ``key``, ``name``, ``kind``, ``categories`` (names) or ``range`` (least and most), and
            ``values``, a float32 array of shape (n,): numbers of categories, or amounts; NaN where
            unknown.
        """
        known = self._book.known
        found = self._looks.colouring(key, known, self._seen.learned, n_clusters)
        if key != "groups":
            return found
        return found | colours_of_groups(self._found, known, len(self.records))

    def record(self, row: int, beside: int | None = None, whole: bool = False) -> dict[str, Any]:
        """What to show of a row, see :meth:`nearkin.studio.records.Records.record`."""
        return self.records.record(row, beside, whole)

    def image(self, row: int, side: int = LONGEST_SIDE) -> Image | None:
        """Bytes and media type of a row's picture of at most so many pixels, or None."""
        return self.records.image(row, side)

    def picture_problem(self, row: int) -> str:
        """Why a row has no picture."""
        return self.records.picture_problem(row)

    @cached_property
    def _finder(self) -> Finder:
        return Finder(self.records)

    def columns(self) -> list[dict[str, str]]:
        """Columns by which rows can be found, see :meth:`nearkin.studio.find.Finder`."""
        return self._finder.columns()

    def prepare_finding(self) -> None:
        """Read all texts, so that the first search need not wait for it."""
        self._finder.prepare()

    def find(self, wanted: Wanted) -> dict[str, Any]:
        """Rows that somebody looks for.

        Parameters
        ----------
        wanted : Wanted

        Returns
        -------
        dict
            ``version`` of what was learned, ``matches``, a bool array of shape (n,), and ``notes``.
        """
        learned = self._seen.learned
        groups = None if self._found is None else self._found.labels
        found, notes = self._finder.matches(wanted, learned, groups)
        return {"version": learned.version, "matches": found, "notes": notes}

    def rows_file(self, rows: Sequence[int]) -> tuple[str, bytes]:
        """A CSV file of some rows, with all that is shown of them and the group that was found."""
        records, fields = self.records, self.records.fields
        found, names = self._found, list(fields.all_names)
        group = "group" if "group" not in names else "group (found)"
        told = (
            []
            if found is None
            else [shown_name(n, k) for k, n in enumerate(found.names(self._book.known))]
        )
        lines = []
        for row in map(records.checked_row, rows):
            first = [records.ids[row], int(records.numbers[row])]
            cells = [in_file(fields.cell(name, row)) for name in names]
            if found is not None:
                label = int(found.labels[row])
                cells.append("" if label < 0 else told[label])
            lines.append([*(first[1:] if records.id_name == "row" else first), *cells])
        shown = [*names, *([group] if found is not None else [])]
        return reports.rows_file(lines, shown, records.id_name, "row")

    def neighbors(self, row: int, n: int = 10) -> dict[str, Any]:
        """The rows nearest to one in the learned metric.

        Parameters
        ----------
        row : int
        n : int, default=10

        Returns
        -------
        dict
            ``version`` and ``neighbors``, the nearest first, each with ``row``, ``id``,
            ``distance`` and ``same``: what is known of the two or follows, None if nothing.
        """
        learned, known = self._seen.learned, self._book.known
        found = self._looks.neighbors(row, n, known, learned)
        return {"version": learned.version, "neighbors": found}

    def why(self, left: int, right: int) -> dict[str, Any]:
        """Why two rows are as near as they are, see :func:`nearkin.studio.reports.why`."""
        ends = np.array([self.records.checked_row(row) for row in (left, right)])
        known, seen = self._newest()
        with self._explaining:  # one at a time: each keeps a core busy
            return why(seen.learned, known, self.records, self._rows, self._scaler, ends)

    def export(self, what: str, n_clusters: int | None = None) -> tuple[str, bytes]:
        """A file of what was taught: its name and its content.

        Parameters
        ----------
        what : {"pairs", "triplets", "embedding", "clusters", "model", "groups", "grouping"}
            What was answered, by the ids of the rows, of pairs or of triplets; the learned
            coordinates of all rows shown; their clusters; the metric, as :func:`nearkin.load`
            reads it; the groups of records that are the same thing; or the groups of all rows
            that were found last, with their names.
        n_clusters : int, optional
            10 by default.
        """
        if what not in EXPORTS:
            raise InputError(f"there is {', '.join(EXPORTS)} to export, not {what!r:.60}.")
        if what == "groups" and self._review is None:
            raise InputError("there are no groups: this is for records that are known by words.")
        if what == "grouping" and self._found is None:
            raise InputError("no groups were found yet: find them first.")
        known, seen = self._newest()
        ids, id_name = self.records.ids, self.records.id_name
        if not self.records.ids_differ:
            ids, id_name = self.records.numbers.tolist(), "row"
        if what == "pairs":
            return reports.pairs_file(known.pairs, known.unsure, ids, known.voices)
        if what == "triplets":
            return reports.triplets_file(known.triplets, ids)
        if what == "groups" and self._review is not None:
            return reports.groups_file(self._review.groups(known), ids, id_name)
        if what == "grouping" and self._found is not None:
            named = [shown_name(name, k) for k, name in enumerate(self._found.names(known))]
            return reports.grouping_file(self._found.labels, named, ids, id_name)
        if what == "clusters":
            clusters = self._looks.clusters(seen.learned, n_clusters)
            return reports.clusters_file(clusters, ids, id_name)
        if what == "embedding":
            Z = seen.learned.view.embedding()
            return reports.embedding_file(Z, seen.coordinates, ids, id_name)
        return reports.model_file(metric_of_records(seen.learned, self.records, self._scaler))
