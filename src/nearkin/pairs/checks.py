"""Checks of what a person enters as pairs: errors name the pair and say what would be right."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Doubles, Ints, Mask
from nearkin.errors import InputError, InputTypeError, counted


def first_true(bad: Mask | np.bool_) -> int | None:
    """Give the position of the first true value, if there is one."""
    return int(bad.argmax()) if bad.any() else None


def as_tuple(pair: NDArray[Any]) -> tuple[Any, ...]:
    """Give a pair as Python numbers, to be named in a message."""
    return tuple(pair.tolist())


def checked_count(value: object, name: str, *, least: int) -> int:
    """Give an integer argument, or say what it must be."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputTypeError(f"{name} must be an integer, not {value!r}")
    if value < least:
        raise InputError(f"{name} must be {least} or more, not {value}")
    return int(value)


def checked_pairs(values: Any, item: str, n_rows: int | None) -> Ints:
    """Give pairs as a (k, 2) integer array, or say which ``item`` ("must_link pair") is wrong."""
    right = "a list of pairs of row numbers, like [(0, 5), (2, 3)]"
    return _checked_rows(values, 2, item, right, n_rows)


def checked_triplets(values: Any, item: str, n_rows: int | None) -> Ints:
    """Give triplets as a (k, 3) integer array, or say which ``item`` is wrong."""
    right = "a list of triplets of row numbers, like [(0, 5, 2)] for 0 nearer to 5 than to 2"
    return _checked_rows(values, 3, item, right, n_rows)


def _checked_rows(values: Any, width: int, item: str, right: str, n_rows: int | None) -> Ints:
    """Row numbers by pairs or triplets, as an integer array with as many columns."""
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
        wrong = first_true((pairs < 0).any(axis=1))
        raise InputError(
            f"{item} {wrong} is {as_tuple(array[wrong])}: row numbers count from 0, and a negative "
            "one does not count from the end"
        )
    if n_rows is not None and pairs.max(initial=-1) >= n_rows:
        wrong = first_true((pairs >= n_rows).any(axis=1))
        raise InputError(
            f"{item} {wrong} is {as_tuple(pairs[wrong])}, but n_rows={n_rows}: row numbers must be "
            "below it"
        )
    return pairs


def _are_scalars(entry: Any, count: int) -> bool:
    return hasattr(entry, "__len__") and len(entry) == count and all(map(np.isscalar, entry))


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, float)) and value == value // 1


def checked_weights(values: Any, count: int, item: str) -> Doubles:
    """Give the weights of ``count`` pairs, or say which ``item`` (as "weight of row") is wrong."""
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
    if (wrong := first_true(~((weights > 0) & np.isfinite(weights)))) is not None:
        raise InputError(f"{item} {wrong} is {weights[wrong]}: weights must be finite and above 0")
    return weights


def refuse_difference_from_itself(pairs: Ints, item: str, differ: Mask) -> None:
    """Raise if one of the pairs that ``differ`` marks names the same row twice."""
    if (bad := first_true(differ & (pairs[:, 0] == pairs[:, 1]))) is not None:
        row = pairs[bad, 0]
        raise InputError(f"{item} {bad} is ({row}, {row}): row {row} cannot differ from itself")


def counts_to_test(test_size: float, *sizes: int) -> list[int]:
    """How many of each kind, must-links first, a share or a number of pairs sets aside."""
    n_pairs = sum(sizes)
    if isinstance(test_size, bool) or not isinstance(test_size, Real):
        raise InputTypeError(f"test_size must be a share or a number of pairs, not {test_size!r}")
    if isinstance(test_size, Integral):
        # What rounding leaves over goes to the kinds in between, so that the sum is right.
        up_to = [round(test_size * n / max(n_pairs, 1)) for n in np.cumsum(sizes)[:-1].tolist()]
        counts = np.diff([0, *up_to, int(test_size)]).tolist()
    elif 0 < test_size < 1:
        counts = [round(test_size * size) for size in sizes]
    else:
        raise InputError(f"test_size={test_size} is no share between 0 and 1, nor an integer")
    if not 0 < sum(counts) < n_pairs:
        raise InputError(
            f"test_size={test_size} of {n_pairs} pairs puts {sum(counts)} on the "
            "test side; each side must get at least one"
        )
    return counts


def chosen_rows(rows: Any, n_rows: int | None) -> Ints:
    """Give row numbers of X, each once, of numbers or of a mask; or say what is wrong."""
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
    if (place := first_true(outside)) is not None:
        most = "" if n_rows is None else f" to {n_rows - 1}"
        raise InputError(f"rows[{place}] is {chosen[place]}: row numbers run from 0{most}")
    ascending = np.sort(chosen)
    if (place := first_true(ascending[1:] == ascending[:-1])) is not None:
        raise InputError(f"rows names row {ascending[place]} more than once")
    return chosen
