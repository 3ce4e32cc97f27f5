"""Jobs to foretell.

:func:`drawn` takes learners in the shares of ``SHARES`` and sizes from the ranges of ``RANGES``,
evenly in their logarithms; a job that is too large for its limit is drawn again. Nothing is
measured for that, so that no job is left out since it was foretold badly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A job."""

    learner: str
    n: int
    d: int = 50
    job: str = "both"
    settings: dict[str, Any] = field(default_factory=dict)
    pairs: int = 200
    dtype: str = "float32"

    def made(self) -> Any:
        import nearkin

        return getattr(nearkin, self.learner)(**self.settings)


# Jobs of each kind among thirty.
SHARES = {
    "KernelBeta": 6,
    "KernelBeta, exact": 2,
    "KernelA": 3,
    "GeometryAware": 3,
    "ITML": 3,
    "GMML": 3,
    "RCA": 3,
    "LMNN": 2,
    "Generative": 3,
    "MetricLearner": 2,
}


@dataclass(frozen=True)
class Ranges:
    """Sizes of a kind of job, from and to.

    Attributes
    ----------
    n, d, m : tuple of int
        Rows, columns and landmarks; of ``m`` None without.
    most : float
        Of what its time grows with: rows times columns times landmarks, or as ``power`` says rows
        times a power of columns.
    power : int
    """

    n: tuple[int, int]
    d: tuple[int, int]
    m: tuple[int, int] | None = None
    most: float = 1e11
    power: int = 1

    def fits(self, n: int, d: int, m: int | None) -> bool:
        work = n * d**self.power * (1 if m is None else m)
        return work <= self.most and n * (d + (m or 0)) <= 5e8


RANGES = {
    "KernelBeta": Ranges((20_000, 2_000_000), (5, 300), (50, 2000)),
    "KernelBeta, exact": Ranges((1500, 6000), (5, 100)),
    "KernelA": Ranges((1000, 30_000), (5, 100), (100, 1000)),
    "GeometryAware": Ranges((2000, 30_000), (5, 100)),
    "ITML": Ranges((100_000, 3_000_000), (10, 300), most=3e10, power=2),
    "GMML": Ranges((100_000, 3_000_000), (10, 500), most=3e10, power=2),
    "RCA": Ranges((200_000, 3_000_000), (10, 300), most=3e10, power=2),
    "LMNN": Ranges((1000, 5000), (5, 50)),
    "Generative": Ranges((2000, 100_000), (5, 50), most=3e9, power=3),
    "MetricLearner": Ranges((300, 3000), (5, 50)),
}
PAIRS = (50, 3000)
ONLY_FIT = ("KernelA", "LMNN", "MetricLearner")


def drawn(seed: int) -> list[Case]:
    """Thirty jobs."""
    rngs = {kind: np.random.default_rng([seed, i]) for i, kind in enumerate(SHARES)}
    return [_drawn(kind, rngs[kind]) for kind in SHARES for _ in range(SHARES[kind])]


def _drawn(kind: str, rng: np.random.Generator) -> Case:
    ranges = RANGES[kind]
    while True:
        n, d = _between(*ranges.n, rng), _between(*ranges.d, rng)
        m = None if ranges.m is None else _between(*ranges.m, rng)
        if ranges.fits(n, d, m):
            break
    settings: dict[str, Any] = {"random_state": 0}
    if m is not None:
        settings["n_landmarks"] = min(m, n // 2)
    if kind == "KernelBeta, exact":
        settings["n_landmarks"] = None
    if kind == "KernelBeta" and rng.random() < 0.5:
        settings["n_components"] = 10
    learner = kind.partition(",")[0]
    job = "fit" if learner in ONLY_FIT or rng.random() < 0.3 else "both"
    dtype = str(rng.choice(["float32", "float64"]))
    return Case(learner, n, d, job, settings, _between(*PAIRS, rng), dtype)


def _between(low: int, high: int, rng: np.random.Generator) -> int:
    """A number of two digits, evenly in logarithms."""
    found = float(np.exp(rng.uniform(np.log(low), np.log(high))))
    return int(float(f"{found:.1e}"))
