"""Pair AUC on new rows, by answers to suggested questions and to random ones."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import nearkin as nk

images, digit = load_digits(return_X_y=True)
X, y, X_new, y_new = images[:500], digit[:500], images[500:1000], digit[500:1000]
NUMBERS = (10, 20, 40, 60, 80, 100)
LEARNER = nk.ITML(kernel="rbf", n_landmarks=100, random_state=0)


def learned(budget, strategy, seed):
    found = nk.learn_actively(
        X,
        lambda i, j: bool(y[i] == y[j]),
        budget,
        learner=LEARNER,
        strategy=strategy,
        random_state=seed,
    )
    return found.metric.score(X_new, y_new)


figure, ax = plt.subplots(figsize=(7, 3.4))
for strategy, label, style in (
    ("neighborhoods", "suggested questions", "o-"),
    ("random", "random pairs", "s--"),
):
    means = [np.mean([learned(n, strategy, seed) for seed in range(2)]) for n in NUMBERS]
    ax.plot(NUMBERS, means, style, label=label)
ax.set(xlabel="answers", ylabel="pair AUC on new rows", title="digits, ten kinds")
ax.grid(alpha=0.3)
ax.legend()
