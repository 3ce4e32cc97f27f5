"""How good a method is on rows that no pair names."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, log_loss, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.few_pairs.data import Draw
from nearkin.rows.distances import linked_distances
from nearkin.scores import balanced_rand
from nearkin.scores.held_out import Suspect

# Random pairs of rows that are judged.
N_JUDGED = 10_000
# No method may be certain: one mistake would cost more than all else together.
_LEAST = 1e-6
# Of all methods, and of metrics only.
OF_PAIRS = {
    "auc": "Pair AUC",
    "f1": "F1 of the likeliest pairs, as many as are the same",
    "log_loss": "Log-loss at the true prevalence",
}
OF_ROWS = {
    "ari": "Adjusted Rand index of k-means",
    "rand": "Balanced Rand index of k-means",
    "knn": "Accuracy of 5 nearest neighbours with the classes of points in pairs",
}


def judged_links(part: Draw, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs of rows to judge by, the same for every method, and which are the same."""
    n = len(part.y_test)
    links = np.column_stack(np.triu_indices(n, 1))
    if len(links) > N_JUDGED:
        chosen = np.random.RandomState(seed).choice(len(links), N_JUDGED, replace=False)
        links = links[np.sort(chosen)]
    return links, part.y_test[links[:, 0]] == part.y_test[links[:, 1]]


def judged(method: Any, part: Draw, seed: int) -> dict[str, float]:
    """All measures of a fitted method."""
    links, same = judged_links(part, seed)
    found = {}
    if hasattr(method, "log_odds"):
        odds = method.log_odds(*(part.X_test[ends] for ends in links.T))
        order = odds
    else:
        Z = method.transform(part.X_test)
        order = -linked_distances(Z, links)
        found |= of_rows(method, Z, part, seed)
        odds = _log_odds(method, part, links)
    found |= {"auc": roc_auc_score(same, order), "f1": f1_of_likeliest(order, same)}
    if odds is not None:
        chance = expit(odds + logit(same.mean()))
        found["log_loss"] = log_loss(same, np.clip(chance, _LEAST, 1 - _LEAST))
    return {name: round(float(value), 4) for name, value in found.items()}


def _log_odds(metric: Any, part: Draw, links: np.ndarray) -> np.ndarray | None:
    """As if same and different were equally frequent; None of what has no verdicts."""
    if not hasattr(metric, "chance_same"):
        return None
    chance = metric.chance_same(*(part.X_test[ends] for ends in links.T), prevalence=0.5)
    return np.asarray(logit(np.clip(chance, _LEAST, 1 - _LEAST)))


def f1_of_likeliest(order: np.ndarray, same: np.ndarray) -> float:
    """Precision, and as well recall, of calling as many pairs the same as are so."""
    n_same = int(same.sum())
    called = np.argsort(-order, kind="stable")[:n_same]
    return float(same[called].mean()) if n_same else 0.0


def of_rows(metric: Any, Z_test: np.ndarray, part: Draw, seed: int) -> dict[str, float]:
    """Clusters and neighbours in the embedding."""
    n_classes = len(np.unique(part.y_test))
    clusters = KMeans(n_classes, n_init=1, random_state=seed).fit_predict(Z_test)
    found = {
        "ari": adjusted_rand_score(part.y_test, clusters),
        "rand": balanced_rand(part.y_test, clusters),
    }
    if np.isin(part.y_test, part.y).all():
        # Someone names the class of each group of rows that must-links tie together.
        points, group = part.pairs.points, part.pairs.components()
        named = np.array([Counter(part.y[points[group == g]]).most_common(1)[0][0] for g in group])
        Z = metric.transform(part.X[points])
        neighbors = KNeighborsClassifier(min(5, len(points))).fit(Z, named)
        found["knn"] = neighbors.score(Z_test, part.y_test)
    return found


def found_mistakes(suspects: list[Suspect], part: Draw) -> dict[str, int]:
    """How many pairs are listed as suspects, how many are wrong, and how many are both."""
    links = np.concatenate([part.pairs.must_link, part.pairs.cannot_link]).tolist()
    wrong = {tuple(link) for link, bad in zip(links, part.wrong, strict=True) if bad}
    listed = {suspect.pair for suspect in suspects}
    return {"listed": len(listed), "wrong": len(wrong), "both": len(listed & wrong)}
