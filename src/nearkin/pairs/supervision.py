"""What a learner is told: labels and pairs together, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearkin._types import Floats, Integers, Ints, Mask, Rng
from nearkin.errors import InputError, InputTypeError, counted
from nearkin.messages import collect_notices, is_heard, notice
from nearkin.pairs import closure
from nearkin.pairs.answers import Answers
from nearkin.pairs.labels import number_classes, renumber_classes
from nearkin.pairs.pairs import Pairs
from nearkin.rows import backends
from nearkin.rows.distances import class_sums

# Pairs of a kind that stand for those of labels: for each label, and at least. Chosen by hand.
_EXAMPLES_PER_LABEL = 5
_LEAST_EXAMPLES = 5000
# What knowledge there is, as messages name it, and where Pairs keep it.
_KINDS = {
    "must-link": "must_link",
    "cannot-link": "cannot_link",
    "triplet": "closer",
    "graded pair": "graded",
}
# Learners that learn from triplets.
TAKE_TRIPLETS = ("ITML", "GeometryAware", "KernelBeta", "KernelA", "MetricLearner")
# Learners that learn from graded pairs.
TAKE_GRADED = ("ITML", "GeometryAware", "KernelA", "LLMA", "KernelBeta")


class ContradictionWarning(UserWarning):
    """Pairs contradict each other or the labels.

    Examples
    --------
    >>> import nearkin as nk
    >>> issubclass(nk.ContradictionWarning, UserWarning)
    True
    """


@dataclass(frozen=True)
class Evidence:
    """Checked knowledge about the n rows of X."""

    pairs: Pairs  # perhaps empty
    classes: Integers | None  # number of each row, −1 where unknown; None: no labels

    @property
    def has_labels(self) -> bool:
        """Whether the class of any row is known."""
        return self.classes is not None and bool((self.classes >= 0).any())

    def restrict(self, rows: Integers) -> Evidence:
        """Return the evidence about ``X[rows]``, with rows and classes renumbered."""
        classes = None if self.classes is None else renumber_classes(self.classes[rows])
        return Evidence(self.pairs.restrict(rows), classes)

    def share_of_same(self) -> float:
        """Share of same pairs among all that labels imply, or without labels among those given."""
        if self.classes is not None and self.has_labels:
            sizes = np.bincount(self.classes[self.classes >= 0]).astype(np.float64)
            n = sizes.sum()
            return float((sizes * (sizes - 1)).sum() / (n * (n - 1)))
        same, different = self.pairs.must_weight.sum(), self.pairs.cannot_weight.sum()
        return float(same / (same + different))

    def counts(self, n_rows: int) -> dict[str, int]:
        """Count rows, pairs, triplets, labels and classes, as ``learned_from_`` shows them."""
        known = () if self.classes is None else self.classes[self.classes >= 0]
        pairs = self.pairs
        some = {"triplets": len(pairs.closer), "graded_pairs": len(pairs.graded)}
        return {
            "rows": int(n_rows),
            "must_links": len(pairs.must_link),
            "cannot_links": len(pairs.cannot_link),
            **{kind: n for kind, n in some.items() if n},
            "labels": len(known),
            "classes": len(np.unique(known)),
        }


def check_roles(
    y: Any, pairs: Any, name: str = "pairs", *, triplets: bool = False, graded: bool = False
) -> None:
    """Raise if ``y`` is a :class:`Pairs`, if ``pairs`` is none, or has what is not taken.

    ``triplets`` and ``graded`` are whether these are; ``name`` is what messages call the argument
    ``pairs``.
    """
    if isinstance(y, Pairs):
        raise InputTypeError(
            "pairs must be given by name, as pairs=pairs: the second place is for y"
        )
    if isinstance(pairs, Answers):
        raise InputTypeError(
            f"{name} are Answers, which fit of MetricLearner takes as they are: give what they "
            "come to here, answers.pairs"
        )
    if pairs is not None and not isinstance(pairs, Pairs):
        raise InputTypeError(
            f"{name} must be a nearkin.Pairs, not {type(pairs).__name__}: use "
            "Pairs(must_link=..., cannot_link=...) or Pairs.from_frame(frame)"
        )
    if pairs is not None and not triplets:
        refuse_triplets(pairs, name)
    if pairs is not None and not graded and len(pairs.graded):  # lest they be left out silently
        raise InputError(
            f"{name} has {counted(len(pairs.graded), 'graded pair')}, which cannot be used here. "
            f"They are taken by fit of {', '.join(TAKE_GRADED[:-1])} and {TAKE_GRADED[-1]}; "
            f"{name}.as_weak_pairs() makes must-links and cannot-links of them, and "
            f"{name}.without({name}.graded) leaves them out."
        )


def refuse_triplets(pairs: Pairs, name: str = "pairs") -> None:
    """Raise if there are triplets, which the caller would leave out silently."""
    if len(pairs.closer):
        raise InputError(
            f"{name} has {counted(len(pairs.closer), 'triplet')}, but only must-links and "
            "cannot-links can be used here. Triplets are taken by fit of "
            f"{', '.join(TAKE_TRIPLETS[:-1])} and {TAKE_TRIPLETS[-1]}; "
            f"{name}.without({name}.closer) leaves them out."
        )


def gather_evidence(
    n_rows: int,
    y: Any = None,
    pairs: Pairs | None = None,
    *,
    triplets: bool = False,
    graded: bool = False,
) -> Evidence:
    """Check labels and pairs against each other and the number of rows; return the evidence.

    Raises TypeError or ValueError if there is nothing to learn from, if pairs or labels are for
    another X, or on triplets or graded pairs unless these are allowed. Warns (ContradictionWarning)
    if pairs contradict each other or the labels; these are used as they are, as evidence on both
    sides.
    """
    check_roles(y, pairs, triplets=triplets, graded=graded)
    if y is None and pairs is None:
        raise InputError(
            "nothing to learn from: this learner requires y to be passed, but the target y is "
            "None, and no pairs were given either. Use fit(X, pairs=pairs) or fit(X, y), where "
            "unknown labels are -1."
        )
    classes = None
    if y is not None:
        classes = number_classes(y)
        if len(classes) != n_rows:
            raise InputError(f"y has {len(classes)} labels, but X has {n_rows} rows.")
        if (classes < 0).all() and not pairs:
            raise InputError(
                "nothing to learn from: all labels in y are unknown (-1) and no pairs were given."
            )
        if (classes >= 0).sum() == 1 and not pairs:
            raise InputError(
                "nothing to learn from: only one sample is labelled, which implies no pair, and no "
                "pairs were given."
            )
    if pairs is not None:
        pairs.check_rows(n_rows)
        if len(pairs) == 0 and y is None:
            raise InputError(
                "nothing to learn from: pairs is empty. Give it must-links or cannot-links, "
                "or labels as y."
            )
        _warn_of_contradictions(pairs, classes)
        n = len(pairs.graded)
        if y is None and n > 1 and n == len(pairs) and (pairs.grades == pairs.grades[0]).all():
            notice(
                f"all {n} graded pairs have the grade {pairs.grades[0]:g}, so that none tells rows "
                "nearer than another. Is it the right column, and its scale right?"
            )
    return Evidence(Pairs() if pairs is None else pairs, classes)


def revise_evidence(
    evidence: Evidence, n_rows: int, added: Pairs | None, withdrawn: Pairs | None
) -> Evidence:
    """Return the evidence without the ``withdrawn`` pairs and then with the ``added`` ones.

    Nothing may be left. Raises ValueError if pairs are for another X, or are withdrawn that were
    not given; warns as :func:`gather_evidence`.
    """
    pairs = evidence.pairs
    if withdrawn is not None:
        withdrawn.check_rows(n_rows)
        gone = []
        for kind, attribute in _KINDS.items():
            given, taken = (getattr(some, attribute) for some in (pairs, withdrawn))
            missing = ~_find_links(taken, given, n_rows)
            if missing.any():
                link = tuple(taken[missing.argmax()].tolist())
                raise InputError(f"{kind} {link} is withdrawn, but it was not given.")
            gone.append(_find_links(given, taken, n_rows))
        pairs = pairs.subset(~np.concatenate(gone))
    if added is not None:
        added.check_rows(n_rows)
        pairs = pairs + added
    _warn_of_contradictions(pairs, evidence.classes)
    return Evidence(pairs, evidence.classes)


def _find_links(links: Ints, others: Ints, n_rows: int) -> Mask:
    """Mask of the pairs or triplets ``links`` that are among ``others``."""
    if links.shape[1] == 2:
        return np.isin(links @ [n_rows, 1], others @ [n_rows, 1])
    known = set(map(tuple, others.tolist()))
    return np.array([tuple(link) in known for link in links.tolist()], dtype=bool)


def _warn_of_contradictions(pairs: Pairs, classes: Integers | None) -> None:
    """Warn of pairs and triplets that contradict each other or the labels."""
    if not is_heard(ContradictionWarning):
        return
    listed, remedy = "pairs.conflicts() lists all", "leave out the wrong ones of them"
    conflicts = closure.find_contradictions(pairs.groups, pairs.must_link, pairs.cannot_link)
    if conflicts:
        _warn("pairs contradict each other", [str(one) for one in conflicts], listed)
    order = closure.find_circles(pairs.closer)
    if order.closing:
        first = f"{order.circle(*order.closing[0])}, which no distances can follow"
        _warn("triplets contradict each other", [first, *order.closing[1:]], listed)
    grades = dict(zip(map(tuple, pairs.graded.tolist()), pairs.grades.tolist(), strict=True))
    against = []
    for kind, links, least in (("must", pairs.must_link, 0.5), ("cannot", pairs.cannot_link, 0.0)):
        for link in map(tuple, links.tolist() if grades else ()):
            if not least <= grades.get(link, least) <= least + 0.5:
                against.append(f"{kind}-link {link} with the grade {grades[link]:g}")
    if against:
        _warn("pairs contradict grades", against, remedy)
    if doubted := closure.find_triplets_against_pairs(pairs.closer, pairs.groups):
        _warn("pairs contradict triplets", doubted, remedy)
    if classes is None:
        return
    against_labels = []
    for kind, links, labels in (
        ("must", pairs.must_link, "different"),
        ("cannot", pairs.cannot_link, "equal"),
    ):
        left, right = classes[links].T
        wrong = (left >= 0) & (right >= 0) & ((left == right) == (labels == "equal"))
        against_labels += [
            f"{kind}-link ({i}, {j}) of rows with {labels} labels" for i, j in links[wrong].tolist()
        ]
    if against_labels:
        _warn("pairs contradict the labels", against_labels, remedy)
    if doubted := closure.find_triplets_against_labels(pairs.closer, classes):
        _warn("triplets contradict the labels", doubted, remedy)


def _warn(problem: str, cases: Sequence[Any], remedy: str) -> None:
    more = f" (and {len(cases) - 1} more)" if len(cases) > 1 else ""
    message = f"{problem}: {cases[0]}{more}. All are used as they are; {remedy}."
    notice(message, ContradictionWarning)


def draw_example_pairs(
    evidence: Evidence, random_state: Any = None, *, most: int | None = None
) -> Pairs:
    """Return the given pairs and a sample of those that labels imply.

    The sample has, of each kind, five pairs for a labelled row, at least 5000, or all that there
    are; not more than ``most``. Together they weigh as much as there are labelled rows, as in
    :func:`measure_spread`.
    """
    pairs = evidence.pairs
    if evidence.classes is None:
        return pairs
    n_labels = int((evidence.classes >= 0).sum())
    n_examples = max(_LEAST_EXAMPLES, _EXAMPLES_PER_LABEL * n_labels)
    if most is not None:
        n_examples = min(n_examples, most)
    for kind in ("must", "cannot"):
        try:
            with collect_notices():  # fewer pairs than asked for are all of them
                drawn = Pairs.from_labels(
                    evidence.classes, n_examples, kind=kind, random_state=random_state
                )
        except ValueError:  # the labels imply no pair of this kind
            continue
        weight = np.full(len(drawn), n_labels / len(drawn))
        pairs = pairs + Pairs(
            drawn.must_link,
            drawn.cannot_link,
            must_weight=weight[: len(drawn.must_link)],
            cannot_weight=weight[: len(drawn.cannot_link)],  # of which one kind is drawn
        )
    return pairs


def draw_of_each_kind(pairs: Pairs, most: int, rng: Rng) -> Pairs:
    """Sample at most ``most`` must-links and cannot-links each, which keep their kind's weight."""

    def sample(links: Any, weight: Any) -> tuple[Any, Any]:
        if len(links) <= most:
            return links, weight
        some = np.sort(rng.choice(len(links), most, replace=False))
        return links[some], weight[some] * (weight.sum() / weight[some].sum())

    must, must_weight = sample(pairs.must_link, pairs.must_weight)
    cannot, cannot_weight = sample(pairs.cannot_link, pairs.cannot_weight)
    return Pairs(
        must, cannot, must_weight=must_weight, cannot_weight=cannot_weight, n_rows=pairs.n_rows
    )


@dataclass(frozen=True)
class Spread:
    """Mean squared differences of one kind of pair along each of q directions."""

    mean: Floats
    weight: float  # how many pairs it stands for; 0 (and a mean of 0) without any of this kind


def measure_spread(
    evidence: Evidence,
    coordinates: Callable[[Integers], Floats],
    by_labels: tuple[Spread, Spread] | None = None,
) -> tuple[Spread, Spread]:
    """Mean squared difference along each direction, of must-links and of cannot-links.

    ``coordinates(rows)`` has shape (len(rows), q) for row numbers of X; ``by_labels`` is what
    :func:`measure_label_spread` returned for them, if that is known. Labels stand for all pairs
    they imply, but weigh only as many pairs as there are labelled rows: implied pairs grow with the
    square of that number and would drown the given ones.
    """
    pairs = evidence.pairs
    at_points = backends.to_numpy(coordinates(pairs.points)).astype(np.float64)
    must = _measure_pair_spread(at_points, pairs.points, pairs.must_link, pairs.must_weight)
    cannot = _measure_pair_spread(at_points, pairs.points, pairs.cannot_link, pairs.cannot_weight)
    if (classes := evidence.classes) is not None:
        labels = by_labels or measure_label_spread(classes, np.arange(len(classes)), coordinates)
        must, cannot = _pool_spreads(must, labels[0]), _pool_spreads(cannot, labels[1])
    return must, cannot


def _measure_pair_spread(
    at_points: Floats, points: Integers, links: Integers, weight: Floats
) -> Spread:
    """Weighted mean of squared differences over pairs, given coordinates of their points."""
    if len(links) == 0:
        return Spread(np.zeros(at_points.shape[1]), 0.0)
    left, right = np.searchsorted(points, links.T)
    squared = (at_points[left] - at_points[right]) ** 2
    total = float(weight.sum())
    return Spread(weight @ squared / total, total)


def measure_label_spread(
    classes: Integers, X: Any, coordinates: Callable[[Any], Any]
) -> tuple[Spread, Spread]:
    """Spreads over all pairs that labels imply, same and different ones, in O(n q) time.

    Classes are negative where unknown; ``coordinates`` gives an array of shape (k, q) for k rows of
    X, which may be row numbers.
    """
    known = classes >= 0
    if not known.any():
        empty = Spread(np.zeros(1), 0.0)
        return empty, empty
    counts = np.bincount(classes[known]).astype(np.float64)

    sums, squares = class_sums(X, classes, len(counts), coordinates)
    n = counts.sum()
    present = counts > 0
    counts, sums, squares = counts[present], sums[present], squares[present]
    means = sums / counts[:, None]
    scatter = np.maximum(squares - counts[:, None] * means**2, 0)
    n_same = float((counts * (counts - 1)).sum() / 2)
    n_different = float((n**2 - (counts**2).sum()) / 2)
    same = counts @ scatter
    between = counts @ (means - sums.sum(axis=0) / n) ** 2
    different = (n - counts) @ scatter + n * between
    return (
        Spread(same / max(n_same, 1.0), float(n) if n_same else 0.0),
        Spread(different / max(n_different, 1.0), float(n) if n_different else 0.0),
    )


def _pool_spreads(a: Spread, b: Spread) -> Spread:
    """Return the mean of two spreads by their weights."""
    weight = a.weight + b.weight
    if weight == 0:
        return a
    return Spread((a.weight * a.mean + b.weight * b.mean) / weight, weight)
