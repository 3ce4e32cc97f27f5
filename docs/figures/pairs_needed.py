"""Gain by the number of pairs, a line for each data set and their mean, from stored results."""

import numpy as np
from _shared import BLUE, GREY, in_order, panels

from benchmarks.few_pairs.data import REPORTED
from benchmarks.few_pairs.run import RAW
from benchmarks.record import stored

METHOD, PROTOCOL = "MetricLearner", "all pairs right"
found = {}
for row in stored(RAW)[1]:
    if row["protocol"] == PROTOCOL and row["method"] in (METHOD, "Euclidean"):
        cell = row["method"], row["data"], row["n_pairs"]
        found.setdefault(cell, []).append(row["auc"])
numbers = sorted({n for _, _, n in found})
gains = np.array(
    [
        [np.mean(found[METHOD, d, n]) - np.mean(found["Euclidean", d, n]) for n in numbers]
        for d in REPORTED
    ]
)
ax = panels(1, 6.6, 4)[0]
ax.plot(numbers, gains.T, "-", color=GREY, lw=1)
ax.plot(numbers, gains.mean(axis=0), "o-", color=BLUE, lw=3)
for end, place, name in zip(gains[:, -1], in_order(gains[:, -1], 0.013), REPORTED, strict=True):
    ax.plot([numbers[-1], numbers[-1] * 1.15], [end, place], color=GREY, lw=0.5)
    words = name.replace("_counts", "").replace("_", " ")
    ax.text(numbers[-1] * 1.2, place, words, fontsize=7, va="center")
ax.axhline(0, color="black", lw=0.8)
ax.set(xscale="log", xticks=numbers, xticklabels=numbers, xlim=(9, 3000), xlabel="pairs")
ax.set(ylabel="gain in pair AUC over Euclidean")
ax.minorticks_off()
