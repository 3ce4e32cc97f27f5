"""ColumnWeights: three columns of twenty matter, and few pairs tell which."""

import numpy as np
from _shared import BLUE, GREY, panels

import nearkin as nk

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 20))
y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0) + 4 * (X[:, 2] > 0)
colours = [BLUE] * 3 + [GREY] * 17
for ax, n_pairs in zip(panels(3, 3.2, 2.8, sharey=True), (20, 60, 200), strict=True):
    pairs = nk.Pairs.from_labels(y, n_pairs, random_state=0)
    metric = nk.ColumnWeights(random_state=0).fit(X, pairs=pairs)
    ax.bar(range(1, 21), metric.weights_, color=colours)
    ax.axhline(1, color="black", lw=0.8)
    ax.set_title(f"{n_pairs} pairs: pair AUC {metric.score(X, y):.2f}", fontsize=10)
    ax.set(xlabel="column", xticks=[1, 5, 10, 15, 20])
    if n_pairs == 20:
        ax.set_ylabel("weight (1: as Euclidean)")
