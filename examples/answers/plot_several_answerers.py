"""
Several people answer, and disagree
===================================

Two people, a language model and a rule of thumb contradict each other. Whom to believe?

Nobody knows beforehand. But answers to the same pairs, what follows from other answers, and the
metric itself tell how often each is wrong, with an interval. Answers are simulated here; with your
own, make a table of the columns left, right, same and by.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import nearkin as nk

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]
rng = np.random.default_rng(0)

# %%
# Ann sees half of 200 pairs and is wrong in 5 % of them, Bob in 30 %. The model answers all, and
# is wrong in 15 %. The rule says "same" where two pictures have about as much ink.

pairs = nk.Pairs.from_labels(y, 200, random_state=0)
links = np.concatenate([pairs.must_link, pairs.cannot_link])
truth = y[links[:, 0]] == y[links[:, 1]]
ink = X.sum(axis=1)
said = {
    "Ann": (0.5, truth ^ (rng.random(200) < 0.05)),
    "Bob": (0.5, truth ^ (rng.random(200) < 0.3)),
    "language model": (1.0, truth ^ (rng.random(200) < 0.15)),
    "rule of ink": (1.0, np.abs(ink[links[:, 0]] - ink[links[:, 1]]) < 0.1 * ink.mean()),
}
tables = []
for name, (share, same) in said.items():
    table = pd.DataFrame({"left": links[:, 0], "right": links[:, 1], "same": same, "by": name})
    tables.append(table[rng.random(200) < share])
table = pd.concat(tables, ignore_index=True)
table.groupby("by").size()

# %%

answers = nk.Answers.from_frame(table, n_rows=len(X))
metric = nk.MetricLearner(random_state=0).fit(X, pairs=answers)
ax = nk.plot.estimates(metric.answerers_)
ax.set_xlim(0, 1)
