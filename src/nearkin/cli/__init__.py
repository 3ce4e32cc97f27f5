"""The command line: see :mod:`nearkin.cli.app`."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``nearkin`` with some arguments, those of the process by default.

    Returns
    -------
    int
        Status for the process to end with.
    """
    from nearkin.cli.process import end_at_once, ended_well, start_at_once

    if arguments is not None:
        return ended_well(lambda: _run(arguments), is_all=False)
    start_at_once()
    status = ended_well(lambda: _run(None), is_all=True)
    end_at_once()
    return status


def _run(arguments: Sequence[str] | None) -> int:
    try:
        from nearkin.cli.app import run_command
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "pyarrow"):
            raise
        from nearkin.cli.common import MISUSE, complain

        complain("the command line needs more packages: pip install 'nearkin[cli]'")
        return MISUSE
    return run_command(arguments)
