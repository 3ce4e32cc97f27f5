"""Columns as coordinates: one small value for each kind, which knows what it saw in ``fit``.

Each has ``apply(values)``, which gives coordinates of shape (n, w), and ``names``, what its
coordinates are called after the column. Rows whose cell is missing are given whatever is finite:
who asks puts them in the middle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from nearkin._types import Floats
from nearkin.errors import InputError
from nearkin.rows.parallel import blocks
from nearkin.rows.scaling import column_spreads
from nearkin.storage.schema import Spec, a, floats, positive, real, stored, whole, words
from nearkin.tables.columns import MOST_CATEGORIES

# Numbers so many spreads from the middle are as far away as numbers can be.
_FAR = 5.0
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
_NOT_IN_CODES = re.compile(r"[\W_]+")


@stored(middle=real, spread=positive)
@dataclass(frozen=True)
class NumberScale:
    """Numbers less their middle, by their spread; those far out are held near the others.

    Attributes
    ----------
    middle, spread : float
    """

    middle: float
    spread: float
    names: tuple[str, ...] = ("",)

    @classmethod
    def fit(cls, values: Floats) -> NumberScale:
        """By the median, and standard deviations in which outliers count little."""
        finite = values[np.isfinite(values)]
        if not len(finite):
            return cls(0.0, 1.0)
        # Large enough numbers have no spread in float64.
        finite = np.clip(finite, -1e150, 1e150)
        spread = float(column_spreads(finite[:, None])[0])
        return cls(float(np.median(finite)), spread if 0 < spread < np.inf else 1.0)

    def apply(self, values: Floats) -> Floats:
        """Coordinates of numbers, between -5 and 5; of infinite ones, too."""
        with np.errstate(over="ignore"):
            z = np.clip(
                (np.nan_to_num(values, nan=self.middle) - self.middle) / self.spread, -1e6, 1e6
            )
        return np.asarray(z / np.sqrt(1 + (z / _FAR) ** 2))[:, None]


@stored(days=a("NumberScale"), years=a("NumberScale"))
@dataclass(frozen=True)
class DateParts:
    """Days, and the year, month and day of the month beside them: a slip changes one of these.

    Attributes
    ----------
    days, years : NumberScale
    """

    days: NumberScale
    years: NumberScale
    names: tuple[str, ...] = (" in days", " year", " month", " day")

    @classmethod
    def fit(cls, values: Floats) -> DateParts:
        """By days since 1970."""
        values = values[np.isfinite(values)]
        return cls(NumberScale.fit(values), NumberScale.fit(_calendar(values)[0]))

    def apply(self, values: Floats) -> Floats:
        """Coordinates of days since 1970."""
        year, month, day = _calendar(values)
        return np.column_stack(
            [
                self.days.apply(values),
                self.years.apply(year),
                (month - _MONTH[0]) / _MONTH[1],
                (day - _DAY_OF_MONTH[0]) / _DAY_OF_MONTH[1],
            ]
        )


def _calendar(days: Floats) -> tuple[Floats, Floats, Floats]:
    """Year, month and day of the month."""
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
    """A coordinate for each frequent value, and one for all others.

    Attributes
    ----------
    values : ndarray of str
        The frequent ones.
    """

    values: NDArray[Any]

    @classmethod
    def fit(cls, texts: NDArray[Any]) -> Categories:
        """The values that are there, but at most the 50 most frequent."""
        counts = Counter(text for text in texts if text is not None)
        order = sorted(counts, key=lambda value: (-counts[value], value))
        return cls(np.array(order[:MOST_CATEGORIES], dtype=object))

    def apply(self, texts: NDArray[Any]) -> Floats:
        """1 in the coordinate of the value, 0 elsewhere."""
        places = {value: j for j, value in enumerate(self.values)}
        found = np.zeros((len(texts), len(places) + 1))
        at = np.array([places.get(text, len(places)) for text in texts], dtype=np.int64)
        found[np.arange(len(texts)), at] = 1
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The values."""
        return tuple(f"={value}" for value in [*self.values, "other"])


@stored()
@dataclass(frozen=True)
class YesOrNo:
    """1 for yes and 0 for no."""

    names: tuple[str, ...] = ("",)

    def apply(self, texts: NDArray[Any]) -> Floats:
        """One coordinate."""
        return np.array([[float(text == "yes")] for text in texts]).reshape(-1, 1)


@stored(rarity=floats("h"), axes=floats("q h"), ignores_signs=whole)
@dataclass(frozen=True, eq=False)
class Pieces:
    """Words by their pieces of one to three characters, along the leading axes of these.

    Pieces count by their rarity (TF-IDF), and are told apart by a hash: no text is kept.

    Attributes
    ----------
    rarity : ndarray of shape (h,)
        Of each class of pieces.
    axes : ndarray of shape (q, h)
    ignores_signs : int
        1 if only letters and digits count, as in codes.
    """

    rarity: Floats
    axes: Floats
    ignores_signs: int = 0

    @classmethod
    def fit(cls, texts: NDArray[Any], n_axes: int, *, ignores_signs: bool) -> Pieces:
        """By the texts that are there; as many axes as these can have, n_axes at most."""
        counts = Counter(text for text in texts if text is not None)
        flag = int(ignores_signs)
        counted = _pieces_of(list(counts), flag)
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
        """Coordinates along the axes; equal texts are taken apart once."""

        def along(some: list[str]) -> Floats:
            weighed = normalize(_pieces_of(some, self.ignores_signs).multiply(self.rarity).tocsr())
            return np.asarray(weighed @ self.axes.T)

        return _of_each_text(along, texts)

    @property
    def names(self) -> tuple[str, ...]:
        """Their numbers."""
        return _numbered(len(self.axes))


def _pieces_of(texts: list[str], ignores_signs: int) -> Any:
    """How often each class of pieces is in each text, as a sparse matrix, with a sign each."""
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
    """Texts by an encoder of the user's.

    Attributes
    ----------
    encoder : callable or transformer
        Fitted.
    width : int
        How many numbers it makes of a text.
    """

    encoder: Any
    width: int

    @classmethod
    def fit(cls, texts: NDArray[Any], encoder: Any) -> OwnTexts:
        """By the texts that are there, if it can be fitted."""
        known = list(dict.fromkeys(text for text in texts if text is not None))
        if hasattr(encoder, "transform"):
            encoder = clone(encoder, safe=False).fit(known)
        return cls(encoder, _encoded(encoder, known[:1]).shape[1])

    def apply(self, texts: NDArray[Any]) -> Floats:
        """What the encoder makes of each text; equal ones are encoded once."""

        def numbers(some: list[str]) -> Floats:
            found = _encoded(self.encoder, some)
            if found.shape[1] != self.width:
                raise InputError(
                    f"text_encoder gives {found.shape[1]} numbers, but gave {self.width} in fit."
                )
            return found

        return _of_each_text(numbers, texts)

    @property
    def names(self) -> tuple[str, ...]:
        """Their numbers."""
        return _numbered(self.width)


def _encoded(encoder: Any, texts: list[str]) -> Floats:
    made = encoder.transform(texts) if hasattr(encoder, "transform") else encoder(texts)
    found = np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)
    if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
        raise InputError(
            f"text_encoder must give a finite array of shape ({len(texts)}, q) for {len(texts)} "
            f"texts; it gave one of shape {found.shape}."
        )
    return found


def _of_each_text(function: Callable[[list[str]], Floats], texts: NDArray[Any]) -> Floats:
    """A function of texts, called once for each text that differs, some thousand at a time."""
    places: dict[Any, int] = {}
    at = np.array([places.setdefault(text or "", len(places)) for text in texts], dtype=np.int64)
    unique = list(places)
    parts = [function(unique[part]) for part in blocks(len(unique), _TEXTS)]
    return np.asarray(np.concatenate(parts)[at])


@stored(width=whole)
@dataclass(frozen=True)
class Vectors:
    """Numbers side by side, as they are.

    Attributes
    ----------
    width : int
        How many a vector has.
    """

    width: int

    def apply(self, values: Floats) -> Floats:
        """The vectors, with 0 for what is missing."""
        if np.isnan(values).all():
            return np.zeros((len(values), self.width))
        if values.shape[1] != self.width:
            raise InputError(f"vectors of {values.shape[1]} numbers; in fit they had {self.width}.")
        return np.nan_to_num(values)

    @property
    def names(self) -> tuple[str, ...]:
        """Their numbers."""
        return _numbered(self.width)


def _numbered(width: int) -> tuple[str, ...]:
    return tuple(f" {j}" for j in range(width))


Encoder: TypeAlias = NumberScale | DateParts | Categories | YesOrNo | Pieces | OwnTexts | Vectors
ENCODER = a("NumberScale", "DateParts", "Categories", "YesOrNo", "Pieces", "OwnTexts", "Vectors")
