"""Segments beside the file change how soon an answer comes, never what it is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Draft, Memories
from recollect.store.packed import Scored, Similarities
from recollect.store.sqlite import narrowing
from recollect.store.sqlite.derived import comparing, matching
from recollect.store.sqlite.derived.comparing import Nearest
from recollect.store.sqlite.indexed import MOST_PHRASED
from recollect.store.sqlite.search import FEW_ASIDE

from .segmented import (
    NOW,
    assert_same,
    by_numpy,
    by_words,
    keys,
    listed,
    opened,
    segments,
    store_of,
    without_segments,
)

VOCABULARY = [
    first + last for first in ("ba", "ke", "lom", "zun", "tri") for last in ("rok", "dal", "vex", "mip")
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memories(path: Path) -> Iterator[Memories]:
    with opened(path) as store:
        yield store


def some_text(chance: random.Random, words: int) -> str:
    """Words, a few of them much more often than the others."""
    return " ".join(VOCABULARY[int(len(VOCABULARY) * chance.random() ** 2)] for _ in range(words))


def drafts(chance: random.Random, count: int, longest: int = 30) -> list[Draft]:
    return [
        Draft(
            f"{some_text(chance, chance.randint(1, longest))} n{chance.randrange(10**9)}",
            tags=[f"tag{chance.randrange(3)}"],
            speaker=chance.choice(["Cleo", "Ana", "Ben"]),  # who speaks is never compared for near-duplicates
            session=chance.choice([None, "s1", "s2"]),
            created_at=NOW - timedelta(days=chance.randrange(1, 100)),
        )
        for _ in range(count)
    ]


# words


class Life:
    """A store that is written to at random, in several namespaces."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.chance = chance
        self.path = path
        self.memories = opened(path, embedder="hash:8")
        self.alive: list[tuple[str, str]] = []

    def act(self, action: str) -> None:
        {
            "write": self.write, "long": self.write_long, "settle": self.memories.settle,
            "forget": self.forget, "update": self.update, "delete": self.delete,
            "supersede": self.supersede, "reopen": self.reopen,
        }[action]()  # fmt: skip

    def one(self) -> tuple[Memories, str]:
        if not self.alive:
            self.write()
        namespace, id = self.chance.choice(self.alive)
        return self.memories.in_namespace(namespace), id

    def write(self, longest: int = 20) -> None:
        name = self.chance.choice(["one", "two", "three"])
        kept = self.memories.in_namespace(name).remember_many(drafts(self.chance, 25, longest))
        self.alive += [(name, each.id) for each in kept]

    def write_long(self) -> None:
        self.write(180)  # so long that no word stands there more than 63 times: beyond, it is not counted

    def forget(self) -> None:
        for _ in range(4):
            memories, id = self.one()
            memories.forget(id)
            self.alive.remove((memories.namespace, id))

    def update(self) -> None:
        for _ in range(3):
            memories, id = self.one()
            memories.update(id, text=some_text(self.chance, 6) + f" changed{self.chance.randrange(10**9)}")

    def delete(self) -> None:
        memories, id = self.one()
        memories.delete(id)

    def supersede(self) -> None:
        memories, id = self.one()
        with_same = [other for name, other in self.alive if name == memories.namespace and other != id]
        if with_same and memories.get(id).superseded_by is None:
            memories.supersede(id, memories.remember(f"{some_text(self.chance, 5)} instead").id)

    def reopen(self) -> None:
        self.memories.close()
        self.memories = opened(self.path, embedder="hash:8")


ACTIONS = ("write", "long", "settle", "forget", "update", "delete", "supersede", "reopen")
FILTERS: list[dict[str, Any]] = [
    {}, {"tags": "tag1"}, {"tags": ["tag1", "tag2"]}, {"speaker": "Ana"},
    {"speaker": ["Ana", "Ben"], "tags": "tag0"},
    {"session": "s1"}, {"since": NOW - timedelta(days=9)}, {"until": NOW - timedelta(days=90)},
    {"since": NOW - timedelta(days=50), "until": NOW - timedelta(days=40), "namespace": ["one", "two"]},
    {"since": NOW - timedelta(days=70), "tags": "tag1"}, {"since": NOW + timedelta(days=1)},
    {"namespace": ["one", "two", "three"]}, {"namespace": ["two", "nobody"]}, {"include_superseded": True},
    {"as_of": NOW - timedelta(days=30)},
]  # fmt: skip


@settings(max_examples=15)
@given(st.lists(st.sampled_from(ACTIONS), min_size=4, max_size=14), st.integers(0, 10**9))
def test_by_words_segments_find_what_fts5_finds(
    tmp_path_factory: pytest.TempPathFactory, actions: list[str], seed: int
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        lives_alike(tmp_path_factory.mktemp("life") / "memory.db", actions, random.Random(seed), monkeypatch)


def lives_alike(
    path: Path, actions: list[str], chance: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life(path, chance)
    for action in ("write", "settle", *actions):
        life.act(action)
    monkeypatch.setattr(narrowing, "FEW", chance.choice([1_000, 3]))
    for filters in FILTERS:
        for query in (*chance.sample(VOCABULARY, 2), some_text(chance, 5), "ba", "tri lom"):
            assert_same(life.memories, query, chance.choice([1, 3, 10, 1000]), **filters)
    life.memories.close()


QUESTIONS = [
    "harb", "harbour", "harbours harb", '"blue harbour"', '"harbour blue"', "nobodyhasthis",
    "nobodyhasthis harbour", "the", "harbour master keeps the blue ledger",
    "ﷺ", "猫", "我的", "n7", "harbour harbour", "",
]  # fmt: skip


@pytest.mark.parametrize("query", QUESTIONS)
def test_questions_of_every_form(memories: Memories, query: str) -> None:
    memories.remember_many(
        [
            "The harbour master keeps a blue ledger", "A blue harbour, and harbourside inns", "harb",
            "harbour " * 60, "我的猫在家里", "ﷺ stands for four words", "صلى by itself", "!!!", "The n7 road",
        ]
    )  # fmt: skip
    memories.remember_many(f"Filler {number} about nothing much" for number in range(50))
    memories.settle()
    memories.remember("Another blue harbour, newer than the segments")
    if parsed := assert_same(memories, query):
        assert parsed[0].score > 0


def test_a_namespace_that_no_segment_knows_is_answered_best_first(memories: Memories) -> None:
    memories.remember_many(f"The harbour number {number}" for number in range(20))
    memories.settle()
    new = memories.in_namespace("new")
    new.remember("harbour and a great many other words that make it long")
    new.remember("harbour harbour")
    assert len(assert_same(new, "harbour")) == 2


def test_newer_rows_do_not_hide_better_ones_in_the_segments(memories: Memories) -> None:
    memories.remember_many(f"harbour master {number}" for number in range(30))
    memories.settle()
    for number in range(20):
        memories.remember(f"harbour {'and many more words ' * number} {number}")
    assert_same(memories, "harbour master", 5)


def test_how_rare_a_word_is_counts_what_changed_in_other_namespaces(memories: Memories) -> None:
    """Its rarity is that of the whole store, also where the question is about one namespace."""
    other = memories.in_namespace("other")
    kept = other.remember_many(f"The lighthouse number {number}" for number in range(30))
    memories.remember_many(f"The lighthouse and harbour {number}" for number in range(8))
    memories.remember_many(f"Filler {number}" for number in range(200))
    memories.settle()
    other.forget([each.id for each in kept[:20]])
    other.update(kept[25].id, text="Another text altogether")
    assert_same(memories, "lighthouse harbour")
    memories.settle()
    assert_same(memories, "lighthouse harbour")


def test_a_label_of_several_words_is_found(memories: Memories) -> None:
    for tag in ("release notes", "ﷺ", "C++", "the"):
        memories.remember(f"A text with the tag {tag}", tags=[tag], speaker=f"{tag} himself")
    memories.settle()
    for tag in ("release notes", "ﷺ", "C++", "the"):
        assert len(assert_same(memories, "text", tags=tag)) == 1
        assert len(assert_same(memories, "text", speaker=f"{tag} himself")) == 1


def test_labels_that_were_given_later_are_found_in_whatever_order(memories: Memories) -> None:
    written = memories.remember_many(f"The harbour number {number}" for number in range(60))
    memories.settle()
    for number in (50, 3, 31, 7):
        memories.update(written[number].id, tags=["late"])
    assert len(assert_same(memories, "harbour", tags="late")) == 4


def test_a_small_scope_in_a_big_store_gives_all_it_has(memories: Memories) -> None:
    memories.remember_many(f"The harbour number {number}" for number in range(900))
    few = memories.remember_many(
        Draft(f"harbour {number}, {'a text that is longer than the others ' * 3}", session="quiet")
        for number in range(7)
    )
    memories.in_namespace("tiny").remember("The only harbour here")
    memories.settle()
    assert len(assert_same(memories, "harbour number", session="quiet")) == len(few)
    assert len(assert_same(memories.in_namespace("tiny"), "harbour number")) == 1


def test_what_is_forgotten_settled_and_written_again_is_found(memories: Memories) -> None:
    for _ in range(3):
        memories.remember_many(f"The harbour number {number}" for number in range(10))
        memories.settle()
        memories.forget(everything=True)
        memories.settle()
        assert by_words(memories, "harbour") == []
    memories.remember("The harbour again")
    assert len(assert_same(memories, "harbour")) == 1


def test_a_store_without_rows_settles(memories: Memories) -> None:
    memories.settle()
    memories.forget(memories.remember("forgotten at once").id)
    memories.settle()
    memories.remember("!?!")  # has no words
    memories.settle()
    assert by_words(memories, "forgotten") == []
    assert memories.doctor() == []


def test_a_store_in_memory_settles() -> None:
    with opened(":memory:") as memories:
        memories.remember_many(f"The harbour number {number}" for number in range(10))
        memories.settle()
        assert len(by_words(memories, "harbour", 20)) == 10


def test_there_are_never_many_segments(memories: Memories, path: Path) -> None:
    for turn in range(20):
        memories.remember_many(Draft(f"Turn {turn} of {number}", vector=[1.0] * 64) for number in range(60))
        memories.settle()
        assert len(listed(memories)) <= 10
        assert len(segments(path)) == len(listed(memories))
    assert sum(size for kind, size in listed(memories) if kind == "words") == 1200
    assert len(assert_same(memories, "turn 7", 100)) == 100


def test_settling_when_only_what_is_gone_is_new_leaves_few_segments(memories: Memories) -> None:
    memories.remember_many(f"The harbour number {number}" for number in range(100))
    for _ in range(12):
        memories.settle()
        memories.forget(memories.remember("soon gone").id)
    memories.settle()
    assert len(listed(memories)) <= 4
    assert store_of(memories)._rows("unindexed")[0][0] == 0


def test_stats_count_the_bytes_beside_the_file(memories: Memories, path: Path) -> None:
    memories.remember_many(f"The harbour number {number}" for number in range(100))
    memories.settle()
    beside = sum(file.stat().st_size for file in segments(path))
    assert beside > 0
    assert memories.stats().bytes == path.stat().st_size + beside


def test_export_and_import_take_no_notice(memories: Memories, tmp_path: Path) -> None:
    memories.remember_many(drafts(random.Random(1), 50))
    before = list(memories.export_records(vectors=True))
    memories.settle()
    assert list(memories.export_records(vectors=True)) == before
    with opened(tmp_path / "other.db") as other:
        other.import_records(before)
        other.settle()
        for word in VOCABULARY[:5]:
            found = [hit.memory.id for hit in other.recall(word, mode="keyword", reinforce=False)]
            with without_segments():
                assert found == [
                    hit.memory.id for hit in memories.recall(word, mode="keyword", reinforce=False)
                ]


def test_a_quoted_word_is_insisted_on_however_many_have_it(memories: Memories) -> None:
    """Unless nobody in scope has it; new and changed memories count as the others do."""
    kept = memories.remember_many(
        Draft(f"{'harbour ' * (number % 3)}lighthouse {number}", tags=[f"tag{number % 2}"])
        for number in range(MOST_PHRASED + 300)
    )
    memories.settle()
    memories.remember("A new harbour with a lighthouse")
    memories.update(kept[3].id, text="No longer dark: the harbour")
    memories.update(kept[4].id, text="Nothing but a beacon")
    for query in (
        'lighthouse "harbour"',
        '"harbours" lighthouse 17',
        '"lighthouse"',
        '"the" harbour',
        '"beacon"',
    ):
        for filters in ({}, {"tags": "tag1"}, {"tags": ["tag0", "tag1"]}, {"since": NOW}):
            assert_same(memories, query, 30, **filters)
    assert all(
        "arbour" in hit.memory.content for hit in memories.recall('lighthouse "harbour"', reinforce=False)
    )
    assert len(assert_same(memories, 'lighthouse "beacon"', 5, tags="tag1")) == 5


def test_places_and_lengths_may_be_as_large_as_a_backup_says(memories: Memories) -> None:
    store = store_of(memories)
    memories.remember_many(Draft(f"The harbour number {number}", session="one") for number in range(9))
    with store._connections.writing() as connection:
        connection.execute("UPDATE memory SET position = position + 9007199254740000, token_count = 1 << 53")
    for settled in (False, True):
        found = memories.recall("harbour", limit=9, reinforce=False)
        assert len(found) == 9, settled
        memories.settle()
    assert [kind for kind, _ in listed(memories)] == ["words", "vectors"]


def test_a_quoted_word_is_that_of_now(memories: Memories) -> None:
    kept = memories.remember_many(f"alpha beta word{number}" for number in range(3))
    memories.remember_many(f"beta gamma thing{number}" for number in range(300))
    memories.settle()
    memories.update(kept[0].id, text="beta gamma beta changed")
    assert len(assert_same(memories, '"alpha" beta')) == 2


def test_a_quoted_word_is_insisted_on_in_a_scope_that_segments_know_nothing_of(memories: Memories) -> None:
    memories.remember_many(f"alpha beta word{number}" for number in range(300))
    memories.remember_many(
        [
            Draft(f"alpha rare{number}, a longer text than the others", sector="procedural")
            for number in (1, 2)
        ]
        + [Draft(f"beta beta thing{number}", sector="procedural") for number in range(50)]
    )
    memories.settle()
    assert len(assert_same(memories, '"alpha" beta', 5, sector="procedural")) == 2


def test_labels_that_have_the_same_terms_are_told_apart(memories: Memories) -> None:
    """What lacks the label of a scope is not found, however like it its own is."""
    alike = [
        "to do",
        "To Do",
        "to-do",
        "to  do",
        "to\\x20do",
        "do to",
        "\u00e9t\u00e9",
        "e\u0301te\u0301",
        "!",
        "?",
    ]
    for label in alike:
        memories.remember(
            f"A harbour for {label}", tags=[label], speaker=label, id=f"id {alike.index(label)}"
        )
    memories.settle()
    for label in alike:
        for scope in ({"tags": label}, {"speaker": label}, {"tags": [label], "speaker": alike}):
            found = assert_same(memories, "harbour", **scope)
            assert len(found) == 1, (label, scope)
        with_phrase = memories.recall('"a harbour"', tags=label, reinforce=False)
        assert [hit.memory.tags for hit in with_phrase] == [(label,)]
    assert not assert_same(memories, "harbour", tags=["to do", "To Do"])


def test_labels_that_changed_are_those_of_now(memories: Memories) -> None:
    kept = memories.remember_many(
        Draft(f"The harbour number {number}", tags=["Old", "all"], speaker="Ana") for number in range(40)
    )
    memories.settle()
    for number in range(0, 20, 2):
        memories.update(kept[number].id, tags=["old", "all"])
    for settled in (False, True):
        for scope, count in (({"tags": "Old"}, 30), ({"tags": "old"}, 10), ({"tags": "all"}, 40)):
            assert len(assert_same(memories, "harbour", 50, **scope)) == count, (settled, scope)
        memories._store._background._build(1)  # type: ignore[attr-defined]
        assert len(listed(memories)) >= 2


def test_doctor_rebuild_makes_segments_anew(memories: Memories, path: Path) -> None:
    memories.remember_many(drafts(random.Random(1), 50))
    memories.settle()
    before = segments(path)
    assert memories.doctor(rebuild=True) == []
    assert len(segments(path)) == len(before)
    assert not set(segments(path)) & set(before)
    assert keys(assert_same(memories, VOCABULARY[0], 50))


def test_a_narrow_interval_is_known_before_anything_is_judged(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else thousands of better ones outside would be read to find the few inside."""
    memories.remember_many(
        Draft(f"The harbour number {number}", created_at=NOW - timedelta(days=number))
        for number in range(400)
    )
    memories.settle()
    judged: list[int] = []
    told = matching.told

    def counted(*given: Any) -> Any:
        judged.append(len(given[0]))
        return told(*given)

    monkeypatch.setattr(matching, "told", counted)
    week = {"since": NOW - timedelta(days=300), "until": NOW - timedelta(days=293)}
    found = memories.recall("harbour", limit=20, reinforce=False, **week)  # type: ignore[arg-type]
    assert len(found) == 7
    assert max(judged) == 7


@pytest.mark.parametrize("many", [3, FEW_ASIDE + 50])
def test_what_does_not_hold_now_is_out_however_many_do_not(memories: Memories, many: int) -> None:
    kept = memories.remember_many(
        Draft(f"The harbour number {number}", expires_at=NOW + timedelta(days=number % 3))
        for number in range(many)
    )
    memories.remember_many(f"Another harbour, number {number}" for number in range(many))
    memories.remember("A harbour of tomorrow", valid_from=NOW + timedelta(days=1))
    memories.remember("A harbour of yesterday", valid_until=NOW)
    memories.settle()
    memories.delete(kept[1].id)
    memories.supersede(kept[2].id, memories.remember("The harbour at last").id)
    found = assert_same(memories, "harbour", 2 * many + 9)
    expired = sum(number % 3 == 0 for number in range(many))
    assert len(found) == 2 * many - expired - 2 + 1
    assert_same(memories, "harbour", 2 * many + 9, include_superseded=True)


def test_what_another_process_supersedes_is_out_at_once(memories: Memories, path: Path) -> None:
    old, new, *_ = memories.remember_many(f"The harbour number {number}" for number in range(20))
    memories.settle()
    assert len(by_words(memories, "harbour", 50)) == 20
    with opened(path) as other:
        other.supersede(old.id, new.id)
    assert len(by_words(memories, "harbour", 50)) == 19
    with opened(path) as other:
        other.delete(new.id)
    assert len(by_words(memories, "harbour", 50)) == 18
    with opened(path) as other:
        other.restore(new.id)
    assert len(by_words(memories, "harbour", 50)) == 19


RANKED = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5)), max_size=40, unique_by=itemgetter(0))


@given(RANKED, st.randoms(use_true_random=False), st.integers(1, 15))
def test_the_best_of_several_lists_are_those_of_all(
    everyone: list[tuple[int, int]], chance: random.Random, most: int
) -> None:
    parts: list[list[tuple[int, int]]] = [[] for _ in range(chance.randint(1, 4))]
    for number, score in sorted(everyone, key=lambda each: (-each[1], each[0])):
        chance.choice(parts).append((number, score))
    best = sorted(everyone, key=lambda each: (-each[1], each[0]))[:most]
    made = [np.array(part, np.int64).reshape(-1, 2).T for part in parts]
    made_of = [Nearest.of(numbers, -numbers, np.asarray(scores / 8, np.float32)) for numbers, scores in made]
    numbers = [number for number, _ in best]
    expected = (numbers, [-number for number in numbers], [score / 8 for _, score in best])
    for loops in (nullcontext, by_numpy):
        with loops():
            assert comparing.best(made_of, most).columns() == expected


@given(st.lists(st.integers(0, 30)), st.lists(st.integers(0, 30)), st.sampled_from([1, 6]))
def test_those_who_are_wanted_are_found_among_others(there: list[int], wanted: list[int], apart: int) -> None:
    memories, scores = np.array(there, np.int64), np.arange(len(there), dtype=np.float32)
    numbers = np.repeat(np.array(wanted, np.int64), apart)
    numbers[np.arange(len(numbers)) % apart > 0] = 7  # what stands between them is none of them
    for loops in (nullcontext, by_numpy):
        with loops():
            found = comparing.among(memories, scores, numbers.tobytes(), 8 * apart)
        assert found == Scored.of(
            [number for number in there if number in wanted],
            [at for at, number in enumerate(there) if number in wanted],
        )


@given(st.lists(st.dictionaries(st.integers(0, 9), st.integers(0, 99)), min_size=1, max_size=4))
def test_who_is_in_several_parts_is_as_the_last_of_them_says(parts: list[dict[int, int]]) -> None:
    found = comparing.latest([Scored.of(part, part.values()) for part in parts])
    assert dict(Similarities(found)) == {key: score for part in parts for key, score in part.items()}
    assert len(found) == len(Similarities(found))


def pieces(memories: Memories) -> list[int]:
    """How many memories each of the segments in memory has, once somebody has asked."""
    memories.recall("harbour", mode="keyword", reinforce=False)
    return [len(piece.rows) for piece in store_of(memories)._newer._pieces]


def test_of_what_is_newer_only_the_newest_is_made_anew(memories: Memories) -> None:
    memories.remember_many([Draft(f"The harbour number {number}") for number in range(150)])
    memories.settle()
    kept = [memories.remember(f"A new harbour, {number}").id for number in range(3)]
    assert pieces(memories) == [3]
    memories.remember("One more harbour")
    assert pieces(memories) == [3, 1]
    before = store_of(memories)._newer._pieces
    memories.reinforce(kept[0])
    assert pieces(memories) == [3, 1]
    assert store_of(memories)._newer._pieces[0] is before[0]
    memories.update(kept[1], text="No longer there")
    assert pieces(memories) == [4]
    memories.forget(kept[2])
    assert store_of(memories)._newer._pieces == (), "what is forgotten leaves no trace in memory"
    assert pieces(memories) == [3]
    found = memories.recall("new harbour", mode="keyword", limit=5, reinforce=False)
    assert {hit.memory.content for hit in found} >= {"A new harbour, 0", "One more harbour"}
    assert not {"A new harbour, 1", "A new harbour, 2"} & {hit.memory.content for hit in found}


def test_many_pieces_are_put_together(memories: Memories) -> None:
    memories.remember_many([Draft(f"The harbour number {number}") for number in range(150)])
    memories.settle()
    most = 0
    for number in range(30):
        memories.remember(f"A new harbour, {number}")
        most = max(most, len(pieces(memories)))
    assert most <= 8
    assert sum(pieces(memories)) == 30


def test_changed_memories_are_found_as_they_are_now(memories: Memories) -> None:
    ids = [memories.remember(f"The harbour number {number}", tags=["old"]).id for number in range(150)]
    memories.settle()
    memories.update(ids[7], tags=["new"])
    memories.update(ids[8], text="A lighthouse")
    memories.forget(ids[9])
    for tag, expected in (("new", {ids[7]}), ("old", set(ids) - {ids[7], ids[9]})):
        found = memories.recall("harbour lighthouse number", limit=200, tags=tag, reinforce=False)
        assert {hit.memory.id for hit in found} == expected
    (best, *_) = memories.recall("lighthouse", mode="keyword", reinforce=False)
    assert best.memory.id == ids[8]
