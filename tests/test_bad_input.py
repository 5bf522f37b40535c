"""What can't be used is refused in our own words, and nothing is changed by it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import apsw
import pytest

import recollect
from recollect import (
    ConfigError,
    Draft,
    InvalidInput,
    Memories,
    NoSuchDocument,
    NoSuchMemory,
    NoSuchSession,
    NotAStore,
    NotFound,
    RecollectError,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreTooNew,
)

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
OLD = "018f0000-0000-7000-8000-000000000001"
NEW = "018f0000-0000-7000-8000-000000000002"
SURROGATE = "half a \ud83d character"
NUL = "a NUL \0 byte"
TEN_MEGABYTES = "memory " * 1_500_000

Action = Callable[[Memories], object]


def opened(path: str | Path, namespace: str = "bad") -> Memories:
    return recollect.open(path, namespace=namespace, embedder="hash", clock=lambda: NOW)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memories]:
    """One store for all that must leave it as it is."""
    yield from _filled(tmp_path_factory.mktemp("unchanged"))


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memories]:
    yield from _filled(tmp_path)


def _filled(folder: Path) -> Iterator[Memories]:
    with opened(folder / "memory.db") as store:
        store.remember("The API listens on port 8080", id=OLD, session="monday", tags=["port"])
        store.remember("The API listens on port 9090 now", id=NEW)
        store.relate(NEW, OLD)
        store.ingest("# Guide\n\nStart the server with make run.", name="guide.md")
        yield store


def anything(value: object) -> Any:
    """A value of a type that no type checker would let through."""
    return cast("Any", value)


TEXTS: dict[str, object] = {
    "empty": "",
    "blank": " \t\n\u3000",
    "NUL": NUL,
    "a lone surrogate": SURROGATE,
    "10 MB": TEN_MEGABYTES,
    "bytes": b"text",
    "a number": 5,
    "nothing": None,
}
MOMENTS: dict[str, object] = {
    "words": "yesterday-ish",
    "empty": "",
    "a 13th month": "2026-13-01",
    "a 30th of February": "2026-02-30",
    "year 0": "0000-01-01",
    "a year of five digits": "12026-01-01",
    "a number": 1767225600,
    "a NUL": "2026-01-01\0",
    "an endless one": "2" * 10_000,
}
NAMES: dict[str, object] = {
    "empty": "",
    "NUL": "a\0b",
    "a new line": "a\nb",
    "a lone surrogate": "\udfff",
    "600 characters": "x" * 600,
    "a number": 5,
    "bytes": b"id",
}
LIMITS: dict[str, object] = {
    "0": 0,
    "a million": 1_000_000,
    "negative": -1,
    "a fraction": 1.5,
    "words": "ten",
    "true": True,
    "nothing": None,
    "a huge one": 10**30,
}
FRACTIONS: dict[str, object] = {
    "above 1": 1.01,
    "below 0": -0.01,
    "NaN": float("nan"),
    "infinite": float("inf"),
    "words": "high",
    "true": True,
}


def using(value: Any, action: Callable[[Memories, Any], object]) -> Action:
    return lambda memories: action(memories, value)


def table() -> Iterator[tuple[str, Action, type[RecollectError]]]:
    """Every way in which a caller can go wrong: what, how, and which error it must be."""
    for what, text in TEXTS.items():
        value = anything(text)
        yield f"remember, {what}", using(value, lambda m, v: m.remember(v)), InvalidInput
        yield (
            f"remember_many, {what}",
            using(value, lambda m, v: m.remember_many(["good", Draft(v)])),
            InvalidInput,
        )
        yield f"update text, {what}", using(value, lambda m, v: m.update(OLD, text=v)), InvalidInput
        if what != "10 MB":
            yield f"ingest, {what}", using(value, lambda m, v: m.ingest(v, name="x.md")), InvalidInput
        if value is not None:
            yield (
                f"summary, {what}",
                using(value, lambda m, v: m.end_session("monday", summary=v)),
                InvalidInput,
            )
    for what, item in {"a number": 5, "nothing": None, "a mapping": {"text": "a"}}.items():
        value = anything(item)
        yield (
            f"remember_many item, {what}",
            using(value, lambda m, v: m.remember_many(["good", v])),
            InvalidInput,
        )
    for what, moment in MOMENTS.items():
        value = anything(moment)
        for field in ("created_at", "valid_from", "valid_until", "expires_at"):
            yield (
                f"remember {field}, {what}",
                using({field: value}, lambda m, v: m.remember("x", **v)),
                InvalidInput,
            )
        for option in ("since", "until", "as_of"):
            yield (
                f"recall {option}, {what}",
                using({option: value}, lambda m, v: m.recall("x", **v)),
                InvalidInput,
            )
        yield (
            f"timeframe from, {what}",
            using(value, lambda m, v: m.recall("x", timeframe=(v, None))),
            InvalidInput,
        )
        yield f"timeline since, {what}", using(value, lambda m, v: m.timeline(since=v)), InvalidInput
        yield f"sessions until, {what}", using(value, lambda m, v: m.sessions(until=v)), InvalidInput
        yield (
            f"start_session, {what}",
            using(value, lambda m, v: m.start_session("t", started_at=v)),
            InvalidInput,
        )
        yield (
            f"end_session, {what}",
            using(value, lambda m, v: m.end_session("monday", ended_at=v)),
            InvalidInput,
        )
        yield f"supersede at, {what}", using(value, lambda m, v: m.supersede(OLD, NEW, at=v)), InvalidInput
        yield f"update, {what}", using(value, lambda m, v: m.update(OLD, created_at=v)), InvalidInput
        yield f"forget since, {what}", using(value, lambda m, v: m.forget(since=v)), InvalidInput
    for what, name in NAMES.items():
        value = anything(name)
        for field in ("id", "session", "speaker", "source"):
            yield (
                f"remember {field}, {what}",
                using({field: value}, lambda m, v: m.remember("x", **v)),
                InvalidInput,
            )
        for field in ("tags", "files"):
            yield (
                f"remember {field}, {what}",
                using({field: [value]}, lambda m, v: m.remember("x", **v)),
                InvalidInput,
            )
        for option in ("namespaces", "tags", "speaker", "session", "document"):
            yield (
                f"recall {option}, {what}",
                using({option: value}, lambda m, v: m.recall("x", **v)),
                InvalidInput,
            )
        yield f"in_namespace, {what}", using(value, lambda m, v: m.in_namespace(v)), InvalidInput
        yield f"in_session, {what}", using(value, lambda m, v: m.in_session(v)), InvalidInput
        yield f"start_session, {what}", using(value, lambda m, v: m.start_session(v)), InvalidInput
        yield f"relation type, {what}", using(value, lambda m, v: m.relate(OLD, NEW, v)), InvalidInput
        yield f"relation origin, {what}", using(value, lambda m, v: m.relate(OLD, NEW, "a", v)), InvalidInput
        yield f"get, {what}", using(value, lambda m, v: m.get(v)), InvalidInput
        yield f"forget, {what}", using(value, lambda m, v: m.forget(v)), InvalidInput
        yield f"delete, {what}", using(value, lambda m, v: m.delete(v)), InvalidInput
        yield f"ingest name, {what}", using(value, lambda m, v: m.ingest("text", name=v)), InvalidInput
    for what, limit in LIMITS.items():
        value = anything(limit)
        yield f"recall limit, {what}", using(value, lambda m, v: m.recall("x", limit=v)), InvalidInput
        yield f"timeline limit, {what}", using(value, lambda m, v: m.timeline(limit=v)), InvalidInput
        yield f"sessions limit, {what}", using(value, lambda m, v: m.sessions(limit=v)), InvalidInput
        yield (
            f"prefilter_limit, {what}",
            using(value, lambda m, v: m.recall("x", prefilter_limit=v)),
            InvalidInput,
        )
        if what not in ("0", "a million"):
            yield f"neighbours, {what}", using(value, lambda m, v: m.recall("x", neighbours=v)), InvalidInput
            yield f"timeline before, {what}", using(value, lambda m, v: m.timeline(OLD, v)), InvalidInput
        if what != "a million":
            yield f"max_tokens, {what}", using(value, lambda m, v: m.context("x", v)), InvalidInput
    for what, fraction in FRACTIONS.items():
        value = anything(fraction)
        yield f"importance, {what}", using(value, lambda m, v: m.remember("x", importance=v)), InvalidInput
        yield f"min_salience, {what}", using(value, lambda m, v: m.recall("x", min_salience=v)), InvalidInput
        yield f"reinforce, {what}", using(value, lambda m, v: m.reinforce(OLD, v)), InvalidInput
        yield f"deemphasize, {what}", using(value, lambda m, v: m.deemphasize(OLD, v)), InvalidInput
        if what != "below 0":
            yield f"threshold, {what}", using(value, lambda m, v: m.recall("x", threshold=v)), InvalidInput
        if what != "above 1":
            yield (
                f"weight, {what}",
                using(value, lambda m, v: m.recall("x", weights={"keyword": v})),
                InvalidInput,
            )
    yield from UNKNOWN
    yield from MEANT_OTHERWISE


UNKNOWN: list[tuple[str, Action, type[RecollectError]]] = [
    ("an unknown id, get", lambda m: m.get("nobody"), NoSuchMemory),
    ("an unknown id among others", lambda m: m.get([OLD, "nobody"]), NoSuchMemory),
    ("an unknown id, update", lambda m: m.update("nobody", tags=["a"]), NoSuchMemory),
    ("an unknown id, superseded", lambda m: m.supersede("nobody", NEW), NoSuchMemory),
    ("an unknown id, supersedes", lambda m: m.supersede(OLD, "nobody"), NoSuchMemory),
    ("an unknown id, relate", lambda m: m.relate(OLD, "nobody"), NoSuchMemory),
    ("an unknown id, unrelate", lambda m: m.unrelate("nobody", OLD), NoSuchMemory),
    ("an unknown id, relations", lambda m: m.relations("nobody"), NoSuchMemory),
    ("an unknown id, forget", lambda m: m.forget([OLD, "nobody"]), NoSuchMemory),
    ("an unknown id, delete", lambda m: m.delete([OLD, "nobody"]), NoSuchMemory),
    ("an unknown id, restore", lambda m: m.restore("nobody"), NoSuchMemory),
    ("an unknown id, timeline", lambda m: m.timeline("nobody"), NoSuchMemory),
    ("an unknown id, reinforce", lambda m: m.reinforce("nobody"), NoSuchMemory),
    ("an unknown id, session_context", lambda m: m.session_context("nobody"), NoSuchMemory),
    ("an unknown ending", lambda m: m.find_id("nobody"), NoSuchMemory),
    ("an id of another namespace", lambda m: m.in_namespace("other").get(OLD), NoSuchMemory),
    ("a relation into another namespace", lambda m: m.in_namespace("other").relate(OLD, NEW), NoSuchMemory),
    ("an unknown session", lambda m: m.session("nobody"), NoSuchSession),
    ("ending an unknown session", lambda m: m.end_session("nobody"), NoSuchSession),
    ("ending no session", lambda m: m.end_session(), InvalidInput),
    ("summarising an unknown session", lambda m: m.summarise_session("nobody"), NoSuchSession),
    ("an unknown document", lambda m: m.forget_document("nobody"), NoSuchDocument),
    ("a half document", lambda m: m.forget_document("\ud800"), RecollectError),
    ("a half type", lambda m: m.unrelate(OLD, NEW, "\ud800"), RecollectError),
    ("a half session", lambda m: m.session("\ud800"), RecollectError),
]

MEANT_OTHERWISE: list[tuple[str, Action, type[RecollectError]]] = [
    ("an unknown mode", lambda m: m.recall("x", mode=anything("telepathy")), InvalidInput),
    ("no mode", lambda m: m.recall("x", mode=anything(None)), InvalidInput),
    ("an unknown fusion", lambda m: m.recall("x", fusion=anything("cold")), InvalidInput),
    ("an unknown sector", lambda m: m.remember("x", sector="psychic"), InvalidInput),  # type: ignore[arg-type]
    ("an unknown tier", lambda m: m.remember("x", tier="galactic"), InvalidInput),  # type: ignore[arg-type]
    ("an unknown trust", lambda m: m.remember("x", trust="blind"), InvalidInput),  # type: ignore[arg-type]
    ("an unknown language", lambda m: m.remember("x", language="klingon"), InvalidInput),
    ("an unknown sector to filter by", lambda m: m.recall("x", sector="psychic"), InvalidInput),
    ("an unknown factor", lambda m: m.recall("x", rerank=["luck"]), InvalidInput),
    ("an unknown field", lambda m: m.remember("x", colour="red"), InvalidInput),  # type: ignore[call-arg]
    ("an unknown field to update", lambda m: m.update(OLD, colour="red"), InvalidInput),  # type: ignore[call-arg]
    ("an unknown way with doubles", lambda m: m.remember("x", on_duplicate=anything("sell")), InvalidInput),
    ("tags that are no list", lambda m: m.remember("x", tags=5), InvalidInput),  # type: ignore[arg-type]
    ("an id that is taken", lambda m: m.remember("something else", id=OLD), InvalidInput),
    ("an id twice", lambda m: m.remember_many([Draft("a", id="i"), Draft("b", id="i")]), InvalidInput),
    ("an unknown weight", lambda m: m.recall("x", weights={"luck": 1}), InvalidInput),
    ("weights of another fusion", lambda m: m.recall("x", weights={"recency": 1}), InvalidInput),
    ("weights of nothing", lambda m: m.recall("x", weights={"keyword": 0, "semantic": 0}), InvalidInput),
    (
        "weights to no fusion",
        lambda m: m.recall("x", fusion="fallback", weights={"keyword": 1}),
        InvalidInput,
    ),
    ("an interval backwards", lambda m: m.recall("x", since="2026-02-01", until="2026-01-01"), InvalidInput),
    ("an empty interval", lambda m: m.timeline(since="2026-02-01", until="2026-02-01"), InvalidInput),
    (
        "validity backwards",
        lambda m: m.remember("x", valid_from="2026-02-01", valid_until="2026-01-01"),
        InvalidInput,
    ),
    ("sessions backwards", lambda m: m.sessions(since="2026-02-01", until="2026-01-01"), InvalidInput),
    ("a session that ends first", lambda m: m.end_session("monday", ended_at="2020-01-01"), InvalidInput),
    ("an unreadable timeframe", lambda m: m.recall("x", timeframe="when pigs fly"), InvalidInput),
    ("an empty timeframe", lambda m: m.recall("x", timeframe=""), InvalidInput),
    ("two timeframes", lambda m: m.recall("x", timeframe="today", since="2026-01-01"), InvalidInput),
    ("documents, perhaps", lambda m: m.recall("x", include_documents=anything("no")), InvalidInput),
    ("one text for many", lambda m: m.remember_many("a text"), InvalidInput),
    ("nothing for many", lambda m: m.remember_many(anything(None)), InvalidInput),
    ("several ids, history", lambda m: m.history(anything([OLD])), InvalidInput),
    ("several ids, relations", lambda m: m.relations(anything([])), InvalidInput),
    ("several ids, update", lambda m: m.update(anything([OLD]), tags=["a"]), InvalidInput),
    ("several ids, supersedes", lambda m: m.supersede(OLD, anything([NEW])), InvalidInput),
    ("several ids, timeline", lambda m: m.timeline(anything([])), InvalidInput),
    ("several ids, why_not", lambda m: m.why_not("x", anything([OLD])), InvalidInput),
    ("a query of bytes", lambda m: m.recall(anything(b"x")), InvalidInput),
    ("no query", lambda m: m.recall(anything(None)), InvalidInput),
    ("a query of 10 MB", lambda m: m.recall(TEN_MEGABYTES), InvalidInput),
    ("a memory that supersedes itself", lambda m: m.supersede(OLD, OLD), InvalidInput),
    ("a memory related to itself", lambda m: m.relate(OLD, OLD), InvalidInput),
    ("metadata that is a list", lambda m: m.remember("x", metadata=["a"]), InvalidInput),  # type: ignore[arg-type]
    ("metadata with numbers as keys", lambda m: m.remember("x", metadata={1: 2}), InvalidInput),  # type: ignore[dict-item]
    ("metadata with an object", lambda m: m.remember("x", metadata={"a": object()}), InvalidInput),
    ("metadata with NaN", lambda m: m.remember("x", metadata={"a": float("nan")}), InvalidInput),
    ("metadata with a NUL", lambda m: m.remember("x", metadata={"a": "\0"}), InvalidInput),
    ("metadata with half a character", lambda m: m.remember("x", metadata={"a": "\ud800"}), InvalidInput),
    ("metadata of 1 MB", lambda m: m.remember("x", metadata={"a": "x" * 1_000_000}), InvalidInput),
    ("metadata in a circle", lambda m: m.remember("x", metadata=_circle()), InvalidInput),
    ("a vector of the wrong length", lambda m: m.remember("x", vector=[1.0, 2.0]), InvalidInput),
    ("a vector of words", lambda m: m.remember("x", vector=anything("x")), InvalidInput),
    ("a vector of uneven rows", lambda m: m.remember("x", vector=anything([[1.0], []])), InvalidInput),
    ("a vector of zeros", lambda m: m.remember("x", vector=[0.0] * 256), InvalidInput),
    ("a vector with NaN", lambda m: m.remember("x", vector=[float("nan")] * 256), InvalidInput),
    ("a document without a name", lambda m: m.ingest("just text"), InvalidInput),
    ("a document that is a folder", lambda m: m.ingest(Path("/")), InvalidInput),
    ("a document that is not there", lambda m: m.ingest(Path("/nowhere/at/all.md")), InvalidInput),
    ("a document of 25 MB", lambda m: m.ingest("word " * 5_000_000, name="big"), InvalidInput),
    ("forgetting nothing", lambda m: m.forget(), InvalidInput),
    ("forgetting in two ways", lambda m: m.forget(OLD, everything=True), InvalidInput),
    ("forgetting a session that was not given", lambda m: m.forget(session=None), InvalidInput),
    ("forgetting no tags", lambda m: m.forget(tags=[]), InvalidInput),
    ("forgetting what is superseded or not", lambda m: m.forget(include_superseded=True), InvalidInput),
    ("forgetting another namespace", lambda m: m.forget(namespace="other"), InvalidInput),
    ("forgetting another namespace's tag", lambda m: m.forget(namespace="o", tags="port"), InvalidInput),
    ("importing something else", lambda m: m.import_records([{"type": "recipe"}]), InvalidInput),
    ("importing half a memory", lambda m: m.import_records([{"type": "memory", "id": "a"}]), InvalidInput),
]


def _circle() -> dict[str, object]:
    circle: dict[str, object] = {}
    circle["self"] = circle
    return circle


CASES = list(table())


@pytest.mark.parametrize(("action", "error"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_bad_input_is_refused_and_changes_nothing(
    unchanged: Memories, action: Action, error: type[RecollectError]
) -> None:
    before = list(unchanged.export_records(vectors=True))
    with pytest.raises(error) as caught:
        action(unchanged)
    message = str(caught.value)
    assert message.endswith(".") or ":" in message, message
    assert message[:2000] == message, "a message is read by people"
    assert list(unchanged.export_records(vectors=True)) == before
    assert list(unchanged.namespaces()) == ["bad"]


def test_every_error_is_of_our_tree_and_of_the_kind_that_python_expects() -> None:
    assert issubclass(InvalidInput, ValueError)
    assert issubclass(NotFound, LookupError)
    assert all(issubclass(error, NotFound) for error in (NoSuchMemory, NoSuchDocument, NoSuchSession))
    assert all(issubclass(e, StoreError) for e in (NotAStore, StoreTooNew, StoreDamaged, StoreClosed))


def test_a_bad_draft_among_many_says_which_and_what_was_kept(memories: Memories) -> None:
    drafts = (Draft(f"note number {number}" if number != 599 else "") for number in range(600))
    with pytest.raises(InvalidInput, match=r"Draft 600: .*The 512 before it were kept\."):
        memories.remember_many(drafts)
    assert memories.stats().memories == 2 + 512
    assert memories.doctor() == []


@pytest.mark.parametrize(
    "query",
    ['"', '""', '"unclosed', "*", "a*", "NEAR(", "NEAR(a b, 5)", "-", "-port", "AND", "port AND", "NOT NOT",
     "^port", "terms : port", "{terms} : port", "port + API", "(((", ")", "'; DROP TABLE memory; --", "%",
     "_", "\\", "\0", "\x01\x1b[31m", "🦜", "\ud800", "\u202e\u202d", "", "   ", "\n", "port\0API"],
)  # fmt: skip
def test_any_string_is_an_ordinary_query(memories: Memories, query: str) -> None:
    for mode in recollect.types.MODES:
        assert isinstance(memories.recall(query, mode=mode), list)


def test_a_query_that_no_text_can_contain_finds_nothing(memories: Memories) -> None:
    assert memories.recall("\0", mode="keyword") == []
    assert memories.recall("!?" * 30_000, mode="keyword") == []


def test_a_page_pasted_as_a_query_gets_its_answer(memories: Memories) -> None:
    page = "Which port does the API use? " + " ".join(f"filler{number}" for number in range(20_000))
    assert {hit.memory.id for hit in memories.recall(page, mode="keyword")} == {OLD, NEW}
    memories.recall('"' * 20_001, mode="auto")
    memories.recall("“" * 20_000, mode="auto")


def test_a_query_whose_words_have_other_lengths_in_other_languages(memories: Memories) -> None:
    memories.remember("Wir haben uns entschieden, dass es nicht mit der Bahn geht")
    assert isinstance(memories.recall("ß" * 30 + "aBxing"), list)


def test_moments_at_the_ends_of_time(memories: Memories) -> None:
    memories.remember("at the beginning", created_at="0001-01-01T00:00:00Z")
    memories.remember("at the end", created_at="9999-12-31T23:59:59.999999Z")
    assert len(memories.recall("beginning end", as_of="9999-12-31", mode="keyword")) == 2
    memories.end_session("monday", ended_at="9999-12-31T23:59:59.999999Z")


# files that are no store


def test_a_text_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Not a database at all.\n" * 100)
    before = path.read_bytes()
    with pytest.raises(NotAStore, match=r"not a Recollect store: name another file"):
        opened(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("length", [1, 15, 16, 71, 72, 100, 5000])
def test_garbage_of_any_length_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "garbage.db"
    path.write_bytes(bytes(range(1, 252)) * 20 if length == 5000 else b"\x07" * length)
    before = path.read_bytes()
    with pytest.raises(NotAStore):
        opened(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    path.touch()
    with opened(path) as memories:
        memories.remember("It works")
        assert memories.doctor() == []


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_the_database_of_another_program_is_left_as_it_is(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "firefox.sqlite"
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA journal_mode = {journal}")
    other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.execute("INSERT INTO bookmarks VALUES ('https://example.org')")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(NotAStore):
        opened(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["firefox.sqlite"]


def test_the_database_that_another_program_is_writing_is_left_as_it_is(tmp_path: Path) -> None:
    path, log = tmp_path / "firefox.sqlite", tmp_path / "firefox.sqlite-wal"
    other = apsw.Connection(str(path))
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.execute("INSERT INTO bookmarks VALUES ('https://example.org')")
    before = path.read_bytes(), log.read_bytes()
    with pytest.raises(NotAStore):
        opened(path)
    assert (path.read_bytes(), log.read_bytes()) == before
    copy = tmp_path / "left by a killed one.sqlite"  # a log without a process
    copy.write_bytes(before[0])
    Path(f"{copy}-wal").write_bytes(before[1])
    with pytest.raises(NotAStore):
        opened(copy)
    assert (copy.read_bytes(), Path(f"{copy}-wal").read_bytes()) == before
    other.close()


def test_a_store_whose_making_was_cut_short_is_made(tmp_path: Path) -> None:
    """SQLite writes a first page before the first table; whoever dies there must not block the name."""
    path = tmp_path / "memory.db"
    begun = apsw.Connection(str(path))
    begun.execute("PRAGMA journal_mode = WAL")
    with opened(path) as while_it_is_made:
        while_it_is_made.remember("made by the second")
    begun.close()
    with opened(path) as memories:
        assert memories.stats().memories == 1
        assert memories.doctor() == []


def filled(path: Path) -> Path:
    with opened(path) as memories:
        memories.remember_many(f"Note number {number} about the harbour" for number in range(500))
    return path


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_store_is_called_damaged(tmp_path: Path, share: float) -> None:
    path = filled(tmp_path / "memory.db")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share) // 4096 * 4096])
    with pytest.raises((StoreDamaged, NotAStore)) as caught, opened(path) as memories:
        findings = memories.doctor()
        assert [finding.check for finding in findings] == ["file"], findings
        assert not findings[0].mendable
        raise StoreDamaged("doctor says so.")
    assert str(caught.value)


def test_a_store_with_garbage_in_the_middle_never_fails_in_other_words(tmp_path: Path) -> None:
    path = filled(tmp_path / "memory.db")
    whole = bytearray(path.read_bytes())
    whole[8192 : 8192 + 4096 * 20] = b"\xa5" * (4096 * 20)
    path.write_bytes(whole)
    actions: list[Action] = [
        lambda m: m.recall("harbour"),
        lambda m: m.remember("another one"),
        lambda m: m.doctor(),
        lambda m: m.forget(everything=True),
        lambda m: list(m.export_records()),
        lambda m: m.timeline(limit=1000),
    ]
    for action in actions:
        try:
            with opened(path) as memories:
                action(memories)
        except StoreError as error:
            assert ":" in str(error)


def test_a_store_of_a_newer_version_is_left_as_it_is(tmp_path: Path) -> None:
    path = filled(tmp_path / "memory.db")
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match=r"schema 999.*upgrade"):
        opened(path)
    assert path.read_bytes() == before


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(NotAStore, match="is a folder: name a file in it"):
        opened(tmp_path)


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist: make it first"):
        opened(tmp_path / "no" / "such" / "memory.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["a" * 5000 + ".db", "/dev/null", "/dev/full", "/proc/self/mem"])
def test_places_where_no_file_can_be(url: str) -> None:
    with pytest.raises(StoreError):
        opened(url)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://localhost/memories",
        "nul\0.db",
        "postgresql://[::1/memories",
        "postgresql://localhost/nul\0",
        "postgresql://localhost/memories?unheard=of",
    ],
)
def test_a_place_that_is_no_place(url: str) -> None:
    with pytest.raises(ConfigError, match=":"):
        opened(url)


@pytest.mark.parametrize("url", [5, b"memory.db", ["memory.db"]])
def test_a_place_that_is_no_text(url: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="A store is a path or a URL"):
        opened(anything(url))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("action", "way_out"),
    [
        (lambda m: m.remember("x" * 1_000_001), "split it, or keep it as a document with ingest()."),
        (lambda m: m.ingest("x" * 20_000_001, name="big"), "split it."),
        (lambda m: m.remember("x", id="x" * 501), "make it shorter."),
    ],
)
def test_what_is_too_long_says_how_it_fits(unchanged: Memories, action: Action, way_out: str) -> None:
    with pytest.raises(InvalidInput, match=f": {re.escape(way_out)}$"):
        action(unchanged)


def test_a_bad_namespace_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        opened(tmp_path / "memory.db", namespace="\n")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    memories = opened(tmp_path / "memory.db")
    kept = memories.remember("kept").id
    begun = memories.export_records()
    next(begun)
    memories.close()
    memories.close()
    actions: list[Action] = [
        lambda m: m.remember("x"),
        lambda m: m.remember_many(["x"]),
        lambda m: m.recall("kept"),
        lambda m: m.get(kept),
        lambda m: m.timeline(),
        lambda m: m.update(kept, tags=["a"]),
        lambda m: m.forget(kept),
        lambda m: m.delete(kept),
        lambda m: m.stats(),
        lambda m: m.doctor(),
        lambda m: m.reembed(),
        lambda m: m.start_session("s"),
        lambda m: m.ingest("text", name="n"),
        lambda m: list(m.export_records()),
        lambda m: m.import_records([]),
        lambda m: m.in_namespace("other").remember("x"),
    ]
    for action in actions:
        with pytest.raises(StoreClosed, match=r"open it again with recollect\.open"):
            action(memories)
    list(begun)
    with opened(tmp_path / "memory.db") as again:
        assert again.get(kept).content == "kept"
