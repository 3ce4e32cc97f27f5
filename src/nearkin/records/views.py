"""Records that share a rare value of one column, whatever all their other cells say.

What two records share as a whole shows them as candidates only while most of their cells are as
they were. A phone number that two of a million records have shows them too, when all else is
garbled or missing. So each column is a view of its own: records with a value that is rare in it
are candidates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Ints
from nearkin.pairs.closure import keys_of, pairs_across, pairs_within, sorted_once
from nearkin.records.grams import Bytes, cells_of
from nearkin.rows.parallel import compiled
from nearkin.tables.reading import Column

Keys = NDArray[np.uint64]
Sides = NDArray[np.int8]

# A value is rare if there are so many pairs of records with it at most: of four records. Pairs for
# each record that one column may add, from the rarest values on.
_PAIRS_OF_A_VALUE = 6
_PAIRS_PER_RECORD = 0.5


def value_keys(column: Column, *, exact: bool = False) -> Keys:
    """A number for each value of a column, 0 for missing ones.

    Of codes letters and digits count only, unless it is to be exact.

    Notes
    -----
    Memory: the texts once more as bytes, and 8 bytes a record.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.records.views import value_keys
    >>> from nearkin.tables.reading import Column
    >>> phones = np.array(["310/246-1501", "310-246-1501", "246", None], dtype=object)
    >>> same, also, other, missing = value_keys(Column("phone", "code", phones))
    >>> bool(same == also), bool(same == other), int(missing)
    (True, False, 0)
    """
    cells = cells_of(column, 0)
    keys = np.empty(len(column), dtype=np.uint64)
    _hash(cells.buffer, cells.ends, column.kind == "code" and not exact, keys)
    return keys


def pairs_of_rare_values(keys: Keys, sides: Sides) -> Ints:
    """Pairs of records that share a rare value, each as one number (``numbering.keys_of``).

    A value is rare if four records have it at most, or if it gives six pairs between two tables.
    Values are taken from the rarest on, as long as there is no more than one pair for two records.

    Parameters
    ----------
    keys : uint64 ndarray of shape (n,)
        Equal for equal values, 0 for missing ones.
    sides : int8 ndarray of shape (n,)
        1 and 2 for records of two tables, of which pairs have one each; 0 for those of one table.

    Returns
    -------
    int64 ndarray
        Increasing.

    Notes
    -----
    O(n log n) time, and some 40 bytes a record.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.pairs.closure import ends_of
    >>> from nearkin.records.views import pairs_of_rare_values
    >>> keys = np.array([7, 9, 7, 0, 0, 5, 5, 5], dtype=np.uint64)
    >>> ends_of(pairs_of_rare_values(keys, np.zeros(8, dtype=np.int8))).tolist()
    [[0, 2], [5, 6], [5, 7], [6, 7]]
    """
    order = np.lexsort((sides, keys))
    order = order[np.searchsorted(keys[order], 1) :]
    starts = np.flatnonzero(np.diff(keys[order], prepend=np.uint64(0)))
    sizes = np.diff(starts, append=len(order))
    two_tables = bool(sides.any())
    first = np.add.reduceat(sides[order] < 2, starts) if two_tables and len(starts) else sizes
    count = first * (sizes - first) if two_tables else sizes * (sizes - 1) // 2
    rare = _rare(count, int(_PAIRS_PER_RECORD * len(keys)))
    numbers = np.arange(count[rare].sum())
    if two_tables:
        rest = sizes - first
        found, _ = pairs_across(
            numbers, starts[rare], first[rare], (starts + first)[rare], rest[rare]
        )
    else:
        found, _ = pairs_within(numbers, starts[rare], sizes[rare])
    return sorted_once(keys_of(order[found]))


def _rare(count: Ints, most: int) -> Ints:
    """Rare values that give so many pairs at most together; all that are as rare, or none."""
    order = np.argsort(count, kind="stable")
    total = np.cumsum(count[order])
    common = count[order[total > most]].min(initial=_PAIRS_OF_A_VALUE + 1)
    return np.flatnonzero((count > 0) & (count < common))


@compiled()
def _hash(buffer: Bytes, ends: Ints, plain: bool, out: Keys) -> None:
    """Hash each text; if it is to be plain, without what is neither letter nor digit."""
    start = 0
    for record in range(len(out)):
        mixed = np.uint64(0)
        for place in range(start, ends[record]):
            byte = buffer[place]
            letter = (48 <= byte < 58) or (65 <= byte < 91) or (97 <= byte < 123) or byte > 127
            if plain and not letter:
                continue
            mixed = (mixed ^ np.uint64(byte + 1)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        out[record] = mixed
        start = ends[record] + 1
