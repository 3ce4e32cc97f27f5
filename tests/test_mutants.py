"""Mutation testing: what is stored."""

from benchmarks.mutants.__main__ import MODULES
from benchmarks.mutants.page import EQUIVALENT, FOLDER, NOTICED, page, stored_results


def test_the_page_shows_what_is_stored_and_tests_notice_most_mistakes():
    results = stored_results(MODULES)
    assert list(results) == list(MODULES)
    assert (FOLDER / "RESULTS.md").read_text() == page(results)
    for name, (_, rows) in results.items():
        noticed = sum(row["outcome"] in NOTICED for row in rows)
        assert noticed >= 0.85 * len(rows), name
    left = {
        (row["file"], row["after"])
        for _, rows in results.values()
        for row in rows
        if row["outcome"] not in NOTICED
    }
    assert set(EQUIVALENT) <= left
