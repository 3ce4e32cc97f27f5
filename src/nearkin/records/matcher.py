"""RecordMatcher: which records are the same thing, within a table or between two."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from nearkin.errors import InputError, InputTypeError
from nearkin.learners.fitting import WholeState
from nearkin.pairs.checks import checked_count
from nearkin.pairs.pairs import Pairs
from nearkin.records.comparisons import compare, comparisons_of, prepared
from nearkin.records.files import load_matcher, save_matcher
from nearkin.records.given import columns_given, is_on_dask, joined
from nearkin.records.judged import Judged
from nearkin.records.results import Duplicates, Links, canonical
from nearkin.records.review import doubtful_first, questions
from nearkin.records.scoring import Answered, AnyWork, Work, answered, learned, work_on
from nearkin.rows.arrays import Doubles, Ints, Mask
from nearkin.storage.arrays import StorageError
from nearkin.storage.schema import a as an
from nearkin.storage.schema import dict_of, stored, text
from nearkin.storage.whole_file import StrPath
from nearkin.tables.columns import Column

_NONE = np.empty((0, 2), dtype=np.int64)


@stored(
    comparisons_=an("Comparisons"),
    matching_=an("Matching"),
    kinds_=dict_of(text),
    report_=an("MatchReport"),
)
class RecordMatcher(WholeState, BaseEstimator):
    """Find records that are the same thing, from a few answers or none.

    Pairs that may be the same are found without comparing all with all; they are compared column
    by column; answers, and what all candidates look like, give each pair a chance to be the same;
    and records become groups in which most pairs speak for it.

    Parameters
    ----------
    n_candidates : int, default=10
        Others that are kept of each record as candidates.
    kinds : mapping, optional
        What columns hold, by their names, where it is not to be recognised: ``"name"``, ``"code"``,
        ``"date"`` and so on; ``"ignored"`` leaves a column out.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    report_ : MatchReport
        Candidates, prevalence, expected precision and recall, and which columns matter. Print it.
    comparisons_ : Comparisons
        What is compared.
    matching_ : Matching
        What comparisons say.
    kinds_ : dict of str to str
        What columns hold.

    Notes
    -----
    Memory: the table, and about 1.5 kB for each record. Time grows as n log n.

    Tables larger than memory are data frames of dask. Their texts stay on the workers, but for
    those of up to 200,000 records that are learned from; candidates and groups are those of the
    same table in memory, as far as 20,000 records tell what columns hold. This process needs about
    1 kB for each record, however long its texts are, for ten candidates each; the workers together
    keep the bytes of the texts, 8 for each cell and 4 for each of their trigrams, and spill to
    their disks what is too much.

    Examples
    --------
    >>> import nearkin as nk
    >>> from nearkin.tables.columns import Column
    >>> table, person = nk.datasets.make_records(300, random_state=0)
    >>> columns = [Column(name, "name", values) for name, values in table.items()]
    >>> matcher = nk.RecordMatcher(random_state=0).fit(columns)
    >>> found = matcher.duplicates()
    >>> len(found.groups) > 30
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_candidates": [Interval(Integral, 1, 100, closed="both")],
        "kinds": [None, Mapping],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_candidates: int = 10,
        kinds: Mapping[str, str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_candidates = n_candidates
        self.kinds = kinds
        self.random_state = random_state

    def fit(self, table: Any, pairs: Pairs | None = None, y: Any = None) -> Self:
        """Learn which records of a table are the same.

        Parameters
        ----------
        table : data frame or dict of lists
            Records. A data frame of dask stays on the workers, see the notes above.
        pairs : Pairs, optional
            Answers: rows that are the same and rows that are not.
        y : array of int, shape (n,), optional
            What records are of, where it is known, and −1 elsewhere.

        Returns
        -------
        self
        """
        if is_on_dask(table):
            return self._fit_on_dask(table, pairs, y)
        return self._fit(columns_given(table, self.kinds), None, pairs, y)

    def fit_link(self, left: Any, right: Any, pairs: Pairs | None = None) -> Self:
        """Learn which records of two tables are the same.

        Parameters
        ----------
        left, right : data frame or dict of lists
            Columns of the same name are compared.
        pairs : Pairs, optional
            Answers. Rows are numbered through: those of ``left``, then those of ``right``, as
            :func:`nearkin.pairs_between` does.

        Returns
        -------
        self
        """
        columns, side = self._both(left, right)
        return self._fit(columns, side, pairs, None)

    def teach(self, pairs: Pairs) -> Self:
        """Learn anew from the table of the last fit and from these answers, all there are.

        It takes less time than :meth:`fit`: candidates stay as they are.
        """
        work = self._judge(None).work
        self._learn(work, _answers(pairs, None, work))
        return self

    def compare(self, left: Any, right: Any) -> tuple[Any, list[str]]:
        """Compare the rows of one table with those in the same places of another.

        Returns
        -------
        comparisons : float32 ndarray of shape (n, d)
            Similarities from 0 to 1, and −1 where a cell is missing, among others.
        names : list of str
        """
        columns, side = self._both(left, right)
        n = int((~side).sum())
        if 2 * n != len(side):
            raise InputError(f"left has {n} rows and right {len(side) - n}: give as many.")
        pairs = np.arange(n)[:, None] + np.array([0, n])
        plan = self.comparisons_
        return compare(plan, prepared(plan, columns), pairs), plan.names

    def chance_same(self, left: Any, right: Any) -> Doubles:
        """Chance that each row of one table is the same thing as that in its place of another.

        It is that of candidates: of two records that look alike at first sight.
        """
        compared, _ = self.compare(left, right)
        return self.matching_.chances(self.matching_.scores(self.comparisons_, compared))

    def same(self, left: Any, right: Any) -> Mask:
        """Whether each row of one table is the same thing as that in its place of another."""
        return np.asarray(self.chance_same(left, right) > 0.5)

    def candidates(self, table: Any = None) -> tuple[Ints, Doubles]:
        """Pairs of records that may be the same, and the chance of each.

        Parameters
        ----------
        table : data frame or dict of lists, optional
            That of the fit by default.

        Returns
        -------
        pairs : int ndarray of shape (k, 2)
        chance : ndarray of shape (k,)
        """
        judged = self._judge(table)
        return judged.pairs, judged.chances

    def duplicates(self, table: Any = None, *, precision: float | None = None) -> Duplicates:
        """Group the records that are the same thing.

        Parameters
        ----------
        table : data frame or dict of lists, optional
            That of the fit by default, of which answers are kept.
        precision : float in (0, 1), optional
            Groups are made of surer pairs only, so that this share of those called the same is
            right as far as can be told. By default both mistakes count alike.
        """
        judged = self._judge(table)
        return judged.duplicates(judged.level_for(_share(precision)))

    def canonical(self, table: Any = None, *, precision: float | None = None) -> dict[str, Any]:
        """One record for each thing: of each column the value that most of its records have."""
        judged = self._judge(table)
        if not isinstance(judged.work, Work):
            raise InputTypeError(
                "canonical gives records in memory, and those of dask stay on the workers: group "
                "them by the labels that duplicates gives."
            )
        return canonical(judged.work.columns, judged.groups(judged.level_for(_share(precision))))

    def link(
        self, left: Any = None, right: Any = None, *, one_to_one: bool = True,
        precision: float | None = None,
    ) -> Links:  # fmt: skip
        """Find which records of one table are which of another.

        Parameters
        ----------
        left, right : data frame or dict of lists, optional
            Those of :meth:`fit_link` by default.
        one_to_one : bool, default=True
            Whether no record is linked twice: each table has a thing once at most.
        precision : float in (0, 1), optional
            As in :meth:`duplicates`.
        """
        if left is None and right is None:
            judged = self._judge(None)
        else:
            judged = self._judge_columns(*self._both(left, right))
        if judged.work.side is None:
            raise InputError("this matcher was fitted on one table: give left and right.")
        return judged.links(one_to_one, judged.level_for(_share(precision)))

    def suggest(self, n: int = 10, table: Any = None) -> Ints:
        """The next pairs to ask about: doubtful ones, and checks of sure ones.

        Parameters
        ----------
        n : int, default=10
        table : data frame or dict of lists, optional
            That of the fit by default, whose answered pairs are not asked again.

        Returns
        -------
        int ndarray of shape (n, 2)
            Fewer where there are not as many candidates left.
        """
        n = checked_count(n, "n", least=1)
        judged = self._judge(table)
        seed = None if self.random_state is None else self._seed() + len(judged.known.pairs)
        chosen = questions(
            judged.pairs,
            judged.scores,
            judged.matching.chances(judged.scores),
            judged.open,
            n,
            check_random_state(seed),
        )
        return np.asarray(judged.pairs[chosen])

    def review(self, n: int = 100, table: Any = None) -> tuple[Ints, Doubles]:
        """Pairs whose answer is expected to change the groups most, and their chances.

        Parameters
        ----------
        n : int, default=100
        table : data frame or dict of lists, optional
            That of the fit by default.

        Returns
        -------
        pairs : int ndarray of shape (n, 2)
        chance : ndarray of shape (n,)
        """
        n = checked_count(n, "n", least=1)
        judged = self._judge(table)
        pairs, chance = judged.pairs[judged.open], judged.chances[judged.open]
        first = doubtful_first(pairs, chance, judged.groups())[:n]
        return pairs[first], chance[first]

    def save(self, path: StrPath) -> None:
        """Write what was learned to a file that holds no code; the table is not in it."""
        check_is_fitted(self, "matching_")
        save_matcher(self, path)

    @classmethod
    def load(cls, path: StrPath) -> Self:
        """Read what :meth:`save` wrote."""
        matcher = load_matcher(path)
        if not isinstance(matcher, cls):
            raise StorageError(f"{path} holds no matcher.")
        return matcher

    def _fit(self, columns: list[Column], side: Mask | None, pairs: Any, y: Any) -> Self:
        self._validate_params()
        self.kinds_ = {column.name: str(column.kind) for column in columns}
        self.comparisons_ = comparisons_of(columns)
        work = self._work(columns, side)
        self._learn(work, _answers(pairs, y, work))
        return self

    def _fit_on_dask(self, frame: Any, pairs: Any, y: Any) -> Self:
        from nearkin.records.dask_table import dask_table  # dask need not be installed
        from nearkin.records.dask_work import work_on_dask

        self._validate_params()
        table = dask_table(frame, self.kinds)
        self.kinds_ = {name: str(kind) for name, kind in table.kinds.items()}
        self.comparisons_ = table.comparisons()
        work = work_on_dask(table, self.comparisons_, self.n_candidates, self._seed())
        self._learn(work, _answers(pairs, y, work))
        return self

    def _learn(self, work: AnyWork, known: Answered) -> None:
        self.matching_ = learned(work, known, self._seed())
        self._judged = Judged(self.matching_, work, known)
        self.report_ = self._judged.report()

    def _work(self, columns: list[Column], side: Mask | None) -> Work:
        return work_on(self.comparisons_, columns, self.n_candidates, side, self._seed())

    def _judge(self, table: Any) -> Judged:
        """The candidates of a table, judged; of that of the fit if there is no other."""
        check_is_fitted(self, "matching_")
        if is_on_dask(table):
            return self._judge_on_dask(table)
        if table is not None:
            return self._judge_columns(columns_given(table, self.kinds_), None)
        if not hasattr(self, "_judged"):
            raise InputError("a matcher from a file knows no table: give one.")
        return self._judged

    def _judge_columns(self, columns: list[Column], side: Mask | None) -> Judged:
        work = self._work(columns, side)
        return Judged(self.matching_, work, answered(_NONE, _NONE))

    def _judge_on_dask(self, frame: Any) -> Judged:
        from nearkin.records.dask_table import dask_table  # dask need not be installed
        from nearkin.records.dask_work import work_on_dask

        table = dask_table(frame, self.kinds_)
        work = work_on_dask(table, self.comparisons_, self.n_candidates, self._seed())
        return Judged(self.matching_, work, answered(_NONE, _NONE))

    def _both(self, left: Any, right: Any) -> tuple[list[Column], Mask]:
        """Two tables as one, and which rows are of the second."""
        kinds = getattr(self, "kinds_", self.kinds)
        tables = [columns_given(table, kinds) for table in (left, right)]
        return joined(*tables), np.repeat([False, True], [len(table[0]) for table in tables])

    def _seed(self) -> int:
        seed = self.random_state
        if seed is None:
            return 0
        return int(check_random_state(seed).randint(1 << 30)) if not isinstance(seed, int) else seed


def _answers(pairs: Any, y: Any, work: AnyWork) -> Answered:
    """What is said of pairs: answers, and candidates whose labels are known."""
    n = work.candidates.n_records
    if pairs is not None and not isinstance(pairs, Pairs):
        raise InputTypeError(f"pairs must be nearkin.Pairs, not {type(pairs).__name__}.")
    known = Pairs(n_rows=n) if pairs is None else pairs
    known.check_rows(n)
    must, cannot = known.must_link, known.cannot_link
    if y is not None:
        label = np.asarray(y)
        if label.shape != (n,) or label.dtype.kind not in "iu":
            raise InputError(f"y must be {n} whole numbers, one for each record, −1 if unknown.")
        links = work.candidates.pairs
        links = links[(label[links] >= 0).all(axis=1)]
        alike = label[links[:, 0]] == label[links[:, 1]]
        must, cannot = np.concatenate([must, links[alike]]), np.concatenate([cannot, links[~alike]])
    return answered(must, cannot)


def _share(precision: float | None) -> float | None:
    if precision is not None and not 0 < precision < 1:
        raise InputError(f"precision={precision!r}: it is a share, above 0 and below 1.")
    return precision


def link(
    left: Any,
    right: Any,
    pairs: Pairs | None = None,
    *,
    one_to_one: bool = True,
    precision: float | None = None,
    kinds: Mapping[str, str] | None = None,
    random_state: Any = None,
) -> Links:
    """Find which records of one table are which of another.

    Parameters
    ----------
    left, right : data frame or dict of lists
        Columns of the same name are compared.
    pairs : Pairs, optional
        Answers. Rows are numbered through: those of ``left``, then those of ``right``, as
        :func:`nearkin.pairs_between` does.
    one_to_one : bool, default=True
        Whether no record is linked twice.
    precision : float in (0, 1), optional
        Links are the surer ones only, so that this share of them is right as far as can be told.
    kinds : mapping, optional
        What columns hold, by their names.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    Links
        Pairs of rows, the chance of each, and expected precision and recall.
    """
    matcher = RecordMatcher(kinds=kinds, random_state=random_state).fit_link(left, right, pairs)
    return matcher.link(one_to_one=one_to_one, precision=precision)
