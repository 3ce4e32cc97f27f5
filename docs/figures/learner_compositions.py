"""Chain and Blend beside their parts: pair AUC on new rows."""

import numpy as np
from _shared import BLUE, GREY, ORANGE, panels
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split

import nearkin as nk


def learners(seed):
    """The parts, and what is made of them."""
    itml, beta = nk.ITML(random_state=seed), nk.KernelBeta(n_landmarks=100, random_state=seed)
    return {
        "ITML": itml,
        "KernelBeta": beta,
        "Chain": nk.Chain([itml, beta]),
        "Blend": nk.Blend([itml, beta], random_state=seed),
    }


data = {"wine": load_wine(return_X_y=True), "tumours": load_breast_cancer(return_X_y=True)}
for ax, (name, (X, y)) in zip(panels(2, 4.2, 2.6), data.items(), strict=True):
    found = []
    for seed in range(5):
        parts = train_test_split(X / X.std(axis=0), y, random_state=seed, test_size=0.4)
        X_known, X_new, y_known, y_new = parts
        pairs = nk.Pairs.from_labels(y_known, 40, random_state=seed)
        scores = [nk.scores.pair_auc(X_new, y_new)]
        for learner in learners(seed).values():
            scores.append(learner.fit(X_known, pairs=pairs).score(X_new, y_new))
        found.append(scores)
    names = ["Euclidean", *learners(0)]
    mean = np.mean(found, axis=0)
    ax.barh(names[::-1], mean[::-1], color=[ORANGE, ORANGE, BLUE, BLUE, GREY])
    for place, value in enumerate(mean[::-1]):
        ax.text(value, place, f" {value:.3f}", va="center", fontsize=9)
    ax.set(xlim=(0.6, 1.05), xlabel="pair AUC on new rows")
    ax.set_title(f"{name}, 40 pairs, five draws", fontsize=10)
