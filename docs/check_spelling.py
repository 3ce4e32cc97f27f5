"""Whether prose is in British English: ``python docs/check_spelling.py``.

Words of ``docs/british.txt`` are looked for in all Markdown that people wrote. Code, tables, titles
(in italics), comments and addresses are left out. Mistakes that are no matter of country are found
by codespell.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.site import pages

WORDS = dict(
    line.split("->") for line in (ROOT / "docs/british.txt").read_text(encoding="utf-8").split()
)
_FENCED = re.compile(r"^( *)(`{3,}).*?^\1\2$", re.MULTILINE | re.DOTALL)
_LEFT_OUT = re.compile(
    r"<!--.*?-->|`[^`]*`|^ *\|[^\n]*$|(?<!\*)\*[^*]+\*(?!\*)|\]\([^)]*\)|https?:\S+",
    re.MULTILINE | re.DOTALL,
)


def prose(text):
    """Text without what is no prose, in as many lines."""

    def lines(found):
        return "\n" * found[0].count("\n")

    return _LEFT_OUT.sub(lines, _FENCED.sub(lines, text))


def american(text):
    """Words with the numbers of their lines, and what they are over here."""
    for number, line in enumerate(prose(text).split("\n"), start=1):
        for word in re.findall(r"\b[a-z]+\b", line.lower()):
            if word in WORDS:
                yield number, word, WORDS[word]


def main():
    files = [*pages(), *(ROOT / name for name in ("CHANGELOG.md", "SECURITY.md"))]
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {word}, over here {right}"
        for path in files
        if path.is_file()
        for number, word, right in american(path.read_text(encoding="utf-8"))
    ]
    print("\n".join(wrong) or "All prose is in British English.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
