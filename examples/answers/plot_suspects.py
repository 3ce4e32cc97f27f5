"""
Find the answers that are wrong
===============================

Some answers in a hundred are slips. Can they be found?

A wrong answer is contradicted by all the others: the metric that those teach puts the two rows
where the answer says they are not. ``suspects_`` lists such pairs, the worst first. They count less
in the metric already.
"""

import numpy as np
from sklearn.datasets import load_digits

import nearkin as nk

X, y = load_digits(n_class=6, return_X_y=True)
X, y = X[:500], y[:500]
told = nk.Pairs.from_labels(y, 160, random_state=0)

# %%
# Four pairs of each kind are said to be the other.

slips = np.concatenate([told.must_link[:4], told.cannot_link[:4]])
pairs = nk.Pairs(
    must_link=np.concatenate([told.must_link[4:], told.cannot_link[:4]]),
    cannot_link=np.concatenate([told.cannot_link[4:], told.must_link[:4]]),
)
metric = nk.MetricLearner(random_state=0).fit(X, pairs=pairs)

# %%
# The suspects, two pictures each, with what was said of them and the chance that it is not so:

suspects = metric.suspects_[:8]
wrong = {tuple(sorted(pair)) for pair in slips.tolist()}
rows = np.array([suspect.pair for suspect in suspects])
titles = [
    f"said: {'same' if one.same else 'different'} ({one.chance_opposite:.0%} not)"
    for one in suspects
]
both = np.concatenate([X[rows[:, 0]].reshape(-1, 8, 8), X[rows[:, 1]].reshape(-1, 8, 8)], axis=2)
axes = nk.plot.pictures(both.reshape(len(rows), -1), (8, 16), titles=titles, n_columns=4)

# %%

found = sum(suspect.pair in wrong for suspect in metric.suspects_)
print(f"{len(metric.suspects_)} suspects, and {found} of the {len(wrong)} slips among them")

# %%
# Whoever gave the answers looks at these again. What is withdrawn is left out in the next fit:

mended = pairs.without([suspect.pair for suspect in metric.suspects_])
print(mended)
