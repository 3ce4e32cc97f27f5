"""
Metrics made of metrics
=======================

Can a learner start from what another has learned?

A learned metric is an embedding, so that the next learner can take it as its data.
:class:`nearkin.Chain` learns one after the other, and :class:`nearkin.Blend` side by side.
"""

import numpy as np

import nearkin as nk

rng = np.random.default_rng(0)
X, y = nk.datasets.make_xor(400, random_state=0)
X = np.hstack([X, rng.normal(scale=0.7, size=(400, 6))])  # six columns of noise
pairs = nk.Pairs.from_labels(y[:200], 100, random_state=0)

LEARNERS = {
    "KernelBeta": nk.KernelBeta(random_state=0),
    "weights, then kernel": nk.Chain([nk.LLMA(random_state=0), nk.KernelBeta(random_state=0)]),
    "a blend of both": nk.Blend([nk.KernelBeta(random_state=0), nk.LLMA(random_state=0)]),
}

# %%
# XOR with six columns of noise beside it. New rows, as they are and as each metric sees them:

new = slice(200, None)
spaces = {"as measured": X[new, :2]}
for name, learner in LEARNERS.items():
    spaces[name] = learner.fit(X[:200], pairs=pairs).transform(X[new])
axes = nk.plot.side_by_side(spaces, y[new])
