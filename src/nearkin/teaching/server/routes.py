"""The routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import FastAPI, Header, HTTPException, Path, Query, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.websockets import WebSocketDisconnect

from nearkin._version import __version__
from nearkin.teaching.history import LONGEST_NAME, Conflict
from nearkin.teaching.server.access import Access
from nearkin.teaching.server.broadcast import Mailbox
from nearkin.teaching.server.encoding import as_json, layout_bytes, numbers_bytes
from nearkin.teaching.server.few_words import log_few_errors
from nearkin.teaching.server.guard import SUBPROTOCOL, Guard
from nearkin.teaching.server.hosts import Hosts
from nearkin.teaching.server.page_files import page_folder, page_is_missing
from nearkin.teaching.server.session import Room

if TYPE_CHECKING:
    from nearkin.teaching.lesson import Lesson

# No file has more rows.
_LARGEST = 2**53 - 1
# Rows of a group; as many as are ever shown.
_MOST_OF_A_GROUP = 500_000
_MOST_TABS = 32
_MOST_CLUSTERS = 1000
_MOST_NEIGHBORS = 1000


def _whole(value: Any) -> Any:
    """In JSON, 3.0 is a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Row = Annotated[int, Field(ge=0, le=_LARGEST), BeforeValidator(_whole)]
RowBeside = Annotated[int | None, Query(ge=0, le=_LARGEST)]
RowInPath = Annotated[int, Path(ge=0, le=_LARGEST)]
Clusters = Annotated[int | None, Query(ge=1, le=_MOST_CLUSTERS)]
Key = Annotated[str, Path(min_length=1, max_length=100)]
# Which tab asks, so that it is not told of what it did itself.
Tab = Annotated[str, Header(alias="X-Nearkin-Tab", max_length=40)]
# Who answers.
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
# What is believed to be said of two rows; if it is something else, nothing is changed.
Said = Literal["same", "different", "unsure", "nothing"]


class _Body(BaseModel):
    """What all bodies have: nothing but what is named, of exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(_Body):
    """Two rows are the same kind of thing, are not, or it is not clear (null)."""

    left: Row
    right: Row
    same: bool | None
    origin: Literal["question", "suspect", "neighbors", "group", "review"] = "question"
    before: Said | None = None
    by: Name | None = None


class Groups(_Body):
    """All rows of two groups are the same kind of thing, or none of one like any of the other."""

    first: Annotated[list[Row], Field(min_length=1, max_length=_MOST_OF_A_GROUP)]
    second: Annotated[list[Row], Field(max_length=_MOST_OF_A_GROUP)]
    same: bool
    before: Literal["nothing"] | None = None
    by: Name | None = None


class Withdrawal(_Body):
    """What was said of two rows does not count any more."""

    left: Row
    right: Row
    before: Said | None = None


class Order(_Body):
    """A row is nearer to one than to another."""

    anchor: Row
    closer: Row
    farther: Row


class Step(_Body):
    """A step back or forth from a version that is the newest, as far as a page knows."""

    version: Row | None = None


class PlainJSON(Response):
    """Plain data as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The content as JSON in bytes."""
        return as_json(content).encode("ascii")


def make_app(lesson: Lesson, access: Access, hosts: Hosts) -> FastAPI:
    """The server's app for one lesson.

    Parameters
    ----------
    lesson : Lesson
        Not to be changed by anyone else while the app runs.
    access : Access
        With the token that every request must know.
    hosts : Hosts
        What the server is called.
    """
    room = Room(lesson)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        log_few_errors(asyncio.get_running_loop())
        room.open()
        yield
        await room.close()

    app = FastAPI(
        title="nearkin.teaching",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        default_response_class=PlainJSON,
    )
    app.add_middleware(Guard, access=access, hosts=hosts)
    _add_errors(app)
    _add_looks(app, room)
    _add_changes(app, room)
    _add_live(app, room)
    _add_page(app)
    return app


def _add_errors(app: FastAPI) -> None:
    """Every error is one sentence."""

    @app.exception_handler(AnyHTTPException)
    async def said(request: Request, error: AnyHTTPException) -> Response:
        return PlainJSON({"message": str(error.detail)}, error.status_code, error.headers)

    @app.exception_handler(Conflict)
    async def in_conflict(request: Request, error: Conflict) -> Response:
        return PlainJSON({"message": _said(error), "said": error.said}, 409)

    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> Response:
        return PlainJSON({"message": _sentence(error)}, 422)


def _sentence(error: RequestValidationError) -> str:
    """The first thing that is wrong with a request, without what it was."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
    return f"{where}: {first['msg']}."[:300]


def _add_looks(app: FastAPI, room: Room) -> None:
    """Routes that only look; they run in threads, since some take their time."""
    lesson = room.lesson
    n_rows = int(lesson.about()["n_rows"])

    def checked(row: int) -> int:
        if row >= n_rows:
            raise HTTPException(404, f"There is no row {row}: rows are 0 to {n_rows - 1}.")
        return row

    @app.get("/api/lesson")
    def about() -> Response:
        about = lesson.about()
        return PlainJSON({**about, "state": lesson.state(), "nearkin": __version__})

    @app.get("/api/layouts/{name}")
    def layout(name: Literal["euclidean", "learned"]) -> Response:
        return _binary(layout_bytes(lesson.layout(name)))

    @app.get("/api/known")
    def known() -> Response:
        return PlainJSON(lesson.known())

    @app.get("/api/report")
    def report() -> Response:
        return Response(status_code=204) if room.report is None else PlainJSON(room.report)

    @app.get("/api/review")
    def review() -> Response:
        if not lesson.about()["review"]:
            raise HTTPException(404, "There are no records here that are known by words.")
        found = room.look_at_review()
        return Response(status_code=204) if found is None else PlainJSON(found)

    def check_clusters(clusters: int | None) -> None:
        if clusters is not None and clusters > n_rows:
            raise HTTPException(422, f"{n_rows} rows make no {clusters} clusters.")

    def coloured(key: str, clusters: int | None) -> dict[str, Any]:
        check_clusters(clusters)
        try:
            return lesson.colouring(key, n_clusters=clusters)
        except (KeyError, IndexError, ValueError) as error:
            raise HTTPException(404, _said(error)) from None

    @app.get("/api/colourings/{key}")
    def colouring(key: Key, clusters: Clusters = None) -> Response:
        found = coloured(key, clusters)
        return PlainJSON({name: part for name, part in found.items() if name != "values"})

    @app.get("/api/colourings/{key}/values")
    def colouring_values(key: Key, clusters: Clusters = None) -> Response:
        return _binary(numbers_bytes(coloured(key, clusters)["values"]))

    @app.get("/api/records/{row}")
    def record(row: RowInPath, beside: RowBeside = None) -> Response:
        other = None if beside is None else checked(beside)
        return PlainJSON(lesson.record(checked(row), other))

    @app.get("/api/records/{row}/image")
    async def image(row: RowInPath) -> Response:
        found = await room.image(checked(row))
        if found is None:
            raise HTTPException(404, f"There is no image of row {row}.")
        content, media_type = found
        return Response(content, media_type=media_type)

    @app.get("/api/records/{row}/neighbors")
    def neighbors(
        row: RowInPath, n: Annotated[int, Query(ge=1, le=_MOST_NEIGHBORS)] = 10
    ) -> Response:
        return PlainJSON(lesson.neighbors(checked(row), n=min(n, max(1, n_rows - 1))))

    @app.get("/api/export/{what}")
    def export(
        what: Literal["pairs", "triplets", "embedding", "clusters", "model", "groups"],
        clusters: Clusters = None,
    ) -> Response:
        check_clusters(clusters)
        try:
            name, content = lesson.export(what, n_clusters=clusters)
        except ValueError as error:
            raise HTTPException(409, _said(error)) from None
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type="application/octet-stream", headers=headers)


def _add_changes(app: FastAPI, room: Room) -> None:
    """Routes that change what is known."""
    lesson = room.lesson
    n_rows = int(lesson.about()["n_rows"])

    async def changed(by: str, status: int, change: Any, *arguments: Any) -> Response:
        try:
            return PlainJSON(await room.change(by, change, *arguments))
        except Conflict:
            raise
        except (ValueError, IndexError) as error:
            raise HTTPException(status, _said(error)) from None
        except OSError as error:
            raise HTTPException(507, _said(error)) from None

    def check(*rows: int) -> None:
        outside = next((row for row in rows if row >= n_rows), None)
        if outside is not None:
            raise HTTPException(422, f"There is no row {outside}: rows are 0 to {n_rows - 1}.")

    @app.post("/api/answers")
    async def answer(body: Answer, by: Tab = "") -> Response:
        check(body.left, body.right)
        told = body.left, body.right, body.same, body.origin, body.before, body.by
        return await changed(by, 422, lesson.answer, *told)

    @app.post("/api/groups")
    async def groups(body: Groups, by: Tab = "") -> Response:
        check(*body.first, *body.second)
        told = body.first, body.second, body.same, body.before, body.by
        return await changed(by, 422, lesson.answer_groups, *told)

    @app.post("/api/withdrawals")
    async def withdraw(body: Withdrawal, by: Tab = "") -> Response:
        check(body.left, body.right)
        return await changed(by, 409, lesson.withdraw, body.left, body.right, body.before)

    @app.post("/api/orders")
    async def order(body: Order, by: Tab = "") -> Response:
        rows = body.anchor, body.closer, body.farther
        check(*rows)
        return await changed(by, 422, lesson.answer_order, *rows)

    @app.post("/api/orders/withdrawals")
    async def withdraw_order(body: Order, by: Tab = "") -> Response:
        rows = body.anchor, body.closer, body.farther
        check(*rows)
        return await changed(by, 409, lesson.withdraw_order, *rows)

    @app.post("/api/undo")
    async def undo(body: Step | None = None, by: Tab = "") -> Response:
        return await changed(by, 409, lesson.undo, None if body is None else body.version)

    @app.post("/api/redo")
    async def redo(body: Step | None = None, by: Tab = "") -> Response:
        return await changed(by, 409, lesson.redo, None if body is None else body.version)


def _add_live(app: FastAPI, room: Room) -> None:
    @app.websocket("/api/live")
    async def live(websocket: WebSocket) -> None:
        offered = websocket.scope.get("subprotocols", [])
        await websocket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
        if len(room.live) >= _MOST_TABS:
            await websocket.close(1013, "too many tabs are open")
            return
        mailbox = room.live.join()
        sending = asyncio.create_task(_send_all(websocket, mailbox))
        try:
            await room.greet(mailbox)
            while (await websocket.receive())["type"] != "websocket.disconnect":
                pass  # a tab has nothing to say here; its pings keep the line open
        finally:
            room.live.leave(mailbox)
            sending.cancel()
            with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
                await sending


async def _send_all(websocket: WebSocket, mailbox: Mailbox) -> None:
    while True:
        told = await mailbox.next()
        if isinstance(told, bytes):
            await websocket.send_bytes(told)
        else:
            await websocket.send_text(told)


def _add_page(app: FastAPI) -> None:
    folder = page_folder()

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        if folder is None:
            return HTMLResponse(page_is_missing(), 503)
        return FileResponse(folder / "index.html", media_type="text/html")

    if folder is not None and (folder / "assets").is_dir():
        app.mount("/assets", StaticFiles(directory=folder / "assets"))


def _binary(content: bytes) -> Response:
    return Response(content, media_type="application/octet-stream")


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}."
    return " ".join(str(error).split()).strip("'\"") or type(error).__name__
