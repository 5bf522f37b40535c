"""Looking after a store: doctor finds what does not agree, and a rebuild mends it."""

from __future__ import annotations

import apsw
import psycopg
import pytest

from recollect import Memories
from recollect.store.postgres.address import Address

from .conftest import BACKENDS, OpenMemories


@pytest.fixture
def memories(open_memories: OpenMemories) -> Memories:
    memories = open_memories()
    memories.remember("The mascot is a walrus, which the whole team voted for", session="s1", tags=["brand"])
    memories.remember("The colour is teal because nobody else in the market uses it", session="s1")
    old, new = memories.remember("Port 8080").id, memories.remember("Port 9090").id
    memories.supersede(old, new)
    memories.ingest("# Guide\n\nHow to feed the walrus.", name="guide")
    assert memories.doctor() == []
    return memories


DAMAGE = {
    "sqlite": {
        "entries": """INSERT INTO memory_words (memory_words, rowid, terms, scope)
                      SELECT 'delete', number, terms, scope FROM memory WHERE number = 1""",
        "ghosts": "INSERT INTO memory_words (rowid, terms, scope) VALUES (999, 'ghost', 'n1')",
        "orphan_vectors": "UPDATE vector SET memory = 999 WHERE number = 1",
        "vector_sizes": "UPDATE vector SET embedding = x'00000000' WHERE number = 2",
        "relations": "INSERT INTO relation VALUES (1, 999, 'x', 'y', 0)",
        "links": "INSERT INTO session_link VALUES (1, 999, 'recalled', 0)",
        "near_keys": "INSERT INTO near_key VALUES (1, 1, 999)",
        "successors": "UPDATE memory SET superseded_by = 'nowhere' WHERE number = 1",
        "sessions": "UPDATE memory SET session = 999 WHERE number = 1",
        "terms": "UPDATE memory SET terms = 'other words' WHERE number = 1",
    },
    "postgres": {
        "entries": "UPDATE memory SET terms = NULL WHERE number = 1",
        "orphan_vectors": "UPDATE vector SET memory = 999 WHERE memory = 1",
        "vector_sizes": "UPDATE vector SET embedding = '[1,0]' WHERE memory = 2",
        "relations": "INSERT INTO relation VALUES ('proj1', 1, 999, 'x', 'y', now())",
        "links": "INSERT INTO session_link VALUES ('proj1', 1, 999, 'recalled', now())",
        "near_keys": "INSERT INTO near_key VALUES ('proj1', 1, 999)",
        "successors": "UPDATE memory SET superseded_by = 'nowhere' WHERE number = 1",
        "sessions": "UPDATE memory SET session = 999 WHERE number = 1",
        "counts": "UPDATE namespace SET words = words + 7",
        "terms": "UPDATE memory SET terms = 'other:1 words:2' WHERE number = 1",
    },
}
KINDS = [(backend, check) for backend in BACKENDS for check in DAMAGE[backend]]


def damage(url: str, sql: str) -> None:
    """Do what Recollect never would, past every foreign key."""
    if not url.startswith("postgresql:"):
        file = apsw.Connection(url)
        file.execute("PRAGMA foreign_keys = OFF")
        file.execute(sql)
        file.close()
        return
    address = Address.parse(url)
    with psycopg.connect(address.conninfo) as server:
        server.execute("SET LOCAL citus.propagate_set_commands = 'local'")  # on the nodes too
        server.execute("SET LOCAL session_replication_role = replica")
        server.execute(f'SET LOCAL search_path = "{address.schema}", public'.encode())
        server.execute(sql.encode())


@pytest.mark.parametrize(("backend", "check"), KINDS, indirect=["backend"])
def test_damage_is_found_said_in_words_and_mended(
    memories: Memories, backend: str, store_url: str, check: str
) -> None:
    damage(store_url, DAMAGE[backend][check])
    findings = memories.doctor()
    assert check in {finding.check for finding in findings}
    assert all(finding.mendable and finding.count > 0 and finding.message for finding in findings)
    memories.doctor(rebuild=True)
    memories.reembed()
    assert memories.doctor() == []
    assert memories.recall("walrus", mode="keyword", include_documents=True)


def test_a_passage_whose_document_is_gone_becomes_one_without(memories: Memories, store_url: str) -> None:
    damage(store_url, "DELETE FROM document")
    assert {finding.check for finding in memories.doctor()} >= {"sessions"}
    memories.doctor(rebuild=True)
    assert memories.doctor() == []
    found = memories.recall("feed walrus", mode="keyword", include_documents=True)
    assert [hit.memory.document for hit in found if hit.memory.kind == "passage"] == [None]


def test_a_rebuild_loses_nothing(memories: Memories) -> None:
    before = list(memories.export_records(vectors=True))
    seen: list[int] = []
    memories.doctor(rebuild=True, progress=lambda _, done, __: seen.append(done))
    assert list(memories.export_records(vectors=True)) == before
    assert seen[-1] == 5


WITHOUT_INDEXES = {
    "sqlite": """DELETE FROM vector; DELETE FROM near_key;
                 INSERT INTO memory_words (memory_words) VALUES ('delete-all')""",
    "postgres": "DELETE FROM vector; DELETE FROM near_key; UPDATE memory SET terms = NULL, length = 0",
}


def test_every_index_can_be_dropped_and_rebuilt(memories: Memories, backend: str, store_url: str) -> None:
    questions = ["walrus", "teal market", "port"]
    before = [[hit.memory.id for hit in memories.recall(q, reinforce=False)] for q in questions]
    damage(store_url, WITHOUT_INDEXES[backend])
    memories.doctor(rebuild=True)
    memories.reembed()
    assert [[hit.memory.id for hit in memories.recall(q, reinforce=False)] for q in questions] == before


def test_stats_count_what_is_there(memories: Memories) -> None:
    memories.delete(memories.remember("to be deleted").id)
    stats = memories.stats()
    assert (stats.memories, stats.passages, stats.documents, stats.sessions) == (4, 1, 1, 1)
    assert (stats.superseded, stats.deleted, stats.relations) == (1, 1, 1)
    assert stats.embedder == "hash"
    assert stats.bytes > 0
    assert memories.namespaces() == {"proj1": 4}
