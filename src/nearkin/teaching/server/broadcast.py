"""The tabs that are open, and what each of them is still to be told."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

# Text goes out as text, bytes as bytes.
Told = str | bytes


class Mailbox:
    """What one tab has not been sent yet: of each kind the newest only.

    A message holds all there is to say of its kind, so the one before it need not be sent any more.
    However slow a tab is, it never has more than one of each kind waiting.

    Attributes
    ----------
    follows : {"axes", "neighbors"}
        Which of the two maps the tab shows.
    """

    def __init__(self) -> None:
        self.follows = "axes"
        self._waiting: dict[str, Told | None] = {}
        self._kinds: set[str] = set()  # that there have been
        self._filled = asyncio.Event()

    def put(self, kind: str, told: Told | None) -> None:
        """Have something sent, in place of an older message of its kind; None cuts the tab off."""
        self._waiting[kind] = told
        self._kinds.add(kind)
        self._filled.set()

    def greet(self, kind: str, told: Told) -> None:
        """Have something sent that was so a moment ago, unless news of its kind have come since."""
        if kind not in self._kinds:
            self.put(kind, told)

    async def next(self) -> Told | None:
        """The message that has waited longest; None if the tab is to be cut off."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        return self._waiting.pop(next(iter(self._waiting)))


class Live:
    """All tabs, told the same things.

    Everything runs on the event loop that :meth:`open` was called on, but :meth:`tell` may be
    called by any thread.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._mailboxes: set[Mailbox] = set()

    def open(self) -> None:
        """Begin, on the event loop that now runs."""
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """End: nothing is told any more."""
        self._loop = None

    def __len__(self) -> int:
        return len(self._mailboxes)

    def join(self) -> Mailbox:
        """A mailbox for one more tab."""
        mailbox = Mailbox()
        self._mailboxes.add(mailbox)
        return mailbox

    def leave(self, mailbox: Mailbox) -> None:
        """Forget a tab that has gone."""
        self._mailboxes.discard(mailbox)

    def are_there(self, follows: str) -> bool:
        """Whether some tab shows one of the maps; on the event loop."""
        return any(mailbox.follows == follows for mailbox in self._mailboxes)

    def cut_off(self) -> None:
        """Close the lines to all tabs, which may connect again."""
        for mailbox in self._mailboxes:
            mailbox.put("end", None)

    def tell(self, kind: str, told: Told, to: Collection[Mailbox] | str | None = None) -> None:
        """Tell all tabs, some, or those that show a map; what one thread tells keeps its order."""
        loop = self._loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._tell, kind, told, to)
            except RuntimeError:  # it has just been closed, and with it all tabs
                return

    def _tell(self, kind: str, told: Told, to: Collection[Mailbox] | str | None) -> None:
        for mailbox in self._mailboxes:
            if to is None or (mailbox.follows == to if isinstance(to, str) else mailbox in to):
                mailbox.put(kind, told)
