"""
Learned kernel matrices
=======================

What does a learned metric look like from the side of kernels?

Every metric here is a kernel, too: inner products of learned rows. With rows of one class beside
each other, a kernel that knows the classes has bright squares along its diagonal.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import nearkin as nk

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)

# %%
# The kernel before learning, and what 10, 40 and 160 pairs make of it:

figure, axes = plt.subplots(1, 4, figsize=(12, 3.3), layout="constrained")
nk.plot.kernel_matrix(X @ X.T, y, ax=axes[0], title="inner products of rows")
for ax, n_pairs in zip(axes[1:], (10, 40, 160), strict=True):
    pairs = nk.Pairs.from_labels(y, n_pairs, random_state=0)
    metric = nk.KernelBeta(random_state=0).fit(X, pairs=pairs)
    nk.plot.kernel_matrix(metric.kernel_matrix(X), y, ax=ax, title=f"{n_pairs} pairs")

# %%
# ``KernelBeta`` gets there by weights of the kernel's directions. Few of them carry what the pairs
# say:

ax = nk.plot.spectrum(metric)
ax.set_xlim(0, 40)

# %%
# A learned kernel serves any method that takes one:

from sklearn.svm import SVC

train, test = slice(None, None, 2), slice(1, None, 2)
pairs = nk.Pairs.from_labels(y[train], 40, random_state=0)
metric = nk.KernelBeta(random_state=0).fit(X[train], pairs=pairs)
machine = SVC(kernel=metric.kernel_matrix).fit(X[train], y[train])
print(f"a support vector machine on it: {machine.score(X[test], y[test]):.0%} right")
