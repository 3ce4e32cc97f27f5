"""Thirty real data sets as the benchmark takes them, half to tune on and half to report on."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from benchmarks.data import load, standardized
from nearkin import Pairs

# Columns with units of their own, which are standardised.
MEASURED = (
    "iris",
    "wine",
    "soybean_small",
    "protein",
    "ionosphere",
    "boston_housing",
    "breast_cancer_wdbc",
    "breast_cancer",
    "balance_scale",
    "heart",
    "vehicle",
    "image_segmentation",
    "german",
    "letters",
    "isolet",
    "magic",
    "twonorm",
    "bupa",
    "contraceptive",
    "australian",
    "monk2",
    "marketing",
)
# Pixels, all in one unit.
IMAGES = ("digits", "optdigits", "usps", "mnist", "coil20", "yaleb")
# Word counts, as unit vectors of TF-IDF.
TEXTS = ("news_baseball_hockey_counts", "news_pc_mac_counts")
DATA = (*MEASURED, *IMAGES, *TEXTS)
# Six classes or more, so that half of them can be unseen.
MANY_CLASSES = (
    "protein",
    "image_segmentation",
    "letters",
    "isolet",
    "marketing",
    *IMAGES,
)


def _tossed() -> tuple[str, ...]:
    """Sets that settings are chosen on. A coin decided, once: half of either kind."""
    rng = np.random.RandomState(0)
    kinds = [MANY_CLASSES, tuple(name for name in DATA if name not in MANY_CLASSES)]
    chosen = {str(name) for kind in kinds for name in rng.permutation(kind)[: len(kind) // 2]}
    # The digits are a part of optdigits: neither is reported.
    return tuple(name for name in DATA if name in chosen | {"digits", "optdigits"})


TUNED_ON = _tossed()
REPORTED = tuple(name for name in DATA if name not in TUNED_ON)
# Rows of a draw at most, and the share of them that no pair names.
MOST_ROWS = 1000
TEST_SHARE = 0.4
MOST_COLUMNS = 100


class Draw(NamedTuple):
    """Rows to learn from, with pairs of them, and rows to judge by."""

    X: np.ndarray
    y: np.ndarray
    pairs: Pairs
    wrong: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def draw(
    name: str,
    n_pairs: int,
    share_wrong: float,
    seed: int,
    *,
    unseen_classes: bool = False,
    only_must: bool = False,
    at_random: bool = False,
) -> Draw:
    """A random part of a data set, and pairs of which some are wrong.

    Rows of more than 100 columns are reduced to the 100 principal axes of those learned from.

    Parameters
    ----------
    name : str
    n_pairs : int
    share_wrong : float
    seed : int
    unseen_classes : bool, default=False
        Whether rows to judge by are of other classes than rows to learn from, half and half.
    only_must : bool, default=False
    at_random : bool, default=False
        Whether pairs are any two rows, most of which differ; otherwise half of them do.
    """
    X, y = load_rows(name)
    rng = np.random.RandomState(seed)
    some = rng.permutation(len(y))[:MOST_ROWS]
    if unseen_classes:
        classes = rng.permutation(np.unique(y))
        seen = np.isin(y[some], classes[: len(classes) // 2])
        train, test = some[seen], some[~seen]
    else:
        train, test = train_test_split(
            some,
            test_size=TEST_SHARE,
            random_state=seed,
            stratify=y[some] if len(y) < 100 else None,
        )
    X_train, X_test = X[train], X[test]
    if X.shape[1] > MOST_COLUMNS:
        axes = PCA(min(MOST_COLUMNS, len(train)), random_state=seed).fit(X_train)
        X_train, X_test = axes.transform(X_train), axes.transform(X_test)
    pairs, wrong = pairs_with_mistakes(y[train], n_pairs, share_wrong, seed)
    if at_random:
        pairs = random_pairs(y[train], n_pairs, seed)
        wrong = np.zeros(len(pairs), dtype=bool)
    if only_must:
        pairs = Pairs.from_labels(y[train], n_pairs, kind="must", random_state=seed)
        wrong = np.zeros(len(pairs), dtype=bool)
    return Draw(X_train, y[train], pairs, wrong, X_test, y[test])


def random_pairs(y: np.ndarray, n_pairs: int, seed: int) -> Pairs:
    """What is said of pairs of any two rows."""
    links = np.column_stack(np.triu_indices(len(y), 1))
    chosen = np.random.RandomState(seed).choice(len(links), min(n_pairs, len(links)), replace=False)
    same = y[links[chosen, 0]] == y[links[chosen, 1]]
    return Pairs(links[chosen][same], links[chosen][~same], n_rows=len(y))


def pairs_with_mistakes(
    y: np.ndarray, n_pairs: int, share_wrong: float, seed: int
) -> tuple[Pairs, np.ndarray]:
    """Half must-links, half cannot-links, some with the wrong answer; and which these are."""
    most = len(y) * (len(y) - 1) // 2
    right = Pairs.from_labels(y, min(n_pairs, most), random_state=seed)
    links = np.concatenate([right.must_link, right.cannot_link])
    flipped = np.zeros(len(links), dtype=bool)
    rng = np.random.RandomState(1000 + seed)
    flipped[rng.permutation(len(links))[: round(share_wrong * len(links))]] = True
    same = (np.arange(len(links)) < len(right.must_link)) ^ flipped
    pairs = Pairs(links[same], links[~same], n_rows=len(y))
    wrong_links = set(map(tuple, links[flipped].tolist()))
    given = np.concatenate([pairs.must_link, pairs.cannot_link]).tolist()
    return pairs, np.array([tuple(link) in wrong_links for link in given], dtype=bool)


@cache
def load_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a set, divided or weighted as the benchmark takes them, and class numbers."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X / 16, y
    X, y = load(name)
    if name in TEXTS:
        weighted = normalize(TfidfTransformer(sublinear_tf=True).fit_transform(X))
        # The leading axes of sparse rows, of which draws take theirs.
        return TruncatedSVD(300, random_state=0).fit_transform(weighted), y
    return (standardized(X) if name in MEASURED else X / np.abs(X).max()), y
