"""What Clusters compared for the irises."""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

import nearkin as nk

flowers, species = load_iris(return_X_y=True)
pairs = nk.Pairs.from_labels(species, n_pairs=60, random_state=0)
clusters = nk.Clusters((2, 12), random_state=0).fit(flowers, pairs=pairs)

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
nk.plot.grouping(clusters, ax=ax)
