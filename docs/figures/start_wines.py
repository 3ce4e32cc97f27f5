"""Wines by plain and by learned distance, as in docs/start/index.md."""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import nearkin as nk

wines, grower = load_wine(as_frame=True, return_X_y=True)
wines, later, grower, grower_later = train_test_split(wines, grower, test_size=0.5, random_state=0)
pairs = nk.Pairs.from_labels(grower, 60, random_state=2)
spaces = {
    "plain distance": nk.Euclidean(scale=True).fit(wines, pairs=pairs),
    "learned from 60 pairs": nk.MetricLearner(random_state=0).fit(wines, pairs=pairs),
}

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6))
for ax, (title, metric) in zip(axes, spaces.items(), strict=True):
    nk.plot.embedding(metric.transform(later), grower_later.to_numpy(), ax=ax, title=title, size=26)
    ax.set(xticks=[], yticks=[])
