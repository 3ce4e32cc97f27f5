import json

import numpy as np
import pytest

from benchmarks.record import store
from benchmarks.speed import page, pictures
from benchmarks.speed.data import DATA, draw_pairs
from benchmarks.speed.one import METHODS, Setting, measure
from benchmarks.speed.run import PARTS, smaller
from tests.cases import each


def made(setting: Setting, **more: object) -> dict:
    """A row as if it had been measured, with a time that grows as n · d · √m does."""
    seconds = 1e-6 * setting.n * setting.d * setting.m**0.5 / (setting.cores or 1)
    return {
        **more,
        "whose": METHODS[setting.method].whose,
        **vars(setting),
        "seconds": seconds,
        **dict.fromkeys(("fit", "transform", "fit_work", "transform_work"), seconds / 2),
        "peak_gb": 3.0,
        "input_gb": 1.0,
        "output_gb": 0.5,
        "columns": 40,
        "auc": 0.9,
    }


@pytest.fixture
def everything(tmp_path):
    for part in PARTS.values():
        store(tmp_path / part.file, [made(setting, **more) for more, setting in part.plan()])
    times = {"read_seconds": 1.0, "fit_seconds": 2.0, "transform_seconds": 3.0}
    stream = [
        {"method": "KernelBeta", "n": n, **times, "peak_gb": 0.5, "input_gb": 0.1}
        for n in (1000, 10_000)
    ]
    store(tmp_path / "streaming.jsonl", stream)
    commands = [
        {"method": method, "n_components": n, "seconds": seconds, "peak_gb": 0.5}
        for method, seconds in (("library", 4.0), ("one command", 5.0), ("two commands", 7.0))
        for n in (None, 10)
    ]
    store(tmp_path / "command_line.jsonl", [{**row, "process_seconds": 4.5} for row in commands])
    on_workers = {"method": "KernelBeta", "n": 5000, "sum": 7.0}
    times = ((1, 1.8), (2, 1.0))
    store(tmp_path / "dask.jsonl", [{**on_workers, "workers": w, "seconds": s} for w, s in times])
    simulated = {"workers": 100, "chunks": 200, "task_seconds": 1.0, "tasks": 500}
    found = {"seconds": 2.5, "scheduler": 0.5, "scheduler_idle": 0.01, "client": 0.1}
    store(tmp_path / "thousand_workers.jsonl", [{**simulated, **found}])
    job = {"learner": "GMML", "n": 1000, "d": 5, "job": "both", "settings": {}, "pairs": 200}
    said = {"dtype": "float32", "calibration": 5.0, "seconds": 1.1, "low": 0.9, "high": 1.3}
    truth = {"memory": 0.4, "true": {"fit": 0.5, "transform": 0.5, "memory": 0.41}}
    store(tmp_path / "estimate.jsonl", [{**job, **said, **truth}])
    answer = {"name": "KernelBeta", "learn": 0.004, "view": 0.003, "transform": 0.02}
    answers = [{**answer, "what": what} for what in ("answer", "undo", "fit")]
    store(tmp_path / "one_more_pair.jsonl", answers)
    search = {"rows": 10_000, "setting": "", "build": 0.1, "query_ms": 0.2, "single_ms": 1.5}
    search |= {"search": "nearkin, exact", "recall": 0.99, "add": 0.1, "memory": 1}
    store(tmp_path / "neighbor_index.jsonl", [search])
    ceilings = {
        "ceiling: landmark product, rows/s": 4e7,
        "ceiling: landmark product, TFLOP/s": 20.0,
        "ceiling: square product, TFLOP/s": 50.0,
        "ceiling: copy, GB/s": 3000.0,
    }
    figures = {"KernelBeta transform, rows/s": 2e7, **ceilings}
    (tmp_path / page.GPU).write_text(json.dumps({"about": {"device": "a GPU"}, "torch": figures}))
    seconds = {"KernelBeta": 2.0, "read then write": 1.6, "read beside write": 1.0}
    streamed = {"about": {"rows": 1000, "device": "cuda", "cores": 16}, "seconds": seconds}
    (tmp_path / "gpu_stream.json").write_text(json.dumps(streamed))
    return tmp_path


def test_the_page_shows_what_is_stored(everything):
    page.write(everything)
    text = (everything / "README.md").read_text()
    assert "Not measured yet" not in text
    for section in page.SECTIONS:
        assert f"## {section.title}\n" in text
    for name in ("large", "peers", "growth"):
        assert f"({name}.png)" in text
        assert (everything / f"{name}.png").stat().st_size > 1000
    lines = text.splitlines()
    # Times were made by a formula: what is fitted and divided is known.
    assert any(x.startswith("| columns: ITML |") and "| 1.00 |" in x for x in lines)
    assert any(x.startswith("| landmarks: KernelBeta |") and "| 0.50 |" in x for x in lines)
    assert "a GPU | 20.0 million rows a second, 50.0 % of the matrix product alone |" in text
    assert "Parquet file to another | 5 s, 0.50 GB of memory |" in text
    assert "from Parquet to Parquet | 5.0 s, with the start of the program |" in text
    assert "| all | one command | 5.00 | 1.25 | 0.50 |" in text
    assert "5,000 rows | KernelBeta 1.80 |" in text
    assert "the new plane of 10,000 rows | 7 ms, in 95 % of cases up to 7 ms |" in text
    assert "exact 1.5 ms, recall 0.990" in text


def test_what_is_missing_names_its_command(tmp_path):
    page.write(tmp_path)
    text = (tmp_path / "README.md").read_text()
    for section in page.SECTIONS:
        assert f"Not measured yet: `{section.command}` does it." in text


def test_without_metric_learn_the_page_says_so(tmp_path):
    part = PARTS["peers"]
    rows = [made(setting) for _, setting in part.plan()]
    store(tmp_path / part.file, [row for row in rows if row["whose"] != "metric-learn"])
    page.write(tmp_path)
    assert "`NEARKIN_PEER_PYTHON` was not set" in (tmp_path / "README.md").read_text()


def test_rounds_become_medians():
    rows = [{"method": "a", "n": 10, "seconds": s, "columns": 3} for s in (1.0, 2.0, 9.0)]
    (row,) = page.merged(rows)
    assert row == {
        "method": "a",
        "n": 10,
        "seconds": 2.0,
        "columns": 3,
        "rounds": 3,
        "fastest": 1.0,
        "slowest": 9.0,
    }
    assert page.span(row) == "1.00 to 9.00"


@each(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (534_821.0, "535,000"),
        (0.01234, "0.0123"),
        (1.5e-9, "1.5e-09"),
        (0.0, "0"),
        (None, ""),
        ("words", "words"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert page.number(value) == text


def test_labels_of_curves_keep_apart_and_in_order():
    found = pictures.apart([1.0, 1.01, 0.99, 3.0], 0.2)
    assert np.diff(sorted(found)).min() >= 0.199
    assert list(np.argsort(found)) == [2, 0, 1, 3]


@each("name", DATA)
def test_pairs_follow_the_labels(name):
    X, y = DATA[name](500, 12)
    assert X.shape == (500, 12)
    must, cannot = draw_pairs(y, 100, np.random.default_rng(0))
    assert len(must) == len(cannot) == 50
    assert (y[must[:, 0]] == y[must[:, 1]]).all()
    assert (must[:, 0] != must[:, 1]).all()
    assert (y[cannot[:, 0]] != y[cannot[:, 1]]).all()


@each("method", ["bare product", "KernelBeta", "GMML", "NeighborIndex, exact"])
def test_a_measurement_tells_time_and_memory(method):
    setting = smaller(Setting(method, 300, "classes", d=8))
    row = measure(setting)
    assert {key: row[key] for key in vars(setting)} == vars(setting)
    assert 0 < row["seconds"] == pytest.approx(row["fit"] + row["transform"])
    assert row["peak_gb"] > row["input_gb"] > 0
