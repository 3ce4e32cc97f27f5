"""The page as it was built, and what is shown where it was not."""

from __future__ import annotations

import html
from pathlib import Path

# Built from the folder page/ of the sources.
FOLDER = Path(__file__).parent / "page"


def page_folder() -> Path | None:
    """Where the page is; None if it has not been built."""
    return FOLDER if (FOLDER / "index.html").is_file() else None


def plain_page(*sentences: str) -> str:
    """A page of text."""
    paragraphs = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>nearkin studio</title></head><body><h1>nearkin studio</h1>{paragraphs}"
        "</body></html>"
    )


def page_is_missing() -> str:
    """What is shown in place of the page."""
    return plain_page(
        "The page has not been built.",
        "In a folder of the sources, with Node.js: make studio. Then load this again.",
    )
