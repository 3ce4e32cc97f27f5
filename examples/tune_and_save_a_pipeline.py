"""Choose a learner's parameters by cross-validation, and keep the whole pipeline in a file.

A learner is a step of a scikit-learn pipeline like any other: here between a scaler and a
classifier of wines by their nearest neighbours. A grid search tries the learner's parameters, and
another learner, and nobody has to know what they mean. Where pairs are known instead of labels,
``nearkin.grid_search`` does the same by pairs that it holds out.

``metric.save`` keeps a learner alone. A pipeline with a classifier is kept by skops
(``pip install skops``), whose files hold no code but name classes: look at them before you load a
file from elsewhere. Without skops the pipeline is not saved. Run it to get ``grid.png`` and
``pipeline.skops``.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from nearkin import ITML, Euclidean, KernelBeta, PairKFold, Pairs, grid_search

mpl.use("Agg")
import matplotlib.pyplot as plt

GRID = [
    {"metric": [Euclidean()]},
    {"metric": [ITML(random_state=0)], "metric__slack": [0.1, 0.5, 2.0]},
    {
        "metric": [KernelBeta(random_state=0)],
        "metric__gamma": ["mean", 0.1],
        "metric__prior_pairs": [2, 20],
    },
]


def in_words(parameters: dict[str, Any]) -> str:
    """The learner of a candidate with what was set of it."""
    settings = {name.partition("__")[2]: value for name, value in parameters.items()}
    given = ", ".join(f"{name}={value}" for name, value in settings.items() if name)
    return f"{type(parameters['metric']).__name__}({given})"


def draw(results: dict[str, Any]) -> None:
    """Mean score of each candidate, with the spread over folds."""
    names = [in_words(parameters) for parameters in results["params"]]
    figure, ax = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
    mean, spread = results["mean_test_score"], results["std_test_score"]
    ax.errorbar(mean, np.arange(len(names)), xerr=spread, fmt="o")
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_xlabel("share of wines that are told right, in five folds")
    figure.savefig("grid.png", dpi=90)
    print("picture:", Path("grid.png").resolve())


def keep(pipeline: Pipeline, path: str) -> Pipeline:
    """Save a pipeline with skops, and load it again as somebody else would."""
    import skops.io

    skops.io.dump(pipeline, path)
    # Most of scikit-learn's classes are known to skops. nearkin's are not: whoever trusts nearkin
    # may trust them. About all others, ask where the file is from.
    named = skops.io.get_untrusted_types(file=path)
    print("classes to be trusted:", *named, sep="\n  ")
    strange = [name for name in named if not name.startswith("nearkin.")]
    if strange:
        raise ValueError(f"{path} is not loaded, since it names {strange}")
    return skops.io.load(path, trusted=named)


def main() -> None:
    """Search, look at the result, and save it."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    pipeline = Pipeline(
        [
            ("scale", StandardScaler()),
            ("metric", Euclidean()),
            ("classify", KNeighborsClassifier(3, algorithm="brute")),
        ]
    )
    search = GridSearchCV(pipeline, GRID, cv=5).fit(X, y)
    print(f"best of {len(search.cv_results_['params'])}: {in_words(search.best_params_)}")
    print(f"share of new wines that are told right: {search.score(X_new, y_new):.1%}")
    draw(search.cv_results_)

    pairs = Pairs.from_labels(y, n_pairs=100, random_state=0)  # as if somebody had been asked
    by_pairs = grid_search(pipeline[:-1], GRID, X, pairs=pairs, cv=PairKFold(5))
    print(f"best by {len(pairs)} pairs: {in_words(by_pairs.best_params_)}")
    print(f"pair AUC on pairs held out: {by_pairs.best_score_:.3f}")

    best = search.best_estimator_
    if find_spec("skops") is None:
        print("skops is not installed: the pipeline is not saved")
        return
    loaded = keep(best, "pipeline.skops")
    assert np.array_equal(loaded.predict(X_new), best.predict(X_new))
    print("saved:", Path("pipeline.skops").resolve())


if __name__ == "__main__":
    main()
