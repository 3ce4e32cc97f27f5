"""How far said probabilities are off, and how often intervals hold the truth."""

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.few_pairs.data import REPORTED
from benchmarks.site import rows_of

rows = [row for row in rows_of("calibration/results.jsonl") if row["data"] in REPORTED]
numbers = sorted({row["n_pairs"] for row in rows})


def mean_by_pairs(name):
    """Mean over data sets and draws, for each number of pairs."""
    of = [
        [row[name] for row in rows if row["n_pairs"] == n and row[name] is not None]
        for n in numbers
    ]
    return [float(np.mean(found)) if found else np.nan for found in of]


figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2))
left.plot(numbers, mean_by_pairs("ece"), "o-")
left.set(
    xscale="log", xlabel="pairs learned from", ylabel="expected calibration error", ylim=(0, 0.1)
)
left.set_xticks(numbers, map(str, numbers))
left.minorticks_off()

judged_by = (10, 20, 50, 200)
for figure_of, label in (("auc", "pair AUC"), ("precision", "precision"), ("recall", "recall")):
    held = [
        np.mean([row["intervals"][f"half {n}"][figure_of][0] for row in rows]) for n in judged_by
    ]
    right.plot(judged_by, held, "o-", label=label)
right.axhline(0.9, color="0.4", linewidth=1, linestyle="--")
right.set(
    xscale="log", xlabel="pairs judged by", ylabel="intervals that hold the truth", ylim=(0.7, 1)
)
right.set_xticks(judged_by, map(str, judged_by))
right.minorticks_off()
right.legend()
