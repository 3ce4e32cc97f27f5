"""The cluster that dask would use, and whether its processes can run nearkin."""

from __future__ import annotations

import asyncio
import pydoc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask

from nearkin._version import __version__
from nearkin.errors import ClusterError, InputTypeError


def client_in_use(client: Any = None) -> Any:
    """The client that is given, or the one that dask would use; None for its local schedulers."""
    if client is None:
        if dask.config.get("scheduler", None) not in (None, "dask.distributed", "distributed"):
            return None
        try:
            from distributed import default_client

            client = default_client()
        except (ImportError, ValueError):  # not installed, or no client
            return None
    if not hasattr(client, "scheduler_info"):
        raise InputTypeError(
            f"client must be a distributed.Client or None, got {type(client).__name__}."
        )
    if client.asynchronous:
        raise InputTypeError(
            "the client is asynchronous, but fit waits for its result: use "
            "Client(..., asynchronous=False)."
        )
    return client


def check_processes(client: Any) -> None:
    """Raise unless the scheduler and all workers have this version of nearkin.

    The scheduler unpacks the tasks and the workers run them, both by their names in this package.
    """
    # Functions of the standard library, which need no nearkin to be unpacked. They import in a
    # thread, so that the process answers meanwhile.
    question = (asyncio.to_thread, pydoc.locate, "nearkin._version.__version__")
    found = {"the scheduler": client.run_on_scheduler(*question)}
    answers = client.run(*question, on_error="return")
    found |= {f"worker {address}": answer for address, answer in answers.items()}
    for name, answer in found.items():
        if isinstance(answer, OSError):  # it has just gone; others do its work
            continue
        if answer is None:
            raise ClusterError(
                f"{name} has no nearkin: install nearkin {__version__} there, as in this process."
            )
        if isinstance(answer, BaseException):
            raise ClusterError(f"{name} cannot import nearkin: {answer}") from answer
        if answer != __version__:
            raise ClusterError(
                f"{name} has nearkin {answer}, but this process has {__version__}: install the "
                "same version there."
            )


@contextmanager
def explained(client: Any) -> Iterator[None]:
    """Say so if work fails since a worker that came after the check has no nearkin.

    Such a worker ends when it is sent a task, and others do its work, unless that was tried often.
    """
    try:
        yield
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and "nearkin" in str(error.name)
        if client is not None and (missing or type(error).__name__ == "KilledWorker"):
            check_processes(client)
            error.add_note("Has every worker the same nearkin? One without it ends at a task.")
        raise
