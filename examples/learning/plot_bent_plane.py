"""
LLMA bends the plane
====================

What does a smooth, non-linear metric do to space itself?

:class:`nearkin.LLMA` moves the points that pairs name, and everything near goes along with them.
The map is defined everywhere, so that we can send a grid through it and look.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from sklearn.datasets import make_moons

import nearkin as nk

X, y = make_moons(300, noise=0.1, random_state=0)
pairs = nk.Pairs.from_labels(y, 40, random_state=0)
metric = nk.LLMA(random_state=0).fit(X, pairs=pairs)

# %%
# Lines of a square grid, before and after:

across, down = np.linspace(X.min(axis=0) - 0.3, X.max(axis=0) + 0.3, 30).T
fine = np.linspace(0, 1, 200)
lines = [np.column_stack([np.full(200, x), down[0] + fine * np.ptp(down)]) for x in across]
lines += [np.column_stack([across[0] + fine * np.ptp(across), np.full(200, z)]) for z in down]

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, title, view in (
    (axes[0], "before", lambda rows: rows),
    (axes[1], "learned from 40 pairs", metric.transform),
):
    grid = LineCollection([view(line) for line in lines], color="0.75", linewidth=0.6)
    ax.add_collection(grid)
    auc = nk.scores.pair_auc(view(X), y)
    nk.plot.embedding(view(X), y, ax=ax, title=f"{title}: pair AUC {auc:.2f}")
    ax.set(xticks=[], yticks=[])

# %%
# Where each point has gone. Those that pairs name lead, and others follow.

Z = metric.transform(X)
ax = nk.plot.motion(X - X.mean(axis=0), Z - Z.mean(axis=0), y, size=18)
ax.set(xticks=[], yticks=[])
