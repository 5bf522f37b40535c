"""Storing: what is kept, how duplicates, sessions, supersession, relations and documents behave."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect import Draft, InvalidInput, Memories, NoSuchMemory, NoSuchSession
from recollect.store.sqlite import connections

from .conftest import NOON, Clock, OpenMemories
from .segmented import opened, store_of


def draft_of(text: str, vector: Sequence[float]) -> Draft:
    array: Any = np.array(vector)
    return Draft(text, vector=array)


def contents(memories: Memories, query: str, **options: object) -> list[str]:
    return [hit.memory.content for hit in memories.recall(query, **options)]  # type: ignore[arg-type]


class TestFields:
    def test_everything_given_comes_back(self, memories: Memories) -> None:
        id = memories.remember(
            "Ana prefers dark mode",
            id="mine-1",
            session="s1",
            speaker="Ana",
            created_at="2026-03-01T10:00:00+02:00",
            sector="emotional",
            tier="global",
            tags=["ui", "preference", "ui"],
            files=["src/theme.ts"],
            importance=0.8,
            summary="likes dark",
            language="en",
            metadata={"ticket": 12, "nested": {"a": [1, None, "ü"]}},
            source="slack",
            trust="low",
            valid_from=datetime(2026, 2, 1),
            valid_until="2027-01-01",
            expires_at="2030-01-01",
        ).id
        memory = memories.get(id)
        assert memory.id == "mine-1"
        assert memory.created_at == datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
        assert (memory.session, memory.speaker, memory.sector, memory.tier) == (
            "s1",
            "Ana",
            "emotional",
            "global",
        )
        assert (memory.tags, memory.files) == (("ui", "preference"), ("src/theme.ts",))
        assert (memory.importance, memory.summary, memory.language) == (0.8, "likes dark", "en")
        assert memory.metadata == {"ticket": 12, "nested": {"a": [1, None, "ü"]}}
        assert (memory.source, memory.trust, memory.kind) == ("slack", "low", "memory")
        assert memory.valid_from == datetime(2026, 2, 1, tzinfo=UTC)
        assert memory.valid_until == datetime(2027, 1, 1, tzinfo=UTC)
        assert memory.expires_at == datetime(2030, 1, 1, tzinfo=UTC)
        assert memory.token_count > 0

    def test_the_sector_is_read_from_the_text(self, memories: Memories) -> None:
        id = memories.remember("To deploy, run npm build then upload to S3").id
        assert memories.get(id).sector == "procedural"

    def test_the_language_is_read_from_the_text(self, memories: Memories) -> None:
        german = memories.remember("Wir haben uns gegen Redis entschieden, weil es zu teuer ist").id
        chinese = memories.remember("我们决定使用缓存").id
        assert [memory.language for memory in memories.get([german, chinese])] == ["de", "zh"]

    def test_a_session_that_is_not_there_is_made(self, memories: Memories) -> None:
        memories.remember("x marks the spot", session="new", created_at="2026-01-05")
        assert memories.session("new").started_at == datetime(2026, 1, 5, tzinfo=UTC)

    def test_an_id_is_not_taken_twice(self, memories: Memories) -> None:
        memories.remember("one", id="a")
        with pytest.raises(InvalidInput, match="there already"):
            memories.remember("two", id="a")
        assert memories.get("a").content == "one"

    def test_ids_are_separate_in_each_namespace(self, memories: Memories) -> None:
        other = memories.in_namespace("proj2")
        memories.remember("one", id="a")
        other.remember("two", id="a")
        assert (memories.get("a").content, other.get("a").content) == ("one", "two")


class TestDuplicates:
    def test_the_same_text_again_reinforces(self, memories: Memories) -> None:
        first = memories.remember("Deploys happen on Tuesdays", tags=["ops"], importance=0.5)
        again = memories.remember("  Deploys happen on Tuesdays\n", tags=["release"], metadata={"by": "Ana"})
        assert (first.outcome, again.outcome) == ("added", "reinforced")
        assert again.id == first.id
        memory = memories.get(first.id)
        assert memory.salience == pytest.approx(0.6, abs=1e-6)
        assert memory.tags == ("ops", "release")
        assert memory.metadata == {"by": "Ana"}
        assert contents(memories, "release") == ["Deploys happen on Tuesdays"]
        assert memories.doctor() == []

    def test_keep_adds_another(self, memories: Memories) -> None:
        first = memories.remember("Deploys happen on Tuesdays")
        again = memories.remember("Deploys happen on Tuesdays", on_duplicate="keep")
        assert (again.outcome, again.id != first.id) == ("added", True)

    def test_turns_of_a_conversation_are_never_merged(self, memories: Memories) -> None:
        ids = {memories.remember("Yes.", speaker="Ana", session="s").id for _ in range(3)}
        assert len(ids) == 3

    def test_other_namespaces_do_not_count(self, memories: Memories) -> None:
        memories.remember("Deploys happen on Tuesdays")
        assert memories.in_namespace("proj2").remember("Deploys happen on Tuesdays").outcome == "added"

    def test_what_no_longer_holds_does_not_count(self, memories: Memories) -> None:
        old = memories.remember("The port is 8080").id
        memories.supersede(old, memories.remember("The port is 9090").id)
        assert memories.remember("The port is 8080").outcome == "added"

    def test_near_duplicates_are_linked_not_dropped(self, memories: Memories) -> None:
        text = "The nightly backup job copies the billing database to the vault at two in the morning"
        first = memories.remember(text)
        near = memories.remember(text + " sharp")
        far = memories.remember("Ana likes green tea with a little honey in the afternoon")
        assert near.outcome == "added"
        assert near.near_duplicates == (first.id,)
        assert far.near_duplicates == ()
        assert [(r.source, r.target, r.type) for r in memories.relations(first.id)] == [
            (near.id, first.id, "near_duplicate")
        ]

    def test_a_reinforcement_in_a_session_is_linked(self, memories: Memories) -> None:
        id = memories.remember("Deploys happen on Tuesdays", session="s1").id
        memories.remember("Deploys happen on Tuesdays", session="s2")
        context = memories.session_context(id)
        assert context is not None
        assert (context.session.id, context.usage) == ("s2", "reinforced")


class TestMany:
    def test_many_are_kept_in_order_with_vectors_and_progress(self, memories: Memories) -> None:
        seen: list[tuple[str, int, int | None]] = []
        drafts = [Draft(f"fact number {n}", created_at=NOON - timedelta(days=n)) for n in range(600)]
        results = memories.remember_many(drafts, progress=lambda *step: seen.append(step))
        assert len({result.id for result in results}) == 600
        assert all(result.embedded for result in results)
        assert ("storing", 600, 600) in seen
        assert seen[-1] == ("embedding", 600, 600)
        assert memories.stats().pending_vectors == 0
        assert memories.get(results[17].id).content == "fact number 17"

    def test_plain_strings_and_generators_will_do(self, memories: Memories) -> None:
        assert len(memories.remember_many(f"note {n}" for n in range(3))) == 3

    def test_a_bad_draft_says_which_one_and_what_was_kept(self, memories: Memories) -> None:
        with pytest.raises(InvalidInput, match=r"Draft 3: .*empty.* Nothing was kept"):
            memories.remember_many(["one", "two", " "])
        assert memories.stats().memories == 0
        with pytest.raises(InvalidInput, match=r"Draft 600: .* The 512 before it were kept"):
            memories.remember_many([f"note {n}" for n in range(599)] + [""])
        assert memories.stats().memories == 512

    def test_given_vectors_are_used(self, open_memories: OpenMemories) -> None:
        memories = open_memories(embedder="hash:4")
        memories.remember_many([Draft("north", vector=[2, 0, 0, 0]), Draft("east", vector=[0, 1, 0, 0])])
        vectors = [record for record in memories.export_records(vectors=True) if record["type"] == "vector"]
        assert len(vectors) == 2
        for refused in ([1.0, 2.0], [1e300, 0, 0, 0], [3e38, 3e38, 0, 0]):
            with pytest.raises(InvalidInput, match="4 finite numbers"):
                memories.remember("west", vector=refused)

    def test_vectors_given_as_arrays_are_kept_to_the_same_bytes(self, open_memories: OpenMemories) -> None:
        drawn = np.random.default_rng(1).standard_normal((50, 64)).astype(np.float32)
        memories = open_memories(embedder="hash:64")
        as_arrays = [draft_of(f"note {number}", vector) for number, vector in enumerate(drawn.tolist())]
        as_lists = [Draft(f"note {number}", vector=vector) for number, vector in enumerate(drawn.tolist())]
        memories.in_namespace("array").remember_many(as_arrays)
        memories.in_namespace("list").remember_many(as_lists)
        first, second = (
            [
                record["embedding"]
                for record in memories.in_namespace(kind).export_records(vectors=True)
                if record["type"] == "vector"
            ]
            for kind in ("array", "list")
        )
        assert len(first) == 50
        assert first == second

    def test_a_bad_array_says_whose_it_is(self, open_memories: OpenMemories) -> None:
        memories = open_memories(embedder="hash:4")
        good = draft_of("north", [2, 0, 0, 0])
        with pytest.raises(InvalidInput, match=r"Draft 2: The vector is all zeros"):
            memories.remember_many([good, draft_of("nowhere", [0, 0, 0, 0])])
        for refused in ([1.0, 0, 0], [np.nan, 0, 0, 0], [1e300, 0, 0, 0]):
            with pytest.raises(InvalidInput, match=r"Draft 2: .*4 finite numbers"):
                memories.remember_many([good, draft_of("nowhere", refused)])


class TestSessions:
    def test_life_of_a_session(self, memories: Memories, clock: Clock) -> None:
        started = memories.start_session("s1", agent="coder")
        memories.remember("We chose SQLite", session="s1", importance=0.9)
        memories.remember("Lunch was late", session="s1", importance=0.1)
        clock.pass_time(hours=1)
        ended = memories.end_session("s1", summary="Chose a database")
        assert (started.agent, ended.summary) == ("coder", "Chose a database")
        listed = memories.sessions()[0]
        assert (listed.id, listed.memories, listed.agent) == ("s1", 2, "coder")
        assert listed.ended_at is not None
        assert listed.ended_at - listed.started_at >= timedelta(hours=1)

    def test_a_summary_is_drawn_from_the_memories_when_none_is_given(self, memories: Memories) -> None:
        for n in range(5):
            memories.remember(f"Minor remark {n}", session="s1", importance=0.2)
        memories.remember("We chose SQLite for the laptop edition", session="s1", importance=0.9)
        summary = memories.summarise_session("s1").summary
        assert summary is not None
        assert "We chose SQLite" in summary

    def test_within_a_session_writing_and_recalling_are_tracked(self, memories: Memories) -> None:
        with memories.in_session("s1") as session:
            id = session.remember("The cache is warm").id
        assert memories.get(id).session == "s1"
        assert memories.session("s1").ended_at is not None
        with memories.in_session("s2") as session:
            session.recall("cache")
        context = memories.session_context(id)
        assert context is not None
        assert (context.session.id, context.usage) == ("s2", "recalled")
        memories.remember("The store is still open")

    def test_an_update_in_a_session_is_linked(self, memories: Memories) -> None:
        id = memories.remember("The cache is warm").id
        memories.in_session("s3").update(id, tags=["cache"])
        context = memories.session_context(id)
        assert context is not None
        assert (context.session.id, context.usage) == ("s3", "updated")

    def test_a_memory_without_session_has_no_context(self, memories: Memories) -> None:
        assert memories.session_context(memories.remember("Alone").id) is None

    def test_an_unknown_session(self, memories: Memories) -> None:
        with pytest.raises(NoSuchSession):
            memories.end_session("nowhere")


class TestSupersession:
    def test_the_old_one_gives_way_and_both_are_linked(self, memories: Memories) -> None:
        old = memories.remember("The API listens on port 8080", created_at="2026-01-10").id
        new = memories.remember("The API listens on port 9090", created_at="2026-02-10").id
        memories.supersede(old, new)
        assert contents(memories, "API port") == ["The API listens on port 9090"]
        closed = memories.get(old)
        assert (closed.superseded_by, closed.valid_until) == (new, datetime(2026, 2, 10, tzinfo=UTC))
        assert ("supersedes", new, old) in [(r.type, r.source, r.target) for r in memories.relations(new)]

    def test_included_it_is_halved_and_says_so(self, memories: Memories) -> None:
        old = memories.remember("The API listens on port 8080").id
        before = memories.recall("API port 8080", reinforce=False)[0]
        memories.supersede(old, memories.remember("Nothing to see here").id)
        hits = memories.recall("API port 8080", include_superseded=True, reinforce=False)
        after = next(hit for hit in hits if hit.memory.id == old)
        assert [m.value for m in after.why.multipliers if m.name == "superseded"] == [0.5]
        assert after.score == pytest.approx(before.score / 2, rel=0.01)

    def test_as_of_tells_what_was_believed(self, memories: Memories) -> None:
        ids = [
            memories.remember(f"The API listens on port {port}", created_at=date).id
            for port, date in ((8080, "2026-01-10"), (9090, "2026-02-10"), (7070, "2026-03-10"))
        ]
        memories.supersede(ids[0], ids[1])
        memories.supersede(ids[1], ids[2])

        def believed(date: str) -> list[str]:
            return contents(memories, "API port", as_of=date)

        assert believed("2026-01-01") == []
        assert believed("2026-01-10") == ["The API listens on port 8080"]
        assert believed("2026-02-09") == ["The API listens on port 8080"]
        assert believed("2026-02-28") == ["The API listens on port 9090"]
        assert believed("2026-03-18") == ["The API listens on port 7070"]

    def test_no_circles(self, memories: Memories) -> None:
        a, b, c = (memories.remember(f"Version {n} of the truth").id for n in range(3))
        memories.supersede(a, b)
        memories.supersede(b, c)
        with pytest.raises(InvalidInput, match="circle"):
            memories.supersede(c, a)
        with pytest.raises(InvalidInput, match="itself"):
            memories.supersede(a, a)
        assert memories.get(c).superseded_by is None

    def test_validity_that_has_ended_hides_too(self, memories: Memories, clock: Clock) -> None:
        memories.remember("The offer is half price", valid_until=NOON + timedelta(days=5))
        assert contents(memories, "offer") == ["The offer is half price"]
        clock.pass_time(days=6)
        assert contents(memories, "offer") == []


class TestRelations:
    def test_edges_go_both_ways_and_are_drawn_once(self, memories: Memories) -> None:
        a, b = memories.remember("Bug in login").id, memories.remember("Fix for login").id
        memories.relate(b, a, "fixes", "agent")
        memories.relate(b, a, "fixes", "agent")
        for id in (a, b):
            assert [(r.source, r.target, r.type, r.origin) for r in memories.relations(id)] == [
                (b, a, "fixes", "agent")
            ]
        assert memories.unrelate(b, a, "fixes") == 1
        assert memories.relations(a) == []

    def test_both_ends_must_be_there(self, memories: Memories) -> None:
        a = memories.remember("Bug in login").id
        with pytest.raises(NoSuchMemory):
            memories.relate(a, "nowhere")
        other = memories.in_namespace("proj2").remember("Elsewhere").id
        with pytest.raises(NoSuchMemory):
            memories.relate(a, other)


class TestUpdating:
    def test_a_new_text_is_found_and_the_old_one_is_not(self, memories: Memories) -> None:
        id = memories.remember("The mascot is a walrus", tags=["brand"]).id
        changed = memories.update(id, text="The mascot is a heron")
        assert (changed.content, changed.tags) == ("The mascot is a heron", ("brand",))
        assert contents(memories, "walrus", mode="keyword") == []
        assert contents(memories, "heron", mode="keyword") == ["The mascot is a heron"]
        assert memories.doctor() == []

    def test_other_fields_stay_as_they_were(self, memories: Memories, clock: Clock) -> None:
        id = memories.remember("The mascot is a walrus", session="s1", importance=0.7, metadata={"a": 1}).id
        clock.pass_time(days=1)
        changed = memories.update(id, importance=0.2)
        assert (changed.importance, changed.session, dict(changed.metadata)) == (0.2, "s1", {"a": 1})
        assert changed.updated_at > changed.created_at

    def test_what_can_not_be_updated(self, memories: Memories) -> None:
        id = memories.remember("The mascot is a walrus").id
        with pytest.raises(InvalidInput, match="no field to update"):
            memories.update(id, namespace="other")  # type: ignore[call-arg]
        with pytest.raises(NoSuchMemory):
            memories.update("nowhere", tags=["x"])

    def test_reinforce_and_deemphasize_stay_within_bounds(self, memories: Memories) -> None:
        id = memories.remember("The mascot is a walrus", importance=0.5).id
        assert memories.reinforce(id, 0.9).salience == pytest.approx(1.0)
        assert memories.deemphasize(id, 1.0).salience == pytest.approx(0.0, abs=1e-9)


class TestDocuments:
    TEXT = "# Handbook\n\nWelcome.\n\n## Deploying\n\nRun the blue script.\n\n## Holidays\n\nAsk Ana.\n"

    def test_passages_follow_the_structure(self, memories: Memories, tmp_path: Path) -> None:
        path = tmp_path / "handbook.md"
        path.write_text(self.TEXT)
        result = memories.ingest(path)
        assert (result.outcome, result.document.title, result.document.passages) == ("added", "Handbook", 3)
        hit = memories.search_documents("how do I deploy?")[0]
        assert hit.memory.content == "Run the blue script."
        assert hit.memory.headings == ("Handbook", "Deploying")
        assert (hit.memory.kind, hit.memory.document) == ("passage", str(path))

    def test_passages_are_searched_only_when_asked_for(self, memories: Memories) -> None:
        memories.ingest(self.TEXT, name="handbook")
        memories.remember("The blue script is broken")
        assert contents(memories, "blue script") == ["The blue script is broken"]
        assert len(memories.recall("blue script", include_documents=True)) > 1

    def test_a_changed_document_replaces_its_passages(self, memories: Memories) -> None:
        memories.ingest(self.TEXT, name="handbook")
        assert memories.ingest(self.TEXT, name="handbook").outcome == "unchanged"
        again = memories.ingest(self.TEXT.replace("blue", "green"), name="handbook")
        assert (again.outcome, again.removed) == ("replaced", 3)
        texts = [hit.memory.content for hit in memories.search_documents("script", mode="keyword")]
        assert texts == ["Run the green script."]
        assert memories.doctor() == []

    def test_a_document_can_be_forgotten(self, memories: Memories) -> None:
        memories.ingest(self.TEXT, name="handbook")
        receipt = memories.forget_document("handbook")
        assert (receipt.memories, receipt.documents, receipt.keyword_entries) == (3, 1, 3)
        assert memories.documents() == []


class TestGenerations:
    """Vectors belong to the model that made them."""

    def test_search_goes_on_with_the_old_model_until_the_new_one_is_complete(
        self, open_memories: OpenMemories
    ) -> None:
        old = open_memories(embedder="hash:64")
        old.remember_many([f"fact number {n} about walruses" for n in range(20)])
        new = open_memories(embedder="hash:32")
        new.remember("a late fact about walruses")
        assert new.recall("walruses", mode="semantic")[0].why.semantic is not None
        assert new.stats().embedder == "hash:64"
        assert new.stats().notes
        assert new.reembed() == 0
        assert (new.stats().embedder, new.stats().pending_vectors) == ("hash:32", 0)
        late = new.recall("a late fact about walruses", mode="semantic")
        assert late[0].memory.content == "a late fact about walruses"

    def test_a_model_that_is_gone_leaves_keywords_and_says_so(self, open_memories: OpenMemories) -> None:
        class Retired:
            name, dimensions, fingerprint, query_prefix = "retired", 2, "retired-1", ""

            def embed(self, texts: list[str]) -> np.ndarray:
                return np.tile(np.array([1, 0], np.float32), (len(texts), 1))

        open_memories(embedder=Retired()).remember("The mascot is a walrus")
        found = open_memories(embedder="hash").recall("walrus")
        assert [hit.match for hit in found] == ["keyword"]
        assert "keywords answered alone" in found.notes[0]

    def test_a_text_that_can_not_be_embedded_now_is_embedded_later(self, open_memories: OpenMemories) -> None:
        class Moody:
            name, dimensions, fingerprint, query_prefix = "moody", 2, "moody-1", ""
            works = False

            def embed(self, texts: list[str]) -> np.ndarray:
                if not self.works:
                    raise OSError("the server is asleep")
                return np.tile(np.array([1, 0], np.float32), (len(texts), 1))

        embedder = Moody()
        memories = open_memories(embedder=embedder)
        assert not memories.remember("The mascot is a walrus").embedded
        found = memories.recall("walrus")
        assert [hit.match for hit in found] == ["keyword"]
        assert "asleep" in found.notes[0]
        assert memories.stats().pending_vectors == 1
        embedder.works = True
        assert memories.reembed() == 0
        assert memories.stats().pending_vectors == 0
        assert memories.recall("walrus")[0].match == "both"


def test_a_file_s_writer_holds_more_of_it_only_while_much_is_written(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as memories:
        writer = store_of(memories)._connections._writer
        assert writer is not None
        memories.remember_many(f"The harbour opens at {n} for ships of size {n}" for n in range(1_000))
        assert writer.pragma("cache_size") == -connections.CACHE_OF_BULK
        memories.remember("The harbour is closed.")
        assert writer.pragma("cache_size") == -connections.CACHE


def test_many_sessions_of_one_call_are_as_if_they_came_one_by_one(open_memories: OpenMemories) -> None:
    memories = open_memories()
    memories.remember("They met before", session="s2", created_at="2026-01-03")
    drafts = [
        Draft(
            f"turn {number} of a talk",
            id=f"t{number}",
            session=f"s{number % 6}",
            created_at=f"2026-01-{day:02}",
        )
        for number, day in zip(range(18), range(19, 1, -1), strict=True)
    ]
    memories.remember_many(drafts)
    began = [memories.session(f"s{number}").started_at.day for number in range(6)]
    assert began == [7, 6, 3, 4, 3, 2]
    rows = memories._store.dump(memories.namespace, vectors=False)
    places = {row["id"]: row["position"] for row in rows if row["type"] == "memory"}
    assert [places[f"t{number}"] for number in (0, 6, 12, 2, 8, 14)] == [0, 1, 2, 1, 2, 3]


def test_keyword_entries_follow_what_was_written_many_at_once(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as memories:
        memories.remember_many([Draft(f"walrus number {number}", id=f"w{number}") for number in range(300)])
        memories.update("w7", text="a seal")
        memories.forget("w8")
        memories.remember("walrus alone", id="alone")
        found = {hit.memory.id for hit in memories.recall("walrus", mode="keyword", limit=1_000)}
        assert found == {"alone", *(f"w{number}" for number in range(300))} - {"w7", "w8"}
        assert [hit.memory.id for hit in memories.recall("seal", mode="keyword")] == ["w7"]
        assert memories.doctor() == []
