"""What was seen, in sentences whose numbers come from the stored results."""

from __future__ import annotations

from benchmarks.papers.claims import Claim

SEEN: list[Claim] = []
IN_README: list[Claim] = []
