"""What further answers are worth, as the page shows it."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin._types import Floats
from nearkin.pairs.pairs import Pairs
from nearkin.scores.learning_curve import STEP, TOLERANCE
from nearkin.tasks.questions.outlook import Outlook, Verdict, outlook

# Answers ahead at which the curve has points; it is flat beyond what is known.
_AHEAD_ON_PAGE = (0, 10, 20, 50, 100)
# Answers ahead that are looked at.
_FARTHEST = 200


def outlook_of(X: Floats, pairs: Pairs, n_answers: int) -> dict[str, Any]:
    """The outlook as plain values.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    pairs : Pairs
        What was answered.
    n_answers : int
        To how many questions: one answer may speak of several pairs.

    Returns
    -------
    dict
        ``verdict``, ``advice`` and ``reason``; ``gain``, ``low`` and ``high`` of the next ten
        answers, None where it is too early; ``curve``, numbers of answers with the rise of pair AUC
        expected by then.
    """
    seen = outlook(X, pairs)
    each = len(pairs) / n_answers if n_answers else 1.0
    verdict, n_more, reason = seen.verdict, seen.n_more, seen.reason
    gain, curve = seen.gain, [[n, rise] for n, rise in seen.curve]
    scale = 1.0
    if gain is not None and curve and each > 1 and verdict in ("more", "enough"):
        ahead = [[(n - len(pairs)) / each, rise] for n, rise in curve]
        verdict, n_more, rise = _by_answers(ahead)
        scale = rise / gain.value if gain.value > 0 else 1.0
        curve = [[n_answers + n, float(np.interp(n, *np.transpose(ahead)))] for n in _AHEAD_ON_PAGE]
        reason = f"the next {STEP} answers are expected to raise pair AUC by {rise:.3f}."
    return {
        "verdict": verdict,
        "advice": advice(verdict, n_more, seen),
        "reason": reason,
        "gain": None if gain is None else gain.value * scale,
        "low": None if gain is None else gain.low * scale,
        "high": None if gain is None else gain.high * scale,
        "curve": curve,
    }


def advice(verdict: Verdict, n_more: int | None, seen: Outlook) -> str:
    """The verdict in a few words."""
    if verdict == "more":
        return f"about {n_more} more answers"
    return "no longer improving" if verdict == "enough" else seen.advice


def _by_answers(ahead: list[list[float]]) -> tuple[Verdict, int, float]:
    """Whether there are enough, about how many more it takes, and the gain of the next ten."""
    n = np.arange(0, _FARTHEST + 1, 5)
    rise = np.interp([n, n + STEP], *np.transpose(ahead))
    gains = rise[1] - rise[0]
    enough = np.flatnonzero(gains < TOLERANCE)
    more = int(n[enough[0]]) if len(enough) else _FARTHEST
    return ("more" if more else "enough"), more, float(gains[0])
