"""
Ask the questions that teach most
=================================

If somebody answers a hundred questions, which pairs should they be about?

:func:`nearkin.learn_actively` compares rows with groups of rows that are known to be alike, so that
one answer implies others. Random pairs, which mostly get a "no", are the control.

Five digits were taken because the gain shows there. On all ten, such questions were no better than
random pairs in a trial, or worse: see :doc:`/measured/active`.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import nearkin as nk

X, y = load_digits(n_class=5, return_X_y=True)
X = PCA(20, random_state=0).fit_transform(X)
X, y, X_new, y_new = X[:300], y[:300], X[300:700], y[300:700]


def oracle(i, j):
    """Whoever answers: True, False, or None if unsure."""
    return y[i] == y[j]


BUDGETS = [20, 60, 160]
LEARNER = nk.ITML(random_state=0)


def asked(strategy, budget):
    """What comes of so many questions."""
    return nk.learn_actively(X, oracle, budget, learner=LEARNER, strategy=strategy, random_state=0)


results = {
    strategy: [asked(strategy, budget) for budget in BUDGETS]
    for strategy in ("neighborhoods", "random")
}

# %%
# Pair AUC on new rows, by the number of questions. The first of them find the groups, and gain
# little; it is after that that they pay.

scores = {
    name: [result.metric.score(X_new, y_new) for result in found] for name, found in results.items()
}
scores["Euclidean"] = nk.scores.pair_auc(X_new, y_new)
ax = nk.plot.course(BUDGETS, scores, x="questions", y="pair AUC on new rows", log=True)

# %%
# Why: what follows from the answers. Rows known to be alike form groups, and each further row of a
# group is compared with all others at once.

implied = {
    name: [len(result.pairs.closure()) for result in found] for name, found in results.items()
}
ax = nk.plot.course(BUDGETS, implied, x="questions", y="pairs known or implied", log=True)
ax.set_yscale("log")
for name, found in results.items():
    same = np.mean([answer for _, _, answer in found[-1].history])
    print(f"{name}: {same:.0%} of 160 answers are 'same'")
