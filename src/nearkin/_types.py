"""Kinds of NumPy arrays and generators, as signatures name them, and the size of a number."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# Of any precision, and of float64.
Floats: TypeAlias = NDArray[np.floating]
Doubles: TypeAlias = NDArray[np.float64]
# Of any size, and of int64.
Integers: TypeAlias = NDArray[np.integer]
Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
# What draws at random.
Rng: TypeAlias = np.random.RandomState
# Bytes of a number in float64, for sizes of blocks.
DOUBLE_BYTES = 8
