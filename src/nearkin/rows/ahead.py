"""Iterables that are worked on ahead of their use, in threads, with their order kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")
_END: Any = object()


def ahead(items: Iterable[Item], most: int = 1) -> Iterator[Item]:
    """The same items, made by a thread of its own while those before are in use.

    An error comes where its item would have been. Once the result is closed, as at an error of who
    uses it, the thread finishes the item that it is at, closes the items, and is gone.

    Parameters
    ----------
    items : iterable
    most : int, default=1
        How many wait at most; as many are in memory beside the one in use.

    Examples
    --------
    >>> from nearkin.rows.ahead import ahead
    >>> list(ahead(n**2 for n in range(4)))
    [0, 1, 4, 9]
    """
    iterator, context = iter(items), copy_context()
    with ThreadPoolExecutor(1) as thread:

        def made() -> Item:
            return next(iterator, _END)

        def another() -> Future[Item]:
            return thread.submit(context.run, made)

        waiting = deque(another() for _ in range(most))
        try:
            while (item := waiting.popleft().result()) is not _END:
                waiting.append(another())
                yield item
        finally:
            _cancel(waiting)
            thread.submit(context.run, _close, iterator)  # where it runs


def mapped_ahead(
    function: Callable[[Item], Made], items: Iterable[Item], n_threads: int
) -> Iterator[Made]:
    """``function`` of each item, in their order, in some threads at a time.

    The items themselves are made in the thread of who asks for the results; as many as there are
    threads, and one more, are in memory. Of several errors the one of the first item is raised.

    Examples
    --------
    >>> from nearkin.rows.ahead import mapped_ahead
    >>> list(mapped_ahead(abs, [-1, 2, -3], 2))
    [1, 2, 3]
    """
    iterator = iter(items)
    waiting: deque[Future[Made]] = deque()
    failed: Exception | None = None
    with closed(iterator), ThreadPoolExecutor(n_threads) as threads:
        try:
            while True:
                try:
                    item = next(iterator, _END)
                except Exception as error:  # which comes after all items before it
                    failed = error
                    break
                if item is _END:
                    break
                waiting.append(threads.submit(copy_context().run, function, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            _cancel(waiting)
    if failed is not None:
        raise failed


def _cancel(waiting: Iterable[Future[Any]]) -> None:
    for future in waiting:
        future.cancel()


@contextmanager
def closed(items: Any) -> Iterator[None]:
    """Close items after a block, if they are a generator's, rather than when nobody holds them."""
    try:
        yield
    finally:
        _close(items)


def _close(items: Any) -> None:
    if hasattr(items, "close"):
        items.close()
