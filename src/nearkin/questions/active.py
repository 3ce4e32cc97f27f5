"""Learn a metric by asking: suggest pairs, have them answered, learn, and again."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from nearkin._types import Floats, Ints, Rng
from nearkin.clustering.clusters import Clusters
from nearkin.clustering.partitions import embed_rows, estimate_share_of_same
from nearkin.errors import InputError, InputTypeError
from nearkin.learners.base import MetricMixin
from nearkin.learners.compositions import Chain, as_metric
from nearkin.learners.kernel_beta import KernelBeta
from nearkin.learners.metric_learner import MetricLearner
from nearkin.messages import collect_notices, mute_categories, notice, tell
from nearkin.pairs.pairs import Pairs, check_count
from nearkin.questions import strategies
from nearkin.questions.outlook import Outlook, outlook
from nearkin.rows import access, validation
from nearkin.rows.sparse import project_if_wide
from nearkin.rows.validation import find_word_columns
from nearkin.scores.verdicts import measure_usual_distance
from nearkin.tables.encoder import TableEncoder
from nearkin.tables.reading import TableWarning

# Landmarks of the quick learner between questions: a fit takes a fraction of a second. Not tuned.
_LANDMARKS = 500
# The strategy for each goal, where none is named.
_STRATEGY_FOR = {"metric": "neighborhoods", "clusters": "clusters"}


def cluster_by_answers(learner: Any, X: Any, pairs: Pairs, rng: Rng) -> Clusters:
    """Cluster the rows such that the answers are kept, or most where they contradict one another.

    Questions are about rows that are hard to tell apart. Judged by these alone, few large groups
    look as good as many small ones: so the number of groups is bounded from below and above
    (:func:`estimate_fewest_groups`, :func:`estimate_most_groups`). The learner is not changed.
    """
    seed = int(rng.randint(np.iinfo(np.int32).max))
    n_rows = int(pairs.n_rows or 0)
    told = strategies.balance_inferred(pairs, rng)
    with collect_notices():  # the last fit warns
        metric = clone(learner).fit(X, pairs=told)
    rows = strategies.draw_candidate_rows(pairs, n_rows, 1, rng)
    fewest = estimate_fewest_groups(
        metric, embed_rows(metric, access.take(X, rows), seed), pairs, seed
    )
    found: Clusters = Clusters(
        (fewest, max(fewest, min(estimate_most_groups(pairs), n_rows))),
        metric=learner,
        keep="soft" if pairs.groups.contradicted.any() else "hard",
        random_state=seed,
    ).fit(X, pairs=told)
    return found


def estimate_fewest_groups(metric: Any, Z: Floats, pairs: Pairs, seed: int) -> int:
    """Estimate the least number of groups from answers and distances.

    Where a share π of all pairs are the same, there are about 1 / π groups of one size; distances Z
    (m, q) estimate π. Answers leave so many groups apart, of which some are one. Half of the
    smaller number is taken.
    """
    share = max(estimate_share_of_same(metric, Z, seed), 1e-6)
    return int(max(2, min(1 / share, pairs.groups.count) // 2))


def estimate_most_groups(pairs: Pairs) -> int:
    """Estimate the largest number of groups from answers.

    A question compares a row with its likeliest group, so few groups that are left apart are one.
    The groups seen have a share of all rows that is estimated from how many known rows are alone in
    their group (:func:`chance_of_new`).
    """
    sizes = np.bincount(pairs.groups.number)
    return math.ceil(pairs.groups.count / (1 - strategies.chance_of_new(sizes)))


class Oracle(Protocol):
    """Function that answers questions: called with two row numbers of X.

    True or 1 means same, False or 0 different, and None unsure: such a pair is not asked about
    again, tells the learner nothing, and counts toward the budget.

    Examples
    --------
    >>> from nearkin import learn_actively
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(100, random_state=0)
    >>> class Person:
    ...     def __call__(self, i, j):
    ...         return None if abs(X[i]).min() < 0.1 else y[i] == y[j]  # unsure near the border
    >>> learn_actively(X, Person(), budget=20, random_state=0).n_asked
    20
    """

    def __call__(self, i: int, j: int, /) -> bool | None:
        """Whether rows i and j are the same kind of thing."""


@dataclass(frozen=True)
class ActiveResult:
    """Result of :func:`learn_actively`: the metric, the answers and the questions.

    Attributes
    ----------
    metric : fitted learner or None
        Learned from all answers. None if there was no answer to learn from, or if ``error`` came
        from the learner.
    pairs : Pairs
        Those given and those answered.
    unsure : int ndarray of shape (k, 2)
        Pairs that were answered with None.
    n_asked : int
    history : tuple of (i, j, answer)
        All questions in their order.
    error : exception or None
        What ended the questions before the budget was spent.
    outlook : Outlook or None
        How much further answers are expected to gain; None where X has other than numbers.
    clusters : fitted Clusters or None
        Groups that keep the answers, with ``goal="clusters"`` and where there is a ``metric``.

    Examples
    --------
    >>> from nearkin import learn_actively
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(100, random_state=0)
    >>> result = learn_actively(X, lambda i, j: y[i] == y[j], budget=20, random_state=0)
    >>> len(result.history), len(result.pairs), len(result.unsure)
    (20, 20, 0)
    >>> result.outlook.n_answers
    20
    """

    metric: Any
    pairs: Pairs
    unsure: Ints
    n_asked: int
    history: tuple[tuple[int, int, bool | None], ...]
    error: BaseException | None = None
    outlook: Outlook | None = None
    clusters: Clusters | None = None


def learn_actively(
    X: Any,
    oracle: Oracle,
    budget: int,
    *,
    learner: Any = None,
    pairs: Pairs | None = None,
    among: ArrayLike | None = None,
    goal: str = "metric",
    strategy: str | None = None,
    batch: int = 5,
    random_state: Any = None,
    verbose: bool = False,
) -> ActiveResult:
    """Learn a metric by asking about the pairs that teach most.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n, d)
    oracle : callable ``(i, j) -> bool or None``
        Says whether rows i and j are the same; None if unsure. See :class:`Oracle`.
    budget : int
        How many questions to ask at most. 0 learns from ``pairs`` alone.
    learner : learner, optional
        Not changed: a copy is fitted. By default :class:`MetricLearner` learns from all answers,
        and between questions for a metric ``KernelBeta`` with 500 landmarks, which is quick. A
        pipeline that ends in a learner is taken for a :class:`nearkin.Chain` of its steps.
    pairs : Pairs, optional
        What is known beforehand.
    among : array of int, optional
        Row numbers: questions are about these rows only. All by default.
    goal : {"metric", "clusters"}, default="metric"
        What the answers are for. With ``"clusters"``, questions are those that would change the
        grouping most, each chosen after the answer to the one before, and ``clusters`` of the
        result has the groups.
    strategy : str, optional
        See :func:`nearkin.suggest_pairs`. ``"neighborhoods"`` for a metric, and ``"clusters"`` for
        clusters.
    batch : int, default=5
        Questions between two fits at the start. Later it is a quarter of the questions asked so
        far, so that the number of fits grows with the logarithm of the budget.
    random_state : int, RandomState or None, default=None
    verbose : bool, default=False
        Keep a line on standard error up to date, with the expected gain of ten more answers.

    Returns
    -------
    ActiveResult
        With ``metric`` and ``pairs``. If the oracle raises or is interrupted, what was answered so
        far is learned from and returned all the same, with a warning and the exception as
        ``error``.

    Notes
    -----
    The learner is told what follows from the answers too (:meth:`nearkin.Pairs.closure`), at most
    10 000 pairs of each kind, drawn at random where there are more. For clusters these are
    weighted, so that groups with many answers do not outvote the others. Until both a must-link
    and a cannot-link are known, questions go by the Euclidean distance of X, or of what
    transformers at the start of a chain make of X.

    Examples
    --------
    >>> from nearkin import learn_actively
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(400, random_state=0)
    >>> result = learn_actively(X, lambda i, j: y[i] == y[j], budget=40, random_state=0)
    >>> result.n_asked, len(result.pairs)
    (40, 40)
    >>> X_new, y_new = make_xor(200, random_state=1)
    >>> result.metric.score(X_new, y_new) > 0.9
    True
    """
    budget = check_count(budget, "budget", least=0)
    batch = check_count(batch, "batch", least=1)
    if goal not in _STRATEGY_FOR:
        raise InputError(f"goal must be 'metric' or 'clusters', not {goal!r:.60}.")
    rule = strategies.find_strategy(_STRATEGY_FOR[goal] if strategy is None else strategy)
    if not callable(oracle):
        raise InputTypeError(
            "oracle must be a function of two row numbers, such as lambda i, j: y[i] == y[j], not "
            f"{oracle!r:.60}"
        )
    learner = as_metric(learner)
    n_rows, known, _ = strategies.check_knowledge(learner, X, pairs)
    if budget == 0 and not len(known):
        raise InputError(
            "budget=0 and no pairs: there is nothing to learn from. Allow some questions, or give "
            "what is known as pairs=Pairs(must_link=..., cannot_link=...)."
        )
    askable = np.unique(np.asarray(np.arange(n_rows) if among is None else among))
    right_kind = askable.dtype.kind in "iu" and len(askable) > 1
    if not right_kind or askable[0] < 0 or askable[-1] >= n_rows:
        raise InputError(
            f"among must have the numbers of two rows at least, from 0 to {n_rows - 1}, not "
            f"{among!r:.60}."
        )
    askable = askable.astype(np.int64)
    rng = check_random_state(random_state)
    last = None
    if learner is None:
        seed = rng.randint(np.iinfo(np.int32).max)
        learner = MetricLearner(random_state=seed)
        if goal == "metric":
            last = learner  # and between questions, a quick one
            learner = KernelBeta(n_landmarks=min(_LANDMARKS, n_rows), random_state=seed)

    def learn(pairs: Pairs) -> Any:
        tell = strategies.balance_inferred if goal == "clusters" else strategies.add_inferred
        return clone(learner).fit(X, pairs=tell(pairs, rng))

    interview = _Interview(oracle, known, budget, verbose)
    error: BaseException | None = None
    try:
        while interview.n_left:
            size = min(max(batch, len(interview.history) // 4), interview.n_left)
            seen = _embed_candidates(learner, X, interview, askable, size, learn, rng)
            # For clusters, every answer changes what is best asked next, without a fit between.
            parts = [1] * size if goal == "clusters" else [size]
            if not all(interview.ask(seen, rule, part, rng) for part in parts):
                break
            if verbose:
                interview.outlook = _try_outlook(learner, X, interview.pairs)
                interview.show()
    except (Exception, KeyboardInterrupt) as caught:
        if not interview.begun or (isinstance(caught, _AnswerError) and not interview.history):
            raise  # there is nothing to lose yet
        error = caught
        notice(f"the questions ended after {len(interview.history)} answers: {caught!r}.")
    if verbose and interview.history:
        tell("\n")

    metric = clusters = None
    if len(interview.pairs):
        try:
            if goal == "clusters":
                clusters = cluster_by_answers(learner, X, interview.pairs, rng)
                metric = clusters.metric_
            elif last is not None:
                # Chosen by the answers themselves: those that follow would seem to prove more.
                metric = last.fit(X, pairs=interview.pairs)
                metric = metric.relearned(X, strategies.add_inferred(interview.pairs, rng))
            else:
                metric = learn(interview.pairs)
        except ValueError as refused:
            if not interview.history:
                raise
            error = error or refused
            notice(f"the learner refused the answers, which are kept: {refused}.")
    elif error is None:
        notice(f"none of {len(interview.history)} questions got an answer: nothing was learned.")
    pairs, history = interview.pairs, tuple(interview.history)
    gain = _try_outlook(learner, X, pairs)
    return ActiveResult(
        metric, pairs, interview.unsure, len(history), history, error, gain, clusters
    )


class _Interview:
    """Questions and answers so far."""

    def __init__(self, oracle: Oracle, pairs: Pairs, budget: int, verbose: bool) -> None:
        self.oracle, self.pairs, self.budget, self.verbose = oracle, pairs, budget, verbose
        self.history: list[tuple[int, int, bool | None]] = []
        self.begun = False
        self.outlook: Outlook | None = None

    @property
    def n_left(self) -> int:
        """Number of questions that may still be asked."""
        return self.budget - len(self.history)

    @property
    def unsure(self) -> Ints:
        """Pairs that were answered with None, of shape (k, 2)."""
        pairs = [(i, j) for i, j, answer in self.history if answer is None]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def ask(
        self, seen: tuple[Ints, Floats, float], rule: strategies.Strategy, n: int, rng: Rng
    ) -> bool:
        """Ask the best n questions in turn, but none that answers in between imply.

        ``seen`` are candidate rows, their embedding and its threshold. Returns False if there was
        no question.
        """
        rows, Z, threshold = seen
        scene = strategies.make_scene(Z, threshold, rows, self.pairs, self.unsure)
        questions = rows[strategies.pick_questions(scene, rule, n, rng)]
        self.begun = True
        for i, j in questions.tolist():
            if self.pairs.groups.tell(np.array([[i, j]])).all():
                continue
            answer = _check_answer(self.oracle(i, j), i, j)
            self.history.append((i, j, answer))
            if answer is not None:
                link = [(i, j)]
                self.pairs += Pairs(link if answer else (), () if answer else link)
            self.show()
        return bool(len(questions))

    def show(self) -> None:
        """Rewrite the line of progress on standard error, if ``verbose``."""
        if self.verbose:
            answers = [answer for *_, answer in self.history]
            same, different, unsure = (answers.count(kind) for kind in (True, False, None))
            line = f"{len(answers)} of {self.budget} asked: {same} same, {different} different"
            gain = self.outlook and self.outlook.gain
            worth = f"; ten more raise pair AUC by {gain}" if gain else ""
            tell(f"\r{line}, {unsure} unsure{worth}")


class _AnswerError(InputTypeError):
    """What an oracle said is no answer."""


def _check_answer(answer: Any, i: int, j: int) -> bool | None:
    """Return an oracle's answer as True, False or None for unsure; raise if it is none of them."""
    if answer is None:
        return None
    if isinstance(answer, (bool, np.bool_, Integral)) and answer in (0, 1):
        return bool(answer)
    raise _AnswerError(
        f"the oracle said {answer!r:.60} of rows {i} and {j}: it must return True (or 1) for same, "
        "False (or 0) for different, or None if unsure"
    )


def _embed_candidates(
    learner: Any,
    X: Any,
    interview: _Interview,
    askable: Ints,
    n: int,
    learn: Callable[[Pairs], Any],
    rng: Rng,
) -> tuple[Ints, Floats, float]:
    """Draw candidate rows: return their numbers, their embedding and its threshold.

    The embedding is that of ``learn(pairs)``, or X itself until both kinds of pairs are known.
    """
    pairs = interview.pairs
    rows = askable[strategies.draw_candidate_rows(pairs.restrict(askable), len(askable), n, rng)]
    if len(pairs.must_link) and len(pairs.cannot_link):
        with collect_notices():  # the last fit warns
            metric = learn(pairs)
        Z = project_if_wide(metric.transform(access.take(X, rows)), rng)
        return rows, Z, metric.threshold_
    X = access.take(_transform_before_learning(learner, X), rows)
    # Distances of wide sparse rows are about kept by a random projection.
    Z = project_if_wide(validation.check_input(X, accept_sparse="csr"), rng)
    return rows, Z, measure_usual_distance(Z, rng)


def _transform_before_learning(learner: Any, X: Any) -> Any:
    """Return rows as the learner sees them: through the transformers before it, as numbers."""
    steps = getattr(learner, "steps", []) if isinstance(learner, Chain) else []
    for step in itertools.takewhile(lambda step: not isinstance(step, MetricMixin), steps):
        X = clone(step).fit_transform(X)
    if find_word_columns(X):
        with mute_categories(TableWarning):  # of which the learner has a word
            return clone(getattr(learner, "table", None) or TableEncoder()).fit_transform(X)
    return X


def _try_outlook(learner: Any, X: Any, pairs: Pairs) -> Outlook | None:
    """Predict the gain of further answers; None where ITML cannot take X."""
    try:
        return outlook(_transform_before_learning(learner, X), pairs)
    except (ValueError, TypeError):
        return None
