"""What people use instead of a metric: classifiers of pairs, and two models of similarity.

Each has ``fit(X, pairs=…)`` and ``log_odds(A, B)``: how much rather rows are the same than not, as
if both were equally frequent.
"""

from __future__ import annotations

import os
from subprocess import run
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, clone
from sklearn.covariance import ledoit_wolf
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.few_pairs import peers
from nearkin import Pairs
from nearkin.scores.held_out import Suspect

Rows = np.ndarray
N_TREES = 300
PEERS = "NEARKIN_PEERS"
# A class that was never seen in some leaf or fold is not impossible.
_LEAST = 1e-4
_FOLDS = 3


def differences(A: Rows, B: Rows) -> Rows:
    return np.abs(A - B)


def linked(X: Rows, pairs: Pairs) -> tuple[Rows, Rows, np.ndarray]:
    """Rows of both ends of pairs, and which pairs are must-links."""
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    return X[links[:, 0]], X[links[:, 1]], np.arange(len(links)) < len(pairs.must_link)


def both_kinds(X: Rows, pairs: Pairs) -> tuple[Rows, Rows, np.ndarray]:
    """The same, of which there must be both kinds."""
    A, B, same = linked(X, pairs)
    if same.all() or not same.any():
        raise ValueError("a classifier needs pairs of both kinds")
    return A, B, same


class PairClassifier(BaseEstimator):
    """A classifier of features of two rows."""

    def __init__(self, classifier: Any, features: Any) -> None:
        self.classifier = classifier
        self.features = features

    def fit(self, X: Rows, y: Any = None, *, pairs: Pairs) -> PairClassifier:
        A, B, same = both_kinds(X, pairs)
        self.classifier_ = clone(self.classifier).fit(self.features(A, B), same)
        self.level_ = logit(same.mean())
        return self

    def log_odds(self, A: Rows, B: Rows) -> np.ndarray:
        chance = self.classifier_.predict_proba(self.features(A, B))[:, 1]
        return np.asarray(logit(np.clip(chance, _LEAST, 1 - _LEAST)) - self.level_)


class SupportVectors(BaseEstimator):
    """A support vector machine on |x − y|, with odds by its values on pairs left out (Platt)."""

    def fit(self, X: Rows, y: Any = None, *, pairs: Pairs) -> SupportVectors:
        A, B, same = linked(X, pairs)
        if min(same.sum(), (~same).sum()) < _FOLDS:
            raise ValueError(f"support vectors need {_FOLDS} pairs of either kind")
        machine = make_pipeline(StandardScaler(), SVC())
        features = differences(A, B)
        left_out = cross_val_predict(machine, features, same, cv=_FOLDS, method="decision_function")
        curve = LogisticRegression(class_weight="balanced").fit(left_out[:, None], same)
        # With few pairs values may seem to say the opposite of what they were made to say.
        self.slope_, self.level_ = max(curve.coef_[0, 0], _LEAST), curve.intercept_[0]
        self.machine_ = machine.fit(features, same)
        return self

    def log_odds(self, A: Rows, B: Rows) -> np.ndarray:
        values = self.machine_.decision_function(differences(A, B))
        return np.asarray(self.level_ + self.slope_ * values)


class CosineMatrix(BaseEstimator):
    """A matrix in front of cosine similarity, by gradients of the logistic loss of pairs.

    From the identity, with a pull back to it, as people adapt embeddings that they were given.
    """

    def __init__(self, pull: float = 0.1) -> None:
        self.pull = pull

    def fit(self, X: Rows, y: Any = None, *, pairs: Pairs) -> CosineMatrix:
        A, B, same = both_kinds(X, pairs)
        sign = np.where(same, 1.0, -1.0)
        weight = np.where(same, 0.5 / same.mean(), 0.5 / (1 - same.mean()))
        d = X.shape[1]

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            W, (level, slope) = flat[:-2].reshape(d, d), flat[-2:]
            U, V = A @ W.T, B @ W.T
            u, v = (np.linalg.norm(part, axis=1, keepdims=True) + 1e-12 for part in (U, V))
            U, V = U / u, V / v
            cosine = (U * V).sum(axis=1)
            margin = sign * (level + slope * cosine)
            pulled = W - np.eye(d)
            value = weight @ np.logaddexp(0, -margin) / len(sign)
            value += self.pull * (pulled**2).sum() / d + 1e-3 * slope**2
            by_margin = -weight * sign * expit(-margin) / len(sign)
            by_cosine = (by_margin * slope)[:, None]
            of_U = by_cosine * (V - cosine[:, None] * U) / u
            of_V = by_cosine * (U - cosine[:, None] * V) / v
            by_W = of_U.T @ A + of_V.T @ B + 2 * self.pull * pulled / d
            rest = [by_margin.sum(), by_margin @ cosine + 2e-3 * slope]
            return float(value), np.concatenate([by_W.ravel(), rest])

        start = np.concatenate([np.eye(d).ravel(), [0.0, 4.0]])
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
        self.matrix_, (self.level_, self.slope_) = found[:-2].reshape(d, d), found[-2:]
        return self

    def log_odds(self, A: Rows, B: Rows) -> np.ndarray:
        U, V = (part @ self.matrix_.T for part in (A, B))
        lengths = np.linalg.norm(U, axis=1) * np.linalg.norm(V, axis=1)
        return np.asarray(self.level_ + self.slope_ * (U * V).sum(axis=1) / (lengths + 1e-12))


class PLDA(BaseEstimator):
    """Two covariances, within and between classes: probabilistic linear discriminant analysis.

    Within by differences of must-links, shrunk; both together by all rows.
    """

    def fit(self, X: Rows, y: Any = None, *, pairs: Pairs) -> PLDA:
        if not len(pairs.must_link):
            raise ValueError("PLDA needs must-links")
        self.mean_ = X.mean(axis=0)
        total = np.cov(X.T) + 1e-6 * np.eye(X.shape[1]) * X.var()
        differences = X[pairs.must_link[:, 0]] - X[pairs.must_link[:, 1]]
        within, _ = ledoit_wolf(np.vstack([differences, -differences]) / np.sqrt(2))
        # Few must-links say little of many columns: with them, as many imagined ones like all rows.
        n, d = len(differences), X.shape[1]
        within = (n * within + d * 0.5 * total) / (n + d)
        values, vectors = eigh(within, total)  # between = total − within must not be negative
        back = total @ vectors
        self.total_ = total
        self.between_ = (back * np.clip(1 - values, 0, None)) @ back.T
        return self

    def log_odds(self, A: Rows, B: Rows) -> np.ndarray:
        total, between = self.total_, self.between_
        same = np.block([[total, between], [between, total]])
        same += 1e-9 * np.trace(total) / len(total) * np.eye(len(same))
        both = np.hstack([A - self.mean_, B - self.mean_])
        apart = cho_factor(total)
        joint = cho_factor(same)

        def squared(rows: Rows, factor: Any) -> np.ndarray:
            return (rows * cho_solve(factor, rows.T).T).sum(axis=1)

        half_determinants = np.log(np.diag(joint[0])).sum() - 2 * np.log(np.diag(apart[0])).sum()
        d = len(total)
        lone = squared(both[:, :d], apart) + squared(both[:, d:], apart)
        return np.asarray(0.5 * (lone - squared(both, joint)) - half_determinants)


def by_peer(name: str, **told: Any) -> np.ndarray:
    """What a package says that runs in an environment of its own."""
    with TemporaryDirectory() as folder:
        given, said = f"{folder}/told.npz", f"{folder}/said.npy"
        np.savez(given, **told)
        command = [os.environ[PEERS], peers.__file__, name, given, said]
        done = run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(f"{name}: {done.stderr.strip().splitlines()[-1]}")
        return np.asarray(np.load(said))


def listed_by_cleanlab(chances: list[Suspect]) -> list[Suspect]:
    """Those that cleanlab thinks wrong by the probabilities of all."""
    if not chances:
        return []
    same = np.array([one.same for one in chances])
    opposite = np.array([one.chance_opposite for one in chances])
    wrong = by_peer("cleanlab", same=same, chance=np.where(same, 1 - opposite, opposite))
    return [one for one, bad in zip(chances, wrong, strict=True) if bad]


class Peer(BaseEstimator):
    """A package that runs in an environment of its own: :mod:`benchmarks.few_pairs.peers`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fit(self, X: Rows, y: Any = None, *, pairs: Pairs) -> Peer:
        self.told_ = both_kinds(X, pairs)
        return self

    def log_odds(self, A: Rows, B: Rows) -> np.ndarray:
        A0, B0, same = self.told_
        return by_peer(self.name, A=A0, B=B0, same=same, judged_A=A, judged_B=B)


def rivals(seed: int) -> dict[str, Any]:
    """By name; those of other packages if the variable NEARKIN_PEERS says where these are."""
    trees: dict[str, Any] = {"n_estimators": N_TREES, "random_state": seed, "n_jobs": 1}
    found = {
        "logistic regression of |x − y|": PairClassifier(
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), differences
        ),
        "support vectors of |x − y|": SupportVectors(),
        "random forest of pairs": PairClassifier(RandomForestClassifier(**trees), peers.everything),
        "extra trees of pairs": PairClassifier(ExtraTreesClassifier(**trees), peers.everything),
        "matrix for cosine": CosineMatrix(),
        "log-odds of PLDA": PLDA(),
    }
    if PEERS in os.environ:
        found |= {name: Peer(name) for name in peers.NAMES}
    return found
