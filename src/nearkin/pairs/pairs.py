"""Pairs: what is known to be alike or different among the rows of X, or how much so."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Hashable
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NoReturn

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.metrics._scorer import _PassthroughScorer
from sklearn.utils import check_random_state

from nearkin._types import Doubles, Ints, Mask
from nearkin.errors import InputError, InputTypeError, MissingPackageError, counted
from nearkin.pairs.closure import (
    Conflict,
    PairGroups,
    TripletCircle,
    find_circles,
    find_contradictions,
    find_groups,
    index_places,
    infer_pairs,
    normalise_graded,
    normalise_pairs,
    normalise_triplets,
    sort_distinct,
)
from nearkin.pairs.labels import MOST_LISTED, draw_class_pairs, number_classes
from nearkin.rows.validation import list_values, refuse_non_tables

__all__ = ["Conflict", "Pairs", "TripletCircle"]

# What a triplet weighs as a must-link and a cannot-link: less than either. Chosen by hand.
WEAK = 0.5
# Answers as people and programs write them, in lower case.
ANSWERS: dict[str, bool | None] = {
    "true": True, "1": True, "1.0": True, "yes": True, "y": True, "same": True,
    "false": False, "0": False, "0.0": False, "no": False, "n": False, "different": False,
    "": None, "unsure": None, "nan": None, "null": None, "none": None,
}  # fmt: skip
EXPECTED = "true or false, yes or no, 1 or 0, same or different, or empty for unsure"
# The kinds of dataframe that are written, the first that is installed unless one is named.
BACKENDS = ("pandas", "polars", "pyarrow")
# The columns of a table of triplets.
TRIPLET = ("anchor", "closer", "farther")
# Calls between where scikit-learn learns from a fold and where it cuts a parameter, at most.
_FRAMES_OF_A_CUT = 12
_RIGHT = {
    2: "a list of pairs of row numbers, like [(0, 5), (2, 3)]",
    3: "a list of triplets of row numbers, like [(0, 5, 2)] for 0 nearer to 5 than to 2",
}
# Links of one kind, and their weights; of graded pairs (k, 2), their grades and weights.
_Kind = tuple[Ints, Doubles]
_KIND_NAMES = ("must-link", "cannot-link", "triplet", "graded pair")
_PARTS = (
    *("must_link", "must_weight", "cannot_link", "cannot_weight", "closer", "closer_weight"),
    *("graded", "grades", "graded_weight"),
    "n_rows",
)
# The columns of a table of graded pairs that say how near two rows are, and whether 1 is nearest.
_GRADED = {"similarity": True, "distance": False}
# A grade of so much tells no more than the toss of a coin whether two rows are the same.
_UNDECIDED = 0.5


def find_first(bad: Mask | np.bool_) -> int | None:
    """Position of the first true value of a mask, or None."""
    return int(bad.argmax()) if bad.any() else None


def as_tuple(pair: NDArray[Any]) -> tuple[Any, ...]:
    """Convert a pair to Python numbers, to be named in a message."""
    return tuple(pair.tolist())


def check_count(value: object, name: str, *, least: int) -> int:
    """Return a parameter as an int; refuse one that is no integer or below ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputTypeError(f"{name} must be an integer, not {value!r}")
    if value < least:
        raise InputError(f"{name} must be {least} or more, not {value}")
    return int(value)


def check_pairs(values: Any, item: str, n_rows: int | None, width: int = 2) -> Ints:
    """Return pairs of rows, or ``width=3`` triplets, as int64; errors call one of them ``item``."""
    right = _RIGHT[width]
    try:
        array = np.asarray(values)
    except ValueError:  # NumPy's word for entries of unequal length
        bad, pair = next(entry for entry in enumerate(values) if not _are_scalars(entry[1], width))
        raise InputError(f"{item} {bad} is {pair!r}: needed is {right}") from None
    if array.shape == (0,):
        return np.empty((0, width), dtype=np.int64)
    if array.shape == (width,):
        single = as_tuple(array)
        bare = item.rpartition(" ")[2]
        raise InputError(f"{item}s are one bare {bare}, {single}: write a list of it, [{single}]")
    if array.ndim != 2 or array.shape[1] != width:
        raise InputError(
            f"{item}s have shape {array.shape}, like {values!r:.50}: needed is {right}"
        )
    if len(array) and array.dtype.kind not in "iu":
        broken = (k for k, pair in enumerate(array.tolist()) if not all(map(_is_whole, pair)))
        bad = next(broken, 0)
        raise InputTypeError(
            f"{item} {bad} is {as_tuple(array[bad])}: row numbers must be integers, "
            f"not {array.dtype}"
        )
    pairs = array.astype(np.int64)
    if pairs.min(initial=0) < 0:
        wrong = find_first((pairs < 0).any(axis=1))
        raise InputError(
            f"{item} {wrong} is {as_tuple(array[wrong])}: row numbers count from 0, and a negative "
            "one does not count from the end"
        )
    if n_rows is not None and pairs.max(initial=-1) >= n_rows:
        wrong = find_first((pairs >= n_rows).any(axis=1))
        raise InputError(
            f"{item} {wrong} is {as_tuple(pairs[wrong])}, but n_rows={n_rows}: row numbers must be "
            "below it"
        )
    return pairs


def _are_scalars(entry: Any, count: int) -> bool:
    """Whether an entry is a sequence of ``count`` plain values."""
    return hasattr(entry, "__len__") and len(entry) == count and all(map(np.isscalar, entry))


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, float)) and value == value // 1


def check_pair_weights(values: Any, count: int, item: str) -> Doubles:
    """Return the weights of ``count`` pairs as float64, ones for None; errors name the ``item``."""
    if values is None:
        return np.ones(count)
    array = np.asarray(values)
    if array.shape != (count,):
        each = counted(count, item.rpartition(" ")[2])
        raise InputError(
            f"{item}s have shape {array.shape}: needed is one weight for each of {each}"
        )
    if count and array.dtype.kind not in "iuf":
        entries = array.tolist()
        bad = next((k for k, entry in enumerate(entries) if not isinstance(entry, Real)), 0)
        raise InputTypeError(
            f"{item} {bad} is {entries[bad]!r}: weights must be numbers, not {array.dtype}"
        )
    weights = array.astype(np.float64)
    if (wrong := find_first(~((weights > 0) & np.isfinite(weights)))) is not None:
        raise InputError(f"{item} {wrong} is {weights[wrong]}: weights must be finite and above 0")
    return weights


def check_grades(values: Any, count: int) -> Doubles:
    """Return the grades of ``count`` pairs as float64; refuse what is not between 0 and 1."""
    array = np.asarray(() if values is None else values)
    if array.shape != (count,):
        raise InputError(
            f"grades have shape {array.shape}: needed is one grade, from 0 for different to 1 for "
            f"alike, for each of {counted(count, 'graded pair')}"
        )
    if count and array.dtype.kind not in "iufb":
        raise InputTypeError(f"grades must be numbers, not {array.dtype}")
    grades = array.astype(np.float64)
    if (bad := find_first(~((grades >= 0) & (grades <= 1)))) is not None:
        raise InputError(
            f"grade of graded pair {bad} is {grades[bad]:g}: grades run from 0, different, to 1, "
            "alike. Divide by the length of the scale, or use Pairs.from_frame(frame, scale=(low, "
            "high))"
        )
    return grades


def refuse_difference_from_itself(pairs: Ints, item: str, differ: Mask) -> None:
    """Raise if one of the pairs that ``differ`` marks names the same row twice."""
    if (bad := find_first(differ & (pairs[:, 0] == pairs[:, 1]))) is not None:
        row = pairs[bad, 0]
        raise InputError(f"{item} {bad} is ({row}, {row}): row {row} cannot differ from itself")


def refuse_repeated_points(triplets: Ints, item: str) -> None:
    """Raise if one of the triplets names a row twice: then it says nothing, or is impossible."""
    a, b, c = triplets.T
    if (bad := find_first((a == b) | (a == c) | (b == c))) is not None:
        raise InputError(
            f"{item} {bad} is {as_tuple(triplets[bad])}, which names a row twice: needed are three "
            "different rows, (a, b, c) for a nearer to b than to c"
        )


def _check_row_numbers(rows: Any, n_rows: int | None) -> Ints:
    """Return row numbers of X, given as distinct numbers or as a mask."""
    chosen = np.asarray(rows)
    if chosen.ndim != 1:
        raise InputError(f"rows must be one-dimensional, got shape {chosen.shape}")
    if chosen.dtype.kind == "b":
        if n_rows not in (None, len(chosen)):
            raise InputError(f"a mask over {n_rows} rows is needed, not {len(chosen)}")
        return np.flatnonzero(chosen)
    if len(chosen) and chosen.dtype.kind not in "iu":
        raise InputTypeError(f"rows must be integers or a boolean mask, not {chosen.dtype}")
    chosen = chosen.astype(np.int64)
    outside = chosen < 0 if n_rows is None else (chosen < 0) | (chosen >= n_rows)
    if (place := find_first(outside)) is not None:
        most = "" if n_rows is None else f" to {n_rows - 1}"
        raise InputError(f"rows[{place}] is {chosen[place]}: row numbers run from 0{most}")
    ascending = np.sort(chosen)
    if (place := find_first(ascending[1:] == ascending[:-1])) is not None:
        raise InputError(f"rows names row {ascending[place]} more than once")
    return chosen


def normalise_answer(cell: Any) -> str:
    """Turn a cell into text as :data:`ANSWERS` has it; None becomes empty."""
    return "" if cell is None else str(cell).strip().lower()


def read_frame(
    frame: Any, ids: Any, n_rows: int | None, by: str | None = None
) -> tuple[Ints, Mask, Doubles, list[Any], int | None]:
    """Read pairs (k, 2), same (k,), weights (k,), names and n_rows from a dataframe of pairs.

    Rows whose answer is "unsure" are left out. ``by`` is the column that says who answered, by
    default none; with it names are read in place of weights.
    """
    needed = ("left", "right", "same")
    table = _wrap_frame(frame, needed if by is None else (*needed, by))
    names: list[Any] = []
    if by is not None:
        table = table.drop("weight", strict=False)
        names = table[by].to_list()
    ends, weights, n_rows = _read_rows_and_weights(table, ("left", "right"), ids, n_rows)
    if by is not None and (row := find_first(table[by].is_null().to_numpy())) is not None:
        raise InputError(f"frame row {row} is null in column {by!r}: it must say who answered")
    told, nulls = table["same"].to_list(), table["same"].is_null().to_list()
    said = ["" if null else normalise_answer(cell) for cell, null in zip(told, nulls, strict=True)]
    unknown = np.array([word not in ANSWERS for word in said], dtype=bool)
    if (row := find_first(unknown)) is not None:
        raise InputError(f"frame row {row} has same={told[row]!r}; it must be {EXPECTED}")
    answers = [ANSWERS[word] for word in said]
    same = np.array([answer is True for answer in answers], dtype=bool)
    sure = np.array([answer is not None for answer in answers], dtype=bool)
    refuse_difference_from_itself(ends, "frame row", sure & ~same)
    names = [name for name, told in zip(names, sure.tolist(), strict=False) if told]
    return ends[sure], same[sure], weights[sure], names, n_rows


def read_triplets(
    frame: Any, ids: Any, n_rows: int | None
) -> tuple[Ints, Doubles, int | None] | None:
    """Read triplets (k, 3), weights (k,) and n_rows from a dataframe; None if it has pairs."""
    table = _wrap_frame(frame)
    missing = [name for name in TRIPLET if name not in table.columns]
    if len(missing) == len(TRIPLET):
        return None
    if missing:
        raise InputError(
            f"frame has no column {missing}, which triplets need; its columns are {table.columns}"
        )
    triplets, weights, n_rows = _read_rows_and_weights(table, TRIPLET, ids, n_rows)
    refuse_repeated_points(triplets, "frame row")
    return triplets, weights, n_rows


def read_graded(
    frame: Any, ids: Any, n_rows: int | None, scale: Any
) -> tuple[Ints, Doubles, Doubles, int | None] | None:
    """Read graded pairs (k, 2), grades (k,), weights and n_rows; None if the frame says ``same``.

    Pairs whose grade is null are left out.
    """
    table = _wrap_frame(frame)
    names = [name for name in _GRADED if name in table.columns]
    if not names or "same" in table.columns:
        if scale is not None:
            raise InputError(
                "scale is that of a column similarity or distance, in place of the column same; "
                f"the columns are {table.columns}"
            )
        return None
    if len(names) == 2:
        raise InputError("frame has a column similarity and a column distance: leave one of them")
    name = names[0]
    table = _wrap_frame(frame, ("left", "right", name))
    table = table.filter(~table[name].is_null())
    ends, weights, n_rows = _read_rows_and_weights(table, ("left", "right"), ids, n_rows)
    if len(table) and not table[name].dtype.is_numeric():
        raise InputTypeError(f"column {name!r} is {table[name].dtype}: it must hold numbers")
    ends_of_scale = np.asarray((0, 1) if scale is None else scale)
    if ends_of_scale.shape != (2,) or ends_of_scale.dtype.kind not in "iuf":
        raise InputError(f"scale={scale!r} must be two numbers, the ends of the scale")
    low, high = map(float, ends_of_scale)
    if not -np.inf < low < high < np.inf:
        raise InputError(f"scale={scale!r} must be two finite numbers, the lower one first")
    told = table[name].to_numpy().astype(np.float64)
    if (bad := find_first(~((told >= low) & (told <= high)))) is not None:
        raise InputError(
            f"frame row {bad} has {name}={told[bad]:g}, outside the scale from {low:g} to "
            f"{high:g}: give the ends of the scale, as in scale=(1, 5)"
        )
    share = (told - low) / (high - low)
    grades = share if _GRADED[name] else 1 - share
    refuse_difference_from_itself(ends, "frame row", grades < 1)
    return ends, grades, weights, n_rows


def _wrap_frame(frame: Any, needed: tuple[str, ...] = ()) -> nw.DataFrame[Any]:
    """Wrap a data frame by narwhals; raise if it is none, or lacks a needed column."""
    refuse_non_tables(frame, "frame")
    table = nw.from_native(frame, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        raise InputTypeError(
            f"frame is of type {type(frame).__name__}, not a data frame with the columns left, "
            "right and same: use Pairs(must_link=..., cannot_link=...) for pairs of row numbers"
        )
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise InputError(f"frame has no column {missing}; its columns are {table.columns}")
    return table


def _read_rows_and_weights(
    table: nw.DataFrame[Any], names: tuple[str, ...], ids: Any, n_rows: int | None
) -> tuple[Ints, Doubles, int | None]:
    """Read row numbers from the columns ``names``, (k, columns), weights (k,), and n_rows.

    With ``ids`` the cells are looked up there.
    """
    for name in (*names, "weight"):
        nulls = table[name].is_null().to_numpy() if name in table.columns else np.False_
        if (row := find_first(nulls)) is not None:
            raise InputError(f"frame row {row} is null in column {name!r}; a value is needed")

    columns = [table[name] for name in names]
    if ids is not None:
        position = index_ids(ids)
        if n_rows not in (None, len(position)):
            raise InputError(f"n_rows={n_rows}, but there are {len(position)} ids")
        n_rows = len(position)
        cells = [column.to_list() for column in columns]
        every_name = itertools.chain.from_iterable(cells)
        unknown = list(dict.fromkeys(name for name in every_name if name not in position))
        if unknown:
            first_five = ", ".join(map(repr, unknown[:5])) + ", ..." * (len(unknown) > 5)
            raise InputError(
                f"{len(unknown)} identifiers in {' and '.join(names)} are not in ids: {first_five}"
            )
        rows = [[position[name] for name in column] for column in cells]
        numbers = np.array(rows, dtype=np.int64).T
    else:
        for column in columns:
            if len(table) and not column.dtype.is_integer():
                raise InputTypeError(
                    f"column {column.name!r} is {column.dtype}, but without ids= it must hold "
                    "integer row numbers"
                )
        n_rows = None if n_rows is None else check_count(n_rows, "n_rows", least=0)
        stacked = np.column_stack([column.to_numpy() for column in columns])
        numbers = check_pairs(stacked, "frame row", n_rows, len(names))
    weight = table["weight"].to_numpy() if "weight" in table.columns else None
    return numbers, check_pair_weights(weight, len(table), "weight of frame row"), n_rows


def index_ids(ids: Any) -> dict[Hashable, int]:
    """Map each identifier to its row number, in order."""
    position: dict[Hashable, int] = {}
    for row, name in enumerate(list_values(ids)):
        if position.setdefault(name, row) != row:
            raise InputError(
                f"ids must differ, but {name!r} is both row {position[name]} and {row}"
            )
    return position


def _refuse_unscorable_cut() -> None:
    """Raise if scikit-learn would fit on a part of the pairs, and score without any.

    Without metadata routing it hands pairs to ``fit`` alone, and makes errors of ``score`` NaN.
    """
    if get_config()["enable_metadata_routing"]:
        return
    frame = sys._getframe(2)
    for _ in range(_FRAMES_OF_A_CUT):
        if frame.f_code.co_name == "_fit_and_score":
            known = frame.f_locals
            if known.get("y") is None and isinstance(known.get("scorer"), _PassthroughScorer):
                raise InputError(
                    "there is nothing to judge by: scikit-learn hands pairs to fit, but not to "
                    "score. Use nearkin.grid_search(learner, grid, X, pairs=pairs) or "
                    "nearkin.cross_validate(learner, X, pairs=pairs), or write "
                    "sklearn.set_config(enable_metadata_routing=True) before."
                )
        if frame.f_back is None:
            return
        frame = frame.f_back


def _normalise(must: _Kind, cannot: _Kind, closer: _Kind, graded: _Kind) -> tuple[Any, ...]:
    """Return the parts of :class:`Pairs`, but for ``n_rows``, in normal form."""
    plain = *normalise_pairs(*must), *normalise_pairs(*cannot), *normalise_triplets(*closer)
    return *plain, *_split_graded(*normalise_graded(*graded))


def _split_graded(pairs: Ints, told: Doubles) -> tuple[Ints, Doubles, Doubles]:
    """Return graded pairs, and grades and weights apart."""
    return pairs, told[:, 0].copy(), told[:, 1].copy()


class Pairs:
    """Must-links, cannot-links, triplets and graded pairs of rows of X.

    A must-link says that two rows are alike, a cannot-link that they differ; a triplet (a, b, c)
    says less, that a is nearer to b than to c; a graded pair says how much two rows are alike, from
    0, as a cannot-link, to 1, as a must-link. All are kept in a normal form, so that equal
    knowledge compares equal: the smaller row of a pair first, sorted, each once with the larger of
    its weights. A must-link of a row with itself says nothing and is dropped. The object is
    immutable, and deliberately no array: its length is a number of pairs and triplets, not of
    rows. Where it knows ``n_rows``, it is cut as X is: ``pairs[rows]`` speaks of ``X[rows]``, and
    what of scikit-learn cuts rows, as ``train_test_split(X, pairs)``, cuts both.

    Parameters
    ----------
    must_link, cannot_link : array-like of int, shape (k, 2), default=()
        Pairs of row numbers of X, counted from 0.
    closer : array-like of int, shape (k, 3), default=()
        Triplets (a, b, c) of row numbers: a is nearer to b than to c. They are taken by
        :class:`ITML`, :class:`GeometryAware`, :class:`KernelBeta`, :class:`KernelA` and
        :class:`MetricLearner`; others refuse them. Circles of them are among the :meth:`conflicts`.
    graded : array-like of int, shape (k, 2), default=()
        Pairs of row numbers that were graded. They are targets for distances in :class:`ITML`,
        :class:`GeometryAware`, :class:`KernelA` and :class:`LLMA`, and in :class:`KernelBeta` what
        :meth:`as_weak_pairs` makes of them; others refuse them.
    grades : array-like of float, shape (k,), default=None
        How much alike the rows of each graded pair are, from 0 to 1.
    must_weight, cannot_weight, closer_weight, graded_weight : array-like of float, shape (k,)
        How much each counts, above 0; None, the default, stands for 1 each.
    n_rows : int, default=None
        How many rows X has, when known; a fit with an X of another length is then refused.
        ``pairs + Pairs(n_rows=len(X))`` says it of pairs that are there.

    Attributes
    ----------
    must_link, cannot_link, closer, graded, grades
        As given, but in normal form: read-only arrays of int64, or of float64 for grades.
    must_weight, cannot_weight, closer_weight, graded_weight : read-only float64 arrays (k,)
    n_rows : int or None

    Examples
    --------
    >>> from nearkin import Pairs
    >>> pairs = Pairs(must_link=[(5, 0), (5, 7)], cannot_link=[(0, 2)])
    >>> pairs
    Pairs(2 must-links, 1 cannot-link)
    >>> pairs.must_link.tolist()
    [[0, 5], [5, 7]]
    >>> pairs.closure().cannot_link.tolist()
    [[0, 2], [2, 5], [2, 7]]
    >>> Pairs(closer=[(0, 5, 2)])  # 0 is nearer to 5 than to 2
    Pairs(0 must-links, 0 cannot-links, 1 triplet)
    >>> Pairs(graded=[(0, 5), (0, 2)], grades=[0.9, 0.3])  # 0 is much like 5, little like 2
    Pairs(0 must-links, 0 cannot-links, 2 graded pairs)

    Some of them, and for an X to which rows were added, or of which some are taken:

    >>> pairs.subset([True, False, True]).without([(2, 0)])
    Pairs(1 must-link, 0 cannot-links)
    >>> pairs.extend(n_rows=9).take([7, 5, 2])
    Pairs(1 must-link, 0 cannot-links, n_rows=3)
    >>> pairs.check_rows(7)
    Traceback (most recent call last):
    ...
    nearkin.errors.InputError: must-link (5, 7) names row 7, but X has 7 rows
    """

    must_link: Ints
    cannot_link: Ints
    must_weight: Doubles
    cannot_weight: Doubles
    closer: Ints
    closer_weight: Doubles
    graded: Ints
    grades: Doubles
    graded_weight: Doubles
    n_rows: int | None

    __iter__: ClassVar[None] = None

    def __init__(
        self,
        must_link: ArrayLike = (),
        cannot_link: ArrayLike = (),
        *,
        must_weight: ArrayLike | None = None,
        cannot_weight: ArrayLike | None = None,
        closer: ArrayLike = (),
        closer_weight: ArrayLike | None = None,
        graded: ArrayLike = (),
        grades: ArrayLike | None = None,
        graded_weight: ArrayLike | None = None,
        n_rows: int | None = None,
    ) -> None:
        n_rows = None if n_rows is None else check_count(n_rows, "n_rows", least=0)
        must = check_pairs(must_link, "must_link pair", n_rows)
        cannot = check_pairs(cannot_link, "cannot_link pair", n_rows)
        must_weights = check_pair_weights(must_weight, len(must), "must_weight of pair")
        cannot_weights = check_pair_weights(cannot_weight, len(cannot), "cannot_weight of pair")
        refuse_difference_from_itself(cannot, "cannot_link pair", np.ones(len(cannot), bool))
        telling = must[:, 0] != must[:, 1]
        if not telling.all():
            must, must_weights = must[telling], must_weights[telling]
        triplets = check_pairs(closer, "closer triplet", n_rows, 3)
        weights = check_pair_weights(closer_weight, len(triplets), "closer_weight of triplet")
        refuse_repeated_points(triplets, "closer triplet")
        scaled = check_pairs(graded, "graded pair", n_rows)
        told = check_grades(grades, len(scaled))
        graded_weights = check_pair_weights(graded_weight, len(scaled), "graded_weight of pair")
        refuse_difference_from_itself(scaled, "graded pair", told < 1)
        of_two = scaled[:, 0] != scaled[:, 1]
        self._fill(
            *_normalise(
                (must, must_weights),
                (cannot, cannot_weights),
                (triplets, weights),
                (scaled[of_two], np.column_stack([told, graded_weights])[of_two]),
            ),
            n_rows,
        )

    @property
    def _parts(self) -> tuple[Any, ...]:
        """Values of the attributes that :data:`_PARTS` names."""
        return tuple(getattr(self, name) for name in _PARTS)

    @property
    def _kinds(self) -> tuple[_Kind, _Kind, _Kind, _Kind]:
        """Must-links, cannot-links, triplets and graded pairs, each with what is said of them."""
        return (
            (self.must_link, self.must_weight),
            (self.cannot_link, self.cannot_weight),
            (self.closer, self.closer_weight),
            (self.graded, np.column_stack([self.grades, self.graded_weight])),
        )

    def _fill(self, *parts: Any) -> None:
        """Set the attributes that :data:`_PARTS` names, with arrays made read-only."""
        for array in parts[:-1]:
            array.setflags(write=False)
        self.__dict__.update(zip(_PARTS, parts, strict=True))

    @classmethod
    def _of_normalised(cls, *parts: Any) -> Pairs:
        """Make Pairs of values for :data:`_PARTS` that are in normal form already."""
        pairs = cls.__new__(cls)
        pairs._fill(*parts)
        return pairs

    def __reduce__(self) -> tuple[Any, ...]:
        # Copied and unpickled arrays come back writable: going through _fill seals them again.
        return type(self)._of_normalised, self._parts

    @classmethod
    def from_labels(
        cls,
        y: Any,
        n_pairs: int | None = None,
        *,
        kind: Literal["both", "must", "cannot"] = "both",
        random_state: Any = None,
    ) -> Pairs:
        """Make pairs of class labels: rows of one class are alike, of two classes different.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Classes as whole numbers, strings, booleans or other hashable objects. Negative
            numbers, None, NaN and blank strings mean unknown; such rows take part in no pair.
        n_pairs : int, default=None
            How many to draw, uniformly and without replacement within each kind; None for all.
        kind : {"both", "must", "cannot"}, default="both"
            "both" draws half of each, the odd one a must-link; where one kind has too few pairs
            the other fills up.
        random_state : int, RandomState instance or None, default=None

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs.from_labels([0, 0, 1, -1])
        Pairs(1 must-link, 2 cannot-links, n_rows=4)
        """
        wanted = None if n_pairs is None else check_count(n_pairs, "n_pairs", least=1)
        classes = number_classes(y)
        rng = check_random_state(random_state)
        return cls(*draw_class_pairs(classes, wanted, kind, rng), n_rows=len(classes))

    @classmethod
    def from_frame(
        cls, frame: Any, *, ids: Any = None, n_rows: int | None = None, scale: Any = None
    ) -> Pairs:
        """Read pairs from a dataframe with the columns left, right, same and perhaps weight.

        One with the columns anchor, closer, farther and perhaps weight holds triplets; one with
        ``similarity`` or ``distance`` in place of ``same``, graded pairs.

        Parameters
        ----------
        frame : dataframe
            Any that narwhals knows (pandas, polars, pyarrow, ...). ``same`` is true, 1, "yes" or
            "same" for a must-link, false, 0, "no" or "different" for a cannot-link, in capitals or
            not, and null or empty for unsure: such a pair is left out.
        ids : sequence of hashable, default=None
            The identifier of each row of X, which these columns hold in place of row numbers.
        n_rows : int, default=None
            How many rows X has; taken from ``ids`` where they are given.
        scale : (float, float), default=None
            The ends of the scale of the column similarity, of which the higher is alike, or
            distance, of which the lower is; None for 0 and 1. Pairs without a grade are left out.

        Examples
        --------
        >>> import pandas as pd
        >>> from nearkin import Pairs
        >>> said = pd.DataFrame({"left": ["a", "a"], "right": ["b", "c"], "same": ["yes", "no"]})
        >>> Pairs.from_frame(said, ids=["c", "b", "a"]).must_link.tolist()
        [[1, 2]]
        """
        if (found := read_triplets(frame, ids, n_rows)) is not None:
            closer, weights, n_rows = found
            return cls(closer=closer, closer_weight=weights, n_rows=n_rows)
        if (read := read_graded(frame, ids, n_rows, scale)) is not None:
            graded, grades, weights, n_rows = read
            return cls(graded=graded, grades=grades, graded_weight=weights, n_rows=n_rows)
        ends, same, weights, _, n_rows = read_frame(frame, ids, n_rows)
        return cls(
            ends[same],
            ends[~same],
            must_weight=weights[same],
            cannot_weight=weights[~same],
            n_rows=n_rows,
        )

    def to_frame(
        self, *, ids: Any = None, backend: str | None = None, closer: bool | None = None
    ) -> Any:
        """Write the pairs, or the triplets, as a dataframe that ``from_frame`` reads back.

        Parameters
        ----------
        ids : sequence of hashable, default=None
            The identifier of each row of X, written instead of its number.
        backend : {"pandas", "polars", "pyarrow"}, default=None
            The kind of dataframe; None for the first of these that is installed.
        closer : bool, default=None
            Whether to write triplets; None for what there is, which must be of one kind.

        Returns
        -------
        dataframe
            With the columns left, right, same and weight, must-links first; with the columns
            anchor, closer, farther and weight; or for graded pairs with left, right, similarity
            and weight.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> print(Pairs([(0, 1)], [(1, 2)]).to_frame(ids=["a", "b", "c"], backend="pandas"))
          left right   same  weight
        0    a     b   True     1.0
        1    b     c  False     1.0
        """
        n_pairs = len(self.must_link) + len(self.cannot_link)
        if len(self.graded) and len(self.graded) < len(self):
            raise InputError(
                f"{counted(len(self.graded), 'graded pair')} and what else there is do not fit in "
                "one table: write pairs.without(pairs.graded) and "
                "nearkin.Pairs(graded=pairs.graded, grades=pairs.grades), and add what is read back"
            )
        if closer is None and n_pairs and len(self.closer):
            raise InputError(
                f"{counted(n_pairs, 'pair')} and {counted(len(self.closer), 'triplet')} do not fit "
                "in one table: use to_frame(closer=False) and to_frame(closer=True), and add what "
                "is read back"
            )
        if ids is not None:
            ids = list(index_ids(ids))
            self.check_rows(len(ids))
        names: tuple[str, ...] = ("left", "right")
        if closer or (closer is None and len(self.closer)):
            names, rows = TRIPLET, self.closer
            said: dict[str, Any] = {"weight": self.closer_weight}
        elif len(self.graded):
            rows = self.graded
            said = {"similarity": self.grades, "weight": self.graded_weight}
        else:
            rows = np.concatenate([self.must_link, self.cannot_link])
            said = {"same": np.arange(n_pairs) < len(self.must_link)}
            said["weight"] = np.concatenate([self.must_weight, self.cannot_weight])
        ends = rows.T.tolist()
        if ids is not None:
            ends = [[ids[row] for row in column] for column in ends]
        if backend not in (None, *BACKENDS):
            raise InputError(f"backend must be one of {', '.join(BACKENDS)}, not {backend!r}")
        installed = (name for name in BACKENDS if importlib.util.find_spec(name))
        into: Any = backend or next(installed, None)
        if into is None:
            raise MissingPackageError(
                f"to_frame needs one of {', '.join(BACKENDS)}, and none is installed"
            )
        columns = {**dict(zip(names, ends, strict=True)), **said}
        return nw.from_dict(columns, backend=into).to_native()

    def __len__(self) -> int:
        return sum(len(links) for links, _ in self._kinds)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise InputTypeError(
            "Pairs are not an array: use .graded, .closer, .must_link or .cannot_link"
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Pairs are immutable: cannot set {name!r}; make new Pairs instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Pairs are immutable: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        return all(map(np.array_equal, self._parts, other._parts))

    def __hash__(self) -> int:
        return hash((self.n_rows, *(array.tobytes() for array in self._parts[:-1])))

    def __repr__(self) -> str:
        kinds = zip(_KIND_NAMES, self._kinds, strict=True)
        counts = {name: len(links) for name, (links, _) in kinds}
        parts = [counted(n, name) for name, n in counts.items() if n or name.endswith("-link")]
        if self.n_rows is not None:
            parts.append(f"n_rows={self.n_rows}")
        return f"Pairs({', '.join(parts)})"

    def __add__(self, other: object) -> Pairs:
        """Take the pairs and triplets of both; of one in both, the larger weight.

        A pair that both grade, and not the same, is refused.
        """
        if not isinstance(other, Pairs):
            return NotImplemented
        n_rows = self.n_rows if self.n_rows is not None else other.n_rows
        if other.n_rows not in (None, n_rows):
            raise InputError(
                f"cannot add pairs for {self.n_rows} rows and pairs for {other.n_rows} rows: both "
                "must speak of the same X"
            )
        if n_rows is not None:
            self.check_rows(n_rows)
            other.check_rows(n_rows)
        both = [
            (np.concatenate([links, more]), np.concatenate([weight, more_weight]))
            for (links, weight), (more, more_weight) in zip(self._kinds, other._kinds, strict=True)
        ]
        return self._of_normalised(*_normalise(*both), n_rows)

    @cached_property
    def points(self) -> Ints:
        """The rows named in any pair or triplet, sorted."""
        points = sort_distinct(np.concatenate([links.ravel() for links, _ in self._kinds]))
        points.setflags(write=False)
        return points

    def components(self) -> Ints:
        """Number the groups of points that must-links tie together.

        Returns
        -------
        array of int, aligned with ``points``
            Group of each point, from 0 by first appearance; one without a must-link is alone.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs(must_link=[(0, 5), (5, 7)], cannot_link=[(0, 2)]).components().tolist()
        [0, 1, 0, 0]
        """
        return self.groups.number.copy()

    @cached_property
    def groups(self) -> PairGroups:
        """Groups of rows that must-links tie together, and cannot-links between them."""
        return find_groups(self.points, self.must_link, self.cannot_link)

    def closure(self, max_pairs: int = MOST_LISTED) -> Pairs:
        """Add every pair that follows from those given.

        Must-links are transitive, and a cannot-link holds between all of the one and all of the
        other component. Given pairs keep their weight; an inferred one is only as strong as the
        weakest must-link of its components, and as the strongest cannot-link between them. A
        cannot-link inside one component contradicts it: it is kept as given, and not spread.

        Parameters
        ----------
        max_pairs : int, default=10_000_000
            More are refused.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> everything = Pairs([(0, 1), (1, 2)], [(2, 3)]).closure()
        >>> everything.must_link.tolist(), everything.cannot_link.tolist()
        ([[0, 1], [0, 2], [1, 2]], [[0, 3], [1, 3], [2, 3]])
        """
        must, cannot = (self.must_link, self.must_weight), (self.cannot_link, self.cannot_weight)
        found = infer_pairs(self.groups, must, cannot, max_pairs)
        return self._of_normalised(*found, *self._parts[4:])

    def as_weak_pairs(self) -> Pairs:
        """Replace each triplet by a must-link to its nearer and a cannot-link to its farther row.

        For methods that take pairs only. Either has half the triplet's weight. A graded pair
        becomes a must-link if its grade is above a half and a cannot-link if it is below, of that
        part of its weight by which it is nearer to that end than to the other.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> weak = Pairs(closer=[(0, 1, 2)]).as_weak_pairs()  # 0 is closer to 1 than to 2
        >>> weak.must_link.tolist(), weak.cannot_link.tolist(), weak.must_weight.tolist()
        ([[0, 1]], [[0, 2]], [0.5])
        """
        if not len(self.closer) and not len(self.graded):
            return self
        weight = WEAK * self.closer_weight
        near, far = self.closer[:, [0, 1]], self.closer[:, [0, 2]]
        weak = Pairs(near, far, must_weight=weight, cannot_weight=weight)
        leaning = (self.grades - _UNDECIDED) / _UNDECIDED * self.graded_weight
        alike, differ = leaning > 0, leaning < 0
        judged = Pairs(
            self.graded[alike],
            self.graded[differ],
            must_weight=leaning[alike],
            cannot_weight=-leaning[differ],
        )
        plain = np.arange(len(self)) < len(self.must_link) + len(self.cannot_link)
        return self.subset(plain) + weak + judged

    def conflicts(self) -> list[Conflict | TripletCircle]:
        """Find the cannot-links that the must-links contradict, and circles of triplets.

        Returns
        -------
        list of Conflict and TripletCircle
            A Conflict has the ``cannot_link`` and a ``chain`` of must-links that joins its two
            ends, not always the shortest. A TripletCircle has ``triplets`` that no distances can
            follow, as d(0, 1) < d(0, 2) < d(0, 1); leaving out the last of each leaves none.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> for conflict in Pairs([(3, 5), (5, 9)], [(3, 9), (3, 4)]).conflicts():
        ...     print(conflict)
        rows 3 and 9 cannot be linked, yet 3 = 5 = 9 by must-links
        >>> Pairs(closer=[(0, 1, 2), (2, 0, 1), (1, 2, 0)]).conflicts()[0].told()
        'd(0, 1) < d(0, 2) < d(1, 2) < d(0, 1) by triplets'
        """
        order = find_circles(self.closer)
        circles = [order.circle(*arc) for arc in order.closing]
        return [*find_contradictions(self.groups, self.must_link, self.cannot_link), *circles]

    def check_rows(self, n_rows: int) -> None:
        """Raise ValueError unless the pairs can refer to an X with this many rows."""
        if self.n_rows is not None and self.n_rows != n_rows:
            remedy = "for X[rows] use pairs.restrict(rows)"
            if self.n_rows < n_rows:
                remedy += f"; after rows at the end of X were added, pairs.extend(n_rows={n_rows})"
            raise InputError(
                f"pairs are for {self.n_rows} rows, X has {n_rows}: pairs name rows of the X they "
                f"are given with; {remedy}"
            )
        for kind, (links, _) in zip(_KIND_NAMES, self._kinds, strict=True):
            if (bad := find_first((links >= n_rows).any(axis=1))) is not None:
                said = as_tuple(links[bad])
                raise InputError(f"{kind} {said} names row {max(said)}, but X has {n_rows} rows")

    def extend(self, *, n_rows: int) -> Pairs:
        """Return the same pairs for an X to which rows were added at its end."""
        n_rows = check_count(n_rows, "n_rows", least=0)
        if self.n_rows is not None and n_rows < self.n_rows:
            raise InputError(
                f"pairs for {self.n_rows} rows cannot be extended to {n_rows}: for fewer rows use "
                "pairs.restrict(rows)"
            )
        self._of_normalised(*self._parts[:-1], None).check_rows(n_rows)
        return self._of_normalised(*self._parts[:-1], n_rows)

    def split(self, test_size: float = 0.25, random_state: Any = None) -> tuple[Pairs, Pairs]:
        """Split the pairs at random into two parts, each kind by the same share.

        The parts may share rows, so that a pair of one follows from pairs of the other. To judge a
        learner, hold out rows with their pairs: :class:`nearkin.PairKFold`.

        Parameters
        ----------
        test_size : float or int, default=0.25
            Share of the pairs that go to the second part, or their number.
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        train, test : Pairs

        Examples
        --------
        >>> from nearkin import Pairs
        >>> pairs = Pairs([(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 2), (1, 3), (4, 6), (5, 7)])
        >>> pairs.split(test_size=0.25, random_state=0)
        (Pairs(3 must-links, 3 cannot-links), Pairs(1 must-link, 1 cannot-link))
        """
        sizes = [len(links) for links, _ in self._kinds]
        if isinstance(test_size, bool) or not isinstance(test_size, Real):
            raise InputTypeError(
                f"test_size must be a share or a number of pairs, not {test_size!r}"
            )
        if isinstance(test_size, Integral):
            # What rounding leaves over goes to the kinds in between, so that the sum is right.
            shares = np.cumsum(sizes)[:-1].tolist()
            up_to = [round(test_size * n / max(len(self), 1)) for n in shares]
            counts = np.diff([0, *up_to, int(test_size)]).tolist()
        elif 0 < test_size < 1:
            counts = [round(test_size * size) for size in sizes]
        else:
            raise InputError(f"test_size={test_size} is no share between 0 and 1, nor an integer")
        if not 0 < sum(counts) < len(self):
            raise InputError(
                f"test_size={test_size} of {len(self)} pairs puts {sum(counts)} on the "
                "test side; each side must get at least one"
            )
        rng = check_random_state(random_state)
        in_test = np.zeros(len(self), dtype=bool)
        start = 0
        for (links, _), count in zip(self._kinds, counts, strict=True):
            in_test[start + rng.permutation(len(links))[:count]] = True
            start += len(links)
        return self.subset(~in_test), self.subset(in_test)

    def subset(self, chosen: ArrayLike) -> Pairs:
        """Return some of the pairs and triplets, by a boolean for each.

        Parameters
        ----------
        chosen : array-like of bool, shape (len(pairs),)
            Must-links first, then cannot-links, triplets and graded pairs, in their order.
        """
        mask = np.asarray(chosen)
        if mask.shape != (len(self),) or mask.dtype.kind != "b":
            raise InputError(
                f"subset takes a boolean for each of the {len(self)} pairs, got {mask.dtype} of "
                f"shape {mask.shape}"
            )
        kept: list[Any] = []
        for links, weights in self._kinds:
            chosen_now, mask = np.split(mask, [len(links)])
            kept += links[chosen_now], weights[chosen_now]
        return self._of_normalised(*kept[:-2], *_split_graded(*kept[-2:]), self.n_rows)

    def without(self, links: ArrayLike) -> Pairs:
        """Return the pairs without some pairs of rows, or without some triplets.

        Parameters
        ----------
        links : array-like of int, shape (k, 2) or (k, 3)
            In any order; those that are not there change nothing. ``pairs.without(pairs.closer)``
            leaves out all triplets.
        """
        if np.shape(links)[1:] == (3,):
            said = check_pairs(links, "triplet", None, 3)
        else:
            said = np.sort(check_pairs(links, "pair", None), axis=1)
        gone = set(map(tuple, said.tolist()))
        given = [tuple(link) for kind, _ in self._kinds for link in kind.tolist()]
        return self.subset(np.array([link not in gone for link in given], dtype=bool))

    def restrict(self, rows: ArrayLike) -> Pairs:
        """Keep the pairs among some rows of X, renumbered to fit ``X[rows]``.

        Parameters
        ----------
        rows : array-like of int or bool
            Row numbers, each once, or a mask over the rows of X.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs([(0, 5), (2, 5)]).restrict([5, 1, 2]).must_link.tolist()
        [[0, 2]]
        """
        if (mask := np.asarray(rows)).dtype.kind == "b" and self.n_rows in (None, len(mask)):
            self.check_rows(len(mask))
        chosen = _check_row_numbers(rows, self.n_rows)
        place = index_places(chosen)

        def inside(links: Ints, weights: Doubles) -> tuple[Ints, Doubles]:
            places = place(links)
            kept = (places >= 0).all(axis=1)
            return places[kept], weights[kept]

        kinds = _normalise(*(inside(*kind) for kind in self._kinds))
        return self._of_normalised(*kinds, len(chosen))

    def take(self, rows: ArrayLike, axis: int = 0) -> Pairs:
        """Keep the pairs among some rows of X: ``restrict`` by the name that data frames have."""
        _refuse_unscorable_cut()
        return self.restrict(rows)

    @property
    def shape(self) -> tuple[int]:
        """How many rows of X the pairs speak of: (n_rows,).

        scikit-learn looks here to see whether a parameter is to be cut together with X. If it is
        not, X alone is cut, and row numbers mean other rows than before: so this raises ValueError
        where ``n_rows`` is not known.
        """
        # Not an AttributeError, which would read as "has no shape, so it is left whole".
        if self.n_rows is None:
            raise InputError(
                "these pairs do not say how many rows X has, so they cannot be cut together with "
                "it, and left whole they would name wrong rows of a part of X. Use "
                "nearkin.cross_validate(learner, X, pairs=pairs, cv=nearkin.PairKFold(5)) or "
                "nearkin.grid_search; for other functions of scikit-learn, give "
                "pairs + nearkin.Pairs(n_rows=len(X))."
            )
        return (self.n_rows,)

    def __getitem__(self, rows: Any) -> Pairs:
        """Keep the pairs among some rows of X, as ``restrict`` does; slices of rows work too."""
        _refuse_unscorable_cut()
        if isinstance(rows, slice):
            rows = np.arange(*self.shape)[rows]
        if np.ndim(rows) == 0:
            raise InputTypeError(
                f"pairs[{rows!r}]: Pairs are cut by rows of X, as in pairs[rows]; triplets are "
                "in .closer, single pairs in .must_link and .cannot_link"
            )
        return self.restrict(rows)

    @property
    def iloc(self) -> Pairs:
        """The pairs themselves, as they are cut by row number.

        Data frames have it too, and scikit-learn cuts what has it without making an array of it.
        """
        return self

    loc = iloc
