"""LMNN around one row: impostors are pushed out of the circle that its nearest likes define."""

import numpy as np
from _shared import BLUE, ORANGE, panels
from matplotlib.patches import Circle

import nearkin as nk

N_TARGETS = 3
X, y = nk.datasets.make_three_normal(150, random_state=0)
X *= [1, 4]
alike = y[:, None] == y[None]


def circles(places):
    """Distances of all rows, and how far the farthest of the three nearest likes is."""
    away = np.linalg.norm(places[:, None] - places[None], axis=2)
    return away, np.sort(np.where(alike, away, np.inf), axis=1)[:, N_TARGETS]


Z = nk.LMNN(n_neighbors=N_TARGETS).fit(X, y).transform(X)
inside = {}
for name, places in (("before", X), ("after LMNN", Z)):
    away, reach = circles(places)
    inside[name] = (away < reach[:, None]) & ~alike
counts = [impostors.sum(axis=1) for impostors in inside.values()]
row = int(np.argmax(counts[0] - 3 * counts[1]))

for ax, (title, impostors), places in zip(panels(2, 4.2, 3.4), inside.items(), (X, Z), strict=True):
    for chosen, colour, marker in ((alike[row], BLUE, "o"), (~alike[row], ORANGE, "s")):
        ax.plot(*places[chosen].T, marker, color=colour, ms=4, alpha=0.5)
    ax.plot(*places[impostors[row]].T, "s", color=ORANGE, ms=8, mec="black")
    ax.plot(*places[row], "*", color="black", ms=12)
    near = circles(places)[1][row]
    ax.add_patch(Circle(places[row], near, fill=False, lw=1.5))
    wide = 3 * near * np.array([-1, 1])
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.set(xlim=places[row, 0] + wide * 1.25, ylim=places[row, 1] + wide)
    ax.set_title(f"{title}: {impostors.sum() / len(X):.2f} impostors a row", fontsize=10)
