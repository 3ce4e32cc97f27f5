"""Learn from a Parquet file that need not fit into memory, and write what it becomes.

The file here has 200 000 rows, so that the program is quick; it may have a thousand times as many,
since only some of them are in memory at any time. A row is a measurement in twelve columns. Two of
them tell the two kinds apart, but only together: each kind has two opposite corners. A hundred
pairs of rows were compared by hand. Run it to get ``measured.parquet``, ``learned.parquet`` and
``larger_than_memory.png``.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nearkin import Euclidean, KernelBeta, Pairs, open_rows
from nearkin.datasets import make_xor

mpl.use("Agg")
import matplotlib.pyplot as plt

N_ROWS, N_GROUP = 200_000, 20_000
COLUMNS = [f"x{i}" for i in range(12)]


def measure(path: str) -> None:
    """Write the file as such files come about: some rows at a time."""
    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, N_ROWS, N_GROUP):
        corners, kind = make_xor(N_GROUP, random_state=start)
        noise = rng.normal(scale=0.1, size=(N_GROUP, len(COLUMNS) - 2))
        rows = np.hstack([corners, noise]).astype(np.float32)
        names = pa.array([f"row-{start + i}" for i in range(N_GROUP)])
        table = pa.table({"id": names, "kind": kind, **dict(zip(COLUMNS, rows.T, strict=True))})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def draw(before: np.ndarray, after: np.ndarray, kind: np.ndarray) -> None:
    """Some rows as they were measured and as they were learned, coloured by their kind."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
    for ax, points, title in zip(axes, (before, after), ("measured", "learned"), strict=True):
        ax.scatter(*points.T, c=kind, s=4, cmap="coolwarm")
        ax.set_title(title)
        ax.set_aspect("equal", adjustable="datalim")  # distances are what was learned
        ax.set_xticks([])
        ax.set_yticks([])
    figure.savefig("larger_than_memory.png", dpi=90)
    print("picture:", Path("larger_than_memory.png").resolve())


def main() -> None:
    """From one file to another, by way of a learned metric."""
    measure("measured.parquet")
    kind = pq.read_table("measured.parquet", columns=["kind"])["kind"].to_numpy()
    pairs = Pairs.from_labels(kind, 100, random_state=0)  # pairs name rows by their numbers
    others = Pairs.from_labels(kind, 2000, random_state=1)

    rows = open_rows("measured.parquet", columns=COLUMNS, carry=["id"])
    metric = KernelBeta(n_landmarks=300, n_components=2, random_state=0).fit(rows, pairs=pairs)
    plain = Euclidean(random_state=0).fit(rows, pairs=pairs)
    print(rows)
    print(f"pair AUC of other pairs: {metric.score(rows, pairs=others):.3f}, ", end="")
    print(f"by the Euclidean distance {plain.score(rows, pairs=others):.3f}")

    metric.transform(rows).write("learned.parquet")  # whole, or not at all
    learned = pq.ParquetFile("learned.parquet")
    print(f"written: {learned.metadata.num_rows} rows of {', '.join(learned.schema_arrow.names)}")

    some = np.random.default_rng(0).choice(N_ROWS, 2000, replace=False)
    after = open_rows("learned.parquet", columns=["kernelbeta0", "kernelbeta1"]).take(some)
    assert np.allclose(after, metric.transform(rows).take(some), atol=1e-5)
    draw(rows.take(some)[:, :2], after, kind[some])


if __name__ == "__main__":
    main()
