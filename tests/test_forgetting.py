"""What is forgotten is gone: from every table, from every search, and from the bytes of the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

import recollect
from recollect import Memories, NoSuchDocument, NoSuchMemory, Receipt
from recollect.query.terms import terms_of

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SECRET = "Xylophorbium"
STEM = "xylophorbium"


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memories(path: Path, clock: Clock) -> Iterator[Memories]:
    with opened(path, clock) as store:
        yield store


def opened(path: Path, clock: Clock) -> Memories:
    return recollect.open(path, namespace="forgetful", embedder="hash", clock=clock)


def ids(found: list[recollect.Hit]) -> list[str]:
    return [hit.memory.id for hit in found]


def rows(path: Path) -> dict[str, int]:
    """How many rows each table has, read past Recollect."""
    connection = apsw.Connection(str(path))
    tables = ("memory", "vector", "near_key", "session_link", "relation", "memory_words_docsize", "document")
    counted = {table: connection.execute(f"SELECT count(*) FROM {table}").get for table in tables}
    connection.close()
    return counted


# the receipt


def test_the_receipt_counts_each_thing(memories: Memories, path: Path) -> None:
    text = "The harbour master keeps a blue ledger of every ship that came in since spring"
    one = memories.remember(text, session="monday").id
    two = memories.remember(text + " again").id
    memories.remember("Something else altogether", id="else")
    memories.relate(one, "else", "mentions")
    memories.relate("else", one, "explains")
    memories.in_session("tuesday").recall("blue ledger", limit=2)
    memories.stats()  # waits until what was recalled is noted
    before = rows(path)
    receipt = memories.forget(one)
    after = rows(path)
    assert receipt == Receipt(
        memories=1,
        keyword_entries=1,
        vectors=1,
        session_links=2,  # made on Monday, recalled on Tuesday
        relations=3,  # the two that were drawn, and the link to its near-duplicate
        near_keys=8,
        documents=0,
    )
    lost = {table: before[table] - after[table] for table in before}
    assert lost == {
        "memory": 1,
        "vector": 1,
        "near_key": 8,
        "session_link": 1,
        "relation": 3,
        "memory_words_docsize": 1,
        "document": 0,
    }
    assert memories.get(two).id == two
    assert memories.relations("else") == []
    assert memories.doctor() == []


def test_forgetting_nothing_that_matches_is_an_empty_receipt(memories: Memories) -> None:
    memories.remember("kept")
    assert memories.forget([]) == Receipt()
    assert memories.forget(tags="nobody") == Receipt()
    assert memories.forget(expired=True) == Receipt()
    assert memories.stats().memories == 1


def test_forgetting_twice_says_that_it_is_gone(memories: Memories) -> None:
    id = memories.remember("once").id
    memories.forget(id)
    with pytest.raises(NoSuchMemory):
        memories.forget(id)
    with pytest.raises(NoSuchMemory):
        memories.get(id)


def test_several_at_once_or_none(memories: Memories) -> None:
    one, two = memories.remember("one").id, memories.remember("two").id
    with pytest.raises(NoSuchMemory):
        memories.forget([one, "nobody", two])
    assert memories.forget([one, two, one]).memories == 2


def test_it_is_gone_from_every_way_of_finding(memories: Memories) -> None:
    kept = memories.remember("The lighthouse is painted white", session="s").id
    gone = memories.remember(f"The {SECRET} is kept in the lighthouse", session="s").id
    assert gone in ids(memories.recall("lighthouse"))
    memories.forget(gone)
    for mode in recollect.types.MODES:
        for query in (SECRET, "lighthouse", f"The {SECRET} is kept in the lighthouse"):
            assert gone not in ids(memories.recall(query, mode=mode, include_superseded=True, neighbours=5))
            hits = memories.recall(query, mode=mode, neighbours=5)
            assert all(n.id != gone for hit in hits for n in hit.neighbours)
    assert [preview.id for preview in memories.timeline()] == [kept]
    assert memories.timeline(kept).after == ()
    assert SECRET not in memories.context("lighthouse").text
    assert all(SECRET not in str(record) for record in memories.export_records(vectors=True))
    assert memories.session("s").memories == 1


# the bytes


def assert_no_trace(path: Path) -> None:
    for file in (found for found in path.parent.rglob("*") if found.is_file()):
        content = file.read_bytes().lower()
        for trace in (SECRET.lower(), STEM[:8], "ophorbium"):
            for encoding in ("utf-8", "utf-16-le"):
                assert trace.encode(encoding) not in content, (file.name, trace)


def test_the_secret_is_a_word_whose_stem_is_known() -> None:
    assert terms_of(SECRET) == [STEM]


@pytest.mark.parametrize("others", [0, 600])
@pytest.mark.parametrize("way", ["id", "scope", "everything", "document", "update", "replaced", "expired"])
def test_its_bytes_are_nowhere_in_the_file(path: Path, clock: Clock, others: int, way: str) -> None:
    """Not as text, not as a term of the keyword index, not in the log, whatever lies around it."""
    with opened(path, clock) as memories:
        # words right before and after the secret in the order of the keyword index
        texts = [f"Around {STEM[:6]}{number:04x} and xylo{number} lie others" for number in range(others)]
        memories.remember_many(texts[: others // 2])
        if way in ("document", "replaced"):
            memories.ingest(f"# {SECRET}\n\nA passage about {SECRET}.\n\n## More\n\nText.", name="secret.md")
        else:
            if way == "everything":
                memories.ingest(f"# {SECRET}\n\nText.", name=f"{SECRET}.md")
            memories.remember(
                f"A word such as {SECRET} is rare",
                id="secret",
                session="s",
                speaker=SECRET if way == "id" else None,
                tags=[SECRET],
                files=[f"src/{SECRET}.py"],
                metadata={SECRET: SECRET},
                summary=f"About {SECRET}",
                source=SECRET,
                expires_at=NOW + timedelta(days=1),
            )
            memories.in_session("t").recall(SECRET)
        memories.remember_many(texts[others // 2 :])
        match way:
            case "id":
                memories.forget("secret")
            case "scope":
                memories.forget(tags=SECRET)
            case "everything":
                memories.forget(everything=True)
            case "document":
                memories.forget_document("secret.md")
            case "replaced":
                memories.ingest("# Public\n\nNothing to see.", name="secret.md")
            case "update":
                memories.update(
                    "secret", text="harmless", tags=(), files=(), metadata={}, summary=None, source=None
                )
            case "expired":
                clock.now += timedelta(days=2)
                memories.forget(expired=True)
    assert_no_trace(path)
    with opened(path, clock) as memories:
        assert memories.doctor() == []
        assert memories.recall(SECRET, mode="keyword") == []
    assert_no_trace(path)


def test_nothing_is_left_in_the_log_while_the_store_stays_open(memories: Memories, path: Path) -> None:
    memories.remember_many(f"Note {number} about the harbour" for number in range(50))
    id = memories.remember(f"The {SECRET} again").id
    memories.forget(id)
    assert_no_trace(path)


# deleted softly


def test_deleting_hides_and_restoring_brings_back(memories: Memories) -> None:
    id = memories.remember("The lighthouse is painted white", session="s").id
    other = memories.remember("The lighthouse has a keeper", session="s").id
    before = memories.get(id)
    assert memories.delete(id) == 1
    assert memories.delete(id) == 0
    assert id not in ids(memories.recall("lighthouse painted white", neighbours=3))
    assert all(n.id != id for hit in memories.recall("keeper", neighbours=3) for n in hit.neighbours)
    assert [preview.id for preview in memories.timeline()] == [other]
    assert memories.timeline(other).before == ()
    assert memories.get(id).deleted_at == NOW, "who knows the id still gets it"
    assert (memories.stats().memories, memories.stats().deleted) == (1, 1)
    assert memories.restore(id) == 1
    assert memories.restore(id) == 0
    after = memories.get(id)
    assert after.content == before.content
    assert after.deleted_at is None
    assert id in ids(memories.recall("lighthouse painted white", mode="keyword"))
    assert id in ids(memories.recall("lighthouse painted white", mode="semantic"))
    assert memories.doctor() == []


def test_the_text_of_a_deleted_memory_may_be_remembered_anew(memories: Memories) -> None:
    old = memories.remember("The lighthouse is painted white").id
    memories.delete(old)
    new = memories.remember("The lighthouse is painted white")
    assert (new.outcome, new.id == old) == ("added", False)


def test_forgetting_removes_deleted_memories_too(memories: Memories, path: Path) -> None:
    one = memories.remember(f"The {SECRET} is one", speaker="Ana").id
    memories.delete(one)
    assert memories.forget(one).memories == 1
    two = memories.remember(f"The {SECRET} is two", speaker="Ana").id
    memories.delete(two)
    assert memories.forget(everything=True).memories == 1
    assert_no_trace(path)


# expiry


def test_what_has_expired_is_not_found_and_can_be_swept(memories: Memories, clock: Clock) -> None:
    id = memories.remember("The password of the week is plover", expires_at=NOW + timedelta(days=7)).id
    memories.remember("Passwords change every week", id="stays")
    assert id in ids(memories.recall("password plover"))
    clock.now = NOW + timedelta(days=7)
    for mode in recollect.types.MODES:
        assert id not in ids(memories.recall("password plover", mode=mode))
    assert [preview.id for preview in memories.timeline()] == ["stays"]
    assert memories.stats().expired == 1
    assert memories.forget(expired=True).memories == 1
    with pytest.raises(NoSuchMemory):
        memories.get(id)
    assert memories.get("stays")


def test_an_expired_text_may_be_remembered_anew(memories: Memories, clock: Clock) -> None:
    old = memories.remember("The password is plover", expires_at=NOW + timedelta(days=1)).id
    clock.now = NOW + timedelta(days=2)
    assert memories.remember("The password is plover").id != old


# documents


def test_a_replaced_document_leaves_nothing_of_the_old_one(memories: Memories) -> None:
    first = memories.ingest(f"# Guide\n\n## One\n\nThe {SECRET}.\n\n## Two\n\nMore of it.", name="guide.md")
    assert first.outcome == "added"
    passages = first.document.passages
    second = memories.ingest("# Guide\n\nAltogether new.", name="guide.md")
    assert (second.outcome, second.removed) == ("replaced", passages)
    assert second.document.id == first.document.id
    assert memories.search_documents(SECRET, mode="keyword") == []
    assert memories.stats().passages == 1
    assert memories.stats().vectors == 1
    third = memories.ingest("# Guide\n\nAltogether new.", name="guide.md")
    assert (third.outcome, third.removed) == ("unchanged", 0)


def test_a_document_is_forgotten_with_its_passages(memories: Memories, path: Path) -> None:
    memories.ingest("# Guide\n\n## One\n\nText one.\n\n## Two\n\nText two.", name="guide.md")
    passages = memories.stats().passages
    receipt = memories.forget_document("guide.md")
    assert (receipt.documents, receipt.memories, receipt.vectors) == (1, passages, passages)
    assert set(rows(path).values()) == {0}
    with pytest.raises(NoSuchDocument):
        memories.forget_document("guide.md")


@pytest.mark.parametrize("way", ["everything", "ids", "filter"])
def test_a_document_whose_passages_were_forgotten_can_be_ingested_again(memories: Memories, way: str) -> None:
    text = "# Guide\n\nStart the server with make run."
    memories.ingest(text, name="guide.md")
    if way == "everything":
        memories.forget(everything=True)
    elif way == "ids":
        memories.forget(ids(memories.search_documents("server")))
    else:
        memories.forget(document="guide.md")
    assert memories.search_documents("server") == []
    again = memories.ingest(text, name="guide.md")
    assert again.outcome in ("added", "replaced")
    assert len(memories.search_documents("server")) == 1


# supersession


def test_what_was_superseded_holds_again_when_its_successor_is_forgotten(memories: Memories) -> None:
    old = memories.remember("The API listens on port 8080").id
    new = memories.remember("The API listens on port 9090").id
    memories.supersede(old, new)
    assert old not in ids(memories.recall("API port"))
    memories.forget(new)
    assert ids(memories.recall("API port")) == [old]
    reopened = memories.get(old)
    assert (reopened.superseded_by, reopened.valid_until) == (None, None)
    assert memories.relations(old) == []
    assert memories.doctor() == []


def test_forgetting_the_superseded_one_leaves_its_successor(memories: Memories) -> None:
    old, new = memories.remember("on port 8080").id, memories.remember("on port 9090").id
    memories.supersede(old, new)
    memories.forget(old)
    assert ids(memories.recall("port", mode="keyword")) == [new]
    assert memories.doctor() == []


def test_forgetting_a_whole_chain_at_once(memories: Memories) -> None:
    chain = [memories.remember(f"The port is {8000 + number}").id for number in range(4)]
    for old, new in pairwise(chain):
        memories.supersede(old, new)
    assert memories.forget(chain[1:]).memories == 3
    assert ids(memories.recall("port", mode="keyword")) == [chain[0]]
    assert memories.doctor() == []


# by scope


def fill(memories: Memories) -> None:
    for speaker in ("Ana", "Ben"):
        for day in (1, 10, 20):
            memories.remember(
                f"{speaker} spoke on day {day}",
                id=f"{speaker}{day}",
                speaker=speaker,
                session=f"day{day}",
                tags=["early" if day < 15 else "late", speaker.lower()],
                created_at=datetime(2026, 1, day, tzinfo=UTC),
            )
    memories.ingest("# Guide\n\nAna wrote this.", name="guide.md")


@pytest.mark.parametrize(
    ("filters", "gone"),
    [
        ({"speaker": "Ana"}, {"Ana1", "Ana10", "Ana20"}),
        ({"session": "day1"}, {"Ana1", "Ben1"}),
        ({"session": ["day1", "day20"]}, {"Ana1", "Ben1", "Ana20", "Ben20"}),
        ({"tags": ["early", "ben"]}, {"Ben1", "Ben10"}),
        ({"since": "2026-01-10", "until": "2026-01-20", "kind": "memory"}, {"Ana10", "Ben10"}),
        ({"speaker": "Ben", "until": "2026-01-10"}, {"Ben1"}),
        ({"speaker": "Nobody"}, set()),
        ({"document": "guide.md"}, set()),
    ],
)
def test_forgetting_by_scope_takes_what_is_in_it_and_nothing_else(
    memories: Memories, filters: dict[str, str], gone: set[str]
) -> None:
    fill(memories)
    everyone = {preview.id for preview in memories.timeline()}
    other = memories.in_namespace("other")
    fill(other)
    receipt = memories.forget(**filters)  # type: ignore[arg-type]
    left = {preview.id for preview in memories.timeline()}
    assert everyone - left == gone
    assert receipt.memories == len(gone) + ("document" in filters)
    assert receipt.memories == receipt.keyword_entries == receipt.vectors
    assert {preview.id for preview in other.timeline()} == everyone
    assert memories.doctor() == []


def test_forgetting_by_scope_includes_what_was_superseded(memories: Memories) -> None:
    fill(memories)
    memories.supersede("Ana1", "Ben10")
    assert memories.forget(session="day1").memories == 2


def test_forgetting_everything_stays_in_its_namespace(memories: Memories) -> None:
    fill(memories)
    other = memories.in_namespace("other")
    fill(other)
    receipt = memories.forget(everything=True)
    assert (receipt.memories, receipt.documents) == (7, 1)
    assert all(count >= 0 for count in asdict(receipt).values())
    assert memories.timeline() == []
    assert other.stats().memories == 6


def test_forgetting_a_person_takes_what_was_deleted_or_has_expired_too(
    memories: Memories, path: Path, clock: Clock
) -> None:
    memories.remember(f"The {SECRET} was mine", speaker="Ana", id="deleted")
    memories.remember(
        f"A {SECRET} for a day", speaker="Ana", id="expired", expires_at=NOW + timedelta(days=1)
    )
    memories.delete("deleted")
    clock.now += timedelta(days=2)
    assert memories.forget(speaker="Ana").memories == 2
    assert_no_trace(path)
