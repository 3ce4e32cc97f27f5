"""Geometry-aware learning from must-links alone: as published, and with its size held."""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_swiss_roll

import nearkin as nk
from nearkin.solvers.kernel_families import SpectralFamily, alternate
from nearkin.solvers.logdet import bound_pairs, draw_random_pairs, estimate_bounds
from nearkin.spaces.graph import neighbor_graph, smoothest_functions

X, along = make_swiss_roll(300, noise=0.05, random_state=0)
y = (along > 9).astype(int)
roughness, U = smoothest_functions(neighbor_graph(X, 10, weight="heat"), 10)
start = np.exp(-0.1 * roughness)
must_links = nk.Pairs.from_labels(y, 20, kind="must", random_state=0)
both_kinds = nk.Pairs.from_labels(y, 20, random_state=0)
bounds = estimate_bounds(U, draw_random_pairs(len(X), np.random.RandomState(0)), np.diag(start))


def spread(B):
    """Mean squared distance of two rows."""
    return 2 * float(np.trace(np.cov(U.T) @ B))


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
for name, pairs, held in (
    ("must-links, as published", must_links, False),
    ("must-links, size held", must_links, True),
    ("cannot-links too, as published", both_kinds, False),
):
    family = SpectralFamily(U, start, keeps_size=held)
    sizes = [spread(family.prior)]
    for _ in range(12):
        B = alternate(family, bound_pairs(pairs, bounds, 5.0), n_iter=1).solution.B
        sizes.append(spread(B))
        family = family.nearest_to(B)
    (line,) = left.semilogy(np.array(sizes) / sizes[0], "o-", markersize=3, label=name)
    if pairs is must_links:
        values, vectors = np.linalg.eigh(B)
        Z = U @ (vectors * np.sqrt(values))
        Z = (Z - Z.mean(axis=0)) @ np.linalg.svd(Z - Z.mean(axis=0))[2][:2].T
        order = 2 - held
        for kind, marker in ((0, "o"), (1, "^")):
            style = {"color": line.get_color(), "markersize": 3, "zorder": order}
            right.plot(*Z[y == kind].T, marker, **style)
left.set(xlabel="round", ylabel="mean squared distance", ylim=(None, 60))
left.xaxis.get_major_locator().set_params(integer=True)
left.legend(fontsize=8, loc="upper right")
right.set(title="rows after 12 rounds, to one scale", xticks=[], yticks=[])
right.set_aspect("equal")
