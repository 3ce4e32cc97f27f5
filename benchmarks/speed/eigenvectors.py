"""The smoothest functions on a graph: which solver, at equal residuals?

``python -m benchmarks.speed.eigenvectors GRAPH SOLVER GOAL`` measures one solver on a stored graph
in a fresh process, as JSON. GOAL is the residual ‖Lv − λv‖ to reach.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from rich.progress import track
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg, splu
from sklearn.datasets import make_swiss_roll

from benchmarks.record import ROOT, Table, peak_memory_gb, publish, store, stored
from nearkin.spaces import spectral
from nearkin.spaces.graph import laplacian, neighbor_graph

FOLDER = Path(__file__).parent
RAW = FOLDER / "eigenvectors.jsonl"
N, N_NEIGHBORS, N_VECTORS = 100_000, 10, 20
# Residuals to reach, as a share of the last eigenvalue asked for.
TOLERANCE = 1e-4
# A solver that needs more than this, in seconds of all cores together, is out.
MOST_SECONDS, MOST_GB = 90, 4
GUARD_VECTORS = 5


def clustered() -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 50), dtype=np.float32)
    X[:, 10:] *= 0.3
    X[:, :10] += 3 * rng.standard_normal((20, 10), dtype=np.float32)[rng.integers(20, size=N)]
    return X


GRAPHS: dict[str, Callable[[], np.ndarray]] = {
    "20 clusters, 50-d": clustered,
    "swiss roll": lambda: make_swiss_roll(N, random_state=0)[0],
    "Gaussian, 3-d": lambda: np.random.default_rng(0).standard_normal((N, 3)),
}


class Problem:
    """A Laplacian with its null space, and counts of what a solver does with it."""

    def __init__(self, W: Any, goal: float) -> None:
        # All solvers get rows in the same good order.
        order = reverse_cuthill_mckee(W, symmetric_mode=True)
        self.L = laplacian(W[order][:, order])
        self.n = W.shape[0]
        self.bound = 2 * float(self.L.diagonal().max())
        n_null, component = connected_components(self.L, directed=False)
        self.null = np.zeros((self.n, n_null))
        self.null[np.arange(self.n), component] = np.bincount(component)[component] ** -0.5
        self.wanted = N_VECTORS - n_null
        self.goal = goal
        self.products = self.solves = 0

    def outside(self, X: np.ndarray) -> np.ndarray:
        return X - self.null @ (self.null.T @ X)

    def times(self, X: np.ndarray) -> np.ndarray:
        self.products += X.shape[1] if X.ndim == 2 else 1
        return self.L @ X

    def start(self, size: int) -> np.ndarray:
        return self.outside(np.random.default_rng(0).standard_normal((self.n, size)))


def ours(problem: Problem) -> np.ndarray:
    times, cycle, inside = spectral.times, spectral.cycle, False

    def counted_times(A: Any, X: np.ndarray) -> np.ndarray:
        problem.products += 0 if inside else X.shape[1]
        return times(A, X)

    def counted_cycle(grid: Any, B: np.ndarray, depth: int = 0) -> np.ndarray:
        nonlocal inside
        problem.solves += B.shape[1] if depth == 0 else 0
        inside = True
        Z = cycle(grid, B, depth)
        inside = depth > 0
        return Z

    for module in (spectral, spectral):
        module.times, module.cycle = counted_times, counted_cycle
    W = sp.csr_array(sp.diags_array(problem.L.diagonal()) - problem.L)
    return spectral.smoothest(W, N_VECTORS, random_state=0, tol=TOLERANCE)[1][:, -problem.wanted :]


def arpack(problem: Problem) -> np.ndarray:
    """Lanczos for the largest eigenvalues of cI − L, restarted."""

    def flipped(x: np.ndarray) -> np.ndarray:
        x = problem.outside(x)
        return problem.bound * x - problem.times(x)

    operator = LinearOperator((problem.n, problem.n), matvec=flipped, dtype=np.float64)
    return eigsh(
        operator,
        k=problem.wanted,
        which="LA",
        tol=problem.goal / problem.bound,
        v0=problem.start(1)[:, 0],
    )[1]


def shift_invert(problem: Problem) -> np.ndarray:
    """Lanczos for the inverse of L, factored with a tiny shift."""
    shifted = sp.csc_array(problem.L + 1e-10 * problem.bound * sp.eye_array(problem.n))
    factor = splu(
        shifted,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )

    def inverse(x: np.ndarray) -> np.ndarray:
        problem.solves += 1
        return problem.outside(factor.solve(problem.outside(x)))

    operator = LinearOperator((problem.n, problem.n), matvec=inverse, dtype=np.float64)
    return eigsh(
        operator, k=problem.wanted, which="LA", tol=TOLERANCE / 1000, v0=problem.start(1)[:, 0]
    )[1]


def lobpcg_pyamg(problem: Problem) -> np.ndarray:
    """SciPy's LOBPCG with smoothed aggregation by pyamg."""
    import pyamg

    shifted = sp.csr_matrix(problem.L + 1e-8 * problem.bound * sp.eye_array(problem.n))
    cycle = pyamg.smoothed_aggregation_solver(shifted).aspreconditioner()

    def solve(R: np.ndarray) -> np.ndarray:
        problem.solves += R.shape[1]
        return np.column_stack([cycle @ r for r in R.T])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # vectors beyond those asked for need not converge
        return lobpcg(
            problem.times,
            problem.start(problem.wanted + GUARD_VECTORS),
            M=solve,
            Y=problem.null,
            largest=False,
            tol=problem.goal,
            maxiter=40,
        )[1]


def chebyshev(problem: Problem) -> np.ndarray:
    """Subspace iteration, filtered by Chebyshev polynomials: Zhou, Saad and others (2006)."""
    X = np.linalg.qr(problem.start(2 * problem.wanted))[0]
    while True:
        LX = problem.times(X)
        values, rotation = np.linalg.eigh(X.T @ LX)
        X, LX = X @ rotation, LX @ rotation
        residuals = np.linalg.norm(LX - X * values, axis=0)[: problem.wanted]
        if residuals.max() <= problem.goal:
            return X
        # Damp what lies between the last value of the block and the bound.
        half, middle = (problem.bound - values[-1]) / 2, (problem.bound + values[-1]) / 2
        degree = int(np.clip(2 * np.sqrt(problem.bound / values[-1]), 10, 200))
        sigma = first = -half / middle
        before, X = X, (LX - middle * X) * (sigma / half)
        for _ in range(degree - 1):
            following = 1 / (2 / first - sigma)
            after = (problem.times(X) - middle * X) * (2 * following / half)
            before, X, sigma = X, after - sigma * following * before, following
        X = np.linalg.qr(problem.outside(X))[0]


SOLVERS = {
    "nearkin": ours,
    "ARPACK on cI − L": arpack,
    "ARPACK on L⁻¹, factored": shift_invert,
    "LOBPCG with pyamg": lobpcg_pyamg,
    "Chebyshev subspace": chebyshev,
}


def measure(path: str, solver: str, goal: float) -> dict[str, Any]:
    """Time of one solver, with what it takes to prepare, and the residuals it reached."""
    W = sp.csr_array(sp.load_npz(path))
    spectral.smoothest(W[:5000, :5000], 3)  # compiled code is loaded
    problem = Problem(W, goal)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_GB * 10**9,) * 2)
    used = int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + MOST_SECONDS, resource.RLIM_INFINITY))
    start, work_start = time.perf_counter(), time.process_time()
    V = SOLVERS[solver](problem)
    seconds, work = time.perf_counter() - start, time.process_time() - work_start
    V = np.linalg.qr(problem.outside(V))[0]
    values, rotation = np.linalg.eigh(V.T @ (problem.L @ V))
    values, V = values[: problem.wanted], (V @ rotation)[:, : problem.wanted]
    residual = float(np.linalg.norm(problem.L @ V - V * values, axis=0).max())
    return {
        "seconds": seconds,
        "work": work,
        "products": problem.products,
        "solves": problem.solves,
        "residual": residual,
        "last": float(values[-1]),
        "bound": problem.bound,
        "components": problem.null.shape[1],
        "peak_gb": peak_memory_gb(),
    }


def run(draws: int) -> None:
    """Measure everything and store the raw results; ``draws`` is not used."""
    del draws
    solvers = list(SOLVERS)
    if find_spec("pyamg") is None:
        print("LOBPCG with pyamg is left out: pyamg is not installed")
        solvers.remove("LOBPCG with pyamg")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.npz")
        for graph, make in GRAPHS.items():
            sp.save_npz(path, neighbor_graph(make(), N_NEIGHBORS))
            goal = 0.0  # ours comes first and finds the last eigenvalue
            for solver in track(solvers, description=f"Eigenvectors, {graph}"):
                row = {"graph": graph, "solver": solver, **attempt(path, solver, goal)}
                goal = goal or TOLERANCE * row["last"]
                rows.append(row)
    store(RAW, rows)


def attempt(path: str, solver: str, goal: float) -> dict[str, Any]:
    """One measurement in a fresh process, or why there is none."""
    command = [sys.executable, "-m", "benchmarks.speed.eigenvectors", path, solver, str(goal)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode == -signal.SIGXCPU:
        return {"failed": f"over {MOST_SECONDS} s"}
    if done.returncode and ("memory" in done.stderr.lower() or done.returncode < 0):
        return {"failed": f"over {MOST_GB} GB"}
    if done.returncode:
        raise RuntimeError(done.stderr)
    return dict(json.loads(done.stdout))


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    columns = [
        "solver",
        "seconds",
        "processor seconds",
        "ratio of these",
        "products",
        "solves",
        "residual ÷ λ₂₀",
        "residual ÷ ‖L‖",
        "peak GB",
    ]
    tables = []
    for graph in GRAPHS:
        here = [row for row in rows if row["graph"] == graph]
        body = []
        for row in here:
            if "failed" in row:
                body.append([row["solver"], row["failed"], *[""] * 7])
                continue
            body.append(
                [
                    row["solver"],
                    f"{row['seconds']:.1f}",
                    f"{row['work']:.1f}",
                    f"{row['work'] / here[0]['work']:.1f}",
                    f"{row['products']:,}",
                    f"{row['solves']:,}",
                    f"{row['residual'] / row['last']:.1e}",
                    f"{row['residual'] / row['bound']:.1e}",
                    f"{row['peak_gb']:.2f}",
                ]
            )
        components = here[0]["components"]
        title = (
            f"{graph}: {N:,} rows, {N_NEIGHBORS} neighbours, {components} "
            f"component{'s' if components > 1 else ''}, {N_VECTORS} eigenvectors; products with "
            "L and solves (cycles of multigrid, or with the factor) in vectors"
        )
        tables.append(Table(title, columns, body))
    publish(FOLDER / "EIGENVECTORS.md", "Eigenvectors of graphs: solvers", tables, source)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2], float(sys.argv[3]))))
