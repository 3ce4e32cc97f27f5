"""The routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException as AnyHTTPException

from nearkin._version import __version__
from nearkin.teaching.history import Conflict
from nearkin.teaching.server import replies
from nearkin.teaching.server.access import Access
from nearkin.teaching.server.answer_routes import add_answers
from nearkin.teaching.server.bodies import (
    Answer,
    Clusters,
    Grouping,
    Groups,
    Key,
    Order,
    RowBeside,
    RowInPath,
    Side,
    Step,
    Tab,
    Withdrawal,
)
from nearkin.teaching.server.column_routes import add_columns
from nearkin.teaching.server.encoding import layout_bytes, numbers_bytes
from nearkin.teaching.server.few_words import log_few_errors
from nearkin.teaching.server.finding_routes import add_finding
from nearkin.teaching.server.grouping_routes import add_grouping
from nearkin.teaching.server.guard import Guard
from nearkin.teaching.server.hosts import Hosts
from nearkin.teaching.server.live_routes import add_live
from nearkin.teaching.server.page_files import page_folder, page_is_missing
from nearkin.teaching.server.replaceable import Replaceable
from nearkin.teaching.server.replies import PlainJSON, binary, check_rows, said
from nearkin.teaching.server.session import Room
from nearkin.teaching.server.which_routes import add_which
from nearkin.teaching.server.why_routes import add_why
from nearkin.teaching.thumbnails import LONGEST_SIDE

if TYPE_CHECKING:
    from nearkin.teaching.lesson import Lesson

_MOST_NEIGHBORS = 1000


def make_app(lesson: Lesson, access: Access, hosts: Hosts) -> Replaceable:
    """The server's app for a lesson, and for others that may take its place.

    Parameters
    ----------
    lesson : Lesson
        Not to be changed by anyone else while the app runs.
    access : Access
        With the token that every request must know.
    hosts : Hosts
        What the server is called.
    """
    return Replaceable(partial(_app_of, access=access, hosts=hosts), lesson)


def _app_of(
    lesson: Lesson, place: Replaceable, access: Access, hosts: Hosts
) -> tuple[FastAPI, Room]:
    """The app of one lesson, and its room."""
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
    add_answers(app, room)
    add_grouping(app, room)
    add_columns(app, room, place)
    add_why(app, room)
    add_finding(app, room)
    add_which(app, room)
    add_live(app, room)
    _add_page(app)
    return app, room


def _add_errors(app: FastAPI) -> None:
    """Every error is one sentence."""

    @app.exception_handler(AnyHTTPException)
    async def refused(request: Request, error: AnyHTTPException) -> Response:
        return PlainJSON({"message": str(error.detail)}, error.status_code, error.headers)

    @app.exception_handler(Conflict)
    async def in_conflict(request: Request, error: Conflict) -> Response:
        return PlainJSON({"message": said(error), "said": error.said}, 409)

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
        own = {"state": lesson.state(), "nearkin": __version__, "run": room.run}
        return PlainJSON({**about, **own})

    @app.get("/api/layouts/{name}")
    def layout(name: Literal["euclidean", "learned"]) -> Response:
        return binary(layout_bytes(lesson.layout(name)))

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

    def coloured(key: str, clusters: int | None, grouping: int | None) -> dict[str, Any]:
        check_clusters(clusters)
        try:
            found = lesson.colouring(key, n_clusters=clusters)
        except (KeyError, IndexError, ValueError) as error:
            raise HTTPException(404, said(error)) from None
        if grouping is not None and found.get("number") != grouping:
            raise HTTPException(409, "Groups were found anew meanwhile.")
        return found

    @app.get("/api/colourings/{key}")
    def colouring(key: Key, clusters: Clusters = None, grouping: Grouping = None) -> Response:
        found = coloured(key, clusters, grouping)
        return PlainJSON({name: part for name, part in found.items() if name != "values"})

    @app.get("/api/colourings/{key}/values")
    def colouring_values(
        key: Key, clusters: Clusters = None, grouping: Grouping = None
    ) -> Response:
        return binary(numbers_bytes(coloured(key, clusters, grouping)["values"]))

    @app.get("/api/records/{row}")
    def record(row: RowInPath, beside: RowBeside = None, whole: bool = False) -> Response:
        other = None if beside is None else checked(beside)
        return PlainJSON(lesson.record(checked(row), other, whole))

    @app.get("/api/records/{row}/image")
    async def image(row: RowInPath, side: Side = LONGEST_SIDE) -> Response:
        found = await room.image(checked(row), side)
        if isinstance(found, str):
            raise HTTPException(404, found)
        content, media_type = found
        return Response(content, media_type=media_type)

    @app.get("/api/records/{row}/neighbors")
    def neighbors(
        row: RowInPath, n: Annotated[int, Query(ge=1, le=_MOST_NEIGHBORS)] = 10
    ) -> Response:
        return PlainJSON(lesson.neighbors(checked(row), n=min(n, max(1, n_rows - 1))))

    @app.get("/api/export/{what}")
    def export(
        what: Literal["pairs", "triplets", "embedding", "clusters", "model", "groups", "grouping"],
        clusters: Clusters = None,
    ) -> Response:
        check_clusters(clusters)
        try:
            name, content = lesson.export(what, n_clusters=clusters)
        except ValueError as error:
            raise HTTPException(409, said(error)) from None
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type="application/octet-stream", headers=headers)


def _add_changes(app: FastAPI, room: Room) -> None:
    """Routes that change what is known."""
    lesson = room.lesson
    n_rows = int(lesson.about()["n_rows"])

    def apply(by: str, status: int, change: Any, *arguments: Any) -> Awaitable[Response]:
        return replies.changed(room, by, status, change, *arguments)

    def check(*rows: int) -> None:
        check_rows(n_rows, *rows)

    @app.post("/api/answers")
    async def answer(body: Answer, by: Tab = "") -> Response:
        check(body.left, body.right)
        told = body.left, body.right, body.same, body.origin, body.before, body.by
        return await apply(by, 422, lesson.answer, *told)

    @app.post("/api/groups")
    async def groups(body: Groups, by: Tab = "") -> Response:
        check(*body.first, *body.second)
        told = body.first, body.second, body.same, body.before, body.by
        return await apply(by, 422, lesson.answer_groups, *told)

    @app.post("/api/withdrawals")
    async def withdraw(body: Withdrawal, by: Tab = "") -> Response:
        check(body.left, body.right)
        return await apply(by, 409, lesson.withdraw, body.left, body.right, body.before)

    @app.post("/api/orders")
    async def order(body: Order, by: Tab = "") -> Response:
        rows = body.anchor, body.closer, body.farther
        check(*rows)
        return await apply(by, 422, lesson.answer_order, *rows)

    @app.post("/api/orders/withdrawals")
    async def withdraw_order(body: Order, by: Tab = "") -> Response:
        rows = body.anchor, body.closer, body.farther
        check(*rows)
        return await apply(by, 409, lesson.withdraw_order, *rows)

    @app.post("/api/undo")
    async def undo(body: Step | None = None, by: Tab = "") -> Response:
        step = body or Step()
        return await apply(by, 409, lesson.undo, step.version, step.step)

    @app.post("/api/redo")
    async def redo(body: Step | None = None, by: Tab = "") -> Response:
        step = body or Step()
        return await apply(by, 409, lesson.redo, step.version, step.step)


def _add_page(app: FastAPI) -> None:
    folder = page_folder()

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        if folder is None:
            return HTMLResponse(page_is_missing(), 503)
        return FileResponse(folder / "index.html", media_type="text/html")

    if folder is not None and (folder / "assets").is_dir():
        app.mount("/assets", StaticFiles(directory=folder / "assets"))
