"""What requests are replied, and how changes are asked for."""

from __future__ import annotations

from typing import Any

from fastapi import HTTPException, Response

from nearkin.teaching.history import Conflict
from nearkin.teaching.server.encoding import as_json
from nearkin.teaching.server.session import Room


class PlainJSON(Response):
    """Plain data as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The content as JSON in bytes."""
        return as_json(content).encode("ascii")


def binary(content: bytes) -> Response:
    """Bytes as they are."""
    return Response(content, media_type="application/octet-stream")


def said(error: Exception) -> str:
    """An error as a sentence."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}."
    return " ".join(str(error).split()).strip("'\"") or type(error).__name__


async def changed(room: Room, by: str, status: int, change: Any, *arguments: Any) -> Response:
    """Change what is known, and reply the new state.

    Parameters
    ----------
    room : Room
    by : str
        The tab that asks.
    status : int
        Of the reply where the change is not possible.
    change : callable
        Of the lesson.
    arguments
        Given to it.
    """
    try:
        return PlainJSON(await room.change(by, change, *arguments))
    except Conflict:
        raise
    except (ValueError, IndexError) as error:
        raise HTTPException(status, said(error)) from None
    except OSError as error:
        raise HTTPException(507, said(error)) from None


def check_rows(n_rows: int, *rows: int) -> None:
    """Refuse rows that are not there."""
    outside = next((row for row in rows if row >= n_rows), None)
    if outside is not None:
        raise HTTPException(422, f"There is no row {outside}: rows are 0 to {n_rows - 1}.")
