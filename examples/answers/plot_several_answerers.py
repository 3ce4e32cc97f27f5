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
# All four are asked about 200 pairs. Ann is wrong in about 5 % of her answers, Bob in 30 %, the
# model in 15 %. The rule says "same" where two pictures have about as much ink.

pairs = nk.Pairs.from_labels(y, 200, random_state=0)
links = np.concatenate([pairs.must_link, pairs.cannot_link])
truth = y[links[:, 0]] == y[links[:, 1]]
ink = X.sum(axis=1)
said = {
    "Ann": truth ^ (rng.random(200) < 0.05),
    "Bob": truth ^ (rng.random(200) < 0.3),
    "language model": truth ^ (rng.random(200) < 0.15),
    "rule of ink": np.abs(ink[links[:, 0]] - ink[links[:, 1]]) < 0.1 * ink.mean(),
}
left, right = links.T
tables = [
    pd.DataFrame({"left": left, "right": right, "same": same, "by": name})
    for name, same in said.items()
]
table = pd.concat(tables, ignore_index=True)
table.sample(5, random_state=0)

# %%
# How often each is wrong, as the answers tell, and as crosses what is true:

answers = nk.Answers.from_frame(table, n_rows=len(X))
metric = nk.MetricLearner(random_state=0).fit(X, pairs=answers)
ax = nk.plot.estimates(metric.answerers_)
for place, answerer in enumerate(reversed(metric.answerers_)):
    ax.plot(np.mean(said[answerer.name] != truth), place, "x", color="C3", markersize=9)
ax.set_xlim(0, 0.6)
