"""The names that this server goes by in the Host header of a request."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address

from nearkin.errors import InputError

# Listening on one of these is listening on every interface.
_EVERYWHERE = ("0.0.0.0", "::")
_THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")
# What stands for every name.
ANY_NAME = "*"
_LABEL = r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?"
_NAME = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*|\[[0-9a-f:.]+\]")


@dataclass(frozen=True)
class Hosts:
    """Which Host headers a request may have.

    A page elsewhere can let a name of its own point to this machine; its requests then arrive here,
    with that name. So only names that we listen on are answered.

    Attributes
    ----------
    port : int
    names : collection of str
        In the form of a URL, with brackets around IPv6 addresses.
    any_number : bool
        Whether all IP addresses are ours. Unlike a name, nobody can let one point elsewhere.
    allowed : collection of str
        Names of proxies that pass requests on to us, see :func:`checked_names`. They may have ports
        of their own, and encryption.

    Examples
    --------
    >>> hosts = Hosts(8765, allowed=["hub.example"])
    >>> hosts.accept("localhost:8765"), hosts.accept("localhost.example:8765")
    (True, False)
    >>> hosts.accept("hub.example"), hosts.accept_origin("https://hub.example", "hub.example")
    (True, True)
    """

    port: int
    names: Collection[str] = field(default=_THIS_MACHINE)
    any_number: bool = False
    allowed: Collection[str] = ()

    def accept(self, host: str) -> bool:
        """Whether a Host header is one of ours."""
        host = host.lower()
        if _is_among(host, self.allowed):
            return True
        name, port = _parted(host)
        if port != str(self.port) and not (port == "" and self.port == 80):
            return False
        return name in self.names or (self.any_number and _is_number(name))

    def accept_origin(self, origin: str, host: str) -> bool:
        """Whether a request with this Origin comes from our own page, as its Host has it.

        Some proxies pass on the name that they were asked by, some do not.
        """
        if origin == f"http://{host}":
            return True
        scheme, separator, place = origin.lower().partition("://")
        if not separator or scheme not in ("http", "https"):
            return False
        if place == host.lower():
            return _is_among(place, self.allowed)
        return _is_among(place, [name for name in self.allowed if name != ANY_NAME])


def hosts_of(address: str, port: int, allowed: Collection[str] = ()) -> Hosts:
    """What a server that listens on an address goes by, and behind proxies."""
    if listens_everywhere(address):
        return Hosts(port, any_number=True, allowed=allowed)
    return Hosts(port, (*_THIS_MACHINE, in_url(address).lower()), allowed=allowed)


def checked_names(names: Iterable[str]) -> list[str]:
    """Names of proxies as they are compared, or an error.

    Parameters
    ----------
    names : iterable of str
        Such as ``hub.example``, or ``*.hub.example`` for all names that end so.

    Examples
    --------
    >>> checked_names(["Hub.example", "*.proxy.example"])
    ['hub.example', '*.proxy.example']
    """
    found = [str(name).strip().lower() for name in names]
    for name in found:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{name!r:.80} is not the name of a host: give it without http://, port and "
                "path, such as hub.example.org, or *.example.org for all names that end so."
            )
    return found


def listens_everywhere(address: str) -> bool:
    """Whether an address stands for all that this machine has."""
    return address in _EVERYWHERE


def is_this_machine(address: str) -> bool:
    """Whether only programs on this machine reach an address."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address.lower() == "localhost"


def in_url(address: str) -> str:
    """An address in the form that URLs have.

    Examples
    --------
    >>> in_url("::1"), in_url("127.0.0.1"), in_url("0.0.0.0")
    ('[::1]', '127.0.0.1', '127.0.0.1')
    """
    if listens_everywhere(address):
        return "127.0.0.1"
    try:
        return f"[{address}]" if isinstance(ip_address(address), IPv6Address) else address
    except ValueError:
        return address


def _is_among(host: str, names: Iterable[str]) -> bool:
    """Whether a host, with or without a port, has one of these names."""
    name, port = _parted(host)
    if not _NAME.fullmatch(name) or not (port == "" or port.isdecimal()):
        return False
    return any(
        one in (ANY_NAME, name) or (one.startswith("*.") and name.endswith(one[1:]))
        for one in names
    )


def _parted(host: str) -> tuple[str, str]:
    """Name and port; an IPv6 address has colons of its own, in brackets."""
    name, bracket, rest = host.rpartition("]")
    before, _, port = rest.partition(":")
    return (f"{name}]{before}" if bracket else before), port


def _is_number(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
