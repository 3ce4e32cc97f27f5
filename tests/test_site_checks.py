"""What looks over the site: docs/check_*.py and what docs/extensions puts right in its pages."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def loaded(name):
    """A program of docs/ as a module."""
    spec = spec_from_file_location(Path(name).stem, DOCS / name)
    module = module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="top">A</h1><a href="#top">x</a><a href="sub/b.html#there">x</a>'
        '<a href="sub/b.html#gone">x</a><a href="c.html">x</a><a href="https://example.org">x</a>'
    )
    (tmp_path / "sub" / "b.html").write_text(
        '<p id="there"></p><a href="../index.html">x</a><img src="https://example.org/a.png">'
    )
    wrong, elsewhere = loaded("check_links.py").problems(tmp_path)
    assert wrong == [
        "index.html: there is no anchor sub/b.html#gone",
        "index.html: there is no c.html",
        f"{Path('sub/b.html')} loads from elsewhere: https://example.org/a.png",
    ]
    assert sorted(elsewhere) == ["https://example.org", "https://example.org/a.png"]


PROSE = """# A colour

The center is `center`, see [centre](color/center.md) and *Nearest neighbor classification.*

```python
color = "gray"
```

| neighbors | centre |
<!-- color -->
  ```text
  gray
  ```
Two neighbors.
"""


def test_prose_is_british_and_code_is_as_it_is():
    found = list(loaded("check_spelling.py").american(PROSE))
    assert found == [(3, "center", "centre"), (14, "neighbors", "neighbours")]


def test_headings_of_tables_are_not_empty_and_buttons_have_names():
    put_right = loaded("extensions/accessible.py").put_right
    table = '<th class="head"><p></p></th><th class="head"><p>a</p></th><th></th>'
    expected = '<td class="head"></td><th class="head"><p>a</p></th><td></td>'
    assert put_right(table) == put_right(expected) == expected
    unfolds = '<summary><span class="toctree-toggle" role="presentation">'
    assert 'aria-label="Show' in put_right(unfolds)
    assert put_right("<summary>More</summary>") == "<summary>More</summary>"
