"""Model files, and whether they fit a file of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nearkin.cli.failures import UserError
from nearkin.model_file import load
from nearkin.remote import Floats
from nearkin.verdicts import Verdicts, verdicts_of


class Model:
    """A learned metric from a file.

    Attributes
    ----------
    file : str
    metric : learner
        It takes plain arrays: names of columns are checked before.
    names : list of str or None
        Of the columns that it was learned from.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise UserError(f"{path}: there is no such file; nearkin fit makes a model.")
        self.file = str(path)
        self.metric: Any = load(path)
        names = getattr(self.metric, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]
        if names is not None:
            del self.metric.feature_names_in_

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
        return verdicts_of(self.metric)

    @property
    def output_names(self) -> list[str]:
        """Of the columns of embedded rows."""
        return [str(name) for name in self.metric.get_feature_names_out()]

    def part(self, attribute: str) -> Any:
        """The learner that has a fitted attribute: the model itself, or its last step."""
        steps = [self.metric, *getattr(self.metric, "steps_", [])[-1:]]
        return next((step for step in steps if hasattr(step, attribute)), None)

    @property
    def scaler(self) -> Any:
        """What standardises rows first, or None."""
        first = getattr(self.metric, "steps_", [None])[0]
        return first if type(first).__name__ == "StandardScaler" else None
