"""The README does what it says, as other pages do: see tests/page_blocks.py.

Pages of docs/start are in tests/test_newcomer.py.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import nearkin
from tests.page_blocks import (
    README,
    ROOT,
    Result,
    agree,
    blocks_of,
    filled_in,
    problems,
    programs_of,
    results_of,
    run,
    shortened,
    shown_after,
)

TEXT = README.read_text(encoding="utf-8")


def test_the_readme_runs_and_prints_what_it_shows():
    results = results_of(README)
    assert [f"line {line}: {what}" for line, what in problems(TEXT, results)] == []
    assert [result.line for result in results] == [block.line for block in programs_of(TEXT)]
    assert not [result.skipped for result in results if result.skipped]


@pytest.mark.night
def test_the_page_on_large_data_runs_as_one_script(tmp_path):
    page = (ROOT / "docs" / "guide" / "scale.md").read_text(encoding="utf-8")
    program = "\n".join(block.text for block in blocks_of(page) if block.language == "python")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "from_afar.nearkin").is_file()


def test_the_first_example_is_short():
    first = next(block for block in blocks_of(TEXT) if block.language == "python")
    assert len(first.text.strip().splitlines()) <= 12


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT):
        assert (README.parent / Path(target)).exists(), target


# What the tests above go by

PAGE = """# A page

```python
a = 1
print("a is", a)
```

```text
a is 1
```

<!-- before
b = 2
-->

- In a list:

  ```python
  if b:
      print(a + b)
  ```

  ```text
  7
  ```

````{note}
```console
echo "of the shell" | tr s z  # as it is
```

```text
something
```
````

```text
not of a program
```

```{code-block} python
raise SystemExit
```
"""


def test_what_is_shown_and_not_printed_is_found_and_put_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = run(PAGE)
    assert [result.line for result in results] == [4, 13, 19, 29]
    assert list(shown_after(PAGE)) == [4, 19, 29]
    found = dict(problems(PAGE, results))
    assert found == {
        19: "prints\n3\n--write puts it there.",
        29: "prints\nof the zhell\n--write puts it there.",
    }
    right = filled_in(PAGE, results)
    assert "  ```text\n  3\n  ```\n" in right
    assert "```text\nof the zhell\n```\n" in right
    assert right.splitlines()[-9:] == PAGE.splitlines()[-9:]
    assert list(problems(right, run(right))) == []


def test_an_error_is_said_with_its_line_and_ends_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\na = 1\nb = a / 0\n```\n\n```python\na\n```\n")
    (result,) = results_of(page)
    assert f'{page}", line 3' in result.error
    assert "ZeroDivisionError" in dict(problems(page.read_text(), [result]))[2]


def test_commands_run_with_what_is_typed_and_must_succeed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = "```python\ntyped = 'not used'\n```\n\n```console\n"
    results = run(f"{start}nearkin --version  # short\n```\n")
    assert results[1].printed == f"{nearkin.__version__}\n"
    results = run(f"{start}nearkin info there_is_no.nearkin\n```\n")
    assert "nearkin info there_is_no.nearkin: ends with status 2" in results[1].error


def test_what_needs_a_package_that_is_not_there_is_left_out():
    page = "```python\nimport not_there\n\na = 1\n```\n\n```python\nb = a\n```\n"
    missing, rest = run(page)
    assert missing == Result(2, skipped="not_there is not installed")
    assert rest.skipped == missing.skipped
    assert list(problems(page, [missing, rest])) == []


def test_numbers_in_comments_are_those_of_the_calls_before_them():
    page = "```python\nabs(-2)  # 2: as it should be\nabs(-3)  # 2.9: wrong\n```\n"
    assert dict(problems(page, run(page))) == {2: "says 2.9, and it is 3.000"}


def test_numbers_may_differ_a_little_and_words_may_not():
    assert agree("gain +0.512 ± 0.097 on 50 pairs", "gain  +0.500 ±\n0.099 on 50 pairs")
    assert not agree("gain +0.512", "gain +0.412")
    assert not agree("gain +0.512", "loss +0.512")
    assert not agree("−0.01", "+0.02 more")


def test_output_is_shown_with_a_part_left_out():
    printed = "a\nb\nc\nd\ne\n" + "long " * 30 + "\n"
    shown = shortened(printed, "x\n  ...\ny\nz\n")
    assert shown.splitlines()[:3] == ["a", "  ...", "e"]
    assert shown.splitlines()[3].startswith("long long")
    assert max(map(len, shown.splitlines())) <= 100
    assert shortened(printed, shown) == shown
    assert shortened("a\nb\n", "x\n") == "a\nb\n"
