"""Answers: who said what of which pairs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nearkin._types import Floats, Ints, Mask
from nearkin.errors import InputError, counted
from nearkin.pairs.agreement import judge
from nearkin.pairs.answerers import Answerer
from nearkin.pairs.checks import checked_count, checked_pairs, refuse_difference_from_itself
from nearkin.pairs.frames import read_answers
from nearkin.pairs.numbering import ends_of, keys_of
from nearkin.pairs.pairs import Pairs

# No pair is quite without weight.
_LEAST_WEIGHT = 1e-3
# Pairs of less weight are open; where the mean is less, nothing follows from answers at all.
LEAST_TELLING = 0.1


class Agreement(NamedTuple):
    """What answers come to.

    Attributes
    ----------
    pairs : Pairs
        Each pair once, as it probably is; its weight says how much that tells, 1 if it is certain.
    answerers : list of Answerer
        Who answered, and how often wrong; the most reliable first.
    """

    pairs: Pairs
    answerers: list[Answerer]


class Answers:
    """Answers about pairs from several people, programs or rules, who may disagree.

    Whoever answers is wrong sometimes, some more often than others. How often each is, and what is
    the same, is estimated from all answers together: from those to one pair, and from those to
    pairs that form triangles, as two rows that are the same as a third are the same.
    :class:`MetricLearner` also asks the metric that it learns from other pairs.

    Give them to ``fit`` as ``pairs=answers``. The same answerer may answer a pair twice, and say
    something else. Whoever is wrong more often than right tells something too: what they say counts
    as the opposite. Answers of whoever shares no pair with others, and no triangle of pairs, tell
    little of who is right, so that intervals of their rates are wide.

    Parameters
    ----------
    links : array-like of int, shape (a, 2)
        The rows that each answer is about, counted from 0.
    same : array-like of bool, shape (a,)
        What it says.
    by : sequence, length a
        Who says it; names are taken as text.
    n_rows : int, default=None
        How many rows X has, when known.

    Attributes
    ----------
    links : read-only int64 array of shape (k, 2)
        The pairs, each once.
    n_answers : int
    names : list of str
        Who answered, each once.
    pairs : Pairs
        What the answers come to, before anything is learned.
    answerers : list of Answerer
        How often each is wrong, by the answers alone.
    tell_nothing : bool
        Whether they contradict each other so that nothing follows from them.
    n_rows : int or None

    Examples
    --------
    >>> from nearkin import Answers
    >>> links = [(0, 1), (0, 1), (0, 1), (1, 2), (1, 2), (0, 2)]
    >>> answers = Answers(links, [1, 1, 0, 1, 1, 1], by=["Ann", "Bob", "Cy", "Ann", "Cy", "Bob"])
    >>> answers
    Answers(6 answers by 3 to 3 pairs)
    >>> answers.pairs
    Pairs(3 must-links, 0 cannot-links)
    >>> answers.answerers[-1].name
    'Cy'
    """

    def __init__(
        self,
        links: ArrayLike,
        same: ArrayLike,
        by: Iterable[Any],
        *,
        n_rows: int | None = None,
    ) -> None:
        self.n_rows = None if n_rows is None else checked_count(n_rows, "n_rows", least=0)
        ends = checked_pairs(links, "answer", self.n_rows)
        said = np.asarray(same)
        names = [str(name) for name in by]
        for name, length in (("same", len(said)), ("by", len(names))):
            if length != len(ends):
                raise InputError(f"there are {len(ends)} answers, but {name} has {length}.")
        if not np.isin(said, (0, 1)).all():
            raise InputError("same must be true or false for each answer: leave out unsure ones.")
        said = said.astype(bool)
        refuse_difference_from_itself(ends, "answer", ~said)
        telling = ends[:, 0] != ends[:, 1]
        keys, self._pair = np.unique(keys_of(np.sort(ends[telling], axis=1)), return_inverse=True)
        self.links: Ints = ends_of(keys)
        self.links.setflags(write=False)
        self._same: Mask = said[telling]
        told = [name for name, tells in zip(names, telling, strict=True) if tells]
        self.names: list[str] = list(dict.fromkeys(told))
        number = {name: i for i, name in enumerate(self.names)}
        self._who: Ints = np.array([number[name] for name in told], dtype=np.int64)
        if not len(self._same):
            raise InputError("there are no answers about two different rows.")

    @classmethod
    def from_frame(
        cls, frame: Any, *, by: str = "by", ids: Any = None, n_rows: int | None = None
    ) -> Answers:
        """Read answers from a dataframe with the columns left, right, same and who answered.

        Parameters
        ----------
        frame : dataframe
            As for :meth:`Pairs.from_frame`; weights are not read, since they are estimated.
        by : str, default="by"
            The column that says who answered.
        ids : sequence of hashable, default=None
        n_rows : int, default=None

        Returns
        -------
        Answers

        Examples
        --------
        >>> import pandas as pd
        >>> from nearkin import Answers
        >>> said = {"left": [0, 0, 1], "right": [1, 1, 2], "same": ["yes", "no", "yes"]}
        >>> Answers.from_frame(pd.DataFrame({**said, "by": ["Ann", "Bob", "Ann"]}))
        Answers(3 answers by 2 to 2 pairs)
        """
        ends, same, names, n_rows = read_answers(frame, by, ids, n_rows)
        return cls(ends, same, names, n_rows=n_rows)

    @property
    def n_answers(self) -> int:
        """How many answers there are, about two different rows."""
        return len(self._same)

    def __repr__(self) -> str:
        parts = [
            f"{counted(self.n_answers, 'answer')} by {len(self.names)} "
            f"to {counted(len(self.links), 'pair')}"
        ]
        if self.n_rows is not None:
            parts.append(f"n_rows={self.n_rows}")
        return f"Answers({', '.join(parts)})"

    def restrict(self, rows: Mask) -> Answers | None:
        """Answers about some rows of X, as those about ``X[rows]``; None if there are none.

        Parameters
        ----------
        rows : bool array of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> from nearkin import Answers
        >>> answers = Answers(
        ...     [(0, 1), (1, 3), (2, 3)], [True, True, False], by=["Ann", "Bob", "Ann"]
        ... )
        >>> answers.restrict(np.array([False, True, True, True])).links.tolist()
        [[0, 2], [1, 2]]
        """
        kept = np.asarray(rows[self.links].all(axis=1))[self._pair]
        if not kept.any():
            return None
        ends = (np.cumsum(rows) - 1)[self.links[self._pair[kept]]]
        names = [self.names[who] for who in self._who[kept]]
        return Answers(ends, self._same[kept], names, n_rows=int(rows.sum()))

    @cached_property
    def _alone(self) -> Agreement:
        return self.agreed()

    @property
    def pairs(self) -> Pairs:
        """What the answers come to, before anything is learned."""
        return self._alone.pairs

    @property
    def tell_nothing(self) -> bool:
        """Whether they contradict each other so that nothing follows from them."""
        return bool(_weights(self.pairs).mean() < LEAST_TELLING)

    @property
    def telling(self) -> Pairs:
        """What the answers come to where they tell something: metrics can be judged by it."""
        return self.pairs.subset(_weights(self.pairs) >= LEAST_TELLING)

    @property
    def answerers(self) -> list[Answerer]:
        """How often each is wrong, by the answers alone."""
        return self._alone.answerers

    def agreed(self, before: Floats | None = None) -> Agreement:
        """What the answers come to, beside something else that is known.

        Parameters
        ----------
        before : ndarray of shape (k,), optional
            Probability that each of ``links`` is the same, by something else than its answers; NaN
            where nothing is known.

        Examples
        --------
        >>> import numpy as np
        >>> from nearkin import Answers
        >>> answers = Answers([(0, 1), (0, 1)], [True, False], by=["Ann", "Bob"])
        >>> answers.agreed(before=np.array([0.9])).pairs  # a metric is for Ann
        Pairs(1 must-link, 0 cannot-links)
        >>> answers.agreed(before=np.array([0.1])).pairs
        Pairs(0 must-links, 1 cannot-link)
        """
        found = judge(self._pair, self._same, self._who, self.links, before)
        # What is right with probability p tells (2 p - 1)² of what a certain answer tells.
        sure = np.maximum((2 * found.chance_same - 1) ** 2, _LEAST_WEIGHT)
        must = found.chance_same >= 0.5
        pairs = Pairs(
            self.links[must],
            self.links[~must],
            must_weight=sure[must],
            cannot_weight=sure[~must],
            n_rows=self.n_rows,
        )
        n_answers = np.bincount(self._who).tolist()
        listed = map(Answerer, self.names, n_answers, found.wrong)
        return Agreement(pairs, sorted(listed, key=lambda one: one.wrong.value))


def _weights(pairs: Pairs) -> Floats:
    return np.concatenate([pairs.must_weight, pairs.cannot_weight])
