"""The two pictures of the page in the README: `make screenshots` draws them anew.

A store is filled with the demo's history, served, and looked at in a browser.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright
from tests import browsers
from tests.page.serving import Site

from recollect.demo.history import fill

IMAGES = Path(__file__).parent / "images"
NAMESPACE = "borrowshed"
QUESTION = "how do members stay logged in?"
SIZE = {"width": 1280, "height": 820}
SHARPNESS = 1.5
LARGEST = 300_000


def draw(page: Page, site: Site) -> None:
    """A search with explained scores, in light; a memory with its neighbourhood, in dark."""
    page.goto(f"{site.url}/#token={site.token}")
    expect(page.locator("#q")).to_be_visible()
    page.goto(site.address(NAMESPACE, q=QUESTION, superseded="1", why="1"))
    expect(page.locator(".why").nth(2)).to_be_visible()
    page.screenshot(path=IMAGES / "page-search.png", animations="disabled")
    page.emulate_media(color_scheme="dark")
    page.locator(".hit .opens").first.click()
    expect(page.locator(".graph .node").first).to_be_visible()
    page.screenshot(path=IMAGES / "page-memory.png", animations="disabled")


def main() -> None:
    """Fill, serve, draw."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = Site(Path(folder), embedder="arctic-s")
        with site.memories(NAMESPACE) as memories:
            fill(memories, datetime.now(UTC))
        site.start()
        browser = playwright.chromium.launch(executable_path=browsers.obtain(), args=list(browsers.FLAGS))
        page = browser.new_page(viewport=SIZE, device_scale_factor=SHARPNESS, locale="en-GB")  # type: ignore[arg-type]
        draw(page, site)
        browser.close()
        site.stop()
    for image in sorted(IMAGES.glob("page-*.png")):
        print(f"{image.relative_to(Path.cwd())}: {image.stat().st_size:,} bytes")
        assert image.stat().st_size < LARGEST, "too large for a README"


if __name__ == "__main__":
    main()
