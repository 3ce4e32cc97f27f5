"""The studio from Python: a handle that shows the page and gives back what was taught."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from nearkin.errors import InputError
from nearkin.messages import notice
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import check_roles
from nearkin.storage.files import StrPath
from nearkin.tables.encoder import TableEncoder
from nearkin.teaching.journal import JournalInUse, OtherData
from nearkin.teaching.journal_place import journals_beside
from nearkin.teaching.jupyter import shell_of_notebook
from nearkin.teaching.kept_answers import suits
from nearkin.teaching.lesson import Lesson
from nearkin.teaching.notebook_cell import cell_of, plain_cell
from nearkin.teaching.packages import check_packages
from nearkin.teaching.places import Place, place_of
from nearkin.teaching.records import Records, records_of
from nearkin.teaching.server.hosts import checked_names
from nearkin.teaching.server.page_files import page_folder, why_no_page
from nearkin.teaching.server.serving import AddressError, Serving
from nearkin.teaching.shown_pairs import among_shown, in_the_data, with_labels


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

    def __init__(self, key: _Key, records: Records, serving: Serving, place: Place) -> None:
        self._show(key, records, serving, place)

    def _show(self, key: _Key, records: Records, serving: Serving, place: Place) -> None:
        self._key, self._place = key, place
        self._records, self._serving = records, serving
        self._closed = False

    @property
    def url(self) -> str:
        """Where the page is, for a browser on this machine."""
        self._refuse_if_closed()
        return self._serving.url

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise InputError(f"{self!r} has no page any more: {_HOW_TO_GO_ON}")

    @property
    def _lesson(self) -> Lesson:
        """The one that is taught now: on the page, other columns can be chosen."""
        return self._serving.lesson

    @property
    def pairs(self) -> Pairs:
        """What is known now, by row numbers of X."""
        records = self._records
        return in_the_data(self._lesson.pairs, records.numbers, records.n_total)

    @property
    def metric(self) -> Any:
        """A copy of what was learned last."""
        return self._lesson.metric

    @property
    def journal(self) -> Path | None:
        """Where answers are kept; None if only in memory."""
        return self._lesson.journal

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the studio is closed, or for some seconds; whether it is closed."""
        return self._serving.wait(seconds)

    def close(self) -> None:
        """End the server. What was taught can still be read, and a new studio begins anew."""
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
        if self._closed:
            return plain_cell(f"{self!r}: {_HOW_TO_GO_ON}")
        if page_folder() is None:
            return plain_cell(*why_no_page())
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
        What is known of rows of X already. Triplets of it are kept in the journal with the answers.
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
        hold. Doubtful pairs of records can be reviewed (needs the extra "records").
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
    more = _by_name(columns)
    classes: list[str] = []
    if labels is not None:
        pairs = with_labels(pairs, labels, seed)
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
        pairs = among_shown(pairs, shown.numbers, "X")
    shell = shell_of_notebook()
    place = place_of(proxy, shell)
    allowed = [*place.hosts, *checked_names(allow_hosts)]

    def opened(path: StrPath | None) -> Studio:
        given = _Given(shown, pairs, standardise, by, seed, port, allowed)
        return _opened(given, path, place)

    if journal is not None:
        return opened(journal or None)
    if shell is None:
        return opened(None)
    for path in journals_beside(shell, X, shown.fingerprint):
        try:
            return opened(path)
        except OtherData:
            continue  # the variable had other rows then
        except JournalInUse:
            if not _is_ours(path):
                raise
        except OSError as error:
            notice(
                f"answers cannot be kept in {path} ({error.strerror or error}): they are in memory "
                "only, until the kernel ends. Name another place with journal=."
            )
            break
    return opened(None)


@dataclass(frozen=True)
class _Given:
    """What a studio is opened with."""

    shown: Records
    pairs: Pairs | None
    standardise: bool | None
    by: str | None
    seed: int
    port: int | None
    allowed: Sequence[str]


def _opened(given: _Given, journal: StrPath | None, place: Place) -> Studio:
    """A studio with its answers in a file or in memory: the one of before, or another."""
    shown = given.shown
    key = shown.fingerprint, None if journal is None else os.path.realpath(journal)
    earlier = _open.get(key) or _to_be_kept(key)
    replaced = _with_the_same_journal(key, shown) if earlier is None else None
    before = earlier or replaced
    if earlier is not None:
        earlier._serving.close()
    if replaced is not None:
        replaced.close()
    lesson = Lesson(
        shown,
        journal=journal,
        pairs=given.pairs,
        entries=() if earlier is None else earlier._lesson.entries,
        standardise=given.standardise,
        by=given.by,
        seed=given.seed,
    )
    try:
        last = None if before is None else before._serving
        serving = _serving(lesson, given.port, last, given.allowed)
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


def _is_ours(journal: Path) -> bool:
    """Whether a studio of this process keeps its answers there."""
    return any(path == os.path.realpath(journal) for _, path in _open)


def _with_the_same_journal(key: _Key, shown: Records) -> Studio | None:
    """A studio whose journal can be gone on with, as when rows or columns were added meanwhile."""
    _, journal = key
    found = next((one for (_, path), one in _open.items() if path and path == journal), None)
    return found if found is not None and suits(str(journal), shown) else None


def _to_be_kept(key: _Key) -> Studio | None:
    """A studio about the same rows whose answers are in memory, if the journal is a new one."""
    fingerprint, journal = key
    is_new = journal is not None and not os.path.exists(journal)
    return _open.get((fingerprint, None)) if is_new else None


def _serving(
    lesson: Lesson, port: int | None, before: Serving | None, allowed: Sequence[str]
) -> Serving:
    """A server, at the address of the one before if there was one and no other is asked for."""
    if before is None:
        return Serving(lesson, port=port, allowed=allowed)
    try:
        return Serving(lesson, port=port or before.port, token=before.token, allowed=allowed)
    except AddressError:  # taken by another program within this moment
        return Serving(lesson, port=port, token=before.token, allowed=allowed)


def _by_name(columns: Any) -> dict[str, Sequence[Any]]:
    """Columns of a mapping or a frame."""
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        return dict(columns)
    import narwhals

    frame = narwhals.from_native(columns, eager_only=True)
    return {str(name): frame[name].to_list() for name in frame.columns}
