"""What ``dir`` shows of a module that people look into: its own names, not those it imports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def own_names(namespace: Mapping[str, Any]) -> list[str]:
    """Public functions and classes that a module defines, from its ``globals()``."""
    return sorted(
        name
        for name, value in namespace.items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == namespace["__name__"]
        and callable(value)
    )
