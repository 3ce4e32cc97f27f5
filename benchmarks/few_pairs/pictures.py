"""A picture of gains by the number of pairs."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from benchmarks.few_pairs.methods import OURS


def gains_by_pairs(
    clean: np.ndarray, noisy: np.ndarray, names: list[str], n_pairs: tuple[int, ...], path: Path
) -> None:
    """Mean gain in pair AUC over the Euclidean distance, by the number of pairs."""
    base = names.index("Euclidean")
    dark, light = (mpl.color_sequences["tab20"][start::2] for start in (0, 1))
    others = [color for i, color in enumerate([*dark, *light]) if i != 3]  # red is ours
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for ax, table, title in zip(
        panels, (clean, noisy), ("all pairs right", "20 % of pairs wrong"), strict=True
    ):
        gains = (table - table[..., [base]]).mean(axis=0)
        ax.set_prop_cycle(color=others)
        for i, name in enumerate(names):
            if i == base or name == "PCA whitening":
                continue
            bold = name == OURS
            style = {"linewidth": 3, "color": "C3", "zorder": 3} if bold else {"linewidth": 1}
            ax.plot(n_pairs, gains[:, i], "o-", markersize=3, label=name, **style)
        ax.axhline(0, color="0.3", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xticks(n_pairs, map(str, n_pairs))
        ax.minorticks_off()
        ax.set_xlabel("pairs")
        ax.set_title(title, fontsize=10)
    panels[0].set_ylabel("gain in pair AUC over Euclidean")
    figure.legend(*panels[1].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
