"""
XOR, moons, rings and spirals
=============================

Which learner can follow which shape?

Four shapes that no straight line can take apart, forty pairs each, and three learners: ``ITML``,
whose metric is linear; ``KernelBeta``, which weighs directions of a kernel's feature space; and
``GeometryAware``, which goes along the data themselves.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons

import nearkin as nk


def make_spirals(n, random_state):
    """Two arms around each other."""
    rng = np.random.default_rng(random_state)
    y = rng.integers(2, size=n)
    turn = 3 * np.pi * np.sqrt(rng.uniform(0.05, 1, size=n))
    angle = turn + np.pi * y
    return np.column_stack([turn * np.cos(angle), turn * np.sin(angle)]) / 9, y


SHAPES = {
    "XOR": nk.datasets.make_xor(300, random_state=0),
    "moons": make_moons(300, noise=0.08, random_state=0),
    "rings": make_circles(300, noise=0.06, factor=0.5, random_state=0),
    "spirals": make_spirals(300, random_state=0),
}
LEARNERS = {
    "ITML": nk.ITML(random_state=0),
    "KernelBeta": nk.KernelBeta(random_state=0),
    "GeometryAware": nk.GeometryAware(random_state=0),
}

# %%
# A row for each shape: the data with their pairs, and what the learners make of them. Pair AUC is
# of all rows; most of them are in no pair.

figure, axes = plt.subplots(4, 4, figsize=(10, 10), layout="constrained")
for row, (shape, (X, y)) in zip(axes, SHAPES.items(), strict=True):
    pairs = nk.Pairs.from_labels(y, 40, random_state=0)
    nk.plot.embedding(X, y, pairs=pairs, ax=row[0], title=shape)
    for ax, (name, learner) in zip(row[1:], LEARNERS.items(), strict=True):
        Z = learner.fit(X, pairs=pairs).transform(X)
        nk.plot.embedding(Z, y, ax=ax, title=f"{name}: {nk.scores.pair_auc(Z, y):.2f}")
for ax in axes.ravel():
    ax.set(xticks=[], yticks=[])
