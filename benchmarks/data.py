"""Real data sets by name, from the folder ``NEARKIN_DATA`` or else from OpenML.

In that folder ``NAME.npz`` holds ``X`` and ``y``, and ``scale`` where the true values are
``X * scale``; ``mnist.npz`` holds ``X_train`` and ``y_train``. ``NAME.jsonl.gz`` holds a ``text``
and its ``label`` in each line.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_openml

# Name and version on OpenML. The labels of Boston housing are made here: terciles of the price.
OPENML = {
    "balance_scale": ("balance-scale", 1),
    "boston_housing": ("boston", 1),
    "breast_cancer_wdbc": ("wdbc", 1),
    "heart": ("heart-statlog", 1),
    "ionosphere": ("ionosphere", 1),
    "iris": ("iris", 1),
    "isolet": ("isolet", 1),
    "mnist": ("mnist_784", 1),
    "vehicle": ("vehicle", 1),
    "wine": ("wine", 1),
}


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features in float64, unscaled, and class numbers. For MNIST, the training part."""
    if os.environ.get("NEARKIN_DATA"):
        with np.load(in_folder(f"{name}.npz"), allow_pickle=False) as arrays:
            suffix = "_train" if "X_train" in arrays else ""
            X = arrays["X" + suffix].astype(np.float64)
            if "scale" in arrays:
                X = X * arrays["scale"]
            return X, arrays["y" + suffix].astype(np.int64)
    if name not in OPENML:
        raise FileNotFoundError(
            f"{name} is not on OpenML: put {name}.npz into a folder and set NEARKIN_DATA to it"
        )
    openml_name, version = OPENML[name]
    X, target = fetch_openml(openml_name, version=version, return_X_y=True, as_frame=True)
    X = X.astype(np.float64).to_numpy()
    if name == "boston_housing":
        price = target.astype(np.float64).to_numpy()
        return X, np.digitize(price, [18.83, 23.7], right=True)
    y = np.unique(target.astype(str).to_numpy(), return_inverse=True)[1]
    return (X[:60_000], y[:60_000]) if name == "mnist" else (X, y)


def load_columns(name: str, *columns: str) -> tuple[np.ndarray, ...]:
    """What else a data set tells of its rows; only from the folder ``NEARKIN_DATA``."""
    with np.load(in_folder(f"{name}.npz"), allow_pickle=False) as arrays:
        return tuple(arrays[column] for column in columns)


def load_texts(name: str) -> tuple[list[str], np.ndarray]:
    """Texts and class numbers; only from the folder ``NEARKIN_DATA``."""
    with gzip.open(in_folder(f"{name}.jsonl.gz"), "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    return [d["text"] for d in documents], np.array([d["label"] for d in documents])


def in_folder(filename: str) -> Path:
    """Where a file of the folder ``NEARKIN_DATA`` is."""
    folder = os.environ.get("NEARKIN_DATA")
    if not folder:
        raise FileNotFoundError(f"put {filename} into a folder and set NEARKIN_DATA to it")
    path = Path(folder) / filename
    if not path.exists():
        raise FileNotFoundError(f"NEARKIN_DATA={folder} has no {filename}")
    return path


def standardized(X: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and deviation 1; constant ones become 0."""
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
