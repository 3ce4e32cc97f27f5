"""
How many pairs does it take?
============================

What do 10, 30, 100 or 300 pairs gain on new rows?

Digits along 20 principal axes, and pairs drawn anew four times. ``ITML`` learns a linear metric,
``CosineMetric`` with a kernel a bent one.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

import nearkin as nk

X, y = load_digits(return_X_y=True)
X = PCA(20, random_state=0).fit_transform(X)
X, X_new, y, y_new = train_test_split(X, y, train_size=900, test_size=400, random_state=0)
N_PAIRS = [10, 30, 100, 300]
LEARNERS = {
    "CosineMetric, rbf kernel": nk.CosineMetric(kernel="rbf", random_state=0),
    "ITML": nk.ITML(random_state=0),
    "RCA": nk.RCA(random_state=0),
}


def score(learner, n_pairs, seed):
    """Pair AUC on new rows."""
    pairs = nk.Pairs.from_labels(y, n_pairs, random_state=seed)
    return learner.fit(X, pairs=pairs).score(X_new, y_new)


scores = {
    name: np.array([[score(learner, n, seed) for seed in range(4)] for n in N_PAIRS])
    for name, learner in LEARNERS.items()
}

# %%
# Lines are means, and bands go from the worst draw of pairs to the best. With few pairs, which ones
# they are matters more than the learner.

scores["Euclidean"] = nk.scores.pair_auc(X_new, y_new)
ax = nk.plot.course(N_PAIRS, scores, y="pair AUC on new rows", log=True)
