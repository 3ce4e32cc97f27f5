"""What is nearest to three images, by plain and by learned distance: docs/start/vectors.md."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import nearkin as nk

RIGHT, WRONG = "#009E73", "#B0B0B0"
SHOWN = (0, 1, 2)

images, digit = load_digits(return_X_y=True)
images, digit = images[:1000], digit[:1000]
down, across = np.mgrid[-1:1:8j, -1:1:8j].reshape(2, 64)
light = np.random.default_rng(0).normal(scale=8, size=(1000, 3))
vectors = images + light @ [np.ones(64), down, across]

pairs = nk.Pairs.from_labels(digit[:800], 100, random_state=0)
metric = nk.MetricLearner(random_state=0).fit(vectors[:800], pairs=pairs)
searches = {
    "nearest by plain distance": nk.NeighborIndex().add(vectors[:800]),
    "nearest by learned distance": nk.NeighborIndex(metric).add(vectors[:800]),
}

figure, axes = plt.subplots(
    len(SHOWN), 13, figsize=(9, 2.5), width_ratios=[1, 0.4, *[1] * 5, 0.4, *[1] * 5]
)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
for line, which in zip(axes, SHOWN, strict=True):
    row = 800 + which
    line[0].imshow(vectors[row].reshape(8, 8), cmap="gray_r")
    for first, index in zip((2, 8), searches.values(), strict=True):
        _, found = index.query(vectors[row : row + 1], 5)
        for ax, other in zip(line[first:], found[0], strict=False):
            ax.imshow(vectors[other].reshape(8, 8), cmap="gray_r")
            ax.spines[:].set(
                visible=True, linewidth=3, color=RIGHT if digit[other] == digit[row] else WRONG
            )
axes[0, 0].set_title("new")
for first, title in zip((4, 10), searches, strict=True):
    axes[0, first].set_title(title)
