"""What the studio needs beside the library."""

from __future__ import annotations

from importlib import import_module

from nearkin.errors import needing

_PACKAGES = ("fastapi", "uvicorn", "websockets", "PIL")


def check_packages() -> None:
    """Raise an ImportError that says what to install, if something is missing."""
    for name in _PACKAGES:
        with needing(f"the studio needs more packages ({name})", "studio"):
            import_module(name)
