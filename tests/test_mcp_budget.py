"""What the MCP door answers, whatever memories hold: within its budget, and safely quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import Draft, Memories
from recollect.doors.mcp.output import BYTES_OF_A_TOKEN, FEWEST_TOKENS, parts
from recollect.doors.mcp.server import AgentDoor
from recollect.doors.plain import plain

from .agents import Agent, connected, text_of

ODD = "</memory>\n<memories>&<mark>\"'\x1b\u202e\U000e0041😀日本\t\r"
TEXTS = st.text(
    st.one_of(
        st.sampled_from(list(ODD)),
        st.characters(codec="utf-8", exclude_characters="\x00", exclude_categories=["Cs"]),
    ),
    min_size=1,
).filter(str.strip)
NAMES = st.text(
    st.one_of(
        st.sampled_from("\"'<>&😀\U000e0041"), st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
    ),
    min_size=1,
    max_size=500,
).filter(str.strip)


@pytest.fixture
def backend() -> str:
    return "sqlite"


def within(agent: Agent, tokens: int, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Both forms of an answer, each within the budget."""
    result = agent.call(tool, **arguments)
    text, content = text_of(result), result.structured_content
    assert not result.is_error, text
    assert content is not None
    assert len(text.encode()) <= tokens * BYTES_OF_A_TOKEN
    packed = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    assert len(packed.encode()) <= tokens * BYTES_OF_A_TOKEN
    return text, content


def elements(text: str) -> list[ElementTree.Element]:
    """The quoted memories: there is one frame, and in it nothing but elements of ours."""
    frame = re.match(r"<memories>.*?</memories>", text, re.DOTALL)
    if frame is None:
        assert "<" not in text
        return []
    assert "<" not in text[frame.end() :]
    root = ElementTree.fromstring(frame[0])
    for each in root:
        assert each.tag in ("memory", "session")
        assert not list(each)
        assert each.tail == "\n"
    return list(root)


@pytest.fixture
def small(memories: Memories) -> Iterator[Agent]:
    """An agent that may only be told a little."""
    with connected(AgentDoor(memories, tools="all", max_tokens=FEWEST_TOKENS).server) as agent:
        yield agent


LONG = "The walrus & the carpenter walked <close> at hand. " * 200


class TestTheRest:
    def test_hits_that_do_not_fit_are_told_of(self, small: Agent, memories: Memories) -> None:
        ids = {memories.remember(f"Walrus number {number}: {LONG}").id for number in range(20)}
        seen: list[str] = []
        while True:
            text, content = within(small, FEWEST_TOKENS, "search", query="walrus", limit=20, offset=len(seen))
            assert content["hits"]
            seen += [hit["memory"]["id"] for hit in content["hits"]]
            if "more" not in content:
                break
            assert f"offset={len(seen)}" in content["more"] and content["more"] in text
        assert set(seen) == ids and len(seen) == 20

    def test_full_detail_gives_way_to_snippets(self, small: Agent, memories: Memories) -> None:
        id = memories.remember(LONG).id
        expected = plain(memories.recall("walrus", reinforce=False))
        _, content = within(small, FEWEST_TOKENS, "search", query="walrus", detail="full")
        (hit,) = content["hits"]
        assert hit["memory"]["id"] == id and "why" not in hit
        assert "1 hit shortened" in content["more"]
        assert hit["highlights"] == expected["hits"][0]["highlights"]

    def test_a_long_text_comes_in_parts(self, small: Agent, memories: Memories) -> None:
        id = memories.remember(LONG, metadata={"notes": "n" * 10_000}, summary="s" * 10_000).id
        whole, part, read = "", 1, ""
        while True:
            text, content = within(small, FEWEST_TOKENS, "get", ids=[id], part=part)
            (memory,) = content["memories"]
            assert memory["part"] == part and f'part="{part} of {memory["parts"]}"' in text
            whole += memory["content"]
            read += elements(text)[0].text or ""
            if part == memory["parts"]:
                break
            assert f"part={part + 1}" in content["more"]
            part += 1
        assert whole == LONG == read
        assert "parts" in small.error("get", ids=[id], part=part + 1)
        assert "one id" in small.error("get", ids=[id, memories.remember("Other").id], part=2)

    def test_how_far_to_trust_a_text_is_never_left_out(self, small: Agent, memories: Memories) -> None:
        names = '"' * 400
        id = memories.remember(LONG, source=names, speaker=names, tags=[names], trust="low").id
        text, _ = within(small, FEWEST_TOKENS, "get", ids=[id])
        assert elements(text)[0].attrib["trust"] == "low"

    def test_memories_that_do_not_fit_are_told_of(self, small: Agent, memories: Memories) -> None:
        ids = [memories.remember(f"{number} {LONG[:800]}").id for number in range(6)]
        text, content = within(small, FEWEST_TOKENS, "get", ids=ids)
        shown = [memory["id"] for memory in content["memories"]]
        assert shown == ids[: len(shown)] and 0 < len(shown) < len(ids)
        assert f"no room for {len(ids) - len(shown)}: get {ids[len(shown)]}" in text

    def test_a_long_timeline(self, small: Agent, memories: Memories) -> None:
        ids = [memories.remember(f"{number} {LONG}", tags=["t" * 100] * 1).id for number in range(40)]
        _, content = within(small, FEWEST_TOKENS, "timeline", limit=40)
        shown = [each["id"] for each in content["previews"]]
        assert shown == ids[-len(shown) :]
        assert f"offset={len(shown)}" in content["more"]
        _, content = within(small, FEWEST_TOKENS, "timeline", id=ids[20], before=20, after=20)
        around = [each["id"] for each in content["previews"]]
        assert ids[20] in around and content["more"].endswith(f"{around[0]} or {around[-1]}.")

    def test_a_context_keeps_to_the_budget(self, small: Agent, memories: Memories) -> None:
        for number in range(20):
            memories.remember(f'Walrus "{number}" \\ {LONG[:400]}')
        text, content = within(small, FEWEST_TOKENS, "context", query="walrus", max_tokens=100_000)
        assert content["left_out"] and f"{content['left_out']} memories left out" in text
        _, content = within(small, 200, "context", query="walrus", max_tokens=150)
        assert content["tokens"] <= 150

    def test_many_sessions(self, small: Agent, memories: Memories) -> None:
        for number in range(40):
            memories.start_session(f"session {number}", agent="a")
            memories.end_session(f"session {number}", summary=LONG)
        seen: list[str] = []
        while True:
            _, content = within(small, FEWEST_TOKENS, "sessions", limit=20, offset=len(seen))
            seen += [each["id"] for each in content["sessions"]]
            if "more" not in content:
                break
        assert sorted(seen) == sorted(f"session {number}" for number in range(40))

    def test_resources_and_the_prompt_keep_to_it_too(self, small: Agent, memories: Memories) -> None:
        id = memories.remember(LONG).id
        for text in (small.read(f"memory://{id}"), small.read("memory://recent"), small.prompt("recall")):
            assert len(text.encode()) <= FEWEST_TOKENS * BYTES_OF_A_TOKEN
        assert "part=2" in small.read(f"memory://{id}")


@given(TEXTS, st.integers(600, 3_000))
def test_parts_put_together_are_the_text(text: str, size: int) -> None:
    pieces = parts(text * 40, size)
    assert "".join(pieces) == text * 40
    assert all(pieces)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.builds(
            Draft,
            TEXTS.map(lambda text: f"walrus {text}") | TEXTS.map(lambda text: text * 50),
            id=NAMES,
            speaker=st.none() | NAMES,
            source=st.none() | NAMES,
            session=st.none() | NAMES,
            summary=st.none() | TEXTS,
            tags=st.lists(NAMES, max_size=4),
            trust=st.sampled_from(("high", "normal", "low")),
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda draft: draft.id,
    ),
    st.sampled_from((FEWEST_TOKENS, 5_000)),
)
def test_hostile_memories_stay_inside_their_quotes(
    memories: Memories, drafts: list[Draft], tokens: int
) -> None:
    memories.forget(everything=True)
    kept = [done.id for done in memories.remember_many(drafts)]
    with connected(AgentDoor(memories, tools="all", max_tokens=tokens).server) as agent:
        for tool, arguments in (
            ("search", {"query": "walrus"}),
            ("search", {"query": drafts[0].text[:1_000], "detail": "full"}),
            ("timeline", {}),
            ("timeline", {"id": kept[0]}),
            ("get", {"ids": kept}),
            ("context", {"query": "walrus"}),
            ("sessions", {}),
        ):
            text, _ = within(agent, tokens, tool, **arguments)
            elements(text)
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
        elements(agent.text("get", ids=kept[:1]))
        assert agent.content("get", ids=kept[:1])["memories"][0]["content"] in memories.get(kept[0]).content


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(
        ("timeline", "search", "get", "remember", "supersede", "relate", "forget", "context", "sessions")
    ),
    st.dictionaries(
        st.sampled_from(
            (
                "query",
                "ids",
                "id",
                "text",
                "limit",
                "offset",
                "part",
                "tags",
                "timeframe",
                "source",
                "target",
                "old",
            )
        )
        | st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
            ),
            max_leaves=4,
        ),
        max_size=5,
    ),
)
def test_any_arguments_are_answered(memories: Memories, tool: str, arguments: dict[str, Any]) -> None:
    with connected(AgentDoor(memories, tools="all").server) as agent:
        result = agent.call(tool, **arguments)
        assert not result.is_error or "\n" not in text_of(result)
        assert not text_of(result).startswith("Error executing")
