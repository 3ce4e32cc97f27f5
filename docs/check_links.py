"""Whether every link of the built site leads somewhere: ``python docs/check_links.py build/site``.

Files and anchors are looked for on the disk. Links to elsewhere are listed in ``links.txt`` beside
the site, and nothing is asked of anybody. What a page loads by itself must be on the disk, too.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}
# These name another address without loading it.
NAMED = {"canonical", "license", "author"}


class Page(HTMLParser):
    """Links of a page, what it loads, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        for name, value in attributes:
            if (tag, name) in LOADED and value and found.get("rel") not in NAMED:
                self.loaded.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)


def problems(site):
    """What leads nowhere, by pages; and all addresses elsewhere, with the first page of each."""
    files = (path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts)
    pages = {path.resolve(): Page(path) for path in files}
    wrong, elsewhere = [], {}
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme == "data" or link == "#":
                continue
            if parts.scheme or parts.netloc:
                elsewhere.setdefault(link, name)
                if link in page.loaded:
                    wrong.append(f"{name} loads from elsewhere: {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file():
                wrong.append(f"{name}: there is no {link}")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                wrong.append(f"{name}: there is no anchor {link}")
    return wrong, elsewhere


def main(folder):
    wrong, elsewhere = problems(Path(folder))
    text = "".join(f"{link}  ({page})\n" for link, page in sorted(elsewhere.items()))
    Path(folder, "links.txt").write_text(text, encoding="utf-8")
    for line in wrong:
        print(line)
    print(f"{len(wrong)} links lead nowhere" if wrong else "All links lead somewhere", end="; ")
    print(f"{len(elsewhere)} lead elsewhere and are listed in {Path(folder, 'links.txt')}.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
