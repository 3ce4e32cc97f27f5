"""UMAP of learned coordinates: ``python -m benchmarks.studio_map.umap_rival ROWS.npz``.

Runs in an environment of its own, which has umap-learn: each array Z of the file is laid out, and
its 10-NN accuracy by ``y`` printed with the seconds that it took, the first with compilation.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np


def accuracy(places: np.ndarray, y: np.ndarray) -> float:
    """Share of the rows that most of the 10 nearest others in the plane are like."""
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=10).fit(places).kneighbors(return_distance=False)
    return float(np.mean(np.array([np.bincount(y[some]).argmax() for some in near]) == y))


def laid_out(path: str) -> list[dict[str, Any]]:
    start = time.perf_counter()
    import umap  # type: ignore[import-not-found, import-untyped, unused-ignore]

    rows = []
    with np.load(path) as arrays:
        names = [key.removeprefix("Z ") for key in arrays if key.startswith("Z ")]
        for name in names:
            Z, y = arrays[f"Z {name}"], arrays[f"y {name}"]
            places = umap.UMAP(random_state=0).fit_transform(Z)
            seconds = time.perf_counter() - start
            rows.append({"set": name, "umap": accuracy(places, y), "umap_seconds": seconds})
            start = time.perf_counter()
    return rows


if __name__ == "__main__":
    for row in laid_out(sys.argv[1]):
        print(json.dumps(row))
