"""A real browser on a real deployment.

`CHROMIUM` names the browser, else the first one found is used. Where there is none the tests are skipped, or fail if
`MERIDIAN_REQUIRE_BROWSER` is set. `MERIDIAN_SCREENSHOTS` names a folder for what `screenshot` takes; without it none is taken.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
]

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")

_TIMEOUT_MILLISECONDS = 15_000


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium."""
    named = os.environ.get("CHROMIUM")
    found = next(filter(None, map(shutil.which, [named] if named else NAMES)), None)
    if found is None:
        words = f"no Chromium was found ({f'CHROMIUM={named}' if named else ', '.join(NAMES)}); set CHROMIUM to its path"
        if os.environ.get("MERIDIAN_REQUIRE_BROWSER"):
            pytest.fail(words)
        pytest.skip(words)
    return found


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """One browser for a module's tests. Its event loop is this thread's, so async code there goes through `within`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def new_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """A function that makes a person's own browser session; keywords as Playwright's: `java_script_enabled=False`, …"""
    contexts: list[BrowserContext] = []

    def new_context(**options: Any) -> BrowserContext:
        context = browser.new_context(**{"viewport": {"width": WIDTHS[0], "height": 900}, **options})
        context.set_default_timeout(_TIMEOUT_MILLISECONDS)
        contexts.append(context)
        return context

    yield new_context
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_context: Callable[..., BrowserContext]) -> Page:
    """An empty tab of a session that nobody has signed in to yet."""
    return new_context().new_page()


@pytest.fixture(scope="module")
def sessions() -> dict[str, Any]:
    """The session of each person who signed in already: a link is good for once, and a module has one deployment."""
    return {}


@pytest.fixture
def signed_in(served: Any, sessions: dict[str, Any], new_context: Callable[..., BrowserContext]) -> Callable[..., Page]:
    """`signed_in("demo-writer")` is that person's tab at the home page; keywords as Playwright's of a context."""

    def signed_in(subject: str, **options: Any) -> Page:
        if subject not in sessions:
            entering = new_context()
            entering.new_page().goto(served.people[subject]["sign_in_url"])
            sessions[subject] = entering.storage_state()
        page = new_context(storage_state=sessions[subject], **options).new_page()
        page.goto(served.url)
        return page

    return signed_in


@pytest.fixture
def axe() -> Callable[[Page], list[str]]:
    """`axe(page)` is what axe-core finds wrong with it, a line each: the rule, its words and the first places."""

    def axe(page: Page) -> list[str]:
        violations = Axe().run(page).response["violations"]
        return [
            f"{violation['id']}: {violation['help']} at {', '.join(str(node['target'][0]) for node in violation['nodes'][:3])}"
            for violation in violations
        ]

    return axe


@pytest.fixture
def screenshot() -> Callable[[Page, str], None]:
    """`screenshot(page, "sign in")` keeps how a page looks, wide and narrow, in light and in dark."""
    folder = os.environ.get("MERIDIAN_SCREENSHOTS")

    def screenshot(page: Page, name: str) -> None:
        if not folder:
            return
        Path(folder).mkdir(parents=True, exist_ok=True)
        before = page.viewport_size
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            height = page.evaluate("document.documentElement.scrollHeight")  # so that nothing sticks in the middle of it
            page.set_viewport_size({"width": width, "height": max(900, height)})
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)
                file = f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}-{width}-{scheme}.png"
                page.screenshot(path=Path(folder) / file, full_page=True)
        page.emulate_media(color_scheme="no-preference")
        if before is not None:
            page.set_viewport_size(before)

    return screenshot
