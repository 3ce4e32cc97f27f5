"""
A learned metric in a vector store
==================================

Can a database search by a learned distance?

A learned distance is the Euclidean one between vectors, so that any store that searches by L2
distance can serve it: store what the metric makes of rows, and transform each query before you ask.
Here the store is an index of faiss; others are filled the same way.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import faiss
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import nearkin as nk

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, train_size=800, test_size=200, random_state=0)
metric = nk.ITML(n_components=16, random_state=0)
metric = metric.fit(X, pairs=nk.Pairs.from_labels(y, 500, random_state=0))

# %%
# An index of the library has the vectors, and writes them to files for other stores:
# ``index.export("vectors.parquet")`` for DuckDB, LanceDB or pgvector, or ``.npy``.

index = nk.NeighborIndex(metric).add(X.astype(np.float32))
with TemporaryDirectory() as folder:
    path = Path(folder, "vectors.npy")
    index.export(path)
    vectors = np.load(path).astype(np.float32)

# %%
# Into the store, which compares by L2 distance:

store = faiss.IndexHNSWFlat(vectors.shape[1], 16)
store.add(vectors)

# %%
# And a query: the five nearest to each new picture. faiss gives squared distances.

queries = metric.transform(X_new.astype(np.float32)).astype(np.float32)
squared, rows = store.search(queries, 5)
print(f"of the five found, {np.mean(y[rows] == y_new[:, None]):.0%} show the digit of the query")

# %%
# The store finds what the library's own index finds, at the same distances:

expected, ids = index.query(X_new.astype(np.float32), 5)
print(f"{np.mean([np.isin(a, b).mean() for a, b in zip(rows, ids, strict=True)]):.1%} of the rows")
assert np.allclose(np.sqrt(squared[:, 0]), expected[:, 0], rtol=1e-3, atol=1e-3)

# %%
# Queries in the first column, and what was found beside them:

shown = np.concatenate([[X_new[number], *X[rows[number]]] for number in range(4)])
titles = ["query", "found", *[""] * 22]
axes = nk.plot.pictures(shown, (8, 8), titles=titles, n_columns=6)
