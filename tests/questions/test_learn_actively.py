"""Learning by asking: the loop, and everything that can happen to it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from nearkin import ITML, LMNN, RCA, KernelBeta, MetricLearner, Pairs, learn_actively
from nearkin.datasets import make_xor
from nearkin.questions.strategies import STRATEGIES, add_inferred
from tests.cases import each

# Enough where it does not matter what is learned.
QUICK = KernelBeta(n_landmarks=20, random_state=0)

each_strategy = each("strategy", list(STRATEGIES))


@pytest.fixture(scope="module")
def xor():
    return make_xor(80, random_state=0)


def oracle_of(y):
    return lambda i, j: bool(y[i] == y[j])


def check_history(result, y, given=None):
    """Every question was open when it was asked, and the answers are in the pairs."""
    known = Pairs(n_rows=len(y)) if given is None else given
    for i, j, answer in result.history:
        assert not known.groups.tell(np.array([[i, j]]))[0]
        assert answer == (y[i] == y[j])
        known = known + (Pairs([(i, j)]) if answer else Pairs(cannot_link=[(i, j)]))
    assert known == result.pairs


@each_strategy
def test_asks_open_questions_up_to_the_budget(strategy, xor):
    X, y = xor
    result = learn_actively(X, oracle_of(y), 12, strategy=strategy, learner=QUICK, random_state=0)
    assert result.n_asked == len(result.history) == 12
    assert result.error is None
    assert result.unsure.shape == (0, 2)
    check_history(result, y)
    assert result.metric.transform(X).shape[0] == 80


def test_learns_from_what_follows_too(xor):
    X, y = xor
    learner = KernelBeta(random_state=0)
    result = learn_actively(X, oracle_of(y), 20, learner=learner, random_state=0)
    expected = clone(learner).fit(X, pairs=result.pairs.closure())
    assert_array_equal(result.metric.transform(X), expected.transform(X))
    assert not hasattr(learner, "beta_")
    # It begins from what is known, and stops when everything is.
    given = Pairs.from_labels(y, 10, random_state=0)
    result = learn_actively(X, oracle_of(y), 10, pairs=given, learner=QUICK, random_state=0)
    check_history(result, y, given)
    assert len(result.pairs) == 20
    X, y = make_xor(12, random_state=0)
    result = learn_actively(X, oracle_of(y), 500, learner=KernelBeta(), random_state=0)
    assert result.n_asked < 30
    assert len(result.pairs.closure()) == 66
    assert result.error is None


@pytest.mark.night
def test_chosen_questions_beat_random_ones():
    """Ten classes along one of six axes: random pairs seldom meet two rows of a class."""
    rng = np.random.RandomState(0)
    y = np.repeat(np.arange(10), 10)
    X = np.column_stack([4.0 * y, 12 * rng.standard_normal((100, 5))])
    X[:, 0] += 0.3 * rng.standard_normal(100)

    def score(strategy, seed):
        learner = ITML(random_state=0)
        result = learn_actively(
            X, oracle_of(y), 50, learner=learner, strategy=strategy, random_state=seed
        )
        return result.metric.score(X, y)

    chosen, drawn = (
        np.mean([score(strategy, seed) for seed in range(3)])
        for strategy in ("consolidate", "random")
    )
    assert chosen > drawn + 0.05


def test_budget_of_none(xor):
    X, y = xor
    given = Pairs.from_labels(y, 10, random_state=0)
    learner = RCA(random_state=0)
    result = learn_actively(X, oracle_of(y), 0, pairs=given, learner=learner)
    assert (result.n_asked, result.history) == (0, ())
    assert result.pairs == given
    expected = clone(learner).fit(X, pairs=given.closure())
    assert_allclose(result.metric.transform(X), expected.transform(X))
    with pytest.raises(ValueError, match="budget=0 and no pairs: there is nothing to learn from"):
        learn_actively(X, oracle_of(y), 0)


@each("error", [RuntimeError("went home"), KeyboardInterrupt()])
def test_an_oracle_that_raises_loses_nothing(error, xor):
    X, y = xor
    answers = []

    def oracle(i, j):
        if len(answers) == 7:
            raise error
        answers.append((i, j))
        return bool(y[i] == y[j])

    with pytest.warns(UserWarning, match="the questions ended after 7 answers"):
        result = learn_actively(X, oracle, 50, learner=QUICK, random_state=0)
    assert result.error is error
    assert [(i, j) for i, j, _ in result.history] == answers
    assert (result.n_asked, len(result.pairs)) == (7, 7)
    assert result.metric is not None
    with pytest.warns(UserWarning, match="ended after 0 answers"):
        result = learn_actively(X, oracle, 5)
    assert result.metric is None
    assert result.error is error
    assert len(result.pairs) == 0


def test_a_learner_that_cannot_use_the_answers_loses_nothing(xor):
    with pytest.warns(UserWarning, match="the learner refused the answers, which are kept"):
        result = learn_actively(xor[0], lambda i, j: True, 6, learner=LMNN(), random_state=0)
    assert result.metric is None
    assert isinstance(result.error, ValueError)
    assert len(result.pairs) == 6


@each_strategy
def test_an_oracle_that_is_always_unsure(strategy, xor):
    X, _ = xor
    with pytest.warns(UserWarning, match="none of 30 questions got an answer"):
        result = learn_actively(X, lambda i, j: None, 30, strategy=strategy, random_state=0)
    assert result.metric is None
    assert result.n_asked == 30
    assert len(np.unique(np.sort(result.unsure, axis=1), axis=0)) == 30
    assert len(result.pairs) == 0


def test_unsure_pairs_are_no_evidence_and_not_asked_again(xor):
    X, y = xor

    def oracle(i, j):
        return None if (i + j) % 3 == 0 else bool(y[i] == y[j])

    result = learn_actively(X, oracle, 60, learner=QUICK, random_state=0)
    asked = [tuple(sorted((i, j))) for i, j, _ in result.history]
    assert len(set(asked)) == len(asked) == 60
    assert len(result.pairs) + len(result.unsure) == 60
    assert len(result.unsure) > 0
    assert ((result.unsure.sum(axis=1) % 3) == 0).all()


def test_answers_may_be_numbers_and_wrong_ones_are_named(xor):
    X, y = xor
    as_bools = learn_actively(X, oracle_of(y), 10, learner=RCA(), random_state=0)
    for kind in (int, np.bool_, np.int8):
        oracle = lambda i, j, kind=kind: kind(y[i] == y[j])  # noqa: E731
        found = learn_actively(X, oracle, 10, learner=RCA(), random_state=0)
        assert found.history == as_bools.history
        assert found.metric is not None
    for wrong in ("yes", 2, 1.0, np.array([True])):
        with pytest.raises(TypeError, match=r"the oracle said .* return True \(or 1\) for same"):
            learn_actively(X, lambda i, j, wrong=wrong: wrong, 5, random_state=0)
    answers = [True, False, "yes"]
    with pytest.warns(UserWarning, match="the oracle said 'yes' of rows"):
        result = learn_actively(X, lambda i, j: answers.pop(0), 5, learner=RCA(), random_state=0)
    assert isinstance(result.error, TypeError)
    assert result.metric is not None


def test_the_last_step_is_the_learner_that_compares(xor):
    X, y = xor
    result = learn_actively(X, oracle_of(y), 60, random_state=0)
    assert isinstance(result.metric, MetricLearner)
    assert result.metric.score(X, y) > 0.9
    # By the answers alone, not by what follows from them.
    assert 0 < result.metric.report_.n_judged <= 60 < len(result.pairs.closure())


def test_contradictory_pairs_are_used_with_one_warning(xor):
    X, y = xor
    given = Pairs([(0, 1), (1, 2)], [(0, 2)])
    with pytest.warns(UserWarning, match="contradict") as caught:
        result = learn_actively(X, oracle_of(y), 20, pairs=given, learner=QUICK, random_state=0)
    assert len(caught) == 1
    assert result.n_asked == 20


def test_tiny_sets():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 1.0]])
    result = learn_actively(
        X, lambda i, j: {i, j} == {0, 1}, 10, learner=KernelBeta(), random_state=0
    )
    assert result.n_asked <= 3
    assert len(result.pairs.closure()) == 3
    result = learn_actively(X[:2], lambda i, j: False, 10, learner=KernelBeta(), random_state=0)
    assert result.pairs == Pairs(cannot_link=[(0, 1)], n_rows=2)


def test_answers_of_one_kind(xor):
    for answer, kind in ((True, "must_link"), (False, "cannot_link")):
        result = learn_actively(xor[0], lambda *_, a=answer: a, 20, learner=QUICK, random_state=0)
        assert len(getattr(result.pairs, kind)) == len(result.pairs) == 20
        assert result.metric is not None


def test_pandas_and_sparse_rows(xor):
    X, y = xor
    frame = pd.DataFrame(X, columns=["a", "b"])
    expected = learn_actively(X, oracle_of(y), 6, learner=QUICK, random_state=0)
    assert (
        learn_actively(frame, oracle_of(y), 6, learner=QUICK, random_state=0).history
        == expected.history
    )
    for form in (sp.csr_array, sp.coo_array):
        result = learn_actively(form(X), oracle_of(y), 6, learner=QUICK, random_state=0)
        check_history(result, y)
    filled = np.random.RandomState(0).rand(60, 3000)
    wide = sp.csr_array(np.where(filled < 0.01, filled, 0))
    result = learn_actively(wide, oracle_of(y), 6, learner=QUICK, random_state=0)
    check_history(result, y[:60])


def test_progress_goes_to_standard_error(xor, capsys):
    X, y = xor
    learn_actively(X, oracle_of(y), 6, learner=QUICK, random_state=0, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.split("\r")[-1].startswith("6 of 6 asked: ")
    assert err.endswith("0 unsure\n")  # too early to say more
    assert err.endswith("\n")
    learn_actively(X, oracle_of(y), 6, learner=QUICK, random_state=0)
    assert capsys.readouterr() == ("", "")
    result = learn_actively(X, oracle_of(y), 15, learner=QUICK, random_state=0, verbose=True)
    gain = f"; ten more raise pair AUC by {result.outlook.gain}\n"
    assert capsys.readouterr().err.endswith(gain)


def test_many_inferred_pairs_are_told_in_part():
    y = np.repeat([0, 1], 150)
    chain = [(i, i + 1) for i in range(299) if i != 149]
    pairs = Pairs(chain, [(0, 299)], n_rows=300)
    told = add_inferred(pairs, np.random.RandomState(0))
    assert 10_000 <= len(told.must_link) <= 10_298
    assert 10_000 <= len(told.cannot_link) <= 10_001
    assert (y[told.must_link[:, 0]] == y[told.must_link[:, 1]]).all()
    assert (y[told.cannot_link[:, 0]] != y[told.cannot_link[:, 1]]).all()


def test_errors_say_what_to_do(xor):
    X, y = xor
    for budget, options, message in (
        (-1, {}, "budget must be 0 or more, not -1"),
        (5, {"batch": 0}, "batch must be 1 or more"),
        (5, {"strategy": "best"}, "strategy='best' is unknown"),
        (5, {"pairs": Pairs([(0, 1)], n_rows=9)}, "pairs are for 9 rows, X has 80"),
        (5, {"goal": "groups"}, "goal must be 'metric' or 'clusters', not 'groups'"),
    ):
        with pytest.raises(ValueError, match=message):
            learn_actively(X, oracle_of(y), budget, **options)
    for rows, message in ((np.where(X > 0, X, np.nan), "NaN"), (X[:, 0], "Expected 2D array")):
        with pytest.raises(ValueError, match=message):
            learn_actively(rows, oracle_of(y), 5)
    with pytest.raises(TypeError, match="oracle must be a function of two row numbers"):
        learn_actively(X, y, 5)
