"""Learn a metric from an open file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from nearkin.cli.failures import UserError
from nearkin.cli.learners import landmarks_for
from nearkin.cli.messages import say
from nearkin.cli.pair_files import read_pairs
from nearkin.cli.tables import Table
from nearkin.column_scales import differing_units
from nearkin.learners.compositions import Chain
from nearkin.pairs import Pairs
from nearkin.scaled_rows import in_words, units_are_known

# Numbers of rows that are read as a whole, where a learner could do with blocks: 64 MB.
_MOST_READ = 2**23


def known_pairs(table: Table, path: Path | None, delimiter: str | None) -> Pairs | None:
    """Pairs of a table's rows from a file."""
    if path is None:
        return None
    n = len(table.rows)
    found = read_pairs(path, n_rows=n, ids=table.ids(), rows_of=table.file, delimiter=delimiter)
    pairs = found.pairs(n)
    if not len(pairs):
        raise UserError(f"{path} says nothing: no pair is the same or different.")
    return pairs


def learned(
    cls: Any,
    settings: dict[str, Any],
    table: Table,
    y: Any,
    pairs: Pairs | None,
    *,
    standardise: bool,
) -> Any:
    """Metric of this class, with the names of the columns.

    Rows are read block by block, several times, if the learner can and they are many.
    """
    n, d = table.rows.shape
    landmarks = landmarks_for(cls, settings, n)
    if landmarks is not None:
        settings = {**settings, "n_landmarks": landmarks}
        say(f"{n} rows are many: {landmarks} of them serve as landmarks (--set n_landmarks=...).")
    learner = cls(**settings)
    by_blocks = getattr(cls, "_remote", False) and n * d > _MOST_READ
    X: Any = table.rows if by_blocks else table.rows.to_numpy()
    if standardise and by_blocks:
        metric = _standardised(learner, table, y, pairs)
    elif standardise:
        metric = Chain([StandardScaler(), learner]).fit(X, y, pairs=pairs)
    else:
        _note_unequal(X, table.names)
        with units_are_known():
            metric = learner.fit(X, y, pairs=pairs)
    if table.names is not None:
        metric.feature_names_in_ = np.array(table.names, dtype=object)
    return metric


def _standardised(learner: Any, table: Table, y: Any, pairs: Pairs | None) -> Chain:
    """What a chain learns from the same rows in memory."""
    scaler = StandardScaler()
    for block in table.rows:
        scaler.partial_fit(block)
    names = [f"x{j}" for j in range(table.rows.n_columns)]
    fitted = learner.fit(table.rows.mapped(scaler.transform, names), y, pairs=pairs)
    vars(fitted).pop("feature_names_in_", None)  # names of its own, not the data's
    chain = Chain([StandardScaler(), learner])
    return chain._made_of([scaler, fitted], table.rows.n_columns)


def _note_unequal(X: Any, names: list[str] | None) -> None:
    found = differing_units(X)
    if found is not None:
        say(f"note: {in_words(found, names)}; --standardise gives all columns the same say.")
