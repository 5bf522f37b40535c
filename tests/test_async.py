"""AsyncMemories: the same methods, awaited; the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect import AsyncMemories, Memories
from recollect.asynchronous import Batches
from recollect.errors import NoSuchMemory


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def test_every_method_of_memories_is_there_and_documented() -> None:
    assert public(AsyncMemories) == public(Memories) | {"open"}
    for name in public(AsyncMemories):
        assert inspect.getdoc(getattr(AsyncMemories, name)), name


def test_what_is_remembered_is_recalled(store_url: str) -> None:
    async def use() -> None:
        async with await AsyncMemories.open(store_url, namespace="team", embedder="hash") as memories:
            assert memories.namespace == "team"
            kept = await memories.remember("The gateway listens on port 8443", tags=["network"])
            (hit,) = await memories.recall("which port")
            assert hit.memory.id == kept.id
            previews = await memories.timeline()
            assert isinstance(previews, list)
            assert [each.id for each in previews] == [kept.id]
            async with memories.in_session("s1") as within:
                assert within.session_id == "s1"
                await within.remember("Ports were discussed")
            assert (await memories.session("s1")).ended_at is not None
            records = [record async for record in memories.export_records()]
            assert {record["type"] for record in records} >= {"memory", "session"}
            with pytest.raises(NoSuchMemory):
                await memories.in_namespace("other").get(kept.id)

    asyncio.run(use())


def test_many_at_once_from_one_loop(tmp_path: Path) -> None:
    async def use() -> None:
        async with await AsyncMemories.open(tmp_path / "memory.db", embedder="hash") as memories:
            await asyncio.gather(*(memories.remember(f"note number {i}") for i in range(30)))
            assert (await memories.stats()).memories == 30

    asyncio.run(use())


def test_the_event_loop_goes_on(tmp_path: Path) -> None:
    """A recall that waits for the loop itself: it could never end if it ran on the loop's thread."""
    went_on = threading.Event()

    class Waiting:
        name, dimensions, fingerprint, query_prefix = "waiting", 2, "waiting-1", ""

        def embed(self, texts: object) -> list[list[float]]:
            assert went_on.wait(timeout=60)
            return [[1.0, 0.0]]

    async def use() -> None:
        opened = recollect.open(tmp_path / "memory.db", embedder=Waiting())  # type: ignore[arg-type]
        async with AsyncMemories(opened) as memories:
            waiting = asyncio.ensure_future(memories.remember("patience"))
            await asyncio.sleep(0)
            went_on.set()
            assert (await waiting).embedded

    asyncio.run(use())


def test_an_export_left_half_way_lets_go_of_the_store(store_url: str) -> None:
    async def use() -> None:
        async with await AsyncMemories.open(store_url, embedder="none") as memories:
            await memories.remember_many([f"note {i}" for i in range(50)])
            records = memories.export_records()
            assert await anext(records)
            await records.aclose()  # type: ignore[attr-defined]
            await memories.remember("and writing goes on")

    asyncio.run(use())


def test_whoever_is_cancelled_while_a_store_is_read_leaves_it_closed() -> None:
    """The iterator is busy on its thread just then: it is closed when it has answered."""
    reading, go_on, closed = threading.Event(), threading.Event(), threading.Event()

    def records() -> Iterator[int]:
        try:
            reading.set()
            assert go_on.wait(timeout=60)
            yield from range(1_000)
        finally:
            closed.set()

    async def use() -> None:
        batches = Batches(records())
        fetching = asyncio.ensure_future(batches.next())
        assert await asyncio.to_thread(reading.wait, 60)
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        closing = asyncio.ensure_future(batches.close())
        await asyncio.sleep(0)
        go_on.set()
        await closing
        assert await asyncio.to_thread(closed.wait, 60)

    asyncio.run(use())
