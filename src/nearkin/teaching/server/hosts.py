"""The names that this server goes by in the Host header of a request."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address

# Listening on one of these is listening on every interface.
_EVERYWHERE = ("0.0.0.0", "::")
_THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")


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

    Examples
    --------
    >>> hosts = Hosts(8765)
    >>> hosts.accept("localhost:8765"), hosts.accept("localhost.example:8765")
    (True, False)
    """

    port: int
    names: Collection[str] = field(default=_THIS_MACHINE)
    any_number: bool = False

    def accept(self, host: str) -> bool:
        """Whether a Host header is one of ours."""
        name, port = _parted(host.lower())
        if port != str(self.port) and not (port == "" and self.port == 80):
            return False
        return name in self.names or (self.any_number and _is_number(name))


def hosts_of(address: str, port: int) -> Hosts:
    """What a server that listens on an address goes by."""
    if listens_everywhere(address):
        return Hosts(port, any_number=True)
    return Hosts(port, (*_THIS_MACHINE, in_url(address).lower()))


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
