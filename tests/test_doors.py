"""One recall through every door gives one JSON; so do the other answers that several doors give."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Memories
from recollect.doors.mcp.server import AgentDoor
from recollect.doors.plain import plain

from .agents import Agent, connected
from .http_clients import Api
from .test_cli import Cli

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
QUESTIONS: tuple[dict[str, Any], ...] = (
    {"query": "which port does the gateway use?"},
    {"query": "walrus", "mode": "keyword"},
    {"query": "who saw a walrus last week?", "limit": 2},
    {"query": "gateway", "include_superseded": True},
    {"query": 'x" OR 1; <b>ü</b> 缓存 \u202e', "mode": "semantic", "limit": 3},
    {"query": "nothing of the kind zzz", "min_confidence": "strong"},
)
OPTIONS = {
    "mode": "--mode",
    "limit": "--limit",
    "include_superseded": "--superseded",
    "min_confidence": "--min-confidence",
}


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, monkeypatch)


@pytest.fixture
def memories(cli: Cli) -> Iterator[Memories]:
    with recollect.open(cli.folder / "memory.db", embedder="hash") as opened:
        yield opened


@pytest.fixture
def api(memories: Memories) -> Api:
    return Api(memories)


@pytest.fixture
def agent(memories: Memories) -> Iterator[Agent]:
    with connected(AgentDoor(memories, tools="all", max_tokens=100_000).server) as agent:
        yield agent


@pytest.fixture(autouse=True)
def filled(memories: Memories) -> None:
    old = memories.remember("The gateway listens on port 8080", created_at="2026-05-01", tags=["network"])
    new = memories.remember(
        "The gateway listens on port 8443", created_at="2026-05-02", source="wiki", trust="low"
    )
    memories.supersede(old.id, new.id)
    for minute, text in enumerate(("I saw a walrus", "Where?", "By the <pier> & the \u202eharbour")):
        at = f"2026-05-13T10:0{minute}"
        memories.remember(text, session="chat", speaker="Ann" if minute % 2 == 0 else "Ben", created_at=at)
    memories.relate(new.id, old.id, "replaces")


def options(asked: dict[str, Any]) -> list[str]:
    """The same, as the shell takes it."""
    given: list[str] = []
    for name, value in asked.items():
        if name != "query":
            given += [OPTIONS[name]] if value is True else [OPTIONS[name], str(value)]
    return given


def settled(answer: Any) -> Any:
    """An answer without what the passing of time alone changes: salience and recency, to six places."""
    if isinstance(answer, dict):
        return {name: settled(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return [settled(each) for each in answer]
    return round(answer, 6) if isinstance(answer, float) else answer


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked["query"][:12])
def test_the_same_recall_gives_equal_json(
    asked: dict[str, Any], memories: Memories, cli: Cli, api: Api, agent: Agent
) -> None:
    by_python = plain(memories.recall(**asked, reinforce=False))
    found = 0 if by_python["hits"] else 1
    by_shell = cli.json("search", *options(asked), "--no-reinforce", asked["query"], code=found)
    by_http = api.ask("POST", "/v1/recall", json={**asked, "reinforce": False})
    assert settled(by_shell) == settled(by_python)
    assert settled(by_http) == settled(by_python)
    takes = agent.tools["search"].input_schema["properties"]
    if asked.keys() <= takes.keys():  # an agent is offered few options
        assert settled(agent.content("search", detail="full", **asked)) == settled(by_python)


def test_an_agent_is_asked_the_same_too(agent: Agent) -> None:
    takes = agent.tools["search"].input_schema["properties"]
    assert sum(asked.keys() <= takes.keys() for asked in QUESTIONS) >= 3


def test_the_same_memory_and_its_surroundings(memories: Memories, cli: Cli, api: Api, agent: Agent) -> None:
    id = memories.recall("gateway", reinforce=False)[0].memory.id
    (by_shell,) = cli.json("show", id)
    by_http = api.ask("GET", f"/v1/memories/{id}")
    assert settled(by_shell) == settled(by_http)
    by_agent = agent.content("get", ids=[id])
    (memory,) = by_agent["memories"]
    assert settled({name: memory[name] for name in by_http if name in memory}) == settled(
        {name: by_http[name] for name in memory if name in by_http}
    )
    assert memory["content"] == by_http["content"]


def test_the_same_timeline_context_and_numbers(memories: Memories, cli: Cli, api: Api, agent: Agent) -> None:
    by_python = plain(memories.timeline())
    assert cli.json("timeline") == by_python
    assert api.ask("GET", "/v1/memories")["items"][::-1] == by_python
    asked: dict[str, Any] = {
        "query": "which port does the gateway use?",
        "max_tokens": 400,
        "reinforce": False,
    }
    by_python = plain(memories.context(**asked))
    assert settled(cli.json("context", asked["query"], "--max-tokens", "400", "--no-reinforce")) == settled(
        by_python
    )
    assert settled(api.ask("POST", "/v1/context", json=asked)) == settled(by_python)
    assert cli.json("stats") == api.ask("GET", "/v1/stats") == plain(memories.stats())


def test_what_one_door_keeps_every_other_finds(memories: Memories, cli: Cli, api: Api, agent: Agent) -> None:
    kept = {
        memories.remember("An otter, by Python").id,
        cli.add("An otter, by shell"),
        api.ask("POST", "/v1/memories", 201, json={"text": "An otter, over HTTP"})["id"],
        agent.remember("An otter, by an agent"),
    }
    asked: dict[str, Any] = {"query": "otter", "mode": "keyword"}
    assert {hit.memory.id for hit in memories.recall(**asked)} == kept
    assert {hit["memory"]["id"] for hit in cli.json("search", "otter", "--mode", "keyword")["hits"]} == kept
    assert {hit["memory"]["id"] for hit in api.ask("POST", "/v1/recall", json=asked)["hits"]} == kept
    assert {hit["memory"]["id"] for hit in agent.content("search", query="otter")["hits"][:4]} == kept
