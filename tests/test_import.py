import inspect
import re
import subprocess
import sys

import pytest

import nearkin

HOMES = {
    "nearkin.learners.rca",
    "nearkin.questions.strategies",
    "nearkin.rows.streams",
    "nearkin.plot",
    "nearkin.studio.notebook",
}
MODULES = {"datasets", "maps", "model_file", "onnx_file", "plot", "scores", "studio"}
SLOW_TO_IMPORT = {
    *("dask", "distributed", "fastapi", "matplotlib", "onnx", "pandas", "polars", "pyarrow"),
    *("rich", "torch", "uvicorn", "websockets"),
}


def _printed(*steps):
    """Lines that code prints, in one process that forgets our modules before each step.

    To import what others have written takes most of the time, and is done once.
    """
    forget = (
        "import sys\n"
        "for name in [name for name in sys.modules if name.partition('.')[0] == 'nearkin']:\n"
        "    del sys.modules[name]\n"
    )
    return _printed_by("\n".join(forget + step for step in steps)).splitlines()


def _printed_by(code):
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_importing_nearkin_alone_loads_no_part_of_it():
    loaded = _printed_by(
        "import sys, nearkin; "
        "print(*{name.partition('.')[0] for name in sys.modules}); dir(nearkin)"
    ).split()
    assert "nearkin" in loaded
    assert not {*SLOW_TO_IMPORT, "numpy", "scipy", "sklearn", "numba"} & set(loaded)


def test_dir_shows_public_names_only():
    assert set(dir(nearkin)) == {*nearkin.__all__, "__doc__", "__version__"}
    assert dir(nearkin.datasets) == ["make_records", "make_three_normal", "make_xor"]
    for name in MODULES:
        module = getattr(nearkin, name)
        for shown in dir(module):
            home = getattr(module, shown).__module__
            assert home == module.__name__ or home.startswith(f"{module.__name__}.")


def test_the_package_says_where_to_look():
    text = nearkin.__doc__
    named = [name for names in re.findall(r"^- (.+?):", text, re.M) for name in names.split(", ")]
    for name in named:
        root = name.strip("`").removeprefix("nearkin.").partition(".")[0]
        assert root in ("metric", "dask") or root in nearkin.__all__, name
    assert len(named) > 10


def test_every_public_name_is_there():
    for name in nearkin.__all__:
        found = getattr(nearkin, name)
        assert callable(found) or inspect.ismodule(found), name
    assert set(nearkin._HOMES) | MODULES == set(nearkin.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = nearkin.nonsense


@pytest.mark.night
def test_what_a_process_imports_first_may_be_any_part(tmp_path):
    path = tmp_path / "m.nearkin"
    X = [[0.0, 0], [1, 0], [0, 5]]
    chain = nearkin.Chain([nearkin.RCA(), nearkin.KernelBeta()])
    chain.fit(X, pairs=nearkin.Pairs([(0, 1)])).save(path)
    new, *imported, described, loaded = _printed(
        "import sklearn.metrics, sklearn.preprocessing; before = set(sys.modules); import nearkin; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})",
        *(f"import {first}; print('done')" for first in HOMES),
        f"import nearkin.storage.models as m; print(m.describe({str(path)!r}).training_rows)",
        f"import nearkin; print(' '.join(str(nearkin.load({str(path)!r})).split()))",
    )
    # nothing slow that scikit-learn does not
    assert "nearkin" in new.split()
    assert not SLOW_TO_IMPORT & set(new.split())
    # whichever part comes first
    assert imported == ["done"] * len(HOMES)
    # a model that is read before anything else was used
    assert "steps_.1" in described
    assert "KernelBeta" in loaded
