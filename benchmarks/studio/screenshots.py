"""Pictures of the studio for the site, light and dark: ``python -m benchmarks.studio.screenshots``.

Two studios are run, one of scikit-learn's digits and one of people who do not exist. Labels answer
in the place of a person. Pictures are written to ``docs/images``, with few colours, so that they
are small. Names of pictures, such as ``groups``, take these alone.
"""

from __future__ import annotations

import argparse
import csv
import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from sklearn.datasets import load_digits

from benchmarks.record import ROOT
from benchmarks.studio.browser import Tab, running_browser
from benchmarks.studio.process import Studio, running_studio
from nearkin.datasets import make_records

FOLDER = ROOT / "docs" / "images"
THEMES = ("light", "dark")
DESK = {"width": 1180, "height": 760}
TALL = {"width": 1180, "height": 1000}
PHONE = {"width": 390, "height": 780}
N_ANSWERS, N_PEOPLE = 80, 300
COLOURS = 128
# Frames that colours and pictures may need after points have come to rest.
_A_MOMENT = 1500


def teach(studio: Studio, are_same: Callable[[int, int], bool], n: int) -> None:
    """Answer so many questions, and wait until all of it is learned from."""
    state = studio.state()
    for _ in range(n):
        question = state["question"]
        if question is None:  # answers came faster than questions are found
            studio.wait_for_report()
            question = studio.state()["question"]
        same = are_same(question["left"], question["right"])
        state = studio.post("/api/answers", {**question, "same": same})
    studio.wait_for_report()


@contextmanager
def digits(folder: Path) -> Iterator[Studio]:
    """The demonstration, after some answers."""
    labels = load_digits().target
    with running_studio("--demo", "--journal", "answers.jsonl", folder=folder) as studio:
        teach(studio, lambda left, right: bool(labels[left] == labels[right]), N_ANSWERS)
        yield studio


@contextmanager
def people(folder: Path) -> Iterator[Studio]:
    """A table of records, after a few answers."""
    table, person = make_records(N_PEOPLE, mistakes=4, random_state=1)
    with (folder / "people.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["id", *table])
        lines.writerows([f"p{i}", *(table[name][i] for name in table)] for i in range(N_PEOPLE))
    given = ("people.csv", "--id", "id", "--kinds", "born=name")
    with running_studio(*given, folder=folder) as studio:
        teach(studio, lambda left, right: bool(person[left] == person[right]), 10)
        studio.post("/api/ask", {"purpose": "things", "words": "The same person?"})
        yield studio


def coloured(tab: Tab, by: str) -> None:
    tab.part("colour-by").select_option(label=by)


def the_page(tab: Tab, studio: Studio) -> None:
    coloured(tab, "digit")


def grouped(tab: Tab, studio: Studio) -> None:
    tab.part("group").first.wait_for()


def explained(tab: Tab, studio: Studio) -> None:
    coloured(tab, "digit")
    tab.wait_for_question()
    tab.press("y")
    tab.part("why-sentence").wait_for()
    tab.part("why").scroll_into_view_if_needed()


def found(tab: Tab, studio: Studio) -> None:
    tab.wait_for_question()
    tab.part("search").fill("road")
    tab.part("found-actions").wait_for()


def reviewed(tab: Tab, studio: Studio) -> None:
    tab.wait_for_question()
    tab.press("r")
    tab.part("duplicates").locator("tbody tr").first.wait_for()


# What is done before each picture, in which studio and window.
PICTURES: dict[str, tuple[Any, Callable[[Tab, Studio], None], dict[str, int]]] = {
    "studio": (digits, the_page, DESK),
    "studio_why": (digits, explained, TALL),
    "studio_phone": (digits, the_page, PHONE),
    "studio_groups": (digits, grouped, DESK),
    "studio_find": (people, found, DESK),
    "studio_review": (people, reviewed, TALL),
}


def shoot(browser: Any, studio: Studio, name: str, theme: str) -> None:
    """One picture."""
    _, prepare, window = PICTURES[name]
    context = browser.new_context(viewport=window, color_scheme=theme, reduced_motion="reduce")
    context.add_init_script(
        "try { localStorage.setItem('nearkin-by-groups', 'off') } catch {}"  # two on the card
    )
    try:
        tab = Tab(context.new_page())
        tab.open(studio.url, studio.state()["version"])
        prepare(tab, studio)
        tab.settle()
        tab.page.wait_for_timeout(_A_MOMENT)
        write(tab.page.screenshot(), FOLDER / f"{name}_{theme}.png")
    finally:
        context.close()


def write(png: bytes, path: Path) -> None:
    """Keep a picture with few colours."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture = picture.quantize(COLOURS, dither=Image.Dither.NONE)
    picture.save(path, optimize=True)
    print(f"written: {path.relative_to(ROOT)}, {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    names = parser.parse_args().names or list(PICTURES)
    with running_browser() as browser:
        for of in dict.fromkeys(PICTURES[name][0] for name in names):
            with tempfile.TemporaryDirectory() as folder, of(Path(folder)) as studio:
                for name in names:
                    for theme in THEMES if PICTURES[name][0] is of else ():
                        shoot(browser, studio, name, theme)


if __name__ == "__main__":
    main()
