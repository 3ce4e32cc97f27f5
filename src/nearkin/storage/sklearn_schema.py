"""scikit-learn's transformers that a stored Chain may contain, and what is kept of them."""

from __future__ import annotations

from typing import Any

from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from nearkin.storage.schema import Spec, floats, maybe, numbers, real, size, stored, words

_TRANSFORMERS: list[type] = []


def is_stored_transformer(step: Any) -> bool:
    """Whether it is one of these; all of them take numbers only."""
    return type(step) in _TRANSFORMERS


def _stored_transformer(cls: Any, **fields: Spec) -> None:
    _TRANSFORMERS.append(cls)
    names = maybe(words("d"))
    stored(n_features_in_=size("d"), feature_names_in_=names, **fields)(cls)


_per_column = floats("d")

_stored_transformer(
    PCA,
    n_components_=size("q"),
    components_=floats("q d"),
    mean_=_per_column,
    explained_variance_=floats("q"),
    explained_variance_ratio_=numbers("q"),
    singular_values_=floats("q"),
    noise_variance_=real,
    n_samples_=real,
)
_stored_transformer(
    TruncatedSVD,
    components_=floats("q d"),
    explained_variance_=floats("q"),
    explained_variance_ratio_=numbers("q"),
    singular_values_=floats("q"),
)
_stored_transformer(
    StandardScaler,
    mean_=maybe(_per_column),
    var_=maybe(_per_column),
    scale_=maybe(_per_column),
    n_samples_seen_=real,
)
_stored_transformer(
    MinMaxScaler,
    min_=_per_column,
    scale_=_per_column,
    data_min_=_per_column,
    data_max_=_per_column,
    data_range_=_per_column,
    n_samples_seen_=real,
)
_stored_transformer(MaxAbsScaler, max_abs_=_per_column, scale_=_per_column, n_samples_seen_=real)
_stored_transformer(RobustScaler, center_=maybe(_per_column), scale_=maybe(_per_column))
_stored_transformer(Normalizer)
