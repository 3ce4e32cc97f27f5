"""Clusters of rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer

from nearkin.cli.failures import UserError
from nearkin.cli.messages import is_watched
from nearkin.clustering.clusters import Clusters
from nearkin.clustering.constraints import PairsError
from nearkin.clustering.mpck_means import MPCKMeans
from nearkin.pairs.pairs import Pairs


def clusters(
    method: str, X: Any, n_clusters: int, min_size: int, pairs: Pairs | None, seed: int
) -> NDArray[np.integer]:
    """Number of the cluster of each row, or -1 for none, by a method that is named."""
    if method == "hdbscan":
        if len(X) < min_size:
            raise UserError(f"--min-size {min_size}: there are only {len(X)} rows.")
        return np.asarray(HDBSCAN(min_cluster_size=min_size, copy=True).fit_predict(X))
    if n_clusters > len(X):
        raise UserError(f"--clusters {n_clusters}: there are only {len(X)} rows.")
    if method == "mpck":
        found = MPCKMeans(n_clusters, random_state=seed).fit_predict(X, pairs=pairs)
        return np.asarray(found)
    return np.asarray(KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(X))


def found_clusters(
    X: Any,
    n_clusters: int | tuple[int, int] | None,
    pairs: Pairs | None,
    seed: int,
    *,
    mapped: bool,
    soft: bool,
    ids: Any = None,
) -> tuple[NDArray[np.integer], list[str]]:
    """Number of the cluster of each row, and what there is to say of that, line by line.

    ``mapped`` says that rows are where a model puts them, so that no metric is to be learned;
    ``ids``, an array of pyarrow, what to call rows.
    """
    least = n_clusters[0] if isinstance(n_clusters, tuple) else n_clusters
    if least is not None and least > len(X):
        raise UserError(f"--clusters {least}: there are only {len(X)} rows.")

    def name(row: int) -> str:
        return str(row) if ids is None else repr(ids[row].as_py())

    metric = FrozenEstimator(FunctionTransformer().fit(X[:1])) if mapped else None
    keep = "soft" if soft else "hard"
    found = Clusters(n_clusters, metric=metric, keep=keep, verbose=is_watched(), random_state=seed)
    try:
        found.fit(X, pairs=pairs)
    except PairsError as error:
        raise UserError(error.tell(name, "--clusters ", "--soft")) from error
    lines = [f"{found.report_.summary}. {found.report_.reason}"]
    broken = found.broken_
    for links, saved, should in (
        (broken.must_link, broken.must_saved, "the same"),
        (broken.cannot_link, broken.cannot_saved, "different"),
    ):
        for (left, right), cost in zip(links.tolist(), saved.tolist(), strict=True):
            dearer = f": {cost:.2g} dearer" if np.isfinite(cost) else ""
            rows = f"rows {name(left)} and {name(right)}"
            lines.append(f"{rows}, {should} by the pairs, are not{dearer}.")
    return np.asarray(found.labels_), lines


def bounds_of(text: str | None) -> int | tuple[int, int] | None:
    """A number of clusters, or the least and the most, as typed: 10 or 5-20."""
    if text is None:
        return None
    parts = text.split("-")
    if len(parts) > 2 or not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise UserError(f"--clusters {text}: use a number, such as 10, or two, such as 5-20.")
    numbers = [int(part) for part in parts]
    if len(numbers) == 1:
        return numbers[0]
    if numbers[0] > numbers[1]:
        raise UserError(f"--clusters {text}: the first number is the least, the second the most.")
    return numbers[0], numbers[1]
