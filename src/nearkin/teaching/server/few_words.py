"""What the server logs: everything at first, and no more than a little in every minute."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

# Records in a minute. One with a traceback has about 2 kB.
_MOST = 20
_MINUTE = 60.0

LOG = logging.getLogger("nearkin.teaching.server")


class FewWords(logging.Filter):
    """Lets so many records pass in every minute, the last with a word on those to come.

    Whoever can reach the port decides how often something goes wrong, and must not fill the disk.
    """

    def __init__(self, most: int = _MOST) -> None:
        super().__init__()
        self._most = most
        self._begun = -_MINUTE
        self._passed = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is to be seen."""
        now = time.monotonic()
        if now - self._begun >= _MINUTE:
            self._begun, self._passed = now, 0
        self._passed += 1
        if self._passed == self._most:
            record.msg = f"{record.getMessage()} (what follows within a minute is not logged)"
            record.args = None
        return self._passed <= self._most


LOG.addFilter(FewWords())


def log_few_errors(loop: asyncio.AbstractEventLoop) -> None:
    """Log what goes wrong on an event loop here, not for every connection that is refused."""

    def note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        LOG.error("%s", context["message"], exc_info=context.get("exception"))

    loop.set_exception_handler(note)
