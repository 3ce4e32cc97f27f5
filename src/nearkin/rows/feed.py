"""Blocks of rows on their way to a device and back, while the one before is worked on.

Rows that are larger than a device pass through it: each block is copied there from pinned memory on
a stream of its own, worked on on the device's current stream, and what becomes of it is copied back
on a third one. The device is torch's; on ``"cpu"`` the same happens one after another.

Blocks travel column by column, as Parquet files have them and take them: what a host does slowly,
turning columns into rows, takes a device no time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError, needing
from nearkin.rows.ahead import closed
from nearkin.rows.arrays import Floats
from nearkin.rows.base import Block
from nearkin.rows.devices import dispatched, namespace, to_numpy

Tensor = Any


class Feed:
    """A device of torch that blocks of rows are sent to.

    Parameters
    ----------
    device : str
        ``"cuda"``, ``"cuda:1"`` or ``"cpu"``.

    Notes
    -----
    Three blocks at most are on the device at a time, beside what a function makes of them, and
    four in pinned memory, with as many results.
    """

    def __init__(self, device: str) -> None:
        self._torch = _torch()
        self.device = _checked(self._torch, device)
        self._is_cuda = self.device.type == "cuda"

    def empty(self, n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> Floats:
        """Room for rows on the host: columns one after the other, pinned if that is of use.

        Pinned memory is used again once nobody holds it any more: torch keeps it.
        """
        kind = getattr(self._torch, dtype.name)
        columns = self._torch.empty((n_columns, n_rows), dtype=kind, pin_memory=self._is_cuda)
        found: Floats = columns.numpy().T
        return found

    def mapped(
        self, blocks: Iterable[Block], function: Callable[[Tensor], Tensor]
    ) -> Iterator[Block]:
        """Blocks with what a function on the device makes of their rows, back on the host."""
        outward = self._lane()
        leaving: deque[tuple[Block, Tensor, Any]] = deque()
        with closing(self.sent(blocks)) as all_sent:
            for block, rows in all_sent:
                leaving.append((block, *self._fetching(self.call(function, rows), outward)))
                if len(leaving) > 1:
                    yield self._fetched(*leaving.popleft())
            while leaving:
                yield self._fetched(*leaving.popleft())

    def sent(self, blocks: Iterable[Block]) -> Generator[tuple[Block, Tensor]]:
        """Blocks, with their rows on the device; the next one is on its way meanwhile."""
        inward = self._lane()
        coming: deque[tuple[Block, Tensor, Any]] = deque()
        with closed(blocks):
            for block in blocks:
                block = replace(block, rows=self._landed(block.rows))
                coming.append((block, *self._sending(block.rows, inward)))
                if len(coming) > 1:
                    yield self._arrived(*coming.popleft())
            while coming:
                yield self._arrived(*coming.popleft())

    def call(self, function: Callable[..., Any], rows: Tensor, *aligned: NDArray[Any]) -> Any:
        """What a function makes of rows on the device, which are foreign to it."""
        with dispatched(), self._current():
            return function(rows, *aligned)

    def call_once(self, function: Callable[[Tensor], Tensor], rows: Floats) -> Floats:
        """What a function on the device makes of a few rows of the host, on the host."""
        with dispatched():
            (_, there), *_ = self.sent([Block(0, rows)])
            return to_numpy(self.call(function, there))

    def _landed(self, rows: Floats) -> Floats:
        """Rows as :meth:`empty` makes room for them, copied unless they are."""
        if rows.flags.f_contiguous and rows.flags.writeable:
            return rows
        landed = self.empty(len(rows), rows.shape[1], rows.dtype)
        landed[...] = rows
        return landed

    def _sending(self, rows: Floats, inward: Any) -> tuple[Tensor, Any]:
        """Columns on their way to the device, and what says that they are there."""
        with self._on(inward):
            columns = self._torch.from_numpy(rows.T).to(self.device, non_blocking=True)
            return columns, self._mark(inward)

    def _arrived(self, block: Block, columns: Tensor, there: Any) -> tuple[Block, Tensor]:
        if there is not None:
            current = self._torch.cuda.current_stream(self.device)
            current.wait_event(there)
            columns.record_stream(current)  # which it was not made for
        # A copy, so that no function can write to rows of the host.
        return block, columns.T.clone(memory_format=self._torch.contiguous_format)

    def _fetching(self, result: Tensor, outward: Any) -> tuple[Tensor, Any]:
        """Columns of a result on their way home, and what says that they are there."""
        columns = result.T.contiguous()
        if outward is None:
            return columns, None
        outward.wait_stream(self._torch.cuda.current_stream(self.device))
        with self._on(outward):
            home = self._torch.empty(columns.shape, dtype=columns.dtype, pin_memory=True)
            home.copy_(columns, non_blocking=True)
            columns.record_stream(outward)
            return home, self._mark(outward)

    def _fetched(self, block: Block, columns: Tensor, home: Any) -> Block:
        if home is not None:
            home.synchronize()
        return replace(block, rows=columns.numpy().T)

    def _lane(self) -> Any:
        """A stream of work of its own; None on the host, which has but one."""
        return self._torch.cuda.Stream(self.device) if self._is_cuda else None

    def _on(self, lane: Any) -> AbstractContextManager[Any]:
        return nullcontext() if lane is None else self._torch.cuda.stream(lane)

    def _mark(self, lane: Any) -> Any:
        return None if lane is None else lane.record_event()

    def _current(self) -> AbstractContextManager[Any]:
        return self._torch.cuda.device(self.device) if self._is_cuda else nullcontext()


def placed(rows: Any, device: str) -> Any:
    """A copy of an array of the host on a device of torch."""
    torch = _torch()
    return torch.tensor(rows, device=_checked(torch, device))


def _torch() -> Any:
    with needing("rows on a device need torch", "torch"):
        import torch
    namespace(torch.empty(0))  # or what it needs besides
    return torch


def _checked(torch: Any, device: str) -> Any:
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        found = None
    if found is None or found.type not in ("cuda", "cpu"):
        raise InputError(
            f"device={device!r} is not known: use 'cuda', 'cuda:1' (the second one) or 'cpu', or "
            "None to work with NumPy on the host."
        )
    if found.type == "cpu":
        return found
    n_there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if n_there == 0:
        raise InputError(
            f"device={device!r}, but torch {torch.__version__} finds no CUDA device: install a "
            "torch that was built for CUDA on a machine that has one, or leave device out to work "
            "on the host."
        )
    if found.index is not None and found.index >= n_there:
        raise InputError(
            f"device={device!r}, but torch finds {n_there} CUDA device(s), the last of which is "
            f"'cuda:{n_there - 1}'."
        )
    return torch.device("cuda", torch.cuda.current_device() if found.index is None else found.index)
