"""What rows go through before they are learned from, and what is said of that."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.preprocessing import Normalizer, StandardScaler

from nearkin.rows.scaling import differing_units, fitted_scaler, in_words
from nearkin.teaching.records import Records


@dataclass(frozen=True)
class Scaling:
    """What brings rows to one scale, fitted to them, if anything does; and what is said of it."""

    scaler: StandardScaler | Normalizer | None
    notes: tuple[str, ...] = ()


def scaling_of(records: Records, wished: bool | None) -> Scaling:
    """What becomes of columns in different units, and of vectors.

    Pictures and what is made of words have one unit: these are only scaled if somebody wishes so.
    Vectors, such as embeddings, are compared by their directions, which is what most are made for:
    they are brought to the length 1, unless somebody wishes otherwise.

    Parameters
    ----------
    records : Records
    wished : bool or None
        Whether columns are given the same deviation; None for whatever units say.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.teaching.records import records_of
    >>> from nearkin.teaching.scaling import scaling_of
    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> scaling_of(records_of(rows), None).scaler
    >>> scaling_of(records_of(rows * [1, 1000]), None).scaler
    StandardScaler()
    """
    if wished:
        return Scaling(fitted_scaler([records.X]))
    if records.is_vector and wished is None:
        return Scaling(
            Normalizer().fit(records.X), ("Vectors are compared by their directions (cosine).",)
        )
    if records.pictures is not None or records.of_words or records.is_vector:
        return Scaling(None)
    found = differing_units(records.X)
    if found is None:
        return Scaling(None)
    said = in_words(found, records.features)
    said = f"{said[0].upper()}{said[1:]}"
    if wished is None:
        scaler = fitted_scaler([records.X])
        return Scaling(scaler, (f"{said}: columns are brought to one scale.",))
    return Scaling(None, (f"{said}: standardise to give all columns the same say.",))
