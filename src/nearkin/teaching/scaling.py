"""Whether the columns of records are brought to one scale, and what is said of that."""

from __future__ import annotations

from dataclasses import dataclass

from nearkin.rows.column_scales import differing_units
from nearkin.rows.scaled import in_words
from nearkin.teaching.records import Records


@dataclass(frozen=True)
class Scaling:
    """Whether columns are given the same deviation, and what is to be said of it."""

    is_wanted: bool
    notes: tuple[str, ...] = ()


def scaling_of(records: Records, wished: bool | None) -> Scaling:
    """What becomes of columns in different units.

    Pictures, vectors and what is made of words have one unit: these are only scaled if somebody
    wishes so.

    Parameters
    ----------
    records : Records
    wished : bool or None
        None for whatever units say.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.teaching.records import records_of
    >>> from nearkin.teaching.scaling import scaling_of
    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> scaling_of(records_of(rows), None).is_wanted
    False
    >>> scaling_of(records_of(rows * [1, 1000]), None).is_wanted
    True
    """
    if wished or records.pictures is not None or records.of_words or records.is_vector:
        return Scaling(bool(wished))
    found = differing_units(records.X)
    if found is None:
        return Scaling(False)
    said = in_words(found, records.features)
    said = f"{said[0].upper()}{said[1:]}"
    if wished is None:
        return Scaling(True, (f"{said}: columns are brought to one scale.",))
    return Scaling(False, (f"{said}: standardise to give all columns the same say.",))
