"""Which pairs of a file's rows to ask about, given what has been answered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from nearkin._types import Floats
from nearkin.cli.files.tables import Table
from nearkin.cli.models import Model
from nearkin.learners.metric_learner import MetricLearner
from nearkin.messages import noticed
from nearkin.pairs.pairs import Pairs
from nearkin.questions.outlook import outlook
from nearkin.questions.strategies import in_balance, suggest_pairs
from nearkin.scores.verdicts import usual_distance

# Answers, at least, between two times that a metric for groups is learned.
_LEARNED_EVERY = 5


class Untaught(BaseEstimator):
    """Rows as they are, for the first questions; two rows are the same up to the median distance.

    So does :func:`nearkin.learn_actively` begin.
    """

    def fit(self, X: Floats, y: Any = None, *, seed: int = 0) -> Untaught:
        """Find the median distance, of random pairs of rows."""
        del y
        self.threshold_ = usual_distance(X, np.random.RandomState(seed))
        return self

    def transform(self, X: Floats) -> Floats:
        """Return the rows themselves: nothing is learned yet."""
        return X


class Questions:
    """Questions about the rows of a table, which are held in memory.

    Questions for groups, without a model, go by a metric that is learned from the answers every now
    and then, as :func:`nearkin.learn_actively` does.
    """

    def __init__(
        self, model: Model | None, table: Table, known: Pairs | None, strategy: str, seed: int
    ) -> None:
        self._X = table.rows.to_numpy()
        self._metric = Untaught().fit(self._X, seed=seed) if model is None else model.metric
        self._known = Pairs(n_rows=len(self._X)) if known is None else known
        self._answers: list[tuple[int, int, bool | None]] = []
        self._strategy = strategy
        self._seed = seed
        self._learns = model is None and strategy == "clusters"
        self._n_learned = 0

    def tell(self, left: int, right: int, same: bool | None) -> None:
        """Take an answer into account."""
        self._answers.append((left, right, same))

    def take_back(self) -> None:
        """Forget the last answer."""
        del self._answers[-1]

    def one(self) -> tuple[int, int] | None:
        """The most useful pair of row numbers, or None if there is nothing to ask."""
        found = self.next(1)
        return (int(found[0, 0]), int(found[0, 1])) if len(found) else None

    def next(self, n: int) -> NDArray[np.int64]:
        """Pairs of row numbers, the most useful first."""
        self._learn()
        return suggest_pairs(
            self._metric,
            self._X,
            self._pairs(),
            n,
            strategy=self._strategy,
            exclude=self._answered(None) or None,
            random_state=self._seed,
        )

    def _learn(self) -> None:
        """Learn a metric for groups where there are a quarter more answers than it has seen."""
        pairs = self._pairs()
        is_due = abs(len(pairs) - self._n_learned) >= max(_LEARNED_EVERY, len(pairs) // 4)
        if self._learns and is_due and len(pairs.must_link) and len(pairs.cannot_link):
            told = in_balance(pairs, np.random.RandomState(self._seed))
            with noticed():  # of a metric that is there for the questions only
                self._metric = MetricLearner(random_state=self._seed).fit(self._X, pairs=told)
            self._n_learned = len(pairs)

    def standing(self) -> str:
        """Whether further answers are worth the asking."""
        return f"more answers? {outlook(self._X, self._pairs(), random_state=self._seed)}"

    def _answered(self, answer: bool | None) -> list[tuple[int, int]]:
        return [(i, j) for i, j, same in self._answers if same is answer]

    def _pairs(self) -> Pairs:
        """All that is known."""
        told = Pairs(self._answered(True), self._answered(False), n_rows=len(self._X))
        return self._known + told
