"""How often a recall goes to PostgreSQL and back: three times, however much is asked for and is there.

A proxy on loopback stands between, and counts what ends a round trip in PostgreSQL's protocol.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
import pytest

import recollect
from recollect import Draft, Memories
from recollect.types import FUSIONS, MODES, Fusion, Mode

from .conftest import empty

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
LIMITS = (1, 10, 100, 1000)
SIZES = (10, 1000)
A_RECALL = 3
"""What is known of the namespace, what both legs find, and the winners."""


class Proxy:
    """Passes everything on, and counts the messages after which a client waits: Sync and Query."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self.round_trips = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                for each in (client, server):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._sockets += [client, server]
                threading.Thread(target=self._pass_on, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(server, client, False), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        counting = Messages()
        with suppress(OSError):
            while data := source.recv(65_536):
                if asks:
                    self.round_trips += counting.ends(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for each in (self._listener, *self._sockets):
            each.close()


class Messages:
    """What a client sends, taken apart: first the startup, then a letter and a length each."""

    def __init__(self) -> None:
        self._left = b""
        self._started = False

    def ends(self, data: bytes) -> int:
        """How many messages in this piece, and what was left of the last, end a round trip."""
        self._left += data
        count = 0
        while len(self._left) >= 5:
            head = 1 if self._started else 0
            size = head + int.from_bytes(self._left[head : head + 4], "big")
            if len(self._left) < size:
                break
            count += self._started and self._left[:1] in (b"S", b"Q")
            self._left, self._started = self._left[size:], True
        return count


@pytest.fixture(scope="module")
def filled(postgres_store: str) -> Iterator[str]:
    """Stores of few and of many memories, with sessions, relations, supersession and a document."""
    empty(postgres_store)
    for size in SIZES:
        with opened(postgres_store, size) as memories:
            fill(memories, size)
    yield postgres_store
    empty(postgres_store)


@pytest.fixture(scope="module")
def proxy(filled: str) -> Iterator[Proxy]:
    known = psycopg.conninfo.conninfo_to_dict(filled.split("?")[0])
    proxy = Proxy(str(known["host"]), int(str(known["port"])))
    yield proxy
    proxy.close()


@pytest.fixture(scope="module")
def url(filled: str, proxy: Proxy) -> str:
    """The same store, by way of the proxy."""
    parts = urlsplit(filled)
    user, _, _ = parts.netloc.rpartition("@")
    query = dict(parse_qsl(parts.query)) | {"sslmode": "disable", "gssencmode": "disable"}
    place = f"{user}@127.0.0.1:{proxy.port}" if user else f"127.0.0.1:{proxy.port}"
    return urlunsplit(parts._replace(netloc=place, query=urlencode(query)))


@pytest.fixture(scope="module")
def stores(url: str) -> Iterator[dict[int, Memories]]:
    stores = {size: opened(url, size) for size in SIZES}
    for memories in stores.values():
        memories.recall("warm", reinforce=False)  # connects
    yield stores
    for memories in stores.values():
        memories.close()


def opened(url: str, size: int) -> Memories:
    return recollect.open(url, namespace=f"n{size}", embedder="hash", clock=lambda: NOW)


def fill(memories: Memories, count: int) -> None:
    kept = memories.remember_many(
        Draft(
            f"Harbour note {number} says that ship {number * 7919} came in",
            session=f"s{number % 7}",
            tags=["even"] if number % 2 == 0 else [],
            created_at=NOW - timedelta(hours=number),
        )
        for number in range(count)
    )
    ids = [item.id for item in kept]
    memories.relate(ids[0], ids[1])
    memories.supersede(ids[2], ids[3])
    memories.ingest("# Harbour\n\nA passage about notes.\n\n## Ships\n\nAnother one.", name="h.md")


@pytest.fixture
def count(proxy: Proxy, stores: dict[int, Memories]) -> Any:
    """How many round trips one recall takes."""

    def count(size: int, query: str, **options: Any) -> int:
        before = proxy.round_trips
        stores[size].recall(query, reinforce=False, **options)
        return proxy.round_trips - before

    return count


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("mode", MODES)
def test_a_recall_takes_three_round_trips(count: Any, mode: Mode, fusion: Fusion) -> None:
    counts = {
        (size, limit): count(size, "harbour note 7", mode=mode, fusion=fusion, limit=limit)
        for size in SIZES
        for limit in LIMITS
    }
    assert len(set(counts.values())) == 1, counts
    assert set(counts.values()) <= {A_RECALL - 1, A_RECALL}, "one less where nothing is near enough to load"


OPTIONS: dict[str, dict[str, Any]] = {
    "documents": {"include_documents": True},
    "superseded": {"include_superseded": True},
    "filters": {"tags": "even", "min_salience": 0.1, "session": ["s1", "s2"]},
    "an interval": {"since": "2025-12-01"},
    "as of": {"as_of": "2026-01-10"},
    "expansion": {"expand": ["ship", "boat", "vessel"]},
    "rerank": {"rerank": ["similarity", "importance", "recency"]},
    "several namespaces": {"namespace": ["n10", "n1000", "nowhere"]},
}


@pytest.mark.parametrize("option", OPTIONS)
def test_no_option_takes_a_further_one(count: Any, option: str) -> None:
    for limit in LIMITS:
        assert count(1000, "harbour note 7", limit=limit, **OPTIONS[option]) == A_RECALL


@pytest.mark.parametrize("query", ['"harbour note" 7', "harbour note yesterday", "ships " * 100])
def test_nor_does_a_phrase_a_time_or_a_long_question(count: Any, query: str) -> None:
    assert count(1000, query) == A_RECALL


def test_neighbours_take_one_more_however_many_there_are(count: Any) -> None:
    for limit in LIMITS:
        assert count(1000, "harbour note 7", limit=limit, neighbours=3) == A_RECALL + 1


def test_where_no_word_is_known_the_text_as_it_stands_takes_one_more(count: Any) -> None:
    assert count(1000, "ote", mode="keyword") == A_RECALL + 1
    assert count(1000, "nothing of the kind", mode="keyword") == A_RECALL, "there is nothing to load"


def test_reading_many_ids_takes_one_round_trip(proxy: Proxy, stores: dict[int, Memories]) -> None:
    memories = stores[1000]
    ids = [preview.id for preview in memories.timeline(limit=1000)]
    for wanted in (ids[:1], ids[:100], ids):
        before = proxy.round_trips
        memories.get(wanted)
        assert proxy.round_trips - before == 1


def test_a_note_of_use_takes_the_same_however_much_was_found(
    proxy: Proxy, stores: dict[int, Memories]
) -> None:
    counts = []
    for limit in LIMITS * 3:
        before = proxy.round_trips
        stores[1000].in_session("now").recall("harbour note 7", limit=limit)
        stores[1000]._later.finish()
        counts.append(proxy.round_trips - before)
    assert len(set(counts[len(LIMITS) * 2 :])) == 1, "once the statements of a write are prepared"


def test_many_memories_are_written_together(proxy: Proxy, stores: dict[int, Memories]) -> None:
    """A batch of many takes hardly more than a batch of few, and not one for each memory."""
    memories = stores[10].in_namespace("written")
    counts = []
    for size in (10, 100):
        before = proxy.round_trips
        memories.remember_many(f"Written {size} {number}" for number in range(size))
        counts.append(proxy.round_trips - before)
    assert max(counts) <= 40, counts


def test_the_proxy_counts_what_it_should(proxy: Proxy, url: str) -> None:
    with psycopg.connect(url.replace("schema=", "application_name="), autocommit=True) as connection:
        for asking, wanted in ((1, 1), (5, 5)):
            before = proxy.round_trips
            for _ in range(asking):
                connection.execute("SELECT %s", ["x"], prepare=False)
            assert proxy.round_trips - before == wanted
        before = proxy.round_trips
        with connection.pipeline():
            for _ in range(5):
                connection.execute("SELECT %s", ["x" * 100_000])
        assert proxy.round_trips - before == 1
