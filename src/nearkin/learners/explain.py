"""Why two rows are near or far: parts of columns, words and answers; importances."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from itertools import islice, permutations
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone

from nearkin._types import Floats, Ints
from nearkin.errors import InputError, counted
from nearkin.learners.fit_steps import Taught
from nearkin.messages import mute_categories
from nearkin.pairs.closure import draw_links
from nearkin.pairs.pairs import Pairs
from nearkin.rows import access, backends
from nearkin.rows.parallel import one_blas_thread, one_core, split_range
from nearkin.rows.sparse import to_dense
from nearkin.rows.validation import count_rows, to_rows
from nearkin.spaces.maps import Affine, Composed, Identity, Map, Scaled, Summed, compose

# What is printed, chosen by hand so that it fits a terminal: columns, words of a column, answers of
# a kind, characters of a cell, and characters of the longest bar.
_MOST_COLUMNS = 8
_MOST_WORDS = 6
_MOST_ANSWERS = 3
_LONGEST = 24
_WIDTH = 20
# So many columns without names are a vector: the three largest are printed. Chosen by hand.
_A_VECTOR = 50
_OF_A_VECTOR = 3

# Shapley values: of so few columns all orders are taken (4! = 24). Of more, random orders forwards
# and backwards: eight, or as few as pass through so many rows in sum. Not tuned: they bound what
# one explanation costs.
_FEW_COLUMNS = 4
MOST_ORDERS = 8
_ENOUGH_ROWS = 4096
# Numbers that are mapped at a time: 16 MB.
_BLOCK = 2**21

# Answers that are left out one by one, of all parts of a metric together, and of each in any case:
# each takes a second step of a fit, some milliseconds. Chosen by hand.
MOST_TRIED = 400
_LEAST_TRIED = 12
# Answers of either direction that are told, and the least share of the squared distance that one
# has moved to be told. Chosen by hand.
_ANSWERS_TOLD = 10
_LEAST_PULL = 0.005

# Words of a cell that are looked at, the first ones; those of a column that are told; and the least
# share of the squared distance that one makes up to be told. Chosen by hand.
_WORDS_OF_A_CELL = 60
_WORDS_TOLD = 12
_LEAST_PART = 0.005
_WORD = re.compile(r"\w+")
_SIDES = {(True, True): "both", (True, False): "left", (False, True): "right"}

# Random pairs of rows of fit that importances are the mean over. Not tuned.
_PAIRS_FOR_IMPORTANCES = 30

_NOT_KNOWN = (
    "Which answers pull them is not known here: explain(a, b, X=X, pairs=pairs) takes what the "
    "metric was learned from."
)
_NONE_ALONE = "No answer pulls them by itself: many do together, or none."
_BY_LABELS = "Which answers pull them is not known: the metric was learned from labels."

_Moves = Callable[[Ints], Floats]


@dataclass(frozen=True)
class Pull:
    """An answer about two rows of the X learned from, and what it does to an explained pair."""

    left: int
    right: int
    same: bool
    pull: float  # by how much it raises their squared distance: below 0 it pulls them together


@dataclass(frozen=True)
class Word:
    """A word in a cell, and what it does."""

    text: str
    where: str  # which row has it: "left", "right" or "both"
    part: float  # by how much the squared distance falls if the word is taken out


@dataclass(frozen=True)
class Explanation:
    """Why two rows are as far apart as a metric says. Print it.

    Attributes
    ----------
    distance : float
    chance : float or None
        That the two are the same, as :meth:`chance_same` says.
    threshold : float or None
        Distance up to which two rows are called the same.
    contributions : dict of str to float
        The part of each column in the squared distance, which they sum to. One is negative where a
        column makes up for others.
    values : dict of str to (str, str)
        What the two rows have in each column.
    words : dict of str to list of Word
        Of columns of words, those that matter, the largest part first.
    answers : list of Pull
        Answers that the metric was learned from, the strongest pull first.
    remark : str
        Why there are no answers.

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
        """Names of the n columns with the largest parts, by absolute value; no column of part 0."""
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
        """By how many per cent the distance would change without an answer; positive is farther."""
        return float(100 * (np.sqrt(max(1 - answer.pull / self.distance**2, 0.0)) - 1))

    def pixels(self, shape: tuple[int, int]) -> Floats:
        """Contributions as an array of shape (height, width), for columns that are pixels."""
        n = len(self.contributions)
        if np.shape(shape) != (2,) or int(shape[0]) * int(shape[1]) != n:
            raise InputError(
                f"shape={shape!r}: height times width must be {n}, the number of columns."
            )
        return np.array(list(self.contributions.values())).reshape(shape)

    def as_dict(self) -> dict[str, Any]:
        """The whole explanation as plain values, for JSON."""
        values = {name: list(both) for name, both in self.values.items()}
        return {**asdict(self), "values": values}

    @property
    def sentence(self) -> str:
        """The distance, the threshold and the chance of being the same, in words."""
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
        """The whole explanation in sentences and a table, for print.

        ``names[i]`` is what row i of the X learned from is called; by default its number.
        """
        whole, lines = self.distance**2, [self.sentence, "", *self._format_columns()]
        for name, words in self.words.items():
            said = ", ".join(
                f"{word.text!r} ({word.where}, {word.part / whole:+.0%})"
                for word in words[:_MOST_WORDS]
            )
            lines.append(f"Words of {name}: {said}")
        return "\n".join([*lines, "", *self._format_answers(names)]).rstrip()

    @property
    def brief(self) -> str:
        """The three columns with the largest parts and their shares, in one line."""
        shares = self.shares
        return ", ".join(f"{name} {shares[name]:.0%}" for name in self.named())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _format_columns(self) -> list[str]:
        """Lines of text about the columns with the largest parts."""
        if not self.distance:
            return ["No column sets them apart."]
        named = self.named(_MOST_COLUMNS)
        if self.is_of_vectors:
            named = named[:_OF_A_VECTOR]
        shares = self.shares
        most = max(abs(shares[name]) for name in named)
        width = max(len(_shorten(name)) for name in named)
        lines = ["What sets them apart, by column:"]
        for name in named:
            bar = "█" * round(_WIDTH * max(shares[name], 0.0) / most)
            has = "  /  ".join(map(_shorten, self.values.get(name, ())))
            line = f"  {_shorten(name):<{width}}  {shares[name]:>5.0%}  {bar:<{_WIDTH}}  {has}"
            lines.append(line.rstrip())
        rest = [shares[name] for name in self.contributions if name not in named]
        if any(rest):
            lines.append(f"  {counted(len(rest), 'other column')}: {sum(rest):.0%}")
        return lines

    def _format_answers(self, names: Sequence[Any] | None) -> list[str]:
        """Lines of text about the answers of strongest pull, or the remark why there are none."""
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
                both = f"rows {one.left} and {one.right}"
                if names is not None:
                    both = f"{names[one.left]} and {names[one.right]}"
                lines.append(
                    f"  {both} are {said}: without it, they would be "
                    f"{abs(change):.2g} % {'farther apart' if change > 0 else 'nearer'}"
                )
        return lines


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _format_cell(value: Any) -> str:
    """Format a cell; a missing one is empty."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    return str(value)


def parts_by_column(
    learned: Map, A: Floats, B: Floats, groups: NDArray[Any], orders: int = MOST_ORDERS
) -> Floats:
    r"""The part that each column has in squared distances, row by row; they sum to these.

    From a row a to a row b, columns are exchanged one after the other, and each brings its image a
    step nearer to that of b. With :math:`Δ = z(b) - z(a)`, column g has the part
    :math:`⟨Δ, z(\text{with } g) - z(\text{without } g)⟩`, in the mean over the orders in which
    columns can be exchanged: the Shapley value. Parts sum to :math:`\|Δ\|^2` in any order, are the
    same from b to a, and 0 for columns in which rows are equal. One may be negative, where a
    column makes up for others.

    Of a linear map M and :math:`δ = b - a`, all orders give :math:`\sum_{j \in g} δ_j (M^T M δ)_j`.
    Of others, all orders are taken of up to four columns that differ; of more ``orders`` at most,
    forwards and backwards. A and B have shape (n, p), ``groups`` the number of the column that each
    of the p is of, the result shape (n, columns).
    """
    n_groups = int(groups.max()) + 1
    matrix, rest = _split_linear_part(learned, A.shape[1])
    A, B = (np.asarray(rows, dtype=np.float64) for rows in (A, B))
    if rest is None:
        differences = B - A
        steps = differences * (differences @ matrix.T @ matrix)
        return np.asarray(steps @ (groups[:, None] == np.arange(n_groups)).astype(np.float64))
    found = np.zeros((len(A), n_groups))
    for parts, a, b in zip(found, A, B, strict=True):
        difference = b - a
        differing = np.unique(groups[difference != 0])
        if not len(differing):
            continue
        moves = _find_moves(matrix, difference, groups, differing)
        ends = np.vstack([a, b]) if matrix is None else np.vstack([a, b]) @ matrix.T
        images = np.asarray(to_dense(rest.apply(ends)), dtype=np.float64)
        towards = images[1] - images[0]
        drawn = list(_draw_orders(len(differing), orders))
        ways = _trace_orders(rest, ends[:1], moves, drawn, towards)
        for order, heights in zip(drawn, ways, strict=True):
            steps = [0.0, *(heights - images[0] @ towards), towards @ towards]
            parts[differing[order]] += np.diff(steps)
        parts /= len(drawn)
    return found


def _trace_orders(
    rest: Map, start: Floats, moves: _Moves, orders: list[Ints], towards: Floats
) -> Iterator[Floats]:
    """Yield, for each order, the progress of the row after each exchanged column but the last.

    Columns of the row ``start`` are exchanged one by one for those of the other row (``moves``).
    Its progress is the inner product of its image with ``towards``, the difference of both images.
    """
    n_steps, width = len(orders[0]) - 1, start.shape[1]
    if n_steps * width > _BLOCK:  # each in blocks, which bounds memory
        for order in orders:
            at, found = start, np.empty(n_steps)
            for part in split_range(n_steps, max(1, _BLOCK // width)):
                rows = at + np.cumsum(moves(order[:-1][part]), axis=0)
                found[part] = to_dense(rest.apply(rows)) @ towards
                at = rows[-1:]
            yield found
        return
    for part in split_range(len(orders), max(1, _BLOCK // max(1, n_steps * width))):
        ways = [start + np.cumsum(moves(order[:-1]), axis=0) for order in orders[part]]
        rows = np.concatenate(ways)
        heights = to_dense(rest.apply(rows)) @ towards if len(rows) else np.empty(0)
        yield from np.asarray(heights, dtype=np.float64).reshape(len(ways), n_steps)


def _find_moves(
    matrix: Floats | None, difference: Floats, groups: NDArray[Any], differing: Ints
) -> _Moves:
    """Return a function from column positions to what each adds to the row when exchanged.

    Positions count among ``differing``, the result has shape (k, width), and all is seen after the
    linear map ``matrix``, if there is one.
    """
    place = np.searchsorted(differing, groups)
    moving = np.flatnonzero(difference)

    def of_columns(some: Ints) -> Floats:
        """Differences of the two rows in one column each, of shape (k, p), zero elsewhere."""
        at = np.full(len(differing) + 1, -1)
        at[some] = np.arange(len(some))
        taken = moving[at[place[moving]] >= 0]
        found = np.zeros((len(some), len(difference)))
        found[at[place[taken]], taken] = difference[taken]
        return found

    if matrix is None:
        return of_columns
    after = np.zeros((len(differing), len(matrix)))
    np.add.at(after, place[moving], (matrix[:, moving] * difference[moving]).T)
    return after.__getitem__


def _draw_orders(n: int, most: int) -> Iterator[Ints]:
    """Yield all orders of up to four columns; of more, fixed random ones forwards and backwards."""
    if n <= _FEW_COLUMNS:
        yield from map(np.array, permutations(range(n)))
        return
    rng = np.random.RandomState(0)
    for _ in range(int(np.clip(_ENOUGH_ROWS // n, 1, most))):
        order = rng.permutation(n)
        yield order
        yield order[::-1]


def _split_linear_part(learned: Map, n_columns: int) -> tuple[Any, Map | None]:
    """Split a map into the matrix of its linear start and the map after it, None where missing."""
    whole = matrix_of(learned, n_columns)
    if whole is not None:
        return whole, None
    maps = learned.maps if isinstance(learned, Composed) else (learned,)
    first: list[Map] = []
    width = n_columns
    for one in maps:
        if isinstance(one, Affine) and one.origin is not None:
            break  # which the rows need that the rest sees
        part = matrix_of(one, width)
        if part is None:
            break
        first.append(one)
        width = len(part)
    if width >= n_columns:  # it saves nothing
        return None, learned
    return matrix_of(compose(*first), n_columns), compose(*maps[len(first) :])


def matrix_of(learned: Map, n_columns: int) -> Floats | None:
    """The matrix, of shape (q, p), of an affine map; None if the map is not affine."""
    match learned:
        case Identity():
            return np.eye(n_columns)
        case Scaled(scale):
            return np.diag(1 / np.asarray(scale, dtype=np.float64))
        case Affine(matrix):
            return np.asarray(matrix, dtype=np.float64)
        case Composed(maps):
            whole = np.eye(n_columns)
            for one in maps:
                part = matrix_of(one, len(whole))
                if part is None:
                    return None
                whole = part @ whole
            return whole
        case Summed(maps):
            parts = [matrix_of(one, n_columns) for one in maps]
            known = [part for part in parts if part is not None]
            return np.sum(known, axis=0) if len(known) == len(parts) else None
    return None


@dataclass(frozen=True)
class TaughtPart:
    """A part of a metric that learns again in milliseconds, and two rows' coordinates in its space.

    A ``blended`` one is measured relative to the mean squared distance of all rows that were
    answered about, as a blend scales it.
    """

    learner: Any
    taught: Taught
    ends: Floats
    share: float = 1.0  # of its squared distances in those of the metric
    blended: bool = False
    numbers: Ints | None = None  # of its rows in the X that was given, if they are a sample

    def pull(self, link: tuple[int, int], fewer: Pairs | None = None) -> float:
        """By how much the answer ``link`` raises their squared distance; ``fewer`` are others."""
        taught = self.taught
        known = taught.left_out
        if link not in known:
            given = taught.evidence.pairs.without([link]) if fewer is None else fewer
            again = replace(taught, evidence=replace(taught.evidence, pairs=given))
            rng = np.random.RandomState(0)
            rng.set_state(taught.random_state)
            image = self.learner._learn(again, again.prefer_known(_refuse_rows), rng).image
            known[link] = image, spread_of(again, image)
        image, spread = known[link]
        unit = spread_of(taught, taught.image) / spread if self.blended else 1.0
        return self.share * (self.squared(taught.image) - unit * self.squared(image))

    def squared(self, image: Any) -> float:
        """Squared distance of the two rows under a map of coordinates."""
        return float((np.diff(image(self.ends), axis=0) ** 2).sum())


def spread_of(taught: Taught, image: Any) -> float:
    """Mean squared distance of the rows named in pairs, under a map of coordinates; 1 if zero."""
    return float(2 * image(taught.coordinates).var(axis=0).sum()) or 1.0


def _refuse_rows(rows: Any) -> NoReturn:
    """Raise an error in place of reading rows that only ``fit`` had."""
    raise LookupError("rows of fit are not kept")


def choose_answers_to_try(parts: Sequence[TaughtPart], pairs: Pairs) -> Ints:
    """Choose answers to leave out (k, 2): all, or those that differ most along the two rows."""
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    along = np.zeros(len(links))
    most = max(MOST_TRIED // len(parts), _LEAST_TRIED)
    if len(links) > most:
        for part in parts:
            taught = part.taught
            image: Any = taught.image
            left, right = (image(taught.get_coordinates(rows)) for rows in links.T)
            along += part.share * ((left - right) @ np.diff(image(part.ends), axis=0)[0]) ** 2
    return _take_largest(links, along, most)


def measure_pulls_by_refits(
    metric: Any, rows: Sequence[Any], X: Any, pairs: Pairs
) -> tuple[Ints, Floats]:
    """Fit again without each of twelve answers: return these links (k, 2) and their pulls (k,).

    For learners that cannot learn again quickly. ``rows`` are the two rows explained.
    """
    points = pairs.points
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    ends = np.searchsorted(points, links)

    def embed_by(learner: Any) -> tuple[Floats, Floats]:
        """Embeddings of the rows that pairs name, and the difference of the explained rows."""
        parts = [access.take(X, points), *rows]
        Z, first, second = (backends.to_host(to_dense(learner._embed(part))) for part in parts)
        return Z.astype(np.float64), np.subtract(second[0], first[0], dtype=np.float64)

    Z, difference = embed_by(metric)
    along = ((Z[ends[:, 0]] - Z[ends[:, 1]]) @ difference) ** 2
    tried = _take_largest(links, along, _LEAST_TRIED)
    found = np.full(len(tried), np.nan)
    with mute_categories(Warning), one_blas_thread():
        for k, link in enumerate(tried):
            try:
                other = clone(metric).fit(X, pairs=pairs.without([tuple(link)]))
            except (ValueError, np.linalg.LinAlgError):
                continue
            without = embed_by(other)[1]
            found[k] = difference @ difference - without @ without
    return tried, found


def _take_largest(links: Ints, along: Floats, most: int) -> Ints:
    """Return the ``most`` links with the largest values of ``along``, in their first order."""
    return links[np.sort(np.argsort(-along, kind="stable")[:most])]


def word_effects(table: Any, learned: Map, a: Any, b: Any) -> dict[str, list[Word]]:
    """Find the words of two rows that matter most, by column of words, the largest part first.

    A word's part is by how much the squared distance falls if it is taken out of the cells that
    have it. Columns where both cells have but one word in all are left out. ``a`` and ``b`` are
    tables of one row; ``learned`` maps what the TableEncoder ``table`` makes of them.
    """
    both = [table.known_cells(row) for row in (a, b)]
    whole = _squared_distances(table, learned, *both)[0]
    found = {}
    for name in table.columns_of_words_:
        texts = [cells[name].values[0] or "" for cells in both]
        left, right = (dict.fromkeys(_WORD.findall(text)) for text in texts)
        words = list(
            dict.fromkeys([*islice(left, _WORDS_OF_A_CELL), *islice(right, _WORDS_OF_A_CELL)])
        )
        if len(words) < 2:
            continue
        changed = [
            {**cells, name: _remove_each_word(cells[name], text, words)}
            for cells, text in zip(both, texts, strict=True)
        ]
        parts = whole - _squared_distances(table, learned, *changed)
        told = [
            Word(word, _SIDES[word in left, word in right], float(part))
            for word, part in zip(words, parts, strict=True)
            if abs(part) >= _LEAST_PART * whole
        ]
        if told:
            found[name] = sorted(told, key=lambda word: -abs(word.part))[:_WORDS_TOLD]
    return found


def _squared_distances(
    table: Any, learned: Map, left: dict[str, Any], right: dict[str, Any]
) -> Any:
    """Squared distances (n,) of rows as encoded cells by column; a single cell is of all rows."""
    n = max(len(cells) for cells in [*left.values(), *right.values()])

    def embed(side: dict[str, Any]) -> Any:
        repeated = {
            name: cells
            if len(cells) == n
            else replace(cells, values=np.repeat(cells.values, n, axis=0))
            for name, cells in side.items()
        }
        return to_dense(learned.apply(table.coordinates_of(repeated)))

    return ((embed(left) - embed(right)) ** 2).sum(axis=1)


def _remove_each_word(cells: Any, text: str, words: list[str]) -> Any:
    values = np.empty(len(words), dtype=object)
    for k, word in enumerate(words):
        left = re.sub(rf"\b{re.escape(word)}\b", " ", text)
        values[k] = " ".join(left.split())
    return replace(cells, values=values)


def explain_pair(
    metric: Any, a: Any, b: Any, X: Any = None, pairs: Pairs | None = None
) -> Explanation:
    """Explain the distance of two rows under a fitted metric: see :meth:`MetricMixin.explain`."""
    if (X is None) != (pairs is None):
        given, missing = ("X", "pairs") if pairs is None else ("pairs", "X")
        raise InputError(f"{given} is given without {missing}: answers take both.")
    rows = []
    for row, name in ((a, "a"), (b, "b")):
        checked = [row] if isinstance(row, str) else to_rows(metric, row)
        if (n := count_rows(checked)) != 1:
            raise InputError(f"{name} has {n} rows: explain takes two rows, a and b.")
        rows.append(backends.to_host(checked))  # explained on the host, wherever it is
    A, B = (metric._check_dense_rows(row) for row in rows)
    learned, groups = metric._get_column_map()
    names, at = number_groups(groups)
    parts = parts_by_column(learned, A, B, at)[0]
    whole = float(max(parts.sum(), 0.0))
    table = metric._get_encoder()
    values = {}
    if table is not None:
        left, right = (table.cells(row) for row in rows)
        values = {name: (left[name], right[name]) for name in left}
    elif A.shape[1] == len(names):
        both = (map(_format_cell, row.tolist()) for row in (A[0], B[0]))
        values = dict(zip(names, zip(*both, strict=True), strict=True))
    told: list[Pull] = []
    remark = ""
    if whole > 0:
        taught = metric if pairs is None else metric._refit(X, pairs)
        told, remark = find_strongest_pulls(taught, rows, whole, X, pairs)
    return Explanation(
        float(np.sqrt(whole)),
        float(metric.chance_same(*rows)[0]),
        float(metric.threshold_),
        dict(zip(names, map(float, parts), strict=True)),
        values,
        {} if table is None or not whole else word_effects(table, learned, *rows),
        told,
        remark,
    )


def contributions_by_column(metric: Any, X_a: Any, X_b: Any) -> dict[str, Any]:
    """Shares of columns in squared distances, row by row: see :meth:`MetricMixin.contributions`."""
    rows = [to_rows(metric, X) for X in (X_a, X_b)]
    A, B = (metric._check_dense_rows(X) for X in rows)
    if A.shape[0] != B.shape[0]:
        raise InputError(
            f"contributions compares row by row, but X_a has {A.shape[0]} rows and X_b has "
            f"{B.shape[0]}."
        )
    learned, groups = metric._get_column_map()
    names, at = number_groups(groups)
    parts = parts_by_column(learned, A, B, at)
    whole = parts.sum(axis=1, keepdims=True)
    found = np.divide(parts, whole, out=np.zeros_like(parts), where=whole > 0)
    one_row = rows[0] is not X_a and rows[1] is not X_b
    return {name: float(found[0, g]) if one_row else found[:, g] for g, name in enumerate(names)}


def mean_shares_by_column(metric: Any, rows: Any) -> dict[str, float]:
    """Share of each column in squared distances of 30 random pairs of rows, largest first."""
    X = metric._check_dense_rows(rows)
    ends = draw_links(len(X), np.random.RandomState(0), _PAIRS_FOR_IMPORTANCES)
    learned, groups = metric._get_column_map()
    names, at = number_groups(groups)
    parts = parts_by_column(learned, X[ends[:, 0]], X[ends[:, 1]], at, orders=1).sum(axis=0)
    shares = parts / (parts.sum() or 1.0)
    return {names[g]: float(shares[g]) for g in np.argsort(-shares, kind="stable")}


def find_strongest_pulls(
    metric: Any, rows: list[Any], whole: float, X: Any = None, pairs: Pairs | None = None
) -> tuple[list[Pull], str]:
    """Find the answers that pull two rows together or apart most, strongest first.

    Returns them, and a remark why there are none. ``whole`` is the squared distance of the two
    rows; X and ``pairs`` are what the metric learned from, if it does not keep that.
    """
    parts = metric._find_taught_parts(rows)
    if parts and not any(part.taught.evidence.has_labels for part in parts):
        answers = parts[0].taught.evidence.pairs
        links = choose_answers_to_try(parts, answers)
        numbers = parts[0].numbers
        pulls: Floats = np.zeros(len(links))
        with one_core(), mute_categories(Warning), config_context(skip_parameter_validation=True):
            for part in parts:
                for k, (i, j) in enumerate(links.tolist()):
                    try:
                        pulls[k] += part.pull((i, j))
                    except (ValueError, LookupError, np.linalg.LinAlgError):
                        pulls[k] = np.nan  # nothing can be learned without this answer
    elif pairs is not None:
        answers, numbers = pairs, None
        links, pulls = measure_pulls_by_refits(metric, rows, X, pairs)
    else:
        return [], _BY_LABELS if parts else _NOT_KNOWN
    # The strongest first, at most ten of either sign, if they move a share of 0.5 % at least.
    size = np.nan_to_num(np.abs(pulls))
    order = np.argsort(-size, kind="stable")
    order = order[size[order] >= _LEAST_PULL * whole]
    positive = pulls[order] > 0
    told = order[np.where(positive, np.cumsum(positive), np.cumsum(~positive)) <= _ANSWERS_TOLD]
    same = {tuple(link) for link in answers.must_link.tolist()}
    rows_of_X = links if numbers is None else numbers[links]
    found = [
        Pull(int(i), int(j), tuple(links[k].tolist()) in same, float(pulls[k]))
        for k, (i, j) in zip(told, rows_of_X[told], strict=True)
    ]
    return found, "" if found else _NONE_ALONE


def number_groups(groups: Any) -> tuple[list[str], Ints]:
    """Return the distinct names in order, and the position of each entry's name among them."""
    names = list(dict.fromkeys(map(str, groups)))
    place = {name: g for g, name in enumerate(names)}
    return names, np.array([place[str(one)] for one in groups])
