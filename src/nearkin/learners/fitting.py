"""A fit is whole: nothing of an earlier one is left after it, and a failed one changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from sklearn.utils._param_validation import InvalidParameterError

from nearkin.errors import NearkinError
from nearkin.storage import models

# How names begin that scikit-learn sets on an estimator, before or while it is fitted: what its
# transform is to give, what metadata go where, and who is to be told of progress.
_OF_SCIKIT_LEARN = ("_skl", "_metadata_request", "_parent_callback")


class ParameterError(NearkinError, InvalidParameterError):
    """A parameter that an estimator does not take."""


class WholeState:
    """What is learned is whole, and of one version.

    Every ``fit`` and ``partial_fit`` works on a copy, which then takes the estimator's place. That
    of ``fit`` has the parameters alone, that of ``partial_fit`` what was learned, too. Arrays are
    not copied: ``partial_fit`` must not write into them. Put it before the other bases.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("fit", "partial_fit"):
            if name in vars(cls):
                setattr(cls, name, _whole(vars(cls)[name], anew=name == "fit"))

    def _validate_params(self) -> None:
        try:
            super()._validate_params()  # type: ignore[misc]
        except InvalidParameterError as error:
            raise ParameterError(str(error)).with_traceback(error.__traceback__) from None

    def __getstate__(self) -> dict[str, Any]:
        return models.marked(super().__getstate__())  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(models.unmarked(state))  # type: ignore[misc]


def _whole(method: Callable[..., Any], *, anew: bool) -> Callable[..., Any]:
    @wraps(method)
    def fitted(self: Any, *args: Any, **options: Any) -> Any:
        attempt = object.__new__(type(self))
        attempt.__dict__.update(
            (name, value) for name, value in vars(self).items() if not (anew and _is_learned(name))
        )
        method(attempt, *args, **options)
        if anew and hasattr(attempt, "_keep_some_rows"):
            attempt._keep_some_rows(args[0] if args else options["X"])
        self.__dict__ = attempt.__dict__
        return self

    return fitted


def _is_learned(name: str) -> bool:
    if name.startswith("_"):
        return not name.startswith(_OF_SCIKIT_LEARN)
    return name.endswith("_")
