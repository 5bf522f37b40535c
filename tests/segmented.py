"""Stores with segments, and the same questions answered without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect
from recollect import Memories
from recollect.query.terms import parse_query
from recollect.store.base import Candidate, Nearness, Words
from recollect.store.sqlite.derived import comparing, matching
from recollect.store.sqlite.store import SqliteStore

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def opened(path: Path | str, namespace: str = "one", embedder: Any = "hash:64") -> Memories:
    return recollect.open(path, namespace=namespace, embedder=embedder, clock=lambda: NOW)


def folder_of(path: Path) -> Path:
    return Path(f"{path}-index")


def segments(path: Path) -> list[Path]:
    """The files that are there, by name."""
    return sorted(folder_of(path).glob("*.segment"))


def store_of(memories: Memories) -> SqliteStore:
    store = memories._store
    assert isinstance(store, SqliteStore)
    return store


def listed(memories: Memories) -> list[tuple[str, int]]:
    """The kind and the size of each segment that holds."""
    rows = store_of(memories)._rows("segments")
    return [(kind, size) for _, kind, _, _, _, size in rows]


@contextmanager
def without_segments() -> Iterator[None]:
    """Every store answers from its rows alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteStore, "_segments", lambda *_: None)
        yield


@contextmanager
def by_numpy() -> Iterator[None]:
    """As where there was no compiler."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "COMPILED", False)
        patch.setattr(matching, "COMPILED", False)
        yield


def both(ask: Callable[[], Any]) -> tuple[Any, Any]:
    """What is found compiled and by numpy."""
    found = ask()
    with by_numpy():
        return found, ask()


def by_words(memories: Memories, query: str, limit: int = 10, **filters: Any) -> Sequence[Candidate]:
    words = Words(parse_query(query), limit)
    (found,) = memories._store.search([memories.scope(**filters)], words, None)
    return found.by_words


def by_meaning(memories: Memories, vector: Any, limit: int = 10, **filters: Any) -> Sequence[Candidate]:
    facts = memories._store.facts([memories.namespace])[memories.namespace]
    assert facts.generation is not None
    nearness = Nearness(facts.generation, np.asarray(vector, np.float32), limit)
    (found,) = memories._store.search([memories.scope(**filters)], None, nearness)
    return found.by_meaning


def keys(found: Sequence[Candidate]) -> list[Any]:
    return [candidate.key for candidate in found]


def assert_same(memories: Memories, query: str, limit: int = 10, **filters: Any) -> Sequence[Candidate]:
    """By words, segments give what FTS5 gives: the same memories in the same order, with the same scores."""
    found = by_words(memories, query, limit, **filters)
    with by_numpy():
        assert by_words(memories, query, limit, **filters) == found
    with without_segments():
        expected = by_words(memories, query, limit, **filters)
    assert keys(found) == keys(expected), (query, limit, filters)
    assert [each.score for each in found] == pytest.approx([each.score for each in expected], rel=1e-6)
    assert [each._replace(score=0) for each in found] == [each._replace(score=0) for each in expected]
    return found


def texts(memories: Memories, query: str, **options: Any) -> list[str]:
    """What a recall finds."""
    hits = memories.recall(query, reinforce=False, **options)
    return [hit.memory.content for hit in hits]


def index(memories: Memories) -> None:
    """Index what is new, as it is done in the background: older segments may stay as they are."""
    assert store_of(memories)._background._build(1)
