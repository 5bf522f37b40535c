"""Embedders of providers, against servers that speak the real protocols and fail in every way."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.embed.base import Embedder, find_embedder
from recollect.embed.hashing import HashingEmbedder
from recollect.embed.patience import Patience, Pause, TryAgain, seconds_of, whether_again
from recollect.embed.provided import Provided
from recollect.embed.remote import Remote, _parts
from recollect.embed.settings import OPENAI, Access, EmbedderSettings, Named, Secret
from recollect.errors import ConfigError, EmbedderFailed, EmbedderMissing, EmbedderUnavailable

from .providers import UNLISTED, Fault, Provider, Request, unused_port

KEY = "sk-test-1234567890abcdef"
TEXTS = ["The cache is warm", "Ports and walruses", "Grüße an alle"]
REMOTES = ("ollama:nomic-embed-text", "openai:text-embedding-3-small")
remote = pytest.mark.parametrize("name", REMOTES)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


Find = Callable[..., Remote]


@pytest.fixture
def find(provider: Provider) -> Iterator[Find]:
    """Embedders of that provider, closed at the end."""
    found: list[Provided] = []

    def find_it(name: str, *, key: str | None = None, url: str | None = None, **settings: Any) -> Remote:
        secret = Secret(key) if key else None
        place = url or provider.url
        access = {
            "ollama": Access(place, secret, "OLLAMA_KEY"),
            "openai": Access(f"{place}/v1", secret, "OPENAI_API_KEY"),
        }
        embedder = find_embedder(name, EmbedderSettings(access=access, **settings))
        assert isinstance(embedder, Remote)
        found.append(embedder)
        return embedder

    yield find_it
    for embedder in found:
        embedder.close()


def expected(texts: list[str], dimensions: int) -> np.ndarray:
    return HashingEmbedder(dimensions).embed(texts)


class TestWhatIsAsked:
    @remote
    def test_vectors_come_in_order_and_of_length_1(self, find: Find, name: str) -> None:
        embedder = find(name)
        vectors = embedder.embed(TEXTS)
        assert vectors.shape == (3, embedder.dimensions)
        assert vectors.dtype == np.float32
        assert np.allclose(vectors, expected(TEXTS, embedder.dimensions), atol=1e-6)
        assert embedder.embed([]).shape == (0, embedder.dimensions)

    def test_ollama_is_asked_in_its_own_protocol(self, find: Find, provider: Provider) -> None:
        find("ollama:nomic-embed-text@256").embed(["a text"])
        (request,) = provider.asked
        assert request.path == "/api/embed"
        assert request.body == {
            "model": "nomic-embed-text",
            "input": ["search_document: a text"],
            "truncate": True,
            "dimensions": 256,
        }
        assert "authorization" not in request.headers

    def test_openai_is_asked_in_its_own_protocol(self, find: Find, provider: Provider) -> None:
        find("openai:text-embedding-3-large", key=KEY).embed(["a text"])
        find("openai:text-embedding-3-small@512", key=KEY).embed(["a text"])
        plain, shorter = provider.asked
        assert plain.path == "/v1/embeddings"
        assert plain.body == {"model": "text-embedding-3-large", "input": ["a text"]}
        assert plain.headers["authorization"] == f"Bearer {KEY}"
        assert shorter.body["dimensions"] == 512

    def test_questions_and_texts_get_their_own_prefixes(self, find: Find, provider: Provider) -> None:
        embedder = find("ollama:nomic-embed-text")
        embedder.embed(["a text"])
        embedder.embed_soon(["another"])
        embedder.embed_query("a question")
        assert provider.texts == [
            "search_document: a text",
            "search_document: another",
            "search_query: a question",
        ]

    def test_prefixes_can_be_set(self, find: Find, provider: Provider) -> None:
        embedder = find("ollama:own", named=Named("ollama", "own"), query_prefix="Q: ", document_prefix="D: ")
        embedder.embed(["a text"])
        embedder.embed_query("a question")
        assert provider.texts[-2:] == ["D: a text", "Q: a question"]
        other = find("ollama:other", named=Named("ollama", "own"), query_prefix="Q: ", document_prefix="D: ")
        assert (other.query_prefix, other.document_prefix) == ("", ""), "they hold for that model alone"

    def test_batches_by_number_and_by_length(self, find: Find, provider: Provider) -> None:
        assert list(_parts(["aa", "bb", "cccc", "d"], 2, 5)) == [["aa", "bb"], ["cccc", "d"]]
        assert list(_parts(["a" * 9, "b"], 2, 5)) == [["a" * 9], ["b"]], "one that is longer goes alone"
        texts = [f"text number {n}" for n in range(70)]
        embedder = find("ollama:nomic-embed-text")
        vectors = embedder.embed(texts)
        assert [len(request.texts) for request in provider.asked] == [32, 32, 6]
        assert np.allclose(vectors, expected(texts, 768), atol=1e-6)

    def test_the_size_of_batches_can_be_set(self, find: Find, provider: Provider) -> None:
        find("ollama:bge-m3", named=Named("ollama", "bge-m3"), batch=2).embed(TEXTS)
        assert [len(request.texts) for request in provider.asked] == [2, 1]

    def test_a_text_that_is_too_long_is_cut_until_it_is_not(self, find: Find, provider: Provider) -> None:
        refusal = Fault(400, b'{"error": {"message": "maximum context length is 8192 tokens"}}')
        provider.faults = [refusal, refusal]
        find("openai:text-embedding-3-small").embed(["word " * 4_000])
        assert [len(text) for text in provider.texts] == [20_000, 10_000, 5_000]

    def test_what_a_model_would_not_look_at_is_not_sent(self, find: Find, provider: Provider) -> None:
        find("ollama:mxbai-embed-large").embed(["word " * 4_000])
        assert [len(text) for text in provider.texts] == [512 * 10]

    def test_one_connection_serves_many_requests_and_threads(self, find: Find, provider: Provider) -> None:
        from concurrent.futures import ThreadPoolExecutor

        embedder = find("openai:text-embedding-3-small")
        with ThreadPoolExecutor(4) as pool:
            rows = list(pool.map(lambda n: embedder.embed([f"text {n}"])[0], range(12)))
        assert np.allclose(rows, expected([f"text {n}" for n in range(12)], 1536), atol=1e-6)
        assert len(provider._lines) <= 4


class TestDimensions:
    def test_those_of_listed_models_are_known_without_asking(self, find: Find, provider: Provider) -> None:
        assert find("openai:text-embedding-3-small").dimensions == 1536
        assert find("openai:text-embedding-3-large@1024").dimensions == 1024
        assert find("ollama:nomic-embed-text:latest").dimensions == 768
        assert find("openai:text-embedding-3-small").fingerprint
        assert provider.asked == []

    def test_an_unlisted_model_is_asked_once_and_that_is_kept(
        self, find: Find, provider: Provider, tmp_path: Path
    ) -> None:
        embedder = find("ollama:own-model", cache=tmp_path / "queries.db")
        assert provider.asked == [], "making one asks nobody"
        assert embedder.dimensions == UNLISTED
        assert embedder.fingerprint
        assert len(provider.asked) == 1
        assert find("ollama:own-model", cache=tmp_path / "queries.db").dimensions == UNLISTED
        assert len(provider.asked) == 1

    def test_a_model_that_changed_is_asked_anew(self, find: Find, provider: Provider, tmp_path: Path) -> None:
        before = find("ollama:own-model", cache=tmp_path / "queries.db")
        old = before.fingerprint
        provider.dimensions["own-model"] = 64
        with pytest.raises(EmbedderFailed, match="64 numbers, not of 96: run recollect reembed"):
            before.embed(["text"])
        again = find("ollama:own-model", cache=tmp_path / "queries.db")
        assert again.dimensions == before.dimensions == 64
        assert again.fingerprint != old

    def test_a_server_that_ignores_the_parameter(self, find: Find, provider: Provider) -> None:
        provider.knows_dimensions = False
        row = find("ollama:nomic-embed-text@256").embed(["a text"])[0]
        assert row.shape == (256,), "this model's vectors may be cut"
        assert np.isclose(np.linalg.norm(row), 1)
        with pytest.raises(EmbedderFailed, match="96 numbers, not of 50"):
            find("ollama:own-model@50").embed(["a text"])

    @pytest.mark.parametrize("status", [400, 422])
    @pytest.mark.parametrize("name", ["openai:text-embedding-3-small@512", "ollama:nomic-embed-text@256"])
    def test_a_server_that_refuses_the_parameter(
        self, find: Find, provider: Provider, name: str, status: int
    ) -> None:
        real = provider.answer

        def strict(request: Request) -> tuple[int, Any]:
            told = {"error": {"message": "Unexpected field: dimensions"}}
            return (status, told) if "dimensions" in request.body else real(request)

        provider.answer = strict  # type: ignore[method-assign]
        embedder = find(name)
        assert embedder.embed(TEXTS[:2]).shape == (2, embedder.dimensions)
        assert embedder.embed_query(TEXTS[0]).shape == (embedder.dimensions,)
        assert len(provider.asked) == 3, "it is not asked for them again"

    @pytest.mark.parametrize("name", ["openai:text-embedding-ada-002@512", "ollama:nomic-embed-text@9999"])
    def test_dimensions_that_a_model_does_not_have(self, name: str) -> None:
        with pytest.raises(ConfigError, match="dimensions"):
            find_embedder(name)

    def test_the_fingerprint_tells_what_would_give_other_vectors(self, find: Find) -> None:
        plain = find("openai:bge-m3").fingerprint
        assert find("ollama:bge-m3").fingerprint == plain, "whoever runs it"
        assert find("ollama:bge-m3:latest").fingerprint == plain
        assert find("ollama:bge-m3", url="http://127.0.0.1:1").fingerprint == plain, "wherever it runs"
        assert find("openai:bge-m3", key=KEY, timeout=3.0).fingerprint == plain
        others = [
            find("openai:multilingual-e5-large"),
            find("openai:text-embedding-3-small"),
            find("openai:text-embedding-3-small@512"),
            find("openai:bge-m3", named=Named("openai", "bge-m3"), query_prefix="Q: "),
            find("openai:bge-m3", named=Named("openai", "bge-m3"), document_prefix="D: "),
        ]
        assert len({plain, *(other.fingerprint for other in others)}) == 6


class TestFaults:
    """What goes wrong is one clear sentence; what may pass is tried again, and nothing else is."""

    @pytest.fixture(autouse=True)
    def hasty(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody waits in these tests, save where a server says for how long."""
        import stamina

        real = stamina.retry_context
        monkeypatch.setattr(
            stamina,
            "retry_context",
            lambda **how: real(**{**how, "wait_initial": 0, "wait_max": 0, "wait_jitter": 0}),
        )

    @remote
    @pytest.mark.parametrize(
        "fault",
        [Fault(429), Fault(500), Fault(502), Fault(503), Fault(504), Fault(breaks=True)],
        ids=["429", "500", "502", "503", "504", "cut"],
    )
    def test_what_may_pass_is_tried_again(
        self, find: Find, provider: Provider, name: str, fault: Fault
    ) -> None:
        provider.faults = [fault, fault]
        assert np.allclose(find(name).embed_query("text"), find(name).embed_query("text"))
        assert len(provider.asked) == 4

    @remote
    @pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
    def test_what_will_not_pass_is_not(self, find: Find, provider: Provider, name: str, status: int) -> None:
        provider.always = Fault(status)
        with pytest.raises(EmbedderFailed, match=str(status)):
            find(name).embed(["text"])
        assert len(provider.asked) == 1

    def test_retry_after_is_honoured(self, find: Find, provider: Provider) -> None:
        from stamina import instrumentation

        waited: list[float] = []
        before = instrumentation.get_on_retry_hooks()
        instrumentation.set_on_retry_hooks([lambda details: waited.append(details.wait_for)])
        try:
            provider.faults = [Fault(429, headers={"Retry-After": "1"}), Fault(503), Fault()]
            find("openai:text-embedding-3-small").embed_query("text")
        finally:
            instrumentation.set_on_retry_hooks(before)
        assert waited == [1.0, 0.0]

    def test_retry_after_is_bounded(self, find: Find, provider: Provider) -> None:
        provider.always = Fault(429, headers={"Retry-After": "3600"})
        embedder = find("openai:text-embedding-3-small")
        with pytest.raises(EmbedderUnavailable, match="429"):
            embedder.embed_query("text")
        with pytest.raises(EmbedderUnavailable, match="429"):
            embedder.embed(["text"])
        assert len(provider.asked) == 2, "nobody waits an hour"

    def test_one_who_waits_is_not_kept_waiting(self) -> None:
        hurried = Patience(3, 10, 10, refused=2, longest_wait=2)
        assert whether_again(TryAgain("busy", wait=1), hurried, 0) == 1
        assert whether_again(TryAgain("busy", wait=5), hurried, 0) is False
        assert whether_again(TryAgain("busy"), hurried, 9) is True
        assert whether_again(TryAgain("busy"), hurried, 10) is False
        assert whether_again(TryAgain("nobody there", refused=True), hurried, 3) is False
        assert whether_again(EmbedderFailed("no"), hurried, 0) is False

    def test_retry_after_as_a_date_or_as_nonsense(self) -> None:
        assert seconds_of("7") == 7
        assert seconds_of("Wed, 21 Oct 2015 07:28:00 GMT") == 0
        assert [seconds_of(value) for value in (None, "", "soon", "-5")] == [None, None, None, 0]

    def test_a_quota_that_is_used_up_is_not_waited_for(self, find: Find, provider: Provider) -> None:
        provider.always = Fault(429, b'{"error": {"message": "...", "code": "insufficient_quota"}}')
        with pytest.raises(EmbedderUnavailable, match="quota of this key is used up"):
            find("openai:text-embedding-3-small", key=KEY).embed(["text"])
        assert len(provider.asked) == 1

    @remote
    def test_nobody_listens(self, find: Find, name: str) -> None:
        port = unused_port()
        with pytest.raises(EmbedderUnavailable, match=rf"at http://127\.0\.0\.1:{port}.* can't be reached"):
            find(name, url=f"http://127.0.0.1:{port}").embed_query("text")

    @remote
    @pytest.mark.parametrize("fault", [Fault(waits=True), Fault(drips=True)], ids=["silent", "dripping"])
    def test_one_who_waits_does_not_wait_for_ever(
        self, find: Find, provider: Provider, name: str, fault: Fault
    ) -> None:
        provider.always = fault
        embedder = find(name, named=Named.parse(name), timeout=0.3)
        with pytest.raises(EmbedderUnavailable, match="did not answer in time"):
            embedder.embed_query("text")
        with pytest.raises(EmbedderUnavailable, match="did not answer in time; it is asked again in"):
            embedder.embed_soon(["text"])

    def test_nor_longer_when_many_requests_are_needed(self, find: Find, provider: Provider) -> None:
        """All of them share the time of one who waits; here each would take half of it."""
        provider.before = lambda request: time.sleep(0.5)
        name = "openai:text-embedding-3-small"
        with pytest.raises(EmbedderUnavailable, match="did not answer in time"):
            find(name, named=Named.parse(name), timeout=1.0, batch=1).embed_soon(["text"] * 8)
        assert len(provider.asked) < 8

    @pytest.mark.parametrize(
        ("fault", "sentence"),
        [
            (Fault(body=b'{"data": [{"embe'), "can't be read as vectors"),
            (Fault(body=b"<html>Bad gateway</html>"), "can't be read as vectors"),
            (Fault(body=b"null"), "can't be read as vectors"),
            (Fault(body=b'{"data": "none"}'), "can't be read as vectors"),
            (Fault(body=b'{"data": [{"index": 0, "embedding": ["a"]}]}'), "can't be read as vectors"),
            (
                Fault(body=b'{"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]}'),
                "can't be read",
            ),
            (Fault(change=lambda answer: answer | {"data": answer["data"][:1]}), "1 vectors for 2 texts"),
            (Fault(change=lambda answer: answer | {"data": answer["data"] * 2}), "can't be read as vectors"),
            (Fault(change=lambda a: {"data": [item | {"index": 0} for item in a["data"]]}), "can't be read"),
            (
                Fault(change=lambda a: {"data": [i | {"embedding": i["embedding"][:9]} for i in a["data"]]}),
                "vectors of 9 numbers, not of 1,536: set dimensions = 9, or another model",
            ),
            (
                Fault(change=lambda a: {"data": [i | {"embedding": [0.0] * 1536} for i in a["data"]]}),
                "without a direction",
            ),
            (
                Fault(
                    change=lambda a: {"data": [i | {"embedding": [float("nan")] * 1536} for i in a["data"]]}
                ),
                "without a direction",
            ),
        ],
    )
    def test_an_answer_that_must_not_be_kept(
        self, find: Find, provider: Provider, fault: Fault, sentence: str
    ) -> None:
        provider.always = fault
        with pytest.raises(EmbedderFailed, match=sentence) as caught:
            find("openai:text-embedding-3-small").embed(["one", "two"])
        assert not isinstance(caught.value, EmbedderUnavailable)
        assert len(provider.asked) == 1

    def test_an_answer_out_of_order_is_put_in_order(self, find: Find, provider: Provider) -> None:
        provider.always = Fault(change=lambda answer: answer | {"data": answer["data"][::-1]})
        vectors = find("openai:text-embedding-3-small").embed(TEXTS)
        assert np.allclose(vectors, expected(TEXTS, 1536), atol=1e-6)

    def test_a_model_that_was_not_pulled(self, find: Find, provider: Provider) -> None:
        provider.pulled = set()
        with pytest.raises(EmbedderUnavailable, match="run ollama pull nomic-embed-text"):
            find("ollama:nomic-embed-text").embed(["text"])
        with pytest.raises(
            EmbedderUnavailable, match="no model text-embedding-3-small, or base_url is wrong"
        ):
            find("openai:text-embedding-3-small").embed(["text"])

    @pytest.mark.parametrize("path", ["/v1", "/old"])
    def test_an_ollama_that_does_not_know_the_path(self, find: Find, provider: Provider, path: str) -> None:
        with pytest.raises(EmbedderUnavailable, match=r"answered 404: .*update Ollama.*base_url") as caught:
            find("ollama:nomic-embed-text", url=provider.url + path).embed(["text"])
        assert "pull" not in str(caught.value)

    def test_a_key_never_appears(
        self, find: Find, provider: Provider, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        provider.key = "another"
        messages: list[Exception] = []
        with pytest.raises(EmbedderUnavailable, match="refuses the key in OPENAI_API_KEY") as caught:
            find("openai:text-embedding-3-small", key=KEY).embed(["text"])
        messages.append(caught.value)
        assert provider.asked[-1].headers["authorization"] == f"Bearer {KEY}", "it was sent"
        for status in (400, 429, 500):
            provider.key = None
            provider.always = Fault(status, f'{{"error": {{"message": "Bearer {KEY} is odd"}}}}'.encode())
            with pytest.raises(EmbedderFailed, match="odd") as failed:
                find("openai:text-embedding-3-small", key=KEY).embed(["text"])
            messages.append(failed.value)
        embedder = find("openai:text-embedding-3-small", key=KEY)
        everything = [repr(message) + repr(message.__cause__) for message in messages]
        everything += [
            caplog.text,
            repr(embedder.__dict__),
            repr([vars(record) for record in caplog.records]),
        ]
        assert not any(KEY in text for text in everything)
        assert not any("sk-test" in text for text in everything)

    def test_a_key_that_is_missing_is_not_even_tried(self) -> None:
        settings = EmbedderSettings(access={"openai": Access(OPENAI, None, "OPENAI_API_KEY")})
        with pytest.raises(EmbedderUnavailable, match="needs a key: set OPENAI_API_KEY"):
            find_embedder("openai:text-embedding-3-small", settings).embed(["text"])

    @pytest.mark.parametrize("user", ["me:secret", "secret", "me:se%40cret"])
    def test_a_password_in_an_address_is_sent_and_never_logged(
        self, find: Find, provider: Provider, caplog: pytest.LogCaptureFixture, user: str
    ) -> None:
        caplog.set_level(logging.DEBUG)
        url = provider.url.replace("//", f"//{user}@")
        find("ollama:nomic-embed-text", url=url).embed(["text"])
        assert provider.asked[-1].headers["authorization"].startswith("Basic ")
        provider.always = Fault(404)
        with pytest.raises(EmbedderUnavailable) as caught:
            find("ollama:nomic-embed-text", url=url).embed(["text"])
        assert "cret" not in caplog.text + str(caught.value)

    def test_an_address_is_shown_without_its_password(self, find: Find) -> None:
        url = f"http://me:secret@127.0.0.1:{unused_port()}"
        with pytest.raises(EmbedderUnavailable) as caught:
            find("ollama:nomic-embed-text", url=url).embed_query("text")
        assert "secret" not in repr(caught.value)
        assert "127.0.0.1" in str(caught.value)


class TestPause:
    """A provider that was found to be down is left alone for a while."""

    def test_a_recall_pays_only_once_for_finding_out(self, find: Find, provider: Provider) -> None:
        embedder, now = find("ollama:nomic-embed-text"), [1000.0]
        embedder._pause = Pause(15, clock=lambda: now[0])
        provider.always = Fault(404)
        for _ in range(3):
            with pytest.raises(EmbedderUnavailable):
                embedder.embed_query("text")
        assert len(provider.asked) == 1
        now[0] += 16
        provider.always = Fault()
        assert embedder.embed_query("text").shape == (768,)
        assert len(provider.asked) == 2
        assert embedder.embed_query("text").shape == (768,)

    def test_patient_work_is_not_held_up_by_a_recall_that_gave_up(self) -> None:
        pause = Pause()
        pause.begin("slow", for_all=False)
        pause.check(soon=False)
        with pytest.raises(EmbedderUnavailable, match=r"slow; it is asked again in 1\d s"):
            pause.check(soon=True)
        pause.begin("nobody listens", for_all=True)
        with pytest.raises(EmbedderUnavailable):
            pause.check(soon=False)
        pause.end()
        pause.check(soon=True)

    def test_patient_work_that_gave_up_does_not_begin_anew_with_the_next_batch(
        self, find: Find, provider: Provider
    ) -> None:
        """Else a thousand documents would each wait for minutes."""
        provider.always = Fault(429, headers={"Retry-After": "3600"})
        embedder = find("ollama:nomic-embed-text")
        for _ in range(3):
            with pytest.raises(EmbedderUnavailable):
                embedder.embed(["text"])
        assert len(provider.asked) == 1


class TestProxies:
    @pytest.fixture(autouse=True)
    def no_proxy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
            monkeypatch.delenv(name.lower(), raising=False)

    def test_the_usual_variables_are_honoured(
        self, find: Find, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", provider.url)
        with pytest.raises(EmbedderUnavailable):
            find("ollama:bge-m3", url="http://embeddings.invalid").embed(["text"])
        assert [request.path for request in provider.asked] == ["http://embeddings.invalid/api/embed"]

    def test_none_leads_to_this_machine_itself(
        self, find: Find, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{unused_port()}")
        monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{unused_port()}")
        assert find("ollama:bge-m3").embed(["text"]).shape == (1, 1024)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_opens_connections_of_its_own(find: Find, provider: Provider) -> None:
    import warnings

    embedder = find("ollama:nomic-embed-text")
    embedder.embed(["before"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the server of this test is a thread
        child = os.fork()
    if child == 0:
        fine = False
        try:
            fine = embedder.embed(["in the child"]).shape == (1, 768)
        finally:
            os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert embedder.embed(["after"]).shape == (1, 768)


class TestWithoutTheLibrary:
    @pytest.mark.parametrize(
        ("name", "module", "extra"),
        [
            ("ollama:nomic-embed-text", "stamina", "ollama"),
            ("openai:text-embedding-3-small", "httpx", "openai"),
            ("fastembed:BAAI/bge-small-en-v1.5", "fastembed", "fastembed"),
            ("sentence-transformers:all-MiniLM-L6-v2", "sentence_transformers", "sentence-transformers"),
        ],
    )
    def test_one_sentence_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch, name: str, module: str, extra: str
    ) -> None:
        monkeypatch.setitem(sys.modules, module, None)
        access = {each: Access("http://127.0.0.1:1", Secret("k")) for each in ("ollama", "openai")}
        embedder: Embedder = find_embedder(name, EmbedderSettings(access=access))
        assert embedder.dimensions, "what is known of it needs no library"
        with pytest.raises(EmbedderMissing, match=rf"pip install 'recollect\[{extra}\]'"):
            embedder.embed(["text"])

    def test_finding_an_embedder_is_cheap(self) -> None:
        code = """
import sys
from recollect import config
from recollect.embed.base import find_embedder
for name in ("ollama:nomic-embed-text", "openai:text-embedding-3-small", "fastembed:BAAI/bge-small-en-v1.5"):
    find_embedder(name, config.load().embedding).fingerprint
print(*(name for name in ("httpx", "stamina", "fastembed", "numpy", "apsw", "ssl") if name in sys.modules))
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == []


def test_secrets_are_not_shown() -> None:
    access = Access("http://x", Secret(KEY), "OPENAI_API_KEY")
    settings = EmbedderSettings(access={"openai": access})
    for shown in (repr(access), str(access), repr(settings), f"{replace(settings)}"):
        assert KEY not in shown
        assert "***" in shown


def test_no_attempt_is_told_of_where_answers_are_printed(provider: Provider, tmp_path: Path) -> None:
    """stamina tells structlog where that is installed, which prints unless it was told what to do."""
    provider.always = Fault(500)
    (tmp_path / "structlog.py").write_text("""
class Logger:
    def warning(self, *told, **more):
        print("a line among the answers")

def get_logger(*names):
    return Logger()

def is_configured():
    return False
""")
    code = """
import recollect
with recollect.open("memory.db", embedder="ollama:nomic-embed-text") as memories:
    memories.remember("a text")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"OLLAMA_HOST": provider.url, "XDG_CACHE_HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(provider.asked) == 3
    assert done.stdout == ""
    assert done.stderr == f"No vectors for now: ollama at {provider.url} answered 500 (it is not well)\n"


@pytest.mark.parametrize("library", ["httpx", "stamina"])
def test_a_fork_waits_until_the_libraries_are_there(provider: Provider, tmp_path: Path, library: str) -> None:
    """A child would wait for ever for an import that a thread of its parent had begun."""
    code = f"""
import os, signal, sys, threading, time
from recollect.embed.base import find_embedder

class Slowly:
    def find_spec(self, name, path=None, target=None):
        if name == {library!r}:
            begun.set()
            time.sleep(0.5)

begun = threading.Event()
sys.meta_path.insert(0, Slowly())
embedder = find_embedder("ollama:nomic-embed-text")
thread = threading.Thread(target=embedder.embed_query, args=["a text"])
thread.start()
begun.wait()
child = os.fork()
if not child:
    signal.alarm(30)
    embedder.embed_query("a text")
    os._exit(0)
thread.join()
embedder.close()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    env = os.environ | {"OLLAMA_HOST": provider.url, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert len(provider.asked) == 2


def test_who_holds_a_lock_of_ours_may_log_while_another_forks(tmp_path: Path) -> None:
    """A fork takes our locks, then that of logging: the other way round both would wait for ever."""
    code = """
import os, signal, threading, time
from recollect.forks import mind_forks

class Owner:
    lock = threading.Lock()
    def before_fork(self):
        asked.set()
        self.lock.acquire()
    def after_fork(self, *, in_child):
        self.lock.release()

def work():
    import logging
    with owner.lock:
        held.set()
        asked.wait()
        logging.getLogger("another")

signal.alarm(30)
asked, held, owner = threading.Event(), threading.Event(), Owner()
mind_forks(owner)
thread = threading.Thread(target=work)
thread.start()
held.wait()
import logging
child = os.fork()
if not child:
    os._exit(0)
thread.join()
os.waitpid(child, 0)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert done.returncode == 0
