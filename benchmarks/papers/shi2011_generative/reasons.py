"""Why figures of ours are below the printed ones, as far as is known."""

from __future__ import annotations

REASONS = {
    "Table 6, letters_scaled: M^UNI, energy": (
        "not known, more neighbours and wider margins do not mend it"
    ),
    "Table 6, letters_original: M^UNI, energy": "not known, one split",
}
