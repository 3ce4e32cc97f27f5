"""Learners in files of the format versions 1 to 3, which hold no map but what it is made of."""

from __future__ import annotations

from typing import Any

from nearkin.spaces.maps import (
    Affine,
    Composed,
    Displaced,
    Identity,
    Map,
    Scaled,
    ThroughLandmarks,
)
from nearkin.storage.schema import made


def with_map(state: dict[str, Any]) -> dict[str, Any]:
    """What a file keeps of a learner, with its map in place of what served the map alone."""
    if "map_" in state:
        return state
    kept = dict(state)
    learned = _map(kept)
    scale = kept.get("column_scale_")
    if scale is not None:
        learned = made(Composed, {"maps": (made(Scaled, {"scale": scale}), learned)})
    return {**kept, "map_": learned}


def _map(kept: dict[str, Any]) -> Map:
    """The map, made of what a learner keeps; what served it alone is taken away."""
    if "_stages" in kept:  # KernelBeta
        stages = tuple(_through(*stage) for stage in kept.pop("_stages"))
        return stages[0] if len(stages) == 1 else made(Composed, {"maps": stages})
    if "_extension" in kept:  # KernelA and GeometryAware
        coordinates = kept.pop("_at_landmarks", kept.get("embedding_"))
        return _through(kept.pop("_extension"), coordinates)
    space = kept.pop("_through", None)
    if space is not None:  # ITML and GMML with a kernel
        extension, coordinates = space
        return _through(extension, coordinates @ kept["components_"].T)
    if "displacements_" in kept:  # LLMA
        parts = {name: kept[f"{name}_"] for name in ("displacements", "width")}
        return made(Displaced, {**parts, "anchors": kept["anchor_rows_"], "origin": kept["mean_"]})
    if "components_" in kept:  # linear ones
        return made(Affine, {"matrix": kept["components_"], "origin": kept["mean_"]})
    return made(Identity, {})  # Euclidean


def _through(extension: Any, coordinates: Any) -> Map:
    return made(ThroughLandmarks, {"extension": extension, "coordinates": coordinates})
