"""Ranks with their critical difference, and gains by the number of pairs."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.stats import rankdata, studentized_range

mpl.use("Agg")
import matplotlib.pyplot as plt

from benchmarks.few_pairs.methods import OURS


def critical_difference(scores: np.ndarray, names: list[str], path: Path) -> None:
    """Mean ranks on a line; methods joined by a bar do not differ significantly (Nemenyi, 5 %).

    Parameters
    ----------
    scores : ndarray of shape (data sets, methods)
        Mean ranks of each method on each data set, ranked once more here.
    """
    ranks = rankdata(scores, axis=1).mean(axis=0)
    n, k = scores.shape
    critical = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n))
    order = np.argsort(ranks)
    figure, ax = plt.subplots(figsize=(8, 0.32 * k + 1), layout="constrained")
    for line, i in enumerate(order):
        ax.plot(ranks[i], -line, "o", color="C3" if names[i] == OURS else "C0", zorder=3)
        ax.plot([ranks[i], ranks[i] + critical], [-line, -line], color="0.75", linewidth=3)
        ax.text(ranks[i], -line + 0.28, f"{ranks[i]:.1f}", ha="center", fontsize=7)
    ax.set_xlim(0.4, k + critical)
    ax.set_yticks(-np.arange(k), [names[i] for i in order], fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("mean rank in pair AUC over data sets (1 is best)")
    title = f"A grey bar is the critical difference of {critical:.1f} (Nemenyi, 5 %, {n} data sets)"
    ax.set_title(title, fontsize=9)
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


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
