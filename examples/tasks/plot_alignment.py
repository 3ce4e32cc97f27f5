"""
Bring two instruments into one space
====================================

Two instruments measure the same things in columns that have nothing in common. Which row of one
belongs to which of the other?

:class:`nearkin.ManifoldAlignment` looks at the shape of each set, and a few known links between the
two put one shape upon the other.
"""

import matplotlib.pyplot as plt
import numpy as np

import nearkin as nk

rng = np.random.default_rng(0)
hour = np.sort(rng.uniform(0, 24, size=240))
angle = 2 * np.pi * hour / 24

# %%
# Both see the hours of a day: one by three numbers on a bent ring, the other by pictures of a
# clock's hand with 100 pixels.

first = np.column_stack([np.cos(angle), 2 * np.sin(angle), np.cos(2 * angle)])
first += rng.normal(scale=0.05, size=first.shape)
across, down = np.meshgrid(np.linspace(-1, 1, 10), np.linspace(-1, 1, 10))
tip_x, tip_y = 0.7 * np.sin(angle)[:, None], -0.7 * np.cos(angle)[:, None]
second = np.exp(-((across.ravel() - tip_x) ** 2 + (down.ravel() - tip_y) ** 2) / 0.15)
second += rng.normal(scale=0.05, size=second.shape)
nk.plot.pictures(second[::30], (10, 10), titles=[f"{h:.0f} h" for h in hour[::30]])

# %%
# Ten moments are known in both.

links = [(0, row, 1, row) for row in range(12, 240, 24)]
pairs = nk.pairs_between([first, second], links)
alignment = nk.ManifoldAlignment(n_vectors=3, random_state=0)
alignment = alignment.fit([first, second], pairs=pairs)

# %%
# Both sets in the common space, coloured by the hour, which nobody told:

# sphinx_gallery_thumbnail_number = 2
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
aligned = np.concatenate(alignment.embeddings_)
together = nk.plot.in_the_plane(aligned)
for ax, places, title in (
    (axes[0], nk.plot.in_the_plane(first), "first instrument"),
    (axes[1], nk.plot.in_the_plane(second), "second instrument"),
    (axes[2], together, "both, aligned"),
):
    hours = hour if len(places) == 240 else np.tile(hour, 2)
    points = ax.scatter(*places.T, c=hours, cmap="twilight_shifted", s=16)
    ax.set(title=title, xticks=[], yticks=[])
    ax.set_aspect("equal", adjustable="datalim")
figure.colorbar(points, label="hour", ticks=[0, 6, 12, 18, 24])

# %%
# For each row of the first set, the nearest of the second: how far is that from the right hour?

_, found = alignment.retrieve(first, of=0, among=1, n=1)
gap = np.abs(hour[found[:, 0]] - hour)
gap = np.minimum(gap, 24 - gap)
print(f"half of them within {60 * np.median(gap):.0f} minutes")
