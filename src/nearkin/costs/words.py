"""Costs as people say them."""

from __future__ import annotations


def in_time(seconds: float) -> str:
    """A time, in the unit that suits it.

    Examples
    --------
    >>> from nearkin.costs.words import in_time
    >>> in_time(0.04), in_time(40), in_time(400), in_time(1e6)
    ('0.04 s', '40 s', '6.7 min', '11.6 days')
    """
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.{3 if unit == 'days' else 2}g} {unit}"
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"


def in_bytes(memory: float) -> str:
    """An amount of memory, in the unit that suits it.

    Examples
    --------
    >>> from nearkin.costs.words import in_bytes
    >>> in_bytes(7e8), in_bytes(3e6), in_bytes(8e12), in_bytes(123e9)
    ('0.7 GB', '3 MB', '8 TB', '0.12 TB')
    """
    unit, size = next(
        (one for one in (("TB", 1e12), ("GB", 1e9)) if memory >= 0.0995 * one[1]), ("MB", 1e6)
    )
    amount = memory / size
    return f"{amount:.2g} {unit}" if amount < 100 else f"{amount:.0f} {unit}"
