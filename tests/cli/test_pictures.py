import pytest

from tests.cases import each

pytest.importorskip("matplotlib")
ROWS = ("rows.csv", "--id", "name", "-p", "pairs.csv", "-l", "kind")
STARTS = {"png": b"\x89PNG", "svg": b"<?xml"}


@each("ending", ["png", "svg"])
def test_pictures_are_drawn(run, files, model, ending):
    run("plot", "model.nearkin", *ROWS, "-o", f"new.{ending}")
    drawn = (files / f"new.{ending}").read_bytes()
    assert drawn.startswith(STARTS[ending])
    assert len(drawn) > 5000


@each(
    ("arguments", "message"),
    [
        (("model.nearkin", "-o", "new.png"), "nearkin plot model.nearkin rows.csv"),
        (("model.nearkin", "rows.csv", "-o", "new.gif"), "must end in .png, .svg"),
        (("model.nearkin", "rows.csv"), "name a file for the picture"),
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
