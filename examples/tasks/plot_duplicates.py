"""
The same thing, twice
=====================

Which rows are copies of one another, and how near must copies be?

Two photographs of one object are never equal. Pairs say what differences copies may have;
:class:`nearkin.NeighborIndex` finds from the rows themselves how near they are then.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import nearkin as nk

X, _ = load_digits(return_X_y=True)
rng = np.random.default_rng(0)

# %%
# Half of 300 pictures are there twice: once more, but brighter or darker and with noise in it.

thing = np.concatenate([np.arange(300), np.arange(150)])
light = rng.uniform(0.6, 1.4, size=(len(thing), 1))
rows = X[thing] * light + rng.normal(scale=0.5, size=(len(thing), X.shape[1]))
nk.plot.pictures(np.concatenate([rows[:8], rows[300:308]]), (8, 8))

# %%
# Somebody has compared 150 pairs that looked alike.

_, nearest = nk.NeighborIndex().add(rows).query(rows, 4)
ends = np.array([(i, int(j)) for i, found in enumerate(nearest) for j in found if i < j])
ends = ends[rng.choice(len(ends), 150, replace=False)]
same = thing[ends[:, 0]] == thing[ends[:, 1]]
pairs = nk.Pairs(ends[same], ends[~same])
metric = nk.CosineMetric(random_state=0).fit(rows, pairs=pairs)

# %%
# Groups of copies, by the learned distance:

index = nk.NeighborIndex(metric).add(rows)
groups = index.duplicates()
found = {(a, b) for group in groups for a in group for b in group if a < b}
true = {(number, 300 + number) for number in range(150)}
print(f"{len(found & true) / len(found):.0%} of the pairs found are right")
print(f"{len(found & true) / len(true):.0%} of the copies are found")

# %%
# Distances of copies and of others. Of pixels, they run into each other; as learned, there is a
# gap, and the radius that was found lies in it.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
plain = nk.Euclidean().fit(rows, pairs=pairs)
for ax, one, name in ((axes[0], plain, "pixels"), (axes[1], metric, "learned")):
    copies = one.pair_distance(rows[300:], rows[:150])
    others = one.pair_distance(rows[:150], rows[150:300])
    radius = index.radius_for() if one is metric else None
    nk.plot.distances(copies, others, threshold=radius, ax=ax, title=name)
