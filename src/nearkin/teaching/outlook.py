"""What further answers are worth, as the page shows it."""

from __future__ import annotations

from typing import Any

from nearkin.pairs.pairs import Pairs
from nearkin.rows.arrays import Floats
from nearkin.tasks.questions.outlook import outlook


def outlook_of(X: Floats, pairs: Pairs) -> dict[str, Any]:
    """The outlook as plain values.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    pairs : Pairs
        What was answered.

    Returns
    -------
    dict
        ``verdict``, ``advice`` and ``reason``; ``gain``, ``low`` and ``high`` of the next ten
        answers, None where it is too early; ``curve``, numbers of answers with the rise of pair AUC
        expected by then.
    """
    seen = outlook(X, pairs)
    gain = seen.gain
    return {
        "verdict": seen.verdict,
        "advice": seen.advice,
        "reason": seen.reason,
        "gain": None if gain is None else gain.value,
        "low": None if gain is None else gain.low,
        "high": None if gain is None else gain.high,
        "curve": [[n, rise] for n, rise in seen.curve],
    }
