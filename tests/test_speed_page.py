"""The page on speed is what its stored results give, and a measurement is whole."""

import shutil

import pytest

from benchmarks.record import ROOT
from benchmarks.speed import page
from benchmarks.speed.one import Setting, measure
from benchmarks.speed.run import smaller
from tests.cases import each


def test_the_page_shows_what_is_stored(tmp_path):
    stored = ROOT / "benchmarks/speed"
    for path in stored.iterdir():
        if path.suffix in (".json", ".jsonl", ".md") and path.name != "README.md":
            shutil.copy(path, tmp_path)
    page.write(tmp_path)
    assert (tmp_path / "README.md").read_text() == (stored / "README.md").read_text()


def test_what_is_missing_names_its_command(tmp_path):
    page.write(tmp_path)
    text = (tmp_path / "README.md").read_text()
    for section in page.SECTIONS:
        assert f"Not measured yet: `{section.command}` does it." in text


@each("method", ["bare product", "KernelBeta", "GMML", "NeighborIndex, exact"])
def test_a_measurement_tells_time_and_memory(method):
    setting = smaller(Setting(method, 300, "classes", d=8))
    row = measure(setting)
    assert {key: row[key] for key in vars(setting)} == vars(setting)
    assert 0 < row["seconds"] == pytest.approx(row["fit"] + row["transform"])
    assert row["peak_gb"] > row["input_gb"] > 0
