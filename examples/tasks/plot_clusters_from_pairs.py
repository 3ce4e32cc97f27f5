"""
How many clusters are there?
============================

Pairs say that some rows belong together and some do not. What groups follow, and how many?

:class:`nearkin.Clusters` learns a metric, tries several ways to group rows with several numbers of
groups, and goes by pairs that it held out. It says how sure the number is.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

import nearkin as nk

X, species = load_iris(return_X_y=True)
pairs = nk.Pairs.from_labels(species, 80, random_state=0)
clusters = nk.Clusters(metric=nk.ITML(random_state=0), random_state=0).fit(X, pairs=pairs)
print(clusters.report_.summary)

# %%
# Scores by the number of groups, for each way of grouping. The chosen one has a red circle, and the
# 90 % interval of the number is shaded.

ax = nk.plot.grouping(clusters)

# %%
# Flowers as measured, in the clusters of k-means; and as learned, in these. The adjusted Rand index
# is 1 where clusters are species, and about 0 for clusters at random.

# sphinx_gallery_thumbnail_number = 2
without = KMeans(clusters.n_clusters_, n_init=10, random_state=0).fit_predict(X)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, Z, found, name in (
    (axes[0], X, without, "k-means, as measured"),
    (axes[1], clusters.metric_.transform(X), clusters.labels_, "Clusters, learned"),
):
    title = f"{name}: {adjusted_rand_score(species, found):.2f}"
    nk.plot.embedding(Z, found, ax=ax, title=title)
    ax.set(xticks=[], yticks=[])
