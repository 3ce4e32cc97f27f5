"""Why two rows are as far apart as a metric says: columns, words and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from nearkin._types import Floats
from nearkin.errors import InputError, counted

# Columns, words of a column and answers of a kind that are printed.
_MOST_COLUMNS = 8
_MOST_WORDS = 6
_MOST_ANSWERS = 3
# Characters of a cell, and cells of a bar.
_LONGEST = 24
_WIDTH = 20
# Columns without names of their own, from so many on, are numbers of a vector: nobody reads these.
_A_VECTOR = 50


@dataclass(frozen=True)
class Pull:
    """An answer, and what it does to the distance of two rows.

    Attributes
    ----------
    left, right : int
        Row numbers of the X that was learned from.
    same : bool
        What was said of them.
    pull : float
        By how much it raises the squared distance of the two rows that are explained: below 0 it
        pulls them together, above 0 it pushes them apart.
    """

    left: int
    right: int
    same: bool
    pull: float


@dataclass(frozen=True)
class Word:
    """A word in a cell, and what it does to the distance of two rows.

    Attributes
    ----------
    text : str
    where : {"left", "right", "both"}
        Which of the two rows has it.
    part : float
        By how much the squared distance falls if it is taken out.
    """

    text: str
    where: str
    part: float


@dataclass(frozen=True)
class Explanation:
    """Why two rows are as far apart as a metric says. Print it.

    Attributes
    ----------
    distance : float
        Learned distance.
    chance : float or None
        That the two are the same, as :meth:`chance_same` says.
    threshold : float or None
        Distance up to which two rows are called the same.
    contributions : dict of str to float
        The part of each column in the squared distance; they sum to it. One may be negative, where
        a column makes up for others.
    values : dict of str to (str, str)
        What the two rows have in each column.
    words : dict of str to list of Word
        Of columns of words, those that matter, the largest part first.
    answers : list of Pull
        Answers that the metric was learned from, the strongest pull first.
    remark : str
        Why there are no answers, if there are none.

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_three_normal(random_state=0)
    >>> pairs = nk.Pairs.from_labels(y, 30, random_state=0)
    >>> found = nk.ITML(random_state=0).fit(X, pairs=pairs).explain(X[0], X[50])
    >>> abs(sum(found.contributions.values()) - found.distance**2) < 1e-9
    True
    >>> [answer.pull < 0 for answer in found.together[:1]]
    [True]
    """

    distance: float
    chance: float | None
    threshold: float | None
    contributions: dict[str, float]
    values: dict[str, tuple[str, str]] = field(default_factory=dict)
    words: dict[str, list[Word]] = field(default_factory=dict)
    answers: list[Pull] = field(default_factory=list)
    remark: str = ""

    def named(self, n: int = 3) -> list[str]:
        """The columns that matter most, by the size of their parts."""
        parts = self.contributions
        largest = sorted(parts, key=lambda name: -abs(parts[name]))
        return [name for name in largest if parts[name]][:n]

    @property
    def shares(self) -> dict[str, float]:
        """Contributions as shares of the squared distance; zeros where rows coincide."""
        whole = self.distance**2
        return {name: part / whole if whole else 0.0 for name, part in self.contributions.items()}

    @property
    def together(self) -> list[Pull]:
        """Answers that pull the two rows together, the strongest first."""
        return [answer for answer in self.answers if answer.pull < 0]

    @property
    def apart(self) -> list[Pull]:
        """Answers that push the two rows apart, the strongest first."""
        return [answer for answer in self.answers if answer.pull > 0]

    def change_without(self, answer: Pull) -> float:
        """By how many per cent the distance would be longer without an answer; or shorter, below 0.

        Parameters
        ----------
        answer : Pull
            One of ``answers``.
        """
        return float(100 * (np.sqrt(max(1 - answer.pull / self.distance**2, 0.0)) - 1))

    def pixels(self, shape: tuple[int, int]) -> Floats:
        """Contributions where columns are the pixels of a picture, row by row.

        Parameters
        ----------
        shape : (int, int)
            Height and width.

        Returns
        -------
        ndarray of that shape
        """
        n = len(self.contributions)
        if np.shape(shape) != (2,) or int(shape[0]) * int(shape[1]) != n:
            raise InputError(
                f"shape={shape!r}: height times width must be {n}, the number of columns."
            )
        return np.array(list(self.contributions.values())).reshape(shape)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        return {
            "distance": self.distance,
            "chance": self.chance,
            "threshold": self.threshold,
            "contributions": self.contributions,
            "values": {name: list(both) for name, both in self.values.items()},
            "words": {name: [vars(word) for word in words] for name, words in self.words.items()},
            "answers": [vars(answer) for answer in self.answers],
            "remark": self.remark,
        }

    @property
    def sentence(self) -> str:
        """How far apart the two are, and what that says."""
        said = f"They are {self.distance:.3g} apart"
        if self.threshold is not None:
            said += f"; up to {self.threshold:.3g} two rows are called the same"
        if self.chance is None:
            return f"{said}."
        return f"{said}. The chance that these are is {self.chance:.0%}."

    @property
    def is_of_vectors(self) -> bool:
        """Whether columns are the numbers of a vector, which say little to people."""
        names = self.contributions
        return len(names) >= _A_VECTOR and all(name.isdigit() for name in names)

    def __str__(self) -> str:
        return self.text()

    def text(self, names: Sequence[Any] | None = None) -> str:
        """All of it in sentences and a table.

        Parameters
        ----------
        names : sequence, optional
            What rows of X are called; their numbers by default.
        """
        pulls = self._pulls(names)
        lines = [self.sentence, "", *self._columns(), *self._words(), "", *pulls]
        return "\n".join(lines).rstrip()

    @property
    def brief(self) -> str:
        """The columns that matter most, in one line."""
        shares = self.shares
        return ", ".join(f"{name} {shares[name]:.0%}" for name in self.named())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _columns(self) -> list[str]:
        if not self.distance:
            return ["No column sets them apart."]
        named = self.named(_MOST_COLUMNS)
        if self.is_of_vectors:
            named = named[:3]
        shares = self.shares
        most = max(abs(shares[name]) for name in named)
        width = max(len(_short(name)) for name in named)
        lines = ["What sets them apart, by column:"]
        for name in named:
            bar = "█" * round(_WIDTH * max(shares[name], 0.0) / most)
            has = "  /  ".join(map(_short, self.values.get(name, ())))
            line = f"  {_short(name):<{width}}  {shares[name]:>5.0%}  {bar:<{_WIDTH}}  {has}"
            lines.append(line.rstrip())
        rest = [shares[name] for name in self.contributions if name not in named]
        if any(rest):
            others = counted(len(rest), "other column")
            lines.append(f"  {others}: {sum(rest):.0%}")
        return lines

    def _words(self) -> list[str]:
        whole, lines = self.distance**2, []
        for name, words in self.words.items():
            said = ", ".join(
                f"{word.text!r} ({word.where}, {word.part / whole:+.0%})"
                for word in words[:_MOST_WORDS]
            )
            lines.append(f"Words of {name}: {said}")
        return lines

    def _pulls(self, names: Sequence[Any] | None) -> list[str]:
        if not self.answers:
            return [self.remark] if self.remark else []
        lines = []
        for title, answers in (
            ("Answers that pull them together:", self.together),
            ("Answers that push them apart:", self.apart),
        ):
            if answers:
                lines.append(title)
            for one in answers[:_MOST_ANSWERS]:
                said = "the same" if one.same else "different"
                change = self.change_without(one)
                both = (
                    [one.left, one.right] if names is None else [names[one.left], names[one.right]]
                )
                rows = "rows " if names is None else ""
                lines.append(
                    f"  {rows}{both[0]} and {both[1]} are {said}: without it, they would be "
                    f"{abs(change):.2g} % {'farther apart' if change > 0 else 'nearer'}"
                )
        return lines


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def cells_of(columns: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """What two rows have in each column, as texts."""
    return {name: (_cell(values[0]), _cell(values[1])) for name, values in columns.items()}


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    return str(value)
