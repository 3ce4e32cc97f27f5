"""What a kernel can know of its notebook: whether it is one, in which file, and who started it."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

# Seconds that a server on the same machine has to say what it knows.
_PATIENCE = 2.0


def shell_of_notebook() -> Any | None:
    """IPython's shell if this process is the kernel of a notebook, else None."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if hasattr(shell, "kernel") else None


def is_shown_by_vscode(shell: Any, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether VS Code shows the notebook, wherever the kernel runs."""
    return "__vsc_ipynb_file__" in shell.user_ns or "-jvsc-" in environ.get("JPY_SESSION_NAME", "")


def notebook_file(shell: Any, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Where the notebook is, as far as its kernel can know.

    It is what VS Code tells, or the file by whose name Jupyter started the kernel.
    """
    told = shell.user_ns.get("__vsc_ipynb_file__") or environ.get("JPY_SESSION_NAME", "")
    name, found, _ = str(told).partition(".ipynb")
    if not found:
        return None
    path = Path(f"{name}.ipynb")
    if not path.is_absolute():
        path = Path(str(running_server(environ).get("root_dir", "."))) / path
    return path.absolute() if path.parent.is_dir() else None


def running_server(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """What the Jupyter server that started this kernel says of itself in its file, if anything."""
    number = environ.get("JPY_PARENT_PID", "")
    if not number.isdecimal():
        return {}
    try:
        from jupyter_core.paths import jupyter_runtime_dir
    except ImportError:
        return {}
    with suppress(OSError, ValueError):
        path = Path(jupyter_runtime_dir()) / f"jpserver-{number}.json"
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def has_server_proxy(server: Mapping[str, Any]) -> bool:
    """Whether a Jupyter server passes requests on to other ports, by jupyter-server-proxy.

    It is asked for a page of that extension, without a word of who asks: it wants to know who if it
    has the page, and says so if not.
    """
    address = f"{server.get('url', '')}server-proxy/servers-info"
    if not address.startswith(("http://", "https://")):
        return False
    try:
        _asking().open(address, timeout=_PATIENCE)
    except urllib.error.HTTPError as answer:
        return answer.code in (301, 302, 303, 307, 401, 403)
    except (OSError, ValueError):  # no answer, or one that is no HTTP
        return False
    return True


class _NotFurther(urllib.request.HTTPRedirectHandler):
    """Does not follow an answer that leads elsewhere."""

    def redirect_request(self, *told: Any) -> None:
        """Nowhere."""


def _asking() -> urllib.request.OpenerDirector:
    """Asks this machine, past proxies that are meant for others."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), _NotFurther)
