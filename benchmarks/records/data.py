"""Person records of the Febrl generator, with the truth of who is who.

``records/NAME.csv.gz`` in the folder ``NEARKIN_DATA`` has a record in each line, with its ``id``,
its ``entity`` and columns of text.
"""

from __future__ import annotations

import csv
import gzip
from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors

from benchmarks.data import in_folder
from nearkin import Pairs

DATA = ("febrl1", "febrl3", "febrl4")
# What is no description of a person, and the number that nearly gives the answer away.
LEFT_OUT = ("id", "entity", "source", "soc_sec_id")
N_COLUMNS = 120
# Rows that look like another one: so many, the nearest to it.
_NEIGHBOURS = 5


class Records(NamedTuple):
    """Rows, and the number of the person that each is about."""

    X: np.ndarray
    entity: np.ndarray


@cache
def records(name: str) -> Records:
    """Character n-grams of all cells of a record, weighted by TF-IDF, along 120 leading axes."""
    with gzip.open(in_folder(f"records/{name}.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [" ".join(row[c] for c in row if c not in LEFT_OUT) for row in rows]
    entity = np.unique([row["entity"] for row in rows], return_inverse=True)[1]
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), sublinear_tf=True)
    axes = TruncatedSVD(N_COLUMNS, random_state=0)
    return Records(axes.fit_transform(grams.fit_transform(texts)), entity)


@cache
def _near_pairs(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Every row with each of its neighbours, once; and which of them are of one person."""
    X, entity = records(name)
    near = NearestNeighbors(n_neighbors=_NEIGHBOURS + 1).fit(X).kneighbors(X)[1]
    links = np.column_stack([np.repeat(near[:, 0], _NEIGHBOURS), near[:, 1:].ravel()])
    links = np.unique(np.sort(links, axis=1), axis=0)
    links = links[links[:, 0] != links[:, 1]]
    return links, entity[links[:, 0]] == entity[links[:, 1]]


def look_alikes(name: str, n_pairs: int, seed: int) -> Pairs:
    """Pairs of near rows, drawn at random: half are of one person, half are of two."""
    links, same = _near_pairs(name)
    rng = np.random.RandomState(seed)
    must, cannot = (
        links[rng.choice(np.flatnonzero(same == kind), n_pairs // 2, replace=False)]
        for kind in (True, False)
    )
    return Pairs(must, cannot, n_rows=len(records(name).entity))
