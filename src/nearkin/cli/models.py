"""Model files, and whether they fit a file of rows."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin._types import Floats
from nearkin.cli.common import UserError
from nearkin.cli.files.inputs import FORMS, content_of, form_of_name, is_stream, on_disk, seems
from nearkin.records.matcher import is_matcher
from nearkin.scores.quality import Quality
from nearkin.scores.verdicts import Verdicts, read_verdicts
from nearkin.storage.models import Facts, load_with_facts

if TYPE_CHECKING:
    from nearkin.cli.files.tables import Table

# What takes matchers.
USES = "nearkin duplicates, link, same, neighbors, suggest and evaluate"


def remembered(table: Table) -> dict[str, Any]:
    """What a metric is to keep of how its rows came from a table, beside the names of columns."""
    found = {"vector_column_": table.vector, "fill_values_": table.fill, "table_": table.encoder}
    return {name: value for name, value in found.items() if value is not None}


def refuse_table(path: Path, name: str) -> None:
    """Raise if a file that is to be a model is plainly a table."""
    if path.is_dir():
        raise UserError(f"{name} is a folder, not a model.")
    content = content_of(path) if path.stat().st_size else "model"
    if content in FORMS and form_of_name(path) is not None:
        raise UserError(
            f"{name} is {seems(content)}, not a model: are the two in each other's place?"
        )


def refuse_matcher(path: Path, name: str) -> None:
    """Raise if a file holds a matcher, which knows records and no space to map rows to."""
    if is_matcher(path):
        raise UserError(
            f"{name} is a matcher of records, which has no coordinates for them: {USES} take it.\n"
            "For all else learn a model from the same table and answers: nearkin fit people.csv "
            "--pairs answers.csv -o model.nearkin"
        )


def part_with(metric: Any, attribute: str) -> Any:
    """The learner that has a fitted attribute: a metric itself, or a step of it; or None."""
    steps = [metric, *reversed(getattr(metric, "steps_", []))]
    return next((step for step in steps if hasattr(step, attribute)), None)


def model_or_none(path: Path) -> Model | None:
    """A learned metric from a file; the name "none" stands for no model."""
    return None if str(path) == "none" else Model(path)


class Model:
    """A learned metric from a file.

    Attributes
    ----------
    file : str
    metric : learner
        It takes plain arrays: names of columns are checked before.
    names : list of str or None
        Of the columns that it was learned from.
    vector : str or None
        The column of vectors that it was learned from.
    fill : ndarray of shape (d,) or None
        What missing cells are to be filled with.
    table : TableEncoder or None
        What makes rows of numbers of a table with words, which the metric takes.
    facts : Facts
        What the file says of rows.
    """

    def __init__(self, path: Path, fitted: tuple[Any, Facts] | None = None) -> None:
        """What a file has, or is going to have if that is given."""
        self.file = str(path)
        if fitted is None:
            if not path.exists() and not is_stream(path):
                raise UserError(f"{path}: there is no such file; nearkin fit makes a model.")
            self.file, path = on_disk(path, "MODEL")
            refuse_table(path, self.file)
            refuse_matcher(path, self.file)
        metric, self.facts = load_with_facts(path) if fitted is None else fitted
        self.metric: Any = copy(metric)
        attributes = vars(self.metric)
        names = attributes.pop("feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]
        self.vector: str | None = attributes.pop("vector_column_", None)
        self.fill: Floats | None = attributes.pop("fill_values_", None)
        self.table: Any = attributes.pop("table_", None)
        if self.table is None and self.metric_begins_with_a_table:
            self.table, self.metric = self.metric.steps_[0], self.metric.after_table()
            self.names = None

    @property
    def metric_begins_with_a_table(self) -> bool:
        """Whether the first step of a chain makes numbers of a table."""
        return hasattr(getattr(self.metric, "steps_", [None])[0], "groups_")

    def check_width(self, n_columns: int, file: str) -> None:
        """Raise if rows of a file are not as wide as those that the model was learned from."""
        expected = int(self.metric.n_features_in_)
        if n_columns != expected:
            raise UserError(
                f"{self.file} was learned from {expected} columns, but {file} has {n_columns}: "
                "choose the same with --columns."
            )

    def embed(self, rows: Floats) -> Floats:
        """Rows in the learned space."""
        return np.asarray(self.metric.transform(rows))

    @property
    def verdicts(self) -> Verdicts:
        """What distances say: same or different, and how sure that is."""
        return read_verdicts(self.metric)

    @property
    def held_out(self) -> Quality | None:
        """How good the model is on pairs that were held out while it was chosen, if it says so."""
        chosen = self.part("report_")
        found: Quality | None = None if chosen is None else chosen.report_.quality
        return found

    @property
    def output_names(self) -> list[str]:
        """Names of the columns of embedded rows."""
        return [str(name) for name in self.metric.get_feature_names_out()]

    def part(self, attribute: str) -> Any:
        """The learner that has a fitted attribute: the model itself, or a step of it."""
        return part_with(self.metric, attribute)

    @property
    def scaler(self) -> Any:
        """What standardises rows first, or None."""
        first = getattr(self.metric, "steps_", [None])[0]
        return first if type(first).__name__ == "StandardScaler" else None
