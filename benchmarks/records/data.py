"""Tables of records with the truth of who is who, some to tune on and others to report on.

``records/NAME.csv.gz`` in the folder ``NEARKIN_DATA`` has a record in each line, with its ``id``,
its ``entity`` and columns of text. Within tables of pairs, of groups of dozens and of two sources
to link, a coin (``RandomState(39)``) said once which are tuned on.
"""

from __future__ import annotations

import csv
import gzip
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import in_folder
from benchmarks.records.made import organisations
from nearkin.datasets import make_records
from nearkin.tables.reading import Column

TUNED = ("febrl1", "febrl3", "sites", "abt_buy", "imdb_tmdb")
REPORTED = ("rldata500", "restaurants", "cora", "febrl2", "febrl4")
# Made anew from seed to seed; on seeds below ten they were tuned.
MADE = ("affiliations", "holders")
DATA = (*REPORTED, *TUNED, *MADE)
FIRST_REPORTED_SEED = 10
# Two tables in one, of which each thing has one record in either.
LINKED = ("abt_buy", "febrl4", "imdb_tmdb", "restaurants")
# What is no description of a thing, and the number that nearly gives the answer away.
LEFT_OUT = ("id", "entity", "source", "soc_sec_id")
# What columns of made-up people hold that are not names.
KINDS = {"born": "code", "phone": "code", "postcode": "code"}

Columns = dict[str, list[str | None]]


class Records(NamedTuple):
    """A table, the number of the thing that each record is of, and its source if it is linked."""

    table: Columns
    entity: np.ndarray
    side: np.ndarray | None


def given(name: str, seed: int) -> Records:
    """A table; those that are made up differ from seed to seed."""
    if name not in MADE:
        return records(name)
    seed += FIRST_REPORTED_SEED
    one_column = name == "affiliations"
    things, largest = (150, 60) if one_column else (200, 300)
    return Records(*organisations(things, largest, seed, one_column=one_column), None)


@cache
def records(name: str) -> Records:
    """A table of the folder; the records of the left source come first."""
    with gzip.open(in_folder(f"records/{name}.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    side = None
    if name in LINKED:
        rows.sort(key=lambda row: row["source"])
        side = np.array([row["source"] != rows[0]["source"] for row in rows])
    names = [name for name in rows[0] if name not in LEFT_OUT]
    entity = np.unique([row["entity"] for row in rows], return_inverse=True)[1]
    return Records({name: [row[name] or None for row in rows] for name in names}, entity, side)


def people(n_records: int, seed: int, **options: Any) -> tuple[list[Column], np.ndarray]:
    """Records that are made up, with options of ``make_records``."""
    table, person = make_records(n_records, random_state=seed, **options)
    return [Column(name, KINDS.get(name, "name"), values) for name, values in table.items()], person
