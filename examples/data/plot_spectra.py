"""
Spectra: look past the baseline
===============================

A spectrometer's baseline drifts more than substances differ. Can pairs of the same substance teach
a distance to look past it?

The spectra here are made up: five substances with peaks in different places, and under each
measurement a baseline that bends at random. Must-links alone tell how measurements of one thing
vary; ``PLDA`` learns to disregard it.

The learner was chosen after ten had been compared on these very rows: its pair AUC is flattering;
honest figures are under :doc:`/measured/index`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import nearkin as nk

rng = np.random.default_rng(0)
wavelength = np.linspace(400, 800, 120)
PEAKS = rng.uniform(430, 770, size=(5, 3))


def measured(n):
    """Spectra, and the substance of each."""
    substance = rng.integers(len(PEAKS), size=n)
    offsets = (wavelength - PEAKS[substance][:, :, None]) / 12
    signal = np.exp(-(offsets**2)).sum(axis=1)
    position = (wavelength - 600) / 200
    bends = rng.normal(size=(n, 4)) @ np.array([position**power for power in range(4)])
    return signal + 1.5 * bends + rng.normal(scale=0.05, size=signal.shape), substance


X, substance = measured(300)
X_new, substance_new = measured(200)
figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
for spectrum, number in zip(X[:15], substance, strict=False):
    ax.plot(wavelength, spectrum, color=f"C{number}", linewidth=1)
ax.set(xlabel="wavelength in nm", ylabel="signal", title="fifteen measurements of five substances")

# %%
# Sixty times somebody has measured the same sample twice, so that two rows are known to be alike.

# sphinx_gallery_thumbnail_number = 2
pairs = nk.Pairs.from_labels(substance, 60, kind="must", random_state=0)
metric = nk.Chain([PCA(20, random_state=0), nk.PLDA(random_state=0)]).fit(X, pairs=pairs)
spaces = {"as measured": X_new, "learned": metric.transform(X_new)}
axes = nk.plot.side_by_side(spaces, substance_new)

# %%
# Where the learned distance looks, with the true peaks as dotted lines:

figure, ax = plt.subplots(figsize=(8, 2.8), layout="constrained")
shares = metric.importances()
ax.plot(wavelength, [100 * shares[name] for name in sorted(shares, key=int)], color="0.2")
for number, peaks in enumerate(PEAKS):
    for peak in peaks:
        ax.axvline(peak, color=f"C{number}", linewidth=1.2, linestyle=":")
ax.set(xlabel="wavelength in nm", ylabel="part of the distance, in %")
