"""Look at pages of the built site in a browser: ``python docs/check_pages.py build/site``.

Pages are opened from the disk in Chromium, light and dark, on a telephone and on a large screen. On
each, axe-core must find nothing that keeps people from reading it, nothing may stand out to the
side, the page may ask no server for anything and may not complain; and the search must find names.
Without Chromium, Playwright or axe-core (``page/node_modules``) it says what is missing and passes.
"""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.studio.browser import FLAGS, find_browser, launched

AXE = ROOT / "page/node_modules/axe-core/axe.min.js"
WIDTHS, THEMES = (360, 1440), ("light", "dark")
# One of each kind of page: with code, tables, formulas, figures, cards, outputs and long lists.
PAGES = (
    "index",
    "start/index",
    "start/vectors",
    "guide/pairs",
    "guide/choosing",
    "guide/learners/kernel_beta",
    "theory/index",
    "theory/kernel_beta",
    "gallery/index",
    "notebooks/index",
    "which_tool",
    "measured/index",
    "measured/few_pairs",
    "measured/papers/index",
    "api/index",
    "api/commands",
    "api/generated/nearkin.MetricLearner",
    "project/changelog",
    "glossary",
    "search",
)
# Of the pages above there must be so many.
LEAST = 10
SOUGHT = ("KernelBeta", "must-link")
_OVERFLOW = """() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    return [...document.querySelectorAll('main *')]
        .filter((one) => one.getBoundingClientRect().right > width + 1)
        .slice(0, 3)
        .map((one) => `${one.tagName.toLowerCase()}.${one.className}`);
}"""


def what_is_missing():
    """What to install before pages can be looked at, or None."""
    if find_spec("playwright") is None:
        return "Playwright (pip install playwright)"
    if find_browser() is None:
        return "Chromium (install it, or name it in NEARKIN_CHROMIUM)"
    if not AXE.is_file():
        return "axe-core (npm ci, in page/)"
    return None


class Looking:
    """A browser's window of one width and theme, and what is wrong with pages in it."""

    def __init__(self, browser, site, width, theme, pictures):
        self.site, self.name, self.pictures = site, f"{theme}, {width} px", pictures
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme
        )
        self.tab = self.context.new_page()
        self.found, self.page = [], ""
        self.tab.on("request", self._asked)
        self.tab.on("pageerror", lambda error: self.wrong(f"script: {error}"))

    def wrong(self, what):
        self.found.append(f"{self.page} ({self.name}): {what}")

    def _asked(self, request):
        if request.url.split(":", 1)[0] not in ("file", "data", "blob"):
            self.wrong(f"asks for {request.url}")

    def open(self, page, query=""):
        self.page = page
        self.tab.goto((self.site / f"{page}.html").as_uri() + query)

    def look(self, page):
        self.open(page)
        wide = self.tab.evaluate(_OVERFLOW)
        if wide:
            self.wrong(f"wider than the window: {', '.join(wide)}")
        self.tab.add_script_tag(path=AXE)
        for rule in self.tab.evaluate("() => window.axe.run().then((all) => all.violations)"):
            places = "; ".join(" ".join(node["target"]) for node in rule["nodes"][:3])
            self.wrong(f"{rule['id']} ({rule['impact']}), {len(rule['nodes'])} times: {places}")
        if self.pictures:
            name = f"{page.replace('/', '-')}-{self.name.replace(', ', '-').replace(' ', '')}.png"
            self.tab.screenshot(path=self.pictures / name)

    def search(self, words):
        self.open("search", f"?q={words}")
        try:
            self.tab.wait_for_selector("#search-results li a", timeout=15_000)
        except Exception:
            self.wrong(f"the search does not find {words!r}")


def problems(site, pages, pictures):
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        browser = launched(playwright, FLAGS)
        for width in WIDTHS:
            for theme in THEMES:
                looking = Looking(browser, site, width, theme, pictures)
                for page in pages:
                    looking.look(page)
                if (width, theme) == (WIDTHS[0], THEMES[0]):
                    for words in SOUGHT:
                        looking.search(words)
                found += looking.found
                looking.context.close()
        browser.close()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("pages", nargs="*", help="without .html; some of each kind by default")
    parser.add_argument("--pictures", type=Path, help="folder to keep pictures of all pages in")
    options = parser.parse_args()
    missing = what_is_missing()
    if missing:
        print(f"Pages are not looked at: there is no {missing}.")
        return 0
    site = options.site.resolve()
    pages = options.pages or [page for page in PAGES if (site / f"{page}.html").is_file()]
    if not options.pages and len(pages) < LEAST:
        print(f"The site has {len(pages)} of the pages to look at, and not {LEAST}.")
        return 1
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    found = problems(site, pages, options.pictures)
    for line in found:
        print(line)
    seen = f"{len(pages)} pages, {' and '.join(THEMES)}, {' and '.join(map(str, WIDTHS))} px wide"
    print(f"{seen}: {f'{len(found)} things are wrong' if found else 'nothing is wrong'}.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
