"""Two sets of different columns, ten links between them, and the space that they share."""

import numpy as np
from _shared import BLUE, GREY, ORANGE, panels
from matplotlib.collections import LineCollection

import nearkin as nk

angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
circle = np.column_stack([np.cos(angle), np.sin(angle)])
bent = np.column_stack([3 * np.sin(angle), np.cos(angle), 0.8 * np.cos(2 * angle)])
links = [(0, i, 1, i) for i in range(0, 60, 6)]
alignment = nk.ManifoldAlignment(n_vectors=3, n_components=2, random_state=0)
alignment.fit([circle, bent], pairs=nk.pairs_between([circle, bent], links))

axes = panels(2, 4.4, 3)
flat = np.column_stack([0.35 * bent[:, 0], 0.7 * bent[:, 1] + 0.5 * bent[:, 2]])
shown = circle, np.add(flat, [3.2, 0])
both = [np.vstack([shown[0][i], shown[1][i]]) for _, i, _, _ in links]
axes[0].add_collection(LineCollection(both, colors=GREY, lw=0.8))
together = alignment.embeddings_
for ax, sets in ((axes[0], shown), (axes[1], together)):
    for rows, colour, marker in zip(sets, (BLUE, ORANGE), "os", strict=True):
        ax.plot(*rows.T, marker, color=colour, ms=4, alpha=0.7)
    ax.set(xticks=[], yticks=[], aspect="equal")
axes[0].set_title("two sets, ten links", fontsize=10)
axes[1].set_title("the space that they share", fontsize=10)
