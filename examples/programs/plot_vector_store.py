"""
A learned metric in a vector store
==================================

Can a database search by a learned distance?

A learned distance is the Euclidean one between vectors, so that any store that searches by L2
distance can serve it: store what the metric makes of rows, and transform each query before you ask.
Here the store is sqlite-vec, an extension of SQLite: one file, no server.
"""

import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import sqlite_vec
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import nearkin as nk

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, train_size=800, test_size=200, random_state=0)
metric = nk.ITML(n_components=16, random_state=0)
metric.fit(X, pairs=nk.Pairs.from_labels(y, 500, random_state=0))

# %%
# An index of the library has the vectors, and writes them to files for other stores:
# ``index.export("vectors.parquet")`` for DuckDB, LanceDB or pgvector, or ``.npy``.

index = nk.NeighborIndex(metric).add(X.astype(np.float32))
with TemporaryDirectory() as folder:
    path = Path(folder, "vectors.npy")
    index.export(path)
    vectors = np.load(path).astype(np.float32)

# %%
# Into the database:

store = sqlite3.connect(":memory:")
store.enable_load_extension(True)
sqlite_vec.load(store)
store.execute(f"create virtual table pictures using vec0(vector float[{vectors.shape[1]}])")
store.executemany(
    "insert into pictures(rowid, vector) values (?, ?)",
    [(row, vector.tobytes()) for row, vector in enumerate(vectors)],
)

# %%
# And a query: the five nearest to each new picture.

FIND = "select rowid, distance from pictures where vector match ? order by distance limit 5"
queries = metric.transform(X_new.astype(np.float32)).astype(np.float32)
found = [store.execute(FIND, [query.tobytes()]).fetchall() for query in queries]
rows = np.array([[row for row, _ in hits] for hits in found])
print(f"of the five found, {np.mean(y[rows] == y_new[:, None]):.0%} show the digit of the query")

# %%
# The store finds the rows, and the distances, that the library's own index does:

expected, ids = index.query(X_new.astype(np.float32), 5)
distances = np.array([[distance for _, distance in hits] for hits in found])
assert np.allclose(distances, expected, rtol=1e-3, atol=1e-3)

# %%
# Queries in the first column, and what was found beside them:

shown = np.concatenate([[X_new[number], *X[rows[number]]] for number in range(4)])
titles = ["query", "found", *[""] * 22]
axes = nk.plot.pictures(shown, (8, 8), titles=titles, n_columns=6)
store.close()
