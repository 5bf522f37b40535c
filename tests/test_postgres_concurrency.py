"""One PostgreSQL store, many processes at once: nothing acknowledged is lost, no error is shown."""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

import recollect
from recollect import Memories, NoSuchMemory
from recollect.embed.hashing import HashingEmbedder
from recollect.store.postgres.address import Address
from recollect.store.postgres.statements import quoted

from .conftest import empty
from .test_concurrency import Worker, rare_word
from .test_crash import assert_killing_loses_nothing

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SECONDS = float(os.environ.get("RECOLLECT_TEST_SECONDS", "4"))
PROCESSES = 8
KILLS = 12
SHARED = ("crowd", "gathering", "throng")
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def url(postgres_store: str) -> str:
    empty(postgres_store)
    return postgres_store


def opened(url: str, namespace: str = "crowd") -> Memories:
    return recollect.open(url, namespace=namespace, embedder="hash", clock=lambda: NOW)


# eight processes in three namespaces


def work(url: str, number: int, seconds: float, results: Any) -> None:
    """Write and read in every namespace in turn, and report what was acknowledged in each."""
    try:
        with opened(url) as memories:
            workers = {name: Worker(memories.in_namespace(name), number) for name in SHARED}
            chance, end = random.Random(number), time.monotonic() + seconds
            while time.monotonic() < end:
                workers[chance.choice(SHARED)].act()
            for worker in workers.values():
                worker.remember()
        results.put((None, {name: (worker.alive, worker.forgotten) for name, worker in workers.items()}))
    except BaseException:  # noqa: BLE001  whatever it is, the test must see it
        results.put((traceback.format_exc(), {}))


def test_eight_processes_write_and_read_three_namespaces(url: str) -> None:
    results = SPAWN.Queue()
    processes = [
        SPAWN.Process(target=work, args=(url, number, SECONDS, results)) for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    reports = [results.get(timeout=SECONDS + 120) for _ in processes]
    for process in processes:
        process.join(60)
    assert [error for error, _ in reports if error] == []
    for namespace in SHARED:
        alive = {id: word for _, said in reports for id, word in said[namespace][0].items()}
        forgotten = {id for _, said in reports for id in said[namespace][1]}
        assert len(alive) >= PROCESSES
        with opened(url, namespace) as memories:
            assert_all_there(memories, alive, forgotten)
        assert complete(url, namespace, alive) == set(alive)
        assert_numbers_are_unique(url, namespace)
    with opened(url) as memories:
        assert memories.doctor() == []


def assert_all_there(memories: Memories, alive: dict[str, str], forgotten: set[str]) -> None:
    stats = memories.stats()
    assert stats.memories == len(alive)
    assert stats.pending_vectors == 0
    kept = {memory.id: memory.content for memory in memories.get(list(alive))}
    assert {id for id, word in alive.items() if word in kept[id]} == set(alive)
    for id in random.Random(1).sample(sorted(alive), min(len(alive), 20)):
        found = memories.recall(alive[id], mode="keyword", include_superseded=True, reinforce=False)
        assert [hit.memory.id for hit in found] == [id]
    for id in forgotten:
        with pytest.raises(NoSuchMemory):
            memories.get(id)


def complete(url: str, namespace: str, words: dict[str, str]) -> set[str]:
    """Read past Recollect: whose rare word is in the keyword entry, and who has the vector of its text."""
    found = rows(
        url,
        "SELECT m.id, m.content, m.speaker, tsvector_to_array(m.words), v.embedding::real[] "
        "FROM {schema}.memory m JOIN {schema}.vector v ON v.namespace = m.namespace AND v.memory = m.number "
        "WHERE m.namespace = %s",
        namespace,
    )
    embedder = HashingEmbedder()
    return {
        id
        for id, content, speaker, lexemes, embedding in found
        if id in words and words[id] in lexemes
        if embedder.embed([f"{speaker}: {content}" if speaker else content])[0].tolist()
        == pytest.approx(embedding, abs=1e-7)
    }


def assert_numbers_are_unique(url: str, namespace: str) -> None:
    """No two memories share a place in a session, and no number will be given a second time."""
    twice = rows(
        url,
        "SELECT session, position, count(*) FROM {schema}.memory "
        "WHERE namespace = %s AND session IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 1",
        namespace,
    )
    assert twice == []
    for kind in ("memory", "session", "document", "generation"):
        ((highest, distinct, count, last),) = rows(
            url,
            f"SELECT max(x.number), count(DISTINCT x.number), count(x.number), max(n.last_{kind}) "
            f"FROM {{schema}}.namespace n LEFT JOIN {{schema}}.{kind} x ON x.namespace = n.namespace "
            "WHERE n.namespace = %s",
            namespace,
        )
        assert distinct == count
        assert (highest or 0) <= last, kind


def rows(url: str, query: str, *parameters: Any) -> list[Any]:
    address = Address.parse(url)
    with psycopg.connect(address.conninfo, autocommit=True) as connection:
        text = query.replace("{schema}", quoted(address.schema))
        return connection.execute(text.encode(), parameters).fetchall()


# threads


def test_eight_threads_share_one_memories(url: str) -> None:
    with opened(f"{url}&pool_size=3") as memories:

        def run(number: int) -> Worker:
            worker = Worker(memories, number)
            for _ in range(10):
                worker.remember()
                worker.recall()
            worker.remember_many()
            worker.update()
            worker.supersede()
            worker.forget()
            worker.session()
            return worker

        with ThreadPoolExecutor(8) as pool:
            workers = list(pool.map(run, range(8)))
        alive = {id: word for worker in workers for id, word in worker.alive.items()}
        assert memories.doctor() == []
        assert memories.stats().memories == len(alive)
    assert complete(url, "crowd", alive) == set(alive)
    assert_numbers_are_unique(url, "crowd")


def test_the_same_text_from_many_at_once_is_kept_once(url: str) -> None:
    with opened(url) as memories, ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda _: memories.remember("The harbour opens at six"), range(24)))
        assert len({one.id for one in said}) == 1
        assert sorted(one.outcome for one in said) == ["added"] + ["reinforced"] * 23
        assert memories.stats().memories == 1


def test_edits_that_cross_lose_nothing(url: str) -> None:
    with opened(url) as memories, ThreadPoolExecutor(8) as pool:
        id = memories.remember("The harbour opens at six", tags=["a"]).id
        tags = [f"t{number}" for number in range(16)]
        list(pool.map(lambda tag: memories.remember("The harbour opens at six", tags=[tag]), tags))
        assert set(memories.get(id).tags) == {"a", *tags}


def test_no_circle_is_made_by_two_that_supersede_each_other(url: str) -> None:
    with opened(url) as memories, ThreadPoolExecutor(2) as pool:
        for number in range(10):
            one, two = (memories.remember(f"Port {rare_word(number, side)}").id for side in range(2))

            def supersede(pair: tuple[str, str]) -> bool:
                try:
                    memories.supersede(*pair)
                except recollect.InvalidInput:
                    return False
                return True

            assert sorted(pool.map(supersede, [(one, two), (two, one)])) == [False, True]


# killed


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_killed_again_and_again_while_writing(url: str) -> None:
    assert_killing_loses_nothing(url, KILLS)
    assert_numbers_are_unique(url, "crash")
