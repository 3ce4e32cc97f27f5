"""
KernelA moves points, and neighbours follow
===========================================

What happens to all the points that no pair names?

:class:`nearkin.KernelA` draws must-linked points together in a kernel's feature space. Distances to
near points are to stay as they were, so that each point takes its neighbours along. Ten pairs move
400 points.
"""

import matplotlib.pyplot as plt

import nearkin as nk

X, y = nk.datasets.make_xor(400, random_state=0)
pairs = nk.Pairs.from_labels(y, 10, kind="must", random_state=0)

# %%
# Opposite corners of the square are one class, and the ten must-links say so.

axes = nk.plot.side_by_side({"ten must-links": X}, y, pairs=pairs)

# %%
# ``regularization`` says how strongly neighbourhoods hold. Where they hold very strongly, points
# are as the kernel has them; the less they do, the farther do must-links pull, and corners meet.

# sphinx_gallery_thumbnail_number = 2
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
for ax, held in zip(axes, (1000, 100, 30, 0.01), strict=True):
    metric = nk.KernelA(regularization=held, n_iter=50, random_state=0).fit(X, pairs=pairs)
    Z = metric.embedding_
    auc = nk.scores.pair_auc(Z, y)
    nk.plot.embedding(Z, y, pairs=pairs, ax=ax, title=f"{held:g}: pair AUC {auc:.2f}")
    ax.set(xticks=[], yticks=[])

# %%
# What is minimised never rises from step to step:

print("objective, step by step:", *metric.objective_[:6].round(3), "...")
