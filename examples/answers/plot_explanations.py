"""
Why are these two near, or far?
===============================

Which pixels set two pictures apart, and which answers did that?

``metric.explain(a, b)`` takes the learned distance apart: by columns, which are pixels here, and by
the answers that pull the two together or push them apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import nearkin as nk

X, y = load_digits(return_X_y=True)
X, y = X[:500], y[:500]
pairs = nk.Pairs.from_labels(y, 100, random_state=0)
metric = nk.ITML(random_state=0).fit(X, pairs=pairs)

# %%
# Three pairs of digits that people mix up. In the third column, red pixels set the two apart, and
# blue ones bring them together.

CASES = [(3, 8), (1, 7), (4, 9)]
figure, axes = plt.subplots(3, 3, figsize=(6, 6.4), layout="constrained")
for row, (first, second) in zip(axes, CASES, strict=True):
    a, b = X[np.argmax(y == first)], X[np.argmax(y == second)]
    found = metric.explain(a, b)
    nk.plot.pictures([a, b], (8, 8), axes=row[:2])
    nk.plot.explanation(found, shape=(8, 8), ax=row[2], title=f"distance {found.distance:.1f}")

# %%
# The answers behind the last one: two of those that push them apart the most, and two that pull
# them together.

strongest = [*found.apart[:2], *found.together[:2]]
rows = [row for answer in strongest for row in (answer.left, answer.right)]
titles = []
for answer in strongest:
    titles += ["same" if answer.same else "different", f"{found.change_without(answer):+.1f} %"]
axes = nk.plot.pictures(X[rows], (8, 8), titles=titles)

# %%
# Each percentage says how the distance would change without that answer.
#
# In tables, columns have names, and the same is a list of bars:

from sklearn.datasets import load_wine

wine = load_wine(as_frame=True)
known = nk.Pairs.from_labels(wine.target, 40, random_state=0)
of_wine = nk.ITML(scale=True, random_state=0).fit(wine.data, pairs=known)
ax = nk.plot.explanation(of_wine.explain(wine.data.iloc[0], wine.data.iloc[100]), most=8)
