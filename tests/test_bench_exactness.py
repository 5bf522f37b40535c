"""How exact a leg is: exact search without an index, beside FTS5 and beside what stores find."""

from __future__ import annotations

import json
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect import understanding
from recollect.evaluate import bench, comparing, dealing, exactness, texts
from recollect.evaluate.exactness import Asked, Reference, Seen
from recollect.evaluate.vectors import WordVectors
from recollect.meaning import generation_of
from recollect.memories import Memories
from recollect.store.base import Nearness, Words
from recollect.store.sqlite.search import match_expression
from recollect.types import Draft
from tests.conftest import OpenMemories, sqlite_only

QUESTIONS = (
    "deploy the cache",
    "sta",
    "ba be",
    "the of and",
    "t07",
    "2024-05-01 stea",
    *texts.vocabulary()[30:40],
)


def asked_of(memories: Memories, made: list[str]) -> list[Asked]:
    """Questions of many words and of few, which also ask for beginnings, at their place in a namespace."""
    store, embedder = memories._store, WordVectors()
    questions = [*QUESTIONS, *(question for _, question in texts.questions(made, 20))]
    facts = store.facts([memories.namespace])
    understood = [
        understanding.understand(text, memories.scope(), understanding.Options(), facts, None)
        for text in questions
    ]
    vectors = embedder.embed(questions)
    return [Asked(0, each.keywords, vector) for each, vector in zip(understood, vectors, strict=True)]


def filled(open_memories: OpenMemories) -> tuple[Memories, list[str], Reference, list[Asked]]:
    """A store with two namespaces, and exact search that has seen the same texts."""
    embedder = WordVectors()
    memories = open_memories("one", embedder=embedder)
    made = list(islice(texts.made(1), 600))
    seen = [Seen(int(n >= 400), text, (dealing.tag_of(n),)) for n, text in enumerate(made)]
    for space, name in enumerate(("one", "two")):
        drafts = [Draft(each.text, tags=each.tags) for each in seen if each.space == space]
        memories.in_namespace(name).remember_many(drafts, on_duplicate="keep")
    asked = asked_of(memories, made[:400])
    reference = Reference(asked)
    for half in (seen[:350], seen[350:]):
        reference.see(half, embedder.embed([each.text for each in half]))
    return memories, made, reference, asked


@sqlite_only
def test_bm25_is_that_of_fts5(open_memories: OpenMemories, store_url: str) -> None:
    memories, _, reference, asked = filled(open_memories)
    with closing(apsw.Connection(store_url)) as connection:
        for number, question in enumerate(asked):
            rows: list[Any] = connection.execute(
                "SELECT -bm25(memory_words, 1.0, 0.0) AS score, content, tags FROM memory_words "
                "JOIN memory ON memory.number = memory_words.rowid WHERE memory_words MATCH ? "
                "ORDER BY score DESC",
                (match_expression(question.words, [1], strict=False),),
            ).fetchall()
            scores = [score for score, _, _ in rows]
            best = reference.best(number, whole_store=True)
            assert best[::-1] == pytest.approx(scores[: exactness.TOP], rel=1e-9)
            mine = [
                reference.score(number, Seen(0, content, json.loads(tags)), whole_store=True)
                for _, content, tags in rows
            ]
            assert mine == pytest.approx(scores, rel=1e-9)
    assert memories.namespaces() == {"one": 400, "two": 200}


def test_what_a_store_finds_is_what_exact_search_finds(open_memories: OpenMemories, backend: str) -> None:
    memories, _, reference, asked = filled(open_memories)
    of_store = backend == "sqlite"
    for number, question in enumerate(asked):
        nearness = Nearness(generation_of(WordVectors()), question.vector, 100)
        (found,) = memories._store.search([memories.scope()], Words(question.words, 100), nearness)
        if not any(word.prefix for word in question.words.words):  # PostgreSQL counts beginnings roughly
            best = reference.best(number, whole_store=of_store)[::-1]
            assert best == pytest.approx([each.score for each in found.by_words[:10]], rel=1e-5)
        nearest = sorted(reference.nearest(number), reverse=True)
        assert nearest == pytest.approx([each.score for each in found.by_meaning[:10]], abs=1e-5)


def test_a_leg_that_misses_answers_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = comparing._answer

    def lazy(*arguments: Any) -> comparing.Answer:
        by_words, by_meaning = whole(*arguments)
        return comparing.Answer(by_words[:5], by_meaning[1:])

    plan = bench.Plan((str(tmp_path / "new.db"),), (300,), questions=20, writes=5, exact=20, cold=0)
    source = partial(texts.drafts, 300)
    assert bench.run(plan, source).stores[0].sizes[0].exact == exactness.Exactness(20, 1.0, 1.0)
    monkeypatch.setattr(comparing, "_answer", lazy)
    found = bench.run(plan, source).stores[0].sizes[0].exact
    assert found is not None and found.keyword is not None
    assert found.semantic == 0.9
    assert found.keyword < 0.9


def test_equal_scores_count_as_found() -> None:
    assert exactness.agreement([2.0, 1.0 - 1e-9], [2.0, 1.0]) == 1.0
    assert exactness.agreement([2.0, 0.9], [2.0, 1.0]) == 0.5
    assert exactness.agreement([], [1.0]) == 0.0
