"""Errors by class: what the user can put right is a :class:`NearkinError`, all else a defect.

Each is also of the class that Python and scikit-learn have for such a thing, so that
``except ValueError`` catches it as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class NearkinError(Exception):
    """An error that the caller can fix: the message says what, where, and what to do.

    Examples
    --------
    >>> import nearkin as nk
    >>> try:
    ...     nk.Pairs(must_link=[(0, 0.5)])
    ... except nk.NearkinError as error:
    ...     print(type(error).__name__)
    InputTypeError
    """


class InputError(NearkinError, ValueError):
    """A value that cannot be worked with."""


class InputTypeError(NearkinError, TypeError):
    """Something of another kind than is taken here."""


class InputIndexError(NearkinError, IndexError):
    """A number of a row or column that is not there."""


class MissingPackageError(NearkinError, ImportError):
    """An optional package that is not installed."""


class ClusterError(NearkinError, RuntimeError):
    """Workers of a cluster cannot do what they are asked to, as with another version of nearkin."""


class OutOfMemoryError(NearkinError, MemoryError):
    """A device whose memory is full."""


@contextmanager
def raise_input_errors() -> Iterator[None]:
    """Turn ValueError and TypeError of scikit-learn's checks in a block into errors of ours."""
    try:
        yield
    except NearkinError:
        raise
    except TypeError as error:
        raise InputTypeError(str(error)).with_traceback(error.__traceback__) from None
    except ValueError as error:
        raise InputError(str(error)).with_traceback(error.__traceback__) from None


@contextmanager
def explain_missing_package(what: str, extra: str) -> Iterator[None]:
    """Turn an ImportError in a block into advice, after ``what``, to install an ``extra``."""
    try:
        yield
    except ImportError as error:
        raise MissingPackageError(f"{what}: pip install 'nearkin[{extra}]'") from error


def few(texts: Iterable[str], most: int = 5) -> str:
    """The first ``most`` texts, joined by commas, and how many more there are."""
    texts = list(texts)
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def counted(n: int, thing: str) -> str:
    """A number with its noun in singular or plural: "1 row", "2 rows"."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"
