"""
Handwritten digits: sixty pairs
===============================

Can sixty answers of the kind "these two show the same digit" change distances between pictures?

A picture of 8 by 8 pixels is a row of 64 numbers. Distances between such rows see how much ink is
where, not which digit it is.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import nearkin as nk

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, train_size=600, test_size=500, random_state=0)
nk.plot.pictures(X[:16], (8, 8))

# %%
# Pairs come from people as a rule. Here they are drawn from the labels, which nothing else sees.

pairs = nk.Pairs.from_labels(y, 60, random_state=0)
metric = nk.MetricLearner(random_state=0).fit(X, pairs=pairs)
print(metric.report_.reason)

# %%
# The pictures below are others than those that were learned from. Pair AUC says how often two
# pictures of one digit are closer than two of different digits: 0.5 is by chance.

# sphinx_gallery_thumbnail_number = 2
spaces = {"pixels": X_new, "learned from 60 pairs": metric.transform(X_new)}
axes = nk.plot.side_by_side(spaces, y_new)
