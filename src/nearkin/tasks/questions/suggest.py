"""Which pairs to ask a person about next."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from nearkin._types import Ints
from nearkin.errors import InputError, InputTypeError
from nearkin.learners.compositions import as_metric
from nearkin.messages import notice
from nearkin.pairs.closure import draw_numbers
from nearkin.pairs.pairs import Pairs, checked_count, checked_pairs
from nearkin.pairs.supervision import check_roles
from nearkin.rows import access
from nearkin.rows.sparse import about
from nearkin.rows.validation import refuse_what_is_no_table
from nearkin.tasks.questions.candidates import scene_of
from nearkin.tasks.questions.strategies import questions, strategy_named

# Rows that are looked at, or twice as many as pairs are asked for where that is more.
_CANDIDATES = 2000


def suggest_pairs(
    metric: Any,
    X: Any,
    pairs: Pairs | None = None,
    n: int = 10,
    *,
    strategy: str = "neighborhoods",
    exclude: ArrayLike | None = None,
    random_state: Any = None,
) -> Ints:
    """Suggest pairs of rows whose answers, same or different, would teach the metric most.

    Parameters
    ----------
    metric : fitted learner
        Any of the library's: with ``transform`` and ``threshold_``; or a fitted pipeline whose
        last step is one.
    X : array, sparse matrix or frame of shape (n_rows, d)
        The rows to ask about, as the metric takes them.
    pairs : Pairs, optional
        What is known already. Neither these pairs are suggested nor what follows from them.
    n : int, default=10
        How many.
    strategy : str, default="neighborhoods"
        ``"neighborhoods"`` places one row after another, the farthest from all others first: it
        is compared with the nearest group of rows known to be alike, then with the next, until
        one answer is same or all are different. Groups grow, and every row of one says something
        about all others. ``"consolidate"`` does so with rows at random, which is better where no
        more than about 50 questions can be asked. ``"clusters"`` is for groups rather than
        distances: it asks about rows that stand for many others whose group is in doubt, each
        against the group it most likely is in. ``"uncertainty"`` asks where the learned
        distance is nearest to ``threshold_``, ``"density"`` likewise, but among rows that have
        many others around, and ``"spectrum"`` where the answer is expected to change the weights
        of the learned directions most. ``"random"`` is the control.
    exclude : array of int, shape (k, 2), optional
        More pairs that are not to be suggested, such as those that someone was unsure of.
    random_state : int, RandomState or None, default=None
        Draws the candidates.

    Returns
    -------
    int ndarray of shape (n, 2)
        Row numbers of X, the most useful pair first; fewer, with a warning, where there are not
        as many open questions.

    Notes
    -----
    Looks at 2000 rows, or 2 n where that is more: up to half of them rows that ``pairs`` names,
    one of each group first, and random ones beside them. 20 000 pairs of these rows are ranked.
    So the time hardly grows with the number of rows, and memory is that of 2000 embedded rows and
    some tens of megabytes; a hundred more where nearly everything is known, and all pairs of these
    rows are gone through.

    References
    ----------
    T. Van Craenendonck, S. Dumančić, E. Van Wolputte, H. Blockeel. COBRAS: interactive clustering
    with pairwise queries. IDA 2018.

    S. Basu, A. Banerjee, R. J. Mooney. Active semi-supervision for pairwise constrained
    clustering. SDM 2004.

    P. K. Mallapragada, R. Jin, A. K. Jain. Active query selection for semi-supervised
    clustering. ICPR 2008.

    Examples
    --------
    >>> from nearkin import KernelBeta, Pairs, suggest_pairs
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(400, random_state=0)
    >>> pairs = Pairs.from_labels(y, 10, random_state=0)
    >>> metric = KernelBeta(random_state=0).fit(X, pairs=pairs)
    >>> questions = suggest_pairs(metric, X, pairs, n=5, random_state=0)
    >>> questions.shape
    (5, 2)
    """
    n = checked_count(n, "n", least=1)
    rule = strategy_named(strategy)
    metric = fitted_metric(metric)
    n_rows, pairs, closed = checked_knowledge(metric, X, pairs, exclude)
    rng = check_random_state(random_state)
    rows = candidate_rows(pairs, n_rows, n, rng)
    Z = about(metric.transform(access.take(X, rows)), rng)
    scene = scene_of(Z, metric.threshold_, rows, pairs, closed)
    found = questions(scene, rule, n, rng)
    if len(found) < n:
        notice(
            f"n={n}, but only {len(found)} pairs of rows are left whose answer does not follow "
            "from what is known: all are given.",
        )
    return np.asarray(rows[found])


def fitted_metric(metric: Any) -> Any:
    """A fitted learner, also that of a pipeline, or an error."""
    if isinstance(metric, type) or not hasattr(metric, "transform"):
        raise InputTypeError(
            f"metric must be a fitted learner, such as KernelBeta().fit(X, pairs=pairs), not "
            f"{metric!r:.60}"
        )
    metric = as_metric(metric)
    check_is_fitted(
        metric,
        "threshold_",
        msg="this %(name)s is not fitted, so it knows no distances yet: call fit(X, pairs=pairs) "
        "first, or use learn_actively, which starts without any pair.",
    )
    return metric


def checked_knowledge(
    metric: Any, X: Any, pairs: Any, exclude: Any = None
) -> tuple[int, Pairs, Ints]:
    """How many rows X has, what is known of them, and what is not to be asked."""
    check_roles(None, pairs)
    if not getattr(metric, "_sees_any_rows", False):
        refuse_what_is_no_table(X)
    n_rows = int(_num_samples(X))
    if n_rows < 2:
        raise InputError(f"a pair takes two rows, but X has {n_rows}.")
    known = Pairs(n_rows=n_rows) if pairs is None else pairs
    known.check_rows(n_rows)
    closed = checked_pairs(() if exclude is None else exclude, "exclude pair", n_rows)
    return n_rows, known + Pairs(n_rows=n_rows), closed


def candidate_rows(pairs: Pairs, n_rows: int, n: int, rng: np.random.RandomState) -> Ints:
    """The rows to look at, increasing: all, or some that pairs name and others at random."""
    most = max(_CANDIDATES, 2 * n)
    if n_rows <= most:
        return np.arange(n_rows)
    order = rng.permutation(len(pairs.points))
    points, component = pairs.points[order], pairs.groups.number[order]
    _, first = np.unique(component, return_index=True)
    known = np.concatenate([points[first], np.delete(points, first)])[: most // 2]
    free = np.ones(n_rows, dtype=bool)
    free[known] = False
    others = np.flatnonzero(free)
    drawn = others[draw_numbers(len(others), most - len(known), rng)]
    return np.sort(np.concatenate([known, drawn]))
