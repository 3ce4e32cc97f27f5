"""Step B of geometry-aware learning: isotonic regression, and the paper's cyclic projections."""

import numpy as np
from matplotlib import pyplot as plt

from nearkin.solvers.kernel_families import order_weights

rng = np.random.default_rng(1)
r = 20
diagonal = np.exp(-np.arange(r) / 8) * rng.gamma(4, 0.25, r)
best = order_weights(diagonal)


def cost(weights):
    return float((diagonal / weights + np.log(weights)).sum())


def swept(weights, duals):
    """A sweep of FindAlpha: each neighbouring pair is put in order, as far as its dual allows."""
    for i in range(r - 1):
        step = min(duals[i], (weights[i] - weights[i + 1]) / 2)
        duals[i] -= step
        weights[i], weights[i + 1] = weights[i] - step, weights[i + 1] + step


weights, duals = diagonal.copy(), np.zeros(r - 1)
above = []
for _ in range(60):
    swept(weights, duals)
    above.append(cost(np.maximum.accumulate(weights[::-1])[::-1]) - cost(best))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8))
place = np.arange(1, r + 1)
left.plot(place, diagonal, "o", markersize=4, label="diagonal of B")
left.step(place, best, where="mid", label="isotonic regression")
left.set(xlabel="smooth function", xticks=[1, 5, 10, 15, 20], ylim=(0, None))
left.legend()
right.semilogy(place[0] + np.arange(60), np.maximum(above, 1e-16), "o-", markersize=3)
right.set(xlabel="sweep of cyclic projections", ylabel="above the minimum")
