"""docs/tables.md does what it says."""

import contextlib
import io

from tests.readme_blocks import README, agree, blocks_of, shown_after

TEXT = (README.parent / "docs" / "tables.md").read_text(encoding="utf-8")


def test_all_blocks_print_what_is_shown():
    names, shown = {}, shown_after(TEXT)
    assert shown
    for block in blocks_of(TEXT):
        if block.language != "python":
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(block.text, names)
        if block.line in shown:
            assert agree(shown[block.line].text, printed.getvalue()), printed.getvalue()
