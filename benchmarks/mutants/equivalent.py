"""Mutants that no test can notice, and why: by file, and by the line as it is then."""

from __future__ import annotations

_SCRATCH = "scratch memory of another type, which changes the speed only"

EQUIVALENT = {
    ("local_weights.py", "for t in range(_CHUNK):"): "the first is compared with itself",
    (
        "local_weights.py",
        "_insert_smaller(minima, 1, chunks, positions, smallest)",
    ): "a bound that is too high: more chunks are looked at, and the same is found",
    (
        "local_weights.py",
        "correlation = (e[a] + e[b] - gram[a, b]) / scale if scale > 0.0 else 1.0",
    ): "weights are those of the nearest alone then",
    ("local_weights.py", "smallest = np.empty(k, None)"): _SCRATCH,
    ("local_weights.py", "smallest = np.empty(k, )"): _SCRATCH,
    ("local_weights.py", "minima = np.empty(ranking.shape[1] // _CHUNK, None)"): _SCRATCH,
    ("local_weights.py", "minima = np.empty(ranking.shape[1] // _CHUNK, )"): _SCRATCH,
    ("local_weights.py", "minima = np.empty(to_landmarks.shape[1] // _CHUNK, None)"): _SCRATCH,
    ("local_weights.py", "minima = np.empty(to_landmarks.shape[1] // _CHUNK, )"): _SCRATCH,
}
