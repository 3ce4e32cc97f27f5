"""Regions of three classes: by a vote of neighbours, and by energy, under the same distance."""

from _shared import panels, regions
from sklearn.neighbors import KNeighborsClassifier

import nearkin as nk

X, y = nk.datasets.make_three_normal(90, random_state=2)
X_new, y_new = nk.datasets.make_three_normal(600, random_state=3)
axes = panels(2, 4.2, 3.4)
for ax, name, classifier in (
    (axes[0], "vote of 3 neighbours", KNeighborsClassifier(3)),
    (axes[1], "energy", nk.EnergyClassifier(random_state=0)),
):
    classifier.fit(X, y)
    wrong = 1 - classifier.score(X_new, y_new)
    regions(ax, classifier, X, y, f"{name}: {wrong:.0%} of new rows wrong")
