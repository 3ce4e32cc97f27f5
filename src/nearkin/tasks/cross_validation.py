"""Judge learners, and choose their parameters, by pairs that are held out with their rows.

The work is scikit-learn's: its metadata routing hands pairs to whatever asks for them, and
:class:`Pairs` that know how many rows there are can be cut like X.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from inspect import signature
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import sklearn
from sklearn import model_selection
from sklearn.model_selection import BaseCrossValidator, GridSearchCV
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.metadata_routing import MetadataRequest

from nearkin._types import Ints
from nearkin.errors import InputError, InputTypeError
from nearkin.messages import notice
from nearkin.pairs.labels import replace_signs
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import check_roles
from nearkin.rows import access, backends
from nearkin.rows.sparse import to_plain
from nearkin.rows.validation import count_rows
from nearkin.scores import score_order
from nearkin.scores.held_out import assign_row_folds

__all__ = ["PairKFold", "PairScorer", "cross_validate", "grid_search"]


class PairKFold(BaseCrossValidator):
    """Folds of rows that keep linked rows together.

    Pairs held out with the test rows share no row with those learned from, so that none of them
    follows from what was learned. Rows that pairs tie together, directly or by way of others, are
    in one fold; folds have about equally many must-links, cannot-links and rows. Where more rows
    hang together than belong into a fold, they are cut into pieces, and pairs between a training
    and a test row are used in neither part. Every row is tested once, as by ``KFold``.

    Parameters
    ----------
    n_splits : int, default=5
    shuffle : bool, default=False
        Assign rows to folds in random order, instead of their own.
    random_state : int, RandomState instance or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import PairKFold, Pairs
    >>> pairs = Pairs(must_link=[(0, 5), (2, 3)], cannot_link=[(5, 1), (2, 4)])
    >>> for train, test in PairKFold(2).split(np.zeros((8, 1)), pairs=pairs):
    ...     print(train, test)
    [2 3 4 7] [0 1 5 6]
    [0 1 5 6] [2 3 4 7]
    >>> PairKFold(4).get_n_splits()
    4
    """

    n_splits: int
    shuffle: bool
    random_state: Any

    __metadata_request__split: ClassVar[dict[str, bool]] = {"pairs": True}

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None
    ) -> None:
        if isinstance(n_splits, bool) or not isinstance(n_splits, Integral) or n_splits < 2:
            raise InputError(f"n_splits must be a whole number of at least 2, not {n_splits!r}.")
        if random_state is not None and not shuffle:
            raise InputError("random_state has an effect with shuffle=True only.")
        self.n_splits = int(n_splits)
        self.shuffle = shuffle
        self.random_state = random_state

    def split(
        self, X: Any, y: Any = None, groups: Any = None, *, pairs: Pairs | None = None
    ) -> Iterator[tuple[Ints, Ints]]:
        """Split rows into training and test rows of each fold.

        It is an error if a fold had no pair to learn from or none to judge by.

        Parameters
        ----------
        X : array of shape (n, d)
            Only its number of rows matters.
        y, groups : ignored
        pairs : Pairs

        Yields
        ------
        train, test : int ndarray
            Row numbers of X.
        """
        check_roles(y, pairs, triplets=True)
        if pairs is None:
            raise InputTypeError(
                "PairKFold needs the pairs: use nearkin.cross_validate(learner, X, pairs=pairs, "
                "cv=nearkin.PairKFold(5)) or nearkin.grid_search. Functions of scikit-learn pass "
                "pairs on to it after sklearn.set_config(enable_metadata_routing=True)."
            )
        n_rows = count_rows(X)
        pairs.check_rows(n_rows)
        rng = check_random_state(self.random_state) if self.shuffle else None
        fold = assign_row_folds(pairs, n_rows, [1.0] * self.n_splits, rng)
        ends = [fold[links] for links in (pairs.must_link, pairs.cannot_link, pairs.closer)]
        for number in range(self.n_splits):
            there = [rows == number for rows in ends]
            parts = {"to judge by": there, "to learn from": [~rows for rows in there]}
            for part, kept in parts.items():
                if not any(rows.all(axis=1).any() for rows in kept):
                    raise InputError(
                        f"{len(pairs)} pairs of {len(pairs.points)} rows do not make "
                        f"{self.n_splits} folds: fold {number} has no pair {part}. Use a smaller "
                        "n_splits, or more pairs."
                    )
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

    def get_n_splits(
        self, X: Any = None, y: Any = None, groups: Any = None, *, pairs: Pairs | None = None
    ) -> int:
        """Return the number of folds; the arguments are not used."""
        return self.n_splits


class PairScorer:
    """A scorer that scikit-learn's metadata routing gives the pairs among the rows to judge by.

    ``score(learner, X, y, pairs=pairs)`` gives a number, or a dictionary of them; by default the
    pair AUC in the space that ``learner.transform`` leads to.
    """

    def __init__(self, score: Callable[..., Any] | None = None) -> None:
        self.score = _learned_auc if score is None else score

    def __call__(self, learner: Any, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Any:
        """Score a fitted learner on rows and the pairs among them."""
        return self.score(learner, X, y, pairs=pairs)

    def __repr__(self) -> str:
        return f"PairScorer({getattr(self.score, '__name__', self.score)})"

    def get_metadata_routing(self) -> MetadataRequest:
        """Request pairs for ``score``, in scikit-learn's form."""
        request = MetadataRequest(owner=type(self).__name__)
        request.score.add_request(param="pairs", alias=True)
        return request


def _learned_auc(learner: Any, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> float:
    """Pair AUC, and share of triplets kept, of ``learner.transform``, also of a pipeline's."""
    if y is None and pairs is not None:  # other rows are not needed
        rows = pairs.points
        X, pairs = access.take(X, rows), pairs.restrict(rows)
    Z = learner.transform(X)
    return score_order(Z if backends.is_foreign(Z) else to_plain(Z), y, pairs=pairs)


def cross_validate(
    learner: Any,
    X: Any,
    y: Any = None,
    *,
    pairs: Pairs,
    cv: Any = 5,
    scoring: Any = None,
    params: Mapping[str, Any] | None = None,
    error_score: Any = "raise",
    **options: Any,
) -> dict[str, Any]:
    """Score a learner on pairs that it has not seen.

    scikit-learn's function of this name, with pairs and triplets that follow their rows through
    every split.

    Parameters
    ----------
    learner : estimator
        A learner, a ``Pipeline`` with one, or a search over one.
    X : array, sparse matrix or data frame of shape (n, d)
    y : array of shape (n,), optional
        Labels; negative means unknown. They are learned from and judged by, beside the pairs.
    pairs : Pairs
    cv : int, splitter or iterable of (train, test), default=5
        A number is that of the folds of :class:`PairKFold`. With other splitters, pairs between a
        training and a test row are left out, which may be most of them.
    scoring : None, str, callable, or list, tuple or dict of them, default=None
        None is the pair AUC on pairs of test rows, or by triplets what ``score`` of learners gives,
        or ``learner.score`` of what cannot ``transform``, such as a classifier. A callable is
        called as ``scoring(learner, X, y, pairs=pairs)``, or without pairs if it does not name
        them. A str is a scorer of scikit-learn, which compares with y.
    params : dict, optional
        More that belongs to rows, such as ``groups`` for a splitter that takes them.
    error_score : "raise" or float, default="raise"
        As in scikit-learn, but that errors are raised by default.
    **options
        ``n_jobs``, ``verbose``, ``return_train_score``, ``return_estimator`` and
        ``return_indices`` of scikit-learn. ``n_jobs`` folds run at a time, in processes that joblib
        starts anew, or in threads within ``joblib.parallel_config("threading")``. Processes forked
        after nearkin or scikit-learn were used hang, as OpenMP does in them.

    Returns
    -------
    dict of arrays of length n_splits
        ``test_score`` (or ``test_<name>`` of each of several scores), ``fit_time``,
        ``score_time``, and what else was asked for.

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_three_normal(random_state=0)
    >>> pairs = nk.Pairs.from_labels(y, 60, random_state=0)
    >>> result = nk.cross_validate(nk.ITML(), X, pairs=pairs, cv=nk.PairKFold(5))
    >>> result["test_score"].mean() > 0.8
    np.True_
    """
    params = _route_pairs(X, y, pairs, params, "cross_validate")
    with sklearn.config_context(enable_metadata_routing=True):
        found: dict[str, Any] = model_selection.cross_validate(
            learner,
            X,
            None if y is None else replace_signs(y),
            params=params,
            cv=_make_splitter(cv),
            scoring=_make_scorers(scoring, learner),
            error_score=error_score,
            **options,
        )
    return found


def grid_search(
    learner: Any,
    grid: Any,
    X: Any,
    y: Any = None,
    *,
    pairs: Pairs,
    cv: Any = 5,
    scoring: Any = None,
    params: Mapping[str, Any] | None = None,
    error_score: Any = "raise",
    **options: Any,
) -> GridSearchCV:
    """Choose a learner's parameters by their scores on held-out pairs.

    scikit-learn's ``GridSearchCV``, with pairs that follow their rows through every split.

    Parameters
    ----------
    learner : estimator
        A learner, or a ``Pipeline`` with one.
    grid : dict or list of dicts
        Parameters with the values to try; ``{"itml__slack": [...]}`` in a pipeline.
    X, y, pairs, cv, scoring, params, error_score
        As in :func:`cross_validate`.
    **options
        ``n_jobs``, ``verbose``, ``refit`` and ``return_train_score`` of scikit-learn.

    Returns
    -------
    GridSearchCV
        Fitted; ``best_estimator_`` is the learner to go on with. There is a warning if the best of
        three numbers or more is the least or the largest, and others beyond it are allowed.

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_three_normal(random_state=0)
    >>> pairs = nk.Pairs.from_labels(y, 60, random_state=0)
    >>> search = nk.grid_search(nk.RCA(), {"shrinkage": [0.1, 0.9]}, X, pairs=pairs, cv=3)
    >>> metric = search.best_estimator_
    >>> metric.shrinkage
    0.1
    """
    params = _route_pairs(X, y, pairs, params, "grid_search")
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            learner,
            grid,
            cv=_make_splitter(cv),
            scoring=_make_scorers(scoring, learner),
            error_score=error_score,
            **options,
        )
        search.fit(X, None if y is None else replace_signs(y), **params)
    if hasattr(search, "best_params_"):
        _note_ends_of_grid(learner, grid, search.best_params_)
    return search


def _note_ends_of_grid(learner: Any, grid: Any, best: Mapping[str, Any]) -> None:
    """Warn of a number that is the least or the largest of three or more, but may go beyond."""
    for one in [grid] if isinstance(grid, Mapping) else grid:
        if not set(best) <= set(one):
            continue
        for name, chosen in best.items():
            tried = list(one[name])
            if len(tried) < 3 or any(isinstance(x, bool) or not isinstance(x, Real) for x in tried):
                continue
            if chosen not in (min(tried), max(tried)) or _is_limit(learner, name, chosen):
                continue
            word = "least" if chosen == min(tried) else "largest"
            beyond = "smaller" if chosen == min(tried) else "larger"
            notice(
                f"the best {name}={chosen:g} is the {word} that was tried: try {beyond} ones, too."
            )


def _is_limit(learner: Any, name: str, value: Any) -> bool:
    """Whether a parameter, perhaps of a step, can go no farther."""
    *steps, last = name.split("__")
    for step in steps:
        learner = learner.get_params(deep=True).get(step)
    allowed = getattr(learner, "_parameter_constraints", {}).get(last, [])
    return any(isinstance(x, Interval) and value in (x.left, x.right) for x in allowed)


def _route_pairs(
    X: Any, y: Any, pairs: Any, params: Mapping[str, Any] | None, where: str
) -> dict[str, Any]:
    """Return ``params`` with pairs for metadata routing; ``where`` names the caller in errors."""
    check_roles(y, pairs, triplets=True)
    if pairs is None:
        raise InputTypeError(f"{where} needs pairs; by labels alone, scikit-learn's functions do.")
    if backends.is_remote(X):
        raise InputTypeError(
            f"{where} takes rows in memory, not rows that are read block by block: give some of "
            "them, for example rows.take(numbers) with pairs.restrict(numbers)."
        )
    if params and "pairs" in params:
        raise InputTypeError(f"{where} takes pairs by their own name, not in params.")
    n_rows = count_rows(X)
    pairs.check_rows(n_rows)
    return {**(params or {}), "pairs": pairs + Pairs(n_rows=n_rows)}


def _make_splitter(cv: Any) -> Any:
    """Return a :class:`PairKFold` for a number of folds, or a splitter as it is."""
    whole = isinstance(cv, Integral) and not isinstance(cv, bool)
    return PairKFold(int(cv)) if whole else cv


def _make_scorers(scoring: Any, learner: Any) -> Any:
    """Return scorers for scikit-learn, which hand pairs to functions that name such a parameter."""
    if scoring is None:
        return PairScorer() if hasattr(learner, "transform") else None
    if isinstance(scoring, Mapping):
        return {name: _make_scorers(score, learner) for name, score in scoring.items()}
    if not callable(scoring) or hasattr(scoring, "get_metadata_routing"):
        return scoring
    return PairScorer(scoring) if "pairs" in signature(scoring).parameters else scoring
