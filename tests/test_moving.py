"""Exports come back as they were; an import adds what is missing, and leaves alone what is there already."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect
from recollect import Draft, InvalidInput, Memories, NotFound, StoreError
from recollect.store import undump
from tests.conftest import Clock, OpenMemories, sqlite_only

Dumped = dict[str, Any]


def exported(memories: Memories, *, vectors: bool = True) -> list[Dumped]:
    """As it is after a way through JSON."""
    return [json.loads(json.dumps(record)) for record in memories.export_records(vectors=vectors)]


def lines(memories: Memories, *, vectors: bool = True) -> list[str]:
    return [json.dumps(record) for record in memories.export_records(vectors=vectors)]


def of_type(records: list[Dumped], type: str) -> list[Dumped]:
    return [record for record in records if record["type"] == type]


@pytest.fixture
def full(memories: Memories, clock: Clock) -> Memories:
    """One of everything."""
    memories.start_session("s", agent="cli")
    turns = [Draft(f"Turn {n} at the harbour", session="s", speaker="Ana") for n in range(3)]
    first, second, third = (done.id for done in memories.remember_many(turns))
    port = memories.remember("The API listens on port 8080", id="old", tags=["net"], files=["a.py"]).id
    newer = memories.remember("The API listens on port 9090", id="new", metadata={"a": [1.5, None]}).id
    memories.supersede(port, newer)
    memories.relate(first, third, "leads to", "user")
    memories.ingest("---\ntitle: 'a\x07b'\n---\n\n# Öne\tx\n\nText.\n\n## Two\n\nMore.", name="doc")
    passage = next(memory["id"] for memory in exported(memories) if memory.get("document") == "doc")
    memories.relate(newer, passage)
    memories.in_session("s").recall("port", include_documents=True)
    memories.remember("Short-lived", expires_at=clock.now + timedelta(hours=1))
    memories.remember("Bounded", valid_from="2026-01-01", valid_until="2026-02-01")
    memories.delete(second)
    memories.forget(third)
    memories.summarise_session("s")
    memories.end_session("s")
    clock.pass_time(days=1)
    return memories


# coming back


@pytest.mark.parametrize("vectors", [False, True])
def test_an_export_comes_back_as_it_was(full: Memories, vectors: bool) -> None:
    before = lines(full, vectors=vectors)
    copy = full.in_namespace("copy")
    counts = copy.import_records(json.loads(line) for line in before)
    assert lines(copy, vectors=vectors) == before
    assert not any("already" in name or "outdated" in name for name in counts)
    again = copy.import_records(json.loads(line) for line in before)
    assert lines(copy, vectors=vectors) == before
    assert {name.removesuffix(" already there"): n for name, n in again.items()} == counts
    assert copy.doctor() == []


def test_the_generations_of_a_namespace_come_back(open_memories: OpenMemories) -> None:
    old = open_memories(embedder="hash:64")
    old.remember("one")
    new = open_memories()
    new.remember("two")
    assert len(of_type(exported(new), "generation")) == 2
    copy = new.in_namespace("copy")
    copy.import_records(new.export_records(vectors=True))
    assert copy.stats().notes == new.stats().notes != ()
    assert copy.stats().embedder == "hash:64"


def test_vectors_that_are_merely_there_are_not_taken_for_the_next_ones(open_memories: OpenMemories) -> None:
    ours, theirs = open_memories("ours"), open_memories("theirs", embedder="hash:64")
    ours.remember("one")
    theirs.remember("two")
    ours.import_records(exported(theirs))
    copy = open_memories("copy")
    copy.import_records(exported(ours))
    assert lines(copy) == lines(ours)
    assert copy.stats().notes == ours.stats().notes


def test_an_export_that_does_not_say_what_its_models_are_for_still_comes_in(
    open_memories: OpenMemories,
) -> None:
    open_memories(embedder="hash:64").remember("one")
    new = open_memories()
    new.remember("two")
    older = [{k: v for k, v in record.items() if k != "role"} for record in exported(new)]
    copy = new.in_namespace("copy")
    copy.import_records(older)
    assert lines(copy) == lines(new)


# what is there already


def test_a_session_that_is_there_stays_as_it_is(memories: Memories, clock: Clock) -> None:
    memories.start_session("s")
    memories.remember("one", session="s")
    older = exported(memories)
    clock.pass_time(hours=1)
    ended = memories.end_session("s", summary="It went well")
    counts = memories.import_records(older)
    assert (counts["sessions already there"], counts.get("sessions")) == (1, None)
    kept = memories.session("s")
    assert (kept.summary, kept.ended_at) == ("It went well", ended.ended_at)


def test_nor_does_it_begin_earlier(memories: Memories) -> None:
    memories.remember("old", session="s", id="early", created_at="2020-01-01")
    older = exported(memories)
    memories.forget("early")
    memories.start_session("s", started_at="2026-01-01")
    for records in (older, [record for record in older if record["type"] != "session"]):
        memories.import_records(records)
        assert memories.session("s").started_at.year == 2026
        memories.forget("early")


def test_a_document_that_is_there_keeps_its_passages(memories: Memories) -> None:
    memories.ingest("# Old\n\nOld text.\n\n## More\n\nOld again.", name="doc")
    memories.remember("elsewhere", id="x")
    passages = [memory["id"] for memory in exported(memories) if memory.get("document")]
    memories.relate("x", passages[0])
    memories.in_session("s").recall("text", include_documents=True)
    older = exported(memories)
    memories.ingest("# New\n\nNew text.", name="doc")
    before = [line for line in lines(memories) if '"link"' not in line]
    counts = memories.import_records(older)
    assert [line for line in lines(memories) if '"link"' not in line] == before
    assert counts["documents already there"] == 1
    assert counts["memories already there"] == 3
    assert counts["relations already there"] == 1
    assert counts["vectors already there"] == 3
    assert memories.doctor() == []


def test_so_does_one_of_the_same_id_under_another_name(memories: Memories) -> None:
    memories.ingest("# A\n\nText.", name="doc")
    older = exported(memories)
    for record in older:
        for field in ("name", "document", "source"):
            if record.get(field) == "doc":
                record[field] = "renamed"
        if record["type"] == "memory":
            record["id"] = "another"
        if record["type"] == "vector":
            record["memory"] = "another"
    before = lines(memories)
    assert memories.import_records(older)["documents already there"] == 1
    assert lines(memories) == before


def test_what_a_passage_left_out_had_superseded_holds_again(memories: Memories) -> None:
    memories.remember("Said before", id="a")
    memories.remember("Said once more, differently", id="b")
    memories.remember("The last word", id="c")
    memories.ingest("# One\n\nA passage.\n\n## Two\n\nAnother.", name="doc")
    first, second = [memory["id"] for memory in exported(memories) if memory.get("document")]
    memories.supersede("a", first)
    memories.supersede("b", second)
    memories.supersede(second, "c")
    copy = memories.in_namespace("copy")
    copy.ingest("Something else", name="doc")
    copy.import_records(exported(memories))
    assert copy.get("a").superseded_by is None
    assert copy.get("b").superseded_by == "c"
    assert copy.doctor() == []


def test_places_in_a_session_are_never_taken_twice(memories: Memories) -> None:
    for n in range(3):
        memories.remember(f"Turn {n}", id=f"theirs{n}", session="s", speaker="Ana")
    copy = memories.in_namespace("copy")
    for n in range(2):
        copy.remember(f"Turn {n}", id=f"ours{n}", session="s", speaker="Ben")
    copy.import_records(exported(memories))
    places = [(memory["position"], memory["id"]) for memory in of_type(exported(copy), "memory")]
    assert sorted(places) == [(0, "ours0"), (1, "ours1"), (2, "theirs0"), (3, "theirs1"), (4, "theirs2")]
    memories.forget("theirs0")
    fresh = memories.in_namespace("fresh")
    fresh.import_records(exported(memories))
    assert [memory["position"] for memory in of_type(exported(fresh), "memory")] == [1, 2]


def test_a_later_export_goes_on_where_the_earlier_one_ended(memories: Memories) -> None:
    copy = memories.in_namespace("copy")
    for n in range(4):
        memories.remember(f"Turn {n}", id=str(n), session="s", speaker="Ana")
        copy.import_records(exported(memories))
    assert lines(copy) == lines(memories)


def test_a_vector_comes_along_only_for_the_text_it_was_made_from(
    memories: Memories, open_memories: OpenMemories
) -> None:
    memories.remember("The port is 8080", id="changed")
    memories.remember("The harbour is old", id="same")
    older = exported(memories)
    copy = memories.in_namespace("copy")
    copy.import_records(exported(memories, vectors=False))
    open_memories("copy", embedder="none").update("changed", text="The port is 9090")
    counts = copy.import_records(older)
    assert (counts["vectors"], counts["vectors outdated"]) == (1, 1)
    assert [vector["memory"] for vector in of_type(exported(copy), "vector")] == ["same"]
    assert copy.stats().pending_vectors == 1


def test_the_model_that_a_namespace_is_searched_with_stays(open_memories: OpenMemories) -> None:
    ours, theirs = open_memories("ours"), open_memories("theirs", embedder="hash:64")
    ours.remember("one")
    theirs.remember("two")
    ours.import_records(exported(theirs))
    assert ours.stats().embedder == "hash"
    assert not any("being made" in note for note in ours.stats().notes)
    assert ours.recall("one", mode="semantic")[0].memory.content == "one"
    assert ours.reembed() == 0
    assert ours.doctor() == []


# all or nothing


def unusable() -> Iterator[tuple[str, str, Any]]:
    """Type of a record, field, and a value that it can't have."""
    value: Any
    for type, field in (
        *(("session", "id"), ("session", "agent"), ("document", "id"), ("document", "name")),
        *(("memory", "id"), ("memory", "speaker"), ("memory", "source"), ("memory", "document")),
        *(("relation", "source"), ("relation", "target"), ("relation", "relation"), ("relation", "origin")),
        *(("link", "session"), ("link", "memory"), ("link", "usage"), ("generation", "model")),
        *(("generation", "fingerprint"), ("vector", "memory"), ("vector", "generation")),
    ):
        for value in ("", "x" * 501, "a\nb", "\ud800", 7, ["a"], {}):
            yield type, field, value
    for value in (7, None, "a\0b", ["a"]):
        yield "document", "title", value
    for value in (0, -1, 100_001, 256.0, "256", True, None, 10**400):
        yield "generation", "dimensions", value
    for value in (None, "", "used", 7):
        yield "link", "usage", value
    for value in ("", "used", 7, ["next"]):
        yield "generation", "role", value
    for type, field in (("document", "hash"), ("vector", "hash"), ("vector", "embedding")):
        for value in (None, "", "AAAA", "not base64!", "é", 7, []):
            yield type, field, value
    for field in ("tags", "files", "headings"):
        for value in (None, "a", {"a": 1}, [7], ["\0"], [["a"]]):
            yield "memory", field, value
    for field in ("tags", "files"):
        yield "memory", field, ["a\nb"]
        yield "memory", field, [" "]
    for field in ("importance", "salience"):
        for value in (None, -0.1, 1.1, "1", True, float("nan")):
            yield "memory", field, value
    for field in ("access_count", "token_count"):
        for value in (None, -1, 1.0, "1", True, 2**60):
            yield "memory", field, value
    for value in (-1, 1.0, "", "1", False, True):
        yield "memory", "position", value
    for field in ("kind", "sector", "tier", "trust", "language", "content", "metadata"):
        for value in (None, "", "x" * 3, 7, ["a"]):
            if (field, value) != ("content", "xxx"):
                yield "memory", field, value
    for type, field in (
        *(("session", "started_at"), ("document", "created_at"), ("document", "updated_at")),
        *(("memory", "created_at"), ("memory", "updated_at"), ("memory", "salience_at")),
        *(("relation", "at"), ("link", "at")),
    ):
        for value in (None, "", "soon", 7, "2026-02-30", []):
            yield type, field, value
    for type, field in (("session", "ended_at"), ("memory", "expires_at"), ("memory", "deleted_at")):
        for value in ("", "soon", 7, []):
            yield type, field, value
    yield "session", "summary", 7
    yield "session", "summary_extracted", "yes"
    yield "session", "ended_at", "1999-01-01"
    yield "memory", "summary", " "


def everything(memories: Memories) -> list[Dumped]:
    """A record of each type, with every field that is checked."""
    memories.start_session("s", agent="cli")
    memories.remember("one", id="one", session="s", speaker="Ana", source="here", tags=["t"], files=["f"])
    memories.remember("two", id="two")
    memories.relate("one", "two")
    memories.in_session("s").recall("two")
    memories.ingest("# Title\n\nText.", name="doc")
    memories.end_session("s")
    return exported(memories)


def test_whatever_can_not_be_used_is_refused_and_nothing_is_written(memories: Memories) -> None:
    good = everything(memories)
    copy = memories.in_namespace("copy")
    for type, field, value in unusable():
        which = next(n for n, record in enumerate(good) if record["type"] == type)
        if field == "document":
            which = next(n for n, record in enumerate(good) if "document" in record)
        bad = [*good[:which], {**good[which], field: value}, *good[which + 1 :]]
        with pytest.raises(InvalidInput):
            pytest.fail(f"{type} {field} {value!r}: {copy.import_records(bad)}")
        assert exported(copy) == [], (type, field, value)
    assert copy.import_records(good)["memories"] == 3


def test_a_field_that_is_missing_is_named(memories: Memories) -> None:
    optional = {"agent", "ended_at", "summary", "session", "position", "speaker", "source", "accessed_at"}
    optional.add("role")
    for number, record in enumerate(good := everything(memories)):
        for field in record.keys() - optional - {"document"}:
            less = {name: value for name, value in record.items() if name != field}
            with pytest.raises(InvalidInput, match=field if field != "type" else "no type"):
                memories.in_namespace("copy").import_records([*good[:number], less])


@pytest.mark.parametrize("record", [None, 7, "memory", ["type"], b"x", {}, {"type": "recipe"}, {"type": []}])
def test_a_record_is_a_mapping_of_a_known_type(memories: Memories, record: Any) -> None:
    for records in ([record], iter([record])):
        with pytest.raises(InvalidInput):
            memories.import_records(records)


@pytest.mark.parametrize("records", [None, 7, "memory", {"type": "memory"}])
def test_records_come_one_after_another(memories: Memories, records: Any) -> None:
    with pytest.raises(InvalidInput):
        memories.import_records(records)


def test_nothing_is_its_own_relation_or_successor(memories: Memories) -> None:
    good = everything(memories)
    memory = next(record for record in good if record.get("id") == "two")
    relation = of_type(good, "relation")[0]
    for bad in ({**memory, "superseded_by": "two"}, {**relation, "target": relation["source"]}):
        with pytest.raises(InvalidInput, match="itself"):
            memories.in_namespace("copy").import_records([bad])


def test_what_a_record_names_must_be_there(memories: Memories) -> None:
    good = everything(memories)
    copy = memories.in_namespace("copy")
    for type in ("document", "generation"):
        with pytest.raises(InvalidInput, match="did not come before"):
            copy.import_records(record for record in good if record["type"] != type)
    for type in ("relation", "link", "vector"):
        with pytest.raises(NotFound, match="no memory"):
            copy.import_records([*of_type(good, "generation"), *of_type(good, type)])
    memory = next(record for record in good if record.get("id") == "two")
    with pytest.raises(InvalidInput, match="missing"):
        copy.import_records([{**memory, "superseded_by": "nobody"}])
    assert exported(copy) == []


# vectors


def with_vector(good: list[Dumped], vector: Any) -> list[Dumped]:
    blob = base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()
    return [{**record, "embedding": blob} if record["type"] == "vector" else record for record in good]


@pytest.mark.parametrize("bad", ["short", "long", "zero", "nan", "infinite", "doubled", "a bit off"])
def test_a_vector_is_finite_and_of_unit_length(memories: Memories, bad: str) -> None:
    good = everything(memories)
    unit = np.eye(1, 256)[0]
    vector = {
        "short": unit[:-1],
        "long": np.append(unit, 0),
        "zero": 0 * unit,
        "nan": np.append(unit[:-1], np.nan),
        "infinite": np.append(unit[:-1], np.inf),
        "doubled": 2 * unit,
        "a bit off": 1.002 * unit,
    }[bad]
    with pytest.raises(InvalidInput, match=r"The vector of .* has"):
        memories.in_namespace("copy").import_records(with_vector(good, vector))
    assert exported(memories.in_namespace("copy")) == []


def test_a_vector_that_is_hardly_off_is_put_right(memories: Memories) -> None:
    good = everything(memories)
    copy = memories.in_namespace("copy")
    copy.import_records(with_vector(good, 0.9995 * np.eye(1, 256)[0]))
    for record in of_type(exported(copy), "vector"):
        vector = np.frombuffer(base64.b64decode(record["embedding"]), "<f4")
        assert abs(float(np.linalg.norm(vector)) - 1) < 1e-6
    assert copy.doctor() == []


def test_a_model_has_the_same_dimensions_everywhere(memories: Memories, backend: str) -> None:
    """Where models are known to the whole store; in PostgreSQL each namespace has its own."""
    generation = of_type(everything(memories), "generation")[0]
    other = [{**generation, "dimensions": 64}]
    with pytest.raises(InvalidInput, match="64 dimensions there and 256 here"):
        memories.import_records(other)
    copy = memories.in_namespace("copy")
    if backend == "postgres":
        assert copy.import_records(other) == {"generations": 1}
        assert of_type(exported(copy), "generation") == other
    else:
        with pytest.raises(InvalidInput, match="64 dimensions there and 256 here"):
            copy.import_records(other)
    assert of_type(exported(memories), "generation") == [generation]


# whoever gives the records


class Gone(OSError):
    """The caller's own trouble."""


def failing(good: list[Dumped]) -> Iterator[Dumped]:
    yield from good
    raise Gone(5, "the tape broke")


def test_what_the_caller_raises_stays_what_it_is(memories: Memories) -> None:
    good = everything(memories)
    copy = memories.in_namespace("copy")
    with pytest.raises(Gone, match="the tape broke"):
        copy.import_records(failing(good))
    assert exported(copy) == []


def test_a_record_is_refused_before_the_next_is_asked_for(memories: Memories) -> None:
    """So that whoever reads lines can say which one it was."""
    given = []

    def records() -> Iterator[Any]:
        for record in ({"type": "recipe"}, {"type": "recipe"}):
            given.append(record)
            yield record

    with pytest.raises(InvalidInput):
        memories.import_records(records())
    assert len(given) == 1


def test_nobody_waits_for_a_slow_caller(memories: Memories) -> None:
    good = everything(memories)

    def slow() -> Iterator[Dumped]:
        for number, record in enumerate(good):
            memories.remember(f"Meanwhile {number}")
            yield record

    memories.in_namespace("copy").import_records(slow())
    assert exported(memories.in_namespace("copy")) == good


@pytest.mark.parametrize("path", [":memory:", "file"])
def test_a_namespace_can_be_copied_within_its_store(path: str, tmp_path: Path, clock: Clock) -> None:
    place = path if path == ":memory:" else tmp_path / "m.db"
    with recollect.open(place, namespace="a", embedder="hash", clock=clock) as memories:
        everything(memories)
        copy = memories.in_namespace("b")
        done = threading.Thread(target=lambda: copy.import_records(memories.export_records(vectors=True)))
        done.daemon = True
        done.start()
        done.join(30)
        assert not done.is_alive()
        assert lines(copy) == lines(memories)
        for number, _ in enumerate(memories.export_records()):
            copy.remember(f"Written while reading {number}")


def test_many_records_lie_in_a_file_beside_the_store(
    memories: Memories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = everything(memories)
    memories.close()
    monkeypatch.setattr(undump, "_IN_MEMORY", 100)
    with recollect.open(tmp_path / "memory.db", namespace="copy", embedder="hash") as copy:
        copy.import_records(good)
        assert exported(copy) == good
        with pytest.raises(Gone):
            copy.in_namespace("other").import_records(failing(good))
    assert [entry.name for entry in tmp_path.iterdir()] == ["memory.db"]


@sqlite_only
def test_a_full_disk_is_the_store_s_trouble(memories: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    good = everything(memories)
    monkeypatch.setattr(undump.Spool, "add", full)
    with pytest.raises(StoreError, match="No space left"):
        memories.in_namespace("copy").import_records(good)


def test_a_circle_of_supersessions_is_refused(memories: Memories) -> None:
    memories.remember("First", id="a")
    memories.remember("Second", id="b")
    records = exported(memories)
    for record in records:
        if record["type"] == "memory":
            record |= {
                "superseded_by": {"a": "b", "b": "a"}[record["id"]],
                "superseded_at": record["created_at"],
            }
    with pytest.raises(InvalidInput, match="superseded in a circle"):
        memories.in_namespace("copy").import_records(records)
    assert exported(memories.in_namespace("copy")) == []
