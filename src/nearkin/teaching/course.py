"""How good the metric was after each number of answers: kept, and found again from the journal."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

# Points that are found again from a journal, and those that are kept at all.
_FOUND_AGAIN = 12
_MOST_POINTS = 300


class Course:
    """Points of a curve, by the number of answers. What was undone has none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._points: dict[int, dict[str, float]] = {}

    def add(self, n_answers: int, quality: Mapping[str, Any]) -> None:
        """Keep what was found after so many answers, and nothing of more answers."""
        with self._lock:
            self._points = {n: one for n, one in self._points.items() if n < n_answers}
            self._keep(n_answers, quality)

    def fill(self, n_answers: int, quality: Mapping[str, Any]) -> None:
        """Keep what was found again, unless something is known of so many answers, or of fewer."""
        with self._lock:
            if self._points and n_answers < max(self._points) and n_answers not in self._points:
                self._keep(n_answers, quality)

    def _keep(self, n_answers: int, quality: Mapping[str, Any]) -> None:
        figures = quality["figures"]
        if quality["enough"]:
            auc, low, high = figures["auc"]
            euclidean, euclidean_low, euclidean_high = figures["euclidean_auc"]
            self._points[n_answers] = {
                "answers": n_answers,
                "auc": auc,
                "low": low,
                "high": high,
                "euclidean": euclidean,
                "euclidean_low": euclidean_low,
                "euclidean_high": euclidean_high,
            }

    def listed(self) -> list[dict[str, float]]:
        """The points in the order of answers; of many, the last."""
        with self._lock:
            return [self._points[n] for n in sorted(self._points)][-_MOST_POINTS:]

    def missing(self, n_entries: int) -> list[int]:
        """After how many of so many entries points are to be found again, the last first."""
        wanted = np.linspace(0, n_entries, _FOUND_AGAIN + 1)[1:-1].astype(int)
        return sorted({int(n) for n in wanted if n > 0}, reverse=True)
