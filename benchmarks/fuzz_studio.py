"""Ask a studio what its schema allows and what it does not: no answer may be a 500.

    python -m benchmarks.fuzz_studio [examples for each route] [seed]

Schemathesis makes requests from the OpenAPI schema, valid and invalid ones. Every status below 500
is an answer; 500 and above, and connections that break, are defects.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from schemathesis import GenerationMode

from nearkin.teaching.lesson import Lesson
from nearkin.teaching.records import records_of
from nearkin.web.serving import Serving


def fuzz(serving: Serving, n_examples: int, seed: int = 0) -> Counter[tuple[str, int]]:
    """Ask about everything; how often each route gave each status."""
    base, token = serving.url.split("/?token=")
    headers = {"X-Nearkin-Token": token}
    found: Counter[tuple[str, int]] = Counter()
    about = serving.lesson.about()
    keys = [colouring["key"] for colouring in about["colourings"]]
    wide = serving.app.openapi()
    for schema in (narrowed(wide, about["n_rows"], keys), wide):
        for result in schemathesis.openapi.from_dict(schema).get_all_operations():
            operation = result.ok()
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                strategy = operation.as_strategy(generation_mode=mode)
                _ask(strategy, operation.label, base, headers, n_examples, seed, found)
    return found


def _ask(
    strategy: Any,
    label: str,
    base: str,
    headers: dict[str, str],
    n_examples: int,
    seed: int,
    found: Counter[tuple[str, int]],
) -> None:
    @hypothesis.seed(seed)
    @settings(
        max_examples=n_examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def asked(case: Any) -> None:
        reply = case.call(base_url=base, headers=headers)
        found[label, reply.status_code] += 1
        assert reply.status_code < 500, (label, reply.status_code, case.as_curl_command())

    try:
        asked()
    except hypothesis.errors.Unsatisfiable:
        return  # nothing can be wrong with a request that has no parts


def narrowed(schema: dict[str, Any], n_rows: int, keys: list[str]) -> dict[str, Any]:
    """The same schema for fewer requests: rows that are there, and colourings that are."""

    def walked(part: Any) -> Any:
        if isinstance(part, list):
            return [walked(item) for item in part]
        if not isinstance(part, dict):
            return part
        part = {name: walked(item) for name, item in part.items()}
        if part.get("maximum", 0) > 10**9:
            part |= {"minimum": 0, "maximum": n_rows - 1}
        if part.get("name") == "key":
            part["schema"] = {"type": "string", "enum": keys}
        return part

    found: dict[str, Any] = walked(schema)
    return found


def main() -> None:
    n_examples = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    X = np.random.default_rng(0).normal(size=(60, 4))
    records = records_of(X, columns={"text": [f"row {i}" for i in range(60)]})
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        serving = Serving(Lesson(records, journal=Path(folder) / "a.jsonl"), port=0)
        serving.start()
        try:
            found = fuzz(serving, n_examples, seed)
        finally:
            serving.close()
    for (label, status), count in sorted(found.items()):
        print(f"{label:50} {status} {count:6}")
    seconds = time.perf_counter() - begun
    print(f"{sum(found.values())} requests, none of them a 500 ({seconds:.0f} s)")


if __name__ == "__main__":
    main()
