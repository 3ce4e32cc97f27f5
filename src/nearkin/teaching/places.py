"""How the browser of a notebook comes to a port of the machine that its kernel runs on."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from nearkin.errors import InputError
from nearkin.teaching.jupyter import has_server_proxy, is_shown_by_vscode, running_server
from nearkin.teaching.server.hosts import ANY_NAME

_DIRECTLY = "http://127.0.0.1:{port}/"
_FORWARD = (
    "If the notebook runs on another machine, forward the port to yours, as in ssh -L "
    "{port}:127.0.0.1:{port} MACHINE"
)
_RUN_AGAIN = "If the kernel was restarted or the studio closed, run the cell again."
# Where the browser shows what a codespace has.
_CODESPACES = ("*.github.dev", "*.vscode-cdn.net")


@dataclass(frozen=True)
class Place:
    """Where a notebook is shown, and how a page of this machine can be shown there.

    Attributes
    ----------
    address : str
        Of a port, which stands as ``{port}`` in it. It begins with a slash if it is one of the
        server that shows the notebook, whose name only the browser knows.
    hosts : tuple of str
        Names that requests come with beside those of this machine; ``*`` if nobody knows them.
    remedy : str
        What to do if the page is not there, with ``{port}``.
    """

    address: str = _DIRECTLY
    hosts: tuple[str, ...] = ()
    remedy: str = f"{_RUN_AGAIN} {_FORWARD}."

    def url(self, port: int, token: str) -> str:
        """Where the page is."""
        return f"{self.address.replace('{port}', str(port))}?token={token}"

    def what_to_do(self, port: int) -> str:
        """The remedy for a port."""
        return self.remedy.replace("{port}", str(port))


class InColab(Place):
    """A notebook in Colab, whose browser has an address of its own for each port."""

    def url(self, port: int, token: str) -> str:
        """Where the page is."""
        from google.colab.output import eval_js

        found = str(eval_js(f"google.colab.kernel.proxyPort({port})"))
        return f"{found.rstrip('/')}/?token={token}"


def place_of(proxy: str | None, shell: Any, environ: Mapping[str, str] = os.environ) -> Place:
    """Where a page is shown.

    Parameters
    ----------
    proxy : str or None
        What the user says of it: an address with ``{port}``.
    shell : IPython's shell, or None
        None where this is no notebook.
    environ : mapping
    """
    if proxy is not None:
        return _by_user(proxy)
    if shell is None:
        return Place()
    if "google.colab" in sys.modules:
        return InColab(hosts=(ANY_NAME,), remedy=_RUN_AGAIN)
    if is_shown_by_vscode(shell, environ):
        return _vscode(environ)
    return _jupyter(environ)


def _by_user(proxy: str) -> Place:
    if "{port}" not in proxy or not proxy.startswith(("http://", "https://", "/")):
        raise InputError(
            f"proxy={proxy!r:.200}: give an address with {{port}} in it, such as "
            "'https://hub.example.org/user/me/proxy/{port}/', or the part of it from the first / "
            "on if the notebook is on the same host."
        )
    address = proxy if proxy.endswith("/") else f"{proxy}/"
    name = urlsplit(address.replace("{port}", "0")).hostname
    if name is None:
        hosts = (ANY_NAME,)
    elif "{port}" in urlsplit(address).netloc and "." in name:  # a name for each port
        hosts = (f"*.{name.partition('.')[2]}",)
    else:
        hosts = (name,)
    return Place(address, hosts, f"{_RUN_AGAIN} See whether proxy={proxy!r} is right.")


def _vscode(environ: Mapping[str, str]) -> Place:
    here = ("localhost", "127.0.0.1")
    remedy = (
        f"{_RUN_AGAIN} If it runs on another machine: in the Ports view of VS Code, choose Forward "
        "a Port, {port}, and run the cell again."
    )
    template = environ.get("VSCODE_PROXY_URI", "")
    if template.startswith("http") and "{{host}}" not in template:  # of code-server
        return _by_user(template.replace("{{port}}", "{port}"))
    name = environ.get("CODESPACE_NAME")
    domain = environ.get("GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN")
    if name and domain:
        hosts = (*here, f"*.{domain}", *_CODESPACES)
        return Place(f"https://{name}-{{port}}.{domain}/", hosts, remedy)
    return Place(hosts=here, remedy=remedy)


def _jupyter(environ: Mapping[str, str]) -> Place:
    server = running_server(environ)
    prefix = environ.get("JUPYTERHUB_SERVICE_PREFIX")
    base = prefix or str(server.get("base_url", "/"))
    if not base.endswith("/"):
        base += "/"
    proxied = f"{base}proxy/{{port}}/"
    if has_server_proxy(server):
        return Place(proxied, (ANY_NAME,), _RUN_AGAIN)
    install = (
        "install jupyter-server-proxy where Jupyter runs, restart Jupyter, and run the cell again"
    )
    if prefix:  # whatever there is, nothing but a proxy leads from a hub to this machine
        return Place(
            proxied,
            (ANY_NAME,),
            f"{_RUN_AGAIN} Through JupyterHub the page needs jupyter-server-proxy: {install}.",
        )
    return Place(remedy=f"{_RUN_AGAIN} {_FORWARD}, or {install}.")
