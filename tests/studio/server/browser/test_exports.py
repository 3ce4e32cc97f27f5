"""What the page lets one download is what was taught."""

import csv
import shutil

import numpy as np
import pyarrow.parquet

import nearkin as nk
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from tests.studio.server.browser.watched import DIGITS, PIXELS, Oracle, asked


def downloaded(tab, what, folder):
    """Click on an entry of the export menu and keep the file that comes."""
    tab.part("export").click()
    return tab.download(f"export-{what}", folder)


def test_downloads_are_what_was_taught(tab, demo, tmp_path):
    Oracle().teach(demo, 12)
    demo.post("/api/answers", {**asked(demo), "same": None})
    tab.settle(demo.state()["version"])
    tab.hears(demo)
    left, right = np.random.default_rng(0).integers(len(PIXELS), size=(2, 200))

    model = downloaded(tab, "model", tmp_path)
    assert model.name == "model.nearkin"
    distances = nk.load(model).pair_distance(PIXELS[left], PIXELS[right])

    embedding = downloaded(tab, "embedding", tmp_path)
    assert embedding.name == "embedding.parquet"
    table = pyarrow.parquet.read_table(embedding).to_pandas()
    assert table.iloc[:, 0].tolist() == list(range(len(PIXELS)))
    Z = table.filter(regex="^z").to_numpy()
    apart = np.linalg.norm(Z[left] - Z[right], axis=1)
    np.testing.assert_allclose(apart, distances, rtol=0, atol=1e-6 * distances.max())
    # The picture of it is the one that the page shows.
    _, layout = demo.layout()
    np.testing.assert_allclose(table[["x", "y"]], layout, rtol=0, atol=1e-6)

    # A lesson that reads the journal has the same metric.
    records = records_of(PIXELS, columns={"digit": DIGITS.tolist()}, images=(8, 8))
    journal = tmp_path / "copy.jsonl"
    shutil.copy(demo.folder / "answers.jsonl", journal)
    with Lesson(records, journal=journal) as lesson:
        again = lesson.metric.pair_distance(PIXELS[left], PIXELS[right])
    np.testing.assert_allclose(again, distances, rtol=0, atol=1e-6 * distances.max())

    pairs = downloaded(tab, "pairs", tmp_path)
    assert pairs.name == "pairs.csv"
    with pairs.open(newline="") as file:
        rows = [(int(row["left"]), int(row["right"]), row["same"]) for row in csv.DictReader(file)]
    known = demo.get("/api/known")
    expected = []
    for kind, same in (("must_link", "true"), ("cannot_link", "false"), ("unsure", "")):
        ends = known[kind]
        expected += [(a, b, same) for a, b in zip(ends[::2], ends[1::2], strict=True)]
    assert len(rows) == 13
    assert sorted(rows) == sorted(expected)

    groups = downloaded(tab, "groups", tmp_path)
    assert groups.name == "groups.csv"
    with groups.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [int(line["row"]) for line in lines] == list(range(len(PIXELS)))
    sizes = tab.part("group").locator(".legend-count").all_inner_texts()
    group = np.array([int(line["group"]) for line in lines])
    assert [int((group == k).sum()) for k in np.unique(group)] == [int(size) for size in sizes]
