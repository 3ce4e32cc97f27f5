"""
Cross-validation that does not cheat
====================================

How good will a metric be on rows that it has not seen?

If pairs are dealt into folds one by one, a pair that is judged may follow from pairs that were
learned from: A is like B and B is like C, so A is like C. :class:`nearkin.PairKFold` keeps rows
that hang together in one fold.
"""

import numpy as np
from sklearn.model_selection import KFold

import nearkin as nk


def made(seed):
    """Rows of four kinds in 40 columns: 60 that people looked at, and 600 new ones."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=660)
    X = 0.5 * rng.normal(size=(4, 40))[y] + rng.normal(size=(660, 40))
    return X[:60], y[:60], X[60:], y[60:]


def dealt_one_by_one(learner, X, pairs):
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
# Many pairs among few rows hang together. The same metric is judged in three ways, for four draws
# of rows and pairs.

N_PAIRS, SEEDS = [60, 120, 240], range(4)
WAYS = ("pairs dealt one by one", "PairKFold", "truth: on new rows")
scores = {way: np.empty((len(N_PAIRS), len(SEEDS))) for way in WAYS}
learner = nk.PLDA(random_state=0)
for row, n_pairs in enumerate(N_PAIRS):
    for seed in SEEDS:
        X, y, X_new, y_new = made(seed)
        pairs = nk.Pairs.from_labels(y, n_pairs, random_state=seed)
        folds = nk.cross_validate(learner, X, pairs=pairs, cv=nk.PairKFold(5))
        found = (
            dealt_one_by_one(learner, X, pairs),
            folds["test_score"].mean(),
            learner.fit(X, pairs=pairs).score(X_new, y_new),
        )
        for way, score in zip(WAYS, found, strict=True):
            scores[way][row, seed] = score

# %%
# The more pairs hang together, the more does dealing them one by one promise that new rows do not
# keep.

ax = nk.plot.course(N_PAIRS, {way: found.mean(axis=1) for way, found in scores.items()})
