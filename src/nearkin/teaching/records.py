"""What there is to look at: rows of numbers, and all that a person may want to see of them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearkin._types import Floats, Ints
from nearkin.errors import InputError
from nearkin.storage.files import StrPath
from nearkin.tables.choice import ColumnChoice, only, said_of_choice
from nearkin.tables.encoder import TableEncoder
from nearkin.tables.reading import cells_of, some_cells
from nearkin.tables.roles import hardly_features, sentence
from nearkin.teaching.identity import Identity, have_same_cells, identity_of
from nearkin.teaching.record_fields import Fields, in_short, is_missing
from nearkin.teaching.record_sources import encoded, parts_of
from nearkin.teaching.thumbnails import (
    LONGEST_SIDE,
    FilePictures,
    Image,
    Pictures,
    PixelPictures,
)

# Rows that are shown at most; of more, a sample is.
MOST_SHOWN = 200_000
# Names of features that are told.
MOST_NAMES = 200


@dataclass(frozen=True, eq=False)
class Records:
    """Rows, and what there is to show of them.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Finite numbers, in float32 or float64: what is learned from.
    features : list of str
        Names of its columns.
    ids : sequence
        What a person calls each row: ids, or row numbers of the file.
    columns : mapping of str to sequence
        What else there is to show or to colour by. None is an empty cell.
    source : str
        Name of the file or of the data, for people.
    n_total : int
        Rows of the file: more than n if X is a sample.
    numbers : int ndarray of shape (n,)
        Row numbers in the file, increasing.
    pictures : Pictures or None
    hidden : frozenset of str
        Columns to colour by that a record does not show, since they would give the answer away.
    id_name : str
        What the ids are called.
    named : bool
        Whether the names of the features are the data's own, not made up.
    notes : tuple of str
        What is to be said of the data, such as which columns are learned from.
    remembered : dict
        Other attributes that a metric is to keep, so that it can read files like this one.
    compared : tuple of str
        Columns and features that tell whether two records are the same thing.
    are_things : bool
        Whether rows are records such as people, known by words: of these "same" means the same
        thing.
    is_vector : bool
        Whether X is a column of vectors, whose numbers have one unit.
    choice : ColumnChoice or None
        Which columns there are to learn from, if they have names.
    told_apart_by : Identity or None
        What tells records apart in any order; by default the ids, unless they are row numbers, and
        the features.
    """

    X: Floats
    features: list[str]
    ids: Sequence[Any]
    columns: Mapping[str, Sequence[Any]]
    source: str
    n_total: int
    numbers: Ints
    pictures: Pictures | None = None
    hidden: frozenset[str] = frozenset()
    id_name: str = "row"
    named: bool = False
    notes: tuple[str, ...] = ()
    remembered: Mapping[str, Any] = field(default_factory=dict)
    compared: tuple[str, ...] = ()
    told_apart_by: Identity | None = None
    are_things: bool = False
    is_vector: bool = False
    choice: ColumnChoice | None = None

    def __post_init__(self) -> None:
        n = len(self.X)
        if n < 2:
            raise InputError(f"a pair takes two rows, but {self.source} has {n}.")
        if self.X.shape[1] == 0:
            raise InputError(
                f"{self.source} has no numeric columns: there is nothing to measure distances by."
            )
        _check_finite(self.X, self.features, self.numbers, self.source)
        lengths = {"ids": len(self.ids), "numbers": len(self.numbers)}
        lengths |= {f"column {name!r}": len(column) for name, column in self.columns.items()}
        for name, length in lengths.items():
            if length != n:
                raise InputError(f"X has {n} rows, but {name} has {length}.")

    def __len__(self) -> int:
        return len(self.X)

    def record(self, row: int, beside: int | None = None, whole: bool = False) -> dict[str, Any]:
        """What to show of a row: columns first, then features, for every row the same ones.

        Parameters
        ----------
        row : int
        beside : int, optional
            Another row that it is shown with: it is marked what differs.
        whole : bool, default=False
            Whether all of long texts is shown, up to 200 000 characters.

        Returns
        -------
        dict
            ``row``, ``id``, ``image`` (whether there may be one) and ``fields``, each with
            ``name``, ``value`` (a text) and ``cut`` (whether that is only the beginning). Those
            that differ from the other row's have ``parts``: texts, with whether each of them does
            (and ``marked``, where that is known of so many characters only). Amounts have ``rank``,
            the share of all rows that are below.
        """
        row = self.checked_row(row)
        other = None if beside is None else self.checked_row(beside)
        fields = self.fields.of(row, other, whole)
        name = in_short(self.ids, row)
        return {"row": row, "id": name, "fields": fields, "image": self.pictures is not None}

    @cached_property
    def fields(self) -> Fields:
        """What is shown of them."""
        return Fields(self)

    @property
    def encoder(self) -> TableEncoder | None:
        """What has made X of the columns, if they are of words: these say it better then."""
        return self.remembered.get("table_")

    @property
    def of_words(self) -> bool:
        """Whether X is made of words."""
        return self.encoder is not None

    @property
    def learned_from(self) -> list[str]:
        """What X is made of: columns of words, or its own."""
        return [*self.compared] if self.of_words else self.features

    def to_compare(self) -> dict[str, list[Any]]:
        """The cells that tell whether two records are the same thing, by the names of columns."""
        numbers = {name: j for j, name in enumerate(self.features)}
        return {
            name: list(self.columns[name])
            if name in self.columns
            else self.X[:, numbers[name]].tolist()
            for name in self.compared
        }

    def image(self, row: int, side: int = LONGEST_SIDE) -> Image | None:
        """Bytes and media type of a picture of at most so many pixels, or None."""
        row = self.checked_row(row)
        return None if self.pictures is None else self.pictures.image(row, side)

    def picture_problem(self, row: int) -> str:
        """Why a row has no picture."""
        row = self.checked_row(row)
        return "There are no pictures." if self.pictures is None else self.pictures.problem(row)

    def checked_row(self, row: int) -> int:
        """A row number that is there, or an error."""
        if not 0 <= row < len(self):
            raise InputError(f"there is no row {row}: rows are numbered from 0 to {len(self) - 1}.")
        return int(row)

    @cached_property
    def ids_differ(self) -> bool:
        """Whether every row has an id of its own."""
        return len({str(one) for one in self.ids}) == len(self)

    @cached_property
    def identity(self) -> Identity:
        """What tells these records apart, whatever their order and the columns learned from."""
        if self.told_apart_by is not None:
            return self.told_apart_by
        ids = None if self.id_name == "row" else self.ids
        return identity_of({}, {}, len(self), ids, matrix=self.X)

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of X, ids and names: answers about these records hold for no others.

        Of words it is that of the cells, since encoders may come to differ in the last digits.
        """
        digest = hashlib.sha256()
        texts: list[Any] = [*self.features, *self.ids]
        if self.of_words:
            digest.update(f"{len(self)} {self.n_total}".encode())
            cells = chain(*self.to_compare().values())
            texts = [*self.compared, *self.ids, *("" if is_missing(c) else c for c in cells)]
        else:
            digest.update(f"{self.X.shape} {self.X.dtype.name} {self.n_total}".encode())
            digest.update(np.ascontiguousarray(self.X).data)
        digest.update(np.ascontiguousarray(self.numbers, dtype=np.int64).data)
        for text in map(str, texts):
            digest.update(f"{len(text)} {text}".encode(errors="surrogatepass"))
        return digest.hexdigest()[:32]


def sample_numbers(
    n_rows: int, most: int = MOST_SHOWN, seed: int = 0, keep: ArrayLike = ()
) -> Ints:
    """Numbers of the rows to show: all, or one at random of each of ``most`` equal stretches.

    Parameters
    ----------
    n_rows : int
    most : int
    seed : int
    keep : row numbers
        Shown in any case, beside those.

    Returns
    -------
    int ndarray
        Increasing.

    Examples
    --------
    >>> from nearkin.teaching.records import sample_numbers
    >>> sample_numbers(4).tolist()
    [0, 1, 2, 3]
    >>> len(sample_numbers(5_000_000, most=1000))
    1000
    """
    if n_rows <= most:
        return np.arange(n_rows)
    edges = np.arange(most + 1) * n_rows // most
    drawn = np.random.RandomState(seed).randint(edges[:-1], edges[1:], dtype=np.int64)
    numbers = np.union1d(drawn, np.asarray(keep, dtype=np.int64))
    if not 0 <= numbers[0] <= numbers[-1] < n_rows:
        outside = numbers[0] if numbers[0] < 0 else numbers[-1]
        raise InputError(f"row {outside} is to be shown, but there are {n_rows} rows.")
    return numbers


def records_of(
    X: Any,
    ids: Sequence[Any] | None = None,
    columns: Mapping[str, Sequence[Any]] | Any = None,
    images: str | tuple[int, int] | None = None,
    *,
    folder: StrPath = ".",
    source: str = "the data",
    hidden: Sequence[str] = (),
    classes: Sequence[str] = (),
    learn_from: Sequence[str] | None = None,
    of_words: bool | TableEncoder | None = None,
    most: int = MOST_SHOWN,
    keep: ArrayLike = (),
    seed: int = 0,
) -> Records:
    """Records of an array or a frame.

    Parameters
    ----------
    X : array of shape (n, d), or frame of pandas, polars or pyarrow
        The column of vectors of a frame is learned from, or else its numbers, texts and dates; see
        :func:`nearkin.tables.choice.roles_by_cells`. All columns but vectors are shown.
    ids : sequence or str, optional
        What to call each row, or the column of the frame that says so; row numbers by default.
    columns : mapping or frame, optional
        More to show and to colour by: a sequence of n values by each name.
    images : str or (int, int), optional
        The column that names a picture's file for each row, or height and width if the numbers of
        X are pixels.
    folder : path, default="."
        Where picture files are. None outside it is read.
    source : str
        What the data are called.
    hidden : sequence of str
        Columns to colour by that are not shown with a question.
    classes : sequence of str
        Columns that say what kind of thing rows are: nothing by which records are compared.
    learn_from : sequence of str, optional
        Columns of the frame to learn from, whatever they are called.
    of_words : bool or TableEncoder, optional
        Whether the frame is one of records: all its columns are learned from, words too, by an
        encoder such as this one. By default that is so where it has no numbers but codes. False
        learns from numbers alone.
    most : int, default=200_000
        Rows that are shown. Of more, a sample is.
    keep : row numbers
        That are in the sample in any case: those that are named in pairs.
    seed : int, default=0
        Draws the sample.

    Returns
    -------
    Records

    Raises
    ------
    ValueError, TypeError
        If there are no numbers, fewer than two rows, or a number is missing or infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.teaching.records import records_of
    >>> records = records_of(np.eye(3), columns={"name": ["a", "b", "c"]})
    >>> records.record(1)["fields"][0]
    {'name': 'name', 'value': 'b', 'cut': False}
    """
    more = _as_columns(columns)
    aside = [*more, *([ids] if isinstance(ids, str) else [])]
    told = of_words if isinstance(of_words, bool | None) else True
    parts = parts_of(X, source, learn_from, aside, told)
    given, features, others = parts.X, parts.features, {**parts.others, **more}
    id_name, called = "row", ids
    if isinstance(ids, str):
        if ids not in others:
            raise InputError(f"ids={ids!r}: {source} has no such column.")
        id_name, ids = ids, _plain_ids(others.pop(ids))
    n_total = parts.n_rows
    numbers = sample_numbers(n_total, most, seed, keep)
    named_ids = numbers.tolist() if ids is None else list(ids)
    for name, values in {"ids": named_ids if ids is not None else None, **others}.items():
        if values is not None and len(values) != n_total:
            raise InputError(f"X has {n_total} rows, but {name} has {len(values)}.")
    if n_total > len(numbers):
        given = None if given is None else given[numbers]
        others = {name: some_cells(values, numbers.tolist()) for name, values in others.items()}
        named_ids = named_ids if ids is None else some_cells(named_ids, numbers.tolist())
    own_ids = None if ids is None else named_ids
    if parts.frame is None:
        identity = identity_of({}, {}, len(numbers), own_ids, given)
    else:
        in_frame = isinstance(called, str) and called in parts.frame.kinds
        identity = parts.frame.identity(numbers, called if in_frame else own_ids)
    roles, words, notes = parts.roles, parts.words, list[str]()
    remembered: dict[str, Any] = {}
    if given is None and parts.frame is not None:
        whole = parts.frame.columns
        cells = {
            name: others[name]
            if name in others
            else some_cells(cells_of(whole[name]), numbers.tolist())
            for name in words
        }
        given, encoder, notes = encoded(cells, None if isinstance(of_words, bool) else of_words)
        features, remembered = encoder.get_feature_names_out().tolist(), {"table_": encoder}
        words = tuple(name for name in words if name in encoder.columns_)
        roles = None if roles is None else only(roles, words)
    choice = None
    if roles is not None and parts.frame is not None:
        notes = [sentence(roles), *notes]
        if learn_from is not None:
            notes += said_of_choice(roles.learned)
        reopened = partial(
            records_of,
            X,
            called,
            columns,
            images,
            folder=folder,
            source=source,
            hidden=hidden,
            classes=classes,
            most=most,
            keep=keep,
            seed=seed,
        )
        kinds = parts.frame.kinds
        first: dict[str, Any] = dict(others)
        if parts.named and given is not None:
            first |= {name: given[:, j] for j, name in enumerate(features)}
        choice = ColumnChoice(
            kinds,
            roles.learned,
            roles.left_out,
            {called: "ids"} if isinstance(called, str) else {},
            lambda names: _if_unchanged(first, reopened(learn_from=names), kinds),
        )
    assert given is not None  # only frames have words
    pictures: Pictures | None = None
    if isinstance(images, str):
        if images not in others:
            raise InputError(f"images={images!r}: {source} has no such column of texts.")
        pictures = FilePictures(others[images], folder)
    elif images is not None:
        pictures = PixelPictures(given, images)
    named = features if parts.named else []
    telling = words or tuple(
        telling_columns([*others, *named], {*hidden, *classes, *([images] if pictures else [])})
    )
    return Records(
        given,
        features,
        named_ids,
        others,
        source,
        n_total,
        numbers,
        pictures,
        frozenset(hidden),
        id_name,
        parts.named,
        tuple(notes),
        remembered,
        telling,
        identity,
        parts.are_things,
        parts.is_vector,
        choice,
    )


def _if_unchanged(first: Mapping[str, Any], found: Records, kinds: Mapping[str, str]) -> Records:
    """Records of a frame, unless that is another one by now than it was at first."""
    own = found.features if found.named else []
    cells = {**{name: found.X[:, j] for j, name in enumerate(own)}, **found.columns}
    lengths = {len(column) for column in (*first.values(), *cells.values())}
    if len(lengths) > 1 or not have_same_cells(first, cells, kinds):
        raise InputError("the frame has changed since the studio was opened: open it anew.")
    return found


def telling_columns(names: Sequence[str], aside: Collection[Any] = ()) -> list[str]:
    """Columns by which records may be known: not those that name rows or look like classes.

    Examples
    --------
    >>> from nearkin.teaching.records import telling_columns
    >>> telling_columns(["id", "name", "town", "label", "photo"], ["photo"])
    ['name', 'town']
    """
    left_out = hardly_features(dict.fromkeys(names, "number"))
    return [name for name in names if name not in left_out and name not in aside]


def records_of_digits() -> Records:
    """Scikit-learn's digits: 1797 pictures of 8 × 8 pixels, and which digit each is, hidden.

    Examples
    --------
    >>> from nearkin.teaching.records import records_of_digits
    >>> records_of_digits().X.shape
    (1797, 64)
    """
    from sklearn.datasets import load_digits

    data = load_digits()
    return records_of(
        data.data,
        columns={"digit": data.target.tolist()},
        images=(8, 8),
        source="digits",
        hidden=["digit"],
    )


def _as_columns(columns: Any) -> dict[str, Sequence[Any]]:
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        import narwhals as nw

        frame = nw.from_native(columns, eager_only=True)
        return {str(name): frame[name].to_list() for name in frame.columns}
    return {str(name): list(values) for name, values in columns.items()}


def _plain_ids(values: Sequence[Any]) -> list[Any]:
    """Whole numbers without a decimal point."""
    return [int(v) if isinstance(v, float) and v.is_integer() else v for v in values]


def _check_finite(X: Floats, names: Sequence[str], numbers: Ints, source: str) -> None:
    bad = ~np.isfinite(X)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"row {numbers[row]}, column {names[column]!r} of {source} is {X[row, column]}: fill "
            "or drop rows with missing numbers first."
        )
    largest = np.abs(X).max(axis=0)
    column = int(largest.argmax())
    # Squares of distances must be numbers too.
    if largest[column] > np.sqrt(np.finfo(X.dtype).max) / 1000:
        raise InputError(
            f"column {names[column]!r} of {source} has numbers as large as {largest[column]:.3g}, "
            "too large to measure distances by: scale it first."
        )
