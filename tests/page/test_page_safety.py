"""Hostile text is shown as text; who is let in, and to what; the server goes away and comes back."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import BrowserContext, Page, expect

import recollect
from recollect import Memories

from .. import browsers
from .conftest import Guard, NewPage, enter
from .serving import Site, fill

DOCS = Path(__file__).parents[2] / "docs" / "page.md"
HOSTILE = (
    "<script>document.title = 'taken'</script>",
    "<img src=x onerror=\"document.title = 'taken'\">",
    "javascript:document.title='taken'",
    "</mark><b>bold</b><mark>&lt;i&gt;walrus&amp;</mark>",
    "${alert(1)} <!-- ' \" ` --> \\u003cscript\\u003e",
    "abc \u202etxt.exe \u2066isolate\u2067 reversed",
    "x" * 10_000,
)


@pytest.fixture
def hostile(site: Site, namespace: str) -> Memories:
    """A store in which every name and text means harm."""
    memories = site.memories(namespace)
    evil = HOSTILE[1]
    memories.start_session(HOSTILE[0], agent=evil)
    for number, text in enumerate(HOSTILE):
        more = {"session": HOSTILE[0], "tags": [HOSTILE[0][:90]], "speaker": evil, "source": HOSTILE[2]}
        memories.remember(
            f"walrus {text}",
            id=f"h{number}",
            metadata={"<b>": text},
            files=[HOSTILE[2]],
            **more,  # type: ignore[arg-type]
        )
    memories.relate("h0", "h1", "<b>harms</b>")
    memories.supersede("h4", "h5")
    memories.end_session(HOSTILE[0], summary=f"{HOSTILE[0]} {HOSTILE[5]} {HOSTILE[6][:300]}")
    return memories


ALIVE = """() => {
  const brought = "main :is(script, img, b, iframe), main i:not(.bar, .meter i, .lane i)";
  return [...document.querySelectorAll(`${brought}, a[href^=javascript]`)].map(element => element.outerHTML);
}"""


def nothing_came_alive(page: Page, width: int) -> None:
    """No element that a text brought, nothing run, nothing wider than the screen."""
    assert page.evaluate(ALIVE) == []
    assert page.title() != "taken"
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [360, 1280])
def test_hostile_text_is_text_everywhere(
    new_page: NewPage, site: Site, namespace: str, hostile: Memories, width: int
) -> None:
    with hostile:
        page = new_page(width=width)
        enter(page, site, namespace)
        expect(page.locator(".preview")).to_have_count(len(HOSTILE))
        nothing_came_alive(page, width)
        page.goto(site.address(namespace, q="walrus script img bold", superseded="1", why="1"))
        expect(page.locator(".why").nth(3)).to_be_visible()
        for number, text in enumerate(HOSTILE[:6]):
            shown = page.locator(f"[data-id=h{number}] .opens").inner_text()
            assert shown == f"walrus {text}"
        expect(page.locator("[data-id=h3] mark").first).to_have_text("walrus")
        nothing_came_alive(page, width)
        for number, text in enumerate(HOSTILE):
            page.goto(site.address(namespace, f"memory/h{number}"))
            expect(page.locator(".full-text")).to_contain_text(text[:20])
            nothing_came_alive(page, width)
        page.get_by_role("button", name="Show all").click()
        expect(page.locator(".full-text")).to_have_text(f"walrus {HOSTILE[6]}")
        page.goto(site.address(namespace, "memory/h0"))
        expect(page.locator(".graph")).to_contain_text("<b>harms</b>")
        expect(page.locator(".relations")).to_contain_text("<b>harms</b>")
        for view, given, drawn in (
            ("timeline", {}, ".session-line"),
            ("stats", {}, ".totals"),
            ("timeline", {"session": HOSTILE[0]}, ".preview"),
        ):
            page.goto(site.address(namespace, view, **given))
            expect(page.locator(drawn).first).to_be_visible()
            nothing_came_alive(page, width)
        expect(page.locator(".timeline h2")).to_have_text(HOSTILE[0])


def test_marks_of_direction_stay_within_their_text(page: Page, memories: Memories) -> None:
    memories.remember("evil \u202eexe.txt", id="bidi", tags=["a\u202eb"], session="s\u202et")
    page.reload()
    line = page.locator("[data-id=bidi]")
    for each in (line.locator(".opens bdi"), line.locator(".tag bdi"), line.locator(".session bdi")):
        assert each.evaluate("it => getComputedStyle(it).unicodeBidi") == "isolate"
    page.goto(page.url.replace("search", "memory/bidi"))
    expect(page.locator(".full-text")).to_have_css("unicode-bidi", "isolate")


@pytest.mark.parametrize(
    "address", ["#/memory/%00%ff", "#/nowhere/x?y", "#/memory", "#/search?q=%ff&n=-5&mode=x&since=y"]
)
def test_an_odd_address_shows_something(page: Page, site: Site, guard: Guard, address: str) -> None:
    guard.expect("status of 40[04]")
    page.goto(f"{site.url}/{address}")
    page.reload()
    expect(page.locator("main").locator("input, [role=alert]").first).to_be_visible()


def test_the_token_leaves_the_address_and_stays_in_the_tab(
    new_page: NewPage, site: Site, namespace: str
) -> None:
    page = new_page()
    page.goto(f"{site.url}/#token={site.token}")
    expect(page.locator("#q")).to_be_visible()
    assert page.url == f"{site.url}/#/search"
    page.reload()
    expect(page.locator("#q")).to_be_visible()
    assert page.evaluate("JSON.stringify(localStorage)").count(site.token) == 0
    assert page.evaluate("history.length") <= 2


def test_a_browser_is_opened_with_a_ticket_that_is_good_once(
    context: BrowserContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    opener = tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\nprintf %s "$*" > {told}.new && mv {told}.new {told}\n')
    opener.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    opened = Site(tmp_path)
    opened.start("--open")
    try:
        page = context.new_page()
        while not told.exists():
            page.wait_for_timeout(50)
        address = told.read_text()
        assert address.startswith(f"{opened.url}/#ticket=")
        assert opened.token not in address
        page.goto(address)
        expect(page.locator("#q")).to_be_visible()
        assert page.url == f"{opened.url}/#/search"
        second = context.new_page()
        second.goto(address)
        expect(second.get_by_role("alert")).to_contain_text("used already")
        expect(second.get_by_label("Token")).to_be_visible()
    finally:
        opened.stop()


def test_without_a_token_or_with_a_wrong_one_it_is_asked_for(
    new_page: NewPage, site: Site, guard: Guard, namespace: str, memories: Memories
) -> None:
    guard.expect("status of 401")
    page = new_page()
    page.goto(site.address(namespace, q="gateway"))
    expect(page.get_by_label("Token")).to_be_focused()
    page.get_by_label("Token").fill("not-the-right-token-at-all")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("not known here")
    page.get_by_label("Token").fill(site.token)
    page.keyboard.press("Enter")
    expect(page.locator("[data-id=port-9090]")).to_be_visible()
    assert "q=gateway" in page.url


def test_a_token_that_was_withdrawn_asks_again(
    new_page: NewPage, site: Site, guard: Guard, namespace: str, memories: Memories
) -> None:
    guard.expect("status of 401")
    token = site.new_token("short-lived")
    page = new_page()
    enter(page, site, namespace, token)
    site.remove_token("short-lived")
    page.keyboard.type("gateway")
    expect(page.get_by_label("Token")).to_be_visible()


def test_a_token_that_may_only_read_shows_nothing_that_writes(
    new_page: NewPage, site: Site, namespace: str, memories: Memories
) -> None:
    page = new_page()
    enter(page, site, namespace, site.new_token(f"reader of {namespace}"[:60], "--read-only"))
    expect(page.locator(".badge")).to_have_text("read only")
    page.keyboard.type("gateway")
    expect(page.locator("[data-id=port-9090]")).to_be_visible()
    for name in ("Add", "Supersede", "Relate", "Forget"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
    page.keyboard.press("ArrowDown")
    for key in "xsra":
        page.keyboard.press(key)
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.goto(site.address(namespace, "memory/tokens"))
    expect(page.locator(".relations")).to_be_visible()
    for name in ("Supersede", "Relate", "Forget", "Remove the relation"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)


def test_a_token_of_one_namespace_sees_that_one(new_page: NewPage, site: Site, guard: Guard) -> None:
    with site.memories("team") as memories:
        fill(memories)
    page = new_page()
    token = site.new_token("team's", "-n", "team")
    page.goto(f"{site.url}/#token={token}")
    expect(page.locator(".namespace")).to_have_text("team")
    expect(page.get_by_label("Namespace")).to_have_count(0)
    expect(page.locator(".preview")).to_have_count(8)
    page.goto(f"{site.url}/#/stats")
    expect(page.locator(".totals")).to_contain_text("8")
    guard.expect("status of 403")
    page.goto(site.address("elsewhere", q="gateway"))
    expect(page.get_by_role("alert")).to_contain_text("another namespace")


def test_what_a_token_may_do_can_be_asked(site: Site) -> None:
    reader = site.new_token("asking", "--read-only", "-n", "team")
    for token, told in (
        (site.token, {"name": "owner", "read_only": False, "bound": False, "namespace": "default"}),
        (reader, {"name": "asking", "read_only": True, "bound": True, "namespace": "team"}),
    ):
        request = Request(f"{site.url}/v1/token", headers={"Authorization": f"Bearer {token}"})
        with urlopen(request) as response:
            assert json.load(response) == {**told, "version": recollect.__version__}


def test_the_server_goes_away_and_comes_back(page: Page, site: Site, guard: Guard) -> None:
    guard.expect("ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET")
    site.stop()
    try:
        page.keyboard.type("gateway")
        expect(page.locator(".away")).to_contain_text("does not answer")
    finally:
        site.start()
    page.get_by_role("button", name="Try now").click()
    expect(page.locator(".away")).to_have_count(0)
    expect(page.locator("[data-id=port-9090]")).to_be_visible()


def test_nothing_is_made_of_html(folder: Path) -> None:
    source = "".join(path.read_text() for path in folder.glob("*.js"))
    for sink in (
        "innerHTML",
        "InnerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "new Function",
        "http:",
    ):
        assert sink not in source, sink


def test_the_library_is_as_it_was_published(folder: Path) -> None:
    vendored = folder / "vendor" / "htm"
    said = dict(line.split(": ", 1) for line in (vendored / "SOURCE.txt").read_text().splitlines())
    assert hashlib.sha256((vendored / said["file"]).read_bytes()).hexdigest() == said["sha256"]
    assert "Apache License" in (vendored / "LICENSE-htm.txt").read_text()
    assert "The MIT License" in (vendored / "LICENSE-preact.txt").read_text()


def test_every_module_is_fetched_at_once(folder: Path) -> None:
    modules = {str(path.relative_to(folder)) for path in folder.rglob("*.js")}
    named = re.findall(r'(?:href|src)="/page/([\w/.-]+\.js)"', (folder / "index.html").read_text())
    assert sorted(named) == sorted(modules)


def test_the_documented_keys_are_those_that_work(folder: Path) -> None:
    code = re.findall(
        r'^  \["([^"]+)", "[\w-]+", "([^"]+)"\],$', (folder / "keys.js").read_text(), re.MULTILINE
    )
    documented = re.findall(r"^\| `([^`]+)` \| (.+?) \|$", DOCS.read_text(), re.MULTILINE)
    assert code
    assert documented == code


def test_without_a_browser_one_line_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RECOLLECT_TEST_BROWSER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match=r"^No browser: install chromium.*$") as skipped:
        browsers.obtain_or_skip({})
    assert "\n" not in str(skipped.value)
    with pytest.raises(pytest.fail.Exception, match="No browser"):
        browsers.obtain_or_skip({"CI": "true"})


def test_a_browser_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "my-browser"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("RECOLLECT_TEST_BROWSER", str(program))
    assert browsers.obtain() == str(program)
