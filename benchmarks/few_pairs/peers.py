"""Packages that need an environment of their own, run there by another Python.

``python peers.py NAME told.npz odds.npy`` imports nothing of this project. The environment variable
``NEARKIN_PEERS`` names the interpreter: one with metric-learn 0.7, scikit-learn 1.7.2, xrfm,
lightgbm and cleanlab.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

NAMES = ("LightGBM of pairs", "xRFM of pairs", "ITML of metric-learn")
_LEAST = 1e-4


def everything(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """What of two rows does not depend on their order."""
    return np.hstack([np.abs(A - B), (A - B) ** 2, np.abs(A + B) / 2, A * B])


def log_odds(name: str, told: Any) -> np.ndarray:
    """How much rather judged pairs are the same than not; of metrics, minus the distance."""
    A, B, same, judged_A, judged_B = (
        told[part] for part in ("A", "B", "same", "judged_A", "judged_B")
    )
    if name == "LightGBM of pairs":
        from lightgbm import LGBMClassifier

        boosted = LGBMClassifier(random_state=0, n_jobs=1, verbose=-1, min_child_samples=5)
        chance = boosted.fit(everything(A, B), same).predict_proba(everything(judged_A, judged_B))
    elif name == "xRFM of pairs":
        chance = _xrfm(everything(A, B), same, everything(judged_A, judged_B))
    else:
        from metric_learn import ITML

        learner = ITML(random_state=0)
        learner.fit(np.stack([A, B], axis=1), np.where(same, 1, -1))
        return -np.asarray(learner.pair_distance(np.stack([judged_A, judged_B], axis=1)))
    return np.asarray(np.log(np.clip(chance[:, 1], _LEAST, 1) / np.clip(chance[:, 0], _LEAST, 1)))


def _xrfm(features: np.ndarray, same: np.ndarray, judged: np.ndarray) -> np.ndarray:
    """With a fifth of the pairs, of either kind, to stop by."""
    import torch
    from xrfm import xRFM

    torch.manual_seed(0)
    torch.set_num_threads(1)
    center, spread = features.mean(axis=0), features.std(axis=0) + 1e-12
    rng = np.random.RandomState(0)
    left_out = np.zeros(len(same), dtype=bool)
    for kind in (True, False):
        rows = rng.permutation(np.flatnonzero(same == kind))
        left_out[rows[: max(1, len(rows) // 5)]] = True
    X = torch.tensor((features - center) / spread, dtype=torch.float32)
    y = torch.tensor(same.astype(np.int64))
    model = xRFM(device=torch.device("cpu"), tuning_metric="auc")
    model.fit(X[~left_out], y[~left_out], X[left_out], y[left_out])
    rows = torch.tensor((judged - center) / spread, dtype=torch.float32)
    return np.asarray(model.predict_proba(rows), dtype=np.float64)


def mistakes(same: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Which answers cleanlab thinks wrong, by the probability of being the same."""
    from cleanlab.filter import find_label_issues

    return np.asarray(find_label_issues(same.astype(int), np.column_stack([1 - chance, chance])))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _, chosen, given, said = sys.argv
    parts = np.load(given)
    np.save(said, mistakes(**parts) if chosen == "cleanlab" else log_odds(chosen, parts))
