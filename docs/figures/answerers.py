"""Who is wrong how often, as it is and as it was found, with 90 % intervals."""

import numpy as np
from _shared import BLUE, ORANGE, panels
from sklearn.datasets import load_digits

import nearkin as nk

TRUE = {"Ann": 0.05, "Bob": 0.15, "Cy": 0.3}
X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
chosen = rng.permutation(len(X))[:500]
X, y = X[chosen], y[chosen]
pairs = nk.Pairs.from_labels(y, 150, random_state=0)
links = np.vstack([pairs.must_link, pairs.cannot_link])
right = y[links[:, 0]] == y[links[:, 1]]
said = [right ^ (rng.random(len(right)) < rate) for rate in TRUE.values()]
by = np.repeat(list(TRUE), len(links))
answers = nk.Answers(np.tile(links, (3, 1)), np.concatenate(said), by=by, n_rows=len(X))
metric = nk.MetricLearner(random_state=0).fit(X, pairs=answers)

ax = panels(1, 5.6, 2.2)[0]
for place, one in enumerate(metric.answerers_[::-1]):
    reach = [[one.wrong.value - one.wrong.low], [one.wrong.high - one.wrong.value]]
    ax.errorbar(one.wrong.value, place, xerr=reach, fmt="o", color=BLUE, capsize=4)
    ax.plot(TRUE[one.name], place, "x", color=ORANGE, ms=9, mew=2)
ax.set_yticks(range(3), [one.name for one in metric.answerers_[::-1]])
ax.set(xlim=(0, 0.5), ylim=(-0.5, 2.5), xlabel="share of wrong answers: found (dot), true (cross)")
