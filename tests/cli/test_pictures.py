import pytest

from tests.cases import each
from tests.few_trees import few_trees as few_trees  # for all tests here

pytest.importorskip("matplotlib")
ROWS = ("rows.csv", "--id", "name", "-p", "pairs.csv", "-l", "kind")
STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "html": b"<!DOCTYPE html>"}


@pytest.mark.parametrize("ending", ["png", "svg", "html"])
@pytest.mark.parametrize("kind", ["embedding", "distances", "spectrum"])
def test_pictures_are_drawn(run, files, model, kind, ending):
    name = f"new.{ending}"
    rows = () if kind == "spectrum" else ROWS
    run("plot", "model.nearkin", *rows, "--kind", kind, "-o", name)
    drawn = (files / name).read_bytes()
    assert drawn.startswith(STARTS[ending])
    assert len(drawn) > 5000
    if ending == "html":
        assert b"<svg" in drawn
        assert b"<script" not in drawn


def test_what_was_compared_is_drawn(run, files):
    which = ("rows.csv", "-c", "a,b", "-p", "numbered.csv", "--set", "time_budget=1")
    run("fit", *which, "--standardise", "-o", "auto.nearkin")
    run("plot", "auto.nearkin", "--kind", "selection", "-o", "new.svg")
    assert (files / "new.svg").stat().st_size > 5000


@each(
    ("arguments", "message"),
    [
        (
            ("model.nearkin", "-o", "new.png", "--kind", "embedding"),
            "name their file after the model",
        ),
        (
            ("model.nearkin", "rows.csv", "-o", "new.png", "--kind", "distances"),
            "give --pairs FILE",
        ),
        (
            ("model.nearkin", "-o", "new.png", "--kind", "selection"),
            "--learner auto; model.nearkin has a",
        ),
        (("model.nearkin", "-o", "new.gif", "--kind", "spectrum"), "must end in .png, .svg, .html"),
        (("model.nearkin", "--kind", "spectrum"), "name a file for the picture"),
        (("model.nearkin", "-o", "new.png", "--kind", "portrait"), "portrait"),
        (("spectrum", "model.nearkin"), "first: nearkin plot model.nearkin --kind spectrum."),
        (("embedding", "model.nearkin", "rows.csv"), "nearkin plot model.nearkin rows.csv --kind"),
    ],
)
def test_wrong_arguments_are_explained(run, files, model, arguments, message):
    assert message in run("plot", *arguments, status=2).err


def test_the_demonstration_shows_tables_and_draws(run, tmp_path, monkeypatch):
    from nearkin import demo

    monkeypatch.setattr(demo, "digits_task", demo.xor_task)  # which is quick
    monkeypatch.setattr(demo, "MetricLearner", lambda random_state: demo.RCA())
    result = run("demo", "-o", "pictures", "--pairs", 30, "--seed", 3)
    assert "KernelBeta" in result.out
    assert (tmp_path / "pictures" / "xor.png").stat().st_size > 5000
