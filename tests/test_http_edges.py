"""The HTTP door at its edges: what a token that reads may not do, odd requests, clients that go away."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

import recollect
from recollect import Memories
from recollect.asynchronous import BATCH
from recollect.doors.http import app, inputs
from recollect.doors.http.app import Limits
from recollect.doors.http.guarding import Guard
from recollect.doors.http.tickets import GOOD_FOR, Ticket
from recollect.doors.http.tokens import made

from .http_clients import OWNER, Api

Open = Callable[..., Memories]


@pytest.fixture
def memories(open_memories: Open) -> Memories:
    return open_memories()


@pytest.fixture
def api(memories: Memories) -> Api:
    return Api(memories)


class TestATokenThatMayOnlyRead:
    @pytest.mark.parametrize("path", ["/v1/recall", "/v1/context"])
    def test_leaves_no_trace(self, path: str, memories: Memories) -> None:
        memories.remember("Walrus", id="w")
        reader = Api(memories, made("reader", read_only=True))
        before = list(memories.export_records())
        assert "Walrus" in reader.response("POST", path, json={"query": "walrus"}).text
        memories.stats()
        assert list(memories.export_records()) == before

    @pytest.mark.parametrize("asked", [{"in_session": "s"}, {"reinforce": True}])
    def test_is_refused_what_would_leave_one(self, asked: dict[str, Any], memories: Memories) -> None:
        memories.remember("Walrus", id="w")
        reader = Api(memories, made("reader", read_only=True))
        for path in ("/v1/recall", "/v1/context"):
            refused = reader.ask("POST", path, 403, json={"query": "walrus", **asked})
            assert "may only read" in refused["detail"]
        assert memories.sessions() == []


class TestOddRequests:
    @pytest.mark.parametrize(
        "origin",
        [
            "http://[",
            "http://[::1",
            "",
            "//localhost:7077",
            "ftp://localhost:7077",
            "http://localhost:7077/x",
        ],
    )
    def test_what_is_no_origin_of_ours_is_refused(self, origin: str, api: Api) -> None:
        response = api.client.get("/v1/stats", headers={**api.headers, "Origin": origin})
        assert (response.status_code, response.json()["status"]) == (403, 403)

    @pytest.mark.parametrize("host", ["localhost?x", "localhost#x", "localhost:x", "localhost:1:2", "::1"])
    def test_what_is_no_name_is_refused(self, host: str, api: Api) -> None:
        assert api.client.get("/v1/stats", headers={**api.headers, "Host": host}).status_code == 403

    def test_each_thing_has_one_address(self, api: Api) -> None:
        for path in ("/v1/stats/", "//v1/stats", "/v1%2Fstats", "/v1/st%61ts"):
            assert api.client.get(path, headers=api.headers).status_code == 404

    def test_what_can_be_done_instead_is_said(self, api: Api) -> None:
        response = api.client.put("/v1/recall", headers=api.headers)
        assert (response.status_code, response.headers["allow"]) == (405, "POST")
        assert "POST" in response.json()["detail"]

    def test_a_name_that_is_long_and_wrong_is_refused_at_once(self) -> None:
        """Were it looked at as often as it has characters, this would not end."""
        assert re.search(inputs.NAME["pattern"], " a b") is not None
        for wrong in (" ", "a" * 2_000_000 + "\x01", " " * 2_000_000):
            assert re.search(inputs.NAME["pattern"], wrong) is None

    def test_a_body_that_is_said_to_be_huge_is_not_waited_for(self, memories: Memories) -> None:
        api = Api(memories, limits=Limits(body=1_000))

        def nothing_comes() -> Iterator[bytes]:
            yield from (pytest.fail("the body was read") for _ in range(1))

        sent = {"Content-Length": "5000", "Content-Type": "application/json"}
        assert api.response("POST", "/v1/recall", headers=sent, content=nothing_comes()).status_code == 413

    def test_a_body_in_pieces_has_a_size_too(self, memories: Memories) -> None:
        api = Api(memories, limits=Limits(body=1_000))
        pieces = (b" " * 300 for _ in range(9))
        sent = {"Content-Type": "application/json"}
        assert api.response("POST", "/v1/recall", headers=sent, content=pieces).status_code == 413


def test_who_waits_when_the_server_stops_is_told(tmp_path: Path) -> None:
    go_on, told = threading.Event(), []

    class Waiting:
        name, dimensions, fingerprint, query_prefix = "waiting", 2, "waiting-1", ""

        def embed(self, texts: object) -> list[list[float]]:
            assert go_on.wait(timeout=60)
            return [[1.0, 0.0]]

    async def use(api: Api) -> None:
        sent = httpx.Request("POST", "http://localhost/v1/memories", json={"text": "x"}, headers=api.headers)
        bodies = iter([{"type": "http.request", "body": sent.read()}])

        async def receive() -> Any:
            return next(bodies)

        async def send(message: Any) -> None:
            told.append(message)

        scope = {"type": "http", "method": "POST", "raw_path": b"/v1/memories", "query_string": b""}
        headers = [(name.lower(), value) for name, value in sent.headers.raw]
        asking = asyncio.ensure_future(api.app({**scope, "headers": headers}, receive, send))
        await asyncio.sleep(0.1)
        asking.cancel()
        await asking
        go_on.set()

    with recollect.open(tmp_path / "memory.db", embedder=Waiting()) as memories:  # type: ignore[arg-type]
        asyncio.run(use(Api(memories)))
        assert told[0]["status"] == 503
        assert b"being stopped" in told[1]["body"]


@pytest.mark.parametrize("version", ["2.3", "2.4"])
def test_an_export_that_nobody_reads_on_lets_go_of_the_store(
    memories: Memories, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    let_go = threading.Event()

    def records(self: Memories, **given: object) -> Iterator[dict[str, Any]]:
        try:
            yield from ({"type": "memory", "id": str(number)} for number in range(BATCH * 3))
        finally:
            let_go.set()

    async def use(api: Api) -> None:
        bodies = iter([{"type": "http.request", "body": b""}])

        async def receive() -> Any:
            return next(bodies, None) or await asyncio.Event().wait()

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body":
                await asyncio.Event().wait()

        scope = {"type": "http", "method": "GET", "raw_path": b"/v1/export", "query_string": b""}
        sent = httpx.Request("GET", "http://localhost/v1/export", headers=api.headers)
        headers = [(name.lower(), value) for name, value in sent.headers.raw]
        about = {"asgi": {"version": "3.0", "spec_version": version}, "headers": headers}
        await api.app({**scope, **about}, receive, send)

    monkeypatch.setattr(app, "_UNREAD", 0.01)
    monkeypatch.setattr(Memories, "export_records", records)
    asyncio.run(use(Api(memories)))
    assert let_go.is_set()


class TestATicket:
    def test_gives_the_token_once(self, memories: Memories) -> None:
        ticket = Ticket(str(OWNER.text))
        client = page_client(memories, ticket)
        for wrong in ({}, {"Authorization": "Ticket x"}, {"Authorization": f"Bearer {ticket.text}"}):
            assert client.post("/ticket", headers=wrong).status_code == 401
        shown = {"Authorization": f"Ticket {ticket.text}"}
        assert client.post("/ticket", headers={**shown, "Origin": "https://elsewhere"}).status_code == 403
        given = client.post("/ticket", headers=shown)
        assert (given.status_code, given.json()) == (200, {"token": OWNER.text})
        assert given.headers["cache-control"] == "no-store"
        again = client.post("/ticket", headers=shown)
        assert (again.status_code, again.headers["content-type"]) == (401, "application/problem+json")
        assert "used already" in again.json()["detail"]

    def test_is_not_good_for_long(self, memories: Memories) -> None:
        moments = iter([0.0, GOOD_FOR + 1])
        ticket = Ticket("token", lambda: next(moments))
        shown = {"Authorization": f"Ticket {ticket.text}"}
        assert page_client(memories, ticket).post("/ticket", headers=shown).status_code == 401

    def test_opens_nothing_else(self, memories: Memories) -> None:
        ticket = Ticket("token")
        for kind in ("Ticket", "Bearer"):
            headers = {"Authorization": f"{kind} {ticket.text}"}
            assert page_client(memories, ticket).get("/v1/stats", headers=headers).status_code == 401

    def test_without_one_there_is_nothing_to_change(self, api: Api) -> None:
        assert api.client.post("/ticket").status_code == 404


def page_client(memories: Memories, ticket: Ticket) -> TestClient:
    served = app.application(memories, Guard(lambda: (OWNER,)), ticket=ticket)
    return TestClient(served, base_url="http://localhost:7077")


class TestHowItAnswers:
    def test_what_was_made_is_where_it_says(self, api: Api) -> None:
        for path, sent in (("/v1/memories", {"text": "x", "id": "a/b"}), ("/v1/sessions", {"id": "s s"})):
            for there in ("", "?namespace=n%20m"):
                made = api.response("POST", path + there, json=sent)
                assert made.status_code == 201
                assert api.ask("GET", made.headers["location"])["id"] == sent["id"]
        api.ask("POST", "/v1/memories", 201, json={"text": "y", "id": "y"})
        drawn = api.response("POST", "/v1/memories/y/relations", json={"target": "a/b"})
        assert len(api.ask("GET", drawn.headers["location"])) == 1

    def test_not_now_says_when(self, api: Api, memories: Memories) -> None:
        memories.close()
        refused = api.response("GET", "/v1/stats")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")

    def test_an_export_that_cannot_begin_is_a_problem(self, api: Api, memories: Memories) -> None:
        memories.close()
        assert api.ask("GET", "/v1/export", 503)["status"] == 503

    def test_an_export_has_every_record_once(self, api: Api, memories: Memories) -> None:
        memories.remember_many([f"note {i}" for i in range(BATCH * 2 + 1)])
        told = [json.loads(line) for line in api.response("GET", "/v1/export").text.splitlines()]
        assert told == list(memories.export_records())
        assert api.client.head("/v1/export", headers=api.headers).status_code == 200

    def test_a_context_is_linked_to_its_session_by_what_is_in_it(self, api: Api, memories: Memories) -> None:
        memories.remember_many([f"walrus {i} {'word ' * 60}" for i in range(9)])
        asked = {"query": "walrus", "max_tokens": 200, "in_session": "s"}
        told = api.ask("POST", "/v1/context", json=asked)["memories"]
        memories.growth()  # what is noted in the background has been written then
        links = [record["memory"] for record in memories.export_records() if record["type"] == "link"]
        assert 0 < len(told) < 9
        assert sorted(links) == sorted(each["id"] for each in told)
