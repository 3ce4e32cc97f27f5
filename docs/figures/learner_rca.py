"""RCA: the way rows vary within chunklets, and the rows once that is the same everywhere."""

import numpy as np
from _shared import ORANGE, long_classes, panels, show, unit_ball

import nearkin as nk
from nearkin.learners.rca import within_chunklet_covariance

X, y = long_classes()
pairs = nk.Pairs.from_labels(y, 25, kind="must", random_state=0)
metric = nk.RCA(random_state=0).fit(X, pairs=pairs)

axes = panels(2, 4.2, 3.4)
show(axes[0], X, y, "25 must-links, and the spread within them", pairs)
left, right = pairs.must_link.T
inside = within_chunklet_covariance(
    np.vstack([X[left], X[right]]), np.tile(np.arange(len(left)), 2)
)
unit_ball(axes[0], np.linalg.inv(inside), X.mean(axis=0), 2, edgecolor=ORANGE, lw=2.5, zorder=5)
axes[0].set_aspect("equal")
show(axes[1], metric.transform(X), y, f"after RCA: {metric.score(X, y):.2f}")
axes[1].set_aspect("equal")
