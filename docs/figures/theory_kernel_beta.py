"""Weights of the directions of a kernel: before learning, by equation (4), and calibrated."""

import numpy as np
from matplotlib import pyplot as plt

import nearkin as nk

X, y = nk.datasets.make_xor(200, random_state=0)
at_random = np.random.default_rng(0).permutation(len(X))[:20].reshape(-1, 2)
told = {
    "10 must-links that say nothing": nk.Pairs(must_link=at_random),
    "10 right ones": nk.Pairs.from_labels(y, 10, kind="must", random_state=1),
    "200 right ones": nk.Pairs.from_labels(y, 200, kind="must", random_state=1),
}
figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True)
width = 0.28
for ax, (title, pairs) in zip(axes, told.items(), strict=True):
    for offset, weighting, name in ((0, "paper", "eq. (4)"), (width, "calibrated", "calibrated")):
        metric = nk.KernelBeta(weighting=weighting, rank_tol=0.01).fit(X, pairs=pairs)
        place = np.arange(1, len(metric.beta_) + 1)
        ax.bar(place + offset, metric.beta_ / metric.beta_.sum(), width, label=name)
    before = np.sqrt(metric.eigenvalues_)
    ax.bar(place - width, before / before.sum(), width, color="0.6", label="before")
    ax.set(title=title, xlabel="direction", xticks=place)
axes[0].set_ylabel("share of all weights")
axes[2].legend()
