"""
A medical table: are these two of one kind?
===========================================

How far can a distance between patients be believed, and where is it wrong?

Each row has thirty measurements of the cells of a tumour. Pairs say whether two of them are of one
kind, benign or malignant. The question is not only whether two new rows are the same, but how sure
that is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import nearkin as nk

data = load_breast_cancer(as_frame=True)
kind = data.target_names[data.target]
X, X_new, y, y_new = train_test_split(data.data, kind, train_size=200, random_state=0)
pairs = nk.Pairs.from_labels(y, 60, random_state=0)
metric = nk.MetricLearner(random_state=0).fit(X, pairs=pairs)
axes = nk.plot.side_by_side({"as measured": X_new, "learned": metric.transform(X_new)}, y_new)

# %%
# Distances of new pairs, and the threshold that the metric has from the sixty pairs it knew:

judged = nk.Pairs.from_labels(y_new, 600, random_state=1)
same, different = (
    metric.pair_distance(X_new.iloc[links[:, 0]], X_new.iloc[links[:, 1]])
    for links in (judged.must_link, judged.cannot_link)
)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
nk.plot.distances(same, different, threshold=metric.threshold_, ax=axes[0])
quality = metric.quality(X_new, pairs=judged)
figures = {name: getattr(quality, name) for name in ("auc", "precision", "recall", "f1")}
nk.plot.estimates(figures, x="on pairs of new rows", ax=axes[1])
print(f"at the threshold, {np.mean(same <= metric.threshold_):.0%} of the same are found")
