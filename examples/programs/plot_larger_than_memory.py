"""
Larger than memory: from file to file
=====================================

How can a metric be learned from a Parquet file that does not fit into memory?

:func:`nearkin.open_rows` reads block by block, and so do the learners: the metric is the one that
the same rows would give in memory. The file here has 100 000 rows, so that it is quick; it may have
a thousand times as many.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import nearkin as nk

N_ROWS, N_GROUP = 100_000, 20_000
COLUMNS = [f"x{i}" for i in range(8)]
folder = TemporaryDirectory()
measured, learned = Path(folder.name, "measured.parquet"), Path(folder.name, "learned.parquet")

# %%
# A file as such files come about, some rows at a time. Two columns tell two kinds apart, but only
# together; six are noise.

rng = np.random.default_rng(0)
kinds = []
schema = pa.schema([("id", pa.string()), *((name, pa.float32()) for name in COLUMNS)])
with pq.ParquetWriter(measured, schema) as file:
    for start in range(0, N_ROWS, N_GROUP):
        corners, kind = nk.datasets.make_xor(N_GROUP, random_state=start)
        noise = rng.normal(scale=0.1, size=(N_GROUP, len(COLUMNS) - 2))
        block = np.hstack([corners, noise]).astype(np.float32)
        names = [f"row-{start + i}" for i in range(N_GROUP)]
        file.write_table(pa.table({"id": names, **dict(zip(COLUMNS, block.T, strict=True))}))
        kinds.append(kind)
kind = np.concatenate(kinds)

# %%
# A hundred pairs name rows by their numbers in the file.

pairs = nk.Pairs.from_labels(kind, 100, random_state=0)
rows = nk.open_rows(measured, columns=COLUMNS, carry=["id"])
metric = nk.KernelBeta(n_landmarks=300, n_components=2, random_state=0).fit(rows, pairs=pairs)

# %%
# All rows, from one file to another, with their ids; the new file is there whole or not at all.

metric.transform(rows).write(learned)
about = pq.read_metadata(learned)
print(f"{about.num_rows} rows of {', '.join(about.schema.names)}")

# %%

some = np.sort(rng.choice(N_ROWS, 800, replace=False))
spaces = {
    "as measured": rows.take(some),
    "learned": nk.open_rows(learned, columns=["kernelbeta0", "kernelbeta1"]).take(some),
}
axes = nk.plot.side_by_side(spaces, kind[some])
folder.cleanup()
