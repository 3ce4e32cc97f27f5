"""
Time series: machines by their vibration
========================================

Two recordings of one machine never start at the same moment. What should be compared?

A recording has 200 samples. Sample by sample, two of one machine are as different as any, since
they are shifted against each other. Strengths of frequencies do not know of shifts; but there are
a hundred of them, most of which are noise, and pairs say which matter.
"""

import matplotlib.pyplot as plt
import numpy as np

import nearkin as nk

rng = np.random.default_rng(0)
MACHINES = {"pump": (5, 15), "fan": (8, 24), "press": (5, 24), "saw": (8, 15)}
time = np.arange(200) / 200


def recording(name):
    """A machine's two tones, from any moment on, with the hum of the hall and noise."""
    tones = sum(np.sin(2 * np.pi * (f * time + rng.uniform())) for f in MACHINES[name])
    hum = sum(rng.uniform(0, 2) * np.sin(2 * np.pi * (f * time + rng.uniform())) for f in (2, 40))
    return tones + hum + rng.normal(scale=1.0, size=len(time))


machine = rng.choice(list(MACHINES), size=400)
waves = np.array([recording(name) for name in machine])
strengths = np.abs(np.fft.rfft(waves))[:, 1:] / 100

# %%
# Four recordings of each of two machines:

figure, axes = plt.subplots(1, 2, figsize=(9, 2.6), layout="constrained", sharey=True)
for ax, name in zip(axes, ("pump", "saw"), strict=True):
    ax.plot(time, waves[machine == name][:4].T + 7 * np.arange(4), linewidth=0.8)
    ax.set(title=name, xlabel="seconds", yticks=[])

# %%
# Fifty pairs of 200 recordings. ``ColumnWeights`` has one number to learn for each frequency, so
# that few pairs are enough.

pairs = nk.Pairs.from_labels(machine[:200], 50, random_state=0)
metric = nk.ColumnWeights(random_state=0).fit(strengths[:200], pairs=pairs)
new = slice(200, None)
spaces = {
    "samples": waves[new],
    "frequencies": strengths[new],
    "learned": metric.transform(strengths[new]),
}
# sphinx_gallery_thumbnail_number = 2
axes = nk.plot.side_by_side(spaces, machine[new])

# %%
# The weights: the tones of machines have been found, and the hum at 2 and 40 Hz has not fooled it.

figure, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
ax.bar(np.arange(1, 101), metric.weights_, width=0.9)
ax.set(xlabel="frequency in Hz", ylabel="weight", xlim=(0, 60))
