"""MetricLearner on wine: before, after, and what was compared."""

from _shared import panels, show
from sklearn.datasets import load_wine

import nearkin as nk

X, y = load_wine(return_X_y=True)
pairs = nk.Pairs.from_labels(y, 40, random_state=1)
metric = nk.MetricLearner(random_state=0).fit(X, pairs=pairs)

axes = panels(3, 3.4, 3.4, width_ratios=[1, 1, 1.2])
show(axes[0], X / X.std(axis=0), y, "three kinds of wine, 40 pairs", pairs)
show(axes[1], metric.transform(X), y, "as MetricLearner sees them")
nk.plot.selection(metric, ax=axes[2], title="what was compared")
axes[2].set_xlabel("gain in pair AUC")
axes[2].tick_params(labelsize=6)
axes[2].title.set_fontsize(10)
