"""Digits of which a few are labelled, by plain and by learned distance: docs/start/labels.md."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import nearkin as nk

images, digit = load_digits(return_X_y=True)
images, _, digit, _ = train_test_split(images, digit, train_size=600, test_size=600, random_state=0)
label = np.full(600, -1)
for kind in range(10):
    label[np.flatnonzero(digit == kind)[:3]] = kind
spaces = {
    "plain distance": nk.Euclidean(),
    "learned from 30 labels": nk.MetricLearner(random_state=0),
}

figure, axes = plt.subplots(1, 2, figsize=(8, 3.8))
for ax, (title, learner) in zip(axes, spaces.items(), strict=True):
    plane = nk.plot.in_the_plane(learner.fit(images, label).transform(images))
    ax.scatter(*plane.T, c=digit, cmap="tab10", s=8, alpha=0.6, linewidths=0)
    known = label >= 0
    ax.scatter(*plane[known].T, c=label[known], cmap="tab10", s=60, edgecolors="black")
    ax.set(xticks=[], yticks=[], title=title)
