"""One record for each thing, with the cells of those that are known of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np

from nearkin._types import Ints
from nearkin.records.given import are_columns
from nearkin.rows.validation import frame_of
from nearkin.tables.reading import read_table
from nearkin.tables.roles import names_rows


def canonical(table: Any, labels: Ints) -> Any:
    """One record for each thing: of each column the cell that most of its records have.

    Upper case and spaces make no difference. Of cells that are equally frequent, the longest text
    is taken, or else that of the first record, whose id it has, too; a cell is missing if all are.

    Parameters
    ----------
    table : data frame, dict of lists, array, or list of Column
    labels : int ndarray of shape (n,)
        The thing that each record is of, from 0.

    Returns
    -------
    data frame, dict of lists or array
        As the table is, with cells as they are there, in the order of the labels. A dict of arrays
        for a list of Column.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.records.canonical import canonical
    >>> canonical({"name": ["Ann", "ANN ", "Bo"], "size": [None, 7, 8]}, np.array([0, 0, 1]))
    {'name': ['Ann', 'Bo'], 'size': [7, 8]}
    """
    if are_columns(table):
        return {one.name: one.values[_chosen(one.name, one.values, labels)] for one in table}
    rows = [_chosen(cells.name, cells.values, labels) for cells in read_table(table)]
    if isinstance(table, Mapping):
        chosen = zip(table.items(), rows, strict=True)
        return {name: [list(values)[row] for row in places] for (name, values), places in chosen}
    frame = frame_of(table)
    if frame is None:
        return np.asarray(table, dtype=object)[np.column_stack(rows), np.arange(len(rows))]
    columns = {
        name: frame.get_column(name)[places.tolist()]
        for name, places in zip(frame.columns, rows, strict=True)
    }
    found = nw.from_dict(columns, backend=frame.implementation)
    return nw.maybe_reset_index(found).to_native()


def _chosen(name: str, values: Any, labels: Ints) -> Ints:
    """For each thing, the record whose cell it has."""
    if values.ndim > 1 or names_rows(name):
        return np.unique(labels, return_index=True)[1]
    return chosen_rows(values, labels)


def chosen_rows(values: Any, labels: Ints) -> Ints:
    """For each label, the first row with its most frequent value; its first row if all are missing.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Of numbers, with NaN where one is missing, or texts, with None.
    labels : int ndarray of shape (n,)
        From 0, all of them.
    """
    is_number = values.dtype.kind == "f"
    there = np.flatnonzero(~np.isnan(values) if is_number else [v is not None for v in values])
    different, code = np.unique(values[there], return_inverse=True)
    keys = labels[there].astype(np.int64) * max(len(different), 1) + code.ravel()
    kept, first, often = np.unique(keys, return_index=True, return_counts=True)
    label, value = np.divmod(kept, max(len(different), 1))
    length = np.zeros(len(different)) if is_number else np.array([*map(len, different)], dtype=int)
    rows = np.unique(labels, return_index=True)[1]
    # The last of each label is its best.
    order = np.lexsort((-first, length[value], often, label))
    rows[label[order]] = there[first[order]]
    return rows
