"""Which pairs of a file's rows to ask about, given what has been answered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from nearkin.cli.models import Model
from nearkin.cli.tables import Table
from nearkin.pairs import Pairs
from nearkin.remote import Floats
from nearkin.scores import linked_distances
from nearkin.tasks.suggest import suggest_pairs

_SOME_PAIRS = 1000


class Untaught(BaseEstimator):
    """Rows as they are, for the first questions; two rows are the same up to the median distance.

    So does :func:`nearkin.learn_actively` begin.
    """

    def fit(self, X: Floats, y: Any = None, *, seed: int = 0) -> Untaught:
        """Find the median distance, of random pairs of rows."""
        del y
        drawn = np.random.default_rng(seed).integers(len(X), size=(_SOME_PAIRS, 2))
        self.threshold_ = float(np.median(linked_distances(X, drawn)))
        return self

    def transform(self, X: Floats) -> Floats:
        """The rows themselves."""
        return X


class Questions:
    """Questions about the rows of a table, which are held in memory."""

    def __init__(
        self, model: Model | None, table: Table, known: Pairs | None, strategy: str, seed: int
    ) -> None:
        self._X = table.rows.to_numpy()
        self._metric = Untaught().fit(self._X, seed=seed) if model is None else model.metric
        self._known = Pairs(n_rows=len(self._X)) if known is None else known
        self._unsure: list[tuple[int, int]] = []
        self._strategy = strategy
        self._seed = seed

    def tell(self, left: int, right: int, same: bool | None) -> None:
        """Take an answer into account."""
        if same is None:
            self._unsure.append((left, right))
            return
        link = [(left, right)]
        n = len(self._X)
        answer = Pairs(link, n_rows=n) if same else Pairs(cannot_link=link, n_rows=n)
        self._known = self._known + answer

    def next(self, n: int) -> NDArray[np.int64]:
        """Pairs of row numbers, the most useful first."""
        return suggest_pairs(
            self._metric,
            self._X,
            self._known,
            n,
            strategy=self._strategy,
            exclude=self._unsure or None,
            random_state=self._seed,
        )
