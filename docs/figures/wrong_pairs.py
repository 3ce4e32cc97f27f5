"""How much of the gain is left by the share of wrong pairs, from stored results."""

import numpy as np
from _shared import panels

from benchmarks.few_pairs.data import REPORTED
from benchmarks.few_pairs.protocols import FEW_DRAWS
from benchmarks.few_pairs.run import RAW
from benchmarks.record import stored

N_PAIRS = 200
SHARES = {
    "all pairs right": 0,
    "5 % of pairs wrong": 5,
    "20 % of pairs wrong": 20,
    "35 % of pairs wrong": 35,
}
METHODS = {
    "MetricLearner": "o-",
    "KernelBeta": "s-",
    "CosineMetric, rbf": "D-",
    "ITML": "^-",
    "random forest of pairs": "v:",
    "matrix for cosine": "x:",
}
found = {}
for row in stored(RAW)[1]:
    here = row["protocol"] in SHARES and row["n_pairs"] == N_PAIRS and row["seed"] < FEW_DRAWS
    if here and row["data"] in REPORTED:
        found.setdefault((row["method"], row["protocol"]), []).append(row["auc"])
ax = panels(1, 6.2, 3.6)[0]
for method, style in METHODS.items():
    gains = [np.mean(found[method, p]) - np.mean(found["Euclidean", p]) for p in SHARES]
    ax.plot(list(SHARES.values()), gains, style, label=method)
ax.axhline(0, color="black", lw=0.8)
ax.set(xlabel="% of pairs that are wrong", ylabel="gain in pair AUC over Euclidean")
ax.legend(fontsize=8)
