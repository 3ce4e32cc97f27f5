"""LLMA bends the plane: the same grid before and after, with the rows on it."""

import numpy as np
from _shared import GREY, panels, show
from sklearn.datasets import make_moons

import nearkin as nk

X, y = make_moons(200, noise=0.08, random_state=0)
pairs = nk.Pairs.from_labels(y, 20, random_state=0)
metric = nk.LLMA(random_state=0).fit(X, pairs=pairs)

axes = panels(2, 4.2, 3.4)
low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
fine = [np.linspace(a, b, 80) for a, b in zip(low, high, strict=True)]
coarse = [np.linspace(a, b, 15) for a, b in zip(low, high, strict=True)]
lines = [np.column_stack([np.full(80, x), fine[1]]) for x in coarse[0]]
lines += [np.column_stack([fine[0], np.full(80, x)]) for x in coarse[1]]
for ax, place in zip(axes, (lambda Z: Z, metric.transform), strict=True):
    for line in lines:
        ax.plot(*place(line).T, color=GREY, lw=0.5, zorder=0)
show(axes[0], X, y, "two moons, 20 pairs", pairs)
show(axes[1], metric.transform(X), y, "the plane as LLMA bends it")
