"""A figure with the interval that holds the true one."""

from __future__ import annotations

from dataclasses import dataclass

from nearkin.storage.schema import real, stored

# Intervals hold the true figure with this probability.
CONFIDENCE = 0.9


@stored(value=real, low=real, high=real)
@dataclass(frozen=True)
class Estimate:
    """A figure, and the interval in which the true one lies in nine cases of ten.

    Attributes
    ----------
    value, low, high : float
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"
