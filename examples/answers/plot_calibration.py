"""
Chances that come true, and a threshold to rely on
==================================================

Of pairs that are "the same with 80 %", are 80 % the same?

A metric learned from few pairs is too sure of them, since it was made to suit them.
``metric.calibrate`` corrects chances by other pairs, and ``threshold_for`` then gives the distance
up to which so many verdicts are right.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import nearkin as nk

X, y = load_digits(return_X_y=True)
X = PCA(20, random_state=0).fit_transform(X)
learn, check, new = X[:500], X[500:900], X[900:]
metric = nk.ITML(random_state=0).fit(
    learn, pairs=nk.Pairs.from_labels(y[:500], 100, random_state=0)
)

# %%
# After ``fit``, chances suppose that same and different are equally frequent. Of random pairs of
# new rows only a tenth are the same, as there are ten digits. ``prevalence=0.1`` says so;
# calibration by a thousand other pairs finds it by itself, and mends the rest.

rng = np.random.default_rng(0)
left, right = rng.integers(len(new), size=(2, 5000))
same = y[900:][left] == y[900:][right]
said = {
    "after fit": metric.chance_same(new[left], new[right]),
    "with prevalence=0.1": metric.chance_same(new[left], new[right], prevalence=0.1),
}

others = rng.integers(len(check), size=(1000, 2))
others = others[others[:, 0] != others[:, 1]]
truth = y[500:900][others[:, 0]] == y[500:900][others[:, 1]]
metric.calibrate(check, pairs=nk.Pairs(others[truth], others[~truth]))
said["calibrated"] = metric.chance_same(new[left], new[right])

ax = nk.plot.calibration(said, same)

# %%
# Two thresholds: the distance where same and different are equally likely, and the one up to which
# nine of ten are right.

figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
distance = metric.pair_distance(new[left], new[right])
nk.plot.distances(distance[same], distance[~same], threshold=metric.threshold_, ax=ax)
surer = metric.threshold_for(precision=0.9)
ax.axvline(surer, color="C2", linewidth=1.5, label="for nine of ten right")
ax.legend(fontsize=8)
print(f"of pairs up to there, {same[distance <= surer].mean():.0%} are the same")
