"""Rows that came without a keyword entry or a vector: found by what they have, and mended by a backfill."""

from __future__ import annotations

from collections.abc import Callable

import apsw
import psycopg
import pytest

from recollect import Memories, StoreError
from recollect.store.postgres.address import Address
from recollect.store.postgres.statements import quoted
from tests.conftest import OpenMemories, postgres_only

Execute = Callable[[str], None]


@pytest.fixture
def execute(backend: str, store_url: str) -> Execute:
    """Runs SQL of another program; `{}` is what comes before a table's name."""

    def run(sql: str) -> None:
        if backend == "sqlite":
            connection = apsw.Connection(store_url)
            connection.execute(sql.replace("{}", ""))
            connection.close()
            return
        address = Address.parse(store_url)
        with psycopg.connect(address.conninfo, autocommit=True) as server:
            server.execute(sql.replace("{}", f"{quoted(address.schema)}.").encode())

    return run


@pytest.fixture
def memories(open_memories: OpenMemories) -> Memories:
    """Three memories, to be robbed of what is derived from them."""
    memories = open_memories()
    memories.remember("Redis migration finished on Monday", id="both")
    memories.remember("kubectl apply failed on the walrus cluster", id="bare")
    memories.remember("The walrus likes herring", id="other")
    return memories


def found(memories: Memories, query: str, **options: str) -> list[str]:
    return [hit.memory.id for hit in memories.recall(query, reinforce=False, **options)]  # type: ignore[arg-type]


ROB_OF_WORDS = {
    "sqlite": "UPDATE memory SET terms = '' WHERE id = 'bare'",
    "postgres": "UPDATE {}memory SET terms = NULL WHERE id = 'bare'",
}
ROB_OF_VECTOR = "DELETE FROM {}vector WHERE memory = (SELECT number FROM {}memory WHERE id = 'bare')"


def test_a_row_without_words_is_found_by_meaning(memories: Memories, backend: str, execute: Execute) -> None:
    execute(ROB_OF_WORDS[backend])
    assert found(memories, "walrus", mode="keyword") == ["other"]
    assert found(memories, "kubectl apply failed on the walrus cluster")[0] == "bare"


def test_a_row_without_a_vector_is_found_by_its_words(memories: Memories, execute: Execute) -> None:
    execute(ROB_OF_VECTOR)
    assert set(found(memories, "walrus")) >= {"bare", "other"}
    assert "bare" not in found(memories, "walrus", mode="semantic")


def test_a_row_without_either_is_found_as_it_stands(
    memories: Memories, backend: str, execute: Execute
) -> None:
    execute(ROB_OF_WORDS[backend])
    execute(ROB_OF_VECTOR)
    assert found(memories, "BECTL APP", mode="keyword") == ["bare"]


def test_a_backfill_mends_them(memories: Memories, backend: str, execute: Execute) -> None:
    execute(ROB_OF_WORDS[backend])
    execute(ROB_OF_VECTOR)
    assert memories.stats().pending_vectors == 1
    assert memories.backfill() == 0
    assert set(found(memories, "walrus", mode="keyword")) == {"bare", "other"}
    assert found(memories, "kubectl apply failed on the walrus cluster", mode="semantic")[0] == "bare"
    assert memories.doctor() == []


def test_no_vector_for_a_question_means_words_alone(open_memories: OpenMemories, memories: Memories) -> None:
    without = open_memories(embedder="none")
    answer = without.recall("walrus")
    assert {hit.memory.id for hit in answer} == {"bare", "other"}
    assert "keywords answered alone" in answer.notes[0]


@postgres_only
def test_a_row_that_another_program_wrote_becomes_a_memory(memories: Memories, execute: Execute) -> None:
    execute(
        "INSERT INTO {}memory (namespace, number, id, content, created_at, updated_at, sector, tier, "
        "language, importance, salience, salience_at, token_count, trust, hash) SELECT 'proj1', 900, 'old', "
        "'A seal was seen in the harbour', now(), now(), 'semantic', 'project', 'en', 0.5, 0.5, now(), 8, "
        "'normal', decode(md5('x'), 'hex')"
    )
    assert "old" not in found(memories, "seal", mode="keyword", fusion="rrf")[1:]
    assert memories.doctor()
    assert memories.backfill() == 0
    assert found(memories, "seal")[0] == "old"
    after = memories.remember("The next one gets a number of its own").id
    assert {memory.id for memory in memories.get(["old", after])} == {"old", after}
    assert memories.doctor() == []


def test_a_circle_that_another_program_made_can_be_forgotten(memories: Memories, execute: Execute) -> None:
    for one, other in (("both", "bare"), ("bare", "both"), ("other", "both")):
        execute(f"UPDATE {{}}memory SET superseded_by = '{other}' WHERE id = '{one}'")
    assert memories.forget(["both", "bare"]).memories == 2
    assert memories.get("other").superseded_by is None
    assert memories.doctor() == []


@postgres_only
def test_numbers_that_another_program_gave_are_counted(memories: Memories, execute: Execute) -> None:
    execute("INSERT INTO {}session (namespace, number, id, started_at) VALUES ('proj1', 1, 'theirs', now())")
    with pytest.raises(StoreError, match="run recollect backfill"):
        memories.remember("In a session of our own", session="ours")
    assert memories.backfill() == 0
    memories.remember("In a session of our own", session="ours")
    assert {session.id for session in memories.sessions()} == {"theirs", "ours"}
