"""Choosing among metrics by held-out pairs."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA

from nearkin import RCA, Blend, Euclidean, KernelBeta, Pairs
from nearkin.datasets import make_xor
from nearkin.learners.selection import (
    BLEND,
    EUCLIDEAN,
    HeldOutDistances,
    _new_rows_beside_named,
    blend_in_euclidean,
    choose,
    describe_doubt,
    hold_out,
    report_uncompared,
)
from nearkin.rows.distances import linked_distances
from nearkin.scores.held_out import compare_auc, make_pair_folds, rank_among
from tests.cases import each


@pytest.fixture(scope="module")
def data():
    X, y = make_xor(120, random_state=0)
    return X, Pairs.from_labels(y, 40, random_state=0)


def test_held_out_ranks_are_those_of_metrics_that_did_not_see_the_pairs(data):
    X, pairs = data
    learners = [(EUCLIDEAN, Euclidean(), X), ("beta", KernelBeta(random_state=0), X)]
    found = hold_out(learners, len(X), pairs, np.random.RandomState(3))
    rng = np.random.RandomState(3)
    folds = make_pair_folds(pairs, 5, rng, unseen="one")
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    random_links = rng.randint(len(X), size=(1000, 2))
    random_links = random_links[random_links[:, 0] != random_links[:, 1]]
    total, count = np.zeros(len(pairs)), np.zeros(len(pairs))
    for learn, judge in folds:
        Z = KernelBeta(random_state=0).fit(X, pairs=pairs.subset(learn)).transform(X)
        total[judge] += rank_among(
            linked_distances(Z, links[judge]) ** 2, linked_distances(Z, random_links) ** 2
        )
        count[judge] += 1
    assert (count > 0).all()
    assert_allclose(found.ranks({"beta": 1.0}), total / count)


def test_a_recipe_ranks_as_the_blend_does(data):
    X, pairs = data
    learners = {"rca": RCA(random_state=0), "beta": KernelBeta(random_state=0)}
    parts = [(name, learner, X) for name, learner in learners.items()]
    found = hold_out(parts, len(X), pairs, np.random.RandomState(0))
    blend = [("both", Blend(list(learners.values()), weights=[0.3, 0.7], random_state=0), X)]
    whole = hold_out(blend, len(X), pairs, np.random.RandomState(0))
    # Scales come from random pairs here and from variances there.
    expected = whole.ranks({"both": 1.0})
    assert_allclose(found.ranks({"rca": 0.3, "beta": 0.7}), expected, atol=0.03)


def test_a_learner_that_refuses_is_left_out(data):
    X, pairs = data
    only_cannot = Pairs(cannot_link=pairs.cannot_link)
    learners = [(EUCLIDEAN, Euclidean(), X), ("rca", RCA(), X)]
    found = hold_out(learners, len(X), only_cannot, np.random.RandomState(0))
    assert set(found.distances) == {EUCLIDEAN}


def test_every_learner_sees_the_rows_that_are_meant_for_it(data):
    X, pairs = data
    axis = PCA(1, random_state=0).fit_transform(X)
    learners = [("wide", Euclidean(), X), ("narrow", Euclidean(), axis)]
    found = hold_out(learners, len(X), pairs, np.random.RandomState(0))
    alone = hold_out(learners[1:], len(X), pairs, np.random.RandomState(0))
    assert_array_equal(found.ranks({"narrow": 1.0}), alone.ranks({"narrow": 1.0}))
    assert (found.ranks({"narrow": 1.0}) != found.ranks({"wide": 1.0})).any()


def test_duplicates_are_judged_by_the_pairs_themselves():
    rng = np.random.RandomState(0)
    things = rng.normal(size=(300, 20))
    X = np.repeat(things, 2, axis=0) + 0.1 * rng.normal(size=(600, 20))
    # As near to one another as no two random rows are, and yet clearly not duplicates.
    X[1::4] += 0.5
    pairs = Pairs([(i, i + 1) for i in range(2, 100, 4)], [(i, i + 1) for i in range(0, 100, 4)])
    found = hold_out([(EUCLIDEAN, Euclidean(), X)], len(X), pairs, np.random.RandomState(0))
    truth = Euclidean().fit(X, pairs=pairs).score(X, pairs=pairs)
    rank = found.ranks({EUCLIDEAN: 1.0})
    assert np.nanmax(rank) < 0.01
    assert compare_auc(rank, rank, found.same).auc == truth == 1


def held_out_with(gains, n=200, seed=0, noise=0.3):
    """Made-up distances of metrics that tell kinds apart the better the larger their gain."""
    rng = np.random.RandomState(seed)
    same = np.arange(n) < n // 2
    common = rng.normal(size=n)
    distances, random = {}, {}
    for name, gain in gains.items():
        own = noise * rng.normal(size=n)
        distances[name] = [np.exp(np.where(same, -gain, gain) + common + own)]
        random[name] = [np.exp(rng.normal(size=500))]
    links = np.arange(2 * n).reshape(n, 2)
    return HeldOutDistances([np.ones(n, dtype=bool)], distances, random, same, links, links)


def chosen(gains, n=200, **more):
    """What is chosen where one learner is the usual one."""
    return of_usual(held_out_with(gains, n, **more))


def of_usual(held_out):
    return choose(held_out, {"usual": 1.0}, np.ones(len(held_out.same)))


def test_the_usual_one_is_kept_while_others_are_no_better():
    report = chosen({EUCLIDEAN: 0.2, "usual": 0.9, "other": 0.1})
    assert report.recipe["usual"] > 0.8
    assert report.chance_of_gain > 0.95
    assert report.n_judged == 200
    assert "Better than the Euclidean distance" in report.reason
    assert [line.name for line in report.candidates if line.chosen] == [BLEND]


def test_what_tells_pairs_apart_gets_a_larger_share():
    few, many = (chosen({EUCLIDEAN: 0.2, "usual": 0.5, "other": 0.8}, n=n).recipe for n in (20, 90))
    assert many["other"] > 0.3
    assert few["usual"] > 0.5  # the usual one has the weight of twenty steps


def test_one_that_is_clearly_better_alone_is_taken_alone():
    report = chosen({EUCLIDEAN: 0.2, "usual": -1.5, "other": 1.5})
    assert report.recipe == {"other": 1.0}
    assert report.reason.startswith("other. Better than")
    assert report.candidates[0].name == "other"
    # With few pairs nothing is clear.
    assert len(chosen({EUCLIDEAN: 0.2, "usual": -0.5, "other": 1.5}, n=60).recipe) > 1


def test_euclidean_is_kept_when_nothing_is_gained():
    report = chosen({EUCLIDEAN: 0.5, "usual": 0.2, "other": 0.1})
    assert report.recipe == {EUCLIDEAN: 1.0}
    assert report.reason.startswith("The Euclidean distance is kept. On ")
    assert [line.name for line in report.candidates if line.chosen] == [EUCLIDEAN]


def test_of_pairs_that_say_nothing_the_euclidean_distance_is_kept():
    nothing = {EUCLIDEAN: 0.0, "usual": 0.0, "other": 0.0}
    found = [chosen(nothing, n=100, seed=seed, noise=1.0) for seed in range(20)]
    kept = [report for report in found if report.recipe == {EUCLIDEAN: 1.0}]
    assert len(kept) >= 17
    assert all("no distance tells these pairs apart" in report.reason for report in kept)


def test_in_doubt_euclidean_is_blended_in():
    report = chosen({EUCLIDEAN: 0.5, "usual": 0.47, "other": -1.0}, n=40)
    assert report.recipe[EUCLIDEAN] >= 0.1
    assert_allclose(sum(report.recipe.values()), 1)
    assert 0.5 < report.chance_of_gain < 0.95
    assert "is not certain: a share of 10% of the Euclidean distance" in report.reason


@each(
    ("gains", "n", "said"),
    [
        ({EUCLIDEAN: 0.2, "usual": 0.9}, 200, "Better than the Euclidean distance"),
        ({EUCLIDEAN: 0.2, "usual": 0.3}, 12, "say so too, but do not prove it"),
        ({EUCLIDEAN: 0.9, "usual": 0.6}, 12, "no better on the held-out pairs"),
    ],
)
def test_a_reason_tells_what_was_seen_from_what_is_believed(gains, n, said):
    report = chosen({**gains, "other": -1.0}, n=n)
    line = next(line for line in report.candidates if line.chosen)
    assert line.name == BLEND
    assert said in report.reason
    assert ("Better than" in report.reason) == (line.gain >= 2 * line.error)
    assert ("on most data" in report.reason) == (line.gain < 2 * line.error)


def test_a_choice_that_was_worse_is_doubted():
    for seed in range(20):
        report = chosen({EUCLIDEAN: 0.9, "usual": 0.3, "other": -1.0}, n=12, seed=seed)
        line = next(line for line in report.candidates if line.chosen)
        doubt = describe_doubt(report)
        assert (doubt is not None) == (line.name != EUCLIDEAN and line.gain <= -1.5 * line.error)
        if doubt is not None:
            assert f"by {-line.gain:.3f} ± {line.error:.3f} in pair AUC" in doubt
            break
    else:
        pytest.fail("no blend was worse")


def test_where_must_links_are_duplicates_nothing_is_believed_to_be_gained():
    held_out = held_out_with({EUCLIDEAN: 2.0, "usual": 2.0, "other": 2.0}, n=20, noise=0.01)
    assert of_usual(held_out).recipe.keys() > {"usual"}
    near = {name: [1e-6 * values[0]] for name, values in held_out.distances.items()}
    report = of_usual(replace(held_out, distances=near))
    assert report.recipe == {EUCLIDEAN: 1.0}
    assert "nearer than nearly all random pairs already" in report.reason


@each("kind", [True, False])
def test_random_pairs_stand_for_a_kind_that_is_missing(kind):
    both = held_out_with({EUCLIDEAN: 0.1, "usual": 1.0, "other": 0.2})
    kept = both.same == kind
    one = HeldOutDistances(
        [np.ones(kept.sum(), dtype=bool)],
        {name: [values[0][kept]] for name, values in both.distances.items()},
        both.random,
        both.same[kept],
        both.links[kept],
        both.random_links,
    )
    report = of_usual(one)
    assert report.recipe["usual"] > 0.6
    rank = one.ranks({"usual": 1.0})
    expected = 1 - rank.mean() if kind else rank.mean()
    found = next(line for line in report.candidates if line.name == "usual")
    assert_allclose(found.auc, expected, atol=0.01)


def test_pairs_of_little_weight_count_little_in_the_choice_of_shares():
    held_out = held_out_with({EUCLIDEAN: 0.2, "usual": 0.4, "other": 0.4}, n=80)
    # Half of the pairs, of either kind, say the opposite of what the other learner tells.
    wrong = np.arange(80) % 2 == 0
    distances = held_out.distances["other"][0].copy()
    distances[wrong] = 1 / distances[wrong]
    misled = replace(held_out, distances={**held_out.distances, "other": [distances]})
    weight = np.where(wrong, 1e-3, 1.0)
    trusting = choose(misled, {"usual": 1.0}, np.ones(80)).recipe.get("other", 0.0)
    assert choose(misled, {"usual": 1.0}, weight).recipe["other"] > trusting


def test_the_report_can_be_read():
    report = chosen({EUCLIDEAN: 0.2, "usual": 0.9, "other": 0.4})
    first, compared = str(report).splitlines()
    assert first == report.reason
    assert compared.startswith("Pair AUC on held-out pairs: ")
    assert [name in compared for name in (EUCLIDEAN, "usual", "other")] == [True] * 3
    html = report._repr_html_()
    assert html.count("<tr>") == 5
    assert report.reason in html


def test_the_report_without_candidates_is_the_reason():
    report = report_uncompared({"usual": 1.0}, "3 pairs are too few")
    assert report.recipe == {EUCLIDEAN: 0.5, "usual": 0.5}
    assert str(report).startswith("3 pairs are too few: ")
    assert "<table>" not in report._repr_html_()


def test_shares_sum_to_one():
    recipe = blend_in_euclidean({"a": 0.3, "b": 0.7}, 0.25)
    assert_allclose(sum(recipe.values()), 1)
    assert recipe[EUCLIDEAN] == 0.25


def test_gains_in_the_report_are_those_of_paired_comparison():
    held_out = held_out_with({EUCLIDEAN: 0.2, "usual": 0.6, "other": 0.4})
    report = of_usual(held_out)
    expected = compare_auc(
        held_out.ranks({"other": 1.0}), held_out.ranks({EUCLIDEAN: 1.0}), held_out.same
    )
    other = next(line for line in report.candidates if line.name == "other")
    assert (other.auc, other.gain, other.error) == (expected.auc, expected.gain, expected.error)


def test_how_far_new_rows_are_beside_named_ones_is_seen_in_random_pairs():
    rng = np.random.RandomState(0)
    # Three tenths of the rows are named, and lie twice as far from the middle as others do.
    Z = rng.normal(size=(200, 5)) * np.where(np.arange(200) < 60, 2.0, 1.0)[:, None]
    links = np.arange(60).reshape(30, 2)
    random_links = rng.randint(200, size=(1000, 2))
    squared = linked_distances(Z, random_links) ** 2
    held_out = HeldOutDistances(
        [np.ones(30, dtype=bool)], {}, {"one": [squared]}, np.arange(30) < 15, links, random_links
    )
    assert_allclose(_new_rows_beside_named(held_out, {"one": 1.0}, 200), 0.5, rtol=0.1)
    # Too few of either kind, all of which would be new or named.
    assert _new_rows_beside_named(held_out, {"one": 1.0}, 80) == 1.0
    few = replace(held_out, links=links[:10])
    assert _new_rows_beside_named(few, {"one": 1.0}, 200) == 1.0
