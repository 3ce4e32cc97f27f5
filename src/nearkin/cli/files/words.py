"""Files with columns of words, dates and codes: encoded as rows of numbers, block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from nearkin.cli.failures import UserError, listed
from nearkin.cli.files.column_choice import Choice
from nearkin.cli.files.features import Features, Rows, Unseen
from nearkin.cli.files.formats import Source
from nearkin.cli.messages import say
from nearkin.errors import few
from nearkin.tables.encoder import TableEncoder

# Columns that a message names.
_MOST_NAMED = 20


def fitted_encoder(source: Source, columns: Sequence[str], choice: Choice) -> TableEncoder:
    """What makes numbers of some columns of a file, which is read as a whole.

    Parameters
    ----------
    source : Source
    columns : sequence of str
    choice : Choice
        With kinds that are stated, and the order of dates.
    """
    refuse_missing_policy(choice)
    batches = list(source.batches([], columns))
    if sum(map(len, batches)) < 2:
        raise UserError(f"{source.file} has too few rows: two are needed at least.")
    encoder = TableEncoder(kinds=stated_kinds(choice, columns, source.file), dates=choice.dates)
    encoder.fit(pa.Table.from_batches(batches))
    say_kinds(encoder.held_)
    return encoder


def say_kinds(kinds: Mapping[str, str]) -> None:
    """Say what columns were found to hold."""
    shown = few((f"{name!r} ({kind})" for name, kind in kinds.items()), _MOST_NAMED)
    say(f"note: columns hold {shown}; --kinds NAME=KIND says otherwise.")


def features_of_table(source: Source, encoder: TableEncoder, along: Sequence[str]) -> Features:
    """What an encoder makes of a file's columns.

    Raises
    ------
    UserError
        If the file lacks one of them.
    """
    columns = encoder.columns_
    absent = [name for name in columns if name not in source.kinds]
    if absent:
        raise UserError(
            f"the model was learned from columns that {source.file} does not have: "
            f"{listed(absent)}."
        )
    width = len(encoder.groups_)

    def read(unseen: Unseen | None) -> Rows:
        start = 0
        for batch in source.batches([], list(dict.fromkeys([*columns, *along]))):
            rows = encoder.coordinates(pa.Table.from_batches([batch.select(columns)]), start)
            start += len(batch)
            yield rows, batch.select(along) if along else None

    return Features(
        read,
        [repr(name) for name in encoder.groups_],
        np.zeros(width, dtype=bool),
        None,
        None,
        np.dtype(np.float64),
        lambda: sum(map(len, source.batches([], columns[:1]))),
    )


def refuse_missing_policy(choice: Choice) -> None:
    """Raise if something is to be done about missing cells, which words need not."""
    if choice.missing is not None:
        raise UserError(
            f"--missing {choice.missing}: where columns hold words, a missing cell is known as "
            "such, and nothing is to be done about it. Leave --missing out, or choose columns of "
            "numbers with --columns."
        )


def stated_kinds(choice: Choice, columns: Sequence[str], file: str) -> dict[str, Any]:
    """What the user says that columns hold; raises if one of them is not there."""
    for name in choice.kinds:
        if name not in columns:
            raise UserError(
                f"--kinds {name}={choice.kinds[name]}: {file} has no such column to learn from; "
                f"there are {listed(columns)}."
            )
    one_hot = {name: "category" for name in choice.one_hot if name in columns}
    return {**one_hot, **choice.kinds}
