import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_first_example_runs_and_scores_what_it_says():
    first = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    exec(first.group(1), names)
    assert round(names["metric"].score(names["X_new"], names["y_new"]), 3) == 1.0
    assert len(first.group(1).strip().splitlines()) <= 12
