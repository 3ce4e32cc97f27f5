"""Which columns of a file are features, and how they become numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias

from nearkin.cli.common import (
    UserError,
    encoder,
    np,
    pa,
    pc,
    quote_names,
    say,
    suggest_name,
    table_reading,
    validation,
)
from nearkin.errors import few

if TYPE_CHECKING:
    from nearkin._types import Floats
    from nearkin.cli.files.inputs import Source
    from nearkin.tables.encoder import TableEncoder

# What a column holds: "number", "boolean", "text", "date", "vector", or a type's own name.
Kinds = dict[str, str]


@dataclass(frozen=True)
class Choice:
    """The user's options about the columns of a file; names may be patterns such as ``x*``."""

    columns: Sequence[str] = ()
    exclude: Sequence[str] = ()
    one_hot: Sequence[str] = ()
    id_column: str | None = None
    delimiter: str | None = None
    # What text is in that is not in UTF-8.
    encoding: str | None = None
    # What the data are, where their name does not say it: a name of inputs.FORMS.
    form: str | None = None
    # What becomes of missing cells: "fill", "drop" or "error".
    missing: str | None = None
    # What columns hold, where words are among them, and the order of day, month and year.
    kinds: Mapping[str, str] = field(default_factory=dict)
    dates: Any = None

    @property
    def states_kinds(self) -> bool:
        """Whether the options say what columns hold."""
        return bool(self.kinds) or self.dates is not None


@dataclass(frozen=True)
class Feature:
    """A feature: a numeric column, or an indicator that a column of text has ``value``."""

    name: str
    column: str
    value: str | None = None


def match_columns(
    patterns: Iterable[str], known: Iterable[str], option: str, file: str
) -> list[str]:
    """Names of the columns that match patterns, or lists of them with commas; each must match."""
    known = list(known)
    found: dict[str, None] = {}
    for given in patterns:
        for pattern in [given] if given in known else given.split(","):
            alike = [column for column in known if fnmatchcase(column, pattern)]
            columns = [pattern] if pattern in known else alike
            if not columns:
                raise UserError(
                    f"{option} {pattern}: no such column in {file}; " + suggest_name(pattern, known)
                )
            found |= dict.fromkeys(columns)
    return list(found)


def refuse_twice(columns: Iterable[str], file: str) -> None:
    """Raise if two columns have the same name."""
    for name, count in Counter(list(columns)).items():
        if count > 1:
            raise UserError(
                f"{file} has {count} columns {name!r}: rename them, so that names differ."
            )


def pick_columns(
    kinds: Kinds,
    choice: Choice,
    aside: Iterable[str],
    labels: str | None,
    file: str,
    *,
    quietly: bool = False,
) -> tuple[list[str], list[str]]:
    """Columns to learn from as they are, and columns of text to one-hot encode.

    Columns ``aside`` are not chosen by default; patterns match neither labels nor ids. Doubtful
    columns are left out, with a note unless ``quietly``.
    """
    one_hot = _match_option(choice.one_hot, kinds, choice, labels, "--one-hot", file)
    left_out = set(match_columns(choice.exclude, kinds, "--exclude", file))
    if choice.columns:
        chosen = _match_option(choice.columns, kinds, choice, labels, "--columns", file)
    else:
        chosen = [column for column in kinds if column not in set(aside)]
        others = [column for column in chosen if column not in left_out and column not in one_hot]
        doubtful = _find_doubtful_columns({column: kinds[column] for column in others})
        if doubtful and not quietly:
            named = ", ".join(f"{column!r} ({why})" for column, why in doubtful.items())
            say(f"note: not learned from {named}; --columns takes all that it names.")
        chosen = [column for column in chosen if column not in doubtful]
    numeric = [column for column in chosen if column not in left_out and column not in one_hot]
    if not numeric and not one_hot:
        raise UserError(f"{file}: no columns are left to learn from.")
    return numeric, one_hot


def _find_doubtful_columns(kinds: Kinds) -> dict[str, str]:
    """Columns that are ids, classes, or yes or no, and why."""
    ids = {
        column: why
        for column, kind in kinds.items()
        if kind == "text" and (why := table_reading.recognise_id_name(column)) is not None
    }
    left = {column: kind for column, kind in kinds.items() if column not in ids}
    if not left or has_words(kinds, [*left]):  # beside other words it is seen what they hold
        ids, left = {}, kinds
    with_words = has_words(kinds, [*left])
    return ids | table_reading.find_doubtful_columns(left, with_words=with_words)


def has_words(kinds: Kinds, columns: Sequence[str]) -> bool:
    """Whether columns are other than numbers, or one column of vectors."""
    if len(columns) == 1 and kinds[columns[0]] == "vector":
        return False
    return any(kinds[column] not in ("number", "boolean") for column in columns)


def _match_option(
    patterns: Sequence[str],
    kinds: Kinds,
    choice: Choice,
    labels: str | None,
    option: str,
    file: str,
) -> list[str]:
    """Columns that an option names; patterns match neither labels nor ids."""
    outright = {*patterns, *(part for given in patterns for part in given.split(","))}
    if labels in outright:
        raise UserError(
            f"{option} {labels}: these are the labels, which say the answer; they cannot be "
            "learned from as a feature too."
        )
    hidden = {labels, choice.id_column} - outright
    return [c for c in match_columns(patterns, kinds, option, file) if c not in hidden]


def _refuse_others(kinds: Kinds, columns: list[str], file: str) -> None:
    """Raise if columns to learn from are not numbers, with advice."""
    if not has_words(kinds, columns):
        return
    other = [column for column in columns if kinds[column] not in ("number", "boolean")]
    shown = few(f"{column!r} ({kinds[column]})" for column in other)
    raise UserError(
        f"{file} has columns that are not numbers: {shown}.\nLeave them out with --exclude, or use "
        "a column of vectors alone with --columns; --one-hot makes columns of the values of a text."
    )


def _features_of_model(names: Sequence[str], kinds: Kinds, file: str, model: str) -> list[Feature]:
    """The features that a model was learned from, found in a file's columns."""
    found, missing = [], []
    for name in names:
        if name in kinds:
            found.append(Feature(name, name))
            continue
        ends = [i for i, letter in enumerate(name) if letter == "="]
        at = next((i for i in ends if name[:i] in kinds), None)
        if at is None:
            missing.append(name)
        else:
            found.append(Feature(name, name[:at], name[at + 1 :]))
    if missing:
        raise UserError(
            f"{model} was learned from columns that {file} does not have: {quote_names(missing)}."
        )
    _refuse_others(kinds, [f.column for f in found if f.value is None], file)
    return found


def check_agreement(
    layout: Sequence[Feature], kinds: Kinds, choice: Choice, file: str, model: str
) -> None:
    """Raise if the user chose other columns than those that a model was learned from."""
    used = {feature.column for feature in layout}
    left_out = match_columns(choice.exclude, kinds, "--exclude", file)
    for column in left_out:
        if column in used:
            raise UserError(f"--exclude {column}: {model} was learned from it and needs it.")
    asked = match_columns([*choice.columns, *choice.one_hot], kinds, "--columns", file)
    other = [column for column in asked if column not in used and column not in left_out]
    if other:
        raise UserError(f"--columns: {model} was learned without {quote_names(other)}.")
    missing = [column for column in dict.fromkeys(f.column for f in layout) if column not in asked]
    if choice.columns and missing:
        raise UserError(f"--columns: {model} needs {quote_names(missing)} too.")


# Columns that one column of text may become.
_MOST_CATEGORIES = 1000


def choose_features(
    source: Source,
    choice: Choice,
    others: set[str],
    labels: str | None,
    model: Any,
    *,
    words: bool,
    encoded: bool,
) -> tuple[list[Feature], bool]:
    """The features of a table, and whether they are encoded from words."""
    if model is not None and model.table is not None:
        layout = [Feature(name, name) for name in model.table.columns_ if name in source.kinds]
        check_agreement(layout, source.kinds, choice, source.file, model.file)
        return layout, True
    if model is not None and model.names is not None:
        layout = _features_of_model(model.names, source.kinds, source.file, model.file)
        check_agreement(layout, source.kinds, choice, source.file, model.file)
        return layout, False
    if model is not None and not choice.columns and source.kinds.get(model.vector) == "vector":
        return [Feature(model.vector, model.vector)], False
    numeric, one_hot = pick_columns(source.kinds, choice, others, labels, source.file)
    has = encoded or has_words(source.kinds, numeric) or choice.states_kinds
    if words and model is None and has:
        columns = [name for name in source.kinds if name in {*numeric, *one_hot}]
        return [Feature(name, name) for name in columns], True
    _refuse_others(source.kinds, numeric, source.file)
    layout = [Feature(name, name) for name in numeric]
    for column in one_hot:
        if source.kinds[column] == "vector":
            raise UserError(f"--one-hot {column}: the column holds vectors.")
        layout += [Feature(f"{column}={v}", column, v) for v in _list_distinct(source, column)]
    refuse_twice([feature.name for feature in layout], source.file)
    return layout, False


def _list_distinct(source: Source, column: str) -> list[str]:
    """All texts of a column, sorted; an error if they are too many for indicators."""
    values: set[Any] = set()
    for batch in source.batches([], [column]):
        values |= set(pc.unique(read_texts(batch.column(column))).to_pylist())
        if len(values) > _MOST_CATEGORIES:
            raise UserError(
                f"--one-hot {column}: the column of {source.file} has more than {_MOST_CATEGORIES} "
                "values, each of which would be a column. Is it an id?"
            )
    return sorted(values - {None})


# Columns as numbers, before anything is done about missing cells.


@dataclass
class Others:
    """Number of cells with values unknown to the model, and examples of these."""

    count: int = 0
    examples: set[str] = field(default_factory=set)

    def add(self, values: Any) -> None:
        """Count the values of an array of pyarrow."""
        self.count += len(values)
        if len(self.examples) < _EXAMPLES:
            self.examples |= set(pc.unique(values)[:_EXAMPLES].to_pylist())


Rows: TypeAlias = "Iterator[tuple[Floats, Any]]"
Unseen: TypeAlias = dict[str, Others]
# Values that a message names.
_EXAMPLES = 5


@dataclass(frozen=True)
class Features:
    """Features of a file, as blocks of rows (n, d) with NaN where a cell is missing."""

    # Goes through the rows in blocks, each with the columns that go along, or None. What it is
    # given counts values that are not among the features.
    read: Callable[[Unseen | None], Rows]
    # For each feature, what messages call the column that it comes from.
    columns: list[str]
    dtype: np.dtype[Any]
    names: list[str] | None = None
    # The column of vectors that the features are.
    vector: str | None = None
    # Which features say whether a column of text has one value.
    is_value: Sequence[int] = ()
    # How many rows there are, where none can lack a number.
    count: Callable[[], int] | None = None

    def blocks(self) -> Iterator[Floats]:
        """Iterate over blocks of rows, without carried columns."""
        return (rows for rows, _ in self.read(None))


def read_texts(values: Any) -> Any:
    """An array of pyarrow converted to texts."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    try:
        return values.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise UserError(f"values of type {values.type} do not name anything.") from error


def open_features(
    source: Source, layout: Sequence[Feature], table: TableEncoder | None, along: Sequence[str]
) -> Features:
    """Features of an array file, from columns that ``table`` encodes, or as ``layout`` has them."""
    if source.matrix is not None:
        return _features_of_matrix(source, along)
    if table is not None:
        return _features_of_table(source, table, along)
    if len(layout) == 1 and source.kinds[layout[0].column] == "vector":
        return _features_of_vectors(source, layout[0].column, along)
    return _features_of_columns(source, layout, along)


def _features_of_matrix(source: Source, along: Sequence[str]) -> Features:
    """Features of an array file: its columns."""
    X = source.matrix
    if X.ndim != 2 or X.shape[1] == 0:
        raise UserError(f"{source.file} must have shape (n, d), got {X.shape}.")
    dtype = validation.check_dtype(X.dtype, source.file)
    carried = next(source.batches([], along)) if along else None

    def read(unseen: Unseen | None) -> Rows:
        size = validation.rows_per_read(X.shape[1], dtype)
        for start in range(0, len(X), size):
            rows = np.asarray(X[start : start + size], dtype=dtype)
            yield rows, None if carried is None else carried.slice(start, len(rows))

    return Features(read, [f"column {j}" for j in range(X.shape[1])], dtype)


def _features_of_vectors(source: Source, column: str, along: Sequence[str]) -> Features:
    """Features from one column of vectors of equal length."""
    kind, width = None, None
    for batch in source.batches([column], []):
        kind = batch.schema.field(column).type
        lengths = pc.list_value_length(batch.column(column)).drop_null()
        if len(lengths):
            width = lengths[0].as_py()
            break
    if kind is None or not width:
        raise UserError(f"column {column!r} of {source.file} has no vectors.")
    where = f"column {column!r} of {source.file}"
    try:
        dtype = validation.check_dtype(np.dtype(kind.value_type.to_pandas_dtype()), where)
    except TypeError:
        raise UserError(f"{where} holds vectors of {kind.value_type}, not of numbers.") from None

    def read(unseen: Unseen | None) -> Rows:
        start = 0
        size = validation.rows_per_read(width, dtype)
        for whole in source.batches([column], along):
            for first in range(0, len(whole), size):
                batch = whole.slice(first, size)
                rows = _stack_vectors(batch.column(column), width, column, start, source, dtype)
                yield rows, batch.select(along) if along else None
                start += len(batch)

    return Features(read, [repr(column)] * width, dtype, vector=column)


def _stack_vectors(
    column: Any, width: int, name: str, start: int, source: Source, dtype: np.dtype[Any]
) -> Floats:
    """Rows (n, width) of a column of vectors, NaN for missing ones; an error for other lengths."""
    lengths = pc.list_value_length(column)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    found = lengths.fill_null(width).to_numpy(zero_copy_only=False)
    other = np.flatnonzero(found != width)
    if len(other):
        row = int(other[0])
        raise UserError(
            f"{source.where(start + row)}, column {name!r} of {source.file} has {found[row]} "
            f"numbers, but vectors before it have {width}."
        )
    rows = np.full((len(column), width), np.nan, dtype=dtype)
    values = column.drop_null().flatten().to_numpy(zero_copy_only=False)
    rows[present] = values.reshape(-1, width)
    return rows


def _features_of_columns(
    source: Source, layout: Sequence[Feature], along: Sequence[str]
) -> Features:
    """Features from columns of numbers, and indicators of values of text columns."""
    numbers = {f.column: j for j, f in enumerate(layout) if f.value is None}
    values: dict[str, dict[str, int]] = {}
    for j, feature in enumerate(layout):
        if feature.value is not None:
            values.setdefault(feature.column, {})[feature.value] = j
    dtype = np.dtype(np.float64)
    others = list(dict.fromkeys([*values, *along]))

    def read(unseen: Unseen | None) -> Rows:
        size = validation.rows_per_read(len(layout), dtype)
        for whole in source.batches(list(numbers), others):
            for first in range(0, len(whole), size):
                batch = whole.slice(first, size)
                rows = np.zeros((len(batch), len(layout)), dtype=dtype)
                for column, j in numbers.items():
                    cells = batch.column(column)
                    if pa.types.is_boolean(cells.type):
                        cells = cells.cast(pa.int8())
                    found = cells.to_numpy(zero_copy_only=False)
                    validation.check_dtype(found.dtype, f"column {column!r} of {source.file}")
                    rows[:, j] = found
                for column, places in values.items():
                    _fill_indicators(rows, batch.column(column), places, column, unseen)
                yield rows, batch.select(along) if along else None

    return Features(
        read,
        [repr(feature.column) for feature in layout],
        dtype,
        [feature.name for feature in layout],
        is_value=[j for j, feature in enumerate(layout) if feature.value is not None],
    )


def _fill_indicators(
    rows: Floats, column: Any, places: dict[str, int], name: str, unseen: Unseen | None
) -> None:
    """Write indicators of a text column's values, NaN where missing; count the ``unseen``."""
    texts = read_texts(column)
    found = pc.index_in(texts, value_set=pa.array(list(places), pa.string()))
    at = np.array(list(places.values()))
    known = found.is_valid().to_numpy(zero_copy_only=False)
    rows[np.flatnonzero(known), at[found.drop_null().to_numpy()]] = 1
    if column.null_count:
        missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
        rows[np.ix_(missing, at)] = np.nan
    if unseen is not None and not known.all():
        others = texts.filter(pc.and_(found.is_null(), texts.is_valid()))
        if len(others):
            unseen.setdefault(name, Others()).add(others)


# Columns that a message names.
_MOST_NAMED = 20


def fit_encoder(source: Source, columns: Sequence[str], choice: Choice) -> TableEncoder:
    """Fit a TableEncoder to columns of a file, which is read as a whole."""
    refuse_missing_policy(choice)
    batches = list(source.batches([], columns))
    if sum(map(len, batches)) < 2:
        raise UserError(f"{source.file} has too few rows: two are needed at least.")
    found = encoder.TableEncoder(
        kinds=stated_kinds(choice, columns, source.file), dates=choice.dates
    )
    found.fit(pa.Table.from_batches(batches))
    say_kinds(found.held_)
    return found


def say_kinds(kinds: Mapping[str, str]) -> None:
    """Report what columns were found to hold."""
    shown = few((f"{name!r} ({kind})" for name, kind in kinds.items()), _MOST_NAMED)
    say(f"note: columns hold {shown}; --kinds NAME=KIND says otherwise.")


def _features_of_table(source: Source, table: TableEncoder, along: Sequence[str]) -> Features:
    """Features from columns that a TableEncoder encodes; an error if the file lacks one."""
    columns = table.columns_
    absent = [name for name in columns if name not in source.kinds]
    if absent:
        raise UserError(
            f"the model was learned from columns that {source.file} does not have: "
            f"{quote_names(absent)}."
        )

    def read(unseen: Unseen | None) -> Rows:
        start = 0
        for batch in source.batches([], list(dict.fromkeys([*columns, *along]))):
            rows = table.coordinates(pa.Table.from_batches([batch.select(columns)]), start)
            start += len(batch)
            yield rows, batch.select(along) if along else None

    return Features(
        read,
        [repr(name) for name in table.groups_],
        np.dtype(np.float64),
        count=lambda: sum(map(len, source.batches([], columns[:1]))),
    )


def refuse_missing_policy(choice: Choice) -> None:
    """Raise if --missing is given: encoded columns need no such policy."""
    if choice.missing is not None:
        raise UserError(
            f"--missing {choice.missing}: where columns hold words, a missing cell is known as "
            "such, and nothing is to be done about it. Leave --missing out, or choose columns of "
            "numbers with --columns."
        )


def stated_kinds(choice: Choice, columns: Sequence[str], file: str) -> dict[str, Any]:
    """Kinds of columns that the user states, by name; an error for absent columns."""
    for name in choice.kinds:
        if name not in columns:
            raise UserError(
                f"--kinds {name}={choice.kinds[name]}: {file} has no such column to learn from; "
                f"there are {quote_names(columns)}."
            )
    one_hot = {name: "category" for name in choice.one_hot if name in columns}
    return {**one_hot, **choice.kinds}
