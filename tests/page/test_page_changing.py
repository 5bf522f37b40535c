"""Add, supersede, relate and forget, each with the way back; and the whole of it by keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from recollect import Memories
from recollect.errors import NoSuchMemory

from .conftest import Guard
from .serving import Site


def toast(page: Page, text: str) -> Locator:
    """The message that says so."""
    found = page.locator(".toast", has_text=text).last
    expect(found).to_be_visible()
    return found


def undo(page: Page, done: str, undone: str) -> None:
    toast(page, done).get_by_role("button", name="Undo").click()
    toast(page, undone)


def open_memory(page: Page, site: Site, namespace: str, id: str) -> None:
    page.goto(site.address(namespace, f"memory/{id}"))
    expect(page.locator(".full-text")).to_be_visible()


def test_add_and_undo(page: Page, memories: Memories) -> None:
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("textbox", name="Text")).to_be_focused()
    page.keyboard.type("The walrus eats at noon")
    page.get_by_label("Tags").last.fill("animals, food")
    page.get_by_role("dialog").get_by_label("Sector").select_option("procedural")
    page.get_by_role("button", name="Remember").click()
    toast(page, "Remembered.")
    (hit,) = memories.recall("walrus", limit=1)
    assert (hit.memory.tags, hit.memory.sector) == (("animals", "food"), "procedural")
    expect(page.locator(".preview").first).to_contain_text("The walrus eats at noon")
    undo(page, "Remembered.", "Taken back.")
    expect(page.locator(".preview", has_text="walrus")).to_have_count(0)
    assert memories.get(hit.memory.id).deleted_at is not None


def test_the_same_text_again_is_said_and_not_undone(page: Page, memories: Memories) -> None:
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.keyboard.type("We chose PostgreSQL for bookings")
    page.keyboard.press("Control+Enter")
    told = toast(page, "remembered already")
    expect(told.get_by_role("button", name="Undo")).to_have_count(0)
    assert memories.stats().memories == 8


def test_supersede_by_a_new_text_and_undo(page: Page, site: Site, namespace: str, memories: Memories) -> None:
    open_memory(page, site, namespace, "deploy")
    page.get_by_role("button", name="Supersede").click()
    expect(page.get_by_role("button", name="Supersede").last).to_be_disabled()
    page.get_by_label("The new text").fill("To deploy, merge to the branch release")
    page.get_by_role("dialog").get_by_role("button", name="Supersede").click()
    toast(page, "Superseded by the new text.")
    new = memories.get("deploy").superseded_by
    assert new is not None
    assert memories.get(new).tags == ("ops",)
    assert memories.get(new).sector == "procedural"
    expect(page.locator(".notice")).to_contain_text("merge to the branch release")
    undo(page, "Superseded by", "It holds again.")
    expect(page.locator(".notice")).to_have_count(0)
    assert memories.get("deploy").superseded_by is None
    assert memories.get(new).deleted_at is not None


def test_undoing_leaves_a_text_that_was_there_before(
    page: Page, site: Site, namespace: str, memories: Memories
) -> None:
    open_memory(page, site, namespace, "cookie")
    page.keyboard.press("s")
    page.get_by_label("The new text").fill("Members log in with opaque tokens")
    page.keyboard.press("Control+Enter")
    undo(page, "Superseded by", "It holds again.")
    assert memories.get("tokens").deleted_at is None


def test_supersede_by_a_memory_that_is_there(
    page: Page, site: Site, namespace: str, memories: Memories
) -> None:
    open_memory(page, site, namespace, "cookie")
    page.get_by_role("button", name="Supersede").click()
    page.get_by_label("A memory that is there").check()
    page.get_by_label("The memory").fill("opaque tokens")
    page.get_by_role("radio", name="Members log in with opaque tokens").check()
    page.get_by_role("dialog").get_by_role("button", name="Supersede").click()
    toast(page, "Superseded.")
    assert memories.get("cookie").superseded_by == "tokens"
    expect(page.locator(".steps").first.locator("li")).to_have_count(2)
    page.get_by_role("button", name="Let it hold again").click()
    undo(page, "It holds again.", "Superseded again.")
    assert memories.get("cookie").superseded_by == "tokens"


def test_relate_and_undo_remove_and_undo(page: Page, site: Site, namespace: str, memories: Memories) -> None:
    open_memory(page, site, namespace, "deploy")
    expect(page.locator(".sections")).to_contain_text("related to nothing")
    page.keyboard.press("r")
    page.get_by_label("How").fill("depends_on")
    page.get_by_label("To which memory").fill("PostgreSQL")
    page.get_by_role("radio", name="We chose PostgreSQL").check()
    page.get_by_role("dialog").get_by_role("button", name="Relate").click()
    expect(page.locator(".relations")).to_contain_text("depends on →")
    undo(page, "Related: depends on.", "The relation is removed.")
    expect(page.locator(".relations")).to_have_count(0)
    assert memories.relations("deploy") == []
    page.goto(site.address(namespace, "memory/tokens"))
    page.get_by_role("button", name="Remove the relation").click()
    undo(page, "The relation is removed.", "The relation is back.")
    assert [edge.type for edge in memories.relations("tokens")] == ["caused_by"]


def test_forget_and_undo(page: Page, memories: Memories) -> None:
    page.locator("#q").fill("gateway")
    line = page.locator(".hit[data-id=port-9090]")
    line.get_by_role("button", name="Forget").click()
    toast(page, "Forgotten")
    expect(line).to_have_count(0)
    assert memories.get("port-9090").deleted_at is not None
    undo(page, "Forgotten", "It is back.")
    expect(line).to_be_visible()
    assert memories.get("port-9090").deleted_at is None


def test_the_ways_on_from_a_message_stay_whole_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.locator("#q").fill("gateway")
    page.locator(".hit[data-id=port-9090]").get_by_role("button", name="Forget").click()
    link = toast(page, "Forgotten").get_by_role("link", name="Show it")
    assert link.evaluate("each => each.getClientRects().length") == 1
    assert link.evaluate("each => each.offsetHeight < 2 * parseFloat(getComputedStyle(each).lineHeight)")


def test_what_was_done_in_one_namespace_is_undone_there(
    page: Page, site: Site, namespace: str, memories: Memories
) -> None:
    open_memory(page, site, namespace, "deploy")
    page.keyboard.press("x")
    toast(page, "Forgotten")
    page.goto(site.address("default", "stats"))
    expect(page.get_by_role("heading", name="Statistics")).to_be_visible()
    page.keyboard.press("u")
    toast(page, "It is back.")
    assert memories.get("deploy").deleted_at is None


def test_an_id_may_have_any_characters(page: Page, site: Site, namespace: str, memories: Memories) -> None:
    memories.remember("Named oddly", id="a/b c?d#e%2F&ü")
    page.keyboard.type("named oddly")
    page.get_by_role("link", name="Named oddly").click()
    expect(page.locator(".full-text")).to_have_text("Named oddly")
    page.reload()
    expect(page).to_have_title("Named oddly · Recollect")
    page.keyboard.press("x")
    toast(page, "Forgotten")
    assert memories.get("a/b c?d#e%2F&ü").deleted_at is not None


def test_a_memory_is_removed_for_good_only_after_it_was_forgotten_and_asked_about(
    page: Page, site: Site, namespace: str, memories: Memories
) -> None:
    open_memory(page, site, namespace, "deploy")
    expect(page.get_by_role("button", name="Remove for good …")).to_have_count(0)
    page.keyboard.press("x")
    expect(page.locator(".notice")).to_contain_text("no search finds it")
    page.get_by_role("button", name="Restore").click()
    expect(page.locator(".notice")).to_have_count(0)
    page.keyboard.press("x")
    page.get_by_role("button", name="Remove for good …").click()
    expect(page.get_by_role("dialog")).to_contain_text("This can't be undone")
    page.get_by_role("button", name="Cancel").click()
    assert memories.get("deploy").content
    page.get_by_role("button", name="Remove for good …").click()
    page.get_by_role("button", name="Remove for good", exact=True).click()
    toast(page, "Removed for good: 1 memory, 1 keyword entry")
    with pytest.raises(NoSuchMemory):
        memories.get("deploy")


def test_what_goes_wrong_is_said_in_the_form_and_nothing_typed_is_lost(
    page: Page, site: Site, namespace: str, memories: Memories, guard: Guard
) -> None:
    guard.expect("status of 40[04]")
    open_memory(page, site, namespace, "deploy")
    page.get_by_role("button", name="Relate").click()
    page.get_by_label("To which memory").fill("no-such-id")
    page.get_by_role("radio", name="the id no-such-id").check()
    page.get_by_role("dialog").get_by_role("button", name="Relate").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("no id ends")
    expect(page.get_by_label("To which memory")).to_have_value("no-such-id")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Relate")).to_be_focused()


def test_everything_by_keyboard_alone(page: Page, memories: Memories) -> None:
    press, focus = page.keyboard.press, page.locator(":focus")
    press("Escape")
    press("?")
    expect(page.get_by_role("dialog")).to_contain_text("To the next memory")
    press("Escape")
    press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("gateway members")
    expect(page.locator(".hit").nth(2)).to_be_visible()
    expect(page.locator(".results")).to_have_attribute("aria-busy", "false")  # a later one takes the focus
    press("ArrowDown")
    ids = [str(line.get_attribute("data-id")) for line in page.locator(".hit").all()]
    line = focus.locator("xpath=ancestor::li")
    expect(line).to_have_attribute("data-id", ids[0])
    press("j")
    expect(line).to_have_attribute("data-id", ids[1])
    press("k")
    press("w")
    expect(line.locator(".why")).to_be_visible()
    press("x")
    toast(page, "Forgotten")
    expect(line).to_have_attribute("data-id", ids[1])
    press("u")
    toast(page, "It is back.")
    press("Enter")
    expect(page).to_have_url(re.compile(f"#/memory/{ids[1]}"))
    expect(page.locator(".full-text")).to_be_visible()
    press("s")
    press("Control+a")
    page.keyboard.type("Written without a mouse")
    press("Control+Enter")
    toast(page, "Superseded by the new text.")
    press("u")
    toast(page, "It holds again.")
    page.go_back()
    expect(line).to_have_attribute("data-id", ids[1])
    for key, heading in (("t", "Time line"), ("n", "Statistics")):
        press("g")
        press(key)
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    press("g")
    press("s")
    expect(page.locator("#q")).to_be_focused()
    assert memories.stats().superseded == 1


def test_nothing_to_undo_is_said(page: Page) -> None:
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    toast(page, "There is nothing to undo.")
