"""The learner that chooses."""

import pickle
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine, make_moons
from sklearn.decomposition import PCA
from sklearn.preprocessing import scale

from nearkin import (
    Chain,
    CosineMetric,
    Euclidean,
    KernelBeta,
    MetricLearner,
    NeighborIndex,
    Pairs,
    SelectionWarning,
    load,
    spread_pairs,
)
from nearkin.datasets import make_xor
from nearkin.learners import itml, metric_learner
from nearkin.learners.selection import BLEND, make_ingredients, usual_blend
from nearkin.messages import mute_categories
from nearkin.scores import neighbor_precision, pair_auc
from tests.cases import each

# Enough for the first candidates on some hundred rows; more time means more of them.
SOME_TIME = 0.3


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


@pytest.fixture(scope="module")
def taught(wine):
    X, y = wine
    pairs = Pairs.from_labels(y[::2], 100, random_state=0)
    return MetricLearner(random_state=0).fit(X[::2], pairs=pairs)


def test_new_rows_are_told_apart_better_than_before(wine, taught):
    X, y = wine
    assert taught.score(X[1::2], y[1::2]) > pair_auc(X[1::2], y[1::2]) + 0.08
    assert taught.report_.chance_of_gain > 0.95
    assert "Euclidean" not in taught.report_.recipe


def test_the_report_tells_what_was_compared(taught):
    report = taught.report_
    names = [line.name for line in report.candidates]
    assert {"Euclidean", "CosineMetric", BLEND, "GeometryAware"} <= set(names)
    assert [line.auc for line in report.candidates] == sorted(
        (line.auc for line in report.candidates), reverse=True
    )
    chosen = [line for line in report.candidates if line.chosen]
    assert len(chosen) == 1
    assert all(name in report.reason for name in report.recipe)
    assert len(report.recipe) <= 3
    assert len(str(report).splitlines()) <= 8
    assert 0 < report.n_judged <= 100


def test_the_report_says_how_good_the_metric_is_and_is_kept(wine, taught, tmp_path):
    X, y = wine
    held_out = taught.report_.quality
    assert held_out.n_same + held_out.n_different == taught.report_.n_judged
    assert held_out.radius == taught.threshold_
    new = taught.quality(X[1::2], y[1::2])
    for figure in ("auc", "precision", "recall", "f1"):
        # Neither is known exactly.
        one, other = getattr(held_out, figure), getattr(new, figure)
        assert one.low <= other.high
        assert other.low <= one.high
    assert f"recall {held_out.recall}" in str(taught.report_)
    assert str(held_out.auc) in taught.report_._repr_html_()
    taught.save(tmp_path / "model.nearkin")
    assert load(tmp_path / "model.nearkin").report_.quality == held_out


@each("n_pairs", [2, 12])
def test_of_a_few_pairs_nothing_is_certain(n_pairs, wine):
    X, y = wine
    pairs = Pairs.from_labels(y, n_pairs, random_state=0)
    context = pytest.warns(SelectionWarning) if n_pairs < 10 else nullcontext()
    with context:
        metric = MetricLearner(time_budget=SOME_TIME, random_state=0).fit(X, pairs=pairs)
    quality = metric.report_.quality
    assert quality is None or quality.auc.high - quality.auc.low > 0.25
    chance = metric.chance_same(X[:50], X[50:100])
    assert np.isfinite(chance).all()


def test_shuffled_pairs_tell_that_nothing_is_told(wine):
    X, y = wine
    shuffled = np.random.RandomState(0).permutation(y)
    pairs = Pairs.from_labels(shuffled, 80, random_state=0)
    with mute_categories(SelectionWarning):
        metric = MetricLearner(time_budget=SOME_TIME, random_state=0).fit(X, pairs=pairs)
    assert metric.report_.quality.auc.low < 0.5
    assert abs(metric.chance_same(X[:80], X[80:160]) - 0.5).max() < 0.2


def test_the_metric_is_made_by_the_recipe(taught):
    assert_array_equal(taught.metric_.weights, list(taught.report_.recipe.values()))


def test_points_have_as_many_columns_as_asked_for(wine, taught):
    X, y = wine
    assert taught.transform(X).shape[1] == taught.n_components_ <= 64
    pairs = Pairs.from_labels(y[::2], 100, random_state=0)
    whole, few = (
        MetricLearner(n_components=n, random_state=0).fit(X[::2], pairs=pairs) for n in (None, 5)
    )
    assert few.transform(X).shape[1] == 5
    assert whole.n_components_ > 64
    assert_allclose(taught.distance(X), whole.distance(X), rtol=0.05, atol=0.05)


def test_few_rows_of_many_columns_keep_directions_that_none_of_them_has():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(20, 300)), rng.normal(size=(40, 300))
    pairs = Pairs([(0, 1)], [(0, 2)])
    with pytest.warns(SelectionWarning):
        metric = MetricLearner(random_state=0).fit(X, pairs=pairs)
    with pytest.warns(SelectionWarning):
        whole = MetricLearner(n_components=None, random_state=0).fit(X, pairs=pairs)
    apart = np.triu_indices(40, 1)
    ratio = metric.distance(new)[apart] / whole.distance(new)[apart]
    assert abs(ratio.mean() - 1) < 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that are all equal
        metric.fit(np.ones((30, 5)), pairs=pairs)
    assert (metric.distance(np.eye(5))[np.triu_indices(5, 1)] > 0.1).all()


def test_nothing_is_done_twice_and_the_result_is_the_same(wine, monkeypatch):
    X, y = wine
    projections: list[bytes] = []
    project = itml.project

    def counted(*told, **settings):
        projections.append(pickle.dumps(told))
        return project(*told, **settings)

    monkeypatch.setattr(itml, "project", counted)
    pairs = Pairs.from_labels(y[::2], 40, random_state=0)
    learner = MetricLearner(time_budget=SOME_TIME, random_state=0)
    once = clone(learner).fit(X[::2], pairs=pairs)
    n_distinct = len(set(projections))
    assert len(projections) == n_distinct > 10

    monkeypatch.setattr(metric_learner, "keep_results", nullcontext)
    projections.clear()
    apart = clone(learner).fit(X[::2], pairs=pairs)
    assert len(set(projections)) == n_distinct < len(projections)
    assert str(apart.report_) == str(once.report_)
    assert apart.threshold_ == once.threshold_
    assert apart.suspects_ == once.suspects_
    assert_array_equal(apart.transform(X), once.transform(X))


def test_what_no_linear_metric_can_do_is_learned():
    X, y = make_xor(200, random_state=0)
    pairs = Pairs.from_labels(y, 60, random_state=0)
    metric = MetricLearner(time_budget=0.5, random_state=0).fit(X, pairs=pairs)
    X_new, y_new = make_xor(200, random_state=1)
    assert metric.score(X_new, y_new) > 0.9
    assert pair_auc(X_new, y_new) < 0.6


@pytest.mark.parametrize(
    ("seed", "budget"),
    [(0, 1.2), *(pytest.param(seed, 10.0, marks=pytest.mark.night) for seed in range(3))],
)
def test_nothing_to_learn_gives_the_euclidean_distance(seed, budget):
    X, y = load_digits(return_X_y=True)
    X, shuffled = X[::4], np.random.RandomState(seed).permutation(y[::4])
    pairs = Pairs.from_labels(shuffled, 200, random_state=seed)
    with pytest.warns(SelectionWarning, match="The Euclidean distance is kept"):
        metric = MetricLearner(time_budget=budget, random_state=seed).fit(X, pairs=pairs)
    assert isinstance(metric.metric_, Euclidean)
    assert "no distance tells these pairs apart" in metric.report_.reason
    assert_array_equal(metric.transform(X[:5]), X[:5])


@each(
    "pairs",
    [Pairs([(0, 1)]), Pairs(cannot_link=[(0, 70)]), Pairs([(0, 1), (2, 3)], [(0, 70), (1, 71)])],
)
def test_few_pairs_give_a_prudent_blend_and_a_warning(pairs, wine):
    X, _ = wine
    with pytest.warns(SelectionWarning, match="too few to choose a metric by") as record:
        metric = MetricLearner(random_state=0).fit(X, pairs=pairs)
    assert record[0].filename == __file__
    assert metric.report_.recipe["Euclidean"] == 0.5
    assert metric.report_.candidates == []
    assert metric.suspects_ == []
    assert np.isfinite(metric.transform(X)).all()


def test_no_time_means_no_comparison(wine):
    X, y = wine
    pairs = Pairs.from_labels(y, 40, random_state=0)
    with pytest.warns(SelectionWarning, match="There is no time to compare metrics"):
        metric = MetricLearner(time_budget=0, random_state=0).fit(X, pairs=pairs)
    assert metric.report_.recipe["Euclidean"] == 0.5


def test_more_time_means_more_candidates(wine):
    X, y = wine
    pairs = Pairs.from_labels(y[::2], 40, random_state=0)
    found = []
    for budget in (0.05, 100):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SelectionWarning)
            metric = MetricLearner(time_budget=budget, random_state=0).fit(X[::2], pairs=pairs)
        found.append({line.name for line in metric.report_.candidates})
    assert found[0] < found[1]
    assert "GeometryAware" in found[1] - found[0]


@each("kind", ["must", "cannot"])
def test_one_kind_of_pair_is_enough(kind, wine):
    X, y = wine
    pairs = Pairs.from_labels(y[::2], 40, kind=kind, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        metric = MetricLearner(time_budget=SOME_TIME, random_state=0).fit(X[::2], pairs=pairs)
    assert metric.report_.n_judged > 10
    assert metric.score(X[1::2], y[1::2]) >= pair_auc(X[1::2], y[1::2]) - 0.005
    assert metric.suspects_ == []


def test_pairs_that_all_share_a_point_are_judged_by_their_other_ends(wine):
    X, _ = wine
    star = Pairs([(0, i) for i in range(1, 15)], [(0, i) for i in range(140, 150)])
    metric = MetricLearner(time_budget=SOME_TIME, random_state=0).fit(X, pairs=star)
    assert metric.report_.n_judged >= 15  # all but those whose other end is dealt with row 0
    assert np.isfinite(metric.transform(X)).all()


def test_contradictory_pairs_are_warned_of_once_and_learned_from(wine):
    X, y = wine
    right = Pairs.from_labels(y, 20, random_state=0)
    both = right + Pairs(right.cannot_link, right.must_link)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        metric = MetricLearner(time_budget=SOME_TIME, random_state=0).fit(X, pairs=both)
    assert sum("contradict" in str(warning.message) for warning in record) == 1
    assert np.isfinite(metric.transform(X)).all()


def with_mistakes(y, n_pairs, n_wrong):
    right = Pairs.from_labels(y, n_pairs, random_state=0)
    wrong = right.subset(np.arange(n_pairs) % (n_pairs // n_wrong) == 0)
    links = np.concatenate([wrong.must_link, wrong.cannot_link])
    return right.without(links) + Pairs(wrong.cannot_link, wrong.must_link), set(map(tuple, links))


@pytest.mark.filterwarnings("ignore:pairs contradict each other")
def test_planted_mistakes_are_suspected_and_trusted_less(wine):
    X, y = wine
    pairs, wrong = with_mistakes(y, 200, 20)
    learner = MetricLearner(time_budget=SOME_TIME, random_state=0)
    metric = clone(learner).fit(X, pairs=pairs)
    blind = clone(learner).set_params(robust=False).fit(X, pairs=pairs)
    for one in (metric, blind):
        listed = {suspect.pair for suspect in one.suspects_}
        assert len(listed & wrong) >= 0.7 * len(wrong)
        assert len(listed & wrong) >= 0.5 * len(listed)
    as_given = clone(blind.metric_).fit(X, pairs=pairs)
    assert_array_equal(blind.transform(X), as_given.transform(X))
    assert np.abs(metric.distance(X) - blind.distance(X)).max() > 0.01


def test_suspects_are_found_among_pairs_beside_labels(wine):
    X, y = wine
    pairs, wrong = with_mistakes(y, 40, 4)
    some = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pairs contradict the labels
        metric = MetricLearner(time_budget=SOME_TIME, random_state=0).fit(X, some, pairs=pairs)
    said = {tuple(link) for link in np.concatenate([pairs.must_link, pairs.cannot_link])}
    listed = {suspect.pair for suspect in metric.suspects_}
    assert listed <= said
    assert listed & wrong


def test_many_pairs_of_every_row_are_compared_on_some_and_learned_from_all(wine):
    X, y = wine
    pairs = Pairs.from_labels(y, 3000, random_state=0)
    assert len(pairs.points) == len(X)
    metric = MetricLearner(time_budget=0.5, random_state=0).fit(X, pairs=pairs)
    assert metric.report_.n_judged <= 1000
    assert metric.score(X, y) > 0.95


def test_rows_with_many_columns_are_reduced_for_all_but_euclidean():
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=120)
    X = np.column_stack([4.0 * y + rng.normal(size=120), rng.normal(size=(120, 150))])
    pairs = Pairs.from_labels(y, 49, random_state=0)
    metric = MetricLearner(time_budget=0.3, random_state=0).fit(X, pairs=pairs)
    chains = [part for part in metric.metric_.learners_ if isinstance(part, Chain)]
    assert chains
    assert all(chain.steps_[0].n_components_ == 24 for chain in chains)
    assert metric.score(X, y) > pair_auc(X, y) + 0.1


def test_duplicates_are_not_given_up_for_a_blend():
    rng = np.random.default_rng(0)
    things, who = rng.normal(size=(400, 40)), np.repeat(np.arange(400), 2)
    X = np.repeat(things, 2, axis=0) + 0.15 * rng.normal(size=(800, 40))
    nearest = NeighborIndex().add(X).query(X, 3)[1]
    look_alikes = [
        (i, next(j for j in nearest[i][1:] if who[j] != who[i])) for i in range(0, 60, 2)
    ]
    pairs = Pairs([(i, i + 1) for i in range(100, 160, 2)], look_alikes)
    with pytest.warns(SelectionWarning, match="nearer than nearly all random pairs"):
        metric = MetricLearner(time_budget=1, random_state=0).fit(X, pairs=pairs)
    assert Euclidean().fit(X, pairs=pairs).score(X, pairs=pairs) == 1
    plain = next(line for line in metric.report_.candidates if line.name == "Euclidean")
    assert plain.auc == 1
    assert plain.chosen
    assert metric.suspects_ == []


def test_a_few_duplicates_keep_the_euclidean_distance():
    rng = np.random.RandomState(0)
    X = np.repeat(rng.normal(size=(100, 20)), 2, axis=0) + 0.1 * rng.normal(size=(200, 20))
    pairs = Pairs([(0, 1), (2, 3), (4, 5)], [(0, 2), (5, 9)])
    with pytest.warns(SelectionWarning, match="too few to choose .* Euclidean distance is kept"):
        metric = MetricLearner(random_state=0).fit(X, pairs=pairs)
    assert isinstance(metric.metric_, Euclidean)


def test_all_columns_are_seen_where_few_axes_lose_identity():
    rng = np.random.RandomState(0)
    things = np.hstack([rng.normal(size=(120, 10)), 0.3 * rng.normal(size=(120, 110))])
    # Two of every thing, which differ in the widest columns and agree in all the others.
    X = np.repeat(things, 2, axis=0)
    X[:, :10] = 3 * rng.normal(size=(240, 10))
    pairs = Pairs([(i, i + 1) for i in range(0, 80, 2)], [(i, i + 3) for i in range(80, 160, 4)])
    metric = MetricLearner(time_budget=2, scale=False, random_state=0).fit(X, pairs=pairs)
    who = np.repeat(np.arange(120), 2)[160:]
    assert metric.score(X[160:], who) > 0.99 > pair_auc(X[160:], who) + 0.2
    assert not any(isinstance(part, PCA) for part in _learners(metric.metric_))


def test_columns_of_other_units_do_not_drown_the_others():
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=200)
    X = np.column_stack([rng.uniform(0, 1e6, size=200), y + 0.2 * rng.normal(size=200)])
    pairs = Pairs.from_labels(y, 60, random_state=0)
    rows = pd.DataFrame(X, columns=["id", "size"])
    metric = MetricLearner(time_budget=0.2, random_state=0).fit(rows, pairs=pairs)
    assert metric.score(rows, y) > 0.95 > pair_auc(X, y) + 0.3
    assert metric.column_scale_[0] > 1e5 > metric.column_scale_[1]
    assert "column 'id' reaches" in str(metric.report_)
    refused = MetricLearner(time_budget=0.2, scale=False, random_state=0).fit(X, pairs=pairs)
    assert refused.column_scale_ is None
    assert refused.report_.columns == ""


def test_raw_columns_serve_as_well_as_standardised_ones():
    X, y = load_wine(return_X_y=True)
    learned, new = np.arange(len(y)) % 3 != 0, np.arange(len(y)) % 3 == 0
    pairs = Pairs.from_labels(y[learned], 60, random_state=0)
    raw, standardised = (
        MetricLearner(time_budget=0.2, random_state=0).fit(rows[learned], pairs=pairs)
        for rows in (X, scale(X))
    )
    assert_allclose(raw.score(X[new], y[new]), standardised.score(scale(X)[new], y[new]), atol=0.01)
    assert len(raw.suspects_) <= len(standardised.suspects_) + 3


def test_sparse_rows_are_learned_from_as_dense_ones_are():
    rng = np.random.RandomState(0)
    y = rng.randint(3, size=200)
    counts = rng.poisson(0.05 + 0.5 * (np.arange(400) % 3 == y[:, None]))
    X = sparse.csr_array(counts.astype(float))
    pairs = Pairs.from_labels(y[:120], 60, random_state=0)
    metric = MetricLearner(time_budget=SOME_TIME, random_state=0).fit(X[:120], pairs=pairs)
    assert metric.score(X[120:], y[120:]) > 0.9
    assert_allclose(metric.transform(X[120:]), metric.transform(X[120:].toarray()))
    assert metric.axes_.shape == (120, 400)
    dense = MetricLearner(time_budget=SOME_TIME, random_state=0).fit(X[:120].toarray(), pairs=pairs)
    assert_allclose(
        metric.score(X[120:], y[120:]), dense.score(X[120:].toarray(), y[120:]), atol=0.03
    )


def test_the_bar_and_the_report_go_to_standard_error(wine, capsys):
    X, y = wine
    pairs = Pairs.from_labels(y, 40, random_state=0)
    metric = MetricLearner(time_budget=0.2, verbose=True, random_state=0).fit(X, pairs=pairs)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "comparing metrics" in shown.err
    assert metric.report_.reason in shown.err


def test_where_classes_wind_around_each_other_kernel_beta_has_no_part():
    (X, y), (new, y_new) = (make_moons(300, noise=0.1, random_state=seed) for seed in (0, 1))
    pairs = Pairs.from_labels(y, 150, random_state=0)
    metric = MetricLearner(random_state=0).fit(X, pairs=pairs)
    assert metric.score(new, y_new) > 0.98
    assert KernelBeta(random_state=0).fit(X, pairs=pairs).score(new, y_new) < 0.8
    assert not any(name.startswith("KernelBeta") for name in metric.report_.recipe)
    turning = CosineMetric(kernel="rbf", random_state=0).fit(X, pairs=pairs)
    assert turning.score(new, y_new) > 0.98


@pytest.mark.night
def test_for_search_neighbours_of_kinds_stay_that_no_pair_speaks_of():
    X, y = load_digits(return_X_y=True)
    known = y < 5
    pairs = Pairs.from_labels(y[known], 100, random_state=0)
    plain, by_groups, by_search = (
        neighbor_precision(metric.transform(X[~known]), y[~known])
        for metric in (
            Euclidean().fit(X, pairs=pairs),
            MetricLearner(random_state=0).fit(X[known], pairs=pairs),
            MetricLearner(goal="search", random_state=0).fit(X[known], pairs=pairs),
        )
    )
    assert by_search > plain - 0.005
    assert by_search > by_groups


def test_landmarks_stand_for_many_rows():
    X, y = make_xor(3000, random_state=0)
    pairs = Pairs.from_labels(y, 60, random_state=0)
    learner = MetricLearner(n_landmarks=100, time_budget=0, random_state=0)
    with pytest.warns(SelectionWarning, match="no time"):  # so that it is the usual blend
        metric = learner.fit(X, pairs=pairs)
    kernels = [part for part in _learners(metric.metric_) if isinstance(part, KernelBeta)]
    assert len(kernels) == 1
    # Points of pairs are landmarks too.
    assert all(len(part.landmarks_) <= 100 + len(pairs.points) for part in kernels)


def _learners(metric):
    for part in getattr(metric, "learners_", getattr(metric, "steps_", [])):
        yield part
        yield from _learners(part)


def test_the_usual_blend_leaves_out_what_cannot_be_fitted():
    parts = make_ingredients(100, 1000, 0)
    whole = usual_blend(parts)
    assert "Euclidean" not in whole
    assert sum(whole.values()) == pytest.approx(1)
    del parts["PLDA"]
    rest = usual_blend(parts)
    assert set(rest) == set(whole) - {"PLDA"}
    assert sum(rest.values()) == pytest.approx(1)


def test_pairs_are_spread_if_asked_for(wine):
    X, y = wine[0][::2], wine[1][::2]
    pairs = Pairs.from_labels(y, 40, random_state=0)
    plain, spread = (
        MetricLearner(time_budget=0.05, robust=False, spread=spread, random_state=0)
        for spread in (False, True)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # spread pairs may contradict one another
        plain.fit(X, pairs=pairs)
        spread.fit(X, pairs=pairs)
        expected = clone(plain.metric_).fit(X, pairs=spread_pairs(X, pairs))
    assert_array_equal(spread.transform(X), expected.transform(X))
    assert np.abs(spread.distance(X) - plain.distance(X)).max() > 1e-3
