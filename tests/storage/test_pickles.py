import copy
import pickle

import pytest
from numpy.testing import assert_array_equal

import nearkin
from nearkin import RCA, MetricKMeans, Pairs
from nearkin.storage import models
from nearkin.storage.models import OldPickleError
from tests.cases import each

X = [[0.0, 0], [1, 0], [0, 5]]
REASON = r"of {}, .*metric\.save\(path\).*nearkin\.load\(path\)"


@each("estimator", [RCA(), MetricKMeans(2, random_state=0)])
def test_pickles_are_for_one_version(estimator, monkeypatch):
    told = {"pairs": Pairs([(0, 1)])} if isinstance(estimator, RCA) else {}
    estimator.fit(X, **told)
    content = pickle.dumps(estimator)
    same = pickle.loads(content)
    assert set(vars(same)) == set(vars(estimator))
    assert set(vars(copy.deepcopy(estimator))) == set(vars(estimator))
    assert_array_equal(same.components_, estimator.components_)
    monkeypatch.setattr(models, "__version__", "99.0")
    with pytest.raises(OldPickleError, match=REASON.format(f"nearkin {nearkin.__version__}")):
        pickle.loads(content)


def test_a_pickle_without_a_version_is_an_earlier_one():
    with pytest.raises(nearkin.NearkinError, match=REASON.format("an earlier nearkin")):
        RCA().__setstate__({"components_": None})


def test_pairs_are_found_where_they_were():
    assert pickle.loads(b"cnearkin.pairs\nPairs\n.") is Pairs
    with pytest.raises(AttributeError, match="nonsense"):
        _ = nearkin.pairs.nonsense
