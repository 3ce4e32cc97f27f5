"""A real browser and a real studio, one of each for all tests; a tab of its own for each test."""

import asyncio
import os
from contextlib import ExitStack
from importlib.util import find_spec

import pytest

from benchmarks.studio.browser import FLAGS, find_browser, launched
from nearkin.studio.server import encoding
from tests.cli.copies import serving
from tests.studio.server.browser.stories import stories
from tests.studio.server.browser.studios import studio_at
from tests.studio.server.browser.watched import DIGITS, WatchedTab


def what_is_missing():
    """What to install or build before a browser can be driven, or None."""
    if find_spec("playwright") is None:
        return "tests in a browser need Playwright: pip install playwright"
    if find_browser() is None:
        return "tests in a browser need Chromium: install it, or name it in NEARKIN_CHROMIUM"
    if not (encoding.FOLDER / "index.html").exists():
        return "tests in a browser need the page of the studio: make studio"
    return None


@pytest.fixture(scope="session")
def playwright():
    missing = what_is_missing()
    if missing and os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(missing, pytrace=False)
    if missing:
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as found:
        found.loop = asyncio.get_running_loop()
        yield found
        asyncio._set_running_loop(found.loop)


@pytest.fixture(autouse=True)
def _hidden_loop(playwright):
    """Between tests of a browser, let others of this process have event loops of their own.

    Playwright's loop counts as running from its start to its end.
    """
    asyncio._set_running_loop(playwright.loop)
    yield
    asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def browser(playwright):
    # WebGL by software is slow enough; all else is drawn without it.
    found = launched(playwright, [*FLAGS, "--disable-gpu-compositing"])
    yield found
    asyncio._set_running_loop(playwright.loop)
    found.close()


@pytest.fixture(scope="session")
def copies(browser):
    """Who makes processes for studios."""
    with serving() as address:
        yield address


@pytest.fixture
def studio_of(copies):
    """Start studios in folders, with arguments of the command; they end after all tabs."""
    with ExitStack() as stack:

        def start(folder, *arguments):
            return stack.enter_context(studio_at(copies, folder, *arguments))

        yield start


@pytest.fixture(scope="session")
def demo_of_session(copies, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    arguments = ("--demo", "--journal", "answers.jsonl")
    with studio_at(copies, folder, *arguments, n_digits=len(DIGITS)) as studio:
        yield studio


@pytest.fixture
def demo(demo_of_session):
    """The studio of few digits, with no answer yet, and questions that suit that."""
    demo_of_session.forget()
    demo_of_session.wait_for_report()
    return demo_of_session


@pytest.fixture(scope="session")
def stories_of_session(copies, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stories")
    stories().to_parquet(folder / "stories.parquet")
    with studio_at(copies, folder, "stories.parquet", "--id", "id") as studio:
        studio.post("/api/ask", {"purpose": "kinds", "words": "The same kind of thing?"})
        yield studio


@pytest.fixture
def tales(stories_of_session):
    """A studio of records with long texts, gaps and numbers, with no answer yet."""
    stories_of_session.forget()
    stories_of_session.wait_for_report()
    return stories_of_session


@pytest.fixture
def open_tab(browser, studio_of):
    """Open tabs by the address of a studio, each in a profile of its own.

    At the end no tab may have complained, nor asked any other server.
    """
    with ExitStack() as stack:
        tabs = []

        def open_one(url, *, version=0, browser=browser, **settings):
            tab = stack.enter_context(WatchedTab.opened(browser, url, version, settings))
            tabs.append(tab)
            return tab

        yield open_one
        for tab in tabs:
            tab.check()


@pytest.fixture
def tab(open_tab, demo):
    """A tab with the studio of digits, its points at rest."""
    return open_tab(demo.url, version=demo.state()["version"])
