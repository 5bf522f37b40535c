"""Search as you type, what may answer, and why a hit is where it is."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from recollect import Memories

from .conftest import Guard, NewPage, enter
from .serving import Site, days_ago

SPANS = """rows => rows.map(row => {
  const bar = row.querySelector('.bar').getBoundingClientRect();
  const track = row.querySelector('.track div').getBoundingClientRect();
  return [(bar.left - track.left) / track.width, (bar.right - track.left) / track.width];
})"""


def hits(page: Page) -> list[str]:
    """The ids of the hits, best first, once the search is done."""
    expect(page.locator(".results")).to_have_attribute("aria-busy", "false")
    return [str(each.get_attribute("data-id")) for each in page.locator(".hit").all()]


def first_hit(page: Page, id: str) -> None:
    expect(page.locator(".hit").first).to_have_attribute("data-id", id)


def test_searches_while_one_types_and_marks_the_words(page: Page, memories: Memories) -> None:
    page.keyboard.type("gateway port")
    first_hit(page, "port-9090")
    expect(page.locator(".hit").first.locator("mark")).to_have_text(["gateway", "port"])
    expect(page.locator(".hit").first).to_contain_text("The gateway listens on port 9090")
    expect(page.locator(".hit").first.locator(".facts")).to_contain_text("network")
    expect(page.locator(".hit").first.locator(".trust")).to_have_text("low trust")
    expect(page.locator(".confidence")).to_contain_text("answer")
    expect(page).to_have_url(re.compile(r"q=gateway\+port"))
    expect(page).to_have_title("gateway port · Recollect")
    assert memories.get("port-9090").access_count == 0, "typing is no use of a memory"


def test_late_answers_to_earlier_questions_are_dropped(page: Page) -> None:
    held: list[Route] = []
    page.route("**/v1/recall*", lambda route: held.append(route), times=1)
    page.keyboard.type("gateway")
    expect(page).to_have_url(re.compile("q=gateway"))
    page.locator("#q").fill("opaque tokens")
    first_hit(page, "tokens")
    for route in held:
        route.abort()
    first_hit(page, "tokens")
    assert len(held) == 1


def test_an_explained_score_adds_up(page: Page) -> None:
    page.locator("#q").fill("members log in")
    first_hit(page, "tokens")
    page.locator(".hit").first.get_by_role("button", name="why?").click()
    table = page.get_by_role("table", name="The parts of the score")
    rows = table.locator("tr:not(.total)")
    amounts = [float(text.replace("−", "-")) for text in rows.locator(".amount").all_inner_texts()]
    total = float(table.locator(".total .amount").inner_text())
    assert len(amounts) >= 4
    assert sum(amounts) == pytest.approx(total, abs=1e-9)
    assert f"{total:.3f}" == page.locator(".hit").first.locator(".score").inner_text()
    drawn = rows.evaluate_all(SPANS)
    for amount, (left, right) in zip(amounts, drawn, strict=True):
        assert right - left == pytest.approx(abs(amount), abs=0.02)
    assert drawn[1][0] == pytest.approx(drawn[0][1], abs=0.01), "each bar begins where the one before ends"


@pytest.mark.parametrize("fusion", ["weighted", "rrf", "rerank"])
def test_every_way_of_ranking_is_explained_to_the_end(
    page: Page, site: Site, namespace: str, fusion: str
) -> None:
    page.goto(site.address(namespace, q="members log in", why="1", fusion=fusion, superseded="1"))
    first_hit(page, "tokens")
    page.get_by_role("checkbox", name="recency").check()
    expect(page).to_have_url(re.compile("order=recency"))
    for reordered in (True, False):
        page.get_by_role("checkbox", name="recency").set_checked(reordered)
        assert len(hits(page)) > 2
        for hit in page.locator(".hit").all():
            amounts = hit.locator(".why tr:not(.total) .amount").all_inner_texts()
            parts = [float(text.replace("−", "-")) for text in amounts]
            assert sum(parts) == pytest.approx(float(hit.locator(".score").inner_text()), abs=1e-9)


def test_the_key_w_explains_all_hits_when_none_has_the_focus(page: Page) -> None:
    page.keyboard.type("members")
    first_hit(page, "tokens")
    page.keyboard.press("Escape")
    page.keyboard.press("w")
    expect(page.locator(".why").first).to_be_visible()
    expect(page).to_have_url(re.compile("why=1"))
    page.keyboard.press("w")
    expect(page.locator(".why")).to_have_count(0)


def test_the_mode_decides_which_legs_answer(page: Page) -> None:
    page.keyboard.type("gateway")
    page.get_by_label("Find by").select_option("keyword")
    expect(page).to_have_url(re.compile("mode=keyword"))
    page.get_by_label("explain the scores").check()
    expect(page.locator(".why").first).to_contain_text("by words")
    expect(page.locator(".why").first).not_to_contain_text("by meaning")
    page.get_by_label("Find by").select_option("semantic")
    expect(page.locator(".why").first).to_contain_text("by meaning")
    expect(page.locator(".why").first).not_to_contain_text("by words")


def test_a_time_in_words_and_in_days(page: Page) -> None:
    page.locator("#q").fill("members")
    assert {"cookie", "tokens"} <= set(hits(page))
    page.get_by_label("In words").fill("last week")
    page.get_by_label("In words").press("Enter")
    expect(page).to_have_url(re.compile(r"when=last\+week"))
    expect(page.locator("[data-id=cookie]")).to_have_count(0)
    expect(page.locator(".summary")).to_contain_text("only")
    page.get_by_role("button", name="Clear them all").click()
    expect(page.locator("[data-id=cookie]")).to_be_visible()
    day = days_ago(19).date().isoformat()
    page.get_by_label("From", exact=True).fill(day)
    page.get_by_label("To", exact=True).fill(day)
    expect(page.locator("[data-id=tokens]")).to_have_count(0)
    expect(page.locator("[data-id=cookie]")).to_be_visible()


def test_what_was_believed_on_a_day(page: Page) -> None:
    page.keyboard.type("gateway port")
    first_hit(page, "port-9090")
    page.get_by_label("Believed on").fill(days_ago(10).date().isoformat())
    first_hit(page, "port-8080")


def test_a_time_that_is_none_is_explained(page: Page, guard: Guard) -> None:
    guard.expect("status of 422")
    page.get_by_label("In words").fill("when pigs fly")
    page.get_by_label("In words").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("pigs")


def test_the_scope_narrows_and_its_state_is_in_the_address(page: Page, site: Site, namespace: str) -> None:
    page.keyboard.type("members")
    page.get_by_role("checkbox", name="semantic").check()
    page.get_by_label("Tags").fill("auth")
    page.get_by_label("Tags").press("Enter")
    expect(page).to_have_url(re.compile("sector=semantic&tag=auth"))
    expect(page.locator("[data-id=lost]")).to_have_count(0)
    address = page.url
    page.goto(site.address(namespace))
    expect(page.get_by_role("heading", name="Latest")).to_be_visible()
    page.go_back()
    expect(page.locator("#q")).to_have_value("members")
    expect(page.get_by_role("checkbox", name="semantic")).to_be_checked()
    page.reload()
    expect(page.locator("#q")).to_have_value("members")
    assert page.url == address
    page.go_back()
    expect(page.get_by_label("Tags")).to_have_value("")


def test_session_speaker_documents_and_superseded(page: Page, site: Site, namespace: str) -> None:
    page.goto(site.address(namespace, q="phone tokens", session="lost-phone", speaker="Mara"))
    assert hits(page) == ["lost"]
    page.goto(site.address(namespace, q="restart gateway console"))
    assert "handbook.md" not in page.locator(".results").inner_text()
    page.get_by_role("checkbox", name="documents too").check()
    expect(page.locator(".hit").first).to_contain_text("¶ handbook.md")
    page.goto(site.address(namespace, q="gateway port"))
    first_hit(page, "port-9090")
    page.get_by_role("checkbox", name="superseded too").check()
    expect(page.locator("[data-id=port-8080] .successor")).to_contain_text("Superseded by")
    page.locator("[data-id=port-8080] .successor a").click()
    expect(page).to_have_url(re.compile("#/memory/port-9090"))


def test_a_click_on_a_fact_looks_for_more_like_it(page: Page) -> None:
    page.keyboard.type("cookie")
    page.locator("[data-id=cookie] .tag").click()
    expect(page).to_have_url(re.compile("tag=auth"))
    expect(page.locator(".preview")).to_have_count(2)


def test_another_namespace(page: Page, site: Site, namespace: str) -> None:
    other = f"{namespace} other"
    with site.memories(other) as elsewhere:
        elsewhere.remember("Walruses live elsewhere", id="walrus")
    page.reload()
    page.get_by_label("Namespace").select_option(other)
    expect(page.locator("[data-id=walrus]")).to_be_visible()
    expect(page.locator(".preview")).to_have_count(1)


def test_an_empty_store_shows_the_first_step(new_page: NewPage, site: Site, namespace: str) -> None:
    page = new_page()
    enter(page, site, namespace)
    expect(page.get_by_role("heading", name="Nothing is remembered here yet")).to_be_visible()
    page.get_by_role("button", name="Add the first one").click()
    page.get_by_role("textbox", name="Text").fill("The very first memory")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator(".preview")).to_contain_text("The very first memory")


def test_more_is_fetched_only_on_demand(page: Page, memories: Memories) -> None:
    memories.remember_many([f"Note number {number} about walruses" for number in range(60)])
    asked: list[str] = []
    page.on("response", lambda response: asked.append(response.url))
    page.locator("#q").fill("walruses")  # in one go: no answer to a part of it comes in between
    expect(page.locator(".hit")).to_have_count(10)
    page.get_by_role("button", name="More").click()
    expect(page.locator(".hit")).to_have_count(20)
    page.locator("#q").fill("")
    expect(page.locator(".preview")).to_have_count(20)
    assert all("limit=20" in url for url in asked if "/v1/memories?" in url)
