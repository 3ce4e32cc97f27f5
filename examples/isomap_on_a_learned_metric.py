"""Isomap on a learned metric.

Isomap unrolls data along distances between near rows. Which rows are near is the metric's to say:
here images of digits, first by their pixels, then by the mean of generative local metrics, learned
from clusters and without any label. Run it to get ``isomap.png``.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsClassifier

from nearkin import MetricKMeans

mpl.use("Agg")
import matplotlib.pyplot as plt


def maps() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Two coordinates of each digit by pixels and by the learned metric, and what it shows."""
    X, y = load_digits(return_X_y=True)
    X = PCA(20, random_state=0).fit_transform(X)
    model = MetricKMeans(10, interpolation=0.2, max_iter=100, random_state=0).fit(X)
    return {
        "pixels": Isomap(n_neighbors=10).fit_transform(X),
        "learned metric": Isomap(n_neighbors=10).fit_transform(X @ model.components_.T),
    }, y


def main() -> None:
    """Draw both maps side by side, with how often the five nearest tell the digit."""
    found, y = maps()
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    for ax, (name, Z) in zip(axes, found.items(), strict=True):
        right = KNeighborsClassifier(5).fit(Z[::2], y[::2]).score(Z[1::2], y[1::2])
        for digit in np.unique(y):
            ax.scatter(*Z[y == digit].T, s=4, label=str(digit))
        ax.set_title(f"{name}: {right:.0%} by five neighbours")
        ax.set_xticks([])
        ax.set_yticks([])
    axes[0].legend(markerscale=3, fontsize=8)
    figure.savefig("isomap.png", dpi=90)
    print("picture:", Path("isomap.png").resolve())


if __name__ == "__main__":
    main()
