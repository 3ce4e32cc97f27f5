"""
What do ten more answers gain?
==============================

Is it worth going on?

:func:`nearkin.outlook` learns from halves of the answers that there are, and says what ten more
would gain. It is a rough guide, and it costs a fraction of a second.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import nearkin as nk

X, y = load_digits(return_X_y=True)
X = PCA(20, random_state=0).fit_transform(X)
X, y, X_new, y_new = X[:800], y[:800], X[800:1300], y[800:1300]

# %%
# Answers to random pairs of digits, from ten to four hundred:

N_ANSWERS = [10, 25, 50, 100, 200, 400]
found, scores = [], []
for n in N_ANSWERS:
    pairs = nk.Pairs.from_labels(y, n, random_state=0)
    found.append(nk.outlook(X, pairs))
    scores.append(nk.ITML(kernel="rbf", random_state=0).fit(X, pairs=pairs).score(X_new, y_new))
    print(f"{n:4d} answers: {found[-1].gain}")

# %%
# The next ten always gain less than the last, and hundreds of them still add up, to whoever has the
# time. Beside it, what a metric reaches on new rows:

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
nk.plot.course(N_ANSWERS, {"on new rows": scores}, x="answers", log=True, ax=axes[0])
gains = {n: one.gain for n, one in zip(N_ANSWERS, found, strict=True) if one.gain is not None}
nk.plot.estimates(
    {f"after {n}": gain for n, gain in gains.items()}, x="gain by ten more", ax=axes[1]
)

# %%
# The last one in full:

print(found[-1])
