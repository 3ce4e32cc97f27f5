"""Learners by name, with the parameters that a user sets."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from inspect import Parameter, signature
from typing import Any

import nearkin
from nearkin.cli.failures import UserError, guess
from nearkin.registry import LEARNERS

CLASSES = {learner.command: learner.name for learner in LEARNERS if learner.command}


def learner_class(name: str) -> Any:
    """The class that a name on the command line stands for."""
    if name not in CLASSES:
        raise UserError(f"--learner {name}: no such learner; " + guess(name, CLASSES))
    return getattr(nearkin, CLASSES[name])


def parameters(cls: Any, given: Sequence[str], seed: int) -> dict[str, Any]:
    """Parameters from ``name=value``, checked against those that the class has."""
    known = signature(cls).parameters
    settable = [name for name in known if name != "random_state"]
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign:
            raise UserError(f"--set {text}: give a name and a value, as in --set {text}=1.")
        if name == "random_state":
            raise UserError("--set random_state: use --seed.")
        if name not in known:
            raise UserError(
                f"--set {name}: {cls.__name__} has no such parameter; " + guess(name, settable)
            )
        found[name] = _value(value)
    if "random_state" in known:
        found["random_state"] = seed
    return found


def landmarks_for(cls: Any, found: dict[str, Any], n_rows: int) -> int | None:
    """How many landmarks to take where the user said nothing and rows are many."""
    default = signature(cls).parameters.get("n_landmarks")
    if default is None or default.default is not None or default.kind is Parameter.VAR_KEYWORD:
        return None
    from nearkin.spaces.feature_space import usual_landmarks  # with much of SciPy

    return None if "n_landmarks" in found else usual_landmarks(n_rows)


def _value(text: str) -> Any:
    text = text.strip()
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
