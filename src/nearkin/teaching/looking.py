"""What is seen of a lesson, and files of it: nothing here changes what is known."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError
from nearkin.teaching import exports
from nearkin.teaching.answer_book import AnswerBook
from nearkin.teaching.finding import Finder, Wanted
from nearkin.teaching.groups import FoundGroups, colours_of_groups
from nearkin.teaching.knowledge import Knowledge, shown_name
from nearkin.teaching.looks import Looks
from nearkin.teaching.record_fields import in_file
from nearkin.teaching.record_review import RecordReview
from nearkin.teaching.records import Records
from nearkin.teaching.taught_metric import TaughtMetric, metric_of_records
from nearkin.teaching.thumbnails import LONGEST_SIDE, Image
from nearkin.teaching.why import why

EXPORTS = ("pairs", "triplets", "embedding", "clusters", "model", "groups", "grouping")


@dataclass(frozen=True)
class Seen:
    """What was learned last, and the picture of it."""

    learned: TaughtMetric
    coordinates: NDArray[np.float32]


class Looking:
    """Looks at a :class:`nearkin.teaching.lesson.Lesson`, which brings these."""

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
        """What to show of a row, see :meth:`nearkin.teaching.records.Records.record`."""
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
        """Columns by which rows can be found, see :meth:`nearkin.teaching.finding.Finder`."""
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
        return exports.rows_file(lines, shown, records.id_name, "row")

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
        """Why two rows are as near as they are, see :func:`nearkin.teaching.why.why`."""
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
            return exports.pairs_file(known.pairs, known.unsure, ids, known.voices)
        if what == "triplets":
            return exports.triplets_file(known.triplets, ids)
        if what == "groups" and self._review is not None:
            return exports.groups_file(self._review.groups(known), ids, id_name)
        if what == "grouping" and self._found is not None:
            named = [shown_name(name, k) for k, name in enumerate(self._found.names(known))]
            return exports.grouping_file(self._found.labels, named, ids, id_name)
        if what == "clusters":
            clusters = self._looks.clusters(seen.learned, n_clusters)
            return exports.clusters_file(clusters, ids, id_name)
        if what == "embedding":
            Z = seen.learned.view.embedding()
            return exports.embedding_file(Z, seen.coordinates, ids, id_name)
        return exports.model_file(metric_of_records(seen.learned, self.records, self._scaler))
