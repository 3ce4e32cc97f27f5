"""Whether rows are records, such as people: known by words rather than by numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearkin.errors import InputError
from nearkin.rows.access import evenly_spaced
from nearkin.tables.columns import Kind
from nearkin.tables.kinds import kinds_of
from nearkin.tables.reading import Cells, read_table, some_cells

# Rows that tell.
MOST_LOOKED_AT = 2000


def are_records(table: Mapping[str, Sequence[Any]]) -> bool:
    """Whether rows are known by words, and there are no numbers beside them but codes and dates.

    Parameters
    ----------
    table : dict of lists

    Examples
    --------
    >>> from nearkin.teaching.record_kinds import are_records
    >>> people = {"name": ["Ada", "Alan"], "phone": [3012345, 1715551]}
    >>> are_records(people), are_records({**people, "age": [36, 41]})
    (True, False)
    """
    cells, kinds = _looked_at(table)
    return _have_names(cells, kinds) and not {"number", "vector"} & set(kinds.values())


def kinds_by_cells(table: Mapping[str, Sequence[Any]]) -> dict[str, Kind]:
    """What columns hold, as far as some of their cells tell; nothing of what are no cells."""
    return _looked_at(table)[1]


def _looked_at(table: Mapping[str, Sequence[Any]]) -> tuple[list[Cells], dict[str, Kind]]:
    """Some cells of a table, and what columns hold as far as these tell."""
    n = min(map(len, table.values()), default=0)
    some = evenly_spaced(n, MOST_LOOKED_AT).tolist() if n else []
    try:
        cells = read_table({name: some_cells(of, some) for name, of in table.items()})
    except InputError:  # objects that can be shown, but are no cells of a table
        return [], {}
    return cells, kinds_of(cells) if some else {}


def _have_names(cells: Sequence[Cells], kinds: Mapping[str, Kind]) -> bool:
    telling = ("name", "text", "code")
    return any(one.form == "text" and kinds.get(one.name) in telling for one in cells)
