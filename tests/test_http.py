"""The HTTP door: every operation, who is let in, what is refused and how; on both backends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import Memories
from recollect.doors.http import inputs, openapi
from recollect.doors.http.app import Limits
from recollect.doors.http.tokens import made
from recollect.doors.plain import plain
from recollect.types import Changes, DraftFields, Filters

from .conftest import sqlite_only
from .http_clients import DESCRIPTION, OWNER, Api

Open = Callable[..., Memories]
LINES = {"Accept": "application/x-ndjson"}
JSON = {"Content-Type": "application/json"}
AS_LINES = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def memories(open_memories: Open) -> Memories:
    return open_memories()


@pytest.fixture
def api(memories: Memories) -> Api:
    return Api(memories)


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def use_everything(api: Api) -> None:
    """A life of a store over HTTP, in which every operation is asked for once at least."""
    ask = api.ask
    first = ask("POST", "/v1/memories", 201, json={"text": "The gateway listens on port 8080", "id": "a/b c"})
    assert first == {"id": "a/b c", "outcome": "added", "embedded": True, "near_duplicates": []}
    many = [
        {"text": "Port 8443 since the move", "id": "new"},
        {"text": "Walrus", "session": "s", "speaker": "Ann"},
    ]
    assert len(ask("POST", "/v1/memories/batch", json={"drafts": many})) == 2
    assert ask("GET", "/v1/memories/a%2Fb%20c")["relations"] == []
    assert ask("POST", "/v1/memories/a%2Fb%20c/supersede", json={"by": "new"}) == {
        "old": "a/b c",
        "new": "new",
    }
    assert [each["id"] for each in ask("GET", "/v1/memories/new/history")] == ["a/b c", "new"]
    assert ask("GET", "/v1/memories/new/neighbourhood")["edges"][0]["type"] == "supersedes"
    assert ask("DELETE", "/v1/memories/a%2Fb%20c/supersede")["superseded_by"] is None
    assert ask("POST", "/v1/memories/new/relations", 201, json={"target": "a/b c", "type": "replaces"})[
        "type"
    ]
    assert len(ask("GET", "/v1/memories/new/relations")) == 1
    assert ask("DELETE", "/v1/memories/new/relations?target=a%2Fb%20c") == {"changed": 1}
    assert ask("PATCH", "/v1/memories/new", json={"tags": ["network"]})["tags"] == ["network"]
    assert ask("POST", "/v1/memories/new/reinforce", json={"amount": 0.2})["salience"] > 0.6
    assert ask("POST", "/v1/memories/new/deemphasize", json={})["salience"] < 0.65
    assert ask("POST", "/v1/recall", json={"query": "which port", "limit": 1})["hits"][0]["match"]
    assert "8443" in ask("POST", "/v1/context", json={"query": "which port", "max_tokens": 200})["text"]
    assert ask("POST", "/v1/why-not", json={"query": "walrus", "id": "new"})["memory"]["id"] == "new"
    assert len(ask("POST", "/v1/memories/get", json={"ids": ["new", "a/b c"]})) == 2
    assert ask("GET", "/v1/memories/new/timeline?before=1&after=0")["anchor"]["id"] == "new"
    assert ask("GET", "/v1/memories?tags=network")["items"][0]["id"] == "new"
    use_sessions_and_documents(api)
    use_upkeep(api)


def use_sessions_and_documents(api: Api) -> None:
    ask = api.ask
    assert ask("POST", "/v1/sessions", 201, json={"id": "s2", "agent": "bot"})["agent"] == "bot"
    asked = {"query": "walrus", "in_session": "s2"}
    (walrus,) = (hit["memory"]["id"] for hit in ask("POST", "/v1/recall", json=asked)["hits"][:1])
    assert ask("GET", f"/v1/memories/{walrus}/session")["session"]["id"] == "s2"
    assert ask("POST", "/v1/sessions/s/summary", json={})["summary"] == "Walrus"
    assert ask("POST", "/v1/sessions/s2/end", json={"summary": "Seen"})["summary"] == "Seen"
    assert ask("GET", "/v1/sessions/s2")["ended_at"]
    assert {each["id"] for each in ask("GET", "/v1/sessions")["items"]} == {"s", "s2"}
    text = {"name": "guide.md", "text": "# Guide\n\nRestart the gateway twice."}
    assert ask("POST", "/v1/documents", json=text)["outcome"] == "added"
    assert ask("GET", "/v1/documents")["items"][0]["name"] == "guide.md"
    found = ask("POST", "/v1/recall", json={"query": "restart", "document": ["guide.md"]})["hits"]
    assert found[0]["memory"]["document"] == "guide.md"
    assert ask("POST", "/v1/documents/search", json={"query": "restart"})["hits"][0]["memory"]["document"]
    assert ask("POST", "/v1/conversation", json={"query": "walrus"})[0]["content"] == "Walrus"
    assert ask("DELETE", "/v1/documents/guide.md")["documents"] == 1


def use_upkeep(api: Api) -> None:
    ask = api.ask
    assert ask("PUT", "/v1/weights", json={"semantic": 1, "keyword": 1})["semantic"] == 0.5
    assert ask("GET", "/v1/weights")["keyword"] == 0.5
    assert ask("POST", "/v1/tune", json={"number": 10})["weights"] is None
    assert ask("POST", "/v1/weights/undo") is None
    assert ask("DELETE", "/v1/weights") is None
    assert ask("GET", "/v1/stats")["memories"] == 3
    assert sum(ask("GET", "/v1/growth")["salience"]) == 3
    assert ask("GET", "/v1/namespaces")["items"] == [{"name": "proj1", "memories": 3}]
    assert ask("POST", "/v1/reembed") == ask("POST", "/v1/backfill") == {"waiting": 0}
    assert ask("POST", "/v1/doctor", json={"rebuild": True}) == []
    exported = api.response("GET", "/v1/export")
    as_lines = {"content": exported.content, "headers": AS_LINES}
    assert ask("POST", "/v1/import?namespace=copy", **as_lines)["memories"] == 3
    assert ask("POST", "/v1/import", json={"records": lines(exported.text)}).get("memories", 0) == 0
    assert ask("POST", "/v1/memories/hide", json={"ids": ["new"]}) == {"changed": 1}
    assert ask("POST", "/v1/memories/restore", json={"ids": ["new"]}) == {"changed": 1}
    assert ask("DELETE", "/v1/memories/new")["memories"] == 1
    assert ask("POST", "/v1/forget", json={"everything": True})["memories"] == 2
    assert ask("GET", "/v1/token")["name"] == "owner"
    assert ask("GET", "/health")["status"] == "ok"
    assert ask("GET", "/openapi.json") == DESCRIPTION
    assert "recollect_requests_total" in api.response("GET", "/metrics").text


def test_every_operation_works_and_answers_as_described(api: Api) -> None:
    use_everything(api)
    every = {each["operationId"] for path in DESCRIPTION["paths"].values() for each in path.values()}
    assert api.asked == every


def test_a_recall_is_what_python_gives(api: Api, memories: Memories) -> None:
    memories.remember("Walrus", speaker="Ann", session="s")
    memories.remember("Seal", tags=["sea"])
    asked: dict[str, Any] = {
        "query": "walrus and seal",
        "reinforce": False,
        "neighbours": 1,
        "expand": ["whale"],
    }
    got = api.ask("POST", "/v1/recall", json=asked)
    wanted = plain(memories.recall(**asked))
    for hits in (got["hits"], wanted["hits"]):
        for hit in hits:
            hit["score"], hit["memory"]["salience"] = (
                round(hit["score"], 6),
                round(hit["memory"]["salience"], 6),
            )
            hit.pop("why"), [each.pop("salience") for each in hit["neighbours"]]
    assert got == wanted


def test_whatever_memories_takes_can_be_sent() -> None:
    assert set(inputs.FILTERS) == set(Filters.__annotations__) - {"namespace"}
    assert set(inputs.DRAFT) == {"text", *DraftFields.__annotations__}
    assert set(inputs.CHANGES) == set(Changes.__annotations__)


def test_whatever_memories_can_do_can_be_asked_for() -> None:
    """By the same name, or by one that suits a path better; the rest has no meaning over HTTP."""
    elsewhere = {
        "conversation_timeline": "conversation", "delete": "hide", "documents": "list_documents",
        "export_records": "export", "get": "get_memory", "import_records": "import", "ingest_text": "ingest",
        "namespaces": "list_namespaces", "session": "get_session", "sessions": "list_sessions",
        "tuned": "weights",
    }  # fmt: skip
    here = {
        "close", "find_id", "in_namespace", "in_session", "namespace", "read_only", "scope", "session_id",
        "settle",
    }  # fmt: skip
    able = {elsewhere.get(name, name) for name in dir(Memories) if not name.startswith("_")} - here
    assert able <= {operation.name for operation in openapi.OPERATIONS}


def test_every_part_of_the_description_says_what_it_is_for() -> None:
    for path, methods in DESCRIPTION["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"].endswith("."), (method, path)


class TestPages:
    def test_every_memory_comes_once(self, api: Api, memories: Memories) -> None:
        memories.remember_many([f"note {i}" for i in range(12)])
        seen: list[str] = []
        path = "/v1/memories?limit=5"
        while True:
            page = api.ask("GET", path)
            seen += [each["text"] for each in page["items"]]
            if page["next"] is None:
                break
            path = f"/v1/memories?limit=5&cursor={page['next']}"
        assert seen == [f"note {i}" for i in reversed(range(12))]

    def test_sessions_documents_and_namespaces_too(self, api: Api, memories: Memories) -> None:
        for i in range(3):
            memories.start_session(f"s{i}")
            memories.ingest_text(f"d{i}", "Text")
            memories.in_namespace(f"n{i}").remember("Text")
        for path, key in (("sessions", "id"), ("documents", "name"), ("namespaces", "name")):
            first = api.ask("GET", f"/v1/{path}?limit=2")
            rest = api.ask("GET", f"/v1/{path}?limit=9&cursor={first['next']}")
            whole = api.ask("GET", f"/v1/{path}")
            assert [each[key] for each in (*first["items"], *rest["items"])] == [
                each[key] for each in whole["items"]
            ]
            assert rest["next"] is whole["next"] is None

    @pytest.mark.parametrize("cursor", ["x", "////", "WzEsMl0=", "bnVsbA==", "%00", "é"])
    def test_what_is_no_cursor_is_refused(self, api: Api, cursor: str) -> None:
        assert "no cursor" in api.ask("GET", f"/v1/memories?cursor={cursor}", 422)["detail"]


class TestWhoIsLetIn:
    @sqlite_only  # nobody comes as far as the store
    @pytest.mark.parametrize("operation", openapi.OPERATIONS, ids=lambda operation: operation.name)
    def test_nothing_happens_without_a_token(self, operation: Any, api: Api) -> None:
        for headers in (
            {"Authorization": ""},
            {"Authorization": "Bearer nonsense"},
            {"Authorization": "Basic x"},
        ):
            response = api.response(
                operation.method, operation.path.replace("{", "").replace("}", ""), headers=headers
            )
            assert response.status_code == 401
            assert response.headers["www-authenticate"].startswith("Bearer")

    def test_health_and_the_shell_need_none(self, api: Api) -> None:
        assert api.client.get("/health").status_code == 200
        assert "<title>" in api.client.get("/").text
        for path in ("/metrics", "/openapi.json"):
            assert api.client.get(path).status_code == 401

    @pytest.mark.parametrize("operation", openapi.OPERATIONS, ids=lambda operation: operation.name)
    def test_a_token_that_may_read_changes_nothing(self, operation: Any, memories: Memories) -> None:
        api = Api(memories, made("reader", read_only=True))
        response = api.response(operation.method, operation.path.format(id="x", name="x"), json=None)
        assert (response.status_code == 403) == operation.writes, response.text

    def test_a_token_of_one_namespace_sees_no_other(self, memories: Memories) -> None:
        memories.in_namespace("theirs").remember("Walrus", id="w", session="s")
        memories.in_namespace("theirs").ingest_text("d", "Walrus")
        memories.in_namespace("ours").remember("Seal", id="ours")
        api = Api(memories, made("bound", namespace="ours"))
        before = list(memories.in_namespace("theirs").export_records(vectors=True))
        for operation in openapi.OPERATIONS:
            path = operation.path.format(id="w", name="d")
            body: dict[str, Any] = {"json": {}} if operation.body is not None else {}
            elsewhere = api.response(operation.method, f"{path}?namespace=theirs&target=w", **body)
            assert elsewhere.status_code in (400, 403), operation.name
            here = api.response(operation.method, path, **body)
            assert "Walrus" not in here.text, operation.name
        assert api.ask("POST", "/v1/recall", 403, json={"query": "walrus", "namespaces": ["ours", "theirs"]})
        assert (
            api.ask("POST", "/v1/recall", json={"query": "walrus seal"})["hits"][0]["memory"]["id"] == "ours"
        )
        assert list(memories.in_namespace("theirs").export_records(vectors=True)) == before
        for path in ("/v1/namespaces", "/metrics"):
            assert api.response("GET", path).status_code == 403

    def test_a_revoked_token_is_refused_at_once(self, memories: Memories) -> None:
        api = Api(memories, made("one"))
        api.ask("GET", "/v1/stats")
        api.tokens = (OWNER,)
        api.ask("GET", "/v1/stats", 401)

    @pytest.mark.parametrize(
        "host", ["evil.example", "localhost.evil.example", "127.0.0.1@evil.example", "", "[::1"]
    )
    def test_a_name_that_is_not_ours_is_refused(self, host: str, api: Api) -> None:
        response = api.client.get("/v1/stats", headers={**api.headers, "Host": host})
        assert (response.status_code, "--allow-host" in response.text) == (403, True)

    @pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1:7077", "[::1]:7077"])
    def test_names_of_this_machine_are_let_in(self, host: str, api: Api) -> None:
        assert api.client.get("/v1/stats", headers={**api.headers, "Host": host}).status_code == 200

    @pytest.mark.parametrize(
        "origin", ["https://evil.example", "null", "http://localhost:3000", "http://localhost"]
    )
    def test_pages_from_elsewhere_are_refused(self, origin: str, api: Api) -> None:
        response = api.client.get("/v1/stats", headers={**api.headers, "Origin": origin})
        assert response.status_code == 403
        assert "access-control-allow-origin" not in response.headers

    def test_our_own_page_is_let_in(self, api: Api) -> None:
        mine = {**api.headers, "Origin": "http://localhost:7077"}
        assert api.client.get("/v1/stats", headers=mine).status_code == 200

    def test_a_page_that_was_named_is_let_in(self, memories: Memories) -> None:
        api = Api(memories, origins=frozenset({"https://app.example"}))
        named = {**api.headers, "Origin": "https://app.example"}
        response = api.client.get("/v1/stats", headers=named)
        assert response.headers["access-control-allow-origin"] == "https://app.example"
        asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
        assert api.client.options("/v1/recall", headers=asked).status_code == 200


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("method", "path", "sent", "status", "says"),
        [
            ("POST", "/v1/recall", {"json": {"query": "x", "limt": 3}}, 400, "limt"),
            ("POST", "/v1/recall", {"json": {"query": 3}}, 400, "query"),
            ("POST", "/v1/recall", {"json": {"query": "x", "limit": 0}}, 400, "minimum"),
            ("POST", "/v1/recall", {"json": [1]}, 400, "object"),
            ("POST", "/v1/recall", {"content": b"{", "headers": JSON}, 400, "JSON"),
            ("POST", "/v1/recall", {"content": b'{"query": NaN}', "headers": JSON},
             400, "NaN"),
            ("POST", "/v1/recall", {"content": b"[" * 200_000, "headers": JSON},
             400, "JSON"),
            ("POST", "/v1/recall", {"content": b"\xff", "headers": JSON}, 400, "JSON"),
            ("POST", "/v1/recall", {"content": b"x", "headers": {"Content-Type": "text/plain"}}, 415, "json"),
            ("POST", "/v1/recall", {"json": {"query": "x", "since": "2026-02-01", "until": "2026-01-01"}},
             422, "swap"),
            ("POST", "/v1/recall", {"json": {"query": "x", "timeframe": "when pigs fly"}}, 422, "pigs"),
            ("GET", "/v1/memories?limit=x", {}, 400, "limit"),
            ("GET", "/v1/memories?limit=1&limit=2", {}, 400, "twice"),
            ("GET", "/v1/memories?color=red", {}, 400, "color"),
            ("GET", "/v1/memories?tags=%FF", {}, 400, "UTF-8"),
            ("GET", "/v1/memories/nowhere", {}, 404, "nowhere"),
            ("GET", "/v1/memories/%00", {}, 400, "id"),
            ("GET", "/v1/memories/%FF", {}, 400, "UTF-8"),
            ("GET", "/v1/sessions/nowhere", {}, 404, "nowhere"),
            ("DELETE", "/v1/documents/nowhere", {}, 404, "nowhere"),
            ("GET", "/v1/stats?namespace=%0A", {}, 400, "namespace"),
            ("DELETE", "/v1/memories/x", {"json": {"sure": True}}, 400, "no body"),
            ("POST", "/v1/forget", {"json": {}}, 400, "non-empty"),
            ("POST", "/v1/forget", {"json": {"kind": ["memory"]}}, 422, "Say what to forget"),
            ("POST", "/v1/forget", {"json": {"everything": True, "expired": True}}, 422, "one way"),
            ("POST", "/v1/memories", {"json": {"text": "  "}}, 422, "empty"),
            ("POST", "/v1/memories", {"json": {"text": "a\x00b"}}, 422, "NUL"),
            ("POST", "/v1/memories", {"json": {"text": "x", "id": "a\nb"}}, 400, "id"),
            ("POST", "/v1/memories", {"json": {"text": "x", "vector": [1.0]}}, 422, "vector"),
            ("POST", "/v1/import", {"content": b"3\n", "headers": AS_LINES}, 400,
             "object"),
            ("GET", "/v1/nothing", {}, 404, "nothing"),
            ("PUT", "/v1/recall", {}, 405, "POST"),
        ],
    )  # fmt: skip
    def test_bad_input_gets_one_sentence_and_changes_nothing(
        self, api: Api, memories: Memories, method: str, path: str, sent: Any, status: int, says: str
    ) -> None:
        memories.remember("Here", id="here")
        before = list(memories.export_records())
        answer = api.ask(method, path, status, **sent)
        assert says in answer["detail"]
        assert answer["status"] == status
        assert "\n" not in answer["detail"]
        assert len(answer["detail"]) < 400
        assert list(memories.export_records()) == before

    def test_half_a_character_is_refused(self, api: Api) -> None:
        half = {"content": b'{"text": "\\ud800"}', "headers": JSON}
        assert "half a character" in api.ask("POST", "/v1/memories", 422, **half)["detail"]

    def test_what_is_sent_has_a_size(self, memories: Memories) -> None:
        api = Api(memories, limits=Limits(body=1_000))
        assert "1,000 bytes" in api.ask("POST", "/v1/memories", 413, json={"text": "x" * 1_000})["detail"]
        assert memories.stats().memories == 0

    def test_what_is_answered_has_a_size(self, memories: Memories) -> None:
        memories.remember("walrus " * 1_000, id="w")
        api = Api(memories, limits=Limits(answer=2_000))
        assert "ask for less" in api.ask("GET", "/v1/memories/w", 413)["detail"]

    def test_a_text_is_never_taken_for_a_file(self, api: Api, tmp_path: Path) -> None:
        secret = tmp_path / "secret.txt"
        secret.write_text("The secret walrus")
        api.ask("POST", "/v1/documents", json={"name": "d", "text": str(secret)})
        found = api.ask("POST", "/v1/recall", json={"query": "secret walrus", "kind": ["passage"]})
        assert [hit["memory"]["content"] for hit in found["hits"]] == [str(secret)]

    def test_nothing_from_elsewhere_may_be_loaded(self, api: Api) -> None:
        response = api.client.get("/")
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert response.headers["x-content-type-options"] == "nosniff"
        assert api.response("GET", "/v1/stats").headers["cache-control"] == "no-store"

    @pytest.mark.parametrize(
        "path", ["/page/../app.py", "/page/%2e%2e/http/app.py", "/page//etc/passwd", "/page/"]
    )
    def test_the_shell_gives_its_own_files_alone(self, path: str, api: Api) -> None:
        assert api.client.get(path).status_code == 404


class TestProgress:
    def test_long_work_says_how_far_it_is(self, api: Api) -> None:
        drafts = [{"text": f"note {i}"} for i in range(40)]
        told = lines(api.response("POST", "/v1/memories/batch", json={"drafts": drafts}, headers=LINES).text)
        assert [each["progress"]["done"] for each in told[:-1]][-1] == 40
        assert len(told[-1]["result"]) == 40

    def test_what_goes_wrong_is_the_last_line(self, api: Api) -> None:
        drafts = [{"text": "fine"}, {"text": " "}]
        told = lines(api.response("POST", "/v1/memories/batch", json={"drafts": drafts}, headers=LINES).text)
        assert told[-1]["problem"]["status"] == 422


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1).filter(str.strip), path=st.text(), query=st.text())
def test_any_text_goes_in_and_comes_out(api: Api, text: str, path: str, query: str) -> None:
    from urllib.parse import quote

    stored = api.response("POST", "/v1/memories", json={"text": text})
    if stored.status_code == 201:
        assert api.ask("GET", f"/v1/memories/{stored.json()['id']}")["content"] == text
    assert api.response("POST", "/v1/recall", json={"query": query}).status_code == 200
    assert api.response("GET", f"/v1/memories/{quote(path, safe='')}x").status_code in (400, 404, 200)
