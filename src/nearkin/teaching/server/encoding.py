"""What goes to the page, as bytes."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np


def as_json(value: Any) -> str:
    """Plain data as JSON; numbers that JSON does not have become null.

    Examples
    --------
    >>> as_json({"auc": float("nan"), "rows": [np.int64(3)], "text": "</script>"})
    '{"auc":null,"rows":[3],"text":"</script>"}'
    """
    try:
        return _written(value)
    except (TypeError, ValueError):  # rare, so that most values are gone through only once
        return _written(_plain(value))


def _written(value: Any) -> str:
    # In ASCII: texts of files may have halves of signs, which no encoding takes.
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def layout_bytes(layout: Mapping[str, Any]) -> bytes:
    """A layout: eight bytes that say what it is, then x0 y0 x1 y1 ... as float32, little endian.

    These are its version as uint32; a byte that is 1 for a map of neighbours; one with the per cent
    of the way to that map; and two that say nothing.
    """
    share = layout.get("share")
    percent = 100 if share is None else int(100 * share)
    head = struct.pack("<IBBxx", layout["version"], share is not None, percent)
    return head + numbers_bytes(layout["coordinates"])


def numbers_bytes(numbers: Any) -> bytes:
    """Numbers as float32, little endian."""
    return np.ascontiguousarray(numbers, dtype="<f4").tobytes()
