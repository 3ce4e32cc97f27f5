"""The table of README.md and of the site's first page: a few pairs, and what they are worth."""

from __future__ import annotations

from benchmarks.few_pairs.data import REPORTED
from benchmarks.few_pairs.methods import EUCLIDEAN, OURS
from benchmarks.few_pairs.protocols import CLEAN, PROTOCOLS, RANDOM
from benchmarks.few_pairs.tables import Means
from benchmarks.site import rows_of

# Methods as they are called in stored results, and in words.
_SHOWN = {
    OURS: "**`MetricLearner`**",
    "CosineMetric, rbf": '`CosineMetric(kernel="rbf")`',
    "ITML": "`ITML`",
    "matrix for cosine": "a matrix trained for cosine similarity",
    "log-odds of PLDA": "log-odds of PLDA",
    "extra trees of pairs": "extra trees on pairs",
    "logistic regression of |x − y|": "logistic regression on pairs",
    EUCLIDEAN: "Euclidean distance",
}


def few_pairs() -> str:
    """Pair AUC on sets that nothing was tuned on, by the number of pairs; the best is bold."""
    means = Means(rows_of("few_pairs/results.jsonl"))
    found = means.table(CLEAN, REPORTED, "auc", list(_SHOWN)).mean(axis=0)
    sizes = PROTOCOLS[CLEAN].n_pairs
    lines = [
        "| pair AUC on new rows | " + " | ".join(f"{n} pairs" for n in sizes) + " |",
        "| --- |" + " ---: |" * len(sizes),
    ]
    for method, name in enumerate(_SHOWN.values()):
        cells = [
            f"**{auc[method]:.3f}**" if auc[method] == auc.max() else f"{auc[method]:.3f}"
            for auc in found
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    n_sets, n_draws = len(means.data(CLEAN, REPORTED)), means.draws(CLEAN, REPORTED)
    lines += ["", f"Means over {n_sets} real data sets not used for tuning, {n_draws} draws."]
    at_random = means.table(RANDOM, REPORTED, "auc", [OURS]).mean(axis=(0, 2))
    figures = ", ".join(f"{auc:.3f}" for auc in at_random)
    lines[-1] += (
        " Half of the\npairs are of the same kind. Of as many pairs of any two rows, most of which "
        f"differ, `MetricLearner` has\n{figures} ({means.draws(RANDOM, REPORTED)} draws)."
    )
    return "\n".join(lines)


BLOCKS = {"few_pairs": few_pairs}
