"""Why figures of ours are below the printed ones, as far as is known."""

from __future__ import annotations

REASONS: dict[str, str] = {}
