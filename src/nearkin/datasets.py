"""Artificial data sets on which the methods can be understood and measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from nearkin._types import Doubles, Ints, Rng
from nearkin.errors import InputError

__all__ = ["make_records", "make_three_normal", "make_xor"]

Texts = NDArray[np.object_]
Table = dict[str, Texts]

# The corners of a square, where the clouds of XOR are.
_CORNERS = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
# Syllables that begin a name, stand within it, and end it.
_STARTS = (
    "a ba be bo bri ca cla da de dor e el fa fer ga gre ha hel i ja jo ka ker la le lo ma mi mo na "
    "nor o pa pe ra ro sa ste ta tho u va vi wa wil ya zo"
)
_MIDDLES = (
    "ba bel chi da den di fi gar la len li lo ma mar mi na ni no ra ren ri ro sa ser ta ter ti to "
    "va vin"
)
_ENDS = (
    "a an ard as bert da den el en er es ey in ing is ka la ley lin man mann na ner nia o ra ric "
    "sen ski son ta ton us ville wood"
)
_ENDS_OF_TOWNS = "ton ville ford ham wick stead"
_WAYS = ("street", "road", "avenue", "lane", "square", "place", "court", "drive")
_SHORT_WAYS = dict(zip(_WAYS, ("st", "rd", "ave", "ln", "sq", "pl", "ct", "dr"), strict=True))
_LETTERS = list("abcdefghijklmnopqrstuvwxyz")
_DIGITS = list("0123456789")
# Relative frequencies of kinds of mistakes, in the order of _MISTAKES.
_SHARES = (0.62, 0.18, 0.12, 0.08)
_NAMES = ("given_name", "surname")


def make_xor(
    n_samples: int = 400, *, noise: float = 0.23, random_state: Any = None
) -> tuple[Doubles, Ints]:
    """Four Gaussian clouds at the corners of a square, opposite corners in one class.

    No linear map can bring opposite corners together and keep neighbouring ones apart, so every
    linear metric fails here.

    Parameters
    ----------
    n_samples : int, default=400
        Shared as evenly as possible by the four clouds.
    noise : float, default=0.23
        Standard deviation of each cloud; the corners are at (±1, ±1). The default gives the
        class separabilities that Yeung, Chang and Dai (2007) report for their data.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,), of 0 and 1

    Examples
    --------
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(100, random_state=0)
    >>> X.shape, y.tolist().count(1)
    ((100, 2), 50)
    """
    rng = check_random_state(random_state)
    cloud = rng.permutation(np.arange(n_samples) % 4)
    X = _CORNERS[cloud] + noise * rng.standard_normal((n_samples, 2))
    return X, cloud // 2


def make_three_normal(
    n_samples: int = 600, *, n_features: int = 2, noise: float = 1.0, random_state: Any = None
) -> tuple[Doubles, Ints]:
    """Three elongated Gaussian classes side by side.

    The classes differ along the first axis only, and vary most along the second: the direction
    of largest variance says nothing about the class.

    Parameters
    ----------
    n_samples : int, default=600
        Shared as evenly as possible by the three classes.
    n_features : int, default=2
        Axes beyond the second are noise of unit variance.
    noise : float, default=1.0
        Standard deviation along the first axis, where the means are −3, 0 and 3.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,), of 0, 1 and 2

    Examples
    --------
    >>> from nearkin.datasets import make_three_normal
    >>> X, y = make_three_normal(random_state=0)
    >>> X.shape
    (600, 2)
    """
    if n_features < 2:
        raise InputError(f"n_features={n_features}: the three classes need at least 2.")
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % 3)
    X = rng.standard_normal((n_samples, n_features))
    X[:, 0] = noise * X[:, 0] + 3.0 * (y - 1)
    X[:, 1] *= 6.0
    return X, y


def make_records(
    n_records: int = 1000,
    *,
    duplicates: float = 0.3,
    most_copies: int = 3,
    mistakes: float = 1.5,
    missing: float = 0.03,
    random_state: Any = None,
) -> tuple[Table, Ints]:
    """Records of people, some of them copies of others with mistakes in them.

    Names of people, streets and towns are made of syllables; some are frequent, most are rare, and
    a postcode belongs to a town. A mistake is a wrong, additional, missing or swapped letter; a
    cell that is left out or cut short; or a given name that stands where the surname should.

    Parameters
    ----------
    n_records : int, default=1000
    duplicates : float in [0, 1), default=0.3
        Share of the records that are copies of another one.
    most_copies : int, default=3
        Of one record: each has one to so many, if any.
    mistakes : float, default=1.5
        Mistakes in a copy, on average.
    missing : float in [0, 1), default=0.03
        Share of all cells that are missing, whether in copies or not.
    random_state : int, RandomState or None

    Returns
    -------
    table : dict of str to ndarray of shape (n_records,)
        Texts by the name of their column, None where they are missing: what ``pandas.DataFrame``
        and ``polars.DataFrame`` take. Records are in random order.
    entity : int64 ndarray of shape (n_records,)
        Who each record is about.

    Examples
    --------
    >>> from nearkin.datasets import make_records
    >>> table, entity = make_records(100, random_state=0)
    >>> list(table)
    ['given_name', 'surname', 'street', 'town', 'postcode', 'born', 'phone']
    >>> len(set(entity.tolist()))
    70
    """
    for name, share in (("duplicates", duplicates), ("missing", missing)):
        if not 0 <= share < 1:
            raise InputError(f"{name}={share!r}: it is a share of all, from 0 to below 1.")
    if n_records < 1 or most_copies < 1 or mistakes < 0:
        raise InputError("n_records and most_copies must be at least 1, and mistakes at least 0.")
    rng = check_random_state(random_state)
    n_people = max(n_records - int(duplicates * n_records), 1)
    n_people = max(n_people, -(-n_records // (1 + most_copies)))
    people = _make_people(n_people, rng)
    often = rng.randint(1, most_copies + 1, size=n_people)
    if often.sum() < n_records - n_people:
        often[:] = most_copies
    original = np.repeat(rng.permutation(n_people), often)[: n_records - n_people].astype(np.int64)
    copies = {name: values[original].copy() for name, values in people.items()}
    _spoil(copies, mistakes, rng)
    order = rng.permutation(n_records)
    table = {name: np.concatenate([people[name], copies[name]])[order] for name in people}
    for values in table.values():
        values[rng.uniform(size=n_records) < missing] = None
    return table, np.concatenate([np.arange(n_people), original])[order]


def _make_people(n: int, rng: Rng) -> Table:
    given = _draw_words(_make_words(rng, 700, _STARTS, _ENDS), n, rng, 0.8)
    surname = _draw_words(_make_words(rng, 30_000, _STARTS, _MIDDLES, _ENDS), n, rng, 0.7)
    streets = _make_words(rng, 4000, _STARTS, _MIDDLES, _MIDDLES, _ENDS)
    streets = streets + " " + rng.choice(np.array(_WAYS, dtype=object), len(streets))
    house = rng.geometric(0.02, size=n).astype(str).astype(object)
    towns = _make_words(rng, 1500, _STARTS, _MIDDLES, _ENDS_OF_TOWNS)
    town = _draw_numbers(len(towns), n, rng, 0.6)
    days = rng.randint(-18_000, 14_000, size=n).astype("datetime64[D]")
    return {
        "given_name": given,
        "surname": surname,
        "street": house + " " + _draw_words(streets, n, rng, 0.3),
        "town": towns[town],
        "postcode": (10_000 + 53 * town + rng.randint(0, 4, size=n)).astype(str).astype(object),
        "born": days.astype(str).astype(object),
        "phone": rng.randint(2_000_000, 10_000_000, size=n).astype(str).astype(object),
    }


def _make_words(rng: Rng, count: int, *parts: str) -> Texts:
    """At most ``count`` different words, put together of syllables."""
    syllables = [np.array(part.split(), dtype=object) for part in parts]
    total = int(np.prod([len(part) for part in syllables]))
    number = rng.permutation(total)[:count]
    words = np.full(len(number), "", dtype=object)
    for part in syllables:
        words = words + part[number % len(part)]
        number = number // len(part)
    return words


def _draw_words(words: Texts, n: int, rng: Rng, skew: float) -> Texts:
    """Draw n words, the k-th with probability proportional to :math:`k^{-skew}`."""
    return np.asarray(words[_draw_numbers(len(words), n, rng, skew)])


def _draw_numbers(count: int, n: int, rng: Rng, skew: float) -> NDArray[np.intp]:
    """Draw n numbers below ``count``, the k-th as often as :math:`k^{-skew}`."""
    up_to = np.cumsum(np.arange(1, count + 1) ** -skew)
    return np.searchsorted(up_to, rng.uniform(0, up_to[-1], size=n)).clip(max=count - 1)


def _spoil(copies: Table, mistakes: float, rng: Rng) -> None:
    """Make random mistakes in copies, in place: on average ``mistakes`` in each row."""
    names = list(copies)
    n = len(copies[names[0]])
    rows = np.repeat(np.arange(n), rng.poisson(mistakes, size=n))
    columns = rng.randint(len(names), size=len(rows))
    kinds = rng.choice(len(_SHARES), p=_SHARES, size=len(rows))
    for kind, mistake in enumerate(_MISTAKES):
        for column, name in enumerate(names):
            values = copies[name]
            # A row that is hit twice is read anew each time.
            for row in rows[(kinds == kind) & (columns == column)].tolist():
                if values[row]:
                    values[row] = mistake(values[row], rng)
    crossed = rows[(kinds == len(_MISTAKES)) & (columns < 3)]
    given, surname = (copies[name] for name in _NAMES)
    given[crossed], surname[crossed] = surname[crossed], given[crossed]


def _add_typo(text: str, rng: Rng) -> str:
    """The text with one letter or digit changed, added, left out or swapped with the next."""
    place = int(rng.randint(len(text)))
    others = _DIGITS if text[place].isdigit() else _LETTERS
    other = others[int(rng.randint(len(others)))]
    kind = int(rng.randint(4))
    if kind == 0 and len(text) > 1:
        return text[:place] + text[place + 1 :]
    if kind == 1:
        return text[:place] + other + text[place:]
    if kind == 2 and place + 1 < len(text):
        return text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    return text[:place] + other + text[place + 1 :]


def _cut_short(text: str, rng: Rng) -> str:
    """The text shortened to its first letter, or with its last word abbreviated."""
    del rng
    head, _, last = text.rpartition(" ")
    return f"{head} {_SHORT_WAYS.get(last, last)}" if head else text[: 1 if text.isalpha() else 4]


_MISTAKES: tuple[Callable[[str, Rng], str | None], ...] = (
    _add_typo,
    lambda text, rng: None,  # an empty cell
    _cut_short,
)


def __dir__() -> list[str]:
    return __all__
