"""Generative: at every row the metric under which neighbours mislead least, and their mean."""

import numpy as np
from _shared import GREY, ORANGE, long_classes, panels, show, unit_ball

import nearkin as nk
from nearkin.solvers.local_metrics import bias_matrices, local_metrics

X, y = long_classes()
metric = nk.Generative(random_state=0).fit(X, y)

axes = panels(2, 4.2, 3.4)
show(axes[0], X, y, "local metrics, and their mean")
shown = np.random.default_rng(0).permutation(len(X))[:30]
local = local_metrics(bias_matrices(X[shown], metric.models_))
for row, one in zip(shown, local, strict=True):
    unit_ball(axes[0], one + 1e-2 * np.eye(2), X[row], 0.5, edgecolor=GREY, lw=0.8, zorder=4)
mean = metric.metric_ / np.sqrt(np.linalg.det(metric.metric_))
unit_ball(axes[0], mean, X.mean(axis=0), 2, edgecolor=ORANGE, lw=2.5, zorder=5)
axes[0].set_aspect("equal")
show(axes[1], metric.transform(X), y, f"after Generative: {metric.score(X, y):.2f}")
axes[1].set_aspect("equal")
