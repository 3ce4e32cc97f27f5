"""Adjusted Rand index by the number of pairs, from the stored results."""

import matplotlib.pyplot as plt

from benchmarks.clusters.tables import IN_OUR_METRIC, NUMBERS, OURS, Results
from benchmarks.record import ROOT, stored

SHOWN = {
    OURS: ("#d55e00", "o", "-"),
    IN_OUR_METRIC: ("#d55e00", "s", ":"),
    "COBRAS, asking": ("#0072b2", "^", "-"),
    "COP-k-means": ("#009e73", "v", "-"),
    "MPCKMeans": ("#cc79a7", "D", "-"),
    "k-means": ("#000000", "x", "--"),
    "HDBSCAN with labels": ("#999999", "P", "-"),
}
results = Results(stored(ROOT / "benchmarks/clusters/results.jsonl")[1])
means = results.table(list(SHOWN)).mean(axis=0)

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for values, (name, (colour, marker, style)) in zip(means.T, SHOWN.items(), strict=True):
    wide = 2.4 if name == OURS else 1.2
    ax.plot(NUMBERS, values, color=colour, marker=marker, ls=style, lw=wide, label=name)
ax.set(xscale="log", xlabel="pairs", ylabel="adjusted Rand index", ylim=(0, None))
ax.set_xticks(NUMBERS, [str(number) for number in NUMBERS])
ax.minorticks_off()
ax.grid(alpha=0.3)
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
