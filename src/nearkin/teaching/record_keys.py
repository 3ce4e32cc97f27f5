"""The names under which a journal speaks of records, and the rows that have them now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nearkin.errors import InputError
from nearkin.teaching.identity import Identity, told_apart


class RecordKeys:
    """Names of records: their ids, or digests of their cells where there is no id of their own.

    A record is found by its id, and if no row has that alone, by its cells. So answers find their
    records in whatever order they are, beside others, and with other columns; and nobody takes one
    record for another that has been given its id too.

    Parameters
    ----------
    identity : Identity
        Of the rows that are here.
    id_name : str or None
        The column of ids.
    columns : sequence of str
        Whose cells tell records apart; none for a matrix.

    Attributes
    ----------
    by_id, by_cells : bool
        Whether rows have ids, and whether all of the columns are here.

    Examples
    --------
    >>> from nearkin.teaching.identity import identity_of
    >>> from nearkin.teaching.record_keys import RecordKeys
    >>> table, kinds = {"id": ["p7", "p9", "p9"]}, {"id": "text"}
    >>> keys = RecordKeys(identity_of(table, kinds, 3, "id"), "id", ["id"])
    >>> keys.name(0), keys.row("p7"), keys.row("p8")
    ('p7', 0, None)
    >>> keys.row(keys.name(2))
    2
    """

    def __init__(self, identity: Identity, id_name: str | None, columns: Sequence[str]) -> None:
        contents, ids = identity.contents(columns), identity.ids(id_name)
        self.by_id, self.by_cells = ids is not None, contents is not None
        self._cells = None if contents is None else told_apart(contents)
        n_of_id = Counter(ids or ())
        own = [one if n_of_id[one] == 1 else None for one in ids or [None] * identity.n_rows]
        self._ids = own
        self._row_of_id = {one: row for row, one in enumerate(own) if one is not None}
        self._row_of_cells = {one: row for row, one in enumerate(self._cells or ())}

    def name(self, row: int) -> str:
        """What a row is called: InputError if it cannot be told from others."""
        name = self._ids[row] or self.cells(row)
        if name is None:
            raise InputError(
                f"row {row} has no id of its own, and columns that tell it from others are not "
                "here: nothing can be kept of it."
            )
        return name

    def cells(self, row: int) -> str | None:
        """What tells a row from others by its cells, if that is known."""
        return None if self._cells is None else self._cells[row]

    def is_id(self, row: int) -> bool:
        """Whether a row is called by its id."""
        return self._ids[row] is not None

    def row(self, name: str, cells: str | None = None) -> int | None:
        """The row of a name, or else of the cells that it had; None if it is not here."""
        found = self._row_of_id.get(name)
        return self._row_of_cells.get(cells or name) if found is None else found
