"""A metric that follows what is known, and the rows as it sees them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import Normalizer, StandardScaler

from nearkin._types import Floats
from nearkin.errors import InputError, InputTypeError
from nearkin.learners.compositions import Chain
from nearkin.learners.itml import ITML
from nearkin.learners.live_view import LiveView
from nearkin.learners.teachable import TeachableMixin, begun, retaught
from nearkin.messages import Note, hand_on, leaving_out, notice, noticed
from nearkin.pairs.pairs import Pairs
from nearkin.rows.parallel import blocks
from nearkin.rows.scaling import ScaleWarning
from nearkin.scores.verdicts import usual_distance
from nearkin.spaces.linalg import principal_coordinates
from nearkin.teaching.records import Records

# The usual learner is ITML in a kernel's feature space: on digits, 100 answers teach it more than
# 500 random pairs teach KernelBeta, whose weights of directions have learned all they can by then.
# Up to this many rows all are landmarks, which makes the metric exact; of more, so many are.
_EXACT_ROWS = 1000
_LANDMARKS = 500
# Shares of the spectrum that are shown.
_MOST_SHARES = 30
_BLOCK = 16_384


class View(Protocol):
    """Rows as a metric sees them."""

    def coordinates(self, n_components: int = 2) -> Floats:
        """Along the principal axes."""

    def embedding(self, rows: Any = None) -> Floats:
        """Coordinates between which Euclidean distances are those of the metric."""

    def variances(self) -> Floats:
        """Variances along the principal axes, decreasing."""


class PlainView:
    """Rows as they are.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    """

    def __init__(self, X: Floats) -> None:
        self._X = X

    def coordinates(self, n_components: int = 2) -> Floats:
        """Along the principal axes."""
        return principal_coordinates(self._X, n_components)

    def embedding(self, rows: Any = None) -> Floats:
        """Return the rows themselves: nothing is learned yet."""
        return self._X if rows is None else self._X[rows]

    def variances(self) -> Floats:
        """Variances along the principal axes, decreasing."""
        centred = self._X - self._X.mean(axis=0, dtype=np.float64)
        found = np.linalg.eigvalsh(centred.T @ centred / len(centred))[::-1]
        return np.asarray(np.maximum(found, 0.0))


class Step(NamedTuple):
    """A metric, what it was told, and the rows as it sees them."""

    metric: Any
    told: Pairs
    view: LiveView

    def described(self, scaler: Any) -> str:
        """The learner's name, and what else is told of it."""
        landmarks = getattr(self.metric, "landmarks_", None)
        parts = [] if landmarks is None else [f"{len(landmarks)} landmarks"]
        parts += ["standardised columns"] * isinstance(scaler, StandardScaler)
        parts += ["directions of vectors"] * isinstance(scaler, Normalizer)
        return ", ".join([type(self.metric).__name__, *parts])


@dataclass(frozen=True)
class TaughtMetric:
    """What was learned from what is known at one moment. Nothing of it ever changes.

    Attributes
    ----------
    version : int
        Of the knowledge.
    step : Step
        From which the next is learned: the last that could be.
    succeeded : bool
        Whether that was learned from this knowledge, and not from what was known before.
    view : View
        Rows as the metric sees them, or as they are where there is none.
    threshold : float
        Distance at which same and different are equally likely.
    notes : tuple of str
        What the learner had to say.
    """

    version: int
    step: Step
    succeeded: bool
    view: View
    threshold: float
    notes: tuple[str, ...]

    @property
    def metric(self) -> Any:
        """The fitted learner, or None if it can make nothing of what is known."""
        return self.step.metric if self.succeeded else None


def checked_learner(learner: Any, n_rows: int, seed: int) -> Any:
    """A copy of a learner that can be taught, or the usual one.

    Parameters
    ----------
    learner : KernelBeta, ITML, GMML or None
    n_rows : int
    seed : int
        Taken where the learner has none of its own, so that it learns the same each time.
    """
    if learner is None:
        landmarks = None if n_rows <= _EXACT_ROWS else _LANDMARKS
        return ITML(kernel="rbf", n_landmarks=landmarks, random_state=seed)
    if isinstance(learner, type) or not isinstance(learner, TeachableMixin):
        name = learner.__name__ if isinstance(learner, type) else type(learner).__name__
        raise InputTypeError(
            f"learner must be one that learns answer by answer (partial_fit), such as "
            f"KernelBeta(), ITML() or GMML(), not {name}."
        )
    if getattr(learner, "kernel", None) == "precomputed":
        raise InputError("kernel='precomputed' has no rows to look at: use another kernel.")
    own = clone(learner)
    if own.random_state is None:
        own.set_params(random_state=seed)
    return own


def refuse_triplets_for(learner: Any, n: int) -> None:
    """Raise if there are triplets, and the learner would leave them out."""
    if n and not learner._takes_triplets:
        raise InputError(
            f"{type(learner).__name__} does not learn from triplets, of which there "
            f"{'is' if n == 1 else 'are'} {n}: take ITML or KernelBeta."
        )


def first_learned(learner: Any, X: Floats, pairs: Pairs) -> TaughtMetric:
    """What is learned before the first answer: from pairs, or from none.

    Space and landmarks are found here once, so that the same answers give the same metric however
    they came.
    """
    with noticed() as notes, leaving_out(ScaleWarning):  # of which the lesson has a word itself
        start = begun(learner, X, pairs)
        view = LiveView(start, X)
    return _learned(Step(start, Pairs(), view), X, pairs, 0, notes)


def learned_after(before: TaughtMetric, X: Floats, told: Pairs, version: int) -> TaughtMetric:
    """What is learned from other pairs, in the same space.

    Parameters
    ----------
    before : TaughtMetric
    X : ndarray of shape (n, d)
    told : Pairs
    version : int
        Of the knowledge that ``told`` comes from.
    """
    return _learned(before.step, X, told, version, [])


def _learned(step: Step, X: Floats, told: Pairs, version: int, before: list[Note]) -> TaughtMetric:
    with noticed() as notes:
        hand_on(before)
        try:
            metric = retaught(step.metric, X, told)
            view = step.view.seen_by(metric)
        except (ValueError, np.linalg.LinAlgError) as error:
            plain = PlainView(X)
            notice(
                "Nothing can be learned from these answers, and rows are shown as they are: "
                f"{error}"
            )
            return TaughtMetric(version, step, False, plain, _threshold_of(plain), _texts(notes))
    threshold = float(metric.threshold_) if len(told) else _threshold_of(view)
    return TaughtMetric(version, Step(metric, told, view), True, view, threshold, _texts(notes))


def untaught(first: TaughtMetric, X: Floats) -> View:
    """Rows as the metric sees them without any pair, or as they are."""
    try:
        with noticed():
            return first.step.view.seen_by(retaught(first.step.metric, X, Pairs(n_rows=len(X))))
    except (ValueError, np.linalg.LinAlgError):
        return PlainView(X)


def metric_of_records(learned: TaughtMetric, records: Records, scaler: Any) -> Any:
    """A copy of the metric that takes rows as ``records.X``, and knows their names.

    Parameters
    ----------
    learned : TaughtMetric
    records : Records
    scaler : StandardScaler, Normalizer or None
        What rows went through before they were learned from.
    """
    metric = learned.metric
    if metric is None:
        raise InputError(f"there is no metric yet. {learned.notes[-1]}")
    metric = deepcopy(metric)
    if scaler is not None:
        chain = Chain([clone(scaler), clone(metric)])
        metric = chain._made_of([scaler, metric], records.X.shape[1])
    if records.named:
        metric.feature_names_in_ = np.array(records.features, dtype=object)
    for name, value in records.remembered.items():
        setattr(metric, name, value)
    return metric


def shares_of(view: View) -> list[float]:
    """Shares of the variance along principal axes, decreasing."""
    variances = view.variances()
    total = float(variances.sum())
    shares = variances / total if total > 0 else np.zeros(len(variances))
    return [float(share) for share in shares[:_MOST_SHARES]]


def distances_from(view: View, row: int, n_rows: int) -> NDArray[np.float64]:
    """Learned distance of every row from one."""
    here = np.asarray(view.embedding(np.array([row])), dtype=np.float64)
    found = np.empty(n_rows)
    for block in blocks(n_rows, _BLOCK):
        Z = view.embedding(np.arange(n_rows)[block])
        found[block] = np.sqrt(((Z - here) ** 2).sum(axis=1))
    return found


def _texts(notes: list[Note]) -> tuple[str, ...]:
    return tuple(note.text for note in notes)


def _threshold_of(view: View) -> float:
    """That of distances which are not learned."""
    return usual_distance(view.embedding(), np.random.RandomState(0))
