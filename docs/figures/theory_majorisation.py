"""A parabola above the objective of KernelA, its descent, and where rows go."""

import numpy as np
from matplotlib import pyplot as plt

import nearkin as nk

figure, (touching, falling, moved) = plt.subplots(1, 3, figsize=(9, 2.9))

# Two points that differ by (s, 0.4): a spring of length 1 and a pull of weight 0.3. The bound is
# that of Theorem 2 at s = now.
s = np.linspace(-1.9, 1.9, 400)
pull, aside, now = 0.3, 0.4, -1.7


def objective(s):
    return (np.hypot(s, aside) - 1) ** 2 + pull * (s**2 + aside**2)


def bound(s):
    inner = (s * now + aside**2) / np.hypot(now, aside)
    return (1 + pull) * (s**2 + aside**2) - 2 * inner + 1


following = now / np.hypot(now, aside) / (1 + pull)
touching.plot(s, objective(s), label="objective")
touching.plot(s, bound(s), label="bound")
touching.plot(now, objective(now), "o", color="black")
touching.plot(following, objective(following), "s", color="black")
touching.annotate("now", (now + 0.12, objective(now)))
touching.annotate("next", (following, objective(following) - 0.25), ha="center")
touching.set(ylim=(-0.2, 2.4), xlabel="difference of two points", title="objective and bound")
touching.legend(loc="upper right", fontsize=8)

X, classes = nk.datasets.make_xor(200, random_state=0)
pairs = nk.Pairs.from_labels(classes, 10, kind="must", random_state=0)
metric = nk.KernelA(n_iter=20, n_components=2, random_state=0).fit(X, pairs=pairs)
falling.semilogy(metric.objective_, "o-", markersize=4)
falling.set(xlabel="step", title="objective of KernelA")
falling.xaxis.get_major_locator().set_params(integer=True)
for kind, marker in ((0, "o"), (1, "^")):
    moved.plot(*metric.embedding_[classes == kind].T, marker, markersize=3)
moved.set(title="rows after 20 steps", xticks=[], yticks=[])
moved.set_aspect("equal")
