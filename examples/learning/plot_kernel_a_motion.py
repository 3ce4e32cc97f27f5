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
# Without steps, points are where the kernel puts them. Each further step lowers the objective.

places = {
    steps: nk.KernelA(n_iter=steps, n_components=10, random_state=0).fit(X, pairs=pairs).embedding_
    for steps in (1, 2, 4)
}
metric = nk.KernelA(n_iter=4, n_components=10, random_state=0).fit(X, pairs=pairs)
print("objective:", *metric.objective_.round(1))

# %%
# Opposite corners of the square are one class. The ten must-links say so, and the clouds come
# together.

axes = nk.plot.side_by_side({"ten must-links": X}, y, pairs=pairs)

# sphinx_gallery_thumbnail_number = 2
figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
for ax, (steps, Z) in zip(axes, places.items(), strict=True):
    auc = nk.scores.pair_auc(Z, y)
    nk.plot.embedding(Z, y, pairs=pairs, ax=ax, title=f"after {steps} steps: pair AUC {auc:.2f}")
    ax.set(xticks=[], yticks=[])
