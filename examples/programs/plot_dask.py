"""
Dask: rows that stay on the workers
===================================

What if the rows are on a cluster of machines?

Learners of ``nearkin.dask`` take dask arrays and data frames. Workers make the sums over their
rows; only landmarks and rows of pairs come to the client. The cluster here has two workers within
this process; with another address it is one of a hundred machines.
"""

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import nearkin as nk
from nearkin.dask import DaskKernelBeta

X, y = nk.datasets.make_xor(20_000, random_state=0)
pairs = nk.Pairs.from_labels(y, 60, random_state=0)

# %%
# Learn there, map the rows there, and bring a plain metric home:

with (
    LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster,
    Client(cluster) as client,
):
    rows = da.from_array(X, chunks=(5000, 2)).persist()
    far = DaskKernelBeta(n_landmarks=200, n_components=2, random_state=0, client=client)
    far.fit(rows, pairs=pairs)
    Z = far.transform(rows)  # a dask array: nothing is computed yet
    print(Z)
    some = np.asarray(Z[::40].compute())
    home = far.to_local()

# %%
# It is the metric that the same rows give in memory:

here = nk.KernelBeta(n_landmarks=200, n_components=2, random_state=0).fit(X, pairs=pairs)
assert np.allclose(home.distance(X[:50]), here.distance(X[:50]), atol=1e-6)
axes = nk.plot.side_by_side({"rows": X[::40], "learned on the cluster": some}, y[::40])
