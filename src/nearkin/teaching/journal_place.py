"""Where the answers of a notebook's cell are kept, if nobody says so."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from nearkin.teaching.jupyter import notebook_file

# Names that IPython gives to what cells have shown.
_NOT_THE_USERS = re.compile(r"_.*|In|Out|exit|quit")


def journals_beside(
    shell: Any, X: Any, fingerprint: str, environ: Mapping[str, str] = os.environ
) -> Iterator[Path]:
    """Files for the answers about X, best first: all but the first are for when it has other data.

    They are beside the notebook, or in the working directory if nobody knows where that is. Their
    names have the notebook's and the variable's, so that a cell that is run again finds its answers
    and a person knows whose they are.

    Parameters
    ----------
    shell : IPython's shell
    X : object
        What the studio is about.
    fingerprint : str
        Of that, for what is in no variable.
    environ : mapping
    """
    notebook = notebook_file(shell, environ)
    folder = Path.cwd() if notebook is None else notebook.parent
    parts = [] if notebook is None else [notebook.stem]
    parts.append(_variable(shell, X) or f"rows-{fingerprint[:8]}")
    for number in count(1):
        more = "" if number == 1 else f"-{number}"
        yield folder / f"{'.'.join(parts)}{more}.answers.jsonl"


def _variable(shell: Any, X: Any) -> str | None:
    """The first variable that X is the value of."""
    named = (name for name, value in shell.user_ns.items() if value is X)
    return next((name for name in named if not _NOT_THE_USERS.fullmatch(name)), None)
