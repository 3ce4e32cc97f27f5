"""Chances beside what happened, other prevalences, and the chance of a gain."""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import nearkin as nk
from nearkin.scores.held_out import AucComparison
from nearkin.scores.verdicts import read_verdicts

X, y = load_digits(return_X_y=True)
X = PCA(20, random_state=0).fit_transform(X)
pairs = nk.Pairs.from_labels(y[:800], 150, random_state=0)
metric = nk.MetricLearner(random_state=0, time_budget=2).fit(X[:800], pairs=pairs)

new = nk.Pairs.from_labels(y[800:], 6000, random_state=1)  # half of them the same
links = 800 + np.concatenate([new.must_link, new.cannot_link])
same = np.arange(len(links)) < len(new.must_link)
chance = metric.chance_same(X[links[:, 0]], X[links[:, 1]])
group = np.minimum((chance * 10).astype(int), 9)
count = np.bincount(group, minlength=10)
seen = np.flatnonzero(count >= 30)

figure, (borne_out, curves, gains) = plt.subplots(1, 3, figsize=(9, 3))
borne_out.plot([0, 1], [0, 1], color="0.6", linewidth=1)
shares = [[values[group == g].mean() for g in seen] for values in (chance, same)]
borne_out.plot(*shares, "o-", markersize=4)
borne_out.set(xlabel="chance that was stated", ylabel="share that were the same")
borne_out.set_aspect("equal")

curve = read_verdicts(metric)
distance = np.linspace(0, 2 * curve.threshold, 200)
for prevalence in (0.5, 0.1, 0.01):
    chances = curve.chance(distance, prevalence)
    curves.plot(distance / curve.threshold, chances, label=f"{prevalence:g}")
curves.set(xlabel="distance / threshold", ylabel="chance of being the same")
curves.legend(title="prevalence")

gain = np.linspace(-0.08, 0.15, 200)
for error in (0.01, 0.03, 0.06):
    chances = [AucComparison(0.7 + g, 0.7, error).chance_of_gain(0.95) for g in gain]
    gains.plot(gain, chances, label=f"± {error:g}")
for level in (0.5, 0.95):
    gains.axhline(level, color="0.6", linewidth=1)
gains.set(xlabel="gain in pair AUC that was seen", ylabel="chance of a gain")
gains.legend(title="standard error")
