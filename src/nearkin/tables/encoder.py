"""TableEncoder, which makes rows of numbers of tables, and the encoders of its columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context, clone
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils import Tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats
from nearkin.errors import InputError, InputTypeError, counted, few
from nearkin.messages import mute_categories
from nearkin.rows.backends import evenly_spaced
from nearkin.rows.parallel import split_range
from nearkin.rows.scaling import column_spreads
from nearkin.storage.schema import (
    Spec,
    a,
    dict_of,
    floats,
    list_of,
    many,
    maybe,
    one_word_of,
    positive,
    real,
    size,
    stored,
    text,
    truth,
    whole,
    words,
)
from nearkin.tables.choice import combine_words, find_swappable, name_both
from nearkin.tables.reading import (
    KINDS,
    LARGEST,
    MOST_CATEGORIES,
    ORDERS,
    READINGS,
    Column,
    Kind,
    Order,
    RawColumn,
    Reading,
    TableWarning,
    find_missing,
    first_cell_text,
    read_column,
    read_table,
    recognise_kinds,
)

# Numbers so many spreads from the middle are as far away as numbers can be.
_FAR = 5.0
# Beyond so many spreads nothing is told apart any more, and squares stay finite.
_FARTHEST = 1e6
# What rounding leaves of the variance of a column that is constant.
_NO_VARIANCE = 1e-20
# Pieces of words fall into so many classes. Each coordinate keeps a number for all of them.
N_PIECES = 2**12
# Lengths of the pieces.
_LENGTHS = (1, 3)
# Texts that are taken apart at a time.
_TEXTS = 2**14
# Days that dates have, in years -700 to 4700.
_MOST_DAYS = 1e6
# Means and spreads of months and days of a month.
_MONTH, _DAY_OF_MONTH = (6.5, 3.45), (15.73, 8.8)
# Rows that tell how a column is encoded, at most.
MOST_ROWS = 20_000
# How far a missing cell lies from all others, where two random cells have a distance of √2.
_APART = 0.5
_NOT_IN_CODES = re.compile(r"[\W_]+")


@stored(middle=real, spread=positive)
@dataclass(frozen=True)
class NumberScale:
    """Scale numbers by median and spread, and squash outliers."""

    middle: float
    spread: float
    names: tuple[str, ...] = ("",)

    @classmethod
    def fit(cls, values: Floats) -> NumberScale:
        """Find median and spread; outliers count little."""
        finite = values[np.isfinite(values)]
        if not len(finite):
            return cls(0.0, 1.0)
        finite = np.clip(finite, -LARGEST, LARGEST)
        spread = float(column_spreads(finite[:, None])[0])
        return cls(float(np.median(finite)), spread if 0 < spread < np.inf else 1.0)

    def apply(self, values: Floats) -> Floats:
        """Coordinates (n, 1) of numbers, between -5 and 5, of infinite ones too."""
        with np.errstate(over="ignore"):
            z = np.clip(
                (np.nan_to_num(values, nan=self.middle) - self.middle) / self.spread,
                -_FARTHEST,
                _FARTHEST,
            )
        return np.asarray(z / np.sqrt(1 + (z / _FAR) ** 2))[:, None]


@stored(days=a("NumberScale"), years=a("NumberScale"))
@dataclass(frozen=True)
class DateParts:
    """Encode dates as days, year, month and day: a typing error changes one of these."""

    days: NumberScale
    years: NumberScale
    names: tuple[str, ...] = (" in days", " year", " month", " day")

    @classmethod
    def fit(cls, values: Floats) -> DateParts:
        """Find median and spread of days since 1970, and of years."""
        values = values[np.isfinite(values)]
        return cls(NumberScale.fit(values), NumberScale.fit(_split_dates(values)[0]))

    def apply(self, values: Floats) -> Floats:
        """Coordinates (n, 4) of days since 1970."""
        year, month, day = _split_dates(values)
        return np.column_stack(
            [
                self.days.apply(values),
                self.years.apply(year),
                (month - _MONTH[0]) / _MONTH[1],
                (day - _DAY_OF_MONTH[0]) / _DAY_OF_MONTH[1],
            ]
        )


def _split_dates(days: Floats) -> tuple[Floats, Floats, Floats]:
    """Year, month and day of the month, (n,) each, of days since 1970."""
    whole = np.floor(np.clip(np.nan_to_num(days), -_MOST_DAYS, _MOST_DAYS)).astype(np.int64)
    date = whole.astype("datetime64[D]")
    month = date.astype("datetime64[M]")
    year = date.astype("datetime64[Y]")
    return (
        year.astype(np.int64) + 1970.0,
        (month - year).astype(np.int64) + 1.0,
        (date - month).astype(np.int64) + 1.0,
    )


@stored(values=words("k"))
@dataclass(frozen=True)
class Categories:
    """One-hot encoding: a coordinate for each frequent value, and one for all others."""

    values: NDArray[Any]

    @classmethod
    def fit(cls, texts: NDArray[Any]) -> Categories:
        """Find the values, at most the 50 most frequent."""
        counts = Counter(text for text in texts if text is not None)
        order = sorted(counts, key=lambda value: (-counts[value], value))
        return cls(np.array(order[:MOST_CATEGORIES], dtype=object))

    def apply(self, texts: NDArray[Any]) -> Floats:
        """Coordinates (n, k + 1): 1 for the value of a cell, 0 elsewhere."""
        places = {value: j for j, value in enumerate(self.values)}
        found = np.zeros((len(texts), len(places) + 1))
        at = np.array([places.get(text, len(places)) for text in texts], dtype=np.int64)
        found[np.arange(len(texts)), at] = 1
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Suffixes of the coordinates' names: the values."""
        return tuple(f"={value}" for value in [*self.values, "other"])


@stored()
@dataclass(frozen=True)
class YesOrNo:
    """Encode yes as 1 and no as 0."""

    names: tuple[str, ...] = ("",)

    def apply(self, texts: NDArray[Any]) -> Floats:
        """Coordinates (n, 1)."""
        return np.array([[float(text == "yes")] for text in texts]).reshape(-1, 1)


@stored(rarity=floats("h"), axes=floats("q h"), ignores_signs=whole)
@dataclass(frozen=True, eq=False)
class Pieces:
    """Encode words by their n-grams of one to three characters, along the leading axes of these.

    n-grams are weighed by rarity (TF-IDF) and hashed, so that no text is stored.
    """

    rarity: Floats  # of each class of n-grams, (h,)
    axes: Floats  # (q, h)
    ignores_signs: int = 0  # 1 if only letters and digits count, as in codes

    @classmethod
    def fit(cls, texts: NDArray[Any], n_axes: int, *, ignores_signs: bool) -> Pieces:
        """Find the rarity of n-grams in these texts, and at most ``n_axes`` leading axes."""
        counts = Counter(text for text in texts if text is not None)
        flag = int(ignores_signs)
        counted = _count_ngrams(list(counts), flag)
        times = np.array(list(counts.values()), dtype=np.float64)
        n_texts = times.sum()
        # Pieces that no text has get the rarity of those that one has.
        in_texts = np.maximum(times @ (counted != 0), 1.0)
        rarity = np.log((1 + n_texts) / (1 + in_texts)) + 1
        weighed = normalize(counted.multiply(rarity).tocsr())
        q = max(1, min(n_axes, len(counts) - 1))
        repeated = weighed.multiply(np.sqrt(times)[:, None]).tocsr()
        axes = randomized_svd(repeated, q, n_iter=5, random_state=0)[2]
        return cls(rarity, axes, flag)

    def apply(self, texts: NDArray[Any]) -> Floats:
        """Coordinates (n, q) of texts along the axes."""

        def along(some: list[str]) -> Floats:
            weighed = normalize(
                _count_ngrams(some, self.ignores_signs).multiply(self.rarity).tocsr()
            )
            return np.asarray(weighed @ self.axes.T)

        return _map_unique_texts(along, texts)

    @property
    def names(self) -> tuple[str, ...]:
        """Suffixes of the coordinates' names: numbers."""
        return _number_names(len(self.axes))


def _count_ngrams(texts: list[str], ignores_signs: int) -> Any:
    """Signed counts (n, h), sparse, of hashed n-grams in texts."""
    if ignores_signs:
        texts = [_NOT_IN_CODES.sub("", text) or text for text in texts]
    hashing = HashingVectorizer(
        analyzer="char" if ignores_signs else "char_wb",
        ngram_range=_LENGTHS,
        n_features=N_PIECES,
        norm=None,
        lowercase=False,
    )
    return hashing.transform(texts)


_ANYTHING = Spec("an encoder of texts", lambda value, _: True)


@stored(encoder=_ANYTHING, width=whole)
@dataclass(frozen=True, eq=False)
class OwnTexts:
    """Encode texts by the user's encoder."""

    encoder: Any  # a callable, or a fitted transformer
    width: int  # how many numbers it makes of a text

    @classmethod
    def fit(cls, texts: NDArray[Any], encoder: Any) -> OwnTexts:
        """Fit the encoder to these texts, if it can be fitted, and see its width."""
        known = list(dict.fromkeys(text for text in texts if text is not None))
        if hasattr(encoder, "transform"):
            encoder = clone(encoder, safe=False).fit(known)
        return cls(encoder, _apply_encoder(encoder, known[:1]).shape[1])

    def apply(self, texts: NDArray[Any]) -> Floats:
        """Coordinates (n, q) of texts; equal texts are encoded once."""

        def numbers(some: list[str]) -> Floats:
            found = _apply_encoder(self.encoder, some)
            if found.shape[1] != self.width:
                raise InputError(
                    f"text_encoder gives {found.shape[1]} numbers, but gave {self.width} in fit."
                )
            return found

        return _map_unique_texts(numbers, texts)

    @property
    def names(self) -> tuple[str, ...]:
        """Suffixes of the coordinates' names: numbers."""
        return _number_names(self.width)


def _apply_encoder(encoder: Any, texts: list[str]) -> Floats:
    """Result (n, q) of the user's encoder for texts, checked."""
    made = encoder.transform(texts) if hasattr(encoder, "transform") else encoder(texts)
    found = np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)
    if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
        raise InputError(
            f"text_encoder must give a finite array of shape ({len(texts)}, q) for {len(texts)} "
            f"texts; it gave one of shape {found.shape}."
        )
    return found


def _map_unique_texts(function: Callable[[list[str]], Floats], texts: NDArray[Any]) -> Floats:
    """Apply a function once to each different text, and repeat its results for equal ones."""
    places: dict[Any, int] = {}
    at = np.array([places.setdefault(text or "", len(places)) for text in texts], dtype=np.int64)
    unique = list(places)
    parts = [function(unique[part]) for part in split_range(len(unique), _TEXTS)]
    return np.asarray(np.concatenate(parts)[at])


@stored(width=whole)
@dataclass(frozen=True)
class Vectors:
    """Take vectors as they are."""

    width: int

    def apply(self, values: Floats) -> Floats:
        """The vectors (n, q), with 0 for missing ones."""
        if np.isnan(values).all():
            return np.zeros((len(values), self.width))
        if values.shape[1] != self.width:
            raise InputError(f"vectors of {values.shape[1]} numbers; in fit they had {self.width}.")
        return np.nan_to_num(values)

    @property
    def names(self) -> tuple[str, ...]:
        """Suffixes of the coordinates' names: numbers."""
        return _number_names(self.width)


def _number_names(width: int) -> tuple[str, ...]:
    """Suffixes " 0", " 1" and so on for names of coordinates."""
    return tuple(f" {j}" for j in range(width))


Encoder: TypeAlias = NumberScale | DateParts | Categories | YesOrNo | Pieces | OwnTexts | Vectors
ENCODER = a("NumberScale", "DateParts", "Categories", "YesOrNo", "Pieces", "OwnTexts", "Vectors")


@stored(
    name=text,
    kind=one_word_of(*KINDS),
    order=maybe(one_word_of(*READINGS)),
    encoder=ENCODER,
    middle=floats("w"),
    factor=real,
    marks_missing=truth,
)
@dataclass(frozen=True, eq=False)
class ColumnCode:
    """Encoding of one column, or of two combined."""

    name: str
    kind: Kind
    order: Reading | None  # in which dates, or numbers, that are texts are read
    encoder: Encoder
    middle: Floats  # mean of the encoder's coordinates, subtracted; missing cells lie there
    factor: float  # multiplies coordinates, so that present cells have the wanted total variance
    marks_missing: bool  # whether a coordinate says that the cell is missing

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""
        missing = [" is missing"] if self.marks_missing else []
        return [f"{self.name}{one}" for one in [*self.encoder.names, *missing]]

    def apply(self, cells: RawColumn) -> Floats:
        """Coordinates of cells, of shape (n, w), or (n, w + 1) with that of missing ones."""
        column = read_column(cells, self.kind, self.order)
        missing = find_missing(column)
        try:
            found = (self.encoder.apply(column.values) - self.middle) * self.factor
        except InputError as error:
            raise InputError(f"column {self.name!r}: {error}") from None
        found[missing] = 0
        if self.marks_missing:
            found = np.column_stack([found, np.where(missing, _APART, 0.0)])
        return found


@stored(
    n_features_in_=size("d"),
    feature_names_in_=maybe(words("d")),
    kinds_=dict_of(one_word_of(*KINDS)),
    codes_=list_of(a("ColumnCode")),
    swapped_=list_of(many(text)),
)
class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table with words, dates and missing cells as rows of numbers.

    What columns hold is recognised by their names and cells, or stated. Every column has the same
    say in distances between the rows that it gives, whatever it holds.

    Parameters
    ----------
    kinds : dict or None, default=None
        What columns hold, by name, where it is not to be guessed: ``"number"``, ``"date"``,
        ``"yes or no"``, ``"category"``, ``"name"`` (a short text), ``"text"``, ``"code"`` (such as
        phone numbers and postcodes), ``"vector"`` or ``"ignored"``.
    dates : {"day first", "month first", "year first"} or None, default=None
        How dates such as 3/4/2024 are read. By default as the other dates of the column say.
    n_components : int, default=30
        Coordinates of a column of names, codes or texts, at most.
    text_encoder : callable, transformer or dict, default=None
        Makes numbers of names and texts: a function from a list of texts to an array with a row for
        each, or an object with ``fit`` and ``transform``. A dict has one for each column that it
        names, and other columns are encoded as ever. Texts are in lower case. A model with a
        function, or with a transformer that :mod:`nearkin.storage` does not know, cannot be saved.

    Attributes
    ----------
    kinds_ : dict
        What each column holds; ``"ignored"`` are ids, by name or because they count rows, and
        columns with one value only.
    codes_ : list of ColumnCode
        How each of ``columns_`` is encoded, and then what pairs of ``swapped_`` have together.
    swapped_ : list of (str, str)
        Columns of names that have words in common, as given names and surnames do.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Columns of the table; not there if it was an array.

    Warns
    -----
    TableWarning
        If day and month of all dates of a column could be exchanged, or cells are not of the kind
        that their column is: these count as missing.

    Notes
    -----
    Numbers are less their median and divided by their spread, and those far out are held near the
    others. Of dates there are days, year, month and day. Categories have a coordinate for each of
    the 50 most frequent values, and one for all others. Names, codes and texts are taken apart into
    pieces of one to three characters, of which rare ones count more (TF-IDF), and seen along the
    leading axes of these (truncated SVD). The pieces are told apart by a hash, so that no text is
    kept. Of longer texts the first 4000 characters count.

    People swap cells of columns that hold the same words. What two such columns of names hold
    together, in any order, has coordinates of its own, in a group that is called
    ``"given and family"``, with half of the say of either: two records with these cells exchanged
    are alike there, and learners weigh it.

    A missing cell lies in the middle of its column, and a coordinate says that it is missing, if
    there were any in ``fit``. So rows of nothing but gaps are fine.

    Columns are known by name: others may be there in ``transform``, and in another order. Values
    that were not there in ``fit`` are fine.

    20 000 rows, evenly spaced, tell how columns are encoded; one column is read at a time. Memory:
    the result, the texts of one column, and h = 4096 numbers for each of its axes.

    Examples
    --------
    >>> from nearkin import TableEncoder
    >>> people = {"name": ["Ada", "Bob", "Adah", "Rob"], "paid": ["yes", "no", "yes", None]}
    >>> encoder = TableEncoder().fit(people)
    >>> encoder.kinds_
    {'name': 'name', 'paid': 'yes or no'}
    >>> encoder.transform({"paid": ["no"], "name": ["Bobby"]}).shape
    (1, 5)
    >>> encoder.get_feature_names_out().tolist()[-2:]
    ['paid', 'paid is missing']
    >>> TableEncoder().fit_transform(people).shape
    (4, 5)

    Of a part of a table, whose first row is number 4 in messages; and in two steps:

    >>> encoder.coordinates({"name": ["Eve"], "paid": ["no"]}, first_row=4).shape
    (1, 5)
    >>> columns = encoder.known_cells({**people, "more": [1, 2, 3, 4]})
    >>> list(columns), encoder.coordinates_of(columns).shape
    (['name', 'paid'], (4, 5))
    >>> encoder.cells({"name": ["Eve"], "paid": [None]})
    {'name': 'eve', 'paid': ''}
    """

    def __init__(
        self,
        *,
        kinds: Mapping[str, str] | None = None,
        dates: Order | None = None,
        n_components: int = 30,
        text_encoder: Any = None,
    ) -> None:
        self.kinds = kinds
        self.dates = dates
        self.n_components = n_components
        self.text_encoder = text_encoder

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kinds": [dict, None],
        "dates": [StrOptions(set(ORDERS)), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "text_encoder": [callable, HasMethods(["fit", "transform"]), dict, None],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Recognise what columns hold, and fit their encodings.

        Parameters
        ----------
        X : data frame of pandas, polars or pyarrow, dict of lists, or array of shape (n, d)
        y : ignored
        """
        del y
        table = read_table(X)
        if not table:
            raise InputError(
                f"0 feature(s) (shape={np.shape(X)}) while a minimum of 1 is required: the table "
                "has no columns."
            )
        if len(table[0]) < 2:
            raise InputError(
                f"the table has {counted(len(table[0]), 'row')} (n_samples = {len(table[0])}), but "
                "at least 2 are needed to tell what columns hold."
            )
        kinds = recognise_kinds(table, self.kinds, self.dates)
        own = self._find_own_encoders(kinds)
        used = [cells for cells in table if kinds[cells.name] != "ignored"]
        if not used:
            raise InputError(
                "no column of the table tells rows apart: all are ids, empty, or hold one value. "
                f"State what they hold if that is wrong: kinds={{{table[0].name!r}: 'code'}}."
            )
        columns = [read_column(cells, kinds[cells.name], self.dates) for cells in used]
        names = [column for column in columns if column.kind == "name"]
        swapped = [(names[a].name, names[b].name) for a, b in find_swappable(names)]
        # Each column has a say of 1 in all, of which its pairs have as much each as it has alone.
        often = Counter(name for pair in swapped for name in pair)
        say = {cells.name: 1 / (1 + often[cells.name]) for cells in used}
        codes = [
            self._fit_code(cells, column, say[cells.name], own.get(cells.name))
            for cells, column in zip(used, columns, strict=True)
        ]
        by_name = {cells.name: cells for cells in used}
        for left, right in swapped:
            both = combine_words(by_name[left], by_name[right])
            codes.append(self._fit_code(both, read_column(both, "name"), say[left] + say[right]))
        self.n_features_in_ = len(table)
        self.__dict__.pop("feature_names_in_", None)
        if not isinstance(X, np.ndarray):
            self.feature_names_in_ = np.array([cells.name for cells in table], dtype=object)
        self.kinds_, self.codes_, self.swapped_ = kinds, codes, swapped
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Floats:
        """Fit, and return the encoded rows (n, p)."""
        del fit_params
        self.fit(X, y)
        with mute_categories(TableWarning):  # of which fit has a word
            return self.transform(X)

    def transform(self, X: Any) -> Floats:
        """Encode a table as rows of numbers.

        Parameters
        ----------
        X : data frame, dict of lists or array
            With the columns that ``fit`` learned from, by name; in an array, all by their place.

        Returns
        -------
        ndarray of shape (n, p)
            In float64, and finite.
        """
        return self.coordinates(X)

    def coordinates(self, X: Any, first_row: int = 0) -> Floats:
        """Encode a part of a table as rows (n, p); messages number rows from ``first_row`` on."""
        known = self.known_cells(X).items()
        return self.coordinates_of(
            {name: replace(cells, first_row=first_row) for name, cells in known}
        )

    def known_cells(self, X: Any) -> dict[str, RawColumn]:
        """Read the columns of a table that are encoded, by name."""
        check_is_fitted(self)
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {X.shape[1]} features, but TableEncoder is expecting "
                f"{self.n_features_in_} features as input, the columns of its table."
            )
        names = getattr(self, "feature_names_in_", None)
        table = read_table(X, wanted=set(self.columns_), names=names)
        found = {cells.name: cells for cells in table}
        absent = [name for name in self.columns_ if name not in found]
        if absent:
            raise InputError(
                f"the table has no column {few(map(repr, absent))}, which TableEncoder was fitted "
                "to. A column of missing cells will do, such as None in all rows."
            )
        return found

    def coordinates_of(self, table: Mapping[str, RawColumn]) -> Floats:
        """Encode columns by name, as :meth:`known_cells` returns them, as rows (n, p)."""
        both = {name_both(a, b): combine_words(table[a], table[b]) for a, b in self.swapped_}
        cells = {**table, **both}
        return np.hstack([code.apply(cells[code.name]) for code in self.codes_])

    def cells(self, X: Any) -> dict[str, str]:
        """Texts of the cells in the first row of a table, by column; empty where one is missing."""
        return {name: first_cell_text(cells) for name, cells in self.known_cells(X).items()}

    @property
    def held_(self) -> dict[str, str]:
        """What each column holds, and how its dates or numbers were read where they are texts."""
        orders = {code.name: code.order for code in self.codes_ if code.order}
        return {
            name: kind + (f", {orders[name]}" if name in orders else "")
            for name, kind in self.kinds_.items()
        }

    @property
    def columns_of_words_(self) -> list[str]:
        """Names of columns that hold names or texts."""
        kinds = {code.name: code.kind for code in self.codes_}
        return [name for name in self.columns_ if kinds[name] in ("name", "text")]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names (p,) of the coordinates, each beginning with that of its column."""
        check_is_fitted(self)
        return np.array([name for code in self.codes_ for name in code.names], dtype=object)

    @property
    def columns_(self) -> list[str]:
        """Names of the columns that are encoded."""
        return [code.name for code in self.codes_[: len(self.codes_) - len(self.swapped_)]]

    @property
    def groups_(self) -> NDArray[Any]:
        """Name (p,) of the column, or of the two, that each coordinate comes from."""
        of_each = [[code.name] * len(code.names) for code in self.codes_]
        return np.array([name for names in of_each for name in names], dtype=object)

    def _fit_code(
        self, cells: RawColumn, column: Column, say: float, own: Any = None
    ) -> ColumnCode:
        """Fit the encoding of a column, scaled so that its total variance is ``say``."""
        kind = column.kind
        missing = find_missing(column)
        there = np.flatnonzero(~missing)
        values = column.values[there[evenly_spaced(len(there), MOST_ROWS)]]
        encoder = self._fit_encoder(Column(cells.name, kind, values), own)
        found = encoder.apply(values) if len(values) else np.zeros((1, len(encoder.names)))
        if not np.isfinite(found).all():
            raise InputError(f"column {cells.name!r} holds vectors with infinite numbers.")
        middle = found.mean(axis=0)
        variance = float(((found - middle) ** 2).sum(axis=1).mean())
        factor = np.sqrt(say / variance) if variance > _NO_VARIANCE else 0.0
        return ColumnCode(
            cells.name, kind, column.order, encoder, middle, float(factor), bool(missing.any())
        )

    def _fit_encoder(self, column: Column, own: Any) -> Encoder:
        """Fit the encoder for the column's kind, or the user's ``own``."""
        values, kind = column.values, column.kind
        if kind == "number":
            return NumberScale.fit(values)
        if kind == "date":
            return DateParts.fit(values)
        if kind == "yes or no":
            return YesOrNo()
        if kind == "category" and own is None:
            return Categories.fit(values)
        if kind == "vector":
            return Vectors(values.shape[1])
        if own is not None and len(values):
            return OwnTexts.fit(values, own)
        return Pieces.fit(values, int(self.n_components), ignores_signs=kind == "code")

    def _find_own_encoders(self, kinds: Mapping[str, str]) -> dict[str, Any]:
        """The user's encoders by column; an error if one is absent or holds no words."""
        named = self.text_encoder
        if not isinstance(named, dict):
            return {name: named for name, kind in kinds.items() if kind in ("name", "text")}
        for name, encoder in named.items():
            if kinds.get(name) not in ("category", "name", "text", "code"):
                held = f"is {kinds[name]}" if name in kinds else "is not there"
                raise InputError(
                    f"text_encoder[{name!r}]: the column {held}, and an encoder takes words. State "
                    f"kinds={{{name!r}: 'text'}} if that is wrong."
                )
            if not callable(encoder) and not hasattr(encoder, "transform"):
                raise InputTypeError(
                    f"text_encoder[{name!r}] must be a function or have fit and transform, not "
                    f"{encoder!r:.60}."
                )
        return named

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
