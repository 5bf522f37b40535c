"""Stores whose vectors come from a provider: what is kept and found when it is well, and when not."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect import Memories, config
from recollect.embed.base import find_embedder
from recollect.embed.hashing import HashingEmbedder
from recollect.errors import EmbedderUnavailable

from .conftest import OpenMemories
from .providers import Fault, Provider, unused_port

NOMIC = "ollama:nomic-embed-text"
KEY = "sk-test-1234567890abcdef"
FACTS = ["The mascot is a walrus", "The API listens on port 9090", "The cache is warmed at dawn"]


@pytest.fixture(autouse=True)
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Provider]:
    """A provider, found by the usual variables; nobody waits long between two attempts."""
    import stamina

    real, at_once = stamina.retry_context, {"wait_initial": 0.0, "wait_max": 0.0, "wait_jitter": 0.0}
    monkeypatch.setattr(stamina, "retry_context", lambda **how: real(**{**how, **at_once}))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    with Provider() as running:
        monkeypatch.setenv("OLLAMA_HOST", running.url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield running


def by_meaning(memories: Memories, text: str) -> list[str]:
    """What is found by meaning alone."""
    return [hit.memory.content for hit in memories.recall(text, mode="semantic") if hit.why.semantic]


def make_picky(provider: Provider) -> None:
    """It refuses some texts, whatever they are sent with."""
    real = provider.answer

    def picky(request: Any) -> tuple[int, Any]:
        refused = any("poison" in text for text in request.texts)
        return (400, {"error": "bad input"}) if refused else real(request)

    provider.answer = picky  # type: ignore[method-assign]


class TestWhenItIsWell:
    @pytest.mark.parametrize("name", [NOMIC, "openai:text-embedding-3-small@256", "ollama:unlisted-model"])
    def test_what_was_written_is_found_and_the_model_is_found_again(
        self, open_memories: OpenMemories, name: str
    ) -> None:
        writer = open_memories(embedder=name)
        assert writer.remember(FACTS[0]).embedded
        assert all(item.embedded for item in writer.remember_many(FACTS))
        assert by_meaning(writer, "the walrus mascot")[0] == FACTS[0]
        later = open_memories(embedder="auto")
        assert later.recall("the walrus mascot")[0].match == "both"
        assert later.remember("The mascot likes clams").embedded
        stats = later.stats()
        assert (stats.embedder, stats.pending_vectors) == (name, 0)

    def test_questions_are_kept_on_disk(self, open_memories: OpenMemories, provider: Provider) -> None:
        open_memories(embedder=NOMIC).remember_many(FACTS)
        first = open_memories(embedder=NOMIC).recall("the walrus mascot")
        asked = len(provider.asked)
        again = open_memories(embedder="auto").recall("the walrus mascot")
        assert len(provider.asked) == asked
        assert [hit.why.semantic for hit in again] == [hit.why.semantic for hit in first]
        provider.stop()
        offline = open_memories(embedder="auto").recall("the walrus mascot")
        assert (offline[0].match, offline.notes) == ("both", ())

    def test_which_can_be_switched_off(
        self, open_memories: OpenMemories, provider: Provider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("RECOLLECT_QUERY_CACHE", "off")
        open_memories(embedder="ollama:unlisted").remember_many(FACTS)
        for _ in range(2):
            open_memories(embedder="auto").recall("the walrus mascot")
        assert provider.texts.count("the walrus mascot") == 2
        assert not (tmp_path / "cache").exists()

    def test_a_model_that_knows_many_languages_is_trusted_with_all(self, open_memories: OpenMemories) -> None:
        memories = open_memories(embedder="ollama:bge-m3")
        memories.remember("Das Maskottchen ist ein Walross")
        hit = memories.recall("Welches Tier ist das Maskottchen?")[0]
        english = open_memories(namespace="other", embedder="ollama:mxbai-embed-large")
        english.remember("Das Maskottchen ist ein Walross")
        less = english.recall("Welches Tier ist das Maskottchen?")[0]
        assert hit.why.semantic is not None
        assert less.why.semantic is not None
        assert hit.why.semantic.share > less.why.semantic.share

    def test_the_same_model_from_another_provider_goes_on_where_the_first_left_off(
        self, open_memories: OpenMemories, provider: Provider
    ) -> None:
        open_memories(embedder="ollama:bge-m3").remember_many(FACTS)
        moved = open_memories(embedder="openai:bge-m3")
        assert by_meaning(moved, "the walrus mascot")[0] == FACTS[0]
        assert provider.asked[-1].path == "/v1/embeddings"
        moved.remember("The mascot likes clams")
        stats = moved.stats()
        assert (stats.vectors, stats.pending_vectors, stats.notes) == (4, 0, ())

    def test_an_export_holds_no_key(self, open_memories: OpenMemories) -> None:
        memories = open_memories(embedder="openai:text-embedding-3-small")
        memories.remember_many(FACTS)
        assert KEY not in json.dumps(list(memories.export_records(vectors=False)))


class TestWhenItIsDown:
    def test_a_write_is_kept_and_found_by_its_words_and_embedded_later(
        self, open_memories: OpenMemories, provider: Provider
    ) -> None:
        memories = open_memories(embedder=NOMIC)
        memories.remember(FACTS[0])
        provider.stop()
        kept = memories.remember(FACTS[1])
        assert not kept.embedded
        found = memories.recall("port 9090")
        assert [hit.match for hit in found] == ["keyword"]
        assert "keywords answered alone: ollama at" in found.notes[0]
        assert memories.stats().pending_vectors == 1
        provider.start()
        again = open_memories(embedder=NOMIC)
        assert again.reembed() == 0
        assert again.recall("port 9090")[0].match == "both"

    @pytest.mark.parametrize("name", [NOMIC, "ollama:unlisted-model"])
    def test_the_first_write_without_a_vector_says_why(
        self,
        open_memories: OpenMemories,
        provider: Provider,
        name: str,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        memories = open_memories(embedder=name)
        provider.stop()
        for fact in FACTS:
            memories.remember(fact)
        (told,) = (each.getMessage() for each in caplog.records if each.name == "recollect")
        assert told.startswith("No vectors for now: ollama at http://")

    @pytest.mark.parametrize("name", [NOMIC, "ollama:unlisted-model"])
    def test_the_next_write_that_works_catches_up(
        self, open_memories: OpenMemories, provider: Provider, name: str
    ) -> None:
        memories = open_memories(embedder=name)
        provider.always = Fault(500)
        for fact in FACTS:
            assert not memories.remember(fact).embedded
        provider.always = Fault()
        for embedder in memories._meaning._found.values():
            embedder._pause.end()  # type: ignore[union-attr]  # as after some seconds
        assert memories.remember("The mascot likes clams").embedded
        stats = memories.stats()
        assert (stats.vectors, stats.pending_vectors) == (4, 0)

    def test_not_every_recall_waits(self, open_memories: OpenMemories, provider: Provider) -> None:
        memories = open_memories(embedder=NOMIC)
        memories.remember_many(FACTS)
        provider.always = Fault(503)
        asked = len(provider.asked)
        first = memories.recall("which port?")
        tried = len(provider.asked) - asked
        assert 1 <= tried <= 3
        for number in range(5):
            found = memories.recall(f"which port {number}?")
            assert [hit.memory.content for hit in found][:1] == [FACTS[1]]
            assert "asked again in" in found.notes[0]
        assert len(provider.asked) - asked == tried
        assert "answered 503 (it is not well)" in first.notes[0]

    @pytest.mark.parametrize(
        "fault",
        [
            Fault(429, headers={"Retry-After": "3600"}),
            Fault(500),
            Fault(401),
            Fault(body=b"{"),
            Fault(breaks=True),
            Fault(change=lambda answer: {"embeddings": [row[:5] for row in answer["embeddings"]]}),
            Fault(change=lambda answer: {"embeddings": answer["embeddings"] + answer["embeddings"]}),
        ],
        ids=["429", "500", "401", "broken", "cut", "wrong dimensions", "wrong number"],
    )
    def test_whatever_is_wrong_no_write_is_lost_and_no_recall_fails(
        self, open_memories: OpenMemories, provider: Provider, fault: Fault
    ) -> None:
        memories = open_memories(embedder=NOMIC)
        memories.remember(FACTS[0])
        provider.always = fault
        assert not memories.remember(FACTS[1]).embedded
        assert len(memories.remember_many([FACTS[2], "The walrus has tusks"])) == 2
        memories.ingest("# Guide\n\nFeed the walrus at noon.", name="guide")
        assert memories.update(memories.recall("port 9090")[0].memory.id, text="It is port 9091 now").content
        found = memories.recall("tusks")
        assert [hit.match for hit in found] == ["keyword"]
        assert "keywords answered alone" in found.notes[0]
        assert memories.recall("9091")[0].memory.content == "It is port 9091 now"
        assert memories.search_documents("noon")
        assert memories.doctor() == []
        provider.always = Fault()
        again = open_memories(embedder="auto")
        assert again.reembed() == 0
        assert (again.stats().pending_vectors, again.doctor()) == (0, [])
        assert again.recall("tusks of the walrus")[0].match == "both"

    @pytest.mark.parametrize("how", ["many", "document"])
    def test_a_model_that_is_another_on_the_way_starts_vectors_of_its_own(
        self, open_memories: OpenMemories, provider: Provider, how: str
    ) -> None:
        provider.dimensions["changing"] = 96
        memories = open_memories(embedder="ollama:changing")
        memories.remember(FACTS[0])
        provider.dimensions["changing"] = 128
        if how == "many":
            assert not any(item.embedded for item in memories.remember_many(FACTS[1:]))
        else:
            memories.ingest(
                "\n\n".join(f"# Part {n}\n\n{fact}" for n, fact in enumerate(FACTS)), name="guide"
            )
        kept = [line for line in memories.export_records(vectors=True) if line["type"] == "vector"]
        assert {len(base64.b64decode(line["embedding"])) // 4 for line in kept} == {96}
        assert memories.recall("the walrus mascot")
        assert memories.reembed() == 0
        assert by_meaning(memories, "the walrus mascot")[0] == FACTS[0]
        assert memories.stats().pending_vectors == 0

    @pytest.mark.parametrize(
        "body",
        [
            b'{"embeddings": [' + b"[" * 100_000,
            b'{"embeddings": [[1' + b"0" * 400 + b"]]}",
            b'{"embeddings": [[1e300]]}',
        ],
        ids=["deep", "long number", "large number"],
    )
    def test_an_answer_that_breaks_its_reader_while_an_unlisted_model_is_asked_for_its_dimensions(
        self, open_memories: OpenMemories, provider: Provider, body: bytes
    ) -> None:
        provider.always = Fault(body=body)
        memories = open_memories(embedder="ollama:unlisted-model")
        assert not memories.remember(FACTS[0]).embedded
        assert memories.recall("walrus")

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("OLLAMA_HOST", "http://[::1"),
            ("HTTP_PROXY", "socks9://127.0.0.1:1"),
            ("SSL_CERT_FILE", "no/such/file.pem"),
        ],
    )
    @pytest.mark.parametrize("name", [NOMIC, "ollama:unlisted-model"])
    def test_an_environment_that_no_client_can_be_made_with(
        self,
        open_memories: OpenMemories,
        monkeypatch: pytest.MonkeyPatch,
        variable: str,
        value: str,
        name: str,
    ) -> None:
        monkeypatch.setenv("OLLAMA_HOST", "https://ollama.invalid")
        monkeypatch.setenv(variable, value)
        memories = open_memories(embedder=name)
        assert not memories.remember(FACTS[0]).embedded
        assert memories.recall("walrus")
        with pytest.raises(EmbedderUnavailable, match="can't be asked"):
            find_embedder(name, config.load().embedding).embed(["a text"])

    def test_one_of_your_own_that_fails_before_it_embeds(self, open_memories: OpenMemories) -> None:
        class Shy(HashingEmbedder):
            def __getattribute__(self, name: str) -> Any:
                if name != "fingerprint":
                    return super().__getattribute__(name)
                raise ConnectionError("nobody is there")

        memories = open_memories(embedder=Shy(64))
        assert not memories.remember(FACTS[0]).embedded
        assert memories.recall("walrus")

    @pytest.mark.parametrize("number", [1, 5])
    def test_texts_that_it_refuses_do_not_keep_a_new_model_from_being_used(
        self, open_memories: OpenMemories, provider: Provider, number: int
    ) -> None:
        open_memories(embedder="hash:64").remember_many([f"this is poison {n}" for n in range(number)])
        make_picky(provider)
        changed = open_memories(embedder=NOMIC)
        changed.remember(FACTS[0])
        assert changed.reembed() == number
        assert by_meaning(changed, "the walrus mascot") == [FACTS[0]]
        assert changed.stats().embedder == NOMIC

    def test_one_text_that_it_refuses_does_not_hold_up_the_others(
        self, open_memories: OpenMemories, provider: Provider
    ) -> None:
        make_picky(provider)
        memories = open_memories(embedder=NOMIC)
        memories.remember_many([*FACTS, "this is poison", *(f"Note {n}" for n in range(30))])
        stats = memories.stats()
        assert (stats.vectors, stats.pending_vectors) == (33, 1)

    def test_a_server_that_is_down_is_not_asked_for_each_text(
        self, open_memories: OpenMemories, provider: Provider
    ) -> None:
        provider.always = Fault(503)
        memories = open_memories(embedder=NOMIC)
        memories.remember_many([f"Note {n}" for n in range(200)])
        assert len(provider.asked) <= 6
        assert memories.stats().memories == 200

    def test_reembed_of_an_unlisted_model_that_is_down_says_so(
        self, open_memories: OpenMemories, provider: Provider
    ) -> None:
        memories = open_memories(embedder="ollama:unlisted-model")
        provider.always = Fault(503)
        memories.remember(FACTS[0])
        with pytest.raises(EmbedderUnavailable, match="503"):
            open_memories(embedder="ollama:unlisted-model").reembed()

    def test_settings_that_are_missing_leave_keywords_and_say_so(
        self, open_memories: OpenMemories, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        open_memories(embedder="openai:text-embedding-3-small").remember_many(FACTS)
        monkeypatch.delenv("OPENAI_BASE_URL")
        monkeypatch.delenv("OPENAI_API_KEY")
        found = open_memories(embedder="auto").recall("which port?")
        assert found.notes == (
            "keywords answered alone: openai:text-embedding-3-small needs a key: set OPENAI_API_KEY",
        )
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{unused_port()}")
        other = open_memories(namespace="other", embedder=NOMIC)
        assert not other.remember(FACTS[0]).embedded
        assert other.recall("walrus")[0].match == "keyword"


class TestChangingTheModel:
    """Search goes on with the old vectors until all memories have new ones."""

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (NOMIC, "openai:text-embedding-3-small"),
            ("openai:text-embedding-3-small", "openai:text-embedding-3-small@256"),
            ("ollama:unlisted-model", "ollama:bge-m3"),
            ("hash:64", NOMIC),
            (NOMIC, "hash:64"),
        ],
    )
    def test_from_one_to_another(self, open_memories: OpenMemories, old: str, new: str) -> None:
        open_memories(embedder=old).remember_many(FACTS)
        changed = open_memories(embedder=new)
        changed.remember("A late fact about clams")
        assert changed.stats().embedder == old
        assert by_meaning(changed, "the walrus mascot")[0] == FACTS[0]
        assert changed.reembed() == 0
        assert changed.stats().embedder == new
        assert by_meaning(changed, "a late fact about clams")[0] == "A late fact about clams"

    def test_from_its_own_prefixes_to_others(self, open_memories: OpenMemories, provider: Provider) -> None:
        open_memories(embedder=NOMIC).remember_many(FACTS)
        Path("recollect.toml").write_text(
            '[embedder]\nprovider = "ollama"\nmodel = "nomic-embed-text"\nquery_prefix = "Q: "\n'
        )
        changed = open_memories(embedder=None)
        changed.remember("A late fact about clams")
        assert by_meaning(changed, "the walrus mascot")[0] == FACTS[0]
        assert provider.texts[-1] == "search_query: the walrus mascot", "as the old vectors need it"
        assert changed.reembed() == 0
        changed.recall("the walrus mascot")
        assert provider.texts[-1] == "Q: the walrus mascot"

    def test_a_table_that_is_disabled_means_keywords(
        self, open_memories: OpenMemories, provider: Provider
    ) -> None:
        Path("recollect.toml").write_text('[embedder]\nenabled = false\nprovider = "ollama"\nmodel = "m"\n')
        memories = open_memories(embedder=None)
        assert not memories.remember(FACTS[0]).embedded
        assert "switched off" in memories.recall("walrus").notes[0]
        assert provider.asked == []


class TestEmbeddersOfOnesOwn:
    def test_one_that_knows_nothing_of_all_this_works_as_before(self, open_memories: OpenMemories) -> None:
        class Plain:
            name, dimensions, fingerprint, query_prefix = "plain", 32, "plain-1", "ask: "
            asked: list[str]

            def embed(self, texts: list[str]) -> np.ndarray:
                self.asked.extend(texts)
                return HashingEmbedder(32).embed(texts)

        plain = Plain()
        plain.asked = []
        memories = open_memories(embedder=plain)
        memories.remember(FACTS[0])
        memories.recall("walrus")
        assert plain.asked == [FACTS[0], "ask: walrus"]

    def test_one_that_embeds_questions_itself(self, open_memories: OpenMemories) -> None:
        class Own:
            name, dimensions, fingerprint, query_prefix = "own", 32, "own-1", "never used: "
            asked: list[str]

            def embed(self, texts: list[str]) -> np.ndarray:
                return HashingEmbedder(32).embed(texts)

            def embed_query(self, text: str) -> np.ndarray:
                self.asked.append(text)
                vector: np.ndarray = HashingEmbedder(32).embed([text])[0]
                return vector

        own = Own()
        own.asked = []
        memories = open_memories(embedder=own)
        memories.remember(FACTS[0])
        assert memories.recall("walrus")[0].match == "both"
        assert own.asked == ["walrus"]


def test_a_library_that_is_missing_is_named(
    open_memories: OpenMemories, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", logger="recollect")  # --quiet elsewhere in this process lowers it
    monkeypatch.setitem(sys.modules, "fastembed", None)
    memories = open_memories(embedder="fastembed:BAAI/bge-small-en-v1.5")
    memories.remember_many(FACTS)
    assert memories.reembed() == 3
    assert "pip install 'recollect[fastembed]'" in caplog.text
    assert memories.recall("walrus")[0].match == "keyword"


def test_each_namespace_catches_up_by_itself(open_memories: OpenMemories, provider: Provider) -> None:
    memories = open_memories(embedder=NOMIC)
    other = memories.in_namespace("other")
    memories.remember("a first fact")
    provider.always = Fault(400)
    changed = memories.remember("a fact that changes")
    memories.update(changed.id, text="a fact that has changed")
    other.remember("a fact elsewhere")
    provider.always = Fault()
    other.remember("another fact elsewhere")
    assert (other.stats().pending_vectors, memories.stats().pending_vectors) == (0, 1)
    memories.remember("a last fact")
    assert memories.stats().pending_vectors == 0
