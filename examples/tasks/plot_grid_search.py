"""
A pipeline, tuned and saved
===========================

Which learner, with which parameters, before a classifier?

A learner is a step of a scikit-learn pipeline like any other: here between a scaler and nearest
neighbours that tell wines apart. A grid search tries parameters, and other learners too. Where
pairs are known and no labels, :func:`nearkin.grid_search` does the same by pairs that it holds out.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import nearkin as nk

X, y = load_wine(return_X_y=True, as_frame=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
pipeline = Pipeline(
    [
        ("scale", StandardScaler()),
        ("metric", nk.Euclidean()),
        ("classify", KNeighborsClassifier(3, algorithm="brute")),
    ]
)
GRID = [
    {"metric": [nk.Euclidean()]},
    {"metric": [nk.ITML(random_state=0)], "metric__slack": [0.1, 0.5, 2.0]},
    {"metric": [nk.KernelBeta(random_state=0)], "metric__prior_pairs": [2, 20]},
]
search = GridSearchCV(pipeline, GRID, cv=5).fit(X, y)
print(f"new wines that are told right: {search.score(X_new, y_new):.0%}")

# %%
# The same grid by a hundred pairs, as if nobody knew the growers' names. Pairs follow their rows
# through every split.

pairs = nk.Pairs.from_labels(y, 100, random_state=0)
by_pairs = nk.grid_search(pipeline[:-1], GRID, X, pairs=pairs, cv=nk.PairKFold(5))

# %%


def in_words(parameters):
    """The learner of a candidate, with what was set of it."""
    given = [f"{key.partition('__')[2]}={value}" for key, value in parameters.items()][1:]
    return f"{type(parameters['metric']).__name__}({', '.join(given)})"


names = [in_words(parameters) for parameters in search.cv_results_["params"]]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained", sharey=True)
for ax, found, label in (
    (axes[0], search, "wines told right, in five folds"),
    (axes[1], by_pairs, "pair AUC on pairs held out"),
):
    mean, spread = (found.cv_results_[f"{part}_test_score"] for part in ("mean", "std"))
    ax.errorbar(mean, np.arange(len(names)), xerr=spread, fmt="o", capsize=3)
    ax.set_xlabel(label)
axes[0].set_yticks(np.arange(len(names)), names)

# %%
# A learner alone is kept by ``metric.save``. A pipeline that ends in a learner becomes a
# :class:`nearkin.Chain`, which can be saved, too, and loaded without running any code.

chain = nk.Chain.from_pipeline(by_pairs.best_estimator_)
with TemporaryDirectory() as folder:
    chain.save(Path(folder, "wine.nearkin"))
    again = nk.load(Path(folder, "wine.nearkin"))
assert np.array_equal(again.transform(X_new), chain.transform(X_new))

# %%
# A pipeline with other steps, such as the classifier, is kept by skops. Its files hold no code but
# name classes: look at these before you load a file from elsewhere.

import skops.io

with TemporaryDirectory() as folder:
    path = Path(folder, "pipeline.skops")
    skops.io.dump(search.best_estimator_, path)
    named = skops.io.get_untrusted_types(file=path)
    print("to be trusted:", *named, sep="\n  ")
    assert all(name.startswith("nearkin.") for name in named)
    loaded = skops.io.load(path, trusted=named)
assert np.array_equal(loaded.predict(X_new), search.predict(X_new))
