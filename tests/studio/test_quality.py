import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from nearkin import KernelBeta, Pairs, outlook
from nearkin.datasets import make_xor
from nearkin.scores.held_out import make_pair_folds, rank_among, rank_auc
from nearkin.studio.events import State, Told
from nearkin.studio.knowledge import MOST_TOLD, build_knowledge
from nearkin.studio.metric import learn_first
from nearkin.studio.quality import (
    describe_quality,
    find_suspects,
    held_out_ranks,
    outlook_of_answers,
)
from tests.cases import each

X, Y = make_xor(300, random_state=0)
LEARNER = KernelBeta(random_state=0)


def known(pairs, **others):
    answers = {tuple(link): Told(True) for link in pairs.must_link.tolist()}
    answers |= {tuple(link): Told(False) for link in pairs.cannot_link.tolist()}
    return build_knowledge(State(answers | others.get("unsure", {})), 3, len(X), {}, Pairs())


def trial(pairs):
    return held_out_ranks(learn_first(LEARNER, X, pairs), X, pairs)


@pytest.fixture(scope="module")
def pairs():
    return Pairs.from_labels(Y, 120, random_state=0)


def test_the_gain_is_found(pairs):
    quality = describe_quality(trial(pairs))
    assert quality["enough"]
    assert "better than the Euclidean distance" in quality["said"]
    assert quality["figures"]["auc"][0] > 0.9
    assert set(quality["figures"]) == {"auc", "euclidean_auc", "precision", "recall", "f1"}
    plain, plain_low, plain_high = quality["figures"].pop("euclidean_auc")
    assert plain_low < plain < min(plain_high, 0.65)
    for value, low, high in quality["figures"].values():
        assert 0.5 < low <= value <= high <= 1


def test_held_out_pairs_are_measured_by_metrics_that_do_not_know_them(pairs):
    found = trial(pairs)
    rng = np.random.RandomState(0)
    among = rng.randint(len(X), size=(1000, 2))
    among = among[among[:, 0] != among[:, 1]]
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    strict, loose = np.full(len(links), np.nan), [[] for _ in links]
    for learn, judge in make_pair_folds(pairs, 5, rng, unseen="both"):
        D = clone(LEARNER).fit(X, pairs=pairs.subset(learn)).distance(X)
        rank = rank_among(D[*links.T], D[*among.T])
        strict[judge] = rank[judge]
        for k in np.flatnonzero(~learn):
            loose[k].append(rank[k])
    assert 10 < (~np.isnan(strict)).sum() <= len(links)
    assert_allclose(found.strict, strict, atol=1e-9)
    assert_allclose(found.loose, [np.mean(some) for some in loose], atol=1e-9)
    D = cdist(X, X)
    plain = rank_among(D[*links.T], D[*among.T])
    assert_allclose(found.plain, np.where(np.isnan(strict), np.nan, plain), atol=1e-9)


def test_random_answers_teach_nothing():
    rng = np.random.RandomState(0)
    links = rng.permutation(len(X)).reshape(-1, 2)
    quality = describe_quality(trial(Pairs(links[:75], links[75:], n_rows=len(X))))
    assert quality["figures"]["auc"][0] < 0.7
    assert "not clearly different" in quality["said"]


@each(
    "few", [Pairs(n_rows=300), Pairs([(0, 1)], n_rows=300), Pairs([(0, 1)], [(2, 3)], n_rows=300)]
)
def test_a_few_answers_are_not_enough(few):
    quality = describe_quality(trial(few))
    assert not quality["enough"]
    assert quality["figures"] == {}
    assert "not enough answers" in quality["said"]


def test_one_kind_alone_is_not_enough():
    for kind, missing in (("must", "different"), ("cannot", "alike")):
        quality = describe_quality(trial(Pairs.from_labels(Y, 60, kind=kind, random_state=0)))
        assert not quality["enough"]
        assert quality["figures"] == {}
        assert f"too few of the records that can be held out are {missing}" in quality["said"]


def test_rows_that_were_looked_for_are_no_test(pairs):
    rows = pairs.points[:40]
    learned = learn_first(LEARNER, X, pairs)
    found = held_out_ranks(learned, X, pairs, sought=rows)
    assert not np.isin(found.links[found.judged], rows).any()
    assert found.judged.sum() < trial(pairs).judged.sum()
    assert_allclose(found.strict, trial(pairs).strict)


def test_auc_is_the_usual_one():
    rng = np.random.RandomState(0)
    rank, same = rng.randint(10, size=50) / 10, rng.rand(50) < 0.4
    assert rank_auc(rank, same) == pytest.approx(roc_auc_score(~same, rank))


def test_wrong_answers_are_suspected(pairs):
    wrong = pairs.must_link[:6]
    said = Pairs(pairs.must_link[6:], np.concatenate([pairs.cannot_link, wrong]), n_rows=len(X))
    found = find_suspects(trial(said), said, [f"id {k}" for k in range(len(X))])
    listed = {(one["left"], one["right"]) for one in found}
    assert len(listed & set(map(tuple, wrong.tolist()))) >= 4
    assert len(found) <= 12
    chances = [one["chance_opposite"] for one in found]
    assert chances == sorted(chances, reverse=True)
    first = found[0]
    assert first["same"] is False
    assert f"id {first['left']} and id {first['right']} are said to be different" in first["said"]
    # Of right ones, hardly any.
    assert len(find_suspects(trial(pairs), pairs, range(len(X)))) <= 6


def test_learners_are_told_what_follows_but_nothing_from_a_contradiction():
    right = Pairs([(7, 8), (8, 9)], [(9, 11)], n_rows=len(X))
    assert known(right).told == right.closure()
    wrong = Pairs([(0, 1), (1, 2)], [(0, 2), (2, 5)], n_rows=len(X))
    both = known(wrong + right)
    assert both.n_conflicts == 1
    assert both.told == wrong + right.closure()


def test_of_many_that_follow_some_are_told():
    must = [(0, k) for k in range(1, 150)] + [(150, k) for k in range(151, 250)]
    said = Pairs(must, [(0, 150), (0, 299)], n_rows=len(X))
    told = known(said).told
    assert MOST_TOLD <= len(told.must_link) <= MOST_TOLD + len(said.must_link)
    assert MOST_TOLD <= len(told.cannot_link) <= MOST_TOLD + 2
    assert told + said == told
    assert told + said.closure() == said.closure()
    assert np.bincount(told.must_link.ravel())[:150].min() > 0
    assert np.bincount(told.must_link.ravel())[1:150].max() < 40
    assert known(said).told == told


def test_one_more_answer_changes_little_of_what_is_told():
    y = np.arange(len(X)) % 5
    must = [(k, k + 5) for k in range(250)]
    said = Pairs(must, [(k, j) for k in range(5) for j in range(k)], n_rows=len(X))
    before = known(said).told
    assert len(before.must_link) > MOST_TOLD
    after = known(said + Pairs([(250, 255)], n_rows=len(X))).told
    gone = len(before + after) - len(after)
    assert gone < 0.03 * len(before)
    for links, same in ((after.must_link, True), (after.cannot_link, False)):
        assert ((y[links[:, 0]] == y[links[:, 1]]) == same).all()
        # As even over the rows as chance is.
        assert np.bincount(links.ravel(), minlength=256)[:256].std() < 5


def test_what_follows_from_weak_pairs_is_weak():
    must = [(k, k + 1) for k in range(100)]
    said = Pairs(must, must_weight=[0.5] * 99 + [2.0], n_rows=len(X))
    answers = {tuple(link): Told(True) for link in must}
    weights = {link: (True, w) for link, w in zip(must, [0.5] * 99 + [2.0], strict=True)}
    now = build_knowledge(State(answers), 1, len(X), weights, Pairs())
    assert now.pairs == said
    assert set(now.told.must_weight.tolist()) == {0.5, 2.0}
    assert (now.told.must_weight == 2.0).sum() == 1


def test_open_questions():
    now = known(Pairs([(0, 1), (1, 2)], [(2, 5)], n_rows=len(X)), unsure={(7, 8): Told(None)})
    asked = np.array([[0, 2], [0, 5], [8, 7], [5, 1], [0, 9], [9, 10]])
    assert now.are_open(asked).tolist() == [False, False, False, False, True, True]


def test_the_outlook_is_of_answers_and_not_of_the_pairs_that_they_speak_of(pairs):
    alone, of_many = (outlook_of_answers(X, pairs, n) for n in (len(pairs), len(pairs) // 5))
    seen = outlook(X, pairs)
    assert (alone["gain"], alone["said"]) == (seen.gain.value, str(seen))
    assert 3 * alone["gain"] < of_many["gain"] < 5 * alone["gain"]
    assert "the next 10 answers are expected to raise pair AUC by" in of_many["said"]
    early = outlook_of_answers(X, pairs.subset(np.arange(len(pairs)) < 5), 5)
    assert (early["gain"], early["low"], early["high"]) == (None, None, None)
    assert early["said"].startswith("too early to tell: it takes 10 answers")
