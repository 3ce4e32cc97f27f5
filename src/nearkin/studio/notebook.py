"""The studio from Python: a handle that shows the page and gives back what was taught."""

from __future__ import annotations

import html
import json
import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError, explain_missing_package
from nearkin.messages import notice
from nearkin.pairs.labels import number_classes
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import check_roles
from nearkin.storage.files import StrPath
from nearkin.studio.journal import JournalInUse, OtherData, is_about
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import StudioRecords, records_of, to_columns
from nearkin.studio.server.encoding import page_folder, paragraphs, why_no_page
from nearkin.studio.server.security import ANY_NAME, check_names
from nearkin.studio.server.serving import AddressError, Serving
from nearkin.tables.encoder import TableEncoder

# Milliseconds until a page that has not come is said not to come. It can still come later.
PATIENCE_MS = 6000
# What the page tells the cell that shows it, see page/src/framed.ts.
GREETING = "nearkin studio is here"

_SCRIPT = """
<script>
(() => {
  const cell = document.getElementById("NAME");
  if (!cell) return;
  const frame = cell.querySelector("iframe");
  const help = cell.querySelector("details");
  const show = (isHere) => { frame.hidden = !isHere; help.open = !isHere; help.hidden = isHere; };
  const timer = setTimeout(() => show(false), PATIENCE);
  addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow || event.data !== "GREETING") return;
    clearTimeout(timer);
    show(true);
  });
})();
</script>
"""


def cell_of(url: str, remedy: str, *, note: str = "", patience_ms: int = PATIENCE_MS) -> str:
    """Make the HTML of a notebook's cell that shows the page in a frame.

    ``remedy``, what to do if the page does not come, is shown in its place after a while; without
    scripts it can be unfolded. ``note`` is beside the link to the page.
    """
    name = f"nearkin-{secrets.token_hex(6)}"
    address = html.escape(url, quote=True)
    said = f" {html.escape(note)}" if note else ""
    script = (
        _SCRIPT.replace("NAME", name)
        .replace("PATIENCE", str(patience_ms))
        .replace("GREETING", GREETING)
    )
    return (
        f'<div id="{name}">'
        f'<p><a href="{address}" target="_blank" rel="noopener">nearkin studio in a tab of its own'
        f"</a>{said}</p>"
        f"<details><summary>No page here? The browser does not reach the studio.</summary>"
        f"<p>{html.escape(remedy)}</p></details>"
        f'<iframe src="{address}" title="nearkin studio" width="100%" height="720" '
        'style="border: 0" allow="clipboard-write"></iframe>'
        f"</div>{script}"
    )


# Seconds that a server on the same machine has to say what it knows.
_PATIENCE = 2.0


def shell_of_notebook() -> Any | None:
    """Return IPython's shell if this process is the kernel of a notebook, else None."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if hasattr(shell, "kernel") else None


def is_shown_by_vscode(shell: Any, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether VS Code shows the notebook, wherever the kernel runs."""
    return "__vsc_ipynb_file__" in shell.user_ns or "-jvsc-" in environ.get("JPY_SESSION_NAME", "")


def notebook_file(shell: Any, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Find the file of the running notebook, as VS Code or Jupyter names it; None if unknown."""
    told = shell.user_ns.get("__vsc_ipynb_file__") or environ.get("JPY_SESSION_NAME", "")
    name, found, _ = str(told).partition(".ipynb")
    if not found:
        return None
    path = Path(f"{name}.ipynb")
    if not path.is_absolute():
        path = Path(str(running_server(environ).get("root_dir", "."))) / path
    return path.absolute() if path.parent.is_dir() else None


def running_server(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Read what the Jupyter server that started this kernel wrote in its file; empty if nothing."""
    number = environ.get("JPY_PARENT_PID", "")
    if not number.isdecimal():
        return {}
    try:
        from jupyter_core.paths import jupyter_runtime_dir
    except ImportError:
        return {}
    with suppress(OSError, ValueError):
        path = Path(jupyter_runtime_dir()) / f"jpserver-{number}.json"
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def has_server_proxy(server: Mapping[str, Any]) -> bool:
    """Whether a Jupyter server passes requests on to other ports, by jupyter-server-proxy.

    A page of that extension is requested without credentials: the server asks for these if it has
    the page.
    """
    try:
        address = urlsplit(f"{server.get('url', '')}server-proxy/servers-info")
        kind = {"http": HTTPConnection, "https": HTTPSConnection}.get(address.scheme)
        if kind is None:
            return False
        with closing(kind(address.netloc, timeout=_PATIENCE)) as connection:
            connection.request("GET", address.path)
            status = connection.getresponse().status
    except (OSError, ValueError, HTTPException):  # no answer, or one that is no HTTP
        return False
    return status < 300 or status in (301, 302, 303, 307, 401, 403)


_DIRECTLY = "http://127.0.0.1:{port}/"
_FORWARD = (
    "If the notebook runs on another machine, forward the port to yours, as in ssh -L "
    "{port}:127.0.0.1:{port} MACHINE"
)
_RUN_AGAIN = "If the kernel was restarted or the studio closed, run the cell again."
# Where the browser shows what a codespace has.
_CODESPACES = ("*.github.dev", "*.vscode-cdn.net")


@dataclass(frozen=True)
class Place:
    """Where a notebook is shown, and how its browser reaches a port of this machine."""

    # Address with ``{port}`` in it. It begins with a slash if it is on the server that shows the
    # notebook, whose name only the browser knows.
    address: str = _DIRECTLY
    # Host names that requests may have beside those of this machine; ``*`` if unknown.
    hosts: tuple[str, ...] = ()
    # What to do if the page does not come, with ``{port}``.
    remedy: str = f"{_RUN_AGAIN} {_FORWARD}."

    def url(self, port: int, token: str) -> str:
        """Address of the page for the browser."""
        return f"{self.address.replace('{port}', str(port))}?token={token}"

    def what_to_do(self, port: int) -> str:
        """What to do if the page of this port does not come."""
        return self.remedy.replace("{port}", str(port))


class InColab(Place):
    """A notebook in Colab, whose browser has an address of its own for each port."""

    def url(self, port: int, token: str) -> str:
        """Address of the page for the browser, which Colab is asked for."""
        from google.colab.output import eval_js

        found = str(eval_js(f"google.colab.kernel.proxyPort({port})"))
        return f"{found.rstrip('/')}/?token={token}"


def place_of(proxy: str | None, shell: Any, environ: Mapping[str, str] = os.environ) -> Place:
    """Find out where a page is shown, by the user's ``proxy`` or the environment.

    ``shell`` is IPython's, or None where this is no notebook.
    """
    if proxy is not None:
        return _place_by_user(proxy)
    if shell is None:
        return Place()
    if "google.colab" in sys.modules:
        return InColab(hosts=(ANY_NAME,), remedy=_RUN_AGAIN)
    if is_shown_by_vscode(shell, environ):
        return _place_in_vscode(environ)
    return _place_in_jupyter(environ)


def _place_by_user(proxy: str) -> Place:
    """Make the place of an address with ``{port}``; raise if it is none."""
    if "{port}" not in proxy or not proxy.startswith(("http://", "https://", "/")):
        raise InputError(
            f"proxy={proxy!r:.200}: give an address with {{port}} in it, such as "
            "'https://hub.example.org/user/me/proxy/{port}/', or the part of it from the first / "
            "on if the notebook is on the same host."
        )
    address = proxy if proxy.endswith("/") else f"{proxy}/"
    name = urlsplit(address.replace("{port}", "0")).hostname
    if name is None:
        hosts = (ANY_NAME,)
    elif "{port}" in urlsplit(address).netloc and "." in name:  # a name for each port
        hosts = (f"*.{name.partition('.')[2]}",)
    else:
        hosts = (name,)
    return Place(address, hosts, f"{_RUN_AGAIN} See whether proxy={proxy!r} is right.")


def _place_in_vscode(environ: Mapping[str, str]) -> Place:
    """Make the place for VS Code, code-server or a codespace."""
    here = ("localhost", "127.0.0.1")
    remedy = (
        f"{_RUN_AGAIN} If it runs on another machine: in the Ports view of VS Code, choose Forward "
        "a Port, {port}, and run the cell again."
    )
    template = environ.get("VSCODE_PROXY_URI", "")
    if template.startswith("http") and "{{host}}" not in template:  # of code-server
        return _place_by_user(template.replace("{{port}}", "{port}"))
    name = environ.get("CODESPACE_NAME")
    domain = environ.get("GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN")
    if name and domain:
        hosts = (*here, f"*.{domain}", *_CODESPACES)
        return Place(f"https://{name}-{{port}}.{domain}/", hosts, remedy)
    return Place(hosts=here, remedy=remedy)


def _place_in_jupyter(environ: Mapping[str, str]) -> Place:
    """Make the place for Jupyter or JupyterHub, with jupyter-server-proxy or without."""
    server = running_server(environ)
    prefix = environ.get("JUPYTERHUB_SERVICE_PREFIX")
    base = prefix or str(server.get("base_url", "/"))
    if not base.endswith("/"):
        base += "/"
    proxied = f"{base}proxy/{{port}}/"
    if has_server_proxy(server):
        return Place(proxied, (ANY_NAME,), _RUN_AGAIN)
    install = (
        "install jupyter-server-proxy where Jupyter runs, restart Jupyter, and run the cell again"
    )
    if prefix:  # whatever there is, nothing but a proxy leads from a hub to this machine
        return Place(
            proxied,
            (ANY_NAME,),
            f"{_RUN_AGAIN} Through JupyterHub the page needs jupyter-server-proxy: {install}.",
        )
    return Place(remedy=f"{_RUN_AGAIN} {_FORWARD}, or {install}.")


# Pairs that are drawn from labels: enough to learn from, few enough to be drawn as lines.
MOST_OF_LABELS = 500


def add_labels(pairs: Pairs | None, labels: Any, seed: int) -> Pairs:
    """Add pairs drawn from class labels, at most 500, to pairs.

    >>> add_labels(None, ["a", "a", None, "b"], seed=0)
    Pairs(1 must-link, 2 cannot-links, n_rows=4)
    """
    n_labelled = int((number_classes(labels) >= 0).sum())
    n_pairs = MOST_OF_LABELS if n_labelled * (n_labelled - 1) // 2 > MOST_OF_LABELS else None
    drawn = Pairs.from_labels(labels, n_pairs, random_state=seed)
    return drawn if pairs is None else pairs + drawn


def to_shown_rows(pairs: Pairs, numbers: NDArray[np.int64], source: str) -> Pairs:
    """Convert pairs from row numbers of the data to positions among the rows shown.

    ``numbers`` are those rows' numbers, increasing; ``source`` is the data's name for an error.

    >>> to_shown_rows(Pairs([(2, 8)]), np.array([0, 2, 5, 8]), "X").must_link
    array([[1, 3]])
    """
    places = np.minimum(np.searchsorted(numbers, pairs.points), len(numbers) - 1)
    outside = pairs.points[numbers[places] != pairs.points]
    if len(outside):
        raise InputError(
            f"row {outside[0]} of {source} is named in pairs, but it is not among the "
            f"{len(numbers)} rows that are shown."
        )
    return _renumber_rows(pairs, lambda rows: np.searchsorted(numbers, rows), len(numbers))


def to_data_rows(pairs: Pairs, numbers: NDArray[np.int64], n_total: int) -> Pairs:
    """Convert pairs from positions among the rows shown to row numbers of the data.

    >>> to_data_rows(Pairs([(1, 3)]), np.array([0, 2, 5, 8]), 10).must_link
    array([[2, 8]])
    """
    return _renumber_rows(pairs, lambda places: numbers[places], n_total)


def _renumber_rows(pairs: Pairs, function: Any, n_rows: int) -> Pairs:
    """Replace the row numbers of pairs and triplets by ``function`` of them."""
    return Pairs(
        function(pairs.must_link),
        function(pairs.cannot_link),
        must_weight=pairs.must_weight,
        cannot_weight=pairs.cannot_weight,
        closer=function(pairs.closer),
        closer_weight=pairs.closer_weight,
        n_rows=n_rows,
    )


_PACKAGES = ("fastapi", "uvicorn", "websockets", "PIL", "pyarrow", "rapidfuzz")


def check_packages() -> None:
    """Raise an ImportError that says what to install if a package of the studio is missing."""
    for name in _PACKAGES:
        with explain_missing_package(f"the studio needs more packages ({name})", "studio"):
            import_module(name)


# Names that IPython gives to what cells have shown.
_NOT_THE_USERS = re.compile(r"_.*|In|Out|exit|quit")


def journals_beside(
    shell: Any, X: Any, fingerprint: str, environ: Mapping[str, str] = os.environ
) -> Iterator[Path]:
    """Yield files for the answers about X, to be tried in turn until one has no other data.

    They are beside the notebook, or in the working directory if its file is unknown, and are named
    after notebook and variable, so that a cell that is run again finds its answers; with a hash of
    the data if X is in no variable.
    """
    notebook = notebook_file(shell, environ)
    folder = Path.cwd() if notebook is None else notebook.parent
    parts = [] if notebook is None else [notebook.stem]
    parts.append(_find_variable(shell, X) or f"rows-{fingerprint[:8]}")
    for number in count(1):
        more = "" if number == 1 else f"-{number}"
        yield folder / f"{'.'.join(parts)}{more}.answers.jsonl"


def _find_variable(shell: Any, X: Any) -> str | None:
    """Name of the first of the user's variables that holds X; None if there is none."""
    named = (name for name, value in shell.user_ns.items() if value is X)
    return next((name for name in named if not _NOT_THE_USERS.fullmatch(name)), None)


class Studio:
    """A studio that runs beside your program; :func:`nearkin.studio` makes one.

    As the last value of a notebook's cell it shows the page. The server ends with :meth:`close`, at
    the end of a ``with`` block, or with the process.

    Attributes
    ----------
    url : str
        Where the page is, for a browser on this machine.
    pairs : Pairs
        What is known now: pairs given at the start and answers, by row numbers of X.
    metric : learner
        A copy of what was learned last.
    journal : Path or None
        Where answers are kept; None if only in memory.
    """

    def __init__(self, key: _Key, records: StudioRecords, serving: Serving, place: Place) -> None:
        self._show(key, records, serving, place)

    def _show(self, key: _Key, records: StudioRecords, serving: Serving, place: Place) -> None:
        """Make this handle show another server, as when a cell is run again."""
        self._key, self._place = key, place
        self._records, self._serving = records, serving
        self._closed = False

    @property
    def url(self) -> str:
        """Address of the page, for a browser on this machine."""
        self._refuse_if_closed()
        return self._serving.url

    def _refuse_if_closed(self) -> None:
        """Raise InputError if the studio is closed."""
        if self._closed:
            raise InputError(f"{self!r} has no page any more: {_HOW_TO_GO_ON}")

    @property
    def _lesson(self) -> Lesson:
        """The lesson that is taught now, which changes if other columns are chosen on the page."""
        return self._serving.lesson

    @property
    def pairs(self) -> Pairs:
        """Pairs given at the start and answers, by row numbers of X."""
        records = self._records
        return to_data_rows(self._lesson.pairs, records.numbers, records.n_total)

    @property
    def metric(self) -> Any:
        """A copy of the metric learned from all answers."""
        return self._lesson.metric

    @property
    def journal(self) -> Path | None:
        """The file of answers; None if they are only in memory."""
        return self._lesson.journal

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the studio is closed, or for some seconds; return whether it is closed."""
        return self._serving.wait(seconds)

    def close(self) -> None:
        """End the server. Pairs and metric can still be read; the next studio begins anew."""
        self._closed = True
        if _open.get(self._key) is self:
            del _open[self._key]
        self._serving.close()

    def __enter__(self) -> Self:
        self._refuse_if_closed()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        n_answers = self._lesson.state()["n_answers"]
        where = "closed" if self._closed else self.url
        return f"Studio({self._records.source}, {n_answers} answers, {where})"

    def _repr_html_(self) -> str:
        """Return the HTML by which a notebook shows the page."""
        if self._closed:
            return paragraphs(f"{self!r}: {_HOW_TO_GO_ON}")
        if page_folder() is None:
            return paragraphs(*why_no_page())
        port, kept = self._serving.port, self.journal
        return cell_of(
            self._place.url(port, self._serving.token),
            self._place.what_to_do(port),
            note="" if kept is None else f"Answers are kept in {kept.name}.",
        )


_HOW_TO_GO_ON = (
    "nk.studio(...) opens another, which goes on with what is in the journal. What was taught is "
    "still in pairs and metric."
)
# What a studio is about, and the file that its answers are kept in.
_Key = tuple[str, str | None]
# Those of this process, so that a cell that is run again goes on with what was answered.
_open: dict[_Key, Studio] = {}


def studio(
    X: Any,
    pairs: Pairs | None = None,
    *,
    labels: Any = None,
    ids: Any = None,
    columns: Mapping[str, Sequence[Any]] | Any = None,
    images: str | tuple[int, int] | None = None,
    folder: StrPath = ".",
    learn_from: Sequence[str] | None = None,
    records: bool | TableEncoder | None = None,
    journal: StrPath | Literal[False] | None = None,
    standardise: bool | None = None,
    by: str | None = None,
    seed: int = 0,
    port: int | None = None,
    proxy: str | None = None,
    allow_hosts: Sequence[str] = (),
) -> Studio:
    """Teach a metric in a browser or a notebook: answer "same or different?", see points move.

    Needs the extra "studio".

    Parameters
    ----------
    X : array of shape (n, d), or frame of pandas, polars or pyarrow
        The column of vectors of a frame is learned from, or else its numbers, texts and dates, with
        their gaps. Columns that name or count rows (``id``, ``index``), look like classes
        (``label``, ``target``, a few words beside numbers) or say yes or no are set aside. The page
        says so, and can change it.
    pairs : Pairs, optional
        What is known of rows of X already. It is not kept in the journal: give it again next time.
    labels : array-like of shape (n,), optional
        Classes, as far as they are known (-1 or None if not): up to 500 pairs of them count as
        known, and points can be coloured by them.
    ids : sequence or str, optional
        What to call rows, or the column that says so.
    columns : mapping or frame, optional
        More to show and to colour by, n values by each name.
    images : str or (int, int), optional
        The column that names a picture's file for each row, or height and width if the numbers of
        X are pixels.
    folder : path, default="."
        Where these files are.
    learn_from : sequence of str, optional
        Columns of a frame to learn from, whatever they are called and hold.
    records : bool or TableEncoder, optional
        Whether a frame is one of records, such as people: all its columns are learned from, words
        too. By default that is so where it has no numbers but codes. An encoder says what columns
        hold. Doubtful pairs of records can be reviewed.
    journal : path or False, optional
        Where each answer is kept at once. If it is there, you go on from it. Without: in a file
        beside the notebook, named after it and after the variable X; in memory only, until the
        program ends, where this is no notebook, or with False.
    standardise : bool, optional
        Bring all columns to one scale first. By default where their units differ by more than 100.
    by : str, optional
        Who answers, unless another name is given on the page.
    seed : int, default=0
        The same seed asks the same questions.
    port : int, optional
        Without: 8765, or the next one free.
    proxy : str, optional
        Where the browser finds a port of this machine, such as
        ``"https://hub.example.org/user/me/proxy/{port}/"``. Without, that is found out in
        JupyterLab and JupyterHub with jupyter-server-proxy, VS Code, code-server and Colab.
    allow_hosts : sequence of str
        Names of other proxies that may pass requests on, such as ``"hub.example.org"`` or
        ``"*.example.org"``.

    Returns
    -------
    Studio
        With ``pairs`` and ``metric``, at any time. The page is only served to this machine, and
        through the proxy that shows the notebook to who has its address.

    Notes
    -----
    Called again for the same rows, as when a notebook's cell is run again, it goes on with what was
    answered: it gives the same handle, at the same address, with the other arguments as they are
    now. If rows have come or gone, or columns, it goes on from the same journal, and the handle of
    before is closed. ``close`` ends that: the next studio begins anew, or from its journal.

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_xor(60, random_state=0)
    >>> with nk.studio(X, nk.Pairs(must_link=[(0, 1)]), port=0) as handle:
    ...     address = handle.url  # or show the handle in a notebook
    >>> handle.pairs
    Pairs(1 must-link, 0 cannot-links, n_rows=60)
    """
    check_packages()
    check_roles(labels, pairs, triplets=True)
    more = to_columns(columns)
    classes: list[str] = []
    if labels is not None:
        pairs = add_labels(pairs, labels, seed)
        name = getattr(labels, "name", None)
        classes = [name if isinstance(name, str) else "label"]
        more.setdefault(classes[0], list(labels))
    shown = records_of(
        X,
        ids,
        more,
        images,
        folder=folder,
        source="the rows of X",
        classes=classes,
        learn_from=learn_from,
        of_words=records,
        keep=() if pairs is None else pairs.points,
        seed=seed,
    )
    if pairs is not None:
        pairs.check_rows(shown.n_total)
        pairs = to_shown_rows(pairs, shown.numbers, "X")
    shell = shell_of_notebook()
    place = place_of(proxy, shell)
    allowed = [*place.hosts, *check_names(allow_hosts)]
    options = {"pairs": pairs, "standardise": standardise, "by": by, "seed": seed}
    open_with = partial(_open_studio, shown, place, port, allowed, options)
    if journal is not None:
        return open_with(journal or None)
    if shell is None:
        return open_with(None)
    for path in journals_beside(shell, X, shown.fingerprint):
        try:
            return open_with(path)
        except OtherData:
            continue  # the variable had other rows then
        except JournalInUse:
            if os.path.realpath(path) not in [other for _, other in _open]:
                raise
        except OSError as error:
            notice(
                f"answers cannot be kept in {path} ({error.strerror or error}): they are in memory "
                "only, until the kernel ends. Name another place with journal=."
            )
            break
    return open_with(None)


def _open_studio(
    shown: StudioRecords,
    place: Place,
    port: int | None,
    allowed: Sequence[str],
    options: Mapping[str, Any],
    journal: StrPath | None,
) -> Studio:
    """Open a studio, going on with an open one about the same rows or with the same journal.

    ``options`` are arguments of :class:`Lesson`; without a journal answers are in memory.
    """
    path = None if journal is None else os.path.realpath(journal)
    key = shown.fingerprint, path
    earlier = _open.get(key)
    if earlier is None and path is not None and not os.path.exists(path):
        earlier = _open.get((shown.fingerprint, None))  # whose answers are in memory
    replaced = _find_same_journal(key, shown) if earlier is None else None
    before = earlier or replaced
    if earlier is not None:
        earlier._serving.close()
    if replaced is not None:
        replaced.close()
    events = () if earlier is None else earlier._lesson.events
    lesson = Lesson(shown, journal=journal, events=events, **options)
    try:
        last = None if before is None else before._serving
        serving = _serving(lesson, port, last, allowed)
        serving.start()
    except BaseException:
        lesson.close()
        raise
    if earlier is None:
        found = Studio(key, shown, serving, place)
    else:
        found = _open.pop(earlier._key)
        found._show(key, shown, serving, place)
    _open[key] = found
    return found


def _find_same_journal(key: _Key, shown: StudioRecords) -> Studio | None:
    """Find the open studio with this journal, if that can hold answers about these rows too."""
    _, journal = key
    found = next((one for (_, path), one in _open.items() if path and path == journal), None)
    return found if found is not None and is_about(str(journal), shown) else None


def _serving(
    lesson: Lesson, port: int | None, before: Serving | None, allowed: Sequence[str]
) -> Serving:
    """Make a server, at the address of the one before unless another port is asked for."""
    token = None if before is None else before.token
    if before is not None and not port:
        with suppress(AddressError):  # taken by another program within this moment
            return Serving(lesson, port=before.port, token=token, allowed=allowed)
    return Serving(lesson, port=port, token=token, allowed=allowed)
