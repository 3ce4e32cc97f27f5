"""Adjusted Rand indices by held-out pairs beside the true ones, and a chain of blocks."""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

import nearkin as nk
from nearkin.clustering.clusters import HeldOutRates, share_together

X, y = load_digits(return_X_y=True)
X, y = PCA(10, random_state=0).fit_transform(X)[:600], y[:600]
pairs = nk.Pairs.from_labels(y, 120, random_state=0)
links = np.concatenate([pairs.must_link, pairs.cannot_link])
same = np.arange(len(links)) < len(pairs.must_link)
groupings = [
    family(k).fit_predict(X)
    for k in (2, 3, 4, 5, 7, 10, 14, 20)
    for family in (
        lambda k: KMeans(k, n_init=1, random_state=0),
        lambda k: AgglomerativeClustering(k),
        lambda k: AgglomerativeClustering(k, linkage="average"),
    )
]
together = np.array([g[links[:, 0]] == g[links[:, 1]] for g in groupings], dtype=float)
shares = np.array([share_together(g) for g in groupings])
expected = HeldOutRates(together, same, np.ones(len(links)), shares, 0.1).estimate_indices()
true = [adjusted_rand_score(y, g) for g in groupings]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
left.plot([-0.05, 0.9], [-0.05, 0.9], color="0.6", linewidth=1)
left.plot(true, expected, "o", markersize=4)
left.set(xlabel="adjusted Rand index", ylabel="expected by 120 pairs")
left.set_aspect("equal")

across = [0, 1, 2, 3, 0.4, 4.2, 5, 4.6, 2.6]
places = np.column_stack([across, [2, 1.2, 2.1, 1.1, 0.2, 1.9, 0.9, 0, 0.1]])
group = np.array([0, 1, 0, 1, 0, 0, 1, 0, 1])
joined = [(0, 1), (1, 2), (2, 3), (5, 6), (6, 7)]
chain = [0, 1, 2, 3]
for i, j in joined:
    right.plot(*places[[i, j]].T, color="0.4", linewidth=1, zorder=0)
for number, marker in ((0, "o"), (1, "s")):
    of_group = places[group == number]
    right.plot(*of_group.T, marker, markersize=13, label=f"group {number + 1}")
right.plot(*places[chain].T, "x", color="white", markersize=7, markeredgewidth=2)
right.set(title="the four with a cross change places", xticks=[], yticks=[], xlim=(-0.5, 5.6))
right.set_ylim(-0.8, 2.6)
right.legend(loc="lower left", ncols=2, fontsize=8)
for spine in right.spines.values():
    spine.set_visible(False)
