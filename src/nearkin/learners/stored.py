"""What learners keep in files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from nearkin.learners.older_files import with_map
from nearkin.spaces.maps import MAP
from nearkin.storage.schema import (
    Spec,
    a,
    dict_of,
    floats,
    maybe,
    of_older_files,
    positive_floats,
    real,
    share,
    size,
    stored,
    text,
    whole,
    words,
)

_Class = TypeVar("_Class", bound=type)


def stored_metric(**fields: Spec) -> Callable[[_Class], _Class]:
    """Let a metric be stored: what all of them keep, and what it keeps of its own."""
    return stored(
        n_features_in_=size("d"),
        feature_names_in_=maybe(words("d")),
        n_components_=size("q"),
        column_scale_=maybe(positive_floats("d")),
        threshold_=real,
        sharpness_=maybe(real),
        far_sharpness_=maybe(real),
        prevalence_=maybe(share),
        same_distance_=maybe(real),
        learned_from_=maybe(dict_of(whole)),
        vector_column_=maybe(text),
        fill_values_=maybe(floats("d")),
        table_=maybe(a("TableEncoder")),
        **fields,
    )


def stored_learner(**fields: Spec) -> Callable[[_Class], _Class]:
    """Let a learner be stored that has a map of its own, not one made of other learners'."""

    def register(cls: _Class) -> _Class:
        of_older_files(cls, with_map)
        return stored_metric(**fields, map_=MAP)(cls)

    return register
