"""What the header of a model file says, as plain values, without its arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nearkin.storage.arrays import Header
from nearkin.storage.schema import fields_of

# How values and ends of intervals are called.
_ENDS = {"value": "", "low": "_low", "high": "_high"}
_SAID_ELSEWHERE = ("n_features_in_", "n_components_", "learned_from_")


def plain_dict(node: Any) -> dict[str, Any] | None:
    """A packed dict with plain values; None for anything else."""
    match node:
        case {"dict": dict(values), **rest} if not rest:
            return {str(name): plain_value(value) for name, value in values.items()}
    return None


def summary_of(state: dict[str, Any]) -> dict[str, Any]:
    """Numbers and texts at the top, and the reason for a choice, here or in a step."""
    found = {name: plain_value(value) for name, value in state.items() if not name.startswith("_")}
    for part in [state, *(step["state"] for step in state.get("steps_", []))]:
        if "report_" in part:
            said = part["report_"]["state"]
            found["report_"] = " ".join(filter(None, [said["reason"], said.get("columns")]))
            if who := said.get("answerers"):
                found["answerers_"] = [_answerer(one["state"]) for one in who]
            if quality := said.get("quality"):
                found["held_out_"] = {
                    name: {end: float(value) for end, value in figure["state"].items()}
                    for name, figure in quality["state"].items()
                    if isinstance(figure, dict)
                }
    return {
        name: value
        for name, value in found.items()
        if name not in _SAID_ELSEWHERE and not _is_left_out(value)
    }


def kinds_of_table(state: dict[str, Any]) -> dict[str, str] | None:
    """What columns of a table hold: of the learner itself, or of its first step."""
    table = state.get("table_") or next(iter(state.get("steps_", [])), None)
    if table is None or table["class"] != "TableEncoder":
        return None
    return plain_dict(table["state"]["kinds_"])


def _answerer(said: dict[str, Any]) -> dict[str, Any]:
    rate = said["wrong"]["state"]
    return {
        "name": str(said["name"]),
        "answers": int(said["n_answers"]),
        **{f"wrong{end}": float(rate[name]) for name, end in _ENDS.items()},
    }


def _is_left_out(value: Any) -> bool:
    return isinstance(value, _Text) or (isinstance(value, list) and any(map(_is_left_out, value)))


class _Text(str):
    """Stands for a value that is not shown."""

    def __repr__(self) -> str:
        return str(self)


def plain_value(node: Any) -> Any:
    """A parameter or number as plain JSON, without arrays."""
    match node:
        case {"float": str(value)}:
            return float(value)
        case {"number": value}:
            return plain_value(value)
        case {"tuple": list(values)} | list(values):
            return [plain_value(value) for value in values]
        case {"class": str(name)}:
            return _Text(f"{name}(...)" if name.isidentifier() else "?")
        case dict():
            return _Text("array" if "array" in node else "...")
    return node


def training_rows_in(node: Any, header: Header, path: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Places of training rows in a packed model, with their shapes."""
    match node:
        case list():
            parts = {str(i): part for i, part in enumerate(node)}
        case {"tuple": list(items)}:
            parts = {str(i): part for i, part in enumerate(items)}
        case {"class": str(name), "state": dict(parts)}:
            for field, spec in fields_of(name).items():
                if spec.training_rows and field in parts:
                    yield f"{path}.{field}".lstrip("."), _shape(parts[field], header)
        case _:
            return
    for name, part in parts.items():
        yield from training_rows_in(part, header, f"{path}.{name}")


def _shape(node: Any, header: Header) -> tuple[int, ...]:
    if "sparse" in node:
        return tuple(int(n) for n in node["shape"])
    shape = header.arrays[node["array"]][1]
    return shape[::-1] if node.get("order") == "F" else shape
