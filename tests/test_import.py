import subprocess
import sys

SLOW_TO_IMPORT = {
    "dask",
    "distributed",
    "matplotlib",
    "onnx",
    "pandas",
    "polars",
    "pyarrow",
    "pynndescent",
    "rich",
    "torch",
}


def test_importing_nearkin_loads_nothing_slow_that_scikit_learn_does_not():
    code = (
        "import sys, sklearn.metrics, sklearn.preprocessing; before = set(sys.modules); "
        "import nearkin; print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "nearkin" in loaded
    assert not SLOW_TO_IMPORT & set(loaded)
