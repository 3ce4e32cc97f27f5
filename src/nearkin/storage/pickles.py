"""Pickles of estimators are for one version of nearkin; those of others are refused, saying why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pickle import UnpicklingError
from typing import Any

from nearkin._version import __version__
from nearkin.errors import NearkinError

_MARK = "_nearkin_version"
# Modules that fitted learners referred to before pickles had a mark, and that have moved since.
_MOVED = {
    *("class_models", "evidence", "extension", "feature_space", "kernels", "selection"),
    *("learners._linear_in_space", "learners._taught"),
}


class OldPickleError(NearkinError, UnpicklingError):
    """A pickle of another version, which this one cannot read."""

    def __init__(self, made_by: str = "an earlier nearkin") -> None:
        super().__init__(
            f"this is a pickle of {made_by}, and pickles can be read by the same version only, not "
            f"by nearkin {__version__}. Read it there and write metric.save(path): such a file "
            "is read by nearkin.load(path) in later versions, too."
        )


def marked(state: dict[str, Any]) -> dict[str, Any]:
    """What is pickled of an estimator, with the version."""
    return {**state, _MARK: __version__}


def unmarked(state: dict[str, Any]) -> dict[str, Any]:
    """What was pickled of an estimator; an error if another version did it."""
    version = state.get(_MARK)
    if version != __version__:
        raise OldPickleError() if version is None else OldPickleError(f"nearkin {version}")
    return {name: value for name, value in state.items() if name != _MARK}


class _Moved:
    """Asked for modules that nobody else finds."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> None:
        del path, target
        if name.removeprefix("nearkin.") in _MOVED:
            raise OldPickleError


def explain_moved_modules() -> None:
    """Say why a module is not there if it is one that old pickles refer to."""
    sys.meta_path.append(_Moved)
