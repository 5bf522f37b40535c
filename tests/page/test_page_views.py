"""The time line, a memory's page with its graph, statistics; widths, colours and contrast."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Page, expect

from recollect import Memories

from .conftest import NewPage, enter
from .serving import Site, days_ago

VIEWS = {
    "search": ".preview",
    "search?q=members+gateway&superseded=1": ".hit.past",
    "timeline": ".session-line",
    "timeline?session=lost-phone": ".preview",
    "memory/tokens": ".graph svg",
    "stats": ".totals",
}
"""Each view, and what is there once it is drawn."""
PLACES = """nodes => nodes.map(node => {
  const circle = node.querySelector('circle').getBoundingClientRect();
  return [Math.round(circle.x), Math.round(circle.y)];
})"""
OVERLAPPING = """texts => {
  const boxes = texts.map(text => text.getBoundingClientRect());
  const overlap = (one, other) => one.left < other.right - 4 && other.left < one.right - 4
    && one.top < other.bottom - 4 && other.top < one.bottom - 4;
  return boxes.filter((one, at) => boxes.slice(at + 1).some(other => overlap(one, other))).length;
}"""


def show(page: Page, site: Site, namespace: str, view: str) -> None:
    """A view, once it is drawn in full."""
    path, _, query = view.partition("?")
    given = dict(parse_qsl(query))
    page.goto(site.address(namespace, path, **given))
    expect(page.locator(VIEWS.get(view, ".full-text")).first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def test_the_time_line_shows_sessions_and_density(page: Page, site: Site, namespace: str) -> None:
    show(page, site, namespace, "timeline")
    bars = page.locator(".histogram .bar")
    expect(bars).to_have_count(18)
    heights = [float(str(bar.get_attribute("height"))) for bar in bars.all()]
    assert heights[0] > heights[1] > 0 == heights[2], "two memories, one, none"
    lines = page.locator(".session-line")
    expect(lines).to_have_count(2)
    expect(lines.first).to_contain_text("lost-phone")
    expect(lines.first).to_contain_text("3 memories · scout")
    expect(lines.first).to_contain_text("Tokens that can be revoked")
    lanes = [lane.bounding_box() for lane in page.locator(".lane i").all()]
    assert lanes[0] and lanes[1]
    assert lanes[0]["x"] > lanes[1]["x"], "what is later lies further right"


def test_a_time_is_chosen_by_dragging_and_by_keys(page: Page, site: Site, namespace: str) -> None:
    show(page, site, namespace, "timeline")
    box = page.locator(".histogram svg").bounding_box()
    assert box is not None
    middle, a_day = box["y"] + box["height"] / 2, box["width"] / 18
    page.mouse.move(box["x"] + 0.5 * a_day, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 1.5 * a_day, middle, steps=3)
    page.mouse.up()
    since, until = (days_ago(age).date().isoformat() for age in (20, 19))
    expect(page).to_have_url(re.compile(f"since={since}&until={until}"))
    expect(page.locator(".axis [role=status]")).to_contain_text("3 memories")
    expect(page.locator(".session-line")).to_have_count(1)
    page.get_by_role("link", name="Search in this time").click()
    expect(page.locator(".preview")).to_have_count(3)
    expect(page.locator(".preview.past")).to_have_attribute("data-id", "port-8080")
    page.go_back()
    page.locator(".histogram svg").focus()
    page.keyboard.press("Escape")
    expect(page.locator(".session-line")).to_have_count(2)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"since={since}&until={until}"))


def test_a_session_opens_with_its_memories_in_order(page: Page, site: Site, namespace: str) -> None:
    show(page, site, namespace, "timeline")
    page.get_by_role("link", name="lost-phone").click()
    expect(page).to_have_url(re.compile("session=lost-phone"))
    texts = page.locator(".preview .opens")
    expect(texts).to_have_count(3)
    expect(texts.first).to_have_text("A member lost her phone")
    page.keyboard.press("j")
    expect(texts.first).to_be_focused()
    page.keyboard.press("x")
    expect(texts).to_have_count(2)
    page.keyboard.press("u")
    expect(texts).to_have_count(3)
    page.get_by_role("link", name="Search in this session").click()
    expect(page.locator(".preview")).to_have_count(3)


def test_many_days_share_a_bar(page: Page, site: Site, namespace: str, memories: Memories) -> None:
    for age in (400, 4_000):
        memories.remember(f"Of {age} days ago", created_at=days_ago(age))
    show(page, site, namespace, "timeline")
    assert 20 < page.locator(".histogram .bar").count() < 140
    expect(page.locator(".histogram svg")).to_have_attribute("aria-label", re.compile("by quarter"))


def test_a_memory_shows_all_that_is_known(page: Page, site: Site, namespace: str, memories: Memories) -> None:
    memories.update(
        "tokens", metadata={"ticket": 41}, files=["src/login.py"], summary="In short", source="chat"
    )
    show(page, site, namespace, "memory/tokens")
    expect(page.locator(".full-text")).to_have_text("Members log in with opaque tokens")
    facts = page.locator(".all-facts")
    for text in ("tokens", "semantic", "project", '"ticket": 41', "src/login.py", "In short", "chat"):
        expect(facts).to_contain_text(text)
    expect(page.locator(".relations")).to_contain_text("caused by →A member lost her phone")
    session = page.locator("section", has=page.get_by_role("heading", name="In its session"))
    expect(session.locator("li")).to_have_count(3)
    expect(session.locator("[aria-current]")).to_contain_text("opaque tokens")
    assert memories.get("tokens").access_count == 0, "looking is no use"


def test_a_memorys_history(page: Page, site: Site, namespace: str) -> None:
    show(page, site, namespace, "memory/port-8080")
    expect(page.locator(".notice")).to_contain_text("Superseded by The gateway listens on port 9090")
    history = page.locator("section", has=page.get_by_role("heading", name="History"))
    expect(history.locator("li")).to_have_count(2)
    history.get_by_role("link").click()
    expect(page).to_have_url(re.compile("#/memory/port-9090"))


def test_the_neighbourhood_is_a_graph_of_links(page: Page, site: Site, namespace: str) -> None:
    show(page, site, namespace, "memory/tokens")
    nodes, edges = page.locator(".graph .node"), page.locator(".graph .edge")
    expect(nodes).to_have_count(3)
    expect(edges).to_have_count(3)
    for type in ("caused by", "next"):
        expect(edges.locator("text", has_text=type).first).to_be_visible()
    before = nodes.evaluate_all(PLACES)
    assert len({tuple(place) for place in before}) == 3
    page.reload()
    expect(nodes).to_have_count(3)
    assert nodes.evaluate_all(PLACES) == before, "the same memory looks the same"
    page.get_by_role("link", name="A member lost her phone").first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/memory/lost"))


def test_a_large_neighbourhood_stays_readable(
    page: Page, site: Site, namespace: str, memories: Memories
) -> None:
    made = memories.remember_many([f"Leaf {number} of the tree" for number in range(45)])
    for leaf in made:
        memories.relate("deploy", leaf.id, "has_leaf")
    show(page, site, namespace, "memory/deploy")
    expect(page.locator(".graph .node")).to_have_count(40)
    expect(page.locator(".graph")).to_contain_text("there are more")
    assert page.locator(".graph text").evaluate_all(OVERLAPPING) == 0


def test_statistics(page: Page, site: Site, namespace: str) -> None:
    show(page, site, namespace, "stats")
    totals = page.locator(".totals")
    for text in ("8memories", "2sessions", "1superseded", "1documents"):
        name, number = text[1:], text[0]
        expect(totals.locator("div", has_text=name)).to_contain_text(number)
    expect(page.locator(".stats")).to_contain_text("none missing")
    expect(page.locator(".stats")).to_contain_text("hash")
    sectors = page.locator("section", has=page.get_by_role("heading", name="Sectors"))
    expect(sectors.locator("tr", has_text="procedural").locator(".amount")).to_have_text("1")
    salience = page.locator("section", has=page.get_by_role("heading", name="Salience")).locator(".amount")
    assert sum(int(text) for text in salience.all_inner_texts()) == 8
    expect(page.get_by_role("img", name="Growth to 8 memories")).to_be_visible()
    expect(page.locator(".chart .fill")).not_to_have_count(0)


@pytest.mark.parametrize("width", [360, 1440])
def test_nothing_is_wider_than_the_screen(
    new_page: NewPage, site: Site, namespace: str, memories: Memories, width: int
) -> None:
    page = new_page(width=width, height=740)
    enter(page, site, namespace)
    for view in VIEWS:
        show(page, site, namespace, view)
        if "q=" in view:
            page.get_by_label("explain the scores").check()
            expect(page.locator(".why").first).to_be_visible()
        if view == "search":
            page.locator(".filters").evaluate("each => { each.open = true; }")
        page.get_by_role("button", name="Add", exact=True).click()
        assert width_needed(page) <= width, f"{view} with a dialog"
        page.keyboard.press("Escape")
        assert width_needed(page) <= width, view


def width_needed(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))


CONTRAST = """() => {
  const channel = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return { r, g, b, a: a / 255 };
  };
  const light = ({ r, g, b }) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = element => {
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each);
      const found = rgba(style.backgroundColor);
      if (found.a > 0.99) return found;
    }
    return rgba(getComputedStyle(document.documentElement).backgroundColor);
  };
  const bad = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility({ opacityProperty: true })) continue;
    if (element.closest('.unseen, title, :disabled, option')) continue;
    const style = getComputedStyle(element);
    const ink = rgba(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
    const [one, other] = [light(ink), light(behind(element))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < 4.5) bad.push(`${texts.currentNode.data.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return bad;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_in_light_and_dark(
    new_page: NewPage, site: Site, namespace: str, memories: Memories, scheme: Any
) -> None:
    page = new_page(color_scheme=scheme)
    enter(page, site, namespace)
    for view in VIEWS:
        show(page, site, namespace, view)
        if "q=" in view:
            page.get_by_label("explain the scores").check()
        assert page.evaluate(CONTRAST) == [], view
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.evaluate(CONTRAST) == [], "the keys"
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    expect(page.locator(".toast")).to_be_visible()
    assert page.evaluate(CONTRAST) == [], "a message"


def test_the_switch_overrules_the_system_and_is_kept(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_role("button", name="Colours").click()
    light = page.evaluate(paper)
    assert light != dark
    page.reload()
    expect(page.locator("#q")).to_be_visible()
    assert page.evaluate(paper) == light
    page.get_by_role("button", name="Colours").click()
    assert page.evaluate(paper) == dark
    page.get_by_role("button", name="Colours").click()
    expect(page.get_by_role("button", name="as the system says")).to_be_visible()


def test_nothing_moves_for_those_who_want_that(new_page: NewPage, site: Site, namespace: str) -> None:
    page = new_page(reduced_motion="reduce")
    enter(page, site, namespace)
    assert page.locator(".results").evaluate("each => getComputedStyle(each).transitionProperty") == "none"
