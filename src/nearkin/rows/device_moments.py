"""Moments of rows that are on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nearkin.rows.base import Parts
from nearkin.rows.devices import namespace, to_numpy, wide

Array = Any  # an array of torch or CuPy


def moments_there(block: Array, scatter: Callable[[Array], Array]) -> Parts:
    """Number, mean, and scatter of centred rows: summed up on their device, and then at home.

    Memory for the rows in float64, three times.
    """
    origin = wide(block[:1, :])  # equal rows now differ by exactly zero
    shifted = wide(block) - origin
    shift = namespace(block).mean(shifted, axis=0)
    return block.shape[0], to_numpy(origin[0, :] + shift), to_numpy(scatter(shifted - shift))
