"""Why two records are as near as they are: columns, words, pixels, and the answers that did it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import config_context

from nearkin._types import Floats, Ints
from nearkin.errors import InputError
from nearkin.learners.explain import TaughtPart, numbered_groups, parts_by_column, words_of
from nearkin.messages import leaving_out
from nearkin.rows.parallel import one_core
from nearkin.scores.verdicts import verdicts_of
from nearkin.spaces.maps import Affine, Map, composed
from nearkin.teaching.knowledge import Knowledge
from nearkin.teaching.records import Records
from nearkin.teaching.taught_metric import TaughtMetric
from nearkin.teaching.thumbnails import PixelPictures

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
    learned: TaughtMetric, known: Knowledge, records: Records, X: Floats, scaler: Any, ends: Ints
) -> dict[str, Any]:
    """Why two records are as near as they are, as plain values.

    Parameters
    ----------
    learned : TaughtMetric
    known : Knowledge
        That it was learned from.
    records : Records
    X : ndarray of shape (n, d)
        Rows as they are learned from.
    scaler : StandardScaler, Normalizer or None
        What ``records.X`` went through before that.
    ends : int ndarray of shape (2,)

    Returns
    -------
    dict
        ``distance``, ``threshold`` and ``chance``; ``columns``, each with its ``name``, its
        ``share`` of the squared distance and the two ``values``, and the share of all ``others``;
        ``words`` by column; ``heat``, shares of pixels; ``answers`` with the ``change`` of the
        distance without each, in per cent; ``near``, the nearest pairs that were answered.
    """
    metric = learned.metric
    if metric is None:
        raise InputError(f"there is no metric yet. {learned.notes[-1]}")
    learned_map: Map = metric.map_
    groups = records.features if records.encoder is None else records.encoder.groups_
    names, at = numbered_groups(groups)
    parts = parts_by_column(learned_map, X[ends[:1]], X[ends[1:]], at)[0]
    squared = float(max(parts.sum(), 0.0))
    shares = parts / squared if squared > 0 else np.zeros_like(parts)
    distance = float(np.sqrt(squared))
    told = len(known.told) > 0
    of_vectors = _are_vectors(records)
    of_pixels = isinstance(records.pictures, PixelPictures)
    listed = [] if of_vectors or of_pixels else _columns(records, names, shares, ends)
    return {
        "version": learned.version,
        "left": int(ends[0]),
        "right": int(ends[1]),
        "distance": distance,
        "threshold": float(learned.threshold),
        "chance": float(verdicts_of(metric).chance(np.array(distance))) if told else None,
        "of_vectors": of_vectors,
        "columns": listed,
        "others": float(shares.sum() - sum(one["share"] for one in listed)),
        "n_others": len(names) - len(listed),
        "words": _words(records, learned_map, scaler, ends, squared),
        "heat": _heat(records, shares),
        "answers": _answers(learned, known, records, X, ends, squared),
        "near": _near(learned, known, records, ends) if of_vectors else [],
    }


def _are_vectors(records: Records) -> bool:
    """Whether columns are numbers of vectors, which say nothing one by one."""
    if records.encoder is not None or isinstance(records.pictures, PixelPictures):
        return False
    unnamed = not records.named and len(records.features) >= _A_VECTOR
    return unnamed or "vector_column_" in records.remembered


def _columns(
    records: Records, names: list[str], shares: Floats, ends: Ints
) -> list[dict[str, Any]]:
    largest = np.argsort(-np.abs(shares), kind="stable")[:_MOST_COLUMNS]
    numbers = {name: j for j, name in enumerate(records.features)}

    def cell(name: str, row: int) -> str:
        if name in records.columns:
            value = records.columns[name][row]
        elif name in numbers:
            value = f"{records.X[row, numbers[name]]:.6g}"
        else:
            return ""
        return "" if value is None or value != value else str(value)[:_LONGEST]

    return [
        {
            "name": names[g],
            "share": float(shares[g]),
            "values": [cell(names[g], int(row)) for row in ends],
        }
        for g in largest
        if shares[g]
    ]


def _words(
    records: Records, learned: Map, scaler: Any, ends: Ints, squared: float
) -> dict[str, list[dict[str, Any]]]:
    encoder = records.encoder
    if encoder is None or not squared:
        return {}
    if scaler is not None:
        learned = composed(Affine(np.diag(1 / scaler.scale_), scaler.mean_), learned)
    rows = [{name: [records.columns[name][row]] for name in encoder.columns_} for row in ends]
    found = words_of(encoder, learned, *rows)
    return {
        name: [
            {"text": word.text, "where": word.where, "share": word.part / squared} for word in words
        ]
        for name, words in found.items()
    }


def _heat(records: Records, shares: Floats) -> dict[str, Any] | None:
    """Shares of the pixels of a picture, row by row."""
    if not isinstance(records.pictures, PixelPictures):
        return None
    height, width = records.pictures.shape
    return {"height": height, "width": width, "shares": [round(float(one), 6) for one in shares]}


def _answers(
    learned: TaughtMetric,
    known: Knowledge,
    records: Records,
    X: Floats,
    ends: Ints,
    squared: float,
) -> list[dict[str, Any]]:
    """Answers that pull the two together or push them apart, the strongest first."""
    metric = learned.metric
    links = np.concatenate([known.pairs.must_link, known.pairs.cannot_link])
    same = np.arange(len(links)) < len(known.pairs.must_link)
    if not squared or not len(links):
        return []
    part: TaughtPart = metric._taught_parts([X[ends[:1]], X[ends[1:]]])[0]
    along = _along(learned, links, ends)
    most = int(np.clip(_LEARNED_IN_ALL // len(known.told), _LEAST_LEFT_OUT, _MOST_LEFT_OUT))
    found = []
    with one_core(), leaving_out(Warning), config_context(skip_parameter_validation=True):
        for k in np.argsort(-along, kind="stable")[:most]:
            link = (int(links[k, 0]), int(links[k, 1]))
            try:
                pull = part.pull(link, known.without(link).told)
            except (ValueError, LookupError, np.linalg.LinAlgError):
                continue
            change = 100 * (np.sqrt(max(1 - pull / squared, 0.0)) - 1)
            if abs(change) >= _LEAST_CHANGE:
                found.append(_answer(records, link, bool(same[k])) | {"change": float(change)})
    found.sort(key=lambda one: -abs(one["change"]))
    together = [one for one in found if one["change"] > 0][:_MOST_ANSWERS]
    apart = [one for one in found if one["change"] < 0][:_MOST_ANSWERS]
    return [*together, *apart]


def _near(
    learned: TaughtMetric, known: Knowledge, records: Records, ends: Ints
) -> list[dict[str, Any]]:
    """The answered pairs whose rows are nearest to the two."""
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
        _answer(records, (int(links[k, 0]), int(links[k, 1])), bool(k < n_must)) for k in nearest
    ]


def _along(learned: TaughtMetric, links: Ints, ends: Ints) -> Floats:
    """How much of each answered pair's difference lies along that of the two rows."""
    two = learned.view.embedding(ends)
    left, right = (learned.view.embedding(rows) for rows in links.T)
    return np.asarray(((left - right) @ (two[1] - two[0])) ** 2)


def _answer(records: Records, link: tuple[int, int], same: bool) -> dict[str, Any]:
    left, right = link
    return {
        "left": left,
        "right": right,
        "same": same,
        "names": [str(records.ids[row])[:100] for row in link],
    }
