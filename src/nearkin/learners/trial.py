"""Some rows and pairs, on which MetricLearner compares what it may be made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nearkin._types import Floats
from nearkin.learners.portfolio import Ingredient, carrying_over, ingredients, usual_blend
from nearkin.learners.preparation import (
    View,
    view_by_few_axes,
)
from nearkin.learners.selection import N_FOLDS, HeldOut, choose, hold_out
from nearkin.learners.selection_report import EUCLIDEAN, Recipe, SelectionReport
from nearkin.pairs.pairs import Pairs
from nearkin.rows.distances import linked_distances
from nearkin.scores.quality import Quality, quality_of
from nearkin.scores.suspects import trusted
from nearkin.scores.verdicts import as_attributes, borne_out, likeliest_verdicts

# Rows and pairs that candidates are compared on, at most.
_MOST_ROWS = 600
_MOST_PAIRS = 1000
# Principal axes that rows are reduced to before anything is learned from them, at most: as a rule,
# and where pairs tell that those are too few.
_MOST_AXES, _MOST_COLUMNS = 100, 300
# Held-out pairs of either kind that verdicts take.
_LEAST_JUDGED = 10
# Rows, named by pairs or not, that are too few to tell how far apart others like them are.
_FEW_ROWS = 30
# Distances of new pairs differ by about this share from those of held-out ones: that much is a
# radius uncertain which the latter are judged by.
_RADIUS_ERROR = 0.05
# Landmarks of kernels while candidates are compared.
_FEW_LANDMARKS = 120


class Trial:
    """Some of the rows and pairs, on which candidates are compared."""

    def __init__(
        self,
        X: Floats,
        pairs: Pairs,
        rng: np.random.RandomState,
        *,
        new_classes: bool = False,
        groups: Any = None,
    ) -> None:
        self.new_classes = new_classes
        self.groups = groups
        strength = float(pairs.must_weight.sum() + pairs.cannot_weight.sum())
        strength += float(pairs.closer_weight.sum())
        if len(pairs) > _MOST_PAIRS:
            kept = np.zeros(len(pairs), dtype=bool)
            kept[rng.choice(len(pairs), _MOST_PAIRS, replace=False)] = True
            pairs = pairs.subset(kept)
        rows = pairs.points
        if len(rows) < min(_MOST_ROWS, len(X)):
            others = np.setdiff1d(np.arange(len(X)), rows, assume_unique=True)
            more = rng.choice(others, min(_MOST_ROWS, len(X)) - len(rows), replace=False)
            rows = np.sort(np.concatenate([rows, more]))
        self.seed = int(rng.randint(2**31 - 1))
        self.n_rows = len(X)
        self.held_out: HeldOut | None = None
        self.sampled = pairs
        self.X = X if len(rows) == len(X) else X[rows]
        self.pairs = pairs.restrict(rows)
        self.all_columns = View(self.X, _MOST_COLUMNS, self.seed)
        # So many as pairs of this weight can tell apart, unless these pairs need more.
        n_axes = int(min(10 + 2 * np.sqrt(strength), _MOST_AXES))
        judges = self.pairs.as_weak_pairs()
        self.axes = view_by_few_axes(self.X, n_axes, judges, self.all_columns, self.seed)
        self.learners = {
            name: ingredient
            for name, ingredient in self.ingredients(_FEW_LANDMARKS, len(rows)).items()
            if (len(pairs.must_link) or not ingredient.needs_must_links)
            and (ingredient.takes_triplets or not len(pairs.closer))
        }

    def ingredients(self, n_landmarks: int, n_rows: int) -> dict[str, Ingredient]:
        """Learners to choose among, for so many rows."""
        reduced = self.axes is not self.all_columns and self.axes.reduction is not None
        found = ingredients(
            n_landmarks, n_rows, self.seed, some_columns=reduced, groups=self.groups
        )
        return carrying_over(found) if self.new_classes else found

    def view(self, name: str, ingredient: Ingredient) -> View:
        """The rows as a learner sees them."""
        if name == EUCLIDEAN or ingredient.keeps_columns:
            return View(self.X, self.X.shape[1], self.seed)
        return self.all_columns if ingredient.sees_all_columns else self.axes

    def affordable(self, budget: float) -> list[str]:
        """Learners that can be compared within some seconds, by a prediction."""
        names, spent = [], 0.0
        for name, ingredient in self.learners.items():
            size = len(self.X) / 1000 * (1 + len(self.pairs) / 1000)
            spent += N_FOLDS * ingredient.seconds * size
            if spent <= budget:
                names.append(name)
        return names if len(names) > 1 else []

    def choice(self, names: Iterator[str]) -> SelectionReport:
        """What held-out pairs ask for, of some learners."""
        chosen = (
            (name, self.learners[name].learner, self.view(name, self.learners[name]).rows)
            for name in names
        )
        held_out = hold_out(chosen, len(self.X), self.pairs, np.random.RandomState(self.seed))
        self.held_out = held_out
        compared = {name: self.learners[name] for name in held_out.distances}
        usual = usual_blend(compared)
        return choose(
            held_out,
            usual,
            _weights(self.pairs),
            new_classes=self.new_classes,
            of_triplets=not _statements(self.pairs),
        )

    def _trust(self, rank: Floats) -> Floats:
        """How much each judged pair counts: less where others contradict it."""
        n_pairs = len(_statements(self.pairs))
        return _weights(trusted(self.pairs, rank[:n_pairs]))

    def judgement(
        self, recipe: Recipe, Z: Floats, usual_threshold: float
    ) -> tuple[dict[str, float | None], Quality | None]:
        """How to judge by the metric's distances, and how good that is, by held-out pairs.

        By pairs that it was learned from, verdicts would be too sure: it was made to suit them.
        By the same pairs under metrics that did not see them they are not sure enough, since those
        were learned from fewer. So they are those by both together, as far as held-out pairs bear
        them out. Nothing is said where there are few, and nothing by triplets, which say no more
        than what is nearer.

        Parameters
        ----------
        recipe : Recipe
        Z : ndarray of shape (n, m)
            Rows that took part in the comparison, under the metric.
        usual_threshold : float
            Of the metric, if there are too few pairs for another.
        """
        if self.held_out is None:
            return {}, None
        squared, known = self.held_out.squared(list(recipe))
        # Triplets come last: they do not tell whether two rows are the same.
        pairs = np.arange(len(known)) < len(_statements(self.pairs))
        squared, known = squared[pairs[known]], known & pairs
        same, links = self.held_out.same[known], self.held_out.links[known]
        if min(same.sum(), (~same).sum()) == 0:
            return {}, None
        # Learners' squared distances have a mean of 1 between random rows.
        unit = np.sqrt(2 * Z.var(axis=0, dtype=np.float64).sum())
        nearer = _new_rows_beside_named(self.held_out, recipe, len(self.X))
        unseen = nearer * unit * np.sqrt(squared @ np.array(list(recipe.values())))
        seen = nearer * linked_distances(Z, links)
        found: dict[str, float | None] = {}
        if min(same.sum(), (~same).sum()) >= _LEAST_JUDGED:
            weight = self._trust(self.held_out.ranks(recipe))[known]
            both = np.concatenate([unseen, seen])
            verdicts = likeliest_verdicts(both, np.tile(same, 2), np.tile(weight, 2))
            verdicts = borne_out(verdicts, unseen[same], unseen[~same])
            found = as_attributes(verdicts, float(np.median(seen[same])))
        radius = found.get("threshold_") or usual_threshold
        weight = _weights(self.pairs)[known]
        return found, quality_of(
            unseen, same, weight, links, radius, 0.5, seen=seen, radius_error=_RADIUS_ERROR
        )

    def ranks(self, recipe: Recipe, given: Pairs) -> Floats:
        """Rank given pairs by metrics that did not see them.

        Must-links and cannot-links only. NaN for pairs that took no part in the comparison.
        """
        nothing = np.full(len(_statements(self.sampled)), np.nan)
        return self._of_given(
            given, nothing if self.held_out is None else self.held_out.ranks(recipe)
        )

    def distances(self, Z: Floats, given: Pairs) -> Floats:
        """Distances of given pairs in an embedding of the rows that took part in the comparison.

        As of :meth:`ranks`.
        """
        links = np.concatenate([self.pairs.must_link, self.pairs.cannot_link])
        return self._of_given(given, linked_distances(Z, links))

    def _of_given(self, given: Pairs, values: Floats) -> Floats:
        """Values of given pairs, by those of the pairs that took part in the comparison."""
        of_sampled = dict(zip(_statements(self.sampled), values, strict=False))
        # Others were drawn from labels, or are too many.
        return np.array([of_sampled.get(said, np.nan) for said in _statements(given)])


def _new_rows_beside_named(held_out: HeldOut, recipe: Recipe, n_rows: int) -> float:
    """How far apart rows are that no pair names, beside those that pairs name.

    Rows that pairs name are landmarks of kernels, which lie farther apart than new rows do. The
    mean squared distance of two rows is a sum over both, of as much as rows of their kind are away
    from the middle: random pairs of all kinds tell it. 1 where there are few rows of either kind.
    """
    named = np.unique(held_out.links)
    if min(len(named), n_rows - len(named)) < _FEW_ROWS:
        return 1.0
    squared = np.sum(
        [share * np.mean(held_out.random[name], axis=0) for name, share in recipe.items()], axis=0
    )
    n_named = np.isin(held_out.random_links, named).sum(axis=1)
    kinds = np.column_stack([n_named, 2.0 - n_named])
    of_named, of_new = np.linalg.lstsq(kinds, squared, rcond=None)[0]
    return float(np.sqrt(of_new / of_named)) if min(of_named, of_new) > 0 else 1.0


def _weights(pairs: Pairs) -> Floats:
    """How much each pair counts, in the order in which they are held out."""
    of_triplets = [pairs.closer_weight] * 2
    return np.concatenate([pairs.must_weight, pairs.cannot_weight, *of_triplets])


def _statements(pairs: Pairs) -> list[tuple[int, int, bool]]:
    """Pairs and what was said of them, in their order."""
    must, cannot = pairs.must_link.tolist(), pairs.cannot_link.tolist()
    return [(i, j, True) for i, j in must] + [(i, j, False) for i, j in cannot]
