"""Put a learned metric into a vector database.

A learned distance is the Euclidean distance between vectors, so any database that searches vectors
by Euclidean (L2) distance can serve it: export the vectors, load them there, and transform each
query with the metric before you ask. Here images of digits, with the database played by a file
that is read back and compared with one by one. Run it to get ``vectors.parquet``, ``vectors.npy``
and ``neighbors.png``.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow.parquet as pq
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from nearkin import ITML, NeighborIndex, Pairs

mpl.use("Agg")
import matplotlib.pyplot as plt

N_QUERIES, N_NEIGHBORS = 5, 6


def nearest_by_comparing(
    vectors: np.ndarray, names: np.ndarray, queries: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What a database does: the smallest L2 distances, and whose they are."""
    distances = np.linalg.norm(queries[:, None] - vectors[None], axis=2)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :N_NEIGHBORS]
    return np.take_along_axis(distances, nearest, axis=1), names[nearest]


def draw(images: dict[str, np.ndarray], queries: np.ndarray, found: np.ndarray) -> None:
    """Each query with its neighbours beside it."""
    figure, axes = plt.subplots(N_QUERIES, 1 + N_NEIGHBORS, figsize=(7, 5.2), layout="constrained")
    for row, query, names in zip(axes, queries, found, strict=True):
        for ax, pixels in zip(row, [query, *(images[name] for name in names)], strict=True):
            ax.imshow(pixels.reshape(8, 8), cmap="gray_r")
            ax.set_axis_off()
    axes[0, 0].set_title("query")
    axes[0, 1].set_title("nearest", loc="left")
    figure.savefig("neighbors.png", dpi=90)
    print("picture:", Path("neighbors.png").resolve())


def main() -> None:
    """Learn a metric, export vectors, and search them as a database would."""
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=200, random_state=0)
    names = [f"image-{number:04}" for number in range(len(X))]
    metric = ITML(random_state=0).fit(X, pairs=Pairs.from_labels(y, 500, random_state=0))

    index = NeighborIndex(metric).add(X, ids=names)
    index.export("vectors.parquet")  # columns id and vector: for DuckDB, LanceDB, pgvector, ...
    index.export("vectors.npy")  # the vectors alone, in the order of index.ids

    table = pq.read_table("vectors.parquet")
    stored_names = np.array(table["id"].to_pylist())
    stored = np.stack(table["vector"].to_numpy())
    assert np.array_equal(stored, np.load("vectors.npy"))

    distances, found = nearest_by_comparing(stored, stored_names, metric.transform(X_new))
    expected, ids = index.query(X_new, N_NEIGHBORS)
    assert np.array_equal(found, ids)
    assert np.allclose(distances, expected)
    rows = np.searchsorted(stored_names, found)
    every = metric.distance(X_new, X)
    assert np.allclose(distances, np.take_along_axis(every, rows, axis=1))

    print(f"{len(stored)} vectors of {stored.shape[1]} numbers: found there are the rows, and the")
    print("distances, that the learned metric says.")
    print(f"neighbours that show the same digit: {np.mean(y[rows] == y_new[:, None]):.1%}")
    draw(dict(zip(names, X, strict=True)), X_new[:N_QUERIES], found[:N_QUERIES])


if __name__ == "__main__":
    main()
