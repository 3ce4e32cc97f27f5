"""What the parts of a metric made of metrics take, and hand on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import validate_data

from nearkin.errors import about_input
from nearkin.learners.metric import MetricMixin
from nearkin.rows import backends, validation
from nearkin.rows.sparse import plain
from nearkin.rows.validation import in_order_of_fit, refuse_what_is_no_table
from nearkin.spaces.maps import Map, Transformed, composed
from nearkin.storage.sklearn_schema import is_stored_transformer


def map_of(fitted: Any) -> Map:
    """What a learner has learned, of rows as it was given them, or does another transformer."""
    if not isinstance(fitted, MetricMixin):
        return Transformed(fitted)
    table = getattr(fitted, "table_", None)
    return fitted.map_ if table is None else composed(Transformed(table), fitted.map_)


def sees_any_rows(part: Any) -> bool:
    """Whether rows go to it as they are, with words and gaps: to transformers that may take them.

    All learners, and the transformers that a model file can hold, take numbers only.
    """
    if isinstance(part, Pipeline):
        return sees_any_rows(part.steps[0][1])
    if isinstance(part, MetricMixin):
        return part._sees_any_rows
    return not is_stored_transformer(part)


def seen_first_by(whole: Any, X: Any, parts: Sequence[Any], *, reset: bool) -> Any:
    """X as those parts of a whole take it that see it first; its columns are checked in any case.

    Parameters
    ----------
    whole : estimator
        That remembers the names and the number of columns in ``fit``, and checks new rows by them.
    X : rows
    parts : sequence of estimators
    reset : bool
        Whether this is ``fit``.
    """
    if backends.is_remote(X) or backends.is_foreign(X) or not whole._sees_any_rows:
        return validation.validated(
            whole,
            X,
            accept_sparse="csr" if _all_take_sparse(parts) else False,
            reset=reset,
            ensure_min_samples=2 if reset else 1,
        )
    backends.refuse_stranded(X)
    if not hasattr(X, "__len__") and not hasattr(X, "shape"):
        refuse_what_is_no_table(X)
    if not reset:
        X = in_order_of_fit(whole, X)
    with about_input():
        validate_data(whole, X, reset=reset, skip_check_array=True)
    return X


def passed_on(Z: Any, step: Any) -> Any:
    """What a step gave, for the next: sparse as it is, and with names if they were there in fit."""
    wants_names = not isinstance(step, MetricMixin) or hasattr(step, "feature_names_in_")
    return Z if wants_names else plain(Z)


def with_input_tags(tags: Tags, parts: Sequence[Any]) -> Tags:
    """What scikit-learn is told of rows that several parts take."""
    tags.input_tags.sparse = _all_take_sparse(parts)
    tags.input_tags.allow_nan = all(map(_takes_gaps, parts))
    return tags


def _all_take_sparse(parts: Sequence[Any]) -> bool:
    """Other transformers may take sparse rows without saying so: they are left to refuse them."""
    ours = (part for part in parts if isinstance(part, MetricMixin))
    return all(get_tags(part).input_tags.sparse for part in ours)


def _takes_gaps(part: Any) -> bool:
    return sees_any_rows(part) and bool(get_tags(part).input_tags.allow_nan)
