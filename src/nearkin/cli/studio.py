"""``nearkin studio``: not there yet."""

from __future__ import annotations

from nearkin.cli import options as o


def studio(seed: o.Seed = 0) -> None:
    """Answer questions about pairs in a browser (not there yet)."""
    del seed
    from nearkin.cli.failures import UserError

    raise UserError(
        "the studio is not part of this version. nearkin suggest --ask asks about pairs in the "
        "terminal."
    )
