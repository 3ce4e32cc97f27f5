"""Kernels of our own on CUDA devices: whether they can run, and arrays as they read them.

They are written in Triton, which comes with torch. Arrays of CuPy go to them as what they are, by
the protocol that both libraries share, without a copy. Where anything is missing, or a kernel does
not compile, the same is done by the libraries' own functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar

from nearkin.rows import devices
from nearkin.rows.progress import note

Found = TypeVar("Found")
# Fewer rows are done sooner by functions that are there already.
FEW_ROWS = 4096


def usable(X: Any, dtype: str = "float32") -> bool:
    """Whether kernels can be tried on an array: foreign, of that type, on a CUDA device."""
    if not devices.is_foreign(X) or devices.dtype_name(X) != dtype or _state.broken:
        return False
    if devices.library(X) not in ("torch", "cupy") or not _is_there():
        return False
    return interpreted() or (not devices.on_host(X) and X.shape[0] >= FEW_ROWS)


def interpreted() -> bool:
    """Whether Triton runs kernels as Python on the host, as tests do without a device."""
    return os.environ.get("TRITON_INTERPRET") == "1"


@cache
def _is_there() -> bool:
    return find_spec("torch") is not None and find_spec("triton") is not None


def tensor(X: Any) -> Any:
    """The array as a tensor of torch, in the same memory."""
    if devices.library(X) == "torch":
        return X
    import torch

    return torch.from_dlpack(X)


def as_given(found: Any, like: Any) -> Any:
    """A tensor as an array of ``like``'s library, in the same memory."""
    if devices.library(like) == "torch":
        return found
    import cupy

    return cupy.from_dlpack(found)


def marks(like: Any) -> Any:
    """A tensor for a mark of each row, to be filled."""
    import torch

    return torch.empty(like.shape[0], dtype=torch.int8, device=tensor(like[:0, :]).device)


def marked(marks: Any, like: Any) -> Any:
    """Numbers of the rows that have a mark, as an array of ``like``'s library."""
    return as_given(marks.nonzero().ravel(), like)


def attempted(X: Any, work: Callable[[], Found]) -> Found | None:
    """What kernels find for X, on its device and stream; None if one cannot be compiled there.

    That is said once, and not tried again in this process.
    """
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import OutOfResources, PTXASError

    try:
        with _on_its_stream(X):
            return work()
    except (CompilationError, OutOfResources, PTXASError, ImportError) as error:
        _state.broken = True
        lines = str(error).strip().splitlines() or [type(error).__name__]
        note(f"nearkin: slower functions are used, since Triton does not compile here: {lines[0]}")
        return None


@contextmanager
def _on_its_stream(X: Any) -> Iterator[None]:
    """Launch on the device and stream that X's library works on."""
    if devices.on_host(X):
        yield
        return
    import torch

    if devices.library(X) == "cupy":
        import cupy

        number = X.device.id
        there = torch.cuda.ExternalStream(cupy.cuda.get_current_stream().ptr, device=number)
        stream: Any = torch.cuda.stream(there)
    else:
        number, stream = X.device.index or 0, nullcontext()
    with torch.cuda.device(number), stream:
        yield


@dataclass
class _State:
    broken: bool = False


_state = _State()
