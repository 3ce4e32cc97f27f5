"""CosineMetric: rows on a circle, where the angle between them tells; and in a kernel on XOR."""

from _shared import panels, petals, show

import nearkin as nk

axes = panels(4, 2.7, 3)
X, y = petals()
pairs = nk.Pairs.from_labels(y, 60, random_state=0)
metric = nk.CosineMetric(random_state=0).fit(X, pairs=pairs)
show(axes[0], X, y, f"five classes: {nk.scores.pair_auc(X, y):.2f}", pairs)
show(axes[1], metric.transform(X), y, f"CosineMetric: {metric.score(X, y):.2f}")

X, y = nk.datasets.make_xor(200, random_state=0)
pairs = nk.Pairs.from_labels(y, 40, random_state=0)
metric = nk.CosineMetric(kernel="rbf", random_state=0).fit(X, pairs=pairs)
show(axes[2], X, y, f"XOR: {nk.scores.pair_auc(X, y):.2f}", pairs)
show(axes[3], metric.transform(X), y, f"kernel='rbf': {metric.score(X, y):.2f}")
