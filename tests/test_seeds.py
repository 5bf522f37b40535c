"""The test specifications of the design documents, one class for each suite, and their acceptance list."""

from __future__ import annotations

from datetime import timedelta

import pytest

from recollect import Memories, Recall
from recollect.ranking.fuse import WEIGHTED_WEIGHTS, Legs, rrf, weighted
from recollect.ranking.score import Rules
from recollect.ranking.score import score as score_of
from recollect.store.base import Candidate, Standing
from recollect.times import to_micros
from recollect.types import Sector

from .conftest import NOON, Clock, OpenMemories

REAL = "arctic-s"
"""What is said about meaning is tested with the model that users have."""


class TestKeywordSearch:
    """Full-text search."""

    @pytest.fixture(autouse=True)
    def two_memories(self, memories: Memories) -> None:
        memories.remember("The authentication module handles user login and JWT tokens")
        memories.remember("Database migrations are run with the migrate command")

    def search(self, memories: Memories, query: str) -> Recall:
        return memories.recall(query, mode="keyword")

    def test_finds_memories_by_keyword(self, memories: Memories) -> None:
        found = self.search(memories, "authentication")
        assert len(found) == 1
        assert "authentication" in found[0].highlights[0]

    def test_supports_prefix_matching(self, memories: Memories) -> None:
        assert [hit.memory.content[:18] for hit in self.search(memories, "auth")] == ["The authentication"]

    def test_returns_highlighted_snippets(self, memories: Memories) -> None:
        assert "<mark>authentication</mark>" in self.search(memories, "authentication")[0].highlights[0]

    def test_filters_by_project(self, memories: Memories, open_memories: OpenMemories) -> None:
        open_memories("proj2").remember("authentication in another project")
        assert len(self.search(memories, "authentication")) == 1

    def test_handles_an_empty_query(self, memories: Memories) -> None:
        assert self.search(memories, "") == []


class TestVectorSearch:
    """Vector similarity."""

    @pytest.fixture
    def memories(self, open_memories: OpenMemories) -> Memories:
        memories = open_memories(embedder=REAL)
        memories.remember("User authentication with JWT tokens and OAuth2")
        memories.remember("Database schema design with foreign keys")
        return memories

    def test_finds_semantically_similar_memories(self, memories: Memories) -> None:
        found = memories.recall("login system security", mode="semantic")
        assert found[0].memory.content.startswith("User authentication")
        assert found[0].match == "semantic"

    def test_returns_similarity_scores(self, memories: Memories) -> None:
        leg = memories.recall("authentication", mode="semantic")[0].why.semantic
        assert leg is not None
        assert 0 < leg.score <= 1

    def test_only_searches_the_current_models_vectors(
        self, memories: Memories, open_memories: OpenMemories
    ) -> None:
        other = open_memories(embedder="hash")
        other.remember("Written with another model")
        found = memories.recall("Written with another model", mode="semantic")
        assert "Written with another model" not in [hit.memory.content for hit in found]


class TestHybridSearch:
    """Hybrid search, and what comes with every hit."""

    @pytest.fixture(autouse=True)
    def three_memories(self, memories: Memories) -> None:
        memories.start_session("sess1")
        examples: tuple[tuple[Sector, str], ...] = (
            ("reflective", "Decided to use React with TypeScript for the frontend"),
            ("procedural", "To deploy, run npm build then upload to S3"),
            ("semantic", "The API routes are defined in src/routes/api.ts"),
        )
        for sector, text in examples:
            memories.remember(text, sector=sector, session="sess1")

    def test_returns_results_from_both_legs(self, memories: Memories) -> None:
        assert memories.recall("React TypeScript")[0].match == "both"

    def test_results_include_session_context(self, memories: Memories) -> None:
        session = memories.recall("React")[0].source_session
        assert session is not None
        assert session.id == "sess1"

    def test_results_include_superseded_status(self, memories: Memories) -> None:
        old = memories.remember("Old API endpoint is /v1").id
        new = memories.remember("New API endpoint is /v2").id
        memories.supersede(old, new)
        found = memories.recall("API endpoint", include_superseded=True)
        hit = next(hit for hit in found if hit.memory.id == old)
        assert hit.is_superseded
        assert hit.superseded_by is not None
        assert hit.superseded_by.id == new
        assert hit.superseded_by.content == "New API endpoint is /v2"

    def test_excludes_superseded_by_default(self, memories: Memories) -> None:
        old = memories.remember("Old fact").id
        memories.supersede(old, memories.remember("New fact").id)
        assert old not in [hit.memory.id for hit in memories.recall("fact")]

    def test_filters_by_sector(self, memories: Memories) -> None:
        found = memories.recall("build deploy", sector="procedural")
        assert found
        assert all(hit.memory.sector == "procedural" for hit in found)

    def test_filters_by_session(self, memories: Memories) -> None:
        memories.remember("Only in session 2", session="sess2")
        found = memories.recall("session", session="sess2")
        assert [hit.source_session and hit.source_session.id for hit in found] == ["sess2"]

    def test_timeline_includes_session_info(self, memories: Memories) -> None:
        memories.remember("First", session="sess1")
        second = memories.remember("Second", session="sess1").id
        timeline = memories.timeline(second, 2, 2)
        assert timeline.anchor.id == second
        assert [memory.content for memory in timeline.before][-1] == "First"
        assert "sess1" in timeline.sessions

    def test_session_context_of_a_memory(self, memories: Memories) -> None:
        context = memories.session_context(memories.remember("Test memory", session="sess1").id)
        assert context is not None
        assert (context.session.id, context.usage, context.memories_in_session) == ("sess1", "created", 4)

    def test_includes_related_memory_count(self, memories: Memories) -> None:
        one, two = memories.remember("Memory 1").id, memories.remember("Memory 2").id
        memories.relate(one, two, "RELATED_TO", "user")
        hit = next(hit for hit in memories.recall("Memory 1") if hit.memory.id == one)
        assert hit.related_count == 1

    def test_tracks_recalled_memories_in_the_session(self, memories: Memories) -> None:
        id = memories.remember("To be recalled", session="sess1").id
        with memories.in_session("sess2") as session:
            session.recall("recalled")
        context = memories.session_context(id)
        assert context is not None
        assert (context.session.id, context.usage) == ("sess2", "recalled")


class TestAcceptance:
    """The acceptance criteria that the suites above leave open."""

    def test_ranking_weighs_semantic_keyword_salience_and_recency(self) -> None:
        def score(
            sector: Sector,
            *,
            days: float = 0,
            superseded: bool = False,
            cosine: float = 0.8,
            bm25: float = 6.0,
        ) -> float:
            created = to_micros(NOON - timedelta(days=days))
            found = Candidate(1, bm25, None, None, None, 10, created)
            legs = Legs([found], [found._replace(score=cosine)])
            standing = Standing(sector, 0.5, 0.5, superseded)
            fused = weighted(legs, WEIGHTED_WEIGHTS)
            return score_of(fused, {1: standing}, Rules("weighted", NOON), 1)[0][1]

        plain = 0.4 * 0.8 + 0.25 * 0.6 + 0.2 * 0.5 + 0.15 * 1
        assert score("procedural") == pytest.approx(plain)
        assert score("reflective") == pytest.approx(plain * 1.2)
        assert score("semantic") == pytest.approx(plain * 1.1)
        assert score("emotional") == pytest.approx(plain * 0.9)
        assert score("episodic") == pytest.approx(plain * 0.8)
        assert score("procedural", superseded=True) == pytest.approx(plain / 2)
        aged = plain - 0.15 * (1 - 2.718281828459045**-1)
        assert score("procedural", days=20) == pytest.approx(aged)
        assert score("reflective", cosine=1.0, bm25=99.0) == 1.0

    @pytest.mark.parametrize(
        ("mode", "matches"), [("hybrid", {"both"}), ("keyword", {"keyword"}), ("semantic", {"semantic"})]
    )
    def test_different_modes_work(self, memories: Memories, mode: str, matches: set[str]) -> None:
        memories.remember("The cache is flushed at midnight")
        found = memories.recall("cache midnight", mode=mode)  # type: ignore[arg-type]
        assert {hit.match for hit in found} == matches

    def test_filters_by_tier_and_salience(self, memories: Memories) -> None:
        low = memories.remember("A faint rumour about the cache", importance=0.1, tier="session").id
        high = memories.remember("A firm fact about the cache", importance=0.9, tier="global").id
        assert [hit.memory.id for hit in memories.recall("cache", tier="session")] == [low]
        assert [hit.memory.id for hit in memories.recall("cache", min_salience=0.5)] == [high]

    def test_recall_boosts_the_salience_of_what_it_returned(self, memories: Memories) -> None:
        id = memories.remember("The cache is flushed at midnight", importance=0.5).id
        memories.recall("cache")
        memories.recall("cache", reinforce=False)
        memories.stats()
        assert memories.get(id).salience == pytest.approx(0.52)
        assert memories.get(id).access_count == 1

    def test_salience_never_exceeds_one(self, memories: Memories) -> None:
        id = memories.remember("The cache is flushed at midnight", importance=0.99).id
        for _ in range(3):
            memories.recall("cache")
        memories.stats()
        assert 0.999 < memories.get(id).salience <= 1

    @pytest.mark.parametrize(
        ("sector", "rate"),
        [
            ("emotional", 0.003),
            ("semantic", 0.005),
            ("reflective", 0.008),
            ("procedural", 0.01),
            ("episodic", 0.02),
        ],
    )
    def test_salience_decays_by_sector(
        self, memories: Memories, clock: Clock, sector: Sector, rate: float
    ) -> None:
        id = memories.remember("Something", sector=sector, importance=1.0).id
        clock.pass_time(days=30)
        assert memories.get(id).salience == pytest.approx(2.718281828459045 ** (-rate * 30), rel=1e-6)


class TestWorkedNumbers:
    """Reciprocal rank fusion by hand."""

    def test_second_and_third_beats_first_in_one_list(self) -> None:
        scores = rrf([["only", "both", "x"], ["y", "z", "both"]])
        assert scores["both"] == pytest.approx(1 / 62 + 1 / 63)
        assert scores["only"] == pytest.approx(1 / 61)
        assert next(iter(scores)) == "both"

    def test_the_union_of_both_lists_is_ranked(self) -> None:
        assert set(rrf([["a", "b"], ["c"]])) == {"a", "b", "c"}

    def test_weights_count_for_each_leg(self) -> None:
        scores = rrf([["keyword"], ["vector"]], [0.3, 0.7])
        assert scores == {"vector": pytest.approx(0.7 / 61), "keyword": pytest.approx(0.3 / 61)}

    def test_recall_fuses_so(self, memories: Memories) -> None:
        for text in ("alpha beta", "alpha gamma delta", "epsilon"):
            memories.remember(text)
        found = memories.recall("alpha beta", fusion="rrf")
        best = found[0]
        assert best.memory.content == "alpha beta"
        assert best.why.keyword is not None
        assert best.why.semantic is not None
        assert (best.why.keyword.rank, best.why.semantic.rank) == (1, 1)
        assert best.score == pytest.approx(1.0)
        for hit in found:
            ranks = [leg.rank for leg in (hit.why.keyword, hit.why.semantic) if leg is not None]
            assert hit.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks) * 61 / 2)


class TestDegradation:
    """No vectors, no network, no embedder: keywords answer, and say so."""

    def test_without_an_embedder_keywords_answer_and_say_so(self, open_memories: OpenMemories) -> None:
        memories = open_memories(embedder="none")
        memories.remember("kubectl apply runs after migration_032")
        found = memories.recall("what runs after migration_032?")
        assert [hit.match for hit in found] == ["keyword"]
        assert "keywords answered alone" in found.notes[0]
        assert found.notes == found[0].why.notes

    def test_rows_without_vector_are_found_by_keyword(self, open_memories: OpenMemories) -> None:
        open_memories(embedder="none").remember("Redis migration notes")
        memories = open_memories(embedder="hash")
        memories.remember("something else")
        assert "Redis migration notes" in [hit.memory.content for hit in memories.recall("redis")]

    def test_a_quoted_command_string_is_found_exactly(self, memories: Memories) -> None:
        memories.remember("Use kubectl apply -f deploy.yaml")
        memories.remember("apply for the kubectl training")
        found = memories.recall('"kubectl apply"', mode="keyword")
        assert [hit.memory.content for hit in found] == ["Use kubectl apply -f deploy.yaml"]
