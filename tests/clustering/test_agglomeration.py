"""Groups that grow by joining."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin import Pairs
from nearkin.clustering.constraints import blocks_of
from nearkin.clustering.partitions import joined_tree
from tests.cases import each


def problem(seed, n=14, n_pairs=5):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 2))
    dense = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    y = rng.integers(3, size=n)
    pairs = Pairs.from_labels(y, n_pairs, random_state=seed) if n_pairs else Pairs()
    return Z, dense + dense.T, pairs


def known_least(affinities):
    known = affinities[affinities > 0]
    return known.min() if len(known) else 0.0


def slow_linkage(affinity, blocks, likeness):
    """All groups compared with all, after every join."""
    groups = [set(np.flatnonzero(blocks.of == b)) for b in range(blocks.count)]
    apart = blocks.apart.toarray() > 0
    owners = [{b} for b in range(blocks.count)]
    while True:
        best = (0.0, None)
        for i in range(len(groups)):
            for j in range(i):
                if apart[np.ix_(list(owners[i]), list(owners[j]))].any():
                    continue
                alike = likeness(affinity[np.ix_(list(groups[i]), list(groups[j]))])
                if alike > best[0]:
                    best = (alike, (j, i))
        if best[1] is None:
            return groups
        j, i = best[1]
        groups[j] |= groups.pop(i)
        owners[j] |= owners.pop(i)


@each(("linkage", "likeness"), [("average", np.mean), ("complete", known_least)])
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), n_pairs=st.sampled_from([0, 5, 12]))
def test_as_slow_linkage(linkage, likeness, seed, n_pairs):
    Z, affinity, pairs = problem(seed, n_pairs=n_pairs)
    blocks = blocks_of(pairs, len(Z))
    tree = joined_tree(Z, sp.csr_array(affinity), blocks, linkage)
    by_graph = int(np.isfinite(tree.alike).sum())
    labels = tree.cut(blocks.count - by_graph)
    found = {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}
    assert found == {
        frozenset(int(i) for i in one) for one in slow_linkage(affinity, blocks, likeness)
    }


@given(st.integers(0, 10**6), st.integers(1, 14))
def test_every_cut_keeps_pairs(seed, n_groups):
    Z, affinity, pairs = problem(seed)
    tree = joined_tree(Z, sp.csr_array(affinity), blocks_of(pairs, len(Z)))
    labels = tree.cut_near(n_groups)
    assert (labels[pairs.must_link[:, 0]] == labels[pairs.must_link[:, 1]]).all()
    assert (labels[pairs.cannot_link[:, 0]] != labels[pairs.cannot_link[:, 1]]).all()
    wanted = min(max(n_groups, tree.fewest), tree.blocks.count)
    assert len(np.unique(labels)) == wanted
