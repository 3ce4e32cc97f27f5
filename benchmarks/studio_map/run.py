"""The map of neighbours after 100 answers, beside UMAP of the same learned coordinates.

A lesson asks 100 questions, the labels answer, and the map follows each answer as in the studio.
Accuracy is that of the 10 nearest others in the plane. Times are of one process on its own, with
loops compiled before: of the first map, and after an answer to the first picture of the next map
and to its end, learning not counted. UMAP runs in an environment of its own, whose Python
``NEARKIN_UMAP_PYTHON`` names (umap-learn 0.5); its seconds are with imports and compilation, which
each process pays.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from benchmarks.data import load, load_texts
from benchmarks.record import Table, Text, publish, store, stored
from benchmarks.studio_map.umap_rival import accuracy
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
N_ANSWERS = 100


def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X, y


def images() -> tuple[np.ndarray, np.ndarray]:
    return load("coil20")


def news() -> tuple[np.ndarray, np.ndarray]:
    texts, y = load_texts("news_baseball_hockey")
    others, z = load_texts("news_pc_mac")
    bodies = [text.partition("\n\n")[2] for text in texts + others]
    words = TfidfVectorizer(stop_words="english", min_df=3, sublinear_tf=True).fit_transform(bodies)
    return normalize(TruncatedSVD(100, random_state=0).fit_transform(words)), np.r_[y, 2 + z]


def clustered() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(0)
    y = rng.randint(30, size=8000)
    return rng.normal(size=(30, 20))[y] + 1.3 * rng.normal(size=(8000, 20)), y


SETS = {"digits": digits, "images": images, "news": news, "clustered": clustered}


def followed(name: str) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Figures of one set, and the learned coordinates at the end with the labels."""
    X, y = SETS[name]()
    y = y.astype(np.int64)
    lesson = Lesson(records_of(X))
    start = perf_counter()
    *_, found = lesson.arrange()
    first, starts, ends = perf_counter() - start, [], []
    for _ in track(range(N_ANSWERS), description=name):
        lesson.questions()
        question = lesson.state()["question"]
        left, right = question["left"], question["right"]
        lesson.answer(left, right, bool(y[left] == y[right]))
        lesson.place()
        start = perf_counter()
        for found in lesson.arrange():  # noqa: B007
            if len(starts) == len(ends):
                starts.append(perf_counter() - start)
        ends.append(perf_counter() - start)
    Z = lesson._seen.learned.view.embedding()
    row = {
        "set": name,
        "rows": len(X),
        "axes": accuracy(lesson.layout()["coordinates"], y),
        "map": accuracy(found["coordinates"], y),
        "first": first,
        "starts": starts,
        "ends": ends,
    }
    return row, Z, y


def run(draws: int) -> None:
    """Follow all lessons, lay out what they learned by UMAP, and store all; ``draws`` is unused."""
    del draws
    rows, arrays = [], {}
    for name in SETS:
        row, arrays[f"Z {name}"], arrays[f"y {name}"] = followed(name)
        rows.append(row)
    store(RAW, rows + beside_umap(arrays))


def beside_umap(arrays: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    python = os.environ.get("NEARKIN_UMAP_PYTHON")
    if not python:
        print("NEARKIN_UMAP_PYTHON names no Python with umap-learn: UMAP is left out")
        return []
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "rows.npz", **arrays)  # type: ignore[arg-type, unused-ignore]
        program = str(FOLDER / "umap_rival.py")
        command = [python, "-W", "ignore", program, str(Path(folder) / "rows.npz")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def score() -> None:
    """The table from the stored results."""
    source, rows = stored(RAW)
    beside = {row["set"]: row for row in rows if "umap" in row}
    body = []
    for row in rows:
        if "map" not in row:
            continue
        umap = beside.get(row["set"])
        share = "" if umap is None else f"{row['map'] / umap['umap']:.3f}"
        cells = [row["set"], str(row["rows"]), f"{row['axes']:.3f}", f"{row['map']:.3f}"]
        cells += ["" if umap is None else f"{umap['umap']:.3f}", share, f"{row['first']:.2f}"]
        cells += [f"{1000 * np.percentile(row['starts'], q):.0f}" for q in (50, 95)]
        cells += [f"{1000 * np.median(row['ends']):.0f}"]
        cells += ["" if umap is None else f"{umap['umap_seconds']:.0f}"]
        body.append(cells)
    columns = ["set", "rows", "axes", "map", "UMAP", "map / UMAP", "first map, s"]
    columns += ["next, ms", "95 %", "whole, ms", "UMAP, s"]
    assert __doc__ is not None
    title = "10-NN accuracy in the plane after 100 answers, and times"
    blocks = [Text(__doc__.partition("\n\n")[2].strip()), Table(title, columns, body)]
    publish(FOLDER / "RESULTS.md", "The map of the studio", blocks, source)
