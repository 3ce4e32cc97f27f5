"""What the terms of a formula cost, by least squares of measured jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from nearkin.costs.formulas import Terms

# Relative errors: of one measurement, and for each doubling beyond the largest of them.
_ERROR, _ERROR_OF_A_DOUBLING = 0.15, 0.04
_MOST_ERROR = 0.6


@dataclass(frozen=True)
class Prices:
    """What one of each term costs, in seconds or bytes.

    Attributes
    ----------
    of : dict
        By the names of terms.
    error : float
        The largest relative error of what was measured.
    largest : float
        Of what was measured.
    """

    of: dict[str, float]
    error: float
    largest: float

    def parts(self, terms: Terms) -> dict[str, float]:
        """What each term of a job costs; those that are not known cost nothing."""
        found = {name: amount * self.of.get(name, 0.0) for name, amount in terms.items()}
        return {name: cost for name, cost in found.items() if cost > 0}

    def total(self, terms: Terms) -> float:
        """What a job costs."""
        return sum(self.parts(terms).values())

    def spread(self, total: float) -> float:
        """Relative error to be expected: more for jobs far beyond what was measured."""
        doublings = max(0.0, float(np.log2(max(total, 1e-9) / max(self.largest, 1e-9))))
        return min(_MOST_ERROR, max(_ERROR, self.error) + _ERROR_OF_A_DOUBLING * doublings)


def fitted_prices(terms: Sequence[Terms], costs: Sequence[float]) -> Prices:
    """Prices that are not negative, and explain what jobs cost with small relative errors.

    Later jobs count for more: they are larger, and more like those that are asked for.
    """
    names = list(dict.fromkeys(name for one in terms for name in one))
    A = np.array([[one.get(name, 0.0) for name in names] for one in terms])
    b = np.maximum(np.asarray(costs, dtype=float), 1e-9)
    scales = np.maximum(A.max(axis=0), 1e-300)
    weights = (1.0 + np.arange(len(b))) ** 2 / b
    found, _ = nnls(A / scales * weights[:, None], b * weights)
    predicted = A / scales @ found
    error = float(np.abs(predicted / b - 1)[len(b) // 2 :].max())
    of = {name: float(price) for name, price in zip(names, found / scales, strict=True)}
    return Prices(of, error, float(b.max()))
