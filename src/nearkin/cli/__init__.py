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
    try:
        from nearkin.cli.app import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "pyarrow"):
            raise
        import sys

        sys.stderr.write("the command line needs more packages: pip install 'nearkin[cli]'\n")
        return 2
    return run(arguments)
