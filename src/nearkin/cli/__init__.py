"""The command line.

A command is a function whose signature typer reads, in a file of its own. What takes time to import
is imported in these functions: the help must be there at once.
"""

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
        from nearkin.cli.app import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "pyarrow"):
            raise
        from nearkin.cli.common import MISUSE, complain

        complain("the command line needs more packages: pip install 'nearkin[cli]'")
        return MISUSE
    return run(arguments)
