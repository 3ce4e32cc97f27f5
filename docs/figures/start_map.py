"""Digits along two axes, before and after learning: docs/start/map.md."""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import nearkin as nk

images, digit = load_digits(return_X_y=True)
images, digit = images[:500], digit[:500]
pairs = nk.Pairs.from_labels(digit, 100, random_state=0)
metric = nk.MetricLearner(random_state=0).fit(images, pairs=pairs)

figure, (before, after) = plt.subplots(1, 2, figsize=(8, 4))
nk.plot.embedding(images, digit, ax=before, title="plain distance")
nk.plot.embedding(metric.transform(images), digit, ax=after, title="learned distance", legend=True)
