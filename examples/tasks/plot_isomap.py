"""
Isomap on a metric that nobody taught
=====================================

Is there something to learn without any pair?

:class:`nearkin.MetricKMeans` groups rows, learns a metric from its own groups, and groups them
again. Isomap then unrolls the data along the distances between near rows, which are the metric's to
say.
"""

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsClassifier

import nearkin as nk

X, y = load_digits(return_X_y=True)
X, y = PCA(20, random_state=0).fit_transform(X)[:900], y[:900]
model = nk.MetricKMeans(10, interpolation=0.2, max_iter=50, random_state=0).fit(X)

# %%

spaces = {
    "Isomap of pixels": Isomap(n_neighbors=10).fit_transform(X),
    "Isomap of the learned metric": Isomap(n_neighbors=10).fit_transform(X @ model.components_.T),
}
axes = nk.plot.side_by_side(spaces, y)

# %%
# How often five neighbours on the map tell the digit:

for name, Z in spaces.items():
    right = KNeighborsClassifier(5).fit(Z[::2], y[::2]).score(Z[1::2], y[1::2])
    print(f"{name}: {right:.0%}")
print(f"groups that are digits: {model.score(X, y):.0%}")
