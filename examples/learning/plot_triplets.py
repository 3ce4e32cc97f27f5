"""
Learn from "this one is nearer"
===============================

Whoever cannot say "same" or "different" can often say what is nearer. Is that enough?

A triplet (a, b, c) says that row a is nearer to b than to c. Nobody needs classes for that: here
there are none, only a taste. Somebody judges rooms by size and light, and does not care for the
other eight things that were measured.
"""

import numpy as np

import nearkin as nk

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 10))
TASTE = np.array([2.0, 1.5, 0, 0, 0, 0, 0, 0, 0, 0])


def asked(rows, n):
    """Triplets, the nearer row in the second place."""
    a, b, c = np.array([rng.choice(rows, 3, replace=False) for _ in range(n)]).T
    first, second = (np.linalg.norm((X[a] - X[other]) * TASTE, axis=1) for other in (b, c))
    nearer = first < second
    return nk.Pairs(closer=np.column_stack([a, np.where(nearer, b, c), np.where(nearer, c, b)]))


others = asked(np.arange(200, 400), 500)

# %%
# How many of 500 triplets about other rows are in order, after learning from so many:

N_TRIPLETS = [10, 30, 100, 300]
kept, metrics = [], {}
for n in N_TRIPLETS:
    metrics[n] = nk.ITML(random_state=0).fit(X, pairs=asked(np.arange(200), n))
    kept.append(metrics[n].score(X, pairs=others))
plain = nk.Euclidean().fit(X, pairs=others).score(X, pairs=others)
ax = nk.plot.course(
    N_TRIPLETS,
    {"ITML": kept, "Euclidean": plain},
    x="triplets",
    y="others that are in order",
    log=True,
)

# %%
# What the metric looks at after 300 answers: columns 0 and 1, size and light.

ax = nk.plot.importances(metrics[300], title="columns")
