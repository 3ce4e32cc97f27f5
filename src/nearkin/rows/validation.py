"""Check rows and ids; reject X with a message that names the cells and has code to mend them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from typing import Any, TypeVar, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from nearkin._types import Floats
from nearkin.errors import InputError, InputTypeError, counted, few, raise_input_errors
from nearkin.registry import LEARNERS
from nearkin.rows.backends import (
    LIBRARIES,
    RemoteRows,
    describe_place,
    dtype_name,
    float_dtypes,
    is_foreign,
    is_remote,
    library,
    refuse_stranded,
)
from nearkin.rows.sparse import is_sparse, to_canonical, to_dense

# Squares of larger numbers, and sums of these, may leave the range of their type.
_LARGEST = {"float64": 1e150, "float32": 1e18}
# BLAS sums up so many numbers in one thread.
_FEW_NUMBERS = 10_000


def count_rows(X: Any) -> int:
    """Number of rows of X, before it is validated."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def refuse_non_tables(X: Any, name: str = "X") -> None:
    """Raise if X is no table, as paths, dicts and generators are not, or hides cells by a mask."""
    if isinstance(X, np.ndarray) or is_sparse(X):
        if np.ma.is_masked(X):
            raise InputError(
                f"{name} is a masked array, and what it hides would be taken for numbers: "
                f"{np.ma.getmaskarray(X).sum()} cells. Leave these rows out, or let them be NaN, "
                f"by {name}.astype(float).filled(float('nan')), and fill these in."
            )
        return
    own = f"a {type(X).__name__}"
    what = theirs = f"{type(X).__module__.partition('.')[0]}'s {type(X).__name__}"
    remedy = ""
    if isinstance(X, str | bytes | PathLike):
        what = f"{X!r:.60}, a text or a path"
        remedy = (
            "read the rows first, for example by nearkin.open_rows(path) or pandas.read_csv(path)."
        )
    elif isinstance(X, Mapping):
        what, remedy = own, f"give pandas.DataFrame({name}) if it maps names to columns."
    elif isinstance(X, list | tuple) and len(X) and isinstance(X[0], Mapping):
        what, remedy = f"{own} of {type(X[0]).__name__}", f"give pandas.DataFrame({name})."
    elif isinstance(X, Iterator):
        what = own
        remedy = (
            f"give numpy.array(list({name})) if it gives rows, or nearkin.open_rows({name}) if it "
            "gives blocks of rows."
        )
    elif hasattr(X, "__dask_graph__"):
        remedy = (
            f"give {name}.compute(), which brings it into memory, or nearkin.open_rows({name}) to "
            "leave it on the workers."
        )
    elif theirs.startswith("pyarrow") and hasattr(X, "to_table"):
        remedy = (
            f"give {name}.to_table(), which brings it into memory, or nearkin.open_rows(path) to "
            "read it block by block."
        )
    else:
        refuse_duplicate_names(X)
        table = nw.from_native(X, allow_series=True, pass_through=True)
        if isinstance(table, nw.LazyFrame):
            remedy = f"give {name}.collect(), which brings it into memory."
        elif isinstance(table, nw.Series):
            what = f"{theirs}, a single column or row"
            remedy = f"give {name}.to_frame() if it is a column, or a frame of one row."
    if remedy:
        raise InputTypeError(
            f"{name} is {what}, not an array or a data frame with a row for each thing: {remedy}"
        )


def refuse_words(X: Any, name: str = "X", *, learner: Any = None, fitted: bool = False) -> None:
    """Raise if columns of a data frame are not numbers, with code that encodes them.

    scikit-learn would name the first value that it cannot read, and take dates, categories that
    are numbers and texts such as "7" for numbers without a word. ``fitted`` is whether the learner
    was fitted already, to numbers.
    """
    types = find_word_columns(X)
    if not types:
        return
    found = (
        f"{len(types)} of the {X.shape[1]} columns of {name} are not numbers: "
        f"{few(f'{column!r} ({kind})' for column, kind in types.items())}. "
    )
    if fitted:
        raise InputError(
            f"{found}Turn them into numbers as those were that {type(learner).__name__} was fitted "
            "to. A nearkin.Chain with a transformer as its first step does so by itself."
        )
    raise InputError(
        f"{found}Turn them into numbers first:\n\n    from nearkin import TableEncoder\n"
        "    encoder = TableEncoder()\n    X = encoder.fit_transform(X)\n\n"
        f"{_explain_new_rows(learner, 'encoder')}"
    )


def find_word_columns(X: Any) -> dict[Any, str]:
    """Names of a data frame's columns that are not numbers, and of their types."""
    frame = to_frame(X)
    if frame is None:
        return {}
    return {
        column.name: str(column.dtype).partition("(")[0]
        for column in frame.iter_columns()
        if not _may_be_numbers(column)
    }


def refuse_gaps(
    X: Any, given: Any, name: str = "X", *, learner: Any = None, fitted: bool = False
) -> None:
    """Raise if numbers are missing, infinite or too large, with their places and code that mends X.

    Numbers are too large if their squares overflow. ``given`` is X before validation, perhaps with
    names of columns; ``fitted`` whether the learner was fitted already.
    """
    values: Any = X.data if is_sparse(X) else X
    if values.dtype.kind != "f":
        return
    flat = values.ravel(order="K")
    # By parts for which BLAS starts no threads: they would stay awake for longer than small fits.
    size = _FEW_NUMBERS if len(flat) <= 100 * _FEW_NUMBERS else len(flat)
    parts = (flat[start : start + size] for start in range(0, len(flat), size or 1))
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(sum(np.vdot(part, part) for part in parts)):
            return
    bad = ~np.isfinite(values)
    if not bad.any():
        _refuse_overflow(X, given, name)
        return
    cells = _locate_bad_cells(X, bad)
    nan = bool(np.isnan(values[bad]).any())
    first_row, first_column = cells[0]
    columns, counts = np.unique(cells[:, 1], return_counts=True)
    names = _column_names(given, X.shape[1])
    row_value = X[first_row, first_column]
    kind = "NaN" if np.isnan(row_value) else "infinity"
    found = (
        f"{name} contains {kind} in row {first_row}, column {names[first_column]}. "
        f"{counted(len(cells), 'cell')} of {counted(len(columns), 'column')} of {X.shape[1]} "
        f"{'are' if len(cells) > 1 else 'is'} {'missing' if nan else 'infinite'}"
        f"{' or infinite' if nan and np.isinf(values).any() else ''}: "
        f"{few(f'{names[c]} ({n})' for c, n in zip(columns, counts, strict=True))}. "
    )
    as_table = "" if to_frame(given) is None else _suggest_table(learner)
    if fitted:
        raise InputError(
            f"{found}Fill them in as those were that {type(learner).__name__} was fitted to, or "
            "leave these rows out. A nearkin.Chain with an imputer as its first step does so by "
            f"itself.{as_table}"
        )
    code = _imputer_code(
        given, infinite=bool(np.isinf(values).any()), empty=counts.max() == X.shape[0]
    )
    raise InputError(
        f"{found}Leave these rows out, or fill the cells in, for example by the medians of their "
        f"columns:\n\n{code}\n\n{_explain_new_rows(learner, 'imputer')}{as_table}"
    )


def _refuse_overflow(X: Any, given: Any, name: str) -> None:
    low, high = (
        to_dense(ends).ravel().astype(np.float64) for ends in (X.min(axis=0), X.max(axis=0))
    )
    largest = np.maximum(-low, high)
    column, limit = int(largest.argmax()), _LARGEST.get(X.dtype.name, np.inf)
    if largest[column] > limit:
        shown = _column_names(given, X.shape[1])[column]
        raise InputError(
            f"column {shown} of {name} reaches {largest[column]:.3g}, "
            f"whose square overflows: divide it, so that no value is beyond {limit:g}."
        )


def to_frame(X: Any) -> nw.DataFrame[Any] | None:
    """X as a narwhals data frame, or None if it is no data frame in memory."""
    if isinstance(X, np.ndarray):
        return None
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            _ = frame.schema
            return frame
    except ValueError:  # two columns of one name, which scikit-learn minds or does not
        pass
    return None


def reorder_columns(learner: Any, X: Any) -> Any:
    """Select the columns of ``fit`` from a data frame, in its order, if it has them all; else X."""
    names = getattr(learner, "feature_names_in_", None)
    frame = None if names is None else to_frame(X)
    if frame is None or names is None:
        return X
    wanted, there = [str(name) for name in names], frame.columns
    if wanted == there or not set(wanted) <= set(there):
        return X
    return frame.select(wanted).to_native()


def refuse_duplicate_names(X: Any) -> None:
    """Raise if two columns of a data frame have the same name."""
    given: Any = ()
    if nw.dependencies.is_pandas_dataframe(X):
        given = X.columns
    elif nw.dependencies.is_pyarrow_table(X):
        given = X.column_names
    names = [str(name) for name in given]
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise InputError(f"two columns of the table are called {again!r}: rename one of them.")


def _may_be_numbers(column: nw.Series[Any]) -> bool:
    """Whether a column has only numbers, as NumPy reads objects, or missing cells."""
    if (
        column.dtype.is_numeric()
        or column.dtype == nw.Boolean
        or column.null_count() == len(column)
    ):
        return True
    if column.dtype not in (nw.Object, nw.Unknown):
        return False
    values = column.to_list()
    if any(isinstance(value, str | bytes) for value in values):  # which it would try to read
        return False
    try:
        return np.array(values, dtype=np.float64).ndim == 1
    except (TypeError, ValueError):
        return False


def _imputer_code(given: Any, *, infinite: bool, empty: bool) -> str:
    """Code that fills missing and infinite cells, for a message."""
    lines = ["from sklearn.impute import SimpleImputer"]
    if infinite and hasattr(given, "iloc"):
        lines += ["X = X.replace([float('inf'), -float('inf')], float('nan'))"]
    elif infinite and is_sparse(given):
        lines += ["X = X.copy()", "X.data[abs(X.data) == float('inf')] = float('nan')"]
    elif infinite:
        lines = ["import numpy as np", *lines, "X = np.where(np.isfinite(X), X, np.nan)"]
    options = ", keep_empty_features=True" if empty else ""
    lines += [
        f'imputer = SimpleImputer(strategy="median"{options})',
        "X = imputer.fit_transform(X)",
    ]
    return "\n".join(f"    {line}" for line in lines)


def _explain_new_rows(learner: Any, transformer: str) -> str:
    """End of a message: how to transform new rows in the same way."""
    if learner is None:
        return f"and new rows by {transformer}.transform(X_new)."
    whole = "nearkin.Chain" if hasattr(learner, "pair_distance") else "scikit-learn Pipeline"
    return (
        f"and new rows by {transformer}.transform(X_new); a {whole} of both, {transformer} and "
        "learner, does so by itself."
    )


def _suggest_table(learner: Any) -> str:
    """End of a message: which learner takes a data frame with missing cells."""
    if not hasattr(learner, "pair_distance"):
        return ""
    name = type(learner).__name__
    whole = f"{name}(table=TableEncoder())" if hasattr(learner, "table") else ""
    whole = whole or f"Chain([TableEncoder(), {name}()])"
    return f" To learn from a table with its gaps as they are, fit {whole}."


def _locate_bad_cells(X: Any, bad: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Row and column numbers (k, 2) of cells that are not finite, row by row."""
    if not is_sparse(X):
        return np.argwhere(bad)
    whole = X.tocsr()
    rows = np.repeat(np.arange(X.shape[0]), np.diff(whole.indptr))
    bad = ~np.isfinite(whole.data)
    cells = np.column_stack([rows[bad], whole.indices[bad]]).astype(np.int64)
    return np.asarray(cells[np.lexsort(cells.T[::-1])])


def _column_names(given: Any, n_columns: int) -> list[str]:
    """Columns as messages name them: quoted names, or numbers."""
    frame = to_frame(given)
    columns = range(n_columns) if frame is None else frame.columns
    return [str(column) if isinstance(column, int) else repr(column) for column in columns]


Array = Any  # an array of torch or CuPy
# What takes sparse rows, in words.
TAKE_SPARSE = (
    f"{', '.join(learner.name for learner in LEARNERS if learner.sparse)}, MPCKMeans, "
    "EnergyClassifier and NeighborIndex"
)


def validate_rows(learner: Any, X: Any, *, reset: bool, **options: Any) -> Any:
    """Validate X for a learner: numbers in float32 or float64, host, device or remote.

    ``reset`` is whether this is ``fit``. The learner has ``_array_api = True`` if it takes foreign
    arrays, ``_remote = True`` if remote rows, and ``_encode_table(X, reset)`` if it encodes
    tables; all else is refused.
    """
    if is_remote(X):
        return _check_remote(learner, X, reset=reset)
    refuse_stranded(X)
    _refuse_unknown(X)
    refuse_non_tables(X)
    if hasattr(learner, "_encode_table"):
        X = learner._encode_table(X, reset=reset)
    if not reset:
        X = reorder_columns(learner, X)
    refuse_words(X, learner=learner, fitted=not reset)
    if is_sparse(X):
        if not options.get("accept_sparse"):
            _refuse_sparse(learner)
        X = to_canonical(X)
    if is_foreign(X):
        X = _check_foreign(learner, X)
    options = {"dtype": float_dtypes(X), "ensure_all_finite": is_foreign(X), **options}
    is_array = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    if is_array:  # as scikit-learn does, before columns are counted
        refuse_unseen_gaps(X, X, learner=learner, fitted=not reset)
    with raise_input_errors():
        found = validate_data(learner, X, reset=reset, **options)
    if not is_array:
        rows = found[0] if isinstance(found, tuple) else found  # with y
        refuse_unseen_gaps(rows, X, learner=learner, fitted=not reset)
    return found


def check_input(X: Any, name: str = "X", **options: Any) -> Any:
    """Validate X without a learner: ``check_array`` with errors of :func:`validate_rows`."""
    refuse_stranded(X, name)
    refuse_non_tables(X, name)
    refuse_words(X, name)
    if is_sparse(X) and options.get("accept_sparse"):
        X = to_canonical(X)
    options = {"dtype": float_dtypes(X), "ensure_all_finite": is_foreign(X), **options}
    with raise_input_errors():
        found = check_array(X, input_name=name, **options)
    refuse_unseen_gaps(found, X, name)
    return found


def refuse_unseen_gaps(X: Any, given: Any, name: str = "X", **context: Any) -> None:
    """:func:`refuse_gaps`, unless scikit-learn has checked or is told to assume finite numbers."""
    if not (is_foreign(X) or get_config()["assume_finite"]):
        refuse_gaps(X, given, name, **context)


def _refuse_unknown(X: Any) -> None:
    """Raise for arrays of unknown libraries, which scikit-learn would pass on under dispatch."""
    unknown = hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray)
    if unknown and not is_foreign(X) and get_config()["array_api_dispatch"]:
        raise InputTypeError(
            f"X is an array of {type(X).__module__.partition('.')[0]}, but only those of NumPy, "
            f"{' and '.join(LIBRARIES)} are known: give one of these."
        )


def _refuse_sparse(learner: Any) -> None:
    """Raise that a learner takes no sparse rows, with the remedy."""
    kernel = getattr(learner, "kernel", None)
    if kernel == "precomputed":
        raise InputTypeError(
            "X is a sparse matrix, but a kernel matrix is dense: give K.toarray()."
        )
    raise InputTypeError(
        f"X is a sparse matrix, which {type(learner).__name__} does not take. {TAKE_SPARSE} do; or "
        "make its rows dense first, in as many columns as serve: Chain([TruncatedSVD(100), "
        f"{type(learner).__name__}(...)]), or X.toarray() if there are few."
    )


def _check_foreign(learner: Any, X: Array) -> Array:
    """A torch or CuPy array without its gradient; an error if the learner takes none."""
    if not getattr(learner, "_array_api", False):
        raise InputTypeError(
            f"{type(learner).__name__} takes NumPy arrays only, got one of {describe_place(X)}: "
            f"give {'X.cpu().numpy()' if library(X) == 'torch' else 'X.get()'}."
        )
    if dtype_name(X) in ("float16", "bfloat16"):
        raise InputTypeError(
            f"X is of type {dtype_name(X)}, which is too coarse for distances: give "
            f"{'X.float()' if library(X) == 'torch' else 'X.astype(cupy.float32)'}."
        )
    return X.detach() if library(X) == "torch" else X


def _check_remote(learner: Any, X: RemoteRows, *, reset: bool) -> RemoteRows:
    """Check shape and names of remote rows for a learner; their numbers are checked when read."""
    name = type(learner).__name__
    if not getattr(learner, "_remote", False):
        raise InputTypeError(
            f"{name} takes arrays only, not rows that are read block by block: give it some of "
            "them, for example rows.take(numbers)."
        )
    if X.device is not None and not getattr(learner, "_array_api", False):
        raise InputTypeError(
            f"{name} works on the host only, but the rows are opened with device={X.device!r}: "
            "leave that out."
        )
    d = X.n_columns
    if reset:
        n = X.shape[0]
        if n < 2:
            raise InputError(f"Found X with {n} sample(s), but {name} needs at least 2.")
        learner.n_features_in_ = d
        if X.names is not None:
            learner.feature_names_in_ = np.asarray(X.names, dtype=object)
        return X
    if d != learner.n_features_in_:
        raise InputError(
            f"X has {d} features, but {name} is expecting {learner.n_features_in_} features as "
            "input."
        )
    known = getattr(learner, "feature_names_in_", None)
    if known is not None and X.names is not None and list(known) != X.names:
        other = next((a, b) for a, b in zip(known, X.names, strict=True) if a != b)
        raise InputError(
            f"{name} was fitted to other columns: {other[0]!r} where these rows have {other[1]!r}. "
            "Choose the same columns in the same order."
        )
    return X


# Rows of a block that is read from a file or cut from an array, or fewer if they are wide.
BLOCK_ROWS = 65_536
BLOCK_BYTES = 2**25


def rows_per_read(n_columns: int, dtype: np.dtype[Any]) -> int:
    """Number of rows to read at a time: 65 536, or fewer if wide."""
    return max(1, min(BLOCK_ROWS, BLOCK_BYTES // (n_columns * dtype.itemsize)))


def check_dtype(dtype: np.dtype[Any], where: str) -> np.dtype[Any]:
    """Type to read in: float32 for float32, else float64; an error for words and float16."""
    if dtype == np.float16:
        raise InputTypeError(
            f"{where} is of type float16, which is too coarse for distances: give float32."
        )
    if dtype.kind not in "biuf":
        raise InputTypeError(f"{where} is of type {dtype}, not of numbers.")
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def require_finite_block(
    rows: Floats, start: int, where: str, names: Sequence[str] | None = None
) -> Floats:
    """A block of rows from ``start`` on; an error names row and column of a number not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(rows.sum())
    if suspicious and not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        name = column if names is None else repr(names[column])
        raise InputError(
            f"row {start + row}, column {name} of {where} is {rows[row, column]}: fill or drop "
            "rows with missing numbers first."
        )
    return rows


Method = TypeVar("Method", bound=Callable[..., Any])


def matrix_of_rows(method: Method) -> Method:
    """Decorator: let a method ``(X_a, X_b=None)`` that returns a matrix take single rows, too.

    Of a row x, ``method(x, X)`` is of shape (n,), and of two rows it is a number.
    """

    @wraps(method)
    def taking(self: Any, X_a: Any, X_b: Any = None) -> Any:
        rows_a, rows_b = to_rows(self, X_a), to_rows(self, X_b)
        found = method(self, rows_a, rows_b)
        one_a = rows_a is not X_a
        one_b = one_a if X_b is None else rows_b is not X_b
        if not (one_a or one_b):
            return found
        return found[0 if one_a else slice(None), 0 if one_b else slice(None)]

    return cast(Method, taking)


def row_by_row(method: Method) -> Method:
    """Decorator: let a method ``(X_a, X_b)`` that compares rows pairwise take single rows, too.

    A row x is compared with all of the other's rows, and of two rows it is a number.
    """

    @wraps(method)
    def taking(self: Any, X_a: Any, X_b: Any) -> Any:
        rows_a, rows_b = to_rows(self, X_a), to_rows(self, X_b)
        one_a, one_b = rows_a is not X_a, rows_b is not X_b
        if one_a != one_b:
            return self.distance(X_a, X_b)
        found = method(self, rows_a, rows_b)
        return found[0] if one_a else found

    return cast(Method, taking)


def to_rows(learner: Any, x: Any) -> Any:
    """A single row as an array or frame of one row; everything else as it is.

    For learners whose rows are texts, a one-dimensional array is several rows.
    """
    if not hasattr(learner, "n_features_in_"):
        return x
    if hasattr(x, "to_frame") and hasattr(x, "index"):  # a row of a frame of pandas
        knows_names = hasattr(learner, "feature_names_in_") or hasattr(learner, "table_")
        named = knows_names and all(isinstance(k, str) for k in x.index)
        return x.to_frame().T.infer_objects() if named else x.to_numpy().reshape(1, -1)
    if isinstance(x, list | tuple):
        return [x] if len(x) and isinstance(x[0], Real) else x
    if getattr(x, "ndim", None) != 1:
        return x
    if library(x) is not None:
        return x[None, :]
    return x.reshape(1, -1) if hasattr(x, "reshape") else x


Ids = NDArray[Any]  # int64, or object with str in it


def check_ids(ids: Any, n_rows: int, n_before: int, earlier: Ids | None) -> Ids:
    """Check ids (n,), int64 or str, like ``earlier`` ones; None numbers rows from ``n_before``."""
    strings = earlier is not None and earlier.dtype.kind == "O"
    if ids is None:
        if strings:
            raise InputError("ids are needed: those of earlier rows are strings.")
        return np.arange(n_before, n_before + n_rows, dtype=np.int64)
    array = _convert_ids(ids)
    if array.shape != (n_rows,):
        raise InputError(f"ids have shape {array.shape}: needed is one for each of {n_rows} rows.")
    if earlier is not None and strings != (array.dtype.kind == "O"):
        kinds = ("strings", "integers") if strings else ("integers", "strings")
        raise InputTypeError(
            f"ids must be {kinds[0]}, as those of earlier rows are, not {kinds[1]}."
        )
    return array


def _convert_ids(ids: Any) -> Ids:
    """Ids as int64 array, or as object array of str; errors for anything else."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "i":
        return ids.astype(np.int64)
    names = list_values(ids)
    kind = str if names and isinstance(names[0], str) else Integral
    for row, name in enumerate(names):
        if not isinstance(name, kind) or isinstance(name, bool):
            raise InputTypeError(
                f"ids[{row}] is {name!r}: ids must be all integers or all strings, and ids[0] is "
                f"{names[0]!r}."
            )
    try:
        return np.array(names, dtype=object if kind is str else np.int64)
    except OverflowError:
        raise InputError("ids must fit into 64 bits with a sign; make strings of them.") from None


def list_values(values: Any) -> list[Any]:
    """List of plain Python values from a list, array or data frame column."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series.to_list()
    return list(values.tolist() if hasattr(values, "tolist") else values)


def are_distinct(ids: Ids) -> bool:
    """Whether all ids differ; memory for two numbers an id."""
    numbers = ids
    if ids.dtype.kind == "O":
        numbers = np.fromiter(map(hash, ids), dtype=np.int64, count=len(ids))
    ordered = np.sort(numbers)
    if (ordered[1:] != ordered[:-1]).all():
        return True
    # Two texts may have one hash.
    return ids.dtype.kind == "O" and len(set(ids)) == len(ids)


def add_new_ids(known: set[Any] | range, new: Ids, *, numbered: bool) -> set[Any] | range:
    """Union of known ids and new ones; an error if a new one is known already or occurs twice.

    The set is changed in place. With only row numbers (``numbered``) it is a range, for memory.
    """
    if numbered and isinstance(known, range):
        return range(len(known) + len(new))
    names = new.tolist()
    seen: dict[Any, int] = {}
    for row, name in enumerate(names):
        if name in known:
            raise InputError(
                f"ids[{row}] is {name!r}, which the index holds already: ids must differ. By "
                "default they are row numbers, counted on."
            )
        if seen.setdefault(name, row) != row:
            raise InputError(f"ids must differ, but {name!r} is both row {seen[name]} and {row}.")
    known = set(known) if isinstance(known, range) else known
    known.update(names)
    return known
