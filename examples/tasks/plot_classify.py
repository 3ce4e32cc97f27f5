"""
Few labels: classify under a learned metric
===========================================

With five labelled rows of each class, does a learned metric help a classifier?

Labels are pairs, too: rows of one class are alike. :class:`nearkin.EnergyClassifier` then takes the
class whose rows are near while those of others stay away.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

import nearkin as nk

X, y = load_digits(return_X_y=True)
X = PCA(30, random_state=0).fit_transform(X)
X_new, y_new = X[1000:], y[1000:]
PER_CLASS = [3, 5, 10, 20]


def labelled(n, seed):
    """Rows of which the class is known, n of each."""
    rng = np.random.default_rng(seed)
    rows = [rng.choice(np.flatnonzero(y[:1000] == digit), n, replace=False) for digit in range(10)]
    return np.concatenate(rows)


def scores(classifier):
    """Accuracy on new rows, for each number of labels and three draws of them."""
    return np.array(
        [
            [
                classifier.fit(X[rows], y[rows]).score(X_new, y_new)
                for rows in (labelled(n, seed) for seed in range(3))
            ]
            for n in PER_CLASS
        ]
    )


# %%

found = {
    "energy, learned metric": scores(nk.EnergyClassifier(nk.ITML(kernel="rbf", random_state=0))),
    "energy, Euclidean": scores(nk.EnergyClassifier(random_state=0)),
    "three neighbours, Euclidean": scores(KNeighborsClassifier(3)),
}
ax = nk.plot.course(
    PER_CLASS, found, x="labelled rows of each class", y="right, of new rows", log=True
)
