"""Every backend keeps the contract, and all of them rank alike."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import pytest

import recollect
from recollect import Draft, Hit
from recollect.store.base import Store
from recollect.store.postgres.store import PostgresStore
from recollect.store.sqlite.store import SqliteStore
from recollect.types import FUSIONS, MODES, Fusion, Mode

from .conftest import empty

pytest.register_assert_rewrite("recollect.testing")
from recollect.testing import StoreContract  # noqa: E402


class TestSqliteInAFile(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path / "memory.db")
        yield store
        store.close()


class TestSqliteInMemory(StoreContract):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = SqliteStore(None)
        yield store
        store.close()


class TestPostgres(StoreContract):
    @pytest.fixture
    def store(self, postgres_store: str) -> Iterator[Store]:
        empty(postgres_store)
        store = PostgresStore(postgres_store)
        yield store
        store.close()


# the same memories and questions on every backend

NOON = datetime(2026, 3, 18, 12, tzinfo=UTC)
MEMORIES = 200
QUESTIONS = 40
LIKE_ENOUGH = 0.95


def invented_words(random: Random, count: int) -> list[str]:
    """Words that sound like some, none of which begins another's stem by design."""
    parts = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "za"]
    words = {
        "".join(random.choice(parts) for _ in range(random.randint(2, 4))) + "k" for _ in range(3 * count)
    }
    return sorted(words)[:count]


def drafts() -> list[Draft]:
    """Texts of words that are as unevenly frequent as real ones, in sessions and apart from them."""
    random = Random(20_260_318)
    words = invented_words(random, 300)
    random.shuffle(words)
    weights = [1 / place for place in range(1, len(words) + 1)]
    return [
        Draft(
            " ".join(random.choices(words, weights, k=random.randint(4, 30))),
            id=f"m{number:03d}",
            session=f"s{random.randrange(12)}" if random.random() < 0.6 else None,
            speaker=random.choice(["Ana", "Bo"]) if random.random() < 0.3 else None,
            tags=random.sample(words[:20], random.randint(0, 2)),
            importance=round(random.random(), 2),
            created_at=NOON - timedelta(hours=random.uniform(1, 2000)),
            language="en",
        )
        for number in range(MEMORIES)
    ]


def questions() -> list[str]:
    """Parts of what was said, some of them quoted, some with a word that nobody said."""
    random = Random(42)
    texts = [draft.text.split() for draft in drafts()]
    asked = []
    for number in range(QUESTIONS):
        words = random.choice(texts)
        start = random.randrange(len(words) - 2)
        some = words[start : start + random.randint(1, 6)]
        asked.append(f'"{words[start]} {words[start + 1]}" {some[-1]}' if number % 8 == 0 else " ".join(some))
        asked[-1] += " unheard" if number % 5 == 0 else ""
    return asked


class Ranked:
    """What a store answers: the ids of the first ten, and the raw scores of the keyword leg."""

    def __init__(self, url: str) -> None:
        self.memories = recollect.open(url, namespace="ranked", embedder="hash", clock=lambda: NOON)
        self.memories.remember_many(drafts(), on_duplicate="keep")

    def ask(self, question: str, **options: Any) -> list[Hit]:
        return self.memories.recall(question, limit=10, reinforce=False, **options)


@pytest.fixture(scope="module")
def both(postgres_store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ranked, Ranked]]:
    empty(postgres_store)
    file = Ranked(str(tmp_path_factory.mktemp("ranked") / "memory.db"))
    server = Ranked(postgres_store)
    yield file, server
    file.memories.close()
    server.memories.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fusion", FUSIONS)
def test_all_backends_rank_alike(both: tuple[Ranked, Ranked], mode: Mode, fusion: Fusion) -> None:
    overlaps, same_best = [], []
    for question in questions():
        first, second = (
            [hit.memory.id for hit in ranked.ask(question, mode=mode, fusion=fusion)] for ranked in both
        )
        together = set(first) | set(second)
        overlaps.append(len(set(first) & set(second)) / max(len(first), len(second)) if together else 1)
        same_best.append(first[:1] == second[:1])
    assert mean(overlaps) >= LIKE_ENOUGH
    assert mean(same_best) >= LIKE_ENOUGH


def test_keyword_scores_are_the_same_where_there_is_one_namespace(both: tuple[Ranked, Ranked]) -> None:
    compared = 0
    for question in questions():
        first, second = (
            {
                hit.memory.id: hit.why.keyword.score
                for hit in ranked.ask(question, mode="keyword")
                if hit.why.keyword
            }
            for ranked in both
        )
        for id in first.keys() & second.keys():
            assert second[id] == pytest.approx(first[id], rel=1e-3), question
            compared += 1
    assert compared > 5 * QUESTIONS
