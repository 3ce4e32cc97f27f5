"""Groups as a test wants them, in place of those that are found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearkin.pairs.pairs import Pairs


class Said(NamedTuple):
    summary: str
    reason: str


class GivenClusters:
    """Stands for :class:`nearkin.Clusters`; ``labels`` are the groups, and ``fits`` its pairs."""

    labels: np.ndarray
    fits: list

    def __init__(self, *, metric, keep, strength, random_state):
        assert metric.estimator is not None
        self.keep = keep

    def fit(self, X, *, pairs):
        self.fits.append((self.keep, pairs))
        labels = np.asarray(self.labels)
        assert len(labels) == len(X)
        self.labels_ = labels
        self.medoids_ = np.array([np.flatnonzero(labels == k)[-1] for k in range(labels.max() + 1)])
        self.report_ = Said("as they were given", "A test wants them.")
        self.broken_ = Pairs(pairs.must_link[:1]) if self.keep == "soft" else Pairs()
        return self


def given_clusters(monkeypatch, labels):
    """Have these groups found from now on; change ``labels`` of what this returns for others."""

    class Given(GivenClusters):
        """One for each test."""

    Given.labels, Given.fits = np.array(labels), []
    monkeypatch.setattr("nearkin.studio.groups.Clusters", Given)
    return Given
