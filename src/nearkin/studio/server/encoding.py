"""What goes to the page, as bytes."""

from __future__ import annotations

import html
import json
import math
import shlex
import shutil
import struct
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np


def as_json(value: Any) -> str:
    """Encode plain data as JSON; NaN and infinite numbers become null.

    >>> as_json({"auc": float("nan"), "rows": [np.int64(3)], "text": "</script>"})
    '{"auc":null,"rows":[3],"text":"</script>"}'
    """
    try:
        return _dump_json(value)
    except (TypeError, ValueError):  # rare, so that most values are gone through only once
        return _dump_json(_to_plain_values(value))


def _dump_json(value: Any) -> str:
    """Encode as JSON; raise if there are NaN, NumPy values or the like."""
    # In ASCII: texts of files may have halves of signs, which no encoding takes.
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _to_plain_values(value: Any) -> Any:
    """Convert NumPy values, tuples and other types to those of JSON, NaN to None."""
    if isinstance(value, Mapping):
        return {str(key): _to_plain_values(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _to_plain_values(value.tolist())
    if isinstance(value, list | tuple):
        return [_to_plain_values(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def encode_layout(layout: Mapping[str, Any]) -> bytes:
    """Encode a layout: a header of eight bytes, then x0 y0 x1 y1 ... as float32, little endian.

    The header holds its version as uint32; a byte that is 1 for a map of neighbours; a byte with
    the per cent of the work on that map that is done; and two unused bytes.
    """
    share = layout.get("share")
    percent = 100 if share is None else int(100 * share)
    head = struct.pack("<IBBxx", layout["version"], share is not None, percent)
    return head + encode_numbers(layout["coordinates"])


def encode_numbers(numbers: Any) -> bytes:
    """Encode numbers as float32, little endian."""
    return np.ascontiguousarray(numbers, dtype="<f4").tobytes()


def encode_with(found: Mapping[str, Any], content: bytes) -> bytes:
    """Encode values and bytes: a length, so long a JSON text with blanks up to a float, bytes."""
    head = as_json(found).encode()
    head += b" " * (-len(head) % 4)
    return struct.pack("<I", len(head)) + head + content


# Built from the folder page/ of the sources.
FOLDER = Path(__file__).parent / "page"
# The oldest Node.js that builds it.
NODE = "20.19"


def page_folder() -> Path | None:
    """Folder of the built page; None if it has not been built."""
    return FOLDER if (FOLDER / "index.html").is_file() else None


def paragraphs(*sentences: str) -> str:
    """Make HTML of text, a paragraph for each sentence."""
    return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)


def plain_page(*sentences: str) -> str:
    """Make an HTML page of text, a paragraph for each sentence."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<title>nearkin studio</title></head><body><h1>nearkin studio</h1>"
        f"{paragraphs(*sentences)}</body></html>"
    )


def make_missing_page() -> str:
    """Make the HTML that is shown if the page has not been built."""
    return plain_page(*why_no_page(), "Then start the studio again.")


def why_no_page() -> tuple[str, str]:
    """Return two sentences: the page has not been built, and how to build it for this install."""
    return "The page of the studio has not been built.", f"{_choose_command()}."


def _choose_command() -> str:
    """Return the command that builds or installs the page."""
    root = FOLDER.parents[4]
    if (root / "page" / "package.json").is_file():
        return f"{_node_hint()}make studio, in {root}"
    again = "pip install --force-reinstall --no-deps --no-cache-dir"
    source = _find_source()
    if source is None:  # a package index, whose wheels have the page
        return f"{again} --only-binary nearkin nearkin"
    return f"{_node_hint()}{again} {shlex.quote(source)}"


def _node_hint() -> str:
    """Return a request to install Node.js, or an empty text if it is installed."""
    return "" if shutil.which("npm") else f"Install Node.js {NODE} or later, then: "


def _find_source() -> str | None:
    """Return the URL that pip installed nearkin from; None if that was a package index."""
    try:
        text = distribution("nearkin").read_text("direct_url.json")
        told = json.loads(text or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        return None
    url = told.get("url")
    if url and "vcs_info" in told:
        wanted = told["vcs_info"].get("requested_revision")
        at = f"@{wanted}" if wanted else ""
        return f"{told['vcs_info'].get('vcs', 'git')}+{url}{at}"
    return None if url is None else str(url)
