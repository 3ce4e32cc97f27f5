"""What a job holds, from what trial runs held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearkin.costs.fitting import fitted_prices
from nearkin.costs.formulas import Size, is_exact, job_terms, parts_of
from nearkin.costs.kept import Run

# Bytes that a process has at hand without asking the system.
_AT_HAND = 2**28


def bytes_of(
    learner: Any, size: Size, runs: Sequence[Run], part: str, names: Sequence[str] | None = None
) -> float:
    """Bytes of arrays ("memory") or of all else ("uncounted"), or of some terms of them."""
    known = [run for run in runs if getattr(run, part) is not None]
    terms = [job_terms(learner, run.size, part) for run in known]
    prices = fitted_prices(terms, [float(getattr(run, part)) for run in known])
    wanted = job_terms(learner, size, part)
    return prices.total({name: wanted[name] for name in wanted if names is None or name in names})


def new_bytes(learner: Any, size: Size, runs: Sequence[Run]) -> float:
    """Bytes that a transform must get from the system; it waits for them where they are many."""
    if any(is_exact(part) for part in parts_of(learner)):
        return 0.0  # its products take far longer
    grows = bytes_of(learner, size, runs, "memory", ("rows", "images"))
    return max(0.0, grows - size.n * size.d * size.itemsize - _AT_HAND)
