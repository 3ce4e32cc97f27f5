"""PLDA on eight classes that differ in three of twelve columns, beside RCA."""

import numpy as np
from _shared import before_and_after

import nearkin as nk

rng = np.random.default_rng(0)
y = np.arange(320) % 8
X = rng.normal(size=(320, 12)) * np.r_[np.ones(3), np.full(9, 2.5)]
X[:, :3] += 3 * rng.normal(size=(8, 3))[y]
pairs = nk.Pairs.from_labels(y, 80, kind="must", random_state=0)
learners = {"RCA": nk.RCA(random_state=0), "PLDA": nk.PLDA(random_state=0)}
before_and_after(X, y, pairs, learners)
