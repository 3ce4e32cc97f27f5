"""
A tree of kinds
===============

Which kinds are next of kin, and where should the tree be cut?

With ``families=["linkage"]`` the rows are joined two by two, the most alike first, and no join
breaks a pair. The tree can be cut at any number of groups.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import nearkin as nk

X, y = load_digits(n_class=6, return_X_y=True)
X, y = X[:120], y[:120]
pairs = nk.Pairs.from_labels(y, 60, random_state=0)
clusters = nk.Clusters(6, metric=nk.ITML(random_state=0), families=["linkage"], random_state=0).fit(
    X, pairs=pairs
)

# %%
# Below the tree stand the digits that pictures show, which only the picture knows. Rows that
# must-links put together are one leaf.

figure, ax = plt.subplots(figsize=(11, 4.6), layout="constrained")
nk.plot.tree(clusters, names=[str(digit) for digit in y], ax=ax)

# %%
# One example of each group: its row nearest to the middle.

axes = nk.plot.pictures(X[clusters.medoids_], (8, 8))
