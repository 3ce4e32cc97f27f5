"""Figures as printed in Yeung, Chang and Dai, IJCAI 2007, with the deviations of their ten runs."""

from __future__ import annotations

from math import sqrt

from benchmarks.papers.overview import Figure

LANDMARKS = (100, 200, 300, 400, 500, 600, 700, 800)
# Isolet and sets of MNIST digits.
COLUMNS = ("isolet", "01", "13", "15", "17", "19", "012", "678", "019", "3456")
BASELINES = ("input", "RBF", "RCA")
N_RUNS = 10
ROUNDING = 0.00005  # half a unit of the last printed digit

# A mean, and a deviation where something is drawn at random.
Printed = tuple[float, float | None]

TABLE_1: dict[str | int, Printed] = {
    "input": (1.2460, None),
    "RBF": (1.4253, None),
    "RCA": (1.2552, 0.19),
    100: (2.8657, 1.28),
    200: (3.0886, 0.42),
    300: (3.5640, 0.78),
    400: (3.8422, 1.25),
    500: (4.2378, 0.99),
    600: (4.6395, 0.68),
    700: (4.8334, 0.90),
    800: (4.7463, 0.65),
}

_MEANS = {
    "input": (1.3888, 1.3914, 1.2124, 1.1920, 1.2458, 1.2379, 1.2408, 1.1534, 1.2779, 1.1162),
    "RBF": (1.2477, 1.2460, 1.1447, 1.1357, 1.1570, 1.1548, 1.1598, 1.0963, 1.1796, 1.0729),
    "RCA": (1.3049, 1.2970, 1.1779, 1.1705, 1.1820, 1.2086, 1.1844, 1.1207, 1.2087, 1.0793),
    "KernelBeta": (2.7938, 2.9078, 1.7070, 1.4015, 1.5463, 1.7023, 1.8620, 1.6233, 1.9608, 1.2945),
}
_DEVIATIONS = {
    "RCA": (0.0030, 0.0324, 0.0270, 0.0283, 0.0399, 0.0391, 0.0311, 0.0160, 0.0200, 0.0110),
    "KernelBeta": (0.0430, 0.4614, 0.2252, 0.1400, 0.2055, 0.3567, 0.3160, 0.1996, 0.1884, 0.0667),
}

TABLE_2: dict[tuple[str, str], Printed] = {
    (data, method): (mean, _DEVIATIONS[method][i] if method in _DEVIATIONS else None)
    for method, means in _MEANS.items()
    for i, (data, mean) in enumerate(zip(COLUMNS, means, strict=True))
}


def figure(printed: Printed) -> Figure:
    """A printed mean with its standard error."""
    mean, deviation = printed
    return Figure(mean, 0.0 if deviation is None else deviation / sqrt(N_RUNS))


def text(printed: Printed) -> str:
    mean, deviation = printed
    return f"{mean:.4f}" if deviation is None else f"{mean:.4f} ± {deviation:.2f}"
