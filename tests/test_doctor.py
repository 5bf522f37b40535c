"""Looking after a store: doctor finds what does not agree, and a rebuild mends it."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from recollect import Memories

from .conftest import OpenMemories


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
}


@pytest.mark.parametrize("check", DAMAGE)
def test_damage_is_found_said_in_words_and_mended(memories: Memories, tmp_path: Path, check: str) -> None:
    damaged = apsw.Connection(str(tmp_path / "memory.db"))
    damaged.execute("PRAGMA foreign_keys = OFF")
    damaged.execute(DAMAGE[check])
    damaged.close()
    findings = memories.doctor()
    assert check in {finding.check for finding in findings}
    assert all(finding.mendable and finding.count > 0 and finding.message for finding in findings)
    memories.doctor(rebuild=True)
    memories.reembed()
    assert memories.doctor() == []
    assert memories.recall("walrus", mode="keyword", include_documents=True)


def test_a_rebuild_loses_nothing(memories: Memories) -> None:
    before = list(memories.export_records(vectors=True))
    seen: list[int] = []
    memories.doctor(rebuild=True, progress=lambda _, done, __: seen.append(done))
    assert list(memories.export_records(vectors=True)) == before
    assert seen[-1] == 5


def test_every_index_can_be_dropped_and_rebuilt(memories: Memories, tmp_path: Path) -> None:
    questions = ["walrus", "teal market", "port"]
    before = [[hit.memory.id for hit in memories.recall(q, reinforce=False)] for q in questions]
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    connection.execute("DELETE FROM vector; DELETE FROM near_key")
    connection.execute("INSERT INTO memory_words (memory_words) VALUES ('delete-all')")
    connection.close()
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
