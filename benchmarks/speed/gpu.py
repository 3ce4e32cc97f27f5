"""What arrays on an accelerator gain: ``SCIPY_ARRAY_API=1 python -m benchmarks.speed.gpu``.

Not among the benchmarks that ``make bench`` runs, since it needs a CUDA device with torch (CuPy is
measured too if it is there). Prints one line for each figure, and with ``--out FILE`` writes them
as JSON too. ``--device cpu`` tries the program itself on a small scale; ``--only "kernel sums"``
measures one part.

- KernelBeta: rows a second of ``transform``, 50 columns, 1000 landmarks, 5 neighbours, float32.
- Generative: seconds for the mean of the local metrics (M^UNI) and for the whole ``fit`` at
  60 000 × 40 and 60 000 × 164, and the largest difference from the metric in float64 on the host,
  relative to the largest entry.
- EnergyClassifier: points a second, 60 000 training rows of 40 columns.
- NeighborIndex: exact queries a second among a million rows of 50 columns, ten neighbours.
- Kernel sums: ``Σ_j k(x, x_j) C_j`` in 64 columns with a Gaussian kernel, beside the plain formula
  by the library in float32 and in float64, by blocks of rows, and the largest error against float64
  on the host, relative to the largest sum. "Fused" is 1 where it was the fused kernel.
- MetricLearner: rows a second of ``transform``, 50 columns, 200 pairs of ten normal classes, in
  float32, and the largest difference from the host, relative to the largest entry.
- Rows of 128, 384 and 768 columns beside the product alone, how many rows have the neighbours of
  float64, and how many the fused kernels leave to the libraries' functions.
- What the device can do: the product of rows and landmarks alone, a large square product (both
  float32, without TF32) and a copy, whose bytes count as read and as written.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import sklearn
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

import nearkin
from benchmarks.speed.data import clustered, gaussian_classes
from nearkin import EnergyClassifier, Generative, KernelBeta, MetricLearner, NeighborIndex, Pairs
from nearkin.rows import backends, device_math
from nearkin.solvers.class_gaussians import fit_class_models
from nearkin.solvers.local_metrics import mean_local_metric
from nearkin.spaces.kernels import Kernel
from nearkin.spaces.landmarks import KernelLandmarks, KernelSums

# Columns and landmarks for kernel sums of 64 columns.
KERNEL_SUMS = ((50, 1000), (50, 400), (16, 400), (384, 1000), (768, 1000))
# Rows whose kernel values are in memory at a time by the plain formula.
_FORMULA_ROWS = 50_000

GOALS = {
    "KernelBeta transform, rows/s": 2e8,
    "KernelBeta relative difference, median": 2e-6,
    "KernelBeta d=384 m=1000, times the product": 3.0,
    "KernelBeta d=768 m=2000, times the product": 3.0,
    "kernel sums d=50 m=1000, rows/s": 1e8,
    "kernel sums d=50 m=1000, relative error": 2e-6,
    "MetricLearner transform, rows/s": 5e7,
    "MetricLearner relative difference": 1e-5,
    "EnergyClassifier predict, rows/s": 4.6e5,
    "Generative M^UNI d=40, s": 0.3,
    "Generative M^UNI d=164, s": 0.8,
    "Generative d=40, relative difference": 1e-3,
    "Generative d=164, relative difference": 1e-3,
}


class Device:
    """Arrays of one library on one device."""

    def __init__(self, library: str, device: str) -> None:
        self.library, self.device = library, device
        if library == "torch":
            import torch

            self.xp: Any = torch
            torch.backends.cuda.matmul.allow_tf32 = False  # the default, but it can be changed
        else:
            import cupy

            self.xp = cupy

    def put(self, X: np.ndarray) -> Any:
        if self.library == "torch":
            return self.xp.asarray(X, device=self.device)
        return self.xp.asarray(X)

    def about(self) -> str:
        """The name of the device."""
        if self.device == "cpu":
            return "host"
        if self.library == "torch":
            return str(self.xp.cuda.get_device_name())
        return str(self.xp.cuda.runtime.getDeviceProperties(0)["name"].decode())

    def wait(self) -> None:
        if self.library == "cupy":
            self.xp.cuda.Device().synchronize()
        elif self.device != "cpu":
            self.xp.cuda.synchronize()

    def forget(self) -> None:
        """Give back memory that is kept for later."""
        if self.library == "cupy":
            self.xp.get_default_memory_pool().free_all_blocks()
        elif self.device != "cpu":
            self.xp.cuda.empty_cache()

    def seconds(self, work: Callable[[], Any], turns: int = 5) -> float:
        """Median of some turns, after one that does not count."""
        work()
        self.wait()
        times = []
        for _ in range(turns):
            start = time.perf_counter()
            work()
            self.wait()
            times.append(time.perf_counter() - start)
        return float(np.median(times))


def kernel_beta(on: Device, small: bool) -> dict[str, float]:
    n, m = (20_000, 200) if small else (4_000_000, 1000)
    base, _ = clustered(n // 4)
    ends = np.random.default_rng(1).permutation(len(base))[:100].reshape(2, 25, 2)
    pairs = Pairs(ends[0], ends[1])
    rows = on.put(base)
    metric = KernelBeta(n_landmarks=m, random_state=0)
    fitting = on.seconds(lambda: metric.fit(rows, pairs=pairs), turns=1)
    X = on.put(np.tile(base, (4, 1)))
    transform = on.seconds(lambda: metric.transform(X))
    some = base[:20_000]
    same = metric.transform(X[: len(some)])
    with sklearn.config_context(array_api_dispatch=False):
        host = KernelBeta(n_landmarks=m, random_state=0).fit(base, pairs=pairs)
        expected = host.transform(some)
    difference = np.abs(backends.to_numpy(same) - expected).max(axis=1) / np.abs(expected).max()
    found = {
        "KernelBeta fit, s": fitting,
        "KernelBeta transform, rows/s": len(X) / transform,
        "KernelBeta components": metric.n_components_,
        "KernelBeta relative difference, median": float(np.median(difference)),
        "KernelBeta relative difference, 99.9 %": float(np.quantile(difference, 0.999)),
        "KernelBeta pair_distance, pairs/s": len(X)
        / 2
        / on.seconds(lambda: metric.pair_distance(X[: len(X) // 2], X[len(X) // 2 :]), turns=2),
    }
    by_sums = KernelBeta(n_landmarks=m, extension="nystroem", n_components=40, random_state=0)
    by_sums.fit(rows, pairs=pairs)
    found["KernelBeta, Nyström: transform, rows/s"] = len(X) / on.seconds(
        lambda: by_sums.transform(X)
    )
    kept, left = neighbor_sets(on, metric, X[:20_000])
    return found | {
        "KernelBeta equal sets of neighbours, %": 100 * kept,
        "KernelBeta rows left to functions, %": 100 * left,
    }


def ceilings(on: Device, small: bool) -> dict[str, float]:
    """What the matrix product and the memory of the device allow."""
    n, d, m, side = (20_000, 50, 200, 512) if small else (131_072, 50, 1000, 8192)
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return on.put(rng.standard_normal(shape, dtype=np.float32))

    X, landmarks, square = drawn(n, d), drawn(d, m), drawn(side, side)
    product = on.seconds(lambda: X @ landmarks)
    full = on.seconds(lambda: square @ square)
    source = drawn(n, m)
    target = on.xp.empty_like(source)

    def copy() -> None:
        target[...] = source

    copied = on.seconds(copy)
    return {
        "ceiling: landmark product, rows/s": n / product,
        "ceiling: landmark product, TFLOP/s": 2 * n * d * m / product / 1e12,
        "ceiling: square product, TFLOP/s": 2 * side**3 / full / 1e12,
        "ceiling: copy, GB/s": 2 * 4 * n * m / copied / 1e9,
    }


def wide_rows(on: Device, d: int, m: int, small: bool) -> dict[str, float]:
    """Rows of many columns, beside the product of rows and landmarks alone."""
    n = 20_000 if small else 1_000_000 * 768 // d
    rng = np.random.default_rng(0)
    base = (3 * rng.standard_normal((20, d)))[rng.integers(0, 20, 50_000)].astype(np.float32)
    base += rng.standard_normal(base.shape, dtype=np.float32)
    rows = on.put(base)
    metric = KernelBeta(n_landmarks=200 if small else m, random_state=0).fit(
        rows, pairs=some_pairs()
    )
    X = on.xp.concatenate([rows] * -(-n // len(base)))[:n]
    X = X + 1e-2 * on.put(rng.standard_normal((1, d), dtype=np.float32))
    landmarks = on.put(np.ascontiguousarray(metric.map_.extension.landmarks.rows.T))
    some = X[:131_072]
    product = on.seconds(lambda: some @ landmarks) / len(some)
    transform = on.seconds(lambda: metric.transform(X)) / n
    kept, left = neighbor_sets(on, metric, X[:20_000])
    return {
        f"KernelBeta transform d={d} m={m}, rows/s": 1 / transform,
        f"KernelBeta d={d} m={m}, landmark product, rows/s": 1 / product,
        f"KernelBeta d={d} m={m}, times the product": product / transform,
        f"KernelBeta d={d} m={m}, equal sets of neighbours, %": 100 * kept,
        f"KernelBeta d={d} m={m}, rows left to functions, %": 100 * left,
    }


def kernel_sums(on: Device, d: int, m: int, small: bool) -> dict[str, float]:
    """Sums of kernel values, fused and by the plain formula."""
    n, m = (2000, 200) if small else (4_000_000 * 50 // max(50, d), m)
    rng = np.random.default_rng(0)
    base = rng.standard_normal((min(n, 100_000), d), dtype=np.float32)
    landmarks, C, gamma = base[:m].copy(), rng.standard_normal((m, 64)), 0.5 / d
    sums = KernelSums(KernelLandmarks(Kernel("rbf", gamma=gamma), landmarks), C)
    X = on.xp.concatenate([on.put(base)] * -(-n // len(base)))[:n]

    def by_formula(dtype: str) -> Callable[[], None]:
        rows, points, table = (on.put(part.astype(dtype)) for part in (base, landmarks, C))
        lengths = (points * points).sum(1)

        def work() -> None:
            for start in range(0, len(rows), _FORMULA_ROWS):
                x = rows[start : start + _FORMULA_ROWS]
                squared = (x * x).sum(1)[:, None] + lengths - 2.0 * (x @ points.T)
                on.xp.exp(-gamma * squared) @ table

        return work

    some = base[:2000].astype(np.float64)
    expected = np.exp(-gamma * cdist(some, landmarks, "sqeuclidean")) @ C
    found = backends.to_numpy(sums.at(X)[: len(some)])
    name = f"kernel sums d={d} m={m}"
    return {
        f"{name}, rows/s": n / on.seconds(lambda: sums.at(X)),
        f"{name}, formula in float32, rows/s": len(base) / on.seconds(by_formula("float32")),
        f"{name}, formula in float64, rows/s": len(base) / on.seconds(by_formula("float64")),
        f"{name}, relative error": float(np.abs(found - expected).max() / np.abs(expected).max()),
        f"{name}, fused": float(sums.sum_by_triton(X) is not None),
    }


def metric_learner(on: Device, small: bool) -> dict[str, float]:
    """Rows through a blend of learned metrics, and how far off they are from those of the host."""
    n = 20_000 if small else 4_000_000
    base, y = gaussian_classes(100_000, 50)
    base = base.astype(np.float32)
    pairs = Pairs.from_labels(y, 200, random_state=0)
    metric = MetricLearner(random_state=0).fit(base, pairs=pairs)
    X = on.xp.concatenate([on.put(base)] * -(-n // len(base)))[:n]
    some = base[:20_000]
    with sklearn.config_context(array_api_dispatch=False):
        expected = metric.transform(some)
    found = backends.to_numpy(metric.transform(X[: len(some)]))
    return {
        "MetricLearner transform, rows/s": n / on.seconds(lambda: metric.transform(X)),
        "MetricLearner parts": len(metric.report_.recipe),
        "MetricLearner relative difference": float(
            np.abs(found - expected).max() / np.abs(expected).max()
        ),
    }


def some_pairs() -> Pairs:
    ends = np.random.default_rng(1).permutation(50_000)[:100].reshape(2, 25, 2)
    return Pairs(ends[0], ends[1])


def neighbor_sets(on: Device, metric: KernelBeta, X: Any) -> tuple[float, float]:
    """How many rows have the neighbours of float64 by the fused search, and how many are left."""
    local = metric.map_.extension
    center, scale = local.center_and_scale
    points = (local.landmarks.rows.astype(np.float64) - center) * scale
    rows = (backends.to_numpy(X).astype(np.float64) - center) * scale
    expected = (
        NearestNeighbors(algorithm="brute")
        .fit(points)
        .kneighbors(rows, local.n_neighbors, return_distance=False)
    )
    if not device_math.can_use_kernels(X):
        return 1.0, 1.0
    from nearkin.rows.triton_search import PRECISIONS, Search

    there = on.put(np.ascontiguousarray(local.landmarks.rows))
    search = Search(
        device_math.to_tensor(there),
        device_math.to_tensor(backends.move_to(center, X, "float64")),
        scale,
    )
    is_open = np.ones(len(X), dtype=bool)
    kept = np.ones(len(X), dtype=bool)  # what stays open is found in another way
    for precision in PRECISIONS:
        found, still = search.nearest(device_math.to_tensor(X), local.n_neighbors, precision)
        same = np.sort(backends.to_numpy(found), axis=1) == np.sort(expected, axis=1)
        settled = is_open & (backends.to_numpy(still) == 0)
        kept[settled] = same.all(axis=1)[settled]
        is_open &= ~settled
    return float(kept.mean()), float(is_open.mean())


def generative(on: Device, d: int, small: bool) -> dict[str, float]:
    X, y = gaussian_classes(600 if small else 60_000, d)
    X = X.astype(np.float32)
    rows = on.put(X)
    # The metric in float64 on the host, at some of the rows: all take minutes at d = 164.
    some = slice(0, min(len(X), 4000))
    with sklearn.config_context(array_api_dispatch=False):
        models = fit_class_models(X.astype(np.float64), y)
        expected = mean_local_metric(X[some].astype(np.float64), models)
    found = mean_local_metric(rows[some], models)
    difference = np.abs(found - expected).max() / np.abs(expected).max()
    return {
        f"Generative M^UNI d={d}, s": on.seconds(lambda: mean_local_metric(rows, models), 3),
        f"Generative class models d={d}, s": on.seconds(lambda: fit_class_models(rows, y), 1),
        f"Generative fit d={d}, s": on.seconds(lambda: Generative(random_state=0).fit(rows, y), 1),
        f"Generative d={d}, relative difference": float(difference),
    }


def energy(on: Device, small: bool) -> dict[str, float]:
    X, y = gaussian_classes(2000 if small else 70_000, 40)
    X = X.astype(np.float32)
    cut = len(X) * 6 // 7
    train, test = on.put(X[:cut]), on.put(X[cut:])
    model = EnergyClassifier(random_state=0)
    return {
        "EnergyClassifier fit, s": on.seconds(lambda: model.fit(train, y[:cut]), turns=1),
        "EnergyClassifier predict, rows/s": len(test) / on.seconds(lambda: model.predict(test), 1),
    }


def neighbor_index(on: Device, small: bool) -> dict[str, float]:
    """Exact neighbours of many rows among a million: vectors come from the host and go back."""
    rows, _ = clustered(20_000 if small else 1_000_000)
    queries = rows[:: 10 if small else 50] + np.float32(1e-3)
    index = NeighborIndex(device=on.device, n_neighbors=10).fit(rows)
    taken = on.seconds(lambda: index.query(queries), turns=2)
    some = queries[:200]
    exact = NeighborIndex(search="exact", n_neighbors=10).fit(rows).query(some)[1]
    return {
        "NeighborIndex, exact: queries/s": len(queries) / taken,
        "NeighborIndex, rows with the neighbours of the host, %": 100
        * float((index.query(some)[1] == exact).all(axis=1).mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda", help="of torch (cuda)")
    parser.add_argument("--out", type=Path, help="file for the figures, as JSON")
    parser.add_argument("--only", default="", help='a part, such as "kernel sums" (all)')
    options = parser.parse_args()
    small = options.device == "cpu"
    found: dict[str, dict[str, Any]] = {"about": {"nearkin": nearkin.__version__}}
    for library in ("torch",) if small else ("torch", "cupy"):
        try:
            on = Device(library, options.device)
        except ImportError:
            print(f"{library}: not installed")
            continue
        found["about"] |= {"device": on.about(), library: on.xp.__version__}
        figures = found.setdefault(library, {})
        parts: list[tuple[str, Callable[[], dict[str, float]]]] = [
            ("ceilings", partial(ceilings, on, small)),
            ("KernelBeta", partial(kernel_beta, on, small)),
            *(("kernel sums", partial(kernel_sums, on, d, m, small)) for d, m in KERNEL_SUMS),
            ("MetricLearner", partial(metric_learner, on, small)),
            ("wide rows", partial(wide_rows, on, 128, 1000, small)),
            ("wide rows", partial(wide_rows, on, 384, 1000, small)),
            ("wide rows", partial(wide_rows, on, 768, 2000, small)),
            ("Generative", partial(generative, on, 40, small)),
            ("Generative", partial(generative, on, 164, small)),
            ("EnergyClassifier", partial(energy, on, small)),
            *([("NeighborIndex", partial(neighbor_index, on, small))] * (library == "torch")),
        ]
        with sklearn.config_context(array_api_dispatch=True):
            for part, measure in parts:
                if options.only not in part:
                    continue
                on.forget()
                for name, value in measure().items():
                    figures[name] = value
                    goal = f"   (goal {GOALS[name]:g})" if name in GOALS else ""
                    print(f"{library:6} {name:45} {value:12.4g}{goal}", flush=True)
                if options.out is not None:
                    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
