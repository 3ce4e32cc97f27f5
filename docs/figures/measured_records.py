"""F1 of duplicates by the number of answers, beside other packages that were told the same."""

import matplotlib.pyplot as plt

from benchmarks.site import rows_of

TABLES = ("restaurants", "rldata500", "febrl1", "febrl3")
METHODS = {
    "RecordMatcher": ("o-", "C1", 3),
    "splink, labels": ("s-", "C0", 1.5),
    "dedupe": ("^-", "C2", 1.5),
    "recordlinkage, Bayes": ("D-", "C3", 1.5),
}

rows = [row for row in rows_of("records/results.jsonl") if row.get("seed") == 0 and "f1" in row]
figure, panels = plt.subplots(1, len(TABLES), figsize=(9, 3.2), sharey=True)
for panel, table in zip(panels, TABLES, strict=True):
    for method, (style, colour, width) in METHODS.items():
        found = sorted(
            (row["n_answers"], row["f1"])
            for row in rows
            if row["data"] == table
            and row["method"] in (method, method.removesuffix(", labels"))
            and (row["protocol"] == "random" or row["n_answers"] == 0)
        )
        if found:
            panel.plot(*zip(*found, strict=True), style, color=colour, lw=width, label=method)
    panel.set(title=table, xlabel="random answers", ylim=(0, 1.05), xticks=(0, 20, 50, 100))
panels[0].set_ylabel("F1 of pairs")
panels[0].legend(fontsize=8, loc="lower right")
