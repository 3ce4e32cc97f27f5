"""What suggest_pairs promises, for every strategy."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from nearkin import RCA, KernelBeta, Pairs, suggest_pairs
from nearkin.datasets import make_xor
from nearkin.pairs.closure import keys_of
from nearkin.questions.strategies import (
    STRATEGIES,
    draw_candidate_rows,
    find_neighborhoods,
    find_typical,
    make_scene,
    pick_farthest_first,
    pick_spread_out,
    pick_which_questions,
)
from tests.cases import each
from tests.common.learners import LEARNERS, ONE_OF_EACH, as_seen_by, example, fitted

each_strategy = each("strategy", list(STRATEGIES))
NOTHING = np.empty((0, 2), dtype=np.int64)


@pytest.fixture(scope="module")
def xor():
    X, y = make_xor(60, random_state=0)
    pairs = Pairs.from_labels(y, 20, random_state=0)
    return X, y, pairs, KernelBeta(random_state=0).fit(X, pairs=pairs)


def check_questions(found, n, n_rows, pairs):
    assert found.shape == (n, 2)
    assert found.dtype.kind == "i"
    assert found.min(initial=0) >= 0
    assert found.max(initial=0) < n_rows
    assert (found[:, 0] != found[:, 1]).all()
    unordered = {tuple(sorted(pair)) for pair in found.tolist()}
    assert len(unordered) == n
    closure = pairs.closure()
    told = {tuple(pair) for pair in [*closure.must_link.tolist(), *closure.cannot_link.tolist()]}
    assert not unordered & told


# ---- the contract


@each_strategy
@each("n", [1, 2, 10, 40])
def test_gives_that_many_open_pairs(strategy, n, xor):
    X, _, pairs, metric = xor
    found, again = (
        suggest_pairs(metric, X, pairs, n, strategy=strategy, random_state=0) for _ in range(2)
    )
    check_questions(found, n, 60, pairs)
    assert_array_equal(found, again)
    # A batch is not all about one row. Neighbourhoods compare many rows with few; the rows to be
    # placed differ in any case.
    assert len(np.unique(found[:10, 0])) >= min(n, 8)
    without_knowing_any = suggest_pairs(metric, X, n=n, strategy=strategy, random_state=0)
    check_questions(without_knowing_any, n, 60, Pairs())


@each_strategy
def test_many_rows_are_looked_at_in_part(strategy):
    X, y = make_xor(5000, random_state=0)
    pairs = Pairs.from_labels(y, 40, random_state=0)
    metric = RCA(random_state=0).fit(X, pairs=pairs)
    found = suggest_pairs(metric, X, pairs, 10, strategy=strategy, random_state=0)
    check_questions(found, 10, 5000, pairs)


@each("name", ONE_OF_EACH)
def test_any_learner_will_do(name):
    X, _, pairs, _ = example()
    learner = LEARNERS[name]
    metric = fitted(learner, X, pairs=pairs)
    rows = as_seen_by(learner, X)
    for strategy in STRATEGIES:
        found = suggest_pairs(metric, rows, pairs, 4, strategy=strategy, random_state=0)
        check_questions(found, 4, 50, pairs)


@each_strategy
def test_excluded_pairs_are_not_suggested(strategy, xor):
    X, _, pairs, metric = xor
    first = suggest_pairs(metric, X, pairs, 30, strategy=strategy, random_state=0)
    more = suggest_pairs(metric, X, pairs, 30, strategy=strategy, exclude=first, random_state=0)
    check_questions(more, 30, 60, pairs)
    assert not np.isin(keys_of(more), keys_of(first)).any()


@each_strategy
def test_frames_and_sparse_rows_ask_what_arrays_ask(strategy, xor):
    X, _, pairs, metric = xor
    expected = suggest_pairs(metric, X, pairs, strategy=strategy, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(60) + 100)
    of_frame = KernelBeta(random_state=0).fit(frame, pairs=pairs)
    found = suggest_pairs(of_frame, frame, pairs, strategy=strategy, random_state=0)
    assert_array_equal(found, expected)
    for form in (sp.csr_array, sp.coo_array, sp.csc_matrix):
        of_sparse = KernelBeta(random_state=0).fit(form(X), pairs=pairs)
        found = suggest_pairs(of_sparse, form(X), pairs, strategy=strategy, random_state=0)
        check_questions(found, 10, 60, pairs)


@each_strategy
@each(
    ("pairs", "n_classes"),
    {
        "must-links only": (Pairs([(0, 1), (1, 2)]), 60),
        "cannot-links only": (Pairs(cannot_link=[(0, 1), (4, 5)]), 60),
        "one pair": (Pairs([(3, 4)]), 60),
        "pairs of every row": (Pairs([(2 * i, 2 * i + 1) for i in range(30)], [(0, 2)]), 60),
        "contradictory": (Pairs([(0, 1), (1, 2)], [(0, 2), (2, 3)]), 60),
        "of identical rows": (Pairs([(0, 1)], [(0, 2)]), 1),
    }.values(),
)
@pytest.mark.filterwarnings("ignore:all landmarks coincide", "ignore:pairs contradict")
def test_knowledge_of_every_kind(strategy, pairs, n_classes, xor):
    X = xor[0][np.arange(60) % n_classes]
    metric = KernelBeta(random_state=0).fit(X, pairs=pairs)
    found = suggest_pairs(metric, X, pairs, 15, strategy=strategy, random_state=0)
    check_questions(found, 15, 60, pairs)


@each_strategy
def test_tiny_sets(strategy):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 1.0]])
    metric = KernelBeta(random_state=0).fit(X, pairs=Pairs([(0, 1)]))
    assert suggest_pairs(metric, X[:2], n=1, strategy=strategy).tolist() in ([[0, 1]], [[1, 0]])
    found = suggest_pairs(metric, X, Pairs([(0, 1)]), 1, strategy=strategy)
    assert sorted(found[0].tolist()) in ([0, 2], [1, 2])
    with pytest.warns(UserWarning, match="n=10, but only 3 pairs of rows are left"):
        found = suggest_pairs(metric, X, strategy=strategy)
    check_questions(found, 3, 3, Pairs())
    with pytest.warns(UserWarning, match="only 0 pairs"):
        found = suggest_pairs(metric, X, Pairs([(0, 1)], [(1, 2)]), strategy=strategy)
    assert found.shape == (0, 2)


@each_strategy
def test_goes_on_until_everything_is_known(strategy):
    X, y = make_xor(24, random_state=0)
    pairs = Pairs.from_labels(y, 4, random_state=0)
    metric = KernelBeta(random_state=0).fit(X, pairs=pairs)
    for _ in range(24 * 23 // 2):
        if len(pairs.closure()) == 24 * 23 // 2:
            break
        i, j = suggest_pairs(metric, X, pairs, 1, strategy=strategy, random_state=0)[0].tolist()
        assert not pairs.groups.tell(np.array([[i, j]]))[0]
        pairs = pairs + (Pairs([(i, j)]) if y[i] == y[j] else Pairs(cannot_link=[(i, j)]))
    assert len(pairs.closure()) == 24 * 23 // 2


# ---- errors


def test_errors_say_what_to_do(xor):
    X, _, pairs, metric = xor
    for arguments, error, message in (
        (
            (KernelBeta(), X, pairs),
            NotFittedError,
            r"KernelBeta is not fitted.*call fit\(X, pairs=",
        ),
        ((KernelBeta, X, pairs), TypeError, "metric must be a fitted learner"),
        (("euclidean", X, pairs), TypeError, "metric must be a fitted learner"),
        ((metric, X[:, :1], pairs), ValueError, "X has 1 features, but KernelBeta is expecting 2"),
        ((metric, X, pairs, 0), ValueError, "n must be 1 or more, not 0"),
        ((metric, X, pairs, 2.5), TypeError, r"n must be an integer, not 2\.5"),
        ((metric, X[:50], pairs), ValueError, "pairs are for 60 rows, X has 50"),
        ((metric, X, Pairs([(0, 99)])), ValueError, "names row 99, but X has 60 rows"),
        ((metric, X, [(0, 1)]), TypeError, r"pairs must be a nearkin\.Pairs, not list"),
        ((metric, X[:1]), ValueError, "a pair takes two rows, but X has 1"),
    ):
        with pytest.raises(error, match=message):
            suggest_pairs(*arguments)
    with pytest.raises(ValueError, match=r"strategy='best' is unknown: use one of .*uncertainty"):
        suggest_pairs(metric, X, pairs, strategy="best")
    with pytest.raises(ValueError, match="exclude pair 0 is"):
        suggest_pairs(metric, X, exclude=[(0, 60)])


# ---- the parts


def test_candidates_hold_a_row_of_every_component():
    links = [(3 * i, 3 * i + 1) for i in range(900)]
    links += [(3 * i + 1, 3 * i + 2) for i in range(900)]
    rows = draw_candidate_rows(Pairs(links), 10_000, 10, np.random.RandomState(0))
    assert len(rows) == 2000
    assert (np.diff(rows) > 0).all()
    assert len(np.unique(rows[rows < 2700] // 3)) == 900


def test_components_reach_through_rows_that_are_no_candidates():
    pairs = Pairs([(0, 5), (5, 9)], [(9, 4), (4, 7)])
    scene = make_scene(np.zeros((4, 1)), 1.0, np.array([0, 4, 7, 9]), pairs)
    questions = np.array([[0, 3], [0, 1], [1, 2], [0, 2], [2, 3]])
    assert scene.is_open(questions).tolist() == [False, False, False, True, True]


def test_uncertainty_asks_nearest_to_the_threshold():
    X, y = make_xor(40, random_state=0)
    pairs = Pairs.from_labels(y, 10, random_state=0)
    metric = RCA(random_state=0).fit(X, pairs=pairs)
    asked = suggest_pairs(metric, X, pairs, 1, strategy="uncertainty")[0]
    gaps = np.abs(metric.distance(X) - metric.threshold_)
    candidates = np.array([(j, i) for i in range(40) for j in range(i)])
    open_gaps = gaps[tuple(candidates[~pairs.groups.tell(candidates)].T)]
    assert_allclose(gaps[tuple(asked)], min(open_gaps))


def test_spread_out_takes_the_best_and_no_copies():
    Z = np.array([[0.0], [1.0], [0.0], [1.0], [0.0], [1.0], [50.0], [70.0]])
    pairs = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
    chosen = pick_spread_out(Z, pairs, np.array([4.0, 3.0, 2.0, 1.0]), 2)
    assert chosen.tolist() == [[0, 1], [6, 7]]
    assert pick_spread_out(Z, pairs, np.array([4.0, 3.0, 2.0, 1.0]), 1).tolist() == [[0, 1]]
    pairs = np.array([[0, 1], [0, 2], [1, 2]])  # rows are repeated only where they must be
    chosen = pick_spread_out(np.arange(3.0)[:, None], pairs, np.array([1.0, 3.0, 2.0]), 2)
    assert chosen.tolist() == [[0, 2], [1, 2]]


def test_farthest_first_on_a_line():
    Z = np.array([[0.0], [1.0], [9.0], [10.0], [5.0]])
    assert pick_farthest_first(Z, 3, np.abs(Z[:, 0])).tolist() == [3, 4, 1]
    assert sorted(pick_farthest_first(np.ones((4, 1)), 9).tolist()) == [0, 1, 2, 3]


def test_neighborhoods_are_known_to_differ_and_large_ones_come_first():
    pairs = Pairs([(0, 1), (2, 3), (3, 4), (6, 7)], [(0, 2), (5, 4), (5, 1), (6, 0)])
    rows = np.arange(9)
    scene = make_scene(np.zeros((9, 1)), 1.0, rows, pairs)
    found = [np.flatnonzero(scene.group == home).tolist() for home in find_neighborhoods(scene)]
    assert found == [[2, 3, 4], [0, 1], [5]]


def test_a_row_is_compared_with_the_next_neighborhood_until_it_is_placed():
    """Three far clouds on a line: the answers drive the questions through all of them."""
    y = np.repeat([0, 1, 2], 6)
    X = np.column_stack([10.0 * y, np.tile(np.arange(6.0), 3)])
    start = Pairs([(0, 1), (6, 7), (12, 13)], [(0, 6), (0, 12), (6, 12)])
    metric = RCA(random_state=0).fit(X, pairs=start)
    first = suggest_pairs(metric, X, start, 1, strategy="neighborhoods", random_state=0)[0]
    row = int(first[0])
    asked = []
    pairs = start
    for _ in range(2):
        i, j = suggest_pairs(metric, X, pairs, 1, strategy="neighborhoods", random_state=0)[0]
        assert i == row
        asked.append(y[j])
        pairs = pairs + Pairs(cannot_link=[(i, j)])
    assert len(set(asked)) == 2
    last = suggest_pairs(metric, X, pairs, 1, strategy="neighborhoods", random_state=0)[0]
    assert last[0] == row
    assert {*asked, y[last[1]]} == {0, 1, 2}


# Four clouds of ten rows on a line.
RNG = np.random.RandomState(0)
Y = np.repeat(np.arange(4), 10)
Z = np.column_stack([10.0 * Y + RNG.rand(40), RNG.rand(40)])


def scene(must, cannot, unsure=()):
    pairs = Pairs(must, cannot, n_rows=40)
    return make_scene(Z, 3.0, np.arange(40), pairs, np.array(unsure).reshape(-1, 2).astype(int))


THREE = scene([(0, 1), (0, 2)], [(0, 10), (0, 20), (10, 20)])


@each("choose", ["random", "far", "near", "clusters"])
def test_a_row_is_shown_beside_groups_that_differ(choose):
    found = pick_which_questions(THREE, 5, np.random.RandomState(0), choose)
    assert found
    for one in found:
        assert one.row not in (0, 1, 2, 10, 20)
        assert sorted(Y[one.shown]) == [0, 1, 2]
        nearest = np.abs(Z[one.shown, 0] - Z[one.row, 0]).argmin()
        assert nearest == 0  # the likeliest first


def test_far_rows_and_near_ones():
    far = pick_which_questions(THREE, 1, np.random.RandomState(0), "far")[0]
    assert Y[far.row] == 3
    near = pick_which_questions(THREE, 1, np.random.RandomState(0), "near")[0]
    assert Y[near.row] == Y[near.shown[0]]


def test_rows_at_random_are_any_rows():
    drawn = {
        pick_which_questions(THREE, 1, np.random.RandomState(seed), "random")[0].row
        for seed in range(200)
    }
    assert drawn == set(range(40)) - {0, 1, 2, 10, 20}


def test_no_more_groups_than_there_is_room_for_and_the_others_next():
    two = pick_which_questions(THREE, 1, np.random.RandomState(0), "far", 2)[0]
    assert len(two.shown) == 2
    none = [(two.row, row) for row in two.shown.tolist()]
    asked = scene([(0, 1), (0, 2)], [(0, 10), (0, 20), (10, 20), *none])
    for choose in ("random", "far"):
        again = pick_which_questions(asked, 1, np.random.RandomState(0), choose, 2)[0]
        assert again.row == two.row
        assert set(Y[again.shown]) == {0, 1, 2} - set(Y[two.shown])
    assert pick_which_questions(asked, 1, np.random.RandomState(0), "near", 2)[0].row != two.row


def test_groups_that_may_be_one_are_not_shown_together():
    open_ = scene([(0, 1), (10, 11)], [(0, 20)])
    assert pick_which_questions(open_, 3, np.random.RandomState(0), "random") == [] or all(
        len(one.shown) == 2 and set(Y[one.shown]) == {0, 2}
        for one in pick_which_questions(open_, 3, np.random.RandomState(0), "random")
    )
    assert pick_which_questions(scene([(0, 1)], []), 3, np.random.RandomState(0), "random") == []


def test_a_row_that_people_were_unsure_of_is_left_alone():
    unsure = scene([(0, 1)], [(0, 10)], [(30, 0), (30, 10)])
    asked = pick_which_questions(unsure, 40, np.random.RandomState(0), "far")
    assert 30 not in [one.row for one in asked]


def test_the_typical_row_is_in_the_middle():
    members = Z[:3]
    middle = ((members - members.mean(axis=0)) ** 2).sum(axis=1).argmin()
    assert find_typical(THREE, THREE.group[0]) == middle
