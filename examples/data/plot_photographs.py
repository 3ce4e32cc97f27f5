"""
Photographs: which patches are of one picture?
==============================================

A patch of 12 by 12 pixels is cut from one of two photographs. Can a distance tell which patches
belong together, whatever the light?

Patches are made darker or brighter at random, as pictures are by the weather. Brightness is what
plain distances see first.

The learner was chosen after ten had been compared on these very rows: its pair AUC is flattering;
honest figures are under :doc:`/measured/index`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images
from sklearn.decomposition import PCA

import nearkin as nk

SIDE = 12
rng = np.random.default_rng(0)
photographs = [image[::2, ::2] / 255 for image in load_sample_images().images]


def patch(image):
    """Pixels of a piece of a photograph, in some light."""
    row, column = (rng.integers(length - SIDE) for length in image.shape[:2])
    piece = image[row : row + SIDE, column : column + SIDE]
    return np.clip(piece * rng.uniform(0.3, 1.6), 0, 1).ravel()


y = rng.integers(2, size=600)
X = np.array([patch(photographs[number]) for number in y])
name = np.array(["temple", "flower"])[y]

# %%
# Patches as they come:

figure, axes = plt.subplots(2, 10, figsize=(9, 2), layout="constrained")
for row, kind in zip(axes, ("temple", "flower"), strict=True):
    for ax, pixels in zip(row, X[name == kind], strict=False):
        ax.imshow(pixels.reshape(SIDE, SIDE, 3))
        ax.set_axis_off()

# %%
# A hundred pairs of 300 patches. The 432 numbers of a patch go along 30 principal axes first: a
# :class:`nearkin.Chain` does both, and is a metric like any other.

pairs = nk.Pairs.from_labels(y[:300], 100, random_state=0)
metric = nk.Chain([PCA(30, random_state=0), nk.CosineMetric(kernel="rbf", random_state=0)])
metric.fit(X[:300], pairs=pairs)
new = slice(300, None)
axes = nk.plot.side_by_side({"pixels": X[new], "learned": metric.transform(X[new])}, name[new])

# %%
# The same points as the patches themselves:

# sphinx_gallery_thumbnail_number = 3
places = nk.plot.in_the_plane(metric.transform(X[new]))
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
ax.scatter(*places.T, s=0)
half = np.ptp(places, axis=0).max() / 60
for (x, y_), pixels in zip(places, X[new].reshape(-1, SIDE, SIDE, 3), strict=True):
    ax.imshow(pixels, extent=(x - half, x + half, y_ - half, y_ + half), zorder=2)
low, high = places.min(axis=0) - 2 * half, places.max(axis=0) + 2 * half
ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
