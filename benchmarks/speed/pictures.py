"""Pictures of the page on speed: rates, memory and growth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator, NullFormatter, NullLocator

Row = dict[str, Any]
Curves = dict[str, tuple[list[float], list[float]]]

# Told apart without colour too: by marker and hatch.
LIBRARIES = {
    "nearkin": ("C0", "o"),
    "NumPy": ("0.35", "s"),
    "scikit-learn": ("C1", "^"),
    "metric-learn": ("C2", "D"),
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DPI = 110


def short(value: float) -> str:
    """1 500 000 as 1.5 M."""
    for size, name in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{name}"
    return f"{value:.3g}"


def bare(ax: Any, *sides: str) -> None:
    for side in sides or ("right", "top"):
        ax.spines[side].set_visible(False)


def rates_and_memory(rows: dict[str, Row], n: int, path: Path) -> None:
    """Rows a second, and memory by what it holds."""
    names = list(rows)[::-1]
    height = 0.45 * len(names) + 1.5
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, height), layout="constrained")
    places = np.arange(len(names))
    rates = [n / rows[name]["seconds"] for name in names]
    colors = ["C0" if name == "KernelBeta" else "0.6" for name in names]
    left.barh(places, rates, color=colors, height=0.6)
    for place, rate in zip(places, rates, strict=True):
        left.annotate(
            short(rate), (rate, place), (4, 0), textcoords="offset points", va="center", fontsize=10
        )
    left.set_yticks(places, names, fontsize=11)
    left.set_xlim(0, 1.18 * max(rates))
    left.xaxis.set_major_locator(MaxNLocator(5))
    left.xaxis.set_major_formatter(lambda value, _: short(value))
    left.set_xlabel("rows a second, fit and transform")
    start = np.zeros(len(names))
    parts = (("input", "0.45", ""), ("output", "0.8", "///"), ("beyond", "C3", "..."))
    for part, color, hatch in parts:
        key = part if part == "beyond" else f"{part}_gb"
        sizes = np.array([max(rows[name][key], 0) for name in names])
        label = "beyond both" if part == "beyond" else part
        right.barh(
            places, sizes, 0.6, start, color=color, hatch=hatch, edgecolor="white", label=label
        )
        start += sizes
    for place, total, name in zip(places, start, names, strict=True):
        text = f"{total:.2f} GB, {rows[name]['beyond']:.2f} beyond"
        right.annotate(
            text, (total, place), (4, 0), textcoords="offset points", va="center", fontsize=10
        )
    right.set_yticks(places, [""] * len(names))
    right.set_xlim(0, 1.5 * max(start))
    right.set_xlabel("peak memory, GB")
    right.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=10, frameon=False)
    for ax in (left, right):
        bare(ax)
        ax.tick_params(axis="y", length=0)
    left.set_title(f"{n:,} rows of clustered data", fontsize=12, loc="left")
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def rates(rows: list[Row], path: Path) -> None:
    """Rows a second of every method: one point for each size, the largest filled."""
    sizes = sorted({row["n"] for row in rows})
    last = {row["method"]: row["n"] / row["seconds"] for row in rows if row["n"] == sizes[-1]}
    names = sorted(last, key=last.__getitem__)
    figure, ax = plt.subplots(figsize=(9, 0.34 * len(names) + 1.6), layout="constrained")
    for row in rows:
        if row["method"] not in last:
            continue
        color, marker = LIBRARIES[row["whose"]]
        filled = row["n"] == sizes[-1]
        place, rate = names.index(row["method"]), row["n"] / row["seconds"]
        face = color if filled else "white"
        ax.plot(rate, place, marker, color=color, markerfacecolor=face, markersize=8, zorder=3)
    ends = [[row["n"] / row["seconds"] for row in rows if row["method"] == name] for name in names]
    for place, (name, both) in enumerate(zip(names, ends, strict=True)):
        ax.plot([min(both), max(both)], [place, place], color="0.7", linewidth=1.5, zorder=1)
        left = last[name] < max(both)
        ax.annotate(
            short(last[name]),
            (last[name], place),
            (-9 if left else 9, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=10,
        )
    whose = {row["method"]: row["whose"] for row in rows}
    labels = [
        name if whose[name] in name or whose[name] == "NumPy" else f"{whose[name]} {name}"
        for name in names
    ]
    ax.set_yticks(range(len(names)), labels, fontsize=10)
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    ax.set_xlim(low / 2.5, high * 4)
    ax.xaxis.set_major_formatter(lambda value, _: short(value))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(axis="x", color="0.9", zorder=0)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("rows a second, fit and transform")
    ax.set_title(
        f"Filled, with the number: {sizes[-1]:,} rows"
        + (f"; open: {sizes[0]:,} rows" if len(sizes) > 1 else ""),
        fontsize=11,
        loc="left",
    )
    bare(ax)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def apart(places: list[float], gap: float) -> list[float]:
    """The nearest places, in the same order, that are a gap apart."""
    order = np.argsort(places, kind="stable")
    spread = np.array(places, dtype=float)[order]
    for _ in range(100):
        close = np.flatnonzero(np.diff(spread) < gap * 0.999)
        if not len(close):
            break
        for i in close:
            middle = (spread[i] + spread[i + 1]) / 2
            spread[i], spread[i + 1] = middle - gap / 2, middle + gap / 2
    found = np.empty(len(spread))
    found[order] = spread
    return list(found)


def ticks(low: float, high: float) -> list[float]:
    """Round numbers for a logarithmic axis, the more to a decade the fewer decades there are."""
    steps = (1, 2, 5) if high / low < 30 else (1, 3) if high / low < 1000 else (1,)
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    found = [step * 10.0**decade for decade in decades for step in steps]
    return [tick for tick in found if 0.99 * low <= tick <= 1.01 * high]


def growth(
    panels: dict[str, Curves],
    exponent: Callable[[list[float], list[float]], float],
    names: dict[str, str],
    path: Path,
) -> None:
    """Seconds by size on logarithmic axes, each curve with its exponent at its end."""
    n_columns = min(2, len(panels))
    n_rows = -(-len(panels) // n_columns)
    methods = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    figure, grid = plt.subplots(
        n_rows,
        n_columns,
        figsize=(6 * n_columns + 2 * (n_columns == 1), 4 * n_rows),
        layout="constrained",
        squeeze=False,
    )
    for ax in grid.flat[len(panels) :]:
        ax.set_visible(False)
    for ax, (axis, curves) in zip(grid.flat, panels.items(), strict=False):
        symbol = axis[0]
        values = [value for _, seconds in curves.values() for value in seconds]
        sizes = [size for line, _ in curves.values() for size in line]
        low, high = np.log10(min(values)), np.log10(max(values))
        # At least a decade: what hardly grows is to look like it.
        pad = max(0.08 * (high - low), (1.1 - (high - low)) / 2)
        bottom, top = low - pad, high + pad
        ends = [np.log10(seconds[-1]) for _, seconds in curves.values()]
        places = apart(ends, 0.075 * (top - bottom))
        bottom, top = min(bottom, min(places) - 0.05), max(top, max(places) + 0.05)
        first, last = min(sizes), max(sizes)
        edge = last * (last / first) ** 0.06
        for (method, (line, seconds)), place in zip(curves.items(), places, strict=True):
            i = methods.index(method)
            color = f"C{i}"
            ax.plot(line, seconds, marker=MARKERS[i % len(MARKERS)], color=color, markersize=6)
            power = round(exponent(line, seconds), 2) + 0.0  # no minus before zero
            words = f"{method}  ${symbol}^{{{power:.2f}}}$"
            ax.plot([line[-1], edge], [seconds[-1], 10**place], ":", color="0.6", linewidth=1)
            ax.annotate(
                words,
                (edge, 10**place),
                (3, 0),
                textcoords="offset points",
                va="center",
                color=color,
                fontsize=11,
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(first * 0.85, last * (last / first) ** 0.62)
        ax.set_ylim(10**bottom, 10**top)
        ax.set_xticks(ticks(first, last))
        ax.set_yticks(ticks(10**bottom, 10**top))
        ax.xaxis.set_major_formatter(lambda value, _: short(value))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        for side in (ax.xaxis, ax.yaxis):
            side.set_minor_locator(NullLocator())
        ax.tick_params(labelsize=10)
        ax.grid(color="0.92")
        ax.set_xlabel(f"{names[axis]}, ${symbol}$", fontsize=11)
        ax.set_ylabel("seconds", fontsize=11)
        bare(ax)
        ax.spines["bottom"].set_bounds(first * 0.85, last)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)
