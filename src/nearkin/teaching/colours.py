"""Colours of the points: a column, a feature, or clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from nearkin.errors import InputError
from nearkin.messages import silenced
from nearkin.rows.parallel import blocks, one_blas_thread
from nearkin.teaching.taught_metric import View

# Features that one may colour by.
MOST_FEATURES = 200
# Kinds that a column is coloured by; all others are one more.
_MOST_KINDS = 50
# Whole numbers of at most so many values are kinds, not amounts.
_FEW_NUMBERS = 20
# Rows that clusters are found among; all others join the nearest.
_MOST_CLUSTERED = 20_000
_BLOCK = 16_384
_OTHERS = "(others)"


def kind_of(values: Sequence[Any]) -> str | None:
    """``"numbers"``, ``"categories"``, or None if colours would say nothing of this column."""
    told = [value for value in values if not _is_empty(value)]
    if not told:
        return None
    if all(isinstance(value, (int, float, np.number)) for value in told):
        if any(isinstance(value, bool) for value in told):
            return "categories"
        whole = all(float(value).is_integer() for value in told)
        return "categories" if whole and len(set(told)) <= _FEW_NUMBERS else "numbers"
    try:
        n_kinds = len(set(told))
    except TypeError:  # lists and the like
        return None
    return "categories" if n_kinds <= max(_FEW_NUMBERS, len(told) // 2) else None


def colours_of_column(values: Sequence[Any], kind: str) -> dict[str, Any]:
    """Numbers and what they mean: ``kind``, ``categories``, ``range`` and ``values``.

    Parameters
    ----------
    values : sequence
    kind : {"numbers", "categories"}
    """
    if kind == "numbers":
        return colours_of_numbers([np.nan if _is_empty(v) else float(v) for v in values])
    counts = Counter(value for value in values if not _is_empty(value))
    common = [value for value, _ in counts.most_common(_MOST_KINDS)]
    try:
        common.sort()
    except TypeError:  # of several types
        common.sort(key=str)
    number = {value: k for k, value in enumerate(common)}
    names = [str(value)[:100] for value in common]
    if len(counts) > len(common):
        names.append(_OTHERS)
    found = [np.nan if _is_empty(value) else number.get(value, len(common)) for value in values]
    return _categories(names, np.array(found, dtype=np.float32))


def colours_of_numbers(values: Any) -> dict[str, Any]:
    """Colours of amounts, and the range of these."""
    found = np.asarray(values, dtype=np.float32)
    told = found[np.isfinite(found)]
    ends = [float(told.min()), float(told.max())] if len(told) else [0.0, 0.0]
    found = np.where(np.isfinite(found), found, np.float32(np.nan))
    return {"kind": "numbers", "categories": None, "range": ends, "values": found}


@one_blas_thread()
def clusters_of(view: View, n_rows: int, n_clusters: int, seed: int) -> NDArray[np.int64]:
    """Number of each row's cluster by k-means in the learned metric, the largest first.

    Of more than 20 000 rows, clusters are found among so many.
    """
    if not 1 <= n_clusters <= n_rows:
        raise InputError(f"there can be 1 to {n_rows} clusters, not {n_clusters}.")
    rng = np.random.RandomState(seed)
    some = np.arange(n_rows)
    if n_rows > _MOST_CLUSTERED:
        some = np.sort(rng.choice(n_rows, _MOST_CLUSTERED, replace=False))
    with silenced():  # scikit-learn warns of fewer different rows than clusters
        means = KMeans(n_clusters, n_init=3, random_state=seed).fit(view.embedding(some))
    found = np.empty(n_rows, dtype=np.int64)
    for block in blocks(n_rows, _BLOCK):
        found[block] = means.predict(view.embedding(np.arange(n_rows)[block]))
    order = np.argsort(-np.bincount(found, minlength=n_clusters), kind="stable")
    return np.asarray(np.argsort(order)[found])


def colours_of_clusters(clusters: NDArray[np.int64]) -> dict[str, Any]:
    """Colours of clusters, by their numbers."""
    sizes = np.bincount(clusters)
    names = [f"cluster {k + 1} ({size} rows)" for k, size in enumerate(sizes.tolist())]
    return _categories(names, clusters.astype(np.float32))


def _categories(names: list[str], values: NDArray[np.float32]) -> dict[str, Any]:
    return {"kind": "categories", "categories": names, "range": None, "values": values}


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and not np.isfinite(value))
