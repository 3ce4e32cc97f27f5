"""Euclidean: nothing is learned but the distance up to which two rows are called the same."""

from _shared import panels
from sklearn.datasets import load_iris

import nearkin as nk

X, y = load_iris(return_X_y=True)
pairs = nk.Pairs.from_labels(y, 60, random_state=0)
ax = panels(1, 5.5, 3)[0]
metric = nk.Euclidean(random_state=0).fit(X, pairs=pairs)
same, different = (
    metric.pair_distance(X[links[:, 0]], X[links[:, 1]])
    for links in (pairs.must_link, pairs.cannot_link)
)
nk.plot.distances(same, different, threshold=metric.threshold_, ax=ax, title="irises, 60 pairs")
