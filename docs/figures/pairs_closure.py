"""What was said of five rows, and what follows from it."""

import matplotlib.pyplot as plt

import nearkin as nk

PLACES = {0: (0.0, 1.0), 1: (-0.5, 0.1), 2: (0.5, 0.1), 3: (1.7, 0.1), 4: (2.2, 1.0)}
ALIKE, DIFFERENT = "#0072b2", "#d55e00"  # told apart by the colour-blind, too


def draw(ax, pairs, given, title):
    for links, told, colour, style in (
        (pairs.must_link, given.must_link, ALIKE, "-"),
        (pairs.cannot_link, given.cannot_link, DIFFERENT, (0, (4, 2))),
    ):
        for link in links.tolist():
            follows = link not in told.tolist()
            ends = zip(*(PLACES[row] for row in link), strict=True)
            ax.plot(*ends, color=colour, ls=style, lw=1.2 if follows else 2.8, zorder=1)
    for row, (x, y) in PLACES.items():
        ax.scatter(x, y, s=380, color="white", edgecolor="black", zorder=2)
        ax.text(x, y, str(row), ha="center", va="center", zorder=3)
    ax.set(title=title, xlim=(-0.8, 2.5), ylim=(-0.25, 1.3))
    ax.set_axis_off()


known = nk.Pairs(must_link=[(0, 1), (1, 2), (3, 4)], cannot_link=[(2, 3)])
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.6), layout="constrained")
draw(left, known, known, "said")
draw(right, known.closure(), known, "follows (thin)")
right.plot([], [], color=ALIKE, label="alike")
right.plot([], [], color=DIFFERENT, ls=(0, (4, 2)), label="different")
figure.legend(loc="outside lower center", ncols=2, frameon=False)
