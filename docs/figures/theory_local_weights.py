"""Weights of rows over landmarks, and what they make of coordinates of the landmarks."""

import numpy as np
from matplotlib import pyplot as plt

from nearkin.spaces.feature_space import LocalExtension, NystroemExtension
from nearkin.spaces.kernels import Kernel, center_kernel
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.spaces.linalg import leading_eigenpairs

rng = np.random.default_rng(3)
points = np.array([(i + 0.3 * (j % 2), j) for j in range(3) for i in range(4)], dtype=float)
points += 0.15 * rng.standard_normal(points.shape)
landmarks = KernelLandmarks(Kernel("rbf", 0.5), points)
local = LocalExtension(landmarks, 3)
values, vectors = leading_eigenpairs(center_kernel(landmarks.kernel_matrix()), 1e-6)
nystroem = NystroemExtension(landmarks, values, vectors)

side = np.linspace(-0.6, 3.9, 181), np.linspace(-0.6, 2.6, 129)
plane = np.stack(np.meshgrid(*side), axis=-1).reshape(-1, 2)
coordinate = np.sin(2 * points[:, :1]) + points[:, 1:] / 2
coordinate -= coordinate.mean()
chosen = 5
maps = {
    "weight of one landmark": local.embed(plane, np.eye(len(points)))[:, chosen],
    "a coordinate, local": local.embed(plane, coordinate)[:, 0],
    "a coordinate, Nyström": nystroem.embed(plane, coordinate)[:, 0],
}

figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), sharey=True)
for ax, (title, height) in zip(axes, maps.items(), strict=True):
    limit = 1.0 if "weight" in title else np.abs(coordinate).max()
    shades = ax.imshow(
        height.reshape(len(side[1]), -1),
        origin="lower",
        extent=(side[0][0], side[0][-1], side[1][0], side[1][-1]),
        cmap="PuOr_r",
        vmin=-limit,
        vmax=limit,
    )
    ax.plot(*points.T, "o", color="black", markersize=3)
    ax.set(title=title, xticks=[], yticks=[])
    figure.colorbar(shades, ax=ax, shrink=0.8)
axes[0].plot(*points[chosen], "o", markersize=11, markerfacecolor="none", color="black")
