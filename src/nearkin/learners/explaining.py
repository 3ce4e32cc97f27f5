"""Why rows are as far apart as they are: what every learned metric can say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats, Ints
from nearkin.errors import InputError
from nearkin.learners.contributions import parts_by_column, shares_by_column
from nearkin.learners.explanation import Explanation, Pull, cells_of
from nearkin.learners.pulls import (
    TaughtPart,
    answers_of,
    likeliest_to_pull,
    pulls_by_refits,
    pulls_of,
)
from nearkin.learners.words import words_of
from nearkin.pairs.closure import random_pairs
from nearkin.pairs.pairs import Pairs
from nearkin.rows import access, backends
from nearkin.rows.parallel import one_blas_thread
from nearkin.rows.sparse import dense
from nearkin.rows.validation import as_rows, frame_of, n_rows_of
from nearkin.spaces.maps import Map

# Rows of fit that are kept for importances, and pairs of these.
_SOME_ROWS = 60
_SOME_PAIRS = 30
# Answers of either kind that are told, and the least share of the squared distance of one.
_ANSWERS_TOLD = 10
_LEAST_PULL = 0.005

_NOT_KNOWN = (
    "Which answers pull them is not known here: explain(a, b, X=X, pairs=pairs) takes what the "
    "metric was learned from."
)
_NONE_ALONE = "No answer pulls them by itself: many do together, or none."
_BY_LABELS = "Which answers pull them is not known: the metric was learned from labels."


class ExplainingMixin:
    """Which columns, words and answers make two rows near or far, for a learner that has a map."""

    map_: Map
    n_features_in_: int
    chance_same: Callable[..., Any]
    _checked: Callable[..., Any]

    def explain(self, a: Any, b: Any, *, X: Any = None, pairs: Pairs | None = None) -> Explanation:
        """Why two rows are as far apart as the metric says: columns, words and answers.

        Parameters
        ----------
        a, b : array of shape (d,)
            Or a Series of pandas, or what ``transform`` takes, with one row.
        X : array of shape (n, d), optional
            Rows that the metric was learned from, with ``pairs``, if it does not know them any
            more: after it was loaded from a file, or where it keeps none of them.
        pairs : Pairs, optional
            Answers that it was learned from, of these rows.

        Returns
        -------
        Explanation
            Print it. :func:`nearkin.plot.explanation` draws it.

        Notes
        -----
        Parts of columns are Shapley values
        (:func:`nearkin.learners.contributions.parts_by_column`), which sum to the squared distance.

        Answers are left out one by one, and the others learned from again in the space that there
        is: the first explanation takes as many times some milliseconds, with eight parts of a
        ``MetricLearner`` a few seconds for a hundred answers. Where steps of a chain come before
        the last one, these stay as they are. Learners that are not learned in milliseconds are
        fitted again to X without each of the twelve answers that lie most along the two rows.

        Examples
        --------
        >>> import numpy as np
        >>> import nearkin as nk
        >>> X = np.random.default_rng(0).normal(size=(100, 3))
        >>> pairs = nk.Pairs.from_labels(X[:, 1] > 0, 40, random_state=0)
        >>> metric = nk.ITML(random_state=0).fit(X, pairs=pairs)
        >>> metric.explain(X[0], X[1]).named(1)
        ['1']
        """
        check_is_fitted(self)
        if (X is None) != (pairs is None):
            given, missing = ("X", "pairs") if pairs is None else ("pairs", "X")
            raise InputError(f"{given} is given without {missing}: answers take both.")
        # Two rows are explained on the host, wherever they are.
        rows = [backends.at_home(self._one_row(row, name)) for row, name in ((a, "a"), (b, "b"))]
        A, B = (self._checked_columns(row) for row in rows)
        learned, groups = self._map_of_columns()
        names, at = numbered_groups(groups)
        parts = parts_by_column(learned, A, B, at)[0]
        whole = float(max(parts.sum(), 0.0))
        table = self._table_of_columns()
        told: list[Pull] = []
        remark = ""
        if whole > 0:
            told, remark = self._pulls(rows, whole, X, pairs)
        return Explanation(
            float(np.sqrt(whole)),
            float(self.chance_same(*rows)[0]),
            float(self.threshold_),  # type: ignore[attr-defined]
            dict(zip(names, map(float, parts), strict=True)),
            self._cells(rows, names, A, B),
            {} if table is None or not whole else words_of(table, learned, *rows),
            told,
            remark,
        )

    def contributions(self, X_a: Any, X_b: Any) -> dict[str, Any]:
        """Which columns two rows are far apart in: the part of each in the squared distance.

        Parameters
        ----------
        X_a, X_b : array of shape (n, d)
            Compared row by row. Or one row each, of shape (d,) or a Series of pandas.

        Returns
        -------
        dict
            By name of the column, an array of shape (n,), or a number for one row. Parts sum to 1,
            and one may be negative where a column makes up for others: see :meth:`explain`. All are
            0 where rows are not apart.

        Examples
        --------
        >>> import nearkin as nk
        >>> import pandas as pd
        >>> people = {"name": ["Ada", "Ada", "Bob", "Rob"], "city": ["Rome", "Paris", "Bonn", None]}
        >>> metric = nk.Chain([nk.TableEncoder(), nk.Euclidean()])
        >>> metric = metric.fit(pd.DataFrame(people), pairs=nk.Pairs([(0, 1)], [(0, 2)]))
        >>> parts = metric.contributions(pd.DataFrame(people)[:1], pd.DataFrame(people)[1:2])
        >>> {column: float(part[0].round(6)) for column, part in parts.items()}
        {'name': 0.0, 'city': 1.0}
        """
        check_is_fitted(self)
        rows = [as_rows(self, X) for X in (X_a, X_b)]
        A, B = (self._checked_columns(X) for X in rows)
        if A.shape[0] != B.shape[0]:
            raise InputError(
                f"contributions compares row by row, but X_a has {A.shape[0]} rows and X_b has "
                f"{B.shape[0]}."
            )
        learned, groups = self._map_of_columns()
        names, at = numbered_groups(groups)
        found = shares_by_column(learned, A, B, at)
        one_row = rows[0] is not X_a and rows[1] is not X_b
        return {
            name: float(found[0, g]) if one_row else found[:, g] for g, name in enumerate(names)
        }

    def importances(self) -> dict[str, float]:
        """The share of each column in squared distances between rows of ``fit``, the largest first.

        It is the mean over 30 random pairs of 60 rows, found when it is first asked for. Shares
        sum to 1.

        Examples
        --------
        >>> import numpy as np
        >>> import nearkin as nk
        >>> X = np.random.default_rng(0).normal(size=(100, 3))
        >>> metric = nk.ITML(random_state=0).fit(X, X[:, 1] > 0)
        >>> next(iter(metric.importances()))
        '1'
        """
        check_is_fitted(self)
        known: dict[str, float] | None = self.__dict__.get("_importances")
        if known is not None:
            return known
        rows = self.__dict__.get("_some_rows")
        if rows is None:
            raise InputError(
                "importances are found from rows of fit, which a metric from a file, or of rows "
                "that are elsewhere, does not keep: take the mean of contributions(X_a, X_b) over "
                "pairs of rows."
            )
        X = self._checked_columns(rows)
        ends = random_pairs(len(X), np.random.RandomState(0), _SOME_PAIRS)
        learned, groups = self._map_of_columns()
        names, at = numbered_groups(groups)
        parts = parts_by_column(learned, X[ends[:, 0]], X[ends[:, 1]], at, orders=1).sum(axis=0)
        shares = parts / (parts.sum() or 1.0)
        found = {names[g]: float(shares[g]) for g in np.argsort(-shares, kind="stable")}
        self.__dict__["_importances"] = found
        return found

    def _keep_some_rows(self, X: Any) -> None:
        """Keep rows of ``fit`` to find importances from, if X is in memory on the host."""
        if backends.is_remote(X) or backends.is_foreign(X) or getattr(X, "is_read_once", False):
            return
        if hasattr(X, "__array__") and frame_of(X) is None:  # it may have no rows to take
            X = np.asarray(X)
        n = n_rows_of(X)
        self._some_rows = access.take(X, access.evenly_spaced(n, _SOME_ROWS))

    def _one_row(self, row: Any, name: str) -> Any:
        """One row as rows; an error if there are others."""
        rows = [row] if isinstance(row, str) else as_rows(self, row)
        if (n := n_rows_of(rows)) != 1:
            raise InputError(f"{name} has {n} rows: explain takes two rows, a and b.")
        return rows

    def _pulls(
        self, rows: list[Any], whole: float, X: Any, pairs: Pairs | None
    ) -> tuple[list[Pull], str]:
        """Answers that pull two rows, the strongest first; or why there are none."""
        metric = self if pairs is None else self._taught_again(X, pairs)
        return metric._pulls_as_taught(rows, whole, X, pairs)

    def _pulls_as_taught(
        self, rows: list[Any], whole: float, X: Any = None, pairs: Pairs | None = None
    ) -> tuple[list[Pull], str]:
        """The same by what was learned here, from these rows and pairs if they are given."""
        parts = self._taught_parts(rows)
        answers = answers_of(parts)
        if answers is not None:
            links = likeliest_to_pull(parts, answers)
            pulls = pulls_of(parts, links)
            numbers = parts[0].numbers
        elif pairs is not None:
            answers, numbers = pairs, None
            links, pulls = pulls_by_refits(self, rows, X, pairs)
        else:
            return [], _BY_LABELS if parts else _NOT_KNOWN
        told = _strongest(pulls, whole)
        same = {tuple(link) for link in answers.must_link.tolist()}

        def told_of(link: Ints, pull: float) -> Pull:
            left, right = (link if numbers is None else numbers[link]).tolist()
            return Pull(left, right, tuple(link.tolist()) in same, float(pull))

        found = [told_of(links[k], pulls[k]) for k in told]
        return found, "" if found else _NONE_ALONE

    def _taught_again(self, X: Any, pairs: Pairs) -> Any:
        """A copy that was learned from these rows and pairs."""
        pairs.check_rows(n_rows_of(X))
        with one_blas_thread():
            return clone(self).fit(X, pairs=pairs)

    def _taught_parts(self, rows: list[Any], share: float = 1.0) -> list[TaughtPart]:
        """Parts that can be learned again at once, and two rows, given as to ``transform``.

        None of learners that do not keep where they learned, such as those from a file.
        """
        del rows, share
        return []

    def _cells(
        self, rows: list[Any], names: list[str], A: Floats, B: Floats
    ) -> dict[str, tuple[str, str]]:
        """What two rows have in each column, as people read it."""
        table = self._table_of_columns()
        if table is not None:
            left, right = (table.cells(row) for row in rows)
            return {name: (left[name], right[name]) for name in left}
        if A.shape[1] != len(names):
            return {}
        return cells_of(dict(zip(names, np.vstack([A, B]).T.tolist(), strict=True)))

    def _checked_columns(self, X: Any) -> Floats:
        """Rows as ``_map_of_columns`` takes them, dense."""
        return np.asarray(dense(backends.to_numpy(self._checked(X))))

    def _map_of_columns(self) -> tuple[Map, Any]:
        """What was learned, of rows of numbers, and for each number the column that it is of."""
        groups = self.__dict__.get("_names_of_columns")  # where others know them
        if groups is None:
            groups = getattr(self._table_of_columns(), "groups_", None)
        if groups is None:
            groups = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return self.map_, groups

    def _table_of_columns(self) -> Any:
        """What makes numbers of a table, or None."""
        return getattr(self, "table_", None)


def numbered_groups(groups: Any) -> tuple[list[str], Ints]:
    """Names of columns, each once, and for each number the place of its column's."""
    names = list(dict.fromkeys(map(str, groups)))
    place = {name: g for g, name in enumerate(names)}
    return names, np.array([place[str(one)] for one in groups])


def _strongest(pulls: Floats, whole: float) -> Ints:
    """Numbers of the answers to tell, the strongest first: ten of either direction at most."""
    size = np.nan_to_num(np.abs(pulls))
    order = np.argsort(-size, kind="stable")
    order = order[size[order] >= _LEAST_PULL * whole]
    positive = pulls[order] > 0
    rank = np.where(positive, np.cumsum(positive), np.cumsum(~positive))
    return np.asarray(order[rank <= _ANSWERS_TOLD])
