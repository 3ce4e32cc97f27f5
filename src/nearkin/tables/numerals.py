"""Numbers that are written as texts: with which decimal sign, and in which unit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from nearkin.tables.columns import Decimal

_PLAIN = re.compile(r"[-+]?(\d+(_\d+)*\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?inf(inity)?")
_PERCENT = "%"
_CODES = "eur|usd|gbp|chf|jpy|cny|inr|brl|cad|aud|nzd|sek|nok|dkk|pln|czk|huf|kr|zł|fr"
_SIGNS = "$¢£¤¥\u20a0-\u20cf"
_CURRENCY = rf"[a-z]{{0,3}}[{_SIGNS}]|{_CODES}"
_WRITTEN = re.compile(
    rf"([-+−]?)({_CURRENCY})?\.? ?([-+−]?)([\d.,'’ ]*\d[.,]?) ?({_CURRENCY}|{_PERCENT})?\.?"
)
# Whole numbers in groups of three digits, and then perhaps a decimal sign and more digits.
_GROUPED_DIGITS = {
    decimal: re.compile(
        rf"(?P<whole>[1-9]\d{{0,2}}(?P<between>[{others}])\d{{3}}(?:(?P=between)\d{{3}})*|\d*)"
        rf"(?P<decimals>{sign}\d*)?"
    )
    for decimal, sign, others in (
        ("decimal point", r"\.", ",'’ "),
        ("decimal comma", ",", ".'’ "),
    )
}


@dataclass(frozen=True)
class Numerals:
    """What is known of the texts of a column of numbers.

    Attributes
    ----------
    values : dict
        Numbers that texts stand for, by text; without those of another unit than most.
    decimal : str or None
        What sets off decimals, where some text would be another number, or none, otherwise.
    ambiguous : str
        The first text that is another number with a decimal comma, if no text tells which it is;
        or nothing.
    units : tuple of str
        Currencies and per cent, the most frequent first.
    """

    values: dict[str, float]
    decimal: Decimal | None
    ambiguous: str
    units: tuple[str, ...]


def read_numerals(texts: Iterable[str], decimal: Decimal | None = None) -> Numerals:
    """Numbers that texts stand for.

    Parameters
    ----------
    texts : iterable of str
        In lower case, such as ``"1234.5"``, ``"1,234.50"``, ``"1.234,50"``, ``"€12.30"``,
        ``"12,30 eur"`` or ``"45%"``.
    decimal : {"decimal point", "decimal comma"}, optional
        By default as more texts allow it; a point if all do.

    Examples
    --------
    >>> from nearkin.tables.numerals import read_numerals
    >>> found = read_numerals(["12,30 €", "1.234 €"])
    >>> found.values, found.decimal
    ({'12,30 €': 12.3, '1.234 €': 1234.0}, 'decimal comma')
    """
    unique = list(dict.fromkeys(texts))
    units = _units(unique)
    is_known = decimal is not None
    point = _read_numerals(unique, "decimal point", units[:1], are_numbers=is_known)
    comma = _read_numerals(unique, "decimal comma", units[:1], are_numbers=is_known)
    found: Decimal = decimal or ("decimal comma" if len(comma) > len(point) else "decimal point")
    values, other = (comma, point) if found == "decimal comma" else (point, comma)
    differ = [text for text, value in values.items() if other.get(text, value) != value]
    unsure = not is_known and differ and values.keys() == other.keys()
    return Numerals(
        values,
        found if is_known or values != other else None,
        differ[0] if unsure else "",
        units,
    )


def _units(texts: list[str]) -> tuple[str, ...]:
    found = (match for match in map(_WRITTEN.fullmatch, texts) if match)
    counts = Counter(unit for match in found if (unit := match[2] or match[5]))
    return tuple(unit for unit, _ in counts.most_common())


def _read_numerals(
    texts: list[str], decimal: Decimal, units: tuple[str, ...], *, are_numbers: bool
) -> dict[str, float]:
    """Numbers of texts that have one of these units, or none where that is a currency."""
    read: dict[str, float] = {}
    weak: dict[str, float] = {}
    for text in texts:
        if _PLAIN.fullmatch(text) and (decimal == "decimal point" or "." not in text):
            if _PERCENT not in units:
                read[text] = float(text)
            continue
        written = _WRITTEN.fullmatch(text)
        digits = _GROUPED_DIGITS[decimal].fullmatch(written[4].strip()) if written else None
        if not written or not digits or (written[2] and written[5]) or (written[1] and written[3]):
            continue
        unit = written[2] or written[5] or ""
        if unit not in units and (unit or _PERCENT in units):
            continue
        whole, decimals = re.sub(r"\D", "", digits["whole"]), (digits["decimals"] or "")[1:]
        number = float(f"{whole or 0}.{decimals or 0}")
        # Groups alone may be those of a phone number, if nothing else is known.
        is_sure = unit or digits["decimals"] or digits["between"] in (None, ",")
        sign = -1 if {written[1], written[3]} & {"-", "−"} else 1
        (read if is_sure else weak)[text] = sign * number
    are_numbers |= any(not _PLAIN.fullmatch(text) for text in read)
    return {**read, **weak} if are_numbers else read
