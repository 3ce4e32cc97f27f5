"""What opens the studio: the token of a run, and codes that stand for it once."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable

# Seconds until a browser that is being started has asked. Some take long.
_CODE_HOLDS = 120.0
# Of codes that nobody used, so many are remembered.
_MOST_CODES = 16


class Access:
    """The token of a run, and codes to be exchanged for it.

    A program's arguments can be seen by everyone on the machine, and so can the address that a
    browser is started with: it gets a code, which is worth nothing once it has been used.

    Parameters
    ----------
    token : str, optional
        Of a server that this one takes the place of. Without: a new one.
    clock : callable
        Seconds.

    Attributes
    ----------
    token : str

    Examples
    --------
    >>> access = Access()
    >>> code = access.new_code()
    >>> access.redeem(code), access.redeem(code), access.opens(access.token)
    (True, False, True)
    """

    def __init__(
        self, token: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.token = token or secrets.token_urlsafe(24)
        self._clock = clock
        self._codes: dict[str, float] = {}  # and until when they hold

    def opens(self, given: str) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    def new_code(self) -> str:
        """A code that can be exchanged for the token, once and soon."""
        code = secrets.token_urlsafe(24)
        self._codes[code] = self._clock() + _CODE_HOLDS
        while len(self._codes) > _MOST_CODES:
            del self._codes[next(iter(self._codes))]
        return code

    def redeem(self, given: str) -> bool:
        """Whether this is a code that holds; from now on it does not."""
        now = self._clock()
        found = [code for code in self._codes if hmac.compare_digest(code.encode(), given.encode())]
        return any(now <= self._codes.pop(code) for code in found)
