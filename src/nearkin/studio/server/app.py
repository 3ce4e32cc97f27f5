"""The routes of the studio: what requests ask of a session, and the replies."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from fastapi import FastAPI, HTTPException, Query, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.websockets import WebSocketDisconnect

from nearkin._version import __version__
from nearkin.studio.events import LONGEST_NAME, AnswerConflict
from nearkin.studio.find import Wanted, Where
from nearkin.studio.pictures import LONGEST_SIDE
from nearkin.studio.server.encoding import (
    as_json,
    layout_bytes,
    numbers_bytes,
    page_folder,
    page_is_missing,
)
from nearkin.studio.server.schemas import (
    LARGEST_ROW,
    AimBody,
    AnswerBody,
    Clusters,
    ColumnsToLearnFromBody,
    EntryWithdrawalBody,
    Grouping,
    GroupsBody,
    Key,
    KnownNameBody,
    NamingBody,
    OrderBody,
    RowBeside,
    RowInPath,
    RowsBody,
    SearchBody,
    SelectionBody,
    Side,
    StepBody,
    Tab,
    TwoGroupsBody,
    WhereBody,
    WhichBody,
    WithdrawalBody,
)
from nearkin.studio.server.security import SUBPROTOCOL, Access, Guard, Hosts, log_few_errors
from nearkin.studio.server.session import Mailbox, Replaceable, Room, Told

if TYPE_CHECKING:
    from nearkin.studio.lesson import Lesson


_MOST_TABS = 32
# Seconds that an answer waits for news. A server that ends waits for it too, so it is not long.
_WAITS = 2.0
# Seconds after which a tab that does not ask any more has gone.
_GONE_AFTER = 30.0
# What a WebSocket says where a service is restarted.
_ANOTHER_LESSON = 1012


@dataclass
class _Asking:
    """A tab that asks: its mailbox, and the message that it was sent last, with its number.

    That is sent once more if the tab has not got it.
    """

    mailbox: Mailbox
    number: int = 0
    told: Told = ""
    asked_at: float = field(default_factory=time.monotonic)


def add_live(app: FastAPI, room: Room) -> None:
    """What tabs hear, as it comes."""

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
            while (told := await websocket.receive())["type"] != "websocket.disconnect":
                room.hear(mailbox, told.get("text") or "")
        finally:
            room.leave(mailbox)
            sending.cancel()
            with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
                await sending

    tabs: dict[str, _Asking] = {}

    def forget_who_has_gone() -> None:
        now = time.monotonic()
        for name in [n for n, one in tabs.items() if now - one.asked_at > _GONE_AFTER]:
            room.leave(tabs.pop(name).mailbox)

    @app.get("/api/live/next")
    async def next_message(
        tab: Tab,
        after: Annotated[int, Query(ge=0, le=2**53)] = 0,
        hello: Annotated[str, Query(max_length=1000)] = "",
    ) -> Response:
        forget_who_has_gone()
        if tab not in tabs:
            if len(room.live) >= _MOST_TABS:
                raise HTTPException(429, "Too many tabs are open.")
            tabs[tab] = _Asking(room.live.join())
            await room.greet(tabs[tab].mailbox)
        one = tabs[tab]
        one.asked_at = time.monotonic()
        if hello:
            room.hear(one.mailbox, hello)
        if after >= one.number:
            try:
                async with asyncio.timeout(_WAITS):
                    told = await one.mailbox.next()
            except TimeoutError:
                return Response(status_code=204)
            if told is None:
                raise HTTPException(409, "Another lesson has begun.")
            one.number, one.told = one.number + 1, told
        kind = "application/octet-stream" if isinstance(one.told, bytes) else "application/json"
        number = {"X-Nearkin-Number": str(one.number)}
        return Response(one.told, media_type=kind, headers=number)


async def _send_all(websocket: WebSocket, mailbox: Mailbox) -> None:
    while True:
        told = await mailbox.next()
        if told is None:
            await websocket.close(_ANOTHER_LESSON)
            return
        if isinstance(told, bytes):
            await websocket.send_bytes(told)
        else:
            await websocket.send_text(told)


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


async def changed(room: Room, status: int, change: Any, *arguments: Any) -> Response:
    """Change what is known, and reply the new state, or this status if that is not possible."""
    try:
        return PlainJSON(await room.change(change, *arguments))
    except AnswerConflict:
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


_MOST_LISTED = 500
_LONGEST_SEARCH = 200
# So many answers are in no journal.
_MOST_ANSWERS = 2**31

Start = Annotated[int, Query(ge=0, le=_MOST_ANSWERS)]
Listed = Annotated[int, Query(ge=1, le=_MOST_LISTED)]
Text = Annotated[str, Query(max_length=_LONGEST_SEARCH)]
Who = Annotated[str | None, Query(max_length=LONGEST_NAME)]


def add_answers(app: FastAPI, room: Room) -> None:
    """Add the routes to an app."""
    lesson = room.lesson

    @app.get("/api/answers")
    def answers(
        start: Start = 0,
        n: Listed = 50,
        text: Text = "",
        said: Literal["same", "different", "unsure"] | None = None,
        by: Who = None,
    ) -> Response:
        return PlainJSON(lesson.answers(start, n, text, said, by))

    @app.post("/api/answers/withdrawals")
    async def withdraw(body: EntryWithdrawalBody) -> Response:
        return await changed(room, 409, lesson.withdraw_entry, body.number)


def add_columns(app: FastAPI, room: Room, place: Replaceable) -> None:
    """Add the routes to an app that others can take the place of."""
    lesson = room.lesson

    @app.get("/api/learned-columns")
    def columns() -> Response:
        return PlainJSON(lesson.column_roles())

    @app.post("/api/learned-columns")
    async def learn_from(body: ColumnsToLearnFromBody) -> Response:
        wished = body.columns, body.standardise
        try:
            done = await place.replace(lesson, lambda: lesson.learning_from(*wished))
        except (ValueError, TypeError, OSError) as error:
            raise HTTPException(422, said(error)) from None
        if not done:
            raise HTTPException(409, "Other columns were chosen meanwhile: look at them first.")
        return PlainJSON(place.lesson.column_roles())


# Records of a page of a table.
_MOST_AT_ONCE = 100


def add_finding(app: FastAPI, room: Room) -> None:
    """Add the routes to an app."""
    lesson = room.lesson
    n_rows = int(lesson.about()["n_rows"])

    @app.get("/api/columns")
    def columns() -> Response:
        # Who asks for them is about to look for something.
        return PlainJSON(lesson.columns(), background=BackgroundTask(lesson.prepare_finding))

    @app.post("/api/search")
    def search(body: SearchBody) -> Response:
        check_rows(n_rows, *body.groups)
        try:
            found = lesson.find(_wanted(body))
        except ValueError as error:
            raise HTTPException(422, said(error)) from None
        return binary(matches_bytes(found))

    @app.post("/api/rows")
    def rows(body: RowsBody) -> Response:
        check_rows(n_rows, *body.rows)
        if len(body.rows) > _MOST_AT_ONCE:
            raise HTTPException(422, f"At most {_MOST_AT_ONCE} records are sent at once.")
        return PlainJSON([lesson.record(row) for row in body.rows])

    @app.post("/api/rows/file")
    def rows_file(body: RowsBody) -> Response:
        check_rows(n_rows, *body.rows)
        name, content = lesson.rows_file(body.rows)
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type="application/octet-stream", headers=headers)


def matches_bytes(found: dict[str, Any]) -> bytes:
    """Length of a JSON text, that text (without the matches), and a bit for every row."""
    head = as_json({name: part for name, part in found.items() if name != "matches"}).encode()
    bits = np.packbits(found["matches"], bitorder="little").tobytes()
    return struct.pack("<I", len(head)) + head + bits


def _wanted(body: SearchBody) -> Wanted:
    where = tuple(_where(one) for one in body.where)
    return Wanted(body.text, where, tuple(body.groups), body.doubtful)


def _where(body: WhereBody) -> Where:
    kinds = None if body.kinds is None else tuple(body.kinds)
    return Where(body.key, kinds, body.low, body.high, body.text)


def add_grouping(app: FastAPI, room: Room) -> None:
    """Add the routes to an app."""
    lesson = room.lesson
    n_rows = int(lesson.about()["n_rows"])

    @app.get("/api/grouping")
    def grouping() -> Response:
        found = room.grouping
        return Response(status_code=204) if found is None else PlainJSON(found)

    @app.post("/api/grouping")
    def find() -> Response:
        room.want_groups()
        return Response(status_code=202)

    @app.post("/api/grouping/name")
    async def name(body: NamingBody) -> Response:
        told: tuple[Any, ...] = body.group, body.name, body.grouping
        if "before" in body.model_fields_set:
            told = *told, body.before
        return await changed(room, 409, lesson.name_group, *told)

    @app.post("/api/grouping/one")
    async def one(body: SelectionBody) -> Response:
        check_rows(n_rows, *body.rows)
        told = body.rows, body.grouping, body.before, body.by
        return await changed(room, 409, lesson.say_one_group, *told)

    @app.post("/api/grouping/split")
    async def split(body: SelectionBody) -> Response:
        check_rows(n_rows, *body.rows)
        told = body.rows, body.grouping, body.before, body.by
        return await changed(room, 409, lesson.split_off, *told)

    @app.post("/api/grouping/two")
    async def two(body: TwoGroupsBody) -> Response:
        told = body.first, body.second, body.same, body.grouping, body.before, body.by
        return await changed(room, 409, lesson.say_of_groups, *told)

    @app.post("/api/goal")
    async def goal(body: AimBody) -> Response:
        return await changed(room, 422, lesson.aim, body.goal)


def add_which(app: FastAPI, room: Room) -> None:
    """Add the routes to an app."""
    lesson = room.lesson
    n_rows = int(lesson.about()["n_rows"])

    @app.post("/api/which")
    async def which(body: WhichBody) -> Response:
        check_rows(n_rows, body.left, *body.rows, *(() if body.right is None else (body.right,)))
        told = body.left, body.rows, body.right, body.same, body.origin, body.before, body.by
        return await changed(room, 422, lesson.answer_which, *told)

    @app.post("/api/which/name")
    async def name(body: KnownNameBody) -> Response:
        check_rows(n_rows, body.row)
        return await changed(room, 409, lesson.name_known_group, body.row, body.name)


Row = Annotated[int, Query(ge=0, le=LARGEST_ROW)]


def add_why(app: FastAPI, room: Room) -> None:
    """Add the route to an app."""
    lesson = room.lesson
    n_rows = int(lesson.about()["n_rows"])

    @app.get("/api/why")
    def why(left: Row, right: Row) -> Response:
        check_rows(n_rows, left, right)
        if left == right:
            raise HTTPException(422, "A record is explained beside another one.")
        try:
            return PlainJSON(lesson.why(left, right))
        except ValueError as error:
            raise HTTPException(409, said(error)) from None


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
        title="nearkin.studio",
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

    @app.exception_handler(AnswerConflict)
    async def in_conflict(request: Request, error: AnswerConflict) -> Response:
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

    def apply(status: int, change: Any, *arguments: Any) -> Awaitable[Response]:
        return changed(room, status, change, *arguments)

    def check(*rows: int) -> None:
        check_rows(n_rows, *rows)

    @app.post("/api/answers")
    async def answer(body: AnswerBody) -> Response:
        check(body.left, body.right)
        told = body.left, body.right, body.same, body.origin, body.before, body.by
        return await apply(422, lesson.answer, *told)

    @app.post("/api/groups")
    async def groups(body: GroupsBody) -> Response:
        check(*body.first, *body.second)
        told = body.first, body.second, body.same, body.before, body.by
        return await apply(422, lesson.answer_groups, *told)

    @app.post("/api/withdrawals")
    async def withdraw(body: WithdrawalBody) -> Response:
        check(body.left, body.right)
        return await apply(409, lesson.withdraw, body.left, body.right, body.before)

    @app.post("/api/orders")
    async def order(body: OrderBody) -> Response:
        rows = body.anchor, body.closer, body.farther
        check(*rows)
        return await apply(422, lesson.answer_order, *rows)

    @app.post("/api/orders/withdrawals")
    async def withdraw_order(body: OrderBody) -> Response:
        rows = body.anchor, body.closer, body.farther
        check(*rows)
        return await apply(409, lesson.withdraw_order, *rows)

    @app.post("/api/undo")
    async def undo(body: StepBody | None = None) -> Response:
        return await apply(409, lesson.undo, None if body is None else body.version)

    @app.post("/api/redo")
    async def redo(body: StepBody | None = None) -> Response:
        return await apply(409, lesson.redo, None if body is None else body.version)


def _add_page(app: FastAPI) -> None:
    folder = page_folder()

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        if folder is None:
            return HTMLResponse(page_is_missing(), 503)
        return FileResponse(folder / "index.html", media_type="text/html")

    if folder is not None and (folder / "assets").is_dir():
        app.mount("/assets", StaticFiles(directory=folder / "assets"))
