"""Numba's dispatchers, with a checked cache of compiled code on disk.

Numba keeps what it compiled beside the source file, or in the user's cache where that folder is
read-only, or in the folder that the environment variable ``NUMBA_CACHE_DIR`` names. What another
version of Numba or another processor left there is passed by; what is damaged is compiled anew.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

from nearkin.messages import write_note

_DIGEST_BYTES = 16
# All loops of this process that were called.
_made: list[Any] = []


def make_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a function with Numba, lazily, with a cache on disk; returns Numba's dispatcher."""
    made: Any = njit(**options)(function)
    if made is not function:  # as where Numba is switched off
        with suppress(RuntimeError):  # no folder to keep it in
            made._cache = _RepairedCache(function)
        _made.append(made)
    return made


def count_compiled() -> int:
    """Number of compilations in this process, one for each loop and combination of types."""
    return sum(sum(loop.stats.cache_misses.values()) for loop in _made)


def find_cache_folder() -> Path | None:
    """Folder that holds the compiled loops of this process; None if some have none."""
    folders = [loop.stats.cache_path for loop in _made]
    return Path(os.path.commonpath(folders)) if folders and all(folders) else None


def load_numba() -> None:
    """Initialise Numba's runtime ahead, so that the first load of a compiled loop need not wait."""
    with global_compiler_lock:
        rtsys.initialize(cpu_target.target_context)


class _CheckedFile(IndexDataCacheFile):
    """A cache file with a digest, so that damage is noticed."""

    def _dump(self, obj: Any) -> bytes:
        """Serialise an object, with a digest of the bytes at the end."""
        data = super()._dump(obj)
        return bytes(data + _digest(data))  # pickle reads to its own end

    def _load_data(self, name: str) -> Any:
        """Read compiled code from the file; an UnpicklingError if its digest is wrong."""
        with open(self._data_path(name), "rb") as file:
            data = file.read()
        if data[-_DIGEST_BYTES:] != _digest(data[:-_DIGEST_BYTES]):
            raise UnpicklingError(f"{name} is damaged")
        return super()._load_data(name)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


class _RepairedCache(FunctionCache):
    """A cache that compiles anew where a file cannot be read, and survives a full disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file.__class__ = _CheckedFile

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Compiled code for a signature, or None; a damaged cache is emptied."""
        try:
            # All of what Numba knows to compile, which it would import here, is not needed to run.
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception:  # pickle has many
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store compiled code, unless the disk is full."""
        with suppress(OSError):
            super().save_overload(sig, data)


class Announcer(event.Listener):
    """Tells the user, once, that compiling takes some seconds."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        """Called by Numba before it compiles a function."""
        dispatcher = event.data["dispatcher"]
        package = (dispatcher.py_func.__module__ or "").partition(".")[0]
        if self.said or package != "nearkin":
            return
        self.said = True
        if dispatcher.stats.cache_path is None:
            write_note(
                "nearkin: compiling, which takes some seconds in every program, since no folder "
                "can be written to keep it in: let NUMBA_CACHE_DIR name one"
            )
        else:
            write_note(
                "nearkin: compiling for this machine, which takes some seconds the first time"
            )

    def on_end(self, event: Any) -> None:
        """Called by Numba after it compiled a function."""


_listen: Any = event.register  # which has no types
_listen("numba:compile", Announcer())
