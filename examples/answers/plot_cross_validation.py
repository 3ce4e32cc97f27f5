"""
Cross-validation that does not cheat
====================================

How good will a metric be on rows that it has not seen?

If pairs are dealt into folds one by one, a pair that is judged may follow from pairs that were
learned from: A is like B and B is like C, so A is like C. :class:`nearkin.PairKFold` keeps rows
that hang together in one fold.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold

import nearkin as nk

X, y = load_digits(return_X_y=True)
X = PCA(30, random_state=0).fit_transform(X)
X, y, X_new, y_new = X[:300], y[:300], X[300:900], y[300:900]


def dealt_one_by_one(learner, pairs):
    """Pair AUC where single pairs are held out."""
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    same = np.arange(len(links)) < len(pairs.must_link)
    scores = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(links):
        known, held_out = (
            nk.Pairs(links[part][same[part]], links[part][~same[part]]) for part in (train, test)
        )
        scores.append(learner.fit(X, pairs=known).score(X, pairs=held_out))
    return np.mean(scores)


# %%
# Pairs among few rows, which hang together: 60 people looked at 60 pictures, say. The metric is
# judged in three ways.

rng = np.random.default_rng(0)
N_PAIRS = [60, 120, 240]
scores = {"dealt one by one": [], "PairKFold": [], "on new rows": []}
for n_pairs in N_PAIRS:
    rows = rng.choice(len(X), 80, replace=False)
    told = nk.Pairs.from_labels(y[rows], n_pairs, random_state=0)
    pairs = nk.Pairs(rows[told.must_link], rows[told.cannot_link])
    learner = nk.ITML(kernel="rbf", random_state=0)
    scores["dealt one by one"].append(dealt_one_by_one(learner, pairs))
    folds = nk.cross_validate(learner, X, pairs=pairs, cv=nk.PairKFold(5))
    scores["PairKFold"].append(folds["test_score"].mean())
    scores["on new rows"].append(learner.fit(X, pairs=pairs).score(X_new, y_new))

# %%
# Dealing pairs one by one promises more than new rows keep. ``PairKFold`` promises a little less,
# since it learns from four fifths of the pairs.

ax = nk.plot.course(N_PAIRS, scores)
