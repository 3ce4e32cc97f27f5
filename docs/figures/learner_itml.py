"""ITML on three long classes: what is near before and after, and the rows in their new places."""

from _shared import GREY, ORANGE, long_classes, matrix_of, panels, show, unit_ball

import nearkin as nk

X, y = long_classes()
pairs = nk.Pairs.from_labels(y, 30, random_state=0)
metric = nk.ITML(random_state=0).fit(X, pairs=pairs)

axes = panels(2, 4.2, 3.4)
show(axes[0], X, y, f"as measured: pair AUC {nk.scores.pair_auc(X, y):.2f}", pairs)
A = matrix_of(metric)
A /= A.trace() / 2
for matrix, colour in ((A, ORANGE), (A * 0 + [[1, 0], [0, 1]], GREY)):
    unit_ball(axes[0], matrix, X.mean(axis=0), 2, edgecolor=colour, lw=2.5, zorder=5)
axes[0].set_aspect("equal")
show(axes[1], metric.transform(X), y, f"after ITML: {metric.score(X, y):.2f}")
axes[1].set_aspect("equal")
