"""
Wine: thirteen measurements with different units
================================================

One column has values near 1000 and another near 1. Which of them should count?

Without scaling, distances between wines are differences of proline, the column with the largest
numbers. ``MetricLearner`` brings columns to one scale first, and pairs then say which of them
matter.
"""

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import nearkin as nk

wine = load_wine(as_frame=True)
grower = wine.target_names[wine.target]
X, X_new, y, y_new = train_test_split(wine.data, grower, test_size=0.5, random_state=0)
pairs = nk.Pairs.from_labels(y, 40, random_state=0)
metric = nk.MetricLearner(random_state=0).fit(X, pairs=pairs)
print(metric.report_.columns)

# %%
# Wines that no pair is about, before and after:

spaces = {"as measured": X_new, "learned from 40 pairs": metric.transform(X_new)}
axes = nk.plot.side_by_side(spaces, y_new, size=24)

# %%
# Which measurements the learned distance looks at:

ax = nk.plot.importances(metric, title="what tells growers apart")
