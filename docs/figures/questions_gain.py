"""Pair AUC on new rows by the number of answers, from the stored results."""

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.active.run import CONTROL, DATA, N_CONTROL, QUERIES, RAW, means
from benchmarks.record import stored

SHOWN = {
    "neighborhoods": ("C0", "o", "-"),
    "consolidate": ("C2", "^", "-"),
    "uncertainty": ("C3", "v", "-"),
    "random": ("C1", "s", "--"),
}
auc = means(stored(RAW)[1], "ITML")

figure, ax = plt.subplots(figsize=(7, 3.6))
for strategy, (colour, marker, style) in SHOWN.items():
    values = [np.mean([auc[data, strategy, n] for data in DATA]) for n in QUERIES]
    ax.plot(QUERIES, values, color=colour, marker=marker, ls=style, label=strategy)
goal = np.mean([auc[data, CONTROL, N_CONTROL] for data in DATA])
ax.axhline(goal, color="0.4", ls=":", label=f"{N_CONTROL} random pairs")
ax.set(
    xlabel="answers", ylabel="pair AUC on new rows", title=f"ITML, mean of {len(DATA)} data sets"
)
ax.grid(alpha=0.3)
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
