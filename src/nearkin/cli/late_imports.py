"""What other libraries import and commands hardly use, imported when it is first used.

scikit-learn imports SciPy's statistics for a few functions. That takes a third of a second, most of
it for SciPy's docstrings; a command would wait for it every time.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from types import ModuleType
from typing import Any

_STATISTICS = "scipy.stats"
_LOCK = threading.RLock()


def import_late() -> None:
    """Let SciPy's statistics wait until something of them is called, in all of this process."""
    if _STATISTICS not in sys.modules:
        sys.modules[_STATISTICS] = _LateModule(_STATISTICS)


class _LateModule(ModuleType):
    """Stands for a module until it is needed."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # such as the place of its parts, which nobody asks for here
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _Late(self.__name__, name)


class _Late:
    """Stands for a function or an object of a module until it is called or asked something."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._meant()(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._meant(), name)

    def _meant(self) -> Any:
        return getattr(_imported(self._module), self._name)


def _imported(name: str) -> ModuleType:
    with _LOCK:
        if isinstance(sys.modules.get(name), _LateModule):
            del sys.modules[name]
        return import_module(name)
