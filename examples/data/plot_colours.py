"""
Colours: what people call the same
==================================

Two greens far apart are both green, while two colours side by side have different names. Can a
metric on red, green and blue learn where one name ends and the next begins?

Colours are made at random. Their names go by the hue, but for dark and pale ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import rgb_to_hsv

import nearkin as nk

rng = np.random.default_rng(0)
X = rng.uniform(size=(900, 3))
hue, saturation, value = rgb_to_hsv(X).T
NAMES = np.array(["red", "yellow", "green", "blue", "purple"])
name = NAMES[np.searchsorted([0.05, 0.2, 0.47, 0.7, 0.92], hue) % 5]
name = np.where(value < 0.25, "black", np.where(saturation < 0.2, "grey", name))

# %%
# Somebody says of 150 pairs whether they would call both by one name. The metric is learned on the
# first 500 colours, and looked at on the others.

pairs = nk.Pairs.from_labels(name[:500], 150, random_state=0)
metric = nk.MetricLearner(random_state=0).fit(X[:500], pairs=pairs)
new = X[500:]
Z = metric.transform(new)

# %%
# Every point below has the colour that it stands for. On the right, colours of one name lie
# together, and others have moved away from them.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for ax, space, title in ((axes[0], new, "red, green and blue"), (axes[1], Z, "learned")):
    places = nk.plot.in_the_plane(space)
    auc = nk.scores.pair_auc(space, name[500:])
    ax.scatter(*places.T, c=new, s=40, edgecolors="0.6", linewidths=0.3)
    ax.set(title=f"{title}: pair AUC {auc:.2f}", xticks=[], yticks=[])
    ax.set_aspect("equal", adjustable="datalim")
