"""Records of people and restaurants, with the truth of who is who.

``records/NAME.csv.gz`` in the folder ``NEARKIN_DATA`` has a record in each line, with its ``id``,
its ``entity`` and columns of text.
"""

from __future__ import annotations

import csv
import gzip
from functools import cache

import numpy as np

from benchmarks.data import in_folder
from nearkin.datasets import make_records
from nearkin.tables.reading import Column

DATA = ("febrl1", "febrl2", "febrl3", "febrl4", "restaurants", "rldata500")
# What is no description of a thing, and the number that nearly gives the answer away.
LEFT_OUT = ("id", "entity", "source", "soc_sec_id")
# What columns hold that are not names.
KINDS = {
    "born": "code", "by": "number", "bm": "number", "bd": "number", "date_of_birth": "code",
    "phone": "code", "postcode": "code", "state": "category", "street_number": "code",
    "type": "category",
}  # fmt: skip

Records = tuple[list[Column], np.ndarray]


@cache
def records(name: str) -> Records:
    """The columns of a set, and the number of the thing that each record is of."""
    with gzip.open(in_folder(f"records/{name}.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name not in LEFT_OUT]
    entity = np.unique([row["entity"] for row in rows], return_inverse=True)[1]
    return [_column(name, [row[name] for row in rows]) for name in names], entity


def people(n_records: int, seed: int, mistakes: float = 1.5) -> Records:
    """Records that are made up."""
    table, person = make_records(n_records, mistakes=mistakes, random_state=seed)
    return [Column(name, KINDS.get(name, "name"), values) for name, values in table.items()], person


def _column(name: str, cells: list[str]) -> Column:
    kind = KINDS.get(name, "name")
    texts = [" ".join(cell.lower().split()) or None for cell in cells]
    if kind == "number":
        return Column(name, kind, np.array([np.nan if t is None else float(t) for t in texts]))
    return Column(name, kind, np.array(texts, dtype=object))
