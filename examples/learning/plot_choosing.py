"""
Let MetricLearner choose
========================

Which learner, or which three of them, suits these data, and is it worth it at all?

:class:`nearkin.MetricLearner` holds some pairs out, learns candidates from the others, and compares
them with the Euclidean distance on those held out. Here on two sets: XOR, where every linear metric
fails, and three long clouds side by side, where a linear one is all it takes.
"""

import matplotlib.pyplot as plt

import nearkin as nk

SETS = {
    "XOR": nk.datasets.make_xor(300, random_state=0),
    "three long clouds": nk.datasets.make_three_normal(300, random_state=0),
}
metrics = {
    name: nk.MetricLearner(random_state=0).fit(X, pairs=nk.Pairs.from_labels(y, 60, random_state=0))
    for name, (X, y) in SETS.items()
}

# %%
# What was gained on held-out pairs, with two standard errors to either side. What is in red was
# chosen.

figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
for ax, (name, metric) in zip(axes, metrics.items(), strict=True):
    nk.plot.selection(metric, ax=ax, title=name)
    ax.set_xlabel("gain in pair AUC on held-out pairs")

# %%
# The reasons in words:

for name, metric in metrics.items():
    print(f"{name}: {metric.report_.reason}")
