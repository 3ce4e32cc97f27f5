"""
A metric from its own clusters
==============================

Is there something to learn without any pair?

:class:`nearkin.MetricKMeans` groups rows, learns a metric from its own groups, and groups them
again. A metric learned from wrong groups confirms them, so that this helps on some data and not on
others; on digits it helps.
"""

from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

import nearkin as nk

X, y = load_digits(return_X_y=True)
X = PCA(20, random_state=0).fit_transform(X)
model = nk.MetricKMeans(10, interpolation=0.2, random_state=0).fit(X)

# %%
# Coloured by the digit, which nothing here has seen:

spaces = {"pixels": X, "learned from clusters": X @ model.components_.T}
axes = nk.plot.side_by_side(spaces, y)

# %%
# How well groups agree with digits (the adjusted Rand index; 1 is all right):

plain = KMeans(10, n_init=10, random_state=0).fit_predict(X)
print(f"k-means: {adjusted_rand_score(y, plain):.2f}")
print(f"MetricKMeans: {adjusted_rand_score(y, model.labels_):.2f}")
