"""GMML: the metric that must-links ask for, that cannot-links ask for, and their geometric mean."""

import numpy as np
from _shared import BLUE, GREEN, ORANGE, long_classes, matrix_of, panels, show, unit_ball
from matplotlib.lines import Line2D

import nearkin as nk

X, y = long_classes()
pairs = nk.Pairs.from_labels(y, 60, random_state=0)
axes = panels(3)
for ax, links, colour, title in (
    (axes[0], pairs.must_link, BLUE, "differences of must-links"),
    (axes[1], pairs.cannot_link, ORANGE, "differences of cannot-links"),
):
    apart = X[links[:, 0]] - X[links[:, 1]]
    ax.plot(*np.vstack([apart, -apart]).T, ".", color=colour)
    ax.set(xlim=(-9, 9), ylim=(-9, 9), xticks=[], yticks=[], aspect="equal")
    ax.set_title(title, fontsize=10)

named = {"must-links alone": (0.0, BLUE), "cannot-links alone": (1.0, ORANGE), "GMML": (0.5, GREEN)}
show(axes[2], X, y, "what lies at one distance")
for balance, colour in named.values():
    A = matrix_of(nk.GMML(balance=balance, random_state=0).fit(X, pairs=pairs))
    A /= np.sqrt(np.linalg.det(A))
    unit_ball(axes[2], A, X.mean(axis=0), 2.5, edgecolor=colour, lw=2.5, zorder=5)
axes[2].set_aspect("equal")
lines = [Line2D([], [], color=colour, lw=2.5) for _, colour in named.values()]
axes[2].legend(lines, list(named), loc="upper right", fontsize=7, frameon=True)
