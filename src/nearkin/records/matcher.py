"""RecordMatcher: which records are the same thing, within a table or between two."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Doubles, Ints, Mask
from nearkin._version import __version__
from nearkin.errors import InputError, InputTypeError, counted
from nearkin.learners.base import WholeState, replace_state
from nearkin.messages import enter_step, notice
from nearkin.pairs.labels import number_classes
from nearkin.pairs.pairs import Pairs, check_count
from nearkin.records.comparisons import (
    columns_given,
    columns_known,
    columns_of_both,
    compare_pairs,
    comparisons_of,
    is_on_dask,
    join_columns,
    prepare_columns,
    refuse_absent,
)
from nearkin.records.decisions import (
    JudgedTable,
    choose_questions,
    doubt_answers,
    doubtful_first,
    judge_table,
)
from nearkin.records.model import (
    Answered,
    Work,
    collect_answers,
    compare_at_random,
    count_features,
    draw_some,
    expand,
    learn_matching,
    make_work,
    score_pairs,
    scores_of,
    study_table,
)
from nearkin.records.results import Duplicates, Links, canonical_rows
from nearkin.storage import models
from nearkin.storage.arrays import StorageError, read_arrays, read_kind, write_arrays
from nearkin.storage.files import StrPath
from nearkin.storage.schema import Packed, dict_of, one_word_of, pack, stored, text, unpack
from nearkin.storage.schema import a as an
from nearkin.tables.reading import ORDERS, READINGS, Column, Order, TableWarning

# Files of matchers, and one door for these and for model files.


KIND, VERSION = "nearkin record matcher", 4


def load(path: StrPath) -> Any:
    """Load a fitted learner or matcher from a file that its ``save`` wrote.

    Nothing in the file is run, and all of it is checked: its digest, the parameters by the
    learner's own rules, the shape of every array, and that a row can be embedded, where that takes
    little memory beside the file (up to about a thousand landmarks). Loading takes at most four
    times the size of the file and 100 MB, whatever the file says.

    Parameters
    ----------
    path : path

    Returns
    -------
    learner or RecordMatcher
        The same as was saved; ``transform`` gives the same to the last bit with the same versions
        of NumPy and its libraries. What ``set_output`` asked for is not kept.

    Raises
    ------
    StorageError
        If the file is damaged, no model, or of a version that this nearkin does not read.

    Examples
    --------
    >>> import tempfile, nearkin
    >>> metric = nearkin.RCA().fit([[0.0, 0], [1, 0], [0, 5]], pairs=nearkin.Pairs([(0, 1)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     metric.save(f"{folder}/example.nearkin")
    ...     nearkin.load(f"{folder}/example.nearkin")
    RCA()
    """
    return RecordMatcher.load(path) if is_matcher(path) else models.load(path)


def is_matcher(path: StrPath) -> bool:
    """Whether a file says that it holds a matcher."""
    return read_kind(path) == KIND


_NO_PAIRS = np.empty((0, 2), dtype=np.int64)
_REVERSED = (
    "answers say the opposite of what records look like: was same taken for different? They are "
    "learned from as they are, and no figure is stated."
)
# Random pairs that stand for those that differ, where answers hardly tell of any.
_AT_RANDOM = 300
# What answers lead to is learned from in its turn, as long as it is so many times as much.
_ROUNDS, _GROWN = 4, 1.05
# Candidates above which that takes too long.
_MANY = 1_000_000


@stored(
    comparisons_=an("Comparisons"),
    matching_=an("Matching"),
    kinds_=dict_of(text),
    orders_=dict_of(one_word_of(*READINGS)),
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
    dates : {"day first", "month first", "year first"}, optional
        How dates such as 3/4/2024 are read. By default as the other dates of the column say.
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
        What columns hold, in this table and in others that are given later.
    orders_ : dict of str to str
        In which order day, month and year are read, and what sets off decimals, in columns where
        that makes a difference.

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
    >>> table, person = nk.datasets.make_records(300, random_state=0)
    >>> matcher = nk.RecordMatcher(kinds={"born": "code"}, random_state=0)
    >>> matcher = matcher.fit(table)  # a dict of lists or a data frame
    >>> len(matcher.duplicates().groups) > 30
    True

    It says which answers would help most, and learns from them.

    >>> asked = matcher.suggest(20)
    >>> same = person[asked[:, 0]] == person[asked[:, 1]]
    >>> matcher = matcher.teach(nk.Pairs(asked[same], asked[~same]))
    >>> matcher.chance_of_pairs(asked).round().astype(bool).tolist() == same.tolist()
    True
    >>> surer = matcher.duplicates(precision=0.99)
    >>> len(surer.groups) <= len(matcher.duplicates().groups)
    True

    Pairs, what columns say of them, those that are worth a look, and what each record is near to:

    >>> pairs, chance = matcher.candidates()
    >>> i, j = pairs[chance.argmax()]
    >>> bool(person[i] == person[j])
    True
    >>> log_odds, names = matcher.explain(pairs)
    >>> names[:3]
    ['any two', 'given_name', 'surname']
    >>> pairs, chance = matcher.review(5)
    >>> rows, chance = matcher.neighbors(n_neighbors=3)
    >>> rows.shape
    (300, 3)

    One record for each thing:

    >>> kept = matcher.canonical()
    >>> len(kept["surname"]) == 1 + matcher.duplicates().labels.max()
    np.True_

    What was learned from one table tells of others, row by row or as a whole.

    >>> others, _ = nk.datasets.make_records(3, random_state=1)
    >>> matcher.same(others, others)
    array([ True,  True,  True])
    >>> bool((matcher.chance_same(others, others) > 0.9).all())
    True
    >>> compared, names = matcher.compare(others, others)
    >>> compared.shape == (3, len(names))
    True
    >>> len(matcher.on(others).duplicates().labels)
    3

    Two tables are linked by a matcher of theirs, or by one of another table.

    >>> left = {name: cells[:150] for name, cells in table.items()}
    >>> right = {name: cells[150:] for name, cells in table.items()}
    >>> links = (
    ...     nk.RecordMatcher(kinds={"born": "code"}, random_state=0).fit_link(left, right).link()
    ... )
    >>> bool((person[links.pairs[:, 0]] == person[150 + links.pairs[:, 1]]).mean() > 0.8)
    True
    >>> len(matcher.on_link(left, right).link()) > 5
    True

    Files hold what was learned, and no table.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     matcher.save(f"{folder}/people.nearkin")
    ...     known = nk.RecordMatcher.load(f"{folder}/people.nearkin")
    >>> known.kinds_ == matcher.kinds_
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_candidates": [Interval(Integral, 1, 100, closed="both")],
        "kinds": [None, Mapping],
        "dates": [None, StrOptions(set(ORDERS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_candidates: int = 10,
        kinds: Mapping[str, str] | None = None,
        dates: Order | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_candidates = n_candidates
        self.kinds = kinds
        self.dates = dates
        self.random_state = random_state

    @replace_state
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
        self._validate_params()
        if not is_on_dask(table):
            return self._fit(table, columns_given(table, self.kinds, self.dates), None, pairs, y)
        from nearkin.records.dask import (
            dask_table,  # dask need not be installed
            work_on_dask,
        )

        on_workers = dask_table(table, self.kinds, self.dates)
        plan = on_workers.comparisons()
        found = work_on_dask(on_workers, plan, self.n_candidates, self._seed())
        return self._study(table, on_workers.sample, found, pairs, y)

    def fit_link(self, left: Any, right: Any, pairs: Pairs | None = None) -> Self:
        """Learn which records of two tables are the same.

        Parameters
        ----------
        left, right : data frame or dict of lists
            Columns of the same name are compared. What they hold is recognised by the cells of
            both.
        pairs : Pairs, optional
            Answers. Rows are numbered through: those of ``left``, then those of ``right``, as
            :func:`nearkin.pairs_between` does.

        Returns
        -------
        self
        """
        self._validate_params()
        tables = columns_of_both(left, right, self.kinds, self.dates)
        columns = join_columns(*tables)
        return self._fit(columns, columns, _sides(*tables), pairs, None)

    def teach(self, pairs: Pairs) -> Self:
        """Learn anew from the table of the last fit and from these answers, all there are.

        It takes less time than :meth:`fit`: candidates stay as they are.
        """
        work = self._judge().work
        self._learn(work, _answers(pairs, None, work))
        return self

    def on(self, table: Any = None, pairs: Pairs | None = None) -> Self:
        """The same matcher with another table in the place of that of its fit.

        What was learned stays as it is, and is no more than a matcher from a file knows. All that
        can be asked of the table of the fit can then be asked of this one, without finding its
        candidates again and again; :meth:`teach` learns anew, from this table alone.

        Parameters
        ----------
        table : data frame or dict of lists, optional
            With the columns that are compared, by name. The one that it has by default.
        pairs : Pairs, optional
            Answers about it, which are kept, but not learned from.
        """
        if table is None:
            return self._on(self._judge().work, self._table, pairs)
        return self._on(self._work(table), table, pairs)

    def on_link(self, left: Any, right: Any, pairs: Pairs | None = None) -> Self:
        """The same matcher with two tables in the place of what it was fitted on.

        Answers, as of :meth:`fit_link`, are kept, but not learned from.
        """
        work = self._work(left, right)
        return self._on(work, work.columns, pairs)

    def compare(self, left: Any, right: Any) -> tuple[Any, list[str]]:
        """Compare the rows of one table with those in the same places of another.

        Returns
        -------
        comparisons : float32 ndarray of shape (n, d)
            Similarities from 0 to 1, and −1 where a cell is missing, among others.
        names : list of str
        """
        columns, side = self._known(left, right)
        n = int((~side).sum())
        if 2 * n != len(side):
            raise InputError(f"left has {n} rows and right {len(side) - n}: give as many.")
        pairs = np.arange(n)[:, None] + np.array([0, n])
        plan = self.comparisons_
        return compare_pairs(plan, prepare_columns(plan, columns), pairs), plan.names

    def chance_same(self, left: Any, right: Any) -> Doubles:
        """Chance that each row of one table is the same thing as that in its place of another.

        It is that of candidates: of two records that look alike at first sight.
        """
        compared, _ = self.compare(left, right)
        return np.asarray(expit(self.matching_.scores(self.comparisons_, compared)))

    def same(self, left: Any, right: Any) -> Mask:
        """Whether each row of one table is the same thing as that in its place of another."""
        return np.asarray(self.chance_same(left, right) > 0.5)

    def chance_of_pairs(self, pairs: Any, table: Any = None) -> Doubles:
        """Chance (k,) that the two rows of each pair (k, 2) of a table are the same thing.

        What was answered about the table of the fit, the one by default, is 0 or 1.
        """
        check_is_fitted(self, "matching_")
        plan = self.comparisons_
        if table is None:
            judged = self._judge()
            n, known, compared = judged.work.candidates.n_records, judged.known, judged.work.compare
        else:
            columns, side = self._known(table)
            n, known = len(side), collect_answers(_NO_PAIRS, _NO_PAIRS)
            compared = partial(compare_pairs, plan, prepare_columns(plan, columns))
        ends = _row_pairs(pairs, n)
        chance = np.asarray(expit(score_pairs(self.matching_, plan, compared, ends)))
        found, same = known.among(ends)
        chance[found] = same
        return chance

    def explain(self, pairs: Any) -> tuple[Doubles, list[str]]:
        """What each column says of pairs of rows (k, 2) of the table of the fit.

        Returns
        -------
        log_odds : ndarray of shape (k, c + 1)
            The first are those of any two records that look alike at first sight. The chance
            follows from the sum.
        names : list of str
            "any two", and the columns.
        """
        judged = self._judge()
        ends = _row_pairs(pairs, judged.work.candidates.n_records)
        said = self.matching_.contributions(self.comparisons_, judged.work.compare(ends))
        base = np.full((len(ends), 1), self.matching_.base)
        names = [column.name for column in self.comparisons_.columns]
        return np.column_stack([base, said]), ["any two", *names]

    def neighbors(
        self, table: Any = None, n_neighbors: int = 10, *, queries: Any = None
    ) -> tuple[Ints, Doubles]:
        """The others that each record is most likely the same as, and the chance of each.

        Only records that look alike at first sight are compared, so that some have fewer than they
        are asked for, or none.

        Parameters
        ----------
        table : data frame or dict of lists, optional
            Records among which neighbours are looked for. That of the fit by default.
        n_neighbors : int, default=10
            For each record, at most.
        queries : data frame or dict of lists, optional
            Records whose neighbours are looked for. Those of the table itself by default.

        Returns
        -------
        rows : int ndarray of shape (n, n_neighbors)
            The likeliest first; −1 where there are no more.
        chance : ndarray of shape (n, n_neighbors)
            0 where there are no more.
        """
        n_neighbors = check_count(n_neighbors, "n_neighbors", least=1)
        if queries is not None:
            table = self._columns() if table is None else table
            return self._judge(queries, table, n_neighbors).neighbors(n_neighbors)
        judged = self._judge(table, None, n_neighbors)
        if table is None and judged.work.side is not None:
            raise InputError("this matcher was fitted on two tables: give table, and queries.")
        if table is None and n_neighbors > self.n_candidates:
            more = self._work(self._columns(), None, n_neighbors)
            judged = judge_table(self.matching_, more, judged.known)
        return judged.neighbors(n_neighbors)

    def candidates(self, table: Any = None) -> tuple[Ints, Doubles]:
        """Pairs of records that may be the same, and the chance of each: (k, 2) and (k,).

        Those of the table of the fit by default.
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

    def canonical(self, table: Any = None, *, precision: float | None = None) -> Any:
        """One record for each thing: of each column the cell that most of its records have.

        Things are those of :meth:`duplicates`. Of cells that are equally frequent, the longest text
        is taken, or else that of the first record, whose id it has, too.

        Returns
        -------
        data frame or dict of lists
            As the table is, with cells as they are there.
        """
        judged = self._judge(table)
        given = self._table if table is None else table
        if is_on_dask(given):
            raise InputTypeError(
                "canonical gives records in memory, and those of dask stay on the workers: group "
                "them by the labels that duplicates gives."
            )
        return canonical_rows(given, judged.groups(judged.level_for(_share(precision))))

    def link(
        self, left: Any = None, right: Any = None, *, one_to_one: bool = True,
        precision: float | None = None,
    ) -> Links:  # fmt: skip
        """Find which records of one table are the same things as which of another.

        Parameters
        ----------
        left, right : data frame or dict of lists, optional
            Those of :meth:`fit_link` by default.
        one_to_one : bool, default=True
            Whether no record is linked twice: each table has a thing once at most.
        precision : float in (0, 1), optional
            As in :meth:`duplicates`.
        """
        judged = self._judge(left, right)
        if judged.work.side is None:
            raise InputError("this matcher was fitted on one table: give left and right.")
        return judged.links(one_to_one, judged.level_for(_share(precision)))

    def suggest(self, n: int = 10, table: Any = None) -> Ints:
        """The next pairs to ask about: doubtful ones, and checks of sure ones.

        Pairs of the table of the fit, the one by default, are not asked again. There are fewer than
        ``n`` where there are not as many candidates left.
        """
        n = check_count(n, "n", least=1)
        judged = self._judge(table)
        seed = None if self.random_state is None else self._seed() + len(judged.known.pairs)
        chosen = choose_questions(judged, n, check_random_state(seed))
        return np.asarray(judged.pairs[chosen])

    def review(self, n: int = 100, table: Any = None) -> tuple[Ints, Doubles]:
        """Pairs whose answer is expected to change the groups most, and their chances."""
        n = check_count(n, "n", least=1)
        judged = self._judge(table)
        pairs, chance = judged.pairs[judged.open], judged.chances[judged.open]
        first = doubtful_first(pairs, chance, judged.likely_groups)[:n]
        return pairs[first], chance[first]

    def save(self, path: StrPath) -> None:
        """Write what was learned to a file that holds no code; the table is not in it."""
        check_is_fitted(self, "matching_")
        packed = pack(self)
        content = {"nearkin": __version__, "model": packed.node}
        write_arrays(path, KIND, VERSION, packed.arrays, content)

    @classmethod
    def load(cls, path: StrPath) -> Self:
        """Read what :meth:`save` wrote, and check that it fits together."""
        arrays, content = read_arrays(path, KIND, VERSION)
        try:
            matcher = unpack(Packed(content["model"], arrays))
            columns, learned = matcher.comparisons_.columns, matcher.matching_
            width = sum(count_features(len(column.parts)) for column in columns)
            if len(learned.weights) != width or len(learned.agreement.same) != len(columns):
                raise StorageError("its weights are not for its comparisons.")
        except (KeyError, TypeError, AttributeError, StorageError) as error:
            raise StorageError(f"{path} holds no whole matcher: {error}") from error
        if not isinstance(matcher, cls):
            raise StorageError(f"{path} holds no matcher.")
        return matcher

    def _fit(
        self, table: Any, columns: list[Column], side: Mask | None, pairs: Any, y: Any
    ) -> Self:
        n = len(columns[0]) if columns else 0
        if n < 2:
            raise InputError(f"the table has {counted(n, 'row')}: two are needed at least.")
        plan = comparisons_of(columns)
        found = make_work(plan, columns, self.n_candidates, side, self._seed())
        return self._study(table, columns, found, pairs, y)

    def _study(self, table: Any, columns: list[Column], found: Work, pairs: Any, y: Any) -> Self:
        self.kinds_ = {column.name: str(column.kind) for column in columns}
        self.orders_ = {column.name: column.order for column in columns if column.order}
        self.comparisons_ = found.plan
        work, self.matching_ = study_table(found, self._seed())
        self._learn(work, _answers(pairs, y, work))
        self._table = table
        return self

    def _on(self, work: Work, table: Any, pairs: Any) -> Self:
        matcher = copy(self)
        matcher._judged = judge_table(self.matching_, work, _answers(pairs, None, work))
        matcher._table = table
        return matcher

    def _learn(self, work: Work, known: Answered) -> None:
        seed, plan = self._seed(), self.comparisons_
        enter_step("learning how columns tell records apart")
        agreement, told = self.matching_.agreement, work.compare(known.pairs)
        judged = judge_table(self.matching_, work, known)
        if judged.are_reversed:
            notice(_REVERSED, TableWarning)
        for _ in range(_ROUNDS if len(work.candidates) <= _MANY else 1):
            before, doubted = len(work.candidates), judged.doubted
            chosen = draw_some(before, np.random.RandomState(seed))
            chosen = chosen[judged.open[chosen]]
            self.matching_, odds = learn_matching(
                plan, agreement, work.compared(chosen),
                compare_at_random(work, np.random.RandomState(seed), _AT_RANDOM),
                told[~doubted], known.same[~doubted], seed, by_kind=judged.drawn_by_kind,
            )  # fmt: skip
            held_out = self.matching_.scores(plan, told)
            held_out[~doubted] = odds
            if len(known.same):
                work = expand(work, self.matching_, scores_of(self.matching_, work), seed)
            judged = JudgedTable(self.matching_, work, known, judged.doubt)
            judged = judged.doubting(doubt_answers(judged, held_out))
            grown = len(work.candidates) > _GROWN * before
            if not grown and (judged.doubted == doubted).all():
                break
        self._judged = judged
        self.report_ = self._judged.report()

    def _judge(self, table: Any = None, right: Any = None, n_best: int = 0) -> JudgedTable:
        """The candidates of a table, or between two, judged; those of the fit by default."""
        check_is_fitted(self, "matching_")
        if table is not None or right is not None:
            known = collect_answers(_NO_PAIRS, _NO_PAIRS)
            return judge_table(self.matching_, self._work(table, right, n_best), known)
        if not hasattr(self, "_judged"):
            raise InputError("a matcher from a file knows no table: give one, by on(table) too.")
        return self._judged

    def _work(self, table: Any, right: Any = None, n_best: int = 0) -> Work:
        """Other tables than those of the fit, with their candidates."""
        check_is_fitted(self, "matching_")
        n_best = max(self.n_candidates, n_best)
        found: Work
        if right is None and is_on_dask(table):
            from nearkin.records.dask import (
                dask_table,  # dask need not be installed
                work_on_dask,
            )

            on_workers = dask_table(table, self.kinds_, self.orders_)
            found = work_on_dask(on_workers, self.comparisons_, n_best, self._seed())
        else:
            columns, of_right = self._known(*((table,) if right is None else (table, right)))
            side = None if right is None else of_right
            found = make_work(self.comparisons_, columns, n_best, side, self._seed())
        return study_table(found, self._seed(), self.matching_.agreement)[0]

    def _known(self, *tables: Any) -> tuple[list[Column], Mask]:
        """The columns that are compared, of a table or of two as one; which rows are of the second.

        They are read as they were in the fit.
        """
        check_is_fitted(self, "matching_")
        known = [columns_known(table, self.kinds_, self.orders_) for table in tables]
        for columns in known:
            refuse_absent(self.comparisons_, columns)
        return known[0] if len(known) == 1 else join_columns(*known), _sides(*known)

    def _columns(self) -> list[Column]:
        """The columns of the table of the fit, which must be in memory."""
        # Those of a table on dask are not here, and what gives them says what to do.
        return self._judge().work.columns or columns_given(self._table)

    def _seed(self) -> int:
        seed = self.random_state
        if seed is None:
            return 0
        return int(check_random_state(seed).randint(1 << 30)) if not isinstance(seed, int) else seed


def _sides(*tables: list[Column]) -> Mask:
    """Which rows are of the second of two tables."""
    return np.repeat(np.arange(len(tables)) > 0, [len(columns[0]) for columns in tables])


def _answers(pairs: Any, y: Any, work: Work) -> Answered:
    """What is said of pairs: answers, and candidates whose labels are known."""
    n = work.candidates.n_records
    if pairs is not None and not isinstance(pairs, Pairs):
        raise InputTypeError(f"pairs must be nearkin.Pairs, not {type(pairs).__name__}.")
    known = Pairs(n_rows=n) if pairs is None else pairs
    known.check_rows(n)
    must, cannot = known.must_link, known.cannot_link
    if y is not None:
        label = number_classes(y)
        if label.shape != (n,):
            raise InputError(f"y has {len(label)} labels, but there are {n} records.")
        links = work.candidates.pairs
        links = links[(label[links] >= 0).all(axis=1)]
        alike = label[links[:, 0]] == label[links[:, 1]]
        must, cannot = np.concatenate([must, links[alike]]), np.concatenate([cannot, links[~alike]])
    return collect_answers(must, cannot)


def _row_pairs(pairs: Any, n_rows: int) -> Ints:
    """Pairs of rows of a table, checked."""
    ends = np.asarray(pairs)
    if not ends.size:
        return _NO_PAIRS
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise InputError(f"pairs must be whole numbers of shape (k, 2), not of {ends.shape}.")
    wrong = np.argwhere((ends < 0) | (ends >= n_rows))
    if len(wrong):
        pair, end = wrong[0]
        raise InputError(
            f"pair {pair} names row {ends[pair, end]}, but the table has rows 0 to {n_rows - 1}."
        )
    return ends.astype(np.int64)


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
    dates: Order | None = None,
    random_state: Any = None,
) -> Links:
    """Find which records of one table are the same things as which of another.

    Parameters
    ----------
    left, right, pairs
        As of :meth:`RecordMatcher.fit_link`.
    one_to_one, precision
        As of :meth:`RecordMatcher.link`.
    kinds, dates, random_state
        As of :class:`RecordMatcher`.

    Returns
    -------
    Links
        Pairs of rows, the chance of each, and expected precision and recall.

    Examples
    --------
    >>> import nearkin as nk
    >>> table, person = nk.datasets.make_records(60, random_state=0)
    >>> left = {name: cells[:30] for name, cells in table.items()}
    >>> right = {name: cells[30:] for name, cells in table.items()}
    >>> links = nk.link(left, right, kinds={"born": "code"}, random_state=0)
    >>> links.pairs.shape[1]
    2
    """
    matcher = RecordMatcher(kinds=kinds, dates=dates, random_state=random_state)
    return matcher.fit_link(left, right, pairs).link(one_to_one=one_to_one, precision=precision)
