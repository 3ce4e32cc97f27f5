"""What the page shows of a lesson's data: colours, reasons, pairs to review, and files."""

from __future__ import annotations

import csv
import io
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context

from nearkin._types import Floats, Ints
from nearkin.errors import InputError
from nearkin.learners.explain import TaughtPart, number_groups, parts_by_column, word_effects
from nearkin.messages import collect_notices, mute_categories
from nearkin.pairs.pairs import Pairs
from nearkin.records.matcher import RecordMatcher
from nearkin.records.results import Duplicates, describe_figures
from nearkin.rows.parallel import one_core
from nearkin.scores.verdicts import read_verdicts
from nearkin.spaces.maps import Affine, Map, compose
from nearkin.storage.files import quote_formula
from nearkin.studio.events import Told, Voice
from nearkin.studio.knowledge import Knowledge
from nearkin.studio.metric import TaughtMetric
from nearkin.studio.pictures import PixelPictures
from nearkin.studio.records import MOST_NAMES, StudioRecords, format_cell, format_for_file
from nearkin.tables.reading import Column, read_columns

# Named features that one may colour by.
MOST_FEATURES = 200
# Kinds that a column is coloured by; all others are one more.
_MOST_KINDS = 50
# Whole numbers of at most so many values are kinds, not amounts.
_FEW_NUMBERS = 20
_OTHERS = "(others)"


def colouring_kind(values: Sequence[Any]) -> str | None:
    """Choose how a column is coloured: ``"numbers"``, ``"categories"``, or None for not at all."""
    told = [value for value in values if not _is_missing(value)]
    if not told:
        return None
    if all(isinstance(value, (int, float, np.number)) for value in told):
        if any(isinstance(value, bool) for value in told):
            return "categories"
        whole = all(float(value).is_integer() for value in told)
        return "categories" if whole and len(set(told)) <= _FEW_NUMBERS else "numbers"
    try:
        n_kinds = len(set(told))
    except TypeError:  # lists and the like
        return None
    return "categories" if n_kinds <= max(_FEW_NUMBERS, len(told) // 2) else None


def colours_of_column(values: Sequence[Any], kind: str) -> dict[str, Any]:
    """Colour values of a column with their legend: ``kind``, ``categories``, ``range``, ``values``.

    ``kind`` is ``"numbers"`` or ``"categories"``, whose values are positions in ``categories``.
    """
    if kind == "numbers":
        return colours_of_numbers([np.nan if _is_missing(v) else float(v) for v in values])
    counts = Counter(value for value in values if not _is_missing(value))
    common = [value for value, _ in counts.most_common(_MOST_KINDS)]
    try:
        common.sort()
    except TypeError:  # of several types
        common.sort(key=str)
    number = {value: k for k, value in enumerate(common)}
    names = [str(value)[:100] for value in common]
    if len(counts) > len(common):
        names.append(_OTHERS)
    found = [np.nan if _is_missing(value) else number.get(value, len(common)) for value in values]
    colours = np.array(found, dtype=np.float32)
    return {"kind": "categories", "categories": names, "range": None, "values": colours}


def colours_of_numbers(values: Any) -> dict[str, Any]:
    """Colour values of a column of numbers, NaN where missing, and their range."""
    found = np.asarray(values, dtype=np.float32)
    told = found[np.isfinite(found)]
    ends = [float(told.min()), float(told.max())] if len(told) else [0.0, 0.0]
    found = np.where(np.isfinite(found), found, np.float32(np.nan))
    return {"kind": "numbers", "categories": None, "range": ends, "values": found}


def _is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN or infinite."""
    return value is None or (isinstance(value, (float, np.floating)) and not np.isfinite(value))


# A file's name and its content.
File = tuple[str, bytes]


def pairs_file(
    pairs: Pairs,
    unsure: NDArray[np.int64],
    ids: Sequence[Any],
    voices: Mapping[Voice, Told] | None = None,
) -> File:
    """CSV file of pairs by ids as ``nearkin fit --pairs`` reads them; same is empty for unsure.

    Ids that a spreadsheet would take for formulas have a quotation mark before them, which
    ``--pairs`` knows. If people are known, there is a column ``by``, and a line for each person's
    answer.
    """
    voices = voices or {}
    words = {True: "true", False: "false", None: ""}
    kinds = (
        (True, pairs.must_link, pairs.must_weight),
        (False, pairs.cannot_link, pairs.cannot_weight),
        (None, unsure, np.ones(len(unsure))),
    )
    named = {(i, j) for i, j, _ in voices}
    lines: list[list[Any]] = [["left", "right", "same", "weight", "by"]]
    for same, links, weights in kinds:
        for (i, j), weight in zip(links.tolist(), weights.tolist(), strict=True):
            if (i, j) not in named:
                lines.append([ids[i], ids[j], words[same], f"{weight:g}", ""])
    lines += [[ids[i], ids[j], words[one.same], "1", name] for (i, j, name), one in voices.items()]
    return "pairs.csv", _csv(lines if voices else [line[:-1] for line in lines])


def groups_file(
    labels: NDArray[np.int64],
    names: Sequence[str],
    sure: NDArray[np.bool_],
    ids: Sequence[Any],
    id_name: str,
) -> File:
    """CSV file of each row's group: its number, from 1, its name, and whether that is sure."""
    first = id_name if id_name not in ("group", "name", "sure") else f"{id_name} (id)"
    lines: list[list[Any]] = [[first, "group", "name", "sure"]]
    for one, group, name, is_sure in zip(ids, labels.tolist(), names, sure.tolist(), strict=True):
        told = ["", "", ""] if group < 0 else [group + 1, name, "true" if is_sure else "false"]
        lines.append([one, *told])
    return "groups.csv", _csv(lines)


def rows_file(records: StudioRecords, rows: Sequence[int], groups: Sequence[str]) -> File:
    """CSV file of some rows: ids, row numbers of the data, fields, and names of groups, if any."""
    names = records.all_fields
    group = ["group" if "group" not in names else "group (likely)"] if any(groups) else []
    beside = list(dict.fromkeys([records.id_name, "row"]))
    first = [name if name not in (*names, *group) else f"{name} (id)" for name in beside]
    lines: list[list[Any]] = [[*first, *names, *group]]
    for row in map(records.check_row, rows):
        cells = [format_for_file(records.cell(name, row)) for name in names]
        named = [records.ids[row], int(records.numbers[row])][-len(beside) :]
        lines.append([*named, *cells, *([groups[row]] if group else [])])
    return "selection.csv", _csv(lines)


def duplicates_file(found: Duplicates, ids: Sequence[Any], id_name: str) -> File:
    """CSV file with a line for each record in a group, as ``nearkin duplicates`` writes it."""
    lines: list[list[Any]] = [["group", id_name, "chance"]]
    for number, rows in enumerate(found.groups):
        lines += [[number, ids[row], f"{found.chance[row]:.6g}"] for row in rows.tolist()]
    return "duplicates.csv", _csv(lines)


def embedding_file(Z: Floats, plane: Floats, ids: Sequence[Any], id_name: str) -> File:
    """Parquet file of ids, the two coordinates of the picture, and all learned ones, ``z0`` ….

    Euclidean distances between the learned ones are the learned distances.
    """
    import pyarrow as pa
    import pyarrow.parquet

    names = [id_name if id_name not in ("x", "y") else f"{id_name} (id)", "x", "y"]
    names += [f"z{j}" for j in range(Z.shape[1])]
    try:
        first = pa.array(list(ids))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):  # of several types
        first = pa.array([str(one) for one in ids])
    table = pa.table([first, *map(pa.array, plane.T.copy()), *map(pa.array, Z.T.copy())], names)
    content = io.BytesIO()
    pyarrow.parquet.write_table(table, content)
    return "embedding.parquet", content.getvalue()


def model_file(metric: Any) -> File:
    """File of the metric, which :func:`nearkin.load` reads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.nearkin"
        metric.save(path)
        return path.name, path.read_bytes()


def _csv(lines: Iterable[list[Any]]) -> bytes:
    """Encode lines as CSV in which no cell is a formula for a spreadsheet."""
    text = io.StringIO(newline="")
    cells = ([quote_formula(c) if isinstance(c, str) else c for c in line] for line in lines)
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue().encode(errors="surrogatepass")


# Columns, answers of either direction, and answered pairs nearby that are told.
_MOST_COLUMNS = 12
_MOST_ANSWERS = 3
# Answers that are left out one by one: fewer where learning takes its time.
_MOST_LEFT_OUT, _LEAST_LEFT_OUT = 40, 8
_LEARNED_IN_ALL = 20_000
# The least change of the distance that an answer is named for, in per cent.
_LEAST_CHANGE = 0.2
# Characters of a cell that are told.
_LONGEST = 600
# Columns without names, from so many on, are a vector.
_A_VECTOR = 20


def why(
    learned: TaughtMetric,
    known: Knowledge,
    records: StudioRecords,
    X: Floats,
    scaler: Any,
    ends: Ints,
) -> dict[str, Any]:
    """Explain the learned distance of two records (``ends``), as plain values.

    ``scaler`` has made X, the rows that the metric was learned from, of ``records.X``. Returns
    ``distance``, ``threshold`` and ``chance``; ``columns``, each with its ``name``, its ``share``
    of the squared distance and the two ``values``, and the share of all ``others``; ``words`` by
    column; ``heat``, shares of pixels; ``answers`` with the ``change`` of the distance without
    each, in per cent; ``near``, the nearest pairs that were answered.
    """
    metric = learned.metric
    if metric is None:
        raise InputError(f"there is no metric yet. {learned.notes[-1]}")
    learned_map: Map = metric.map_
    groups = records.features if records.encoder is None else records.encoder.groups_
    names, at = number_groups(groups)
    parts = parts_by_column(learned_map, X[ends[:1]], X[ends[1:]], at)[0]
    squared = float(max(parts.sum(), 0.0))
    shares = parts / squared if squared > 0 else np.zeros_like(parts)
    distance = float(np.sqrt(squared))
    told = len(known.told) > 0
    of_vectors = _are_vectors(records)
    of_pixels = isinstance(records.pictures, PixelPictures)
    listed = [] if of_vectors or of_pixels else _column_shares(records, names, shares, ends)
    return {
        "version": learned.version,
        "left": int(ends[0]),
        "right": int(ends[1]),
        "distance": distance,
        "threshold": float(learned.threshold),
        "chance": float(read_verdicts(metric).chance(np.array(distance))) if told else None,
        "of_vectors": of_vectors,
        "columns": listed,
        "others": float(shares.sum() - sum(one["share"] for one in listed)),
        "n_others": len(names) - len(listed),
        "words": _word_shares(records, learned_map, scaler, ends, squared),
        "heat": _pixel_shares(records, shares),
        "answers": _strongest_answers(learned, known, records, X, ends, squared),
        "near": _nearest_answers(learned, known, records, ends) if of_vectors else [],
    }


def _are_vectors(records: StudioRecords) -> bool:
    """Whether columns are components of vectors, which mean nothing one by one."""
    if records.encoder is not None or isinstance(records.pictures, PixelPictures):
        return False
    unnamed = not records.named and len(records.features) >= _A_VECTOR
    return unnamed or "vector_column_" in records.remembered


def _column_shares(
    records: StudioRecords, names: list[str], shares: Floats, ends: Ints
) -> list[dict[str, Any]]:
    """List the 12 columns with the largest shares of the squared distance, with both values."""
    largest = np.argsort(-np.abs(shares), kind="stable")[:_MOST_COLUMNS]
    numbers = {name: j for j, name in enumerate(records.features)}

    def cell(name: str, row: int) -> str:
        """Value of a row in a column as a text."""
        if name in records.columns:
            return format_cell(records.columns[name][row])[:_LONGEST]
        return format_cell(records.X[row, numbers[name]]) if name in numbers else ""

    return [
        {
            "name": names[g],
            "share": float(shares[g]),
            "values": [cell(names[g], int(row)) for row in ends],
        }
        for g in largest
        if shares[g]
    ]


def _word_shares(
    records: StudioRecords, learned: Map, scaler: Any, ends: Ints, squared: float
) -> dict[str, list[dict[str, Any]]]:
    """List by text column the words and their shares of the squared distance."""
    encoder = records.encoder
    if encoder is None or not squared:
        return {}
    if scaler is not None:
        learned = compose(Affine(np.diag(1 / scaler.scale_), scaler.mean_), learned)
    rows = [{name: [records.columns[name][row]] for name in encoder.columns_} for row in ends]
    found = word_effects(encoder, learned, *rows)
    return {
        name: [
            {"text": word.text, "where": word.where, "share": word.part / squared} for word in words
        ]
        for name, words in found.items()
    }


def _pixel_shares(records: StudioRecords, shares: Floats) -> dict[str, Any] | None:
    """Shares of a picture's pixels in the squared distance; None if rows are no pixels."""
    if not isinstance(records.pictures, PixelPictures):
        return None
    height, width = records.pictures.shape
    return {"height": height, "width": width, "shares": [round(float(one), 6) for one in shares]}


def _strongest_answers(
    learned: TaughtMetric,
    known: Knowledge,
    records: StudioRecords,
    X: Floats,
    ends: Ints,
    squared: float,
) -> list[dict[str, Any]]:
    """List answers "same" that pull two rows together and "different" that push them apart.

    Each is left out in turn, and gets the ``change`` of the distance that it caused, in per cent.
    """
    metric = learned.metric
    links = np.concatenate([known.pairs.must_link, known.pairs.cannot_link])
    same = np.arange(len(links)) < len(known.pairs.must_link)
    if not squared or not len(links):
        return []
    part: TaughtPart = metric._find_taught_parts([X[ends[:1]], X[ends[1:]]])[0]
    # Squared projection of each answered pair's difference on that of the two rows.
    two = learned.view.embedding(ends)
    left, right = (learned.view.embedding(rows) for rows in links.T)
    along = np.asarray(((left - right) @ (two[1] - two[0])) ** 2)
    most = int(np.clip(_LEARNED_IN_ALL // len(known.told), _LEAST_LEFT_OUT, _MOST_LEFT_OUT))
    found = []
    with one_core(), mute_categories(Warning), config_context(skip_parameter_validation=True):
        for k in np.argsort(-along, kind="stable")[:most]:
            link = (int(links[k, 0]), int(links[k, 1]))
            try:
                pull = part.pull(link, known.without(link).told)
            except (ValueError, LookupError, np.linalg.LinAlgError):
                continue
            change = 100 * (np.sqrt(max(1 - pull / squared, 0.0)) - 1)
            if abs(change) >= _LEAST_CHANGE:
                found.append(_add_ids(records, link, bool(same[k])) | {"change": float(change)})
    found.sort(key=lambda one: -abs(one["change"]))
    # An answer may move rows the other way round, which no person could make sense of.
    together = [one for one in found if one["change"] > 0 and one["same"]][:_MOST_ANSWERS]
    apart = [one for one in found if one["change"] < 0 and not one["same"]][:_MOST_ANSWERS]
    return [*together, *apart]


def _nearest_answers(
    learned: TaughtMetric, known: Knowledge, records: StudioRecords, ends: Ints
) -> list[dict[str, Any]]:
    """List the three answered pairs whose rows are nearest to the two rows."""
    links = np.concatenate([known.pairs.must_link, known.pairs.cannot_link])
    if not len(links):
        return []
    two = learned.view.embedding(ends)
    left, right = (learned.view.embedding(rows) for rows in links.T)
    ways = [
        np.linalg.norm(left - two[i], axis=1) + np.linalg.norm(right - two[1 - i], axis=1)
        for i in (0, 1)
    ]
    nearest = np.argsort(np.minimum(*ways), kind="stable")[:_MOST_ANSWERS]
    n_must = len(known.pairs.must_link)
    return [
        _add_ids(records, (int(links[k, 0]), int(links[k, 1])), bool(k < n_must)) for k in nearest
    ]


def _add_ids(records: StudioRecords, link: tuple[int, int], same: bool) -> dict[str, Any]:
    """Return an answered pair as plain values, with the ids of its rows."""
    left, right = link
    return {
        "left": left,
        "right": right,
        "same": same,
        "names": [str(records.ids[row])[:100] for row in link],
    }


# Pairs that are listed.
N_LISTED = 20

# Groups of records that are listed.
_MOST_GROUPS = 500


class RecordReview:
    """A review of records for duplicates: doubtful pairs, and how good the groups are.

    Records are compared at the first call, which takes about a second for a thousand of them;
    after that, learning from new answers takes less.
    """

    def __init__(self, records: StudioRecords, seed: int) -> None:
        self._records = records
        self._matcher = RecordMatcher(random_state=seed)
        self._learning = threading.Lock()
        self._version: int | None = None
        self._notes: list[str] = []

    def pairs_to_review(self, known: Knowledge) -> dict[str, Any]:
        """Review the groups by all answers: pairs to ask about next, and figures, as plain values.

        ``pairs`` are the 20 open ones whose answer would change the groups most, each with
        ``left``, ``right`` and ``chance``; ``n_groups`` have several records, ``n_grouped`` in all;
        ``groups`` are the first 500, those first that are least certain, each with ``rows``, its
        ``chance`` and whether answers ``settled`` it; it is learned from ``n_answers``; the last of
        ``notes`` says how good the groups are, as far as that is known.
        """
        with self._learning:
            matcher = self._update_matcher(known)
            found = matcher.duplicates()
            report = matcher.report_
            pairs, chance = matcher.review(max(1, report.n_candidates))
        open_ = np.flatnonzero(known.are_open(pairs))[:N_LISTED]
        ends, chances = pairs[open_].tolist(), chance[open_].tolist()
        sizes = [len(group) for group in found.groups]
        return {
            "version": known.version,
            "pairs": [
                {"left": i, "right": j, "chance": c}
                for (i, j), c in zip(ends, chances, strict=True)
            ],
            "n_groups": len(sizes),
            "n_grouped": sum(sizes),
            "groups": _list_groups(found, known),
            "n_answers": report.n_same + report.n_different,
            "notes": [*self._notes, _describe_groups(found)],
        }

    def groups(self, known: Knowledge) -> Duplicates:
        """Find groups of records that are the same thing, by all answers."""
        with self._learning:
            return self._update_matcher(known).duplicates()

    def _update_matcher(self, known: Knowledge) -> RecordMatcher:
        """Fit the matcher at the first call, and later teach it answers that it lacks."""
        if self._version is None:
            with collect_notices() as notes:
                self._matcher.fit(_columns_to_compare(self._records), known.pairs)
            told = self._records.notes
            self._notes = [note.text for note in notes if note.text not in told]
        elif self._version != known.version:
            self._matcher.teach(known.pairs)
        self._version = known.version
        return self._matcher


def _columns_to_compare(records: StudioRecords) -> list[Column]:
    """Columns by which records are compared, of the kinds that their encoder gave them, if any."""
    cells, encoder = records.to_compare(), records.encoder
    if encoder is None:
        return read_columns(cells)
    kinds = {name: kind for name, kind in encoder.kinds_.items() if name in cells}
    return read_columns(cells, kinds, encoder.dates)


def _describe_groups(found: Duplicates) -> str:
    """How good groups are, which answers to the most doubtful pairs alone do not tell."""
    if found.precision.more and found.recall.more:
        return (
            "How good the groups are is not known: pairs that change them most do not tell it. "
            "Questions of nearkin suggest --ask do."
        )
    return f"Groups of duplicates, {describe_figures(found.precision, found.recall)}."


def _list_groups(found: Duplicates, known: Knowledge) -> list[dict[str, Any]]:
    """List groups of records as plain values, the least certain first."""
    listed = []
    for rows in found.groups:
        links = np.column_stack([rows[:-1], rows[1:]])
        settled = bool(known.pairs.groups.alike(links).all())
        chance = float(found.chance[rows].min())
        listed.append({"rows": rows.tolist(), "chance": chance, "settled": settled})
    listed.sort(key=lambda one: (one["settled"], one["chance"]))
    return listed[:_MOST_GROUPS]


Export = Literal["pairs", "embedding", "model", "groups", "duplicates"]


def list_columns(records: StudioRecords) -> list[dict[str, str]]:
    """List columns and features by which rows can be coloured or found.

    Each has a ``key``, a ``name``, and a ``kind``: ``"numbers"``, ``"categories"`` or ``"text"``.
    """
    found = [
        {"key": f"column-{j}", "name": name, "kind": colouring_kind(values) or "text"}
        for j, (name, values) in enumerate(records.columns.items())
    ]
    features = [] if records.of_words else records.features[:MOST_FEATURES]
    return found + [
        {"key": f"feature-{j}", "name": name, "kind": "numbers"} for j, name in enumerate(features)
    ]


def colours_of(records: StudioRecords, column: Mapping[str, str]) -> dict[str, Any]:
    """Colour values of rows by one of :func:`list_columns`, see :func:`colours_of_column`."""
    what, _, j = column["key"].partition("-")
    if what == "feature":
        return colours_of_numbers(records.X[:, int(j)])
    return colours_of_column(records.columns[column["name"]], column["kind"])


class Looks:
    """Descriptions and colours of a lesson's records; ``notes`` are sentences for the user."""

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
            "colourings": list(self._colourings.values()),
            "journal": journal,
            "notes": self.notes,
        }

    @cached_property
    def notes(self) -> list[str]:
        """Sentences for the user on the data."""
        records = self._records
        notes = list(records.notes)
        if records.n_total > len(records):
            shown = f"{len(records):,} of {records.n_total:,} rows are shown".replace(",", " ")
            notes.append(f"{shown}, drawn at random; the metric is learned from these.")
        if not records.ids_differ:
            notes.append("Some rows have the same id: exported files go by row numbers instead.")
        return [*notes, *self._start_notes]

    @cached_property
    def _colourings(self) -> dict[str, dict[str, str]]:
        """Columns to colour rows by, by their keys: features only if they have names."""
        return {
            one["key"]: one
            for one in list_columns(self._records)
            if one["kind"] != "text"
            and (self._records.named or not one["key"].startswith("feature-"))
        }

    def colouring(self, key: str) -> dict[str, Any]:
        """Colour values of all rows by one of the ``colourings`` of :meth:`about`, with the legend.

        It has ``key``, ``name``, ``kind``, ``categories`` (names) or ``range`` (least and most),
        and ``values``, a float32 array of shape (n,): numbers of categories, or the column's own
        numbers; NaN where unknown.
        """
        if key not in self._colourings:
            raise InputError(f"there is no colouring {key!r:.60}.")
        return self._colourings[key] | colours_of(self._records, self._colourings[key])
