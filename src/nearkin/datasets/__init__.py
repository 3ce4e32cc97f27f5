"""Artificial data sets on which the methods can be understood and measured."""

from __future__ import annotations

from nearkin.datasets.people import make_records
from nearkin.datasets.shapes import make_three_normal, make_xor

__all__ = ["make_records", "make_three_normal", "make_xor"]


def __dir__() -> list[str]:
    return __all__
