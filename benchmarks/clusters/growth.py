"""Many rows, clusters and cannot-links: time and memory as they grow."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.record import peak_memory_gb
from nearkin import Clusters, Pairs

SIZES = (7_500, 15_000, 30_000, 60_000)
N_CLUSTERS = 100
# Cannot-links for each row: a million for 60 000.
_CANNOT_LINKS = 1_000_000 / 60_000
_MUST_LINKS = 0.1


def problem(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, Pairs]:
    """Rows around a hundred centres, some of which are near, with pairs of nearly all of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(N_CLUSTERS, size=n)
    centres = rng.normal(0, 1.2, (N_CLUSTERS, 10))
    X = centres[y] + rng.normal(0, 0.6, (n, 10))
    same = Pairs.from_labels(y, round(_MUST_LINKS * n), kind="must", random_state=seed)
    apart = Pairs.from_labels(y, round(_CANNOT_LINKS * n), kind="cannot", random_state=seed)
    return X, y, same + apart + Pairs(n_rows=n)


def measure(n: int, seed: int) -> list[dict[str, Any]]:
    """One fit, with the number of groups to be found."""
    X, y, pairs = problem(n, seed)
    start = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Clusters(random_state=seed).fit(X, pairs=pairs)
    seconds = perf_counter() - start
    labels = found.labels_
    broken = (labels[pairs.must_link[:, 0]] != labels[pairs.must_link[:, 1]]).sum()
    broken += (labels[pairs.cannot_link[:, 0]] == labels[pairs.cannot_link[:, 1]]).sum()
    return [
        {
            "seconds": round(seconds, 2),
            "memory_gb": round(peak_memory_gb(), 2),
            "n_groups": found.n_clusters_,
            "ari": round(float(adjusted_rand_score(y, labels)), 4),
            "broken": int(broken),
            "n_cannot": len(pairs.cannot_link),
        }
    ]
