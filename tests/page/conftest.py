"""A browser and a server for each file; a page, a namespace and an eye on the console for each test."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from recollect import Memories

from .. import browsers
from .serving import Site, fill

expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for each file: it must be gone before other tests use event loops of their own."""
    program = browsers.obtain_or_skip()
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=list(browsers.FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A running server."""
    served = Site(tmp_path_factory.mktemp("site"))
    served.start()
    yield served
    served.stop()


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> str:
    """A namespace of the test's own."""
    return str(request.node.name)[:80]


@pytest.fixture
def memories(site: Site, namespace: str) -> Iterator[Memories]:
    """The small history, in the test's namespace."""
    with site.memories(namespace) as opened:
        fill(opened)
        yield opened


class Guard:
    """What a page must never do: complain in the console, or ask another host."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.trouble: list[str] = []
        self.expected: list[str] = []

    def expect(self, pattern: str) -> None:
        """What the browser itself writes to the console when a request fails."""
        self.expected.append(pattern)

    def watch(self, page: Page) -> None:
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("request", lambda request: self._asked(request.url))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.trouble.append(f"{message.type}: {message.text}")

    def _asked(self, url: str) -> None:
        if not url.startswith(f"{self.url}/"):
            self.trouble.append(f"asked {url}")

    def check(self) -> None:
        left = [each for each in self.trouble if not any(re.search(some, each) for some in self.expected)]
        assert left == []


@pytest.fixture
def guard(site: Site) -> Guard:
    return Guard(site.url)


NewPage = Callable[..., Page]


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A profile that the tests of a file share: a tab of its own is enough to be apart."""
    made = browser.new_context(locale="en-GB", timezone_id="UTC")
    yield made
    made.close()


@pytest.fixture
def new_page(context: BrowserContext, guard: Guard) -> Iterator[NewPage]:
    """A tab, watched; at the end nothing may have been complained about."""
    pages: list[Page] = []

    def make(width: int = 1280, height: int = 900, **media: Any) -> Page:
        page = context.new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(**media)
        guard.watch(page)
        return page

    yield make
    for page in pages:
        page.close()
    guard.check()


@pytest.fixture
def page(new_page: NewPage, site: Site, namespace: str, memories: Memories) -> Page:
    """The page, let in, on the search of the test's namespace."""
    opened = new_page()
    enter(opened, site, namespace)
    return opened


def enter(page: Page, site: Site, namespace: str, token: str | None = None) -> None:
    """Open the page in a namespace, with the token that this tab would have kept."""
    kept = json.dumps(token or site.token)
    page.add_init_script(
        f"sessionStorage.getItem('recollect.token') ?? sessionStorage.setItem('recollect.token', {kept})"
    )
    page.goto(site.address(namespace))
    expect(page.locator("#q")).to_be_focused()


@pytest.fixture
def folder() -> Path:
    """Where the page's own files are."""
    from recollect.doors.http.page import folder

    return folder()
