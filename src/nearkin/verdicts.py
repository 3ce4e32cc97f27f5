"""Same or different, by the distance, and how sure that is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from nearkin import backend

Floats = NDArray[np.floating]
_MOST_SHARP = 1e4


def best_threshold(same: Floats, different: Floats) -> float:
    """Distance below which two rows are called the same.

    It maximises the mean of the two rates of right answers on the given distances, and lies half
    way between the two distances it separates. Without ``different`` distances it is the largest
    of ``same``; without ``same``, half the smallest of ``different``.
    """
    if len(different) == 0:
        return float(np.max(same))
    if len(same) == 0:
        return float(np.min(different)) / 2
    values = np.concatenate([same, different])
    gain = np.repeat([1 / len(same), -1 / len(different)], [len(same), len(different)])
    order = np.argsort(values, kind="stable")
    values, gain = values[order], np.cumsum(gain[order])
    # Only between distinct values can a threshold lie.
    last_of_its_value = np.r_[values[1:] > values[:-1], True]
    best = int(np.argmax(np.where(last_of_its_value, gain, -np.inf)))
    if best + 1 == len(values):
        return float(values[best])
    return float((values[best] + values[best + 1]) / 2)


def chance_same(distances: Any, threshold: float, sharpness: float) -> Any:
    r"""Probability of being the same at a distance d: ½ at the threshold θ.

    .. math:: 1 / (1 + \exp(-s (1 - d / θ)))

    It supposes that same and different are equally frequent.
    """
    # tanh does not overflow, and arrays of every library have it.
    z = (threshold - distances) * (sharpness / 2 / (threshold or 1.0))
    tanh = backend.namespace(z).tanh if backend.is_foreign(z) else np.tanh
    return 0.5 + 0.5 * tanh(z)


def best_sharpness(same: Floats, different: Floats, threshold: float) -> float:
    """The most likely sharpness of :func:`chance_same`, given distances of both kinds.

    Both kinds count the same. Every answer counts as nearly certain only, after J. Platt (1999):
    with n of a kind, as right with probability (n + 1) / (n + 2). So it is finite even if the
    threshold makes no mistake.
    """
    distances = np.concatenate([same, different]).astype(np.float64)
    u = (threshold - distances) / (threshold or 1.0)
    counts = [len(same), len(different)]
    nearly = [(n + 1) / (n + 2) for n in counts]
    told = np.repeat([nearly[0], 1 - nearly[1]], counts)
    weight = np.repeat([1 / max(n, 1) for n in counts], counts)

    def slope(s: float) -> float:
        """Of the likelihood, which is concave."""
        return float(weight @ (u * (told - expit(s * u))))

    if slope(0.0) <= 0:
        return 0.0
    most = 1.0
    while slope(most) > 0:
        if most > _MOST_SHARP:
            return _MOST_SHARP
        most *= 2
    return float(brentq(slope, 0.0, most, xtol=1e-13))
