"""Which answers pulled two rows together, and which pushed them apart.

An answer is left out, all others are learned from again, and the two rows are measured once more.
Where a metric is learned in a space that was found before (:mod:`nearkin.learners.two_steps`) that
takes milliseconds, and the space stays as it is: nothing but the answer makes the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from sklearn import config_context
from sklearn.base import clone

from nearkin._types import Floats, Ints
from nearkin.learners.two_steps import Reader, Taught
from nearkin.messages import leaving_out
from nearkin.pairs.pairs import Pairs
from nearkin.rows import access, backends
from nearkin.rows.parallel import one_blas_thread, one_core
from nearkin.rows.sparse import dense

# How often a part of a metric is learned again, at most; and answers that are tried in any case.
MOST_TRIED = 400
_LEAST_TRIED = 12


@dataclass(frozen=True)
class TaughtPart:
    """A part of a metric that can be learned again in milliseconds, and two rows in its space.

    Attributes
    ----------
    learner : TeachableMixin
    taught : Taught
        What it keeps.
    ends : ndarray of shape (2, r)
        Coordinates of the two rows.
    share : float
        What its squared distances are multiplied with in those of the metric.
    blended : bool
        Whether it is brought to the same scale as others: then its distances are measured by those
        between all rows that were answered about, and what changes all alike changes nothing.
    numbers : int ndarray or None
        Numbers that its rows have in the X that was given, if they are a sample of it.
    """

    learner: Any
    taught: Taught
    ends: Floats
    share: float = 1.0
    blended: bool = False
    numbers: Ints | None = None

    def pull(self, link: tuple[int, int], fewer: Pairs | None = None) -> float:
        """By how much an answer has raised the squared distance of the two rows.

        Parameters
        ----------
        link : (int, int)
        fewer : Pairs, optional
            What there is without it; by default all other pairs.
        """
        taught = self.taught
        known = taught.left_out
        if link not in known:
            given = taught.evidence.pairs.without([link]) if fewer is None else fewer
            known[link] = self._learned_from(given)
        image, spread = known[link]
        unit = spread_of(taught, taught.image) / spread if self.blended else 1.0
        return self.share * (self.squared(taught.image) - unit * self.squared(image))

    def squared(self, image: Any) -> float:
        """Squared distance of the two rows under a map of coordinates."""
        return float((np.diff(image(self.ends), axis=0) ** 2).sum())

    def _learned_from(self, pairs: Pairs) -> tuple[Any, float]:
        """What is learned from other pairs, and how far apart it has rows in the mean."""
        taught = replace(self.taught, evidence=replace(self.taught.evidence, pairs=pairs))
        rng = np.random.RandomState(0)
        rng.set_state(taught.random_state)
        image = self.learner._learn(taught, Reader(taught, _no_rows), rng).image
        return image, spread_of(taught, image)


def spread_of(taught: Taught, image: Any) -> float:
    """Mean squared distance of rows that were answered about, under a map of coordinates."""
    return float(2 * image(taught.coordinates).var(axis=0).sum()) or 1.0


def _no_rows(rows: Any) -> NoReturn:
    raise LookupError("rows of fit are not kept")


def answers_of(parts: Sequence[TaughtPart]) -> Pairs | None:
    """The pairs that parts of a metric were learned from; None if these are not all there is."""
    if not parts or any(part.taught.evidence.has_labels for part in parts):
        return None
    return parts[0].taught.evidence.pairs


def pulls_of(parts: Sequence[TaughtPart], links: Ints) -> Floats:
    """By how much each of some answers has raised the squared distance of two rows.

    Parameters
    ----------
    parts : sequence of TaughtPart
    links : int ndarray of shape (k, 2)
        Pairs that were answered, as the parts number rows.

    Returns
    -------
    ndarray of shape (k,)
        Negative where an answer pulled them together. NaN where nothing can be learned without it.
    """
    found = np.zeros(len(links))
    with one_core(), leaving_out(Warning), config_context(skip_parameter_validation=True):
        for part in parts:
            for k, (i, j) in enumerate(links.tolist()):
                try:
                    found[k] += part.pull((i, j))
                except (ValueError, LookupError, np.linalg.LinAlgError):
                    found[k] = np.nan
    return found


def likeliest_to_pull(parts: Sequence[TaughtPart], pairs: Pairs) -> Ints:
    """Answers to leave out: all, or those whose differences lie along that of the two rows."""
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    along = np.zeros(len(links))
    most = max(MOST_TRIED // len(parts), _LEAST_TRIED)
    if len(links) > most:
        for part in parts:
            taught = part.taught
            image: Any = taught.image
            left, right = (image(taught.at(rows)) for rows in links.T)
            along += part.share * ((left - right) @ np.diff(image(part.ends), axis=0)[0]) ** 2
    return _first(links, along, most)


def pulls_by_refits(metric: Any, rows: Sequence[Any], X: Any, pairs: Pairs) -> tuple[Ints, Floats]:
    """The same for a metric that is fitted anew without each of a few answers, and these.

    Parameters
    ----------
    metric : learner
        Fitted to X and the pairs.
    rows : sequence of two rows
    X : rows
    pairs : Pairs
    """
    points = pairs.points
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    ends = np.searchsorted(points, links)

    def seen(learner: Any) -> tuple[Floats, Floats]:
        parts = [access.take(X, points), *rows]
        Z, first, second = (backends.at_home(dense(learner._embedded(part))) for part in parts)
        return Z.astype(np.float64), np.subtract(second[0], first[0], dtype=np.float64)

    Z, difference = seen(metric)
    along = ((Z[ends[:, 0]] - Z[ends[:, 1]]) @ difference) ** 2
    tried = _first(links, along, _LEAST_TRIED)
    found = np.full(len(tried), np.nan)
    with leaving_out(Warning), one_blas_thread():
        for k, link in enumerate(tried):
            try:
                other = clone(metric).fit(X, pairs=pairs.without([tuple(link)]))
            except (ValueError, np.linalg.LinAlgError):
                continue
            without = seen(other)[1]
            found[k] = difference @ difference - without @ without
    return tried, found


def _first(links: Ints, along: Floats, most: int) -> Ints:
    """The largest ones, in their order."""
    return links[np.sort(np.argsort(-along, kind="stable")[:most])]
