"""What figures on learners share: data that show one thing each, and before and after."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

import nearkin as nk

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "0.55"


def panels(n, width=3.2, height=3.2, **options):
    """A figure with so many panels side by side, and these."""
    _, axes = plt.subplots(1, n, figsize=(n * width, height), layout="constrained", **options)
    return np.atleast_1d(axes)


def show(ax, Z, y, title, pairs=None, **options):
    """Rows in the plane without numbers at the axes: only places matter."""
    nk.plot.embedding(Z, y, pairs=pairs, ax=ax, title=title, **options)
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    ax.title.set_fontsize(10)


def before_and_after(X, y, pairs, learners):
    """Rows with their pairs, and new panels with what each learner makes of them, and its score."""
    axes = panels(1 + len(learners))
    show(axes[0], X, y, f"as measured: {nk.scores.pair_auc(X, y):.2f}", pairs)
    for ax, (title, learner) in zip(axes[1:], learners.items(), strict=True):
        metric = learner.fit(X, pairs=pairs)
        show(ax, metric.transform(X), y, f"{title}: {metric.score(X, y):.2f}")
    return axes


def unit_ball(ax, metric, at, radius=1.0, **options):
    """All that lies within a distance of a place, by a matrix A of squared distances (d A d)."""
    values, vectors = np.linalg.eigh(metric)
    half = radius / np.sqrt(values)
    angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
    ax.add_patch(Ellipse(at, 2 * half[0], 2 * half[1], angle=angle, fill=False, **options))


def matrix_of(metric):
    """The matrix of squared distances of a linear metric of two columns."""
    map_ = metric.transform(np.vstack([np.zeros(2), np.eye(2)]))
    L = (map_[1:] - map_[0]).T
    return L.T @ L


def long_classes():
    """Three classes side by side, each of them long in the direction that does not matter."""
    X, y = nk.datasets.make_three_normal(300, random_state=0)
    return X * [1, 0.45], y


def in_order(places, least):
    """Places of labels above each other that keep a distance, as near as can be to those given."""
    order = np.argsort(places)
    found = np.array(places, dtype=float)
    for _ in range(200):
        for low, high in pairwise(order):
            lack = least - (found[high] - found[low])
            if lack > 0:
                found[low] -= lack / 2
                found[high] += lack / 2
    return found


def petals(n_samples=300, n_classes=5, random_state=0):
    """Classes around a centre, all of them long in one direction that does not tell them apart."""
    rng = np.random.default_rng(random_state)
    y = np.arange(n_samples) % n_classes
    angle = 2 * np.pi * y / n_classes
    centre = np.column_stack([np.cos(angle), np.sin(angle)]) * [1.0, 2.2]
    return centre + rng.normal(size=(n_samples, 2)) * [0.15, 0.6], y


def regions(ax, classifier, X, y, title):
    """What a classifier says of every place in the plane."""
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across, up = np.meshgrid(*(np.linspace(a, b, 120) for a, b in zip(low, high, strict=True)))
    said = classifier.predict(np.column_stack([across.ravel(), up.ravel()]))
    colours = [BLUE, ORANGE, GREEN]
    levels = np.arange(len(colours) + 1) - 0.5
    ax.contourf(across, up, said.reshape(across.shape), levels, colors=colours, alpha=0.2)
    for number, colour in enumerate(colours):
        ax.plot(*X[y == number].T, "osD"[number], color=colour, ms=3)
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, fontsize=10)
