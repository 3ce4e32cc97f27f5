"""The geometric mean of what must-links and what cannot-links ask for."""

import numpy as np
from matplotlib import pyplot as plt

import nearkin as nk
from nearkin.learners.gmml import best_metric, pair_scatters

rng = np.random.default_rng(2)
y = np.repeat([0, 1], 60)
turn = np.array([[0.8, -0.6], [0.6, 0.8]])
X = (rng.standard_normal((120, 2)) * [1.6, 0.4] + np.outer(y - 0.5, [0.6, 1.8])) @ turn.T
pairs = nk.Pairs.from_labels(y, 24, random_state=0)
S, D = (s.total / s.weight for s in pair_scatters(pairs, lambda rows: X[rows]))
mean = best_metric(S, D)

figure, (ellipses, before, after) = plt.subplots(1, 3, figsize=(9, 3))
angles = np.linspace(0, 2 * np.pi, 200)
circle = np.array([np.cos(angles), np.sin(angles)])


def unit_ellipse(B):
    """Points of length one under a metric, which is scaled to determinant one."""
    return np.linalg.solve(np.linalg.cholesky(B / np.linalg.det(B) ** 0.5).T, circle)


for B, name in ((np.linalg.inv(S), "must-links"), (D, "cannot-links"), (mean, "geometric mean")):
    ellipses.plot(*unit_ellipse(B), label=name)
ellipses.legend(fontsize=8, loc="lower left")
ellipses.set(title="points at length one", ylim=(-3.2, 2.2))
root = np.linalg.cholesky(mean)
for ax, Z, title in ((before, X, "before"), (after, X @ root, "after")):
    for kind, marker in ((0, "o"), (1, "^")):
        ax.plot(*Z[y == kind].T, marker, markersize=3)
    for links, style in ((pairs.must_link, "-"), (pairs.cannot_link, ":")):
        for link in links:
            ax.plot(*Z[link].T, style, color="0.4", linewidth=0.8)
    ax.set(title=title)
for ax in (ellipses, before, after):
    ax.set(xticks=[], yticks=[])
    ax.set_aspect("equal")
