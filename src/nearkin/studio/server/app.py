"""The routes of the studio's server: requests to a room, and the replies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from operator import methodcaller
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from fastapi import FastAPI, HTTPException, Query, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.websockets import WebSocketDisconnect

from nearkin._version import __version__
from nearkin.errors import InputError, InputTypeError
from nearkin.studio.events import LONGEST_NAME, AnswerConflict
from nearkin.studio.find import Wanted, Where
from nearkin.studio.pictures import LONGEST_SIDE
from nearkin.studio.reports import Export
from nearkin.studio.server.encoding import (
    as_json,
    encode_layout,
    encode_numbers,
    encode_with,
    make_missing_page,
    page_folder,
)
from nearkin.studio.server.schemas import (
    LARGEST_ROW,
    AnswerBody,
    AskBody,
    ColumnsToLearnFromBody,
    EntryWithdrawalBody,
    GroupNameBody,
    GroupsBody,
    Key,
    RowBeside,
    RowInPath,
    RowsBody,
    SearchBody,
    Side,
    SplitBody,
    StepBody,
    Tab,
    WhichBody,
    WithdrawalBody,
)
from nearkin.studio.server.security import SUBPROTOCOL, Access, Guard, Hosts, log_few_errors
from nearkin.studio.server.session import Mailbox, Message, Room, Sessions

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
    """A tab that polls: its room and mailbox, and its last message with its number.

    That message is sent again if the tab has not received it.
    """

    room: Room
    mailbox: Mailbox
    number: int = 0
    told: Message = ""
    asked_at: float = field(default_factory=time.monotonic)


def add_live(app: FastAPI, sessions: Sessions) -> None:
    """Add the routes by which tabs receive messages: a WebSocket, and polling."""

    @app.websocket("/api/live")
    async def live(websocket: WebSocket) -> None:
        """Exchange messages with a tab until it disconnects."""
        room = sessions.room
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
        """Remove tabs that have not polled for 30 seconds."""
        now = time.monotonic()
        for name in [n for n, one in tabs.items() if now - one.asked_at > _GONE_AFTER]:
            one = tabs.pop(name)
            one.room.leave(one.mailbox)

    @app.get("/api/live/next")
    async def next_message(
        tab: Tab,
        after: Annotated[int, Query(ge=0, le=2**53)] = 0,
        hello: Annotated[str, Query(max_length=1000)] = "",
    ) -> Response:
        """Reply the next message to a tab that polls, or the last one if it was not received."""
        forget_who_has_gone()
        if tab not in tabs:
            room = sessions.room
            if len(room.live) >= _MOST_TABS:
                raise HTTPException(429, "Too many tabs are open.")
            tabs[tab] = _Asking(room, room.live.join())
            await room.greet(tabs[tab].mailbox)
        one = tabs[tab]
        one.asked_at = time.monotonic()
        if hello:
            one.room.hear(one.mailbox, hello)
        if after >= one.number:
            try:
                async with asyncio.timeout(_WAITS):
                    told = await one.mailbox.next()
            except TimeoutError:
                return Response(status_code=204)
            if told is None:
                tabs.pop(tab, None)
                raise HTTPException(409, "Another lesson has begun.")
            one.number, one.told = one.number + 1, told
        kind = "application/octet-stream" if isinstance(one.told, bytes) else "application/json"
        number = {"X-Nearkin-Number": str(one.number)}
        return Response(one.told, media_type=kind, headers=number)


async def _send_all(websocket: WebSocket, mailbox: Mailbox) -> None:
    """Send the messages of a mailbox by a WebSocket until it is to be closed."""
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
    """A reply of plain data as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode the content as JSON."""
        return as_json(content).encode("ascii")


def reply_bytes(content: bytes) -> Response:
    """Make a reply of bytes."""
    return Response(content, media_type="application/octet-stream")


def explain(error: Exception) -> str:
    """Turn an error into a sentence."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}."
    return " ".join(str(error).split()).strip("'\"") or type(error).__name__


@contextmanager
def refused_by(status: int, no_disk: int = 507) -> Iterator[None]:
    """Reply with a status that a block cannot do what is asked, or that no disk can."""
    try:
        yield
    except AnswerConflict:
        raise
    except (ValueError, IndexError, InputTypeError) as error:
        raise HTTPException(status, explain(error)) from None
    except OSError as error:
        raise HTTPException(no_disk, explain(error)) from None


def reply_file(file: tuple[str, bytes]) -> Response:
    """Make a reply of a file to keep, by its name and bytes."""
    name, content = file
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


_MOST_LISTED = 500
_LONGEST_SEARCH = 200
# So many answers are in no journal.
_MOST_ANSWERS = 2**31

Start = Annotated[int, Query(ge=0, le=_MOST_ANSWERS)]
Listed = Annotated[int, Query(ge=1, le=_MOST_LISTED)]
Text = Annotated[str, Query(max_length=_LONGEST_SEARCH)]
Who = Annotated[str | None, Query(max_length=LONGEST_NAME)]


def add_columns(app: FastAPI, sessions: Sessions) -> None:
    """Add the routes for columns to learn from, whose choice replaces the lesson."""

    @app.get("/api/learned-columns")
    def columns() -> Response:
        """Reply which columns are learned from."""
        return PlainJSON(sessions.lesson.column_roles())

    @app.post("/api/learned-columns")
    async def learn_from(body: ColumnsToLearnFromBody) -> Response:
        """Learn from other columns from now on: another lesson takes over."""
        lesson = sessions.lesson
        with refused_by(422, no_disk=422):  # as where the file of the data is gone
            done = await sessions.replace(lesson, lambda: lesson.learning_from(**dict(body)))
        if not done:
            raise HTTPException(409, "Other columns were chosen meanwhile: look at them first.")
        return PlainJSON(sessions.lesson.column_roles())


# Records of a page of a table.
_MOST_AT_ONCE = 100


def add_finding(app: FastAPI, sessions: Sessions) -> None:
    """Add the routes for search, and for tables of selected rows."""

    @app.get("/api/columns")
    def columns() -> Response:
        """Reply the columns to search by, then index texts for the search that will follow."""
        finder = sessions.lesson.finder
        return PlainJSON(finder.columns(), background=BackgroundTask(finder.prepare))

    @app.post("/api/search")
    def search(body: SearchBody) -> Response:
        """Reply which rows meet the conditions of a search."""
        where = tuple(Where(**dict(one)) for one in body.where)
        found = sessions.lesson.find(Wanted(body.text, where, body.groups, body.doubtful))
        bits = np.packbits(found.pop("matches"), bitorder="little").tobytes()
        return reply_bytes(encode_with(found, bits))

    @app.post("/api/rows")
    def rows(body: RowsBody) -> Response:
        """Reply what to show of some rows, at most 100."""
        if len(body.rows) > _MOST_AT_ONCE:
            raise HTTPException(422, f"At most {_MOST_AT_ONCE} records are sent at once.")
        return PlainJSON([sessions.lesson.records.record(row) for row in body.rows])

    @app.post("/api/rows/file")
    def rows_file(body: RowsBody) -> Response:
        """Reply a CSV file of some rows."""
        return reply_file(sessions.lesson.rows_file(body.rows))


Row = Annotated[int, Query(ge=0, le=LARGEST_ROW)]
_MOST_NEIGHBORS = 1000


def make_app(lesson: Lesson, access: Access, hosts: Hosts) -> FastAPI:
    """Make the server's app for a lesson, and for lessons that may replace it.

    Nothing else may change the lesson while the app runs, whose ``state.sessions`` has the one that
    is taught. ``access`` holds the token that every request must have.
    """
    sessions = Sessions(lesson)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        """Open the room at the app's start, and close it at its end."""
        log_few_errors(asyncio.get_running_loop())
        sessions.room.open()
        yield
        await sessions.close()

    app = FastAPI(
        title="nearkin.studio",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        default_response_class=PlainJSON,
    )
    app.state.sessions = sessions
    app.add_middleware(Guard, access=access, hosts=hosts)
    _add_errors(app)
    for add in (_add_looks, _add_changes, add_columns, add_finding, add_live):
        add(app, sessions)
    _add_page(app)
    return app


def _add_errors(app: FastAPI) -> None:
    """Make every error reply one sentence as ``message``."""

    @app.exception_handler(AnyHTTPException)
    async def refused(request: Request, error: AnyHTTPException) -> Response:
        """Reply an error that a route raises on purpose."""
        return PlainJSON({"message": str(error.detail)}, error.status_code, error.headers)

    @app.exception_handler(InputError)
    async def not_possible(request: Request, error: InputError) -> Response:
        """Reply why something cannot be done, where no route has another status for it."""
        return PlainJSON({"message": explain(error)}, 422)

    @app.exception_handler(AnswerConflict)
    async def in_conflict(request: Request, error: AnswerConflict) -> Response:
        """Reply a conflict with another answer, and that answer."""
        return PlainJSON({"message": explain(error), "said": error.said}, 409)

    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> Response:
        """Reply the first error of an invalid request."""
        first = error.errors()[0]  # without the value that it sent
        where = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
        return PlainJSON({"message": f"{where}: {first['msg']}."[:300]}, 422)


def _add_looks(app: FastAPI, sessions: Sessions) -> None:
    """Add the routes that change nothing; they run in threads, since some take long."""
    n_rows = int(sessions.lesson.about()["n_rows"])

    def require_row(row: int) -> int:
        """Return a row number; raise an error of status 404 if there is no such row."""
        if row >= n_rows:
            raise HTTPException(404, f"There is no row {row}: rows are 0 to {n_rows - 1}.")
        return row

    @app.get("/api/lesson")
    def about() -> Response:
        """Reply a description of the data, and the state."""
        about = sessions.lesson.about()
        own = {"state": sessions.lesson.state(), "nearkin": __version__, "run": sessions.room.run}
        return PlainJSON({**about, **own})

    @app.get("/api/layout")
    def layout() -> Response:
        """Reply the coordinates of all rows."""
        return reply_bytes(encode_layout(sessions.lesson.layout()))

    @app.get("/api/known")
    def known() -> Response:
        """Reply all answered pairs."""
        return PlainJSON(sessions.lesson.known())

    @app.get("/api/report")
    def report() -> Response:
        """Reply the last report."""
        found = sessions.room.report
        return Response(status_code=204) if found is None else PlainJSON(found)

    @app.get("/api/review")
    def review() -> Response:
        """Reply the last review of records, and request new ones."""
        if not sessions.lesson.about()["review"]:
            raise HTTPException(404, "There are no records here that are known by words.")
        found = sessions.room.look_at_review()
        return Response(status_code=204) if found is None else PlainJSON(found)

    def colour_rows(key: str) -> dict[str, Any]:
        """Return a colouring; raise an error of status 404 if there is none."""
        with refused_by(404):
            return sessions.lesson.looks.colouring(key)

    @app.get("/api/colourings/{key}")
    def colouring(key: Key) -> Response:
        """Reply the legend of a colouring."""
        found = colour_rows(key)
        return PlainJSON({name: part for name, part in found.items() if name != "values"})

    @app.get("/api/colourings/{key}/values")
    def colouring_values(key: Key) -> Response:
        """Reply the colour values of all rows."""
        return reply_bytes(encode_numbers(colour_rows(key)["values"]))

    @app.get("/api/answers")
    def answers(
        start: Start = 0,
        n: Listed = 50,
        text: Text = "",
        said: Literal["same", "different", "unsure"] | None = None,
        by: Who = None,
    ) -> Response:
        """Reply answers of the list, see :meth:`Lesson.answers`."""
        return PlainJSON(sessions.lesson.answers(start, n, text, said, by))

    @app.get("/api/groups")
    def groups() -> Response:
        """Reply the groups, then the number of each row's."""
        found = sessions.lesson.groups()
        numbers = encode_numbers(found.pop("values"))
        return reply_bytes(encode_with(found, numbers))

    @app.get("/api/why")
    def why(left: Row, right: Row) -> Response:
        """Reply an explanation of the distance of two rows."""
        if left == right:
            raise HTTPException(422, "A record is explained beside another one.")
        return PlainJSON(sessions.lesson.why(left, right))

    @app.get("/api/records/{row}")
    def record(row: RowInPath, beside: RowBeside = None, whole: bool = False) -> Response:
        """Reply what to show of a row."""
        other = None if beside is None else require_row(beside)
        return PlainJSON(sessions.lesson.records.record(require_row(row), other, whole))

    @app.get("/api/records/{row}/image")
    async def image(row: RowInPath, side: Side = LONGEST_SIDE) -> Response:
        """Reply a row's picture."""
        found = await sessions.room.image(require_row(row), side)
        if isinstance(found, str):
            raise HTTPException(404, found)
        content, media_type = found
        return Response(content, media_type=media_type)

    @app.get("/api/records/{row}/neighbors")
    def neighbors(
        row: RowInPath, n: Annotated[int, Query(ge=1, le=_MOST_NEIGHBORS)] = 10
    ) -> Response:
        """Reply the rows nearest to a row."""
        return PlainJSON(sessions.lesson.neighbors(require_row(row), n))

    @app.get("/api/export/{what}")
    def export(what: Export) -> Response:
        """Reply an exported file."""
        with refused_by(409):
            return reply_file(sessions.lesson.export(what))


def _add_changes(app: FastAPI, sessions: Sessions) -> None:
    """Add the routes that change answers: each body has the arguments of a method of the lesson."""

    async def apply(body: BaseModel, change: str, refused: int) -> Response:
        """Apply a change, and reply the new state, or an error of the status ``refused``."""
        with refused_by(refused):
            return PlainJSON(await sessions.room.change(methodcaller(change, **dict(body))))

    @app.post("/api/answers")
    async def answer(body: AnswerBody) -> Response:
        """Record the answer to a pair."""
        return await apply(body, "answer", 422)

    @app.post("/api/which")
    async def which(body: WhichBody) -> Response:
        """Record which of some rows a row is like."""
        return await apply(body, "answer_which", 422)

    @app.post("/api/groups")
    async def say(body: GroupsBody) -> Response:
        """Record that two groups of rows are the same, or differ."""
        return await apply(body, "answer_groups", 422)

    @app.post("/api/groups/split")
    async def split(body: SplitBody) -> Response:
        """Record that some rows are the same, and differ from some others."""
        return await apply(body, "split_off", 422)

    @app.post("/api/ask")
    async def ask(body: AskBody) -> Response:
        """Choose what is asked, and in which words."""
        return await apply(body, "ask", 422)

    @app.post("/api/groups/name")
    async def name(body: GroupNameBody) -> Response:
        """Name the group that answers have put a row in."""
        return await apply(body, "name_group", 409)

    @app.post("/api/withdrawals")
    async def withdraw(body: WithdrawalBody) -> Response:
        """Withdraw the answer to a pair."""
        return await apply(body, "withdraw", 409)

    @app.post("/api/answers/withdrawals")
    async def withdraw_entry(body: EntryWithdrawalBody) -> Response:
        """Withdraw all answers of an entry."""
        return await apply(body, "withdraw_entry", 409)

    @app.post("/api/undo")
    async def undo(body: StepBody = StepBody()) -> Response:  # noqa: B008
        """Undo the last change."""
        return await apply(body, "undo", 409)

    @app.post("/api/redo")
    async def redo(body: StepBody = StepBody()) -> Response:  # noqa: B008
        """Redo the change that was undone last."""
        return await apply(body, "redo", 409)


def _add_page(app: FastAPI) -> None:
    """Add the routes of the page, its scripts and its styles."""
    folder = page_folder()

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        """Reply the page, or why there is none."""
        if folder is None:
            return HTMLResponse(make_missing_page(), 503)
        return FileResponse(folder / "index.html", media_type="text/html")

    if folder is not None and (folder / "assets").is_dir():
        app.mount("/assets", StaticFiles(directory=folder / "assets"))
