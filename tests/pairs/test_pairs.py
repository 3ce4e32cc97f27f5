import copy
import itertools
import pickle
import re
from datetime import datetime

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import cross_validate

import nearkin
from nearkin.pairs import labels
from nearkin.pairs import pairs as pair_frames
from nearkin.pairs.closure import draw_numbers, list_pairs_within
from nearkin.pairs.pairs import Pairs
from tests.cases import each

fast = settings(max_examples=15, deadline=None)

N_ROWS = 7
rows = st.integers(0, N_ROWS - 1)
weights = st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.0])
must_entries = st.lists(st.tuples(rows, rows, weights), max_size=9)
cannot_entries = must_entries.map(lambda entries: [e for e in entries if e[0] != e[1]])
n_rows_known = st.sampled_from([None, N_ROWS])


def build(must, cannot, n_rows=None):
    """Make Pairs of (row, row, weight) triples."""
    return Pairs(
        [entry[:2] for entry in must],
        [entry[:2] for entry in cannot],
        must_weight=[entry[2] for entry in must],
        cannot_weight=[entry[2] for entry in cannot],
        n_rows=n_rows,
    )


any_pairs = st.builds(build, must_entries, cannot_entries, n_rows_known)


def as_dict(links, weight):
    return {tuple(pair): w for pair, w in zip(links.tolist(), weight.tolist(), strict=True)}


def as_dicts(pairs):
    return as_dict(pairs.must_link, pairs.must_weight), as_dict(
        pairs.cannot_link, pairs.cannot_weight
    )


def reachable(must):
    """Warshall: which rows follow from which by must-links."""
    reach = np.eye(N_ROWS, dtype=bool)
    for i, j in must:
        reach[i, j] = reach[j, i] = True
    for k in range(N_ROWS):
        for i in range(N_ROWS):
            reach[i] |= reach[i, k] & reach[k]
    return reach


def slow_closure(pairs):
    must, cannot = as_dicts(pairs)
    reach = reachable(must)

    def weakest(row):
        return min((w for (a, _), w in must.items() if reach[a, row]), default=np.inf)

    full_must, full_cannot = {}, {}
    for i, j in itertools.combinations(range(N_ROWS), 2):
        if reach[i, j]:
            full_must[i, j] = must.get((i, j), weakest(i))
            if (i, j) in cannot:
                full_cannot[i, j] = cannot[i, j]
            continue
        between = [
            w
            for (a, b), w in cannot.items()
            if (reach[a, i] and reach[b, j]) or (reach[a, j] and reach[b, i])
        ]
        if between:
            inferred = min(max(between), weakest(i), weakest(j))
            full_cannot[i, j] = cannot.get((i, j), inferred)
    return full_must, full_cannot


# Construction ------------------------------------------------------------------------------------


@fast
@given(must_entries, cannot_entries, st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(must, cannot, random):
    def disguised(entries):
        again = entries + [(i, j, w / 2) for i, j, w in entries]
        again = [(j, i, w) if random.random() < 0.5 else (i, j, w) for i, j, w in again]
        random.shuffle(again)
        return again

    pairs = build(must, cannot)
    assert build(disguised(must), disguised(cannot)) == pairs
    assert pairs.must_link.dtype == pairs.cannot_link.dtype == pairs.points.dtype == np.int64
    assert pairs.must_weight.dtype == pairs.cannot_weight.dtype == np.float64
    for entries, found in zip((must, cannot), as_dicts(pairs), strict=True):
        largest = {}
        for i, j, w in entries:
            if i != j:
                key = (min(i, j), max(i, j))
                largest[key] = max(w, largest.get(key, 0))
        assert found == largest
        assert list(found) == sorted(found)


@each("nothing", [(), [], np.empty(0), np.empty((0, 2)), np.empty((0, 2), int), [(3, 3)]])
def test_empty(nothing):
    pairs = Pairs(nothing)
    assert len(pairs) == 0
    assert not pairs
    assert pairs == Pairs()
    assert pairs.must_link.shape == pairs.cannot_link.shape == (0, 2)
    assert len(pairs.points) == len(pairs.components()) == 0
    assert pairs.closure() == pairs + pairs == pairs
    assert pairs.conflicts() == []


@each(
    "links",
    [
        [(3, 1), (0, 2)],
        [[3, 1], [0, 2]],
        np.array([[3, 1], [0, 2]], dtype=np.uint8),
        pd.DataFrame({"a": [3, 0], "b": [1, 2]}),
        pl.DataFrame({"a": [3, 0], "b": [1, 2]}),
    ],
)
def test_accepts_what_numpy_can_read(links):
    assert Pairs(links).must_link.tolist() == [[0, 2], [1, 3]]
    if isinstance(links, np.ndarray):  # which is copied
        weight = np.array([2.0, 3.0])
        pairs = Pairs(links, must_weight=weight)
        links[:] = weight[:] = 7
        assert pairs == Pairs([(3, 1), (0, 2)], must_weight=[2, 3])


@each(
    ("links", "error", "message"),
    [
        ((0, 5), ValueError, r"must_link pairs are one bare pair, \(0, 5\): .* \[\(0, 5\)\]"),
        (
            [1, 2, 3],
            ValueError,
            r"shape \(3,\).* is a list of pairs of row numbers, like \[\(0, 5\), \(2, 3\)\]$",
        ),
        ([(1, 2, 3)], ValueError, r"shape \(1, 3\), like \[\(1, 2, 3\)\]"),
        (np.zeros((0, 3), int), ValueError, r"shape \(0, 3\)"),
        ([[]], ValueError, r"shape \(1, 0\)"),
        (None, ValueError, r"shape \(\)"),
        ([(0, 1), (1, 2, 3)], ValueError, r"must_link pair 1 is \(1, 2, 3\)"),
        ([(0, 1), 4], ValueError, "must_link pair 1 is 4"),
        ([(0, 1), (0, (1, 2))], ValueError, r"must_link pair 1 is \(0, \(1, 2\)\)"),
        ([(0, 1.0)], TypeError, r"must_link pair 0 is \(0.0, 1.0\): .*integers, not float64"),
        ([(0, 1), (2, 2.5)], TypeError, r"must_link pair 1 is \(2.0, 2.5\)"),
        ([(0, 1), (2, np.nan)], TypeError, r"must_link pair 1 is \(2.0, nan\)"),
        ([(True, False)], TypeError, r"must_link pair 0 is \(True, False\): .*not bool"),
        ([("a", "b")], TypeError, r"must_link pair 0 is \('a', 'b'\): .*integers"),
        ([(0, 1), (2, None)], TypeError, r"must_link pair 1 is \(2, None\): .*integers"),
        ([(0, 1), (2, -3)], ValueError, r"must_link pair 1 is \(2, -3\): .*from the end$"),
        (
            np.array([(0, 2**63)], np.uint64),
            ValueError,
            r"must_link pair 0 is \(0, 9223372036854775808\)",
        ),
    ],
)
def test_bad_pairs(links, error, message):
    with pytest.raises(error, match=message):
        Pairs(links)
    with pytest.raises(error, match=message.replace("must_link", "cannot_link")):
        Pairs(cannot_link=links)


def test_impossible_rows():
    Pairs([(0, 9)], n_rows=10)
    assert Pairs(n_rows=0).n_rows == 0
    with pytest.raises(ValueError, match=r"pair 1 is \(2, 10\), but n_rows=10: .* be below it$"):
        Pairs([(0, 1), (2, 10)], n_rows=10)
    with pytest.raises(ValueError, match=r"cannot_link pair 0 is \(10, 2\), but n_rows=10"):
        Pairs(cannot_link=[(10, 2)], n_rows=10)
    with pytest.raises(ValueError, match=r"cannot_link pair 1 is \(4, 4\): row 4 cannot differ"):
        Pairs(cannot_link=[(0, 1), (4, 4)])


@each(
    ("weight", "error", "message"),
    [
        ([1.0], ValueError, r"weight of pairs have shape \(1,\): .*each of 2 pairs"),
        (1.0, ValueError, r"shape \(\)"),
        ([1.0, np.nan], ValueError, "weight of pair 1 is nan: .*finite and above 0"),
        ([1.0, np.inf], ValueError, "weight of pair 1 is inf"),
        ([0.0, 1.0], ValueError, "weight of pair 0 is 0.0"),
        ([1, -2], ValueError, "weight of pair 1 is -2.0"),
        (["1", "2"], TypeError, "weight of pair 0 is '1': weights must be numbers"),
        ([True, True], TypeError, "pair 0 is True: weights must be numbers, not bool"),
        ([1.0, None], TypeError, "weight of pair 1 is None: weights must be numbers, not object"),
    ],
)
def test_bad_weights(weight, error, message):
    links = [(0, 1), (2, 3)]
    with pytest.raises(error, match="must_.*" + message):
        Pairs(links, must_weight=weight)
    with pytest.raises(error, match="cannot_.*" + message):
        Pairs(cannot_link=links, cannot_weight=weight)


@each(("n_rows", "error"), [(-1, ValueError), (3.0, TypeError), (True, TypeError)])
def test_bad_n_rows(n_rows, error):
    with pytest.raises(error, match="n_rows must be"):
        Pairs(n_rows=n_rows)
    if error is TypeError:
        with pytest.raises(TypeError, match=f"n_pairs must be an integer, not {n_rows}"):
            Pairs.from_labels([0, 0], n_rows)


# What kind of object it is -----------------------------------------------------------------------


def test_immutable():
    pairs = Pairs([(0, 1), (1, 4)], [(1, 2), (0, 6)])
    train, test = pairs.split(0.5, random_state=0)
    for result in (pairs, pairs + pairs, pairs.closure(), pairs.restrict([1, 0]), train, test):
        assert is_sealed(result)
    pairs = Pairs([(0, 1)], [(1, 2)], n_rows=5)
    for name in ("must_link", "cannot_weight", "n_rows", "points", "anything"):
        with pytest.raises(AttributeError, match=f"immutable: cannot set '{name}'"):
            setattr(pairs, name, 3)
    with pytest.raises(AttributeError, match="immutable: cannot delete 'must_link'"):
        del pairs.must_link
    assert pairs == Pairs([(0, 1)], [(1, 2)], n_rows=5)


def is_sealed(pairs):
    arrays = (pairs.must_link, pairs.cannot_link, pairs.must_weight, pairs.cannot_weight)
    return not any(array.flags.writeable for array in (*arrays, pairs.points))


class Holder(BaseEstimator):
    def __init__(self, pairs=None):
        self.pairs = pairs

    def fit(self, X, y=None, pairs=None):
        assert pairs is None or isinstance(pairs, Pairs)
        return self

    def score(self, X, y=None):
        return 0.0


@each(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        lambda pairs: pickle.loads(pickle.dumps(pairs)),
        lambda pairs: clone(pairs, safe=False),
        lambda pairs: clone(Holder(pairs)).pairs,
    ],
)
def test_copies_are_equal_and_sealed(copied):
    pairs = Pairs([(0, 1), (1, 4)], [(1, 2)], must_weight=[0.5, 2], n_rows=5)
    assert len(pairs.points) == 4  # the cached rows must not travel as a writable array
    twin = copied(pairs)
    assert type(twin) is Pairs
    assert twin == pairs
    assert hash(twin) == hash(pairs)
    assert is_sealed(twin)


def test_equality_looks_at_everything():
    base = Pairs([(0, 1)], [(1, 2)], n_rows=5)
    others = [
        Pairs([(0, 2)], [(1, 2)], n_rows=5),
        Pairs([(0, 1)], [(1, 3)], n_rows=5),
        Pairs([(0, 1)], [(1, 2)], n_rows=5, must_weight=[2]),
        Pairs([(0, 1)], [(1, 2)], n_rows=5, cannot_weight=[2]),
        Pairs([(0, 1)], [(1, 2)], n_rows=6),
        Pairs([(0, 1)], [(1, 2)]),
        Pairs([(0, 1), (1, 2)], n_rows=5),
    ]
    assert base == Pairs([(1, 0)], [(2, 1)], n_rows=5)
    assert len({base, Pairs([(1, 0)], [(2, 1)], n_rows=5), *others}) == 1 + len(others)
    for other in others:
        assert base != other
        assert hash(base) != hash(other)
    assert base.__eq__([(0, 1)]) is NotImplemented
    assert base != [(0, 1)]


def test_is_no_array_and_no_sequence():
    pairs = Pairs([(0, 1)])
    for convert in (np.asarray, np.array, lambda p: np.asarray(p, dtype=float), Pairs):
        with pytest.raises(TypeError, match=r"^Pairs are not .* \.must_link or \.cannot_link$"):
            convert(pairs)
    for use in (iter, list, lambda p: p[0], lambda p: (0, 1) in p):
        with pytest.raises(TypeError):
            use(pairs)


@each("n_links", [3, 10])
def test_scikit_learn_never_takes_pairs_for_rows(n_links):
    links = [(0, row) for row in range(1, n_links + 1)]
    X = np.zeros((12, 1))

    def cross_validated(pairs):
        options = {"cv": 2, "params": {"pairs": pairs}, "error_score": "raise"}
        return cross_validate(Holder(), X, scoring=lambda holder, X: holder.score(X), **options)

    with pytest.raises(
        ValueError, match=r"^these pairs do not say how many rows X has, so"
    ) as refused:
        cross_validated(Pairs(links))
    X, pairs = np.arange(24.0).reshape(12, 2), Pairs([(0, 1), (2, 3), (4, 5)], [(6, 7), (8, 9)])
    names = {"nearkin": nearkin, "learner": nearkin.Euclidean(), "X": X, "pairs": pairs}
    remedies = re.findall(r"Use (.*) or .*give (.*)\.$", str(refused.value))
    judged, known = (eval(code.replace("(5)", "(2)"), names) for code in remedies[0])
    assert len(judged["test_score"]) == 2
    assert known == Pairs(pairs.must_link, pairs.cannot_link, n_rows=12)
    assert len(cross_validated(Pairs(links, n_rows=12))["test_score"]) == 2


# Union -------------------------------------------------------------------------------------------


@fast
@given(any_pairs, any_pairs, any_pairs)
def test_union_laws(a, b, c):
    assert a + a == a
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    for one, two, both in zip(as_dicts(a), as_dicts(b), as_dicts(a + b), strict=True):
        assert both == {key: max(one.get(key, 0), two.get(key, 0)) for key in one | two}


def test_union_of_n_rows():
    known, unknown = Pairs([(0, 1)], n_rows=5), Pairs([(1, 2)])
    assert (known + unknown).n_rows == (unknown + known).n_rows == 5
    with pytest.raises(ValueError, match=r"for 5 rows and pairs for 6 rows: .* of the same X$"):
        known + Pairs(n_rows=6)
    for a, b in ((known, Pairs([(1, 5)])), (Pairs([(1, 5)]), known)):
        with pytest.raises(ValueError, match=r"must-link \(1, 5\) names row 5, but X has 5 rows"):
            a + b
    assert known.__add__([(0, 1)]) is NotImplemented


# From labels -------------------------------------------------------------------------------------

label_lists = st.lists(st.sampled_from([-1, 0, 3, 2, 7]), min_size=1, max_size=12)


def slow_from_labels(y):
    combinations = list(itertools.combinations([i for i, label in enumerate(y) if label >= 0], 2))
    must = [(i, j) for i, j in combinations if y[i] == y[j]]
    return must, [(i, j) for i, j in combinations if y[i] != y[j]]


@fast
@given(label_lists)
def test_all_pairs_of_labels(y):
    must, cannot = slow_from_labels(y)
    parts = {"both": (must, cannot), "must": (must, ()), "cannot": ((), cannot)}
    for kind, expected in parts.items():
        if any(expected):
            assert Pairs.from_labels(y, kind=kind) == Pairs(*expected, n_rows=len(y))
        else:
            with pytest.raises(ValueError, match="no pair"):
                Pairs.from_labels(y, kind=kind)


@fast
@given(label_lists, st.integers(1, 20), st.sampled_from(["both", "must", "cannot"]), st.integers(0))
def test_drawn_pairs_of_labels(y, n_pairs, kind, seed):
    must, cannot = slow_from_labels(y)
    must, cannot = must * (kind != "cannot"), cannot * (kind != "must")
    seed %= 2**32
    if not must + cannot:
        with pytest.raises(ValueError, match="no pair"):
            Pairs.from_labels(y, n_pairs, kind=kind)
        return
    if len(must + cannot) < n_pairs:
        with pytest.warns(UserWarning, match=f"only {len(must + cannot)} pairs") as caught:
            drawn = Pairs.from_labels(y, n_pairs, kind=kind, random_state=seed)
        assert caught[0].filename == __file__
        assert drawn == Pairs(must, cannot, n_rows=len(y))
        return
    drawn = Pairs.from_labels(y, n_pairs, kind=kind, random_state=seed)
    assert len(drawn) == n_pairs  # of distinct pairs, since equal ones collapse
    assert drawn.n_rows == len(y)
    drawn_must, drawn_cannot = as_dicts(drawn)
    assert drawn_must.keys() <= set(must)
    assert drawn_cannot.keys() <= set(cannot)
    half = (n_pairs + 1) // 2
    assert len(drawn_must) == min(len(must), max(half, n_pairs - len(cannot)))
    assert drawn == Pairs.from_labels(y, n_pairs, kind=kind, random_state=seed)


def test_draw_is_uniform_within_each_kind():
    y = [0, 0, 0, 1, 1, 2]  # 4 must-links, 11 cannot-links
    must, cannot = (dict.fromkeys(kind, 0) for kind in slow_from_labels(y))
    rng = np.random.RandomState(0)
    for _ in range(1500):
        found_must, found_cannot = as_dicts(Pairs.from_labels(y, 4, random_state=rng))
        for counts, found in ((must, found_must), (cannot, found_cannot)):
            for pair in found:
                counts[pair] += 1
    for counts in (must, cannot):
        expected = 3000 / len(counts)
        assert all(abs(count - expected) < 5 * expected**0.5 for count in counts.values())


def test_pairs_that_are_listed_at_once_have_a_limit(monkeypatch):
    monkeypatch.setattr(labels, "MOST_LISTED", 3)
    assert len(Pairs.from_labels([0, 0, 1])) == 3
    message = "^y makes 6 pairs, more than the 3 that are listed at once: .* give y itself to fit$"
    with pytest.raises(ValueError, match=message):
        Pairs.from_labels([0, 0, 1, 1])


def test_draw_from_many_rows_lists_few():
    y = np.random.RandomState(0).randint(-1, 5, 2_000_000)
    pairs = Pairs.from_labels(y, 1001, random_state=0)
    assert (len(pairs.must_link), len(pairs.cannot_link)) == (501, 500)
    left, right = y[pairs.must_link].T
    assert_array_equal(left, right)
    left, right = y[pairs.cannot_link].T
    assert np.all(left != right)
    assert y[pairs.points].min() == 0


def test_pair_numbers_are_exact_where_floats_are_not():
    for count in (10, 7, 2, 0):  # numbers are drawn once each
        drawn = draw_numbers(10, count, np.random.RandomState(0)).tolist()
        assert len(set(drawn)) == len(drawn) == count
        assert set(drawn) <= set(range(10))
    size = 3_000_000_000  # with numbers of pairs near 2**62, far above 2**53
    last = np.array([size - 1, size - 2, size // 2, 2**31])
    start = last * (last - 1) // 2
    numbers = np.concatenate([start - 1, start, start + last - 1])
    found, block = list_pairs_within(numbers, np.array([0]), np.array([size]))
    zeros, ones = np.zeros_like(last), np.ones_like(last)
    first = np.concatenate([last - 2 * ones, zeros, last - ones])
    second = np.concatenate([last - ones, last, last])
    assert_array_equal(found, np.column_stack([first, second]))
    assert not block.any()


def test_pairs_are_extended_to_rows_at_the_end():
    pairs = Pairs([(0, 1)], [(2, 3)], closer=[(0, 1, 4)], n_rows=5)
    with pytest.raises(ValueError, match=r"pairs are for 5 rows, X has 8: .*") as refused:
        pairs.check_rows(8)
    longer = eval(str(refused.value).rpartition(", ")[2])
    assert longer == Pairs([(0, 1)], [(2, 3)], closer=[(0, 1, 4)], n_rows=8)
    assert Pairs([(0, 1)]).extend(n_rows=2) == Pairs([(0, 1)], n_rows=2)
    with pytest.raises(ValueError, match="cannot be extended to 4: for fewer rows use"):
        pairs.extend(n_rows=4)
    with pytest.raises(ValueError, match="names row 1, but X has 1 rows"):
        Pairs([(0, 1)]).extend(n_rows=1)


@each(
    ("y", "arguments", "message"),
    [
        (
            [-1, -1],
            {},
            r"^every label in y is unknown \(negative, None, NaN or blank\): no pair follows$",
        ),
        ([None, np.nan], {}, "every label in y is unknown"),
        ([], {}, "every label in y is unknown"),
        ([2, 2, -1], {"kind": "cannot"}, r"of y: all labelled rows are of one class$"),
        ([1, 2, 3], {"kind": "must"}, r"of y: no two labelled rows share a class$"),
        ([2, -1], {}, r"of y: a single row is labelled$"),
        ([-1, 1, 1], {}, "write np.asarray.y. > 0 for y"),
        ([1, 1], {"kind": "all"}, 'kind must be "both", "must" or "cannot", not \'all\''),
        ([1, 1], {"n_pairs": 0}, "n_pairs must be 1 or more, not 0"),
        (np.arange(4600), {}, r"10,577,700 pairs, .*n_pairs=, or give y itself to fit"),
    ],
)
def test_bad_labels(y, arguments, message):
    with pytest.raises(ValueError, match=message):
        Pairs.from_labels(y, **arguments)


# Frames ------------------------------------------------------------------------------------------

backends = each("backend", ["pandas", "polars", "pyarrow"])


@backends
@settings(max_examples=8, deadline=None)
@given(pairs=any_pairs)
def test_frame_round_trip(backend, pairs):
    frame = pairs.to_frame(backend=backend)
    assert type(frame).__module__.partition(".")[0] == backend
    assert nw.from_native(frame).columns == ["left", "right", "same", "weight"]
    same = nw.from_native(frame)["same"].to_list()
    assert same == [True] * len(pairs.must_link) + [False] * len(pairs.cannot_link)
    assert Pairs.from_frame(frame, n_rows=pairs.n_rows) == pairs

    pairs = pairs + Pairs(n_rows=N_ROWS)
    names = list("gfedcba")
    named = pairs.to_frame(ids=names, backend=backend)
    assert set(nw.from_native(named)["left"].to_list()) <= set(names)
    assert Pairs.from_frame(named, ids=names) == pairs


def make(backend, **columns):
    return nw.from_dict(columns, backend=backend).to_native()


@each("dtype", ["boolean", "bool[pyarrow]", "Int8", "string", "object"])
def test_nullable_answers_of_pandas(dtype):
    answers = [True, None, False] if dtype != "string" else ["yes", None, "no"]
    frame = pd.DataFrame({"left": [0, 1, 2], "right": [3, 4, 5]}).convert_dtypes()
    frame["same"] = pd.array(answers, dtype=dtype)
    assert Pairs.from_frame(frame) == Pairs([(0, 3)], [(2, 5)])
    frame["weight"] = pd.array([2.0, 1.0, 3.0], dtype="double[pyarrow]")
    assert Pairs.from_frame(frame).must_weight.tolist() == [2.0]


@backends
def test_empty_frame(backend):
    frame = Pairs().to_frame(backend=backend)
    for n_rows in (0, 4):
        assert Pairs.from_frame(frame, n_rows=n_rows) == Pairs(n_rows=n_rows)
    with pytest.raises(TypeError, match=r"^n_rows must be an integer, not 2\.5"):
        Pairs.from_frame(frame, n_rows=2.5)
    without_types = pd.DataFrame(columns=["left", "right", "same"])
    assert Pairs.from_frame(without_types, ids="ab") == Pairs(n_rows=2)


@each(
    "ids",
    [
        ["x", "y", "z"],
        ("x", "y", "z"),
        np.array(["x", "y", "z"]),
        pd.Series(["x", "y", "z"], index=[2, 0, 1]),
        pd.Index(["x", "y", "z"]),
        pl.Series(["x", "y", "z"]),
        pa.chunked_array([["x", "y", "z"]]),
    ],
)
def test_kinds_of_ids(ids):
    pairs = Pairs([(0, 2)], [(1, 2)], n_rows=3)
    frame = pl.DataFrame({"left": ["z", "z"], "right": ["x", "y"], "same": [True, False]})
    assert Pairs.from_frame(frame, ids=ids) == pairs
    assert Pairs.from_frame(pairs.to_frame(ids=ids), ids=ids) == pairs


def test_ids_may_be_integers_that_are_no_row_numbers_or_times():
    frame = pd.DataFrame({"left": [100], "right": [-7], "same": [True]})
    assert Pairs.from_frame(frame, ids=np.array([-7, 3, 100])) == Pairs([(0, 2)], n_rows=3)
    times = [datetime(2024, 1, day) for day in (1, 2, 3)]
    frame = pl.DataFrame({"left": times[:1], "right": times[2:], "same": [True]})
    ids = np.array(times, dtype="datetime64[us]")
    assert Pairs.from_frame(frame, ids=ids) == Pairs([(0, 2)], n_rows=3)


@each("extra", [{}, {"weight": [1.0, 2.0]}])
def test_missing_columns(extra):
    frame = pl.DataFrame({"left": [0, 1], "b": [1, 2]} | extra)
    columns = re.escape(str(["left", "b", *extra]))
    with pytest.raises(ValueError, match=rf"\['right', 'same'\]; its columns are {columns}"):
        Pairs.from_frame(frame)


@each(
    ("given", "message"),
    [
        ([(0, 1)], r"of type list, .* right and same: use Pairs\(must_link=.* row numbers$"),
        ({"left": [0]}, r"frame is a dict, .*pandas\.DataFrame\(frame\)"),
        ("pairs.csv", r"frame is 'pairs\.csv', a text or a path"),
        (pl.LazyFrame({"left": [0]}), r"frame is polars's LazyFrame, .*frame\.collect\(\)"),
    ],
)
def test_not_a_frame(given, message):
    with pytest.raises(TypeError, match=message):
        Pairs.from_frame(given)


@backends
@each(
    ("same", "different", "unsure"),
    [
        ("yes", "no", ""),
        ("Yes", "NO", "unsure"),
        ("TRUE", "False", None),
        (" same ", "different", "None"),
        ("1", "0", "NaN"),
        ("y", "n", "null"),
        (1, 0, None),
        (1.0, 0.0, float("nan")),
        (True, False, None),
    ],
)
def test_answers_in_words_and_numbers(backend, same, different, unsure):
    told = [same, unsure, different, same, same, unsure]
    rows = {"left": [0, 1, 2, 3, 5, 6], "right": [1, 2, 3, 4, 5, 6]}
    frame = make(backend, note=[*"uvwxyz"], same=told, **rows)
    assert Pairs.from_frame(frame) == Pairs([(0, 1), (3, 4)], [(2, 3)])
    assert Pairs.from_frame(frame, n_rows=7).n_rows == 7


@each(
    ("columns", "error", "message"),
    [
        ({"same": [1, 2]}, ValueError, "frame row 1 has same=2; it must be true or"),
        ({"same": [0.5, 1.0]}, ValueError, "frame row 0 has same=0.5"),
        ({"same": ["yes", "perhaps"]}, ValueError, "frame row 1 has same='perhaps'; it must"),
        ({"left": [0.0, 1.0]}, TypeError, "'left' is Float64, but .* integer row numbers$"),
        ({"right": ["a", "b"]}, TypeError, "column 'right' is String, but without ids="),
        ({"left": [0, -1]}, ValueError, r"frame row 1 is \(-1, 3\)"),
        ({"left": [0, 8]}, ValueError, r"frame row 1 is \(8, 3\), but n_rows=5"),
        ({"left": [0, 3]}, ValueError, r"frame row 1 is \(3, 3\): row 3 cannot differ"),
        ({"weight": [1.0, 0.0]}, ValueError, "weight of frame row 1 is 0.0"),
        ({"weight": ["1", "2"]}, TypeError, "weights must be numbers"),
        *(
            ({name: [1, None]}, ValueError, f"frame row 1 is null in column '{name}'")
            for name in ("left", "right", "weight")
        ),
    ],
)
@backends
def test_bad_frames(columns, error, message, backend):
    frame = make(backend, **({"left": [0, 1], "right": [2, 3], "same": [True, False]} | columns))
    with pytest.raises(error, match=message):
        Pairs.from_frame(frame, n_rows=5)


def test_bad_ids():
    frame = pl.DataFrame({"left": list("abcdef"), "right": list("ghaaaa"), "same": [True] * 6})
    for ids, some in (
        ("a", "'b', 'c', 'd', 'e', 'f', ..."),
        ("af", "'b', 'c', 'd', 'e', 'g', ..."),
    ):
        with pytest.raises(ValueError, match=rf"^{8 - len(ids)} .* not in ids: {some}$"):
            Pairs.from_frame(frame, ids=ids)
    for ids, message in (
        ("afg", r"^5 identifiers .* not in ids: 'b', 'c', 'd', 'e', 'h'$"),
        ("abcdefg", r"1 identifiers .* not in ids: 'h'$"),
        ("abcb", "ids must differ, but 'b' is both row 1 and 3"),
        (np.array([7, 8, 7]), "ids must differ, but 7 is both row 0 and 2"),
    ):
        with pytest.raises(ValueError, match=message):
            Pairs.from_frame(frame, ids=ids)
    with pytest.raises(ValueError, match="n_rows=9, but there are 8 ids"):
        Pairs.from_frame(frame, ids="abcdefgh", n_rows=9)
    for pairs, ids, message in (
        (Pairs([(0, 1)]), "aa", "ids must differ"),
        (Pairs([(0, 3)]), "ab", r"must-link \(0, 3\) names row 3, but X has 2 rows"),
        (Pairs(n_rows=5), "ab", "pairs are for 5 rows, X has 2"),
    ):
        with pytest.raises(ValueError, match=message):
            pairs.to_frame(ids=ids)


def test_default_backend_is_the_first_installed(monkeypatch):
    def only(*installed):
        monkeypatch.setattr(
            pair_frames.importlib.util,
            "find_spec",
            lambda name: name if name in installed else None,
        )

    assert isinstance(Pairs([(0, 1)]).to_frame(), pd.DataFrame)
    only("polars", "pyarrow")
    assert isinstance(Pairs([(0, 1)]).to_frame(), pl.DataFrame)
    with pytest.raises(ValueError, match="must be one of pandas, polars, pyarrow, not 'nonsense'"):
        Pairs([(0, 1)]).to_frame(backend="nonsense")
    only()
    with pytest.raises(ImportError, match="needs one of pandas, polars, pyarrow"):
        Pairs([(0, 1)]).to_frame()


# Components, closure, conflicts ------------------------------------------------------------------


@fast
@given(any_pairs)
def test_components_are_what_must_links_reach(pairs):
    group, points = pairs.components(), pairs.points
    assert points.tolist() == sorted(set(pairs.must_link.flat) | set(pairs.cannot_link.flat))
    reach = reachable(pairs.must_link.tolist())
    assert_array_equal(group[:, None] == group, reach[np.ix_(points, points)])
    firsts = list(dict.fromkeys(group.tolist()))
    assert firsts == list(range(len(firsts)))


@fast
@given(any_pairs)
def test_closure_is_what_a_slow_search_finds(pairs):
    closure = pairs.closure()
    assert as_dicts(closure) == slow_closure(pairs)
    assert closure.closure() == closure
    assert closure.n_rows == pairs.n_rows
    assert len(pairs.closure(max_pairs=len(closure))) == len(closure)
    if len(closure):
        message = (
            rf"has {len(closure)} pairs, more than max_pairs=.*; components\(\) .* listing them$"
        )
        with pytest.raises(ValueError, match=message):
            pairs.closure(max_pairs=len(closure) - 1)


@fast
@given(any_pairs)
def test_conflicts_are_the_contradicted_cannot_links(pairs):
    must, cannot = as_dicts(pairs)
    reach = reachable(must)
    conflicts = pairs.conflicts()
    assert [c.cannot_link for c in conflicts] == [pair for pair in cannot if reach[pair]]
    for conflict in conflicts:
        chain = conflict.chain
        assert (chain[0], chain[-1]) == conflict.cannot_link
        assert len(set(chain)) == len(chain)
        assert all((min(step), max(step)) in must for step in itertools.pairwise(chain))
        if conflict.cannot_link in must:
            assert chain == conflict.cannot_link


def test_a_long_chain():
    links = np.column_stack([np.arange(20_000 - 1), np.arange(1, 20_000)])
    (conflict,) = Pairs(links, [(19_999, 0)]).conflicts()
    assert conflict.chain == tuple(range(20_000))


# Split and restrict ------------------------------------------------------------------------------


@fast
@given(any_pairs, st.floats(0.01, 0.99), st.integers(0, 99))
def test_split_by_share(pairs, share, seed):
    counts = [round(share * len(links)) for links in (pairs.must_link, pairs.cannot_link)]
    if not 0 < sum(counts) < len(pairs):
        with pytest.raises(ValueError, match="each side must get at least one"):
            pairs.split(share, seed)
        return
    train, test = pairs.split(share, seed)
    assert [len(test.must_link), len(test.cannot_link)] == counts
    assert len(train) + len(test) == len(pairs)
    assert train.n_rows == test.n_rows == pairs.n_rows
    assert train + test == pairs  # with the lengths above: nothing twice, nothing lost
    assert (train, test) == pairs.split(share, seed)
    many = Pairs([(0, row) for row in range(1, 50)])
    assert many.split(random_state=0) != many.split(random_state=1)
    assert len(many.split()[1]) == 12


@fast
@given(any_pairs, st.integers(-1, 20))
def test_split_by_number(pairs, number):
    if not 0 < number < len(pairs):
        with pytest.raises(ValueError, match="each side must get at least one"):
            pairs.split(number)
        return
    train, test = pairs.split(number, random_state=0)
    assert len(test) == number
    assert len(train) + len(test) == len(pairs)
    assert train + test == pairs
    assert abs(len(test.must_link) - number * len(pairs.must_link) / len(pairs)) <= 0.5


@each("test_size", [0.0, 1.0, -0.5, 1.5, float("nan"), True, "half", None])
def test_bad_share(test_size):
    said = "no share between 0 and 1" if type(test_size) is float else "must be a share or a number"
    with pytest.raises((ValueError, TypeError), match=said):
        Pairs([(0, 1), (1, 2)]).split(test_size)


@fast
@given(any_pairs, st.lists(rows, unique=True))
def test_restrict_is_what_a_dict_finds(pairs, chosen):
    place = {row: k for k, row in enumerate(chosen)}

    def renumbered(links):
        return {
            tuple(sorted((place[i], place[j]))): w
            for (i, j), w in links.items()
            if i in place and j in place
        }

    restricted = pairs.restrict(chosen)
    assert as_dicts(restricted) == tuple(map(renumbered, as_dicts(pairs)))
    assert restricted.n_rows == len(chosen)
    assert list(as_dict(restricted.must_link, restricted.must_weight)) == sorted(
        map(tuple, restricted.must_link.tolist())
    )
    far = Pairs([(3, 10**15)])  # which needs little memory
    assert far.restrict([10**15, 3]) == Pairs([(0, 1)], n_rows=2)
    mask = np.isin(np.arange(N_ROWS), chosen)
    assert pairs.restrict(mask) == pairs.restrict(np.flatnonzero(mask))
    assert pairs.restrict(mask.tolist()) == pairs.restrict(sorted(chosen))


@each(
    ("chosen", "error", "message"),
    [
        ([3, 1, 3], ValueError, "names row 3 more than once"),
        ([0, -1], ValueError, r"rows\[1\] is -1: row numbers run from 0 to 4"),
        ([0, 5], ValueError, r"rows\[1\] is 5: row numbers run from 0 to 4"),
        ([0.0, 1.0], TypeError, "integers or a boolean mask, not float64"),
        ([True, False], ValueError, "a mask over 5 rows is needed, not 2"),
        ([[0, 1]], ValueError, r"one-dimensional, got shape \(1, 2\)"),
        (3, ValueError, r"one-dimensional, got shape \(\)"),
    ],
)
def test_bad_rows(chosen, error, message):
    with pytest.raises(error, match=message):
        Pairs([(0, 4)], n_rows=5).restrict(chosen)
    with pytest.raises(ValueError, match=r"rows\[0\] is -1: row numbers run from 0$"):
        Pairs([(0, 4)]).restrict([-1])
    with pytest.raises(ValueError, match=r"must-link \(0, 4\) names row 4, but X has 3 rows"):
        Pairs([(0, 4)]).restrict([True, False, True])


def test_check_rows():
    Pairs([(0, 4)], n_rows=5).check_rows(5)
    Pairs([(0, 4)]).check_rows(5)
    Pairs().check_rows(0)
    with pytest.raises(
        ValueError, match=r"for 150 rows, X has 120: .* for X\[rows\] use pairs\.restrict\(rows\)$"
    ):
        Pairs(n_rows=150).check_rows(120)
    with pytest.raises(ValueError, match=r"must-link \(3, 200\) names row 200, but X has 150 rows"):
        Pairs([(0, 1), (3, 200)]).check_rows(150)
    with pytest.raises(ValueError, match=r"cannot-link \(3, 4\) names row 4, but X has 4 rows"):
        Pairs([(0, 1)], [(4, 3)]).check_rows(4)


def test_subset_keeps_pairs_with_their_weights():
    pairs = Pairs([(3, 1), (0, 2)], [(4, 5)], must_weight=[2, 3], cannot_weight=[0.5], n_rows=9)
    kept = pairs.subset([False, True, True])
    assert kept == Pairs([(1, 3)], [(4, 5)], must_weight=[2], cannot_weight=[0.5], n_rows=9)
    assert pairs.subset(np.ones(3, dtype=bool)) == pairs
    assert len(pairs.subset(np.zeros(3, dtype=bool))) == 0
    for chosen in ([True], [0, 1, 1], np.ones((3, 1), dtype=bool)):
        with pytest.raises(ValueError, match="a boolean for each of the 3 pairs"):
            pairs.subset(chosen)


def test_without_withdraws_pairs_of_either_kind():
    pairs = Pairs([(3, 1), (0, 2)], [(4, 5), (1, 3)], must_weight=[2, 3], n_rows=9)
    assert pairs.without([(1, 3), (7, 8)]) == Pairs([(0, 2)], [(4, 5)], must_weight=[3], n_rows=9)
    assert pairs.without([(5, 4)]) == Pairs(
        [(3, 1), (0, 2)], [(1, 3)], must_weight=[2, 3], n_rows=9
    )
    assert pairs.without([]) == pairs
    assert Pairs().without([(1, 3)]) == Pairs()
    with pytest.raises(ValueError, match=r"^pairs have shape \(1, 4\)"):
        pairs.without([(1, 2, 3, 4)])
