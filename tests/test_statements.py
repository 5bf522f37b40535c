"""A recall costs the same number of SQL statements, however much is asked for and however much there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

import recollect
from recollect import Draft, Memories
from recollect.types import FUSIONS, MODES, Mode, Place

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
LIMITS = (1, 10, 100, 1000)


class Statements:
    """Every statement that any connection runs, in order; BEGIN and ROLLBACK are not asking."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def watch(self, connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, self._note)

    def _note(self, event: dict[str, Any]) -> None:
        sql = event["sql"].strip()
        is_ours = not event["trigger"] and not sql.startswith("--")
        if is_ours and not sql.startswith(("BEGIN", "ROLLBACK", "COMMIT", "PRAGMA")):
            self.seen.append(sql)

    def count(self, memories: Memories, query: str, **options: Any) -> int:
        """How many statements one recall runs, apart from the note that it was useful."""
        self.seen.clear()
        memories.recall(query, reinforce=False, **options)
        return len(self.seen)


@pytest.fixture
def statements() -> Iterator[Statements]:
    statements = Statements()
    apsw.connection_hooks.append(statements.watch)
    yield statements
    apsw.connection_hooks.remove(statements.watch)


@cache
def made(count: int, plain: bool) -> bytes:
    """A store of so many memories; unless plain, with sessions, relations, supersession and a document."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with opened(path) as memories:
            fill(memories, count, plain)
        return path.read_bytes()


def opened(path: Path) -> Memories:
    return recollect.open(path, namespace="counted", embedder="hash", clock=lambda: NOW)


def fill(memories: Memories, count: int, plain: bool) -> None:
    kept = memories.remember_many(
        Draft(
            f"Harbour note {number} says that ship {number * 7919} came in",
            session=None if plain else f"s{number % 7}",
            tags=["even"] if number % 2 == 0 else [],
            created_at=NOW - timedelta(hours=number),
        )
        for number in range(count)
    )
    ids = [item.id for item in kept]
    if not plain:
        for number in range(0, count - 1, 5):
            memories.relate(ids[number], ids[number + 1])
        for number in range(0, count // 2, 9):
            memories.supersede(ids[number], ids[number + 2])
        memories.ingest("# Harbour\n\nA passage about notes.\n\n## Ships\n\nAnother one.", name="h.md")


@contextmanager
def filled(path: Path, count: int, *, plain: bool = False) -> Iterator[Memories]:
    path.write_bytes(made(count, plain))
    with opened(path) as memories:
        memories.settle()  # the indexes beside the file are made by now, not while statements are counted
        yield memories


@pytest.mark.parametrize("mode", MODES)
def test_a_recall_takes_a_constant_number_of_statements(
    tmp_path: Path, statements: Statements, mode: Mode
) -> None:
    counts: dict[tuple[int, bool, int], int] = {}
    for size in (10, 1000):
        for plain in (True, False):
            with filled(tmp_path / f"{size}{plain}.db", size, plain=plain) as memories:
                memories.recall("warm", mode=mode, reinforce=False)  # the first one reads the vectors in
                for limit in LIMITS:
                    counts[size, plain, limit] = statements.count(
                        memories, "harbour note 7", mode=mode, limit=limit
                    )
    for plain in (True, False):
        assert len({count for (_, each, _), count in counts.items() if each is plain}) == 1, counts
    assert set(counts.values()) <= {1, 2}, "what was superseded is looked at more closely"


def test_what_is_known_of_namespaces_is_read_again_once_something_was_written(
    tmp_path: Path, statements: Statements
) -> None:
    with filled(tmp_path / "memory.db", 100, plain=True) as memories:
        memories.recall("warm", reinforce=False)
        before = statements.count(memories, "harbour note 7")
        memories.reinforce(memories.timeline(limit=1)[0].id)
        assert statements.count(memories, "harbour note 7") == before + 1
        assert statements.count(memories, "harbour note 7") == before
        with opened(tmp_path / "memory.db") as other:
            other.remember("A walrus that another process keeps")
        assert "walrus" in memories.recall("walrus", reinforce=False)[0].memory.content


def test_what_is_written_to_another_namespace_costs_the_next_recall_alone(
    tmp_path: Path, statements: Statements
) -> None:
    with filled(tmp_path / "memory.db", 1000, plain=True) as memories:
        memories.recall("warm", reinforce=False)
        before = statements.count(memories, "harbour note 7")
        memories.in_namespace("elsewhere").remember("A walrus that lives elsewhere")
        assert statements.count(memories, "harbour note 7") > before
        assert statements.count(memories, "harbour note 7") == before


def test_what_was_forgotten_before_the_newer_vectors_were_read_costs_nothing(
    tmp_path: Path, statements: Statements
) -> None:
    with filled(tmp_path / "memory.db", 1000, plain=True) as memories:
        memories.forget(memories.timeline(limit=1)[0].id)
        memories.settle()
        memories.recall("harbour note 7", reinforce=False)
        before = statements.count(memories, "harbour note 7")
        kept = [memories.remember(f"Harbour note {number} of today") for number in range(20)]
        memories.recall("harbour note 7", reinforce=False)  # reads the newer vectors in
        assert statements.count(memories, "harbour note 7") == before
        memories.forget(kept[0].id)
        found = {hit.memory.id for hit in memories.recall("harbour note of today", reinforce=False)}
        assert kept[0].id not in found, "who was forgotten since is asked about again"


@pytest.mark.parametrize("fusion", FUSIONS)
def test_and_so_with_every_fusion(tmp_path: Path, statements: Statements, fusion: str) -> None:
    counts = set()
    for size in (10, 1000):
        with filled(tmp_path / f"{size}.db", size) as memories:
            memories.recall("warm", reinforce=False)
            counts |= {
                statements.count(memories, "harbour note 7", fusion=fusion, limit=limit) for limit in LIMITS
            }
    assert len(counts) == 1


def test_weights_that_the_memories_are_tuned_to_cost_none(tmp_path: Path, statements: Statements) -> None:
    with filled(tmp_path / "memory.db", 100) as memories:
        memories.recall("warm", reinforce=False)
        before = statements.count(memories, "harbour note 7")
        memories.use_weights({"semantic": 0.3, "keyword": 0.7})
        memories.recall("warm", reinforce=False)
        assert statements.count(memories, "harbour note 7") == before
        (hit, *_) = memories.recall("harbour note 7", reinforce=False)
        assert hit.why.notes == ("weights tuned to these memories: semantic 0.30, keyword 0.70",)


OPTIONS: dict[str, dict[str, Any]] = {
    "neighbours": {"neighbours": 3},
    "documents": {"include_documents": True},
    "superseded": {"include_superseded": True},
    "a filter": {"tags": "even", "min_salience": 0.1},
    "an interval": {"since": "2025-12-01"},
    "as of": {"as_of": "2026-01-10"},
    "expansion": {"expand": ["ship", "boat", "vessel"]},
    "rerank": {"rerank": ["similarity", "importance", "recency"]},
}


@pytest.mark.parametrize("option", OPTIONS)
def test_no_option_costs_more_than_a_few(tmp_path: Path, statements: Statements, option: str) -> None:
    """Some options take a further statement; none takes one for each memory."""
    with filled(tmp_path / "memory.db", 1000) as memories:
        memories.recall("warm", reinforce=False)
        plain = statements.count(memories, "harbour note 7")
        counts = [statements.count(memories, "harbour note 7", limit=n, **OPTIONS[option]) for n in LIMITS]
    assert max(counts) <= plain + 4, counts


def test_a_note_of_use_is_one_transaction_whatever_was_found(tmp_path: Path, statements: Statements) -> None:
    counts = set()
    with filled(tmp_path / "memory.db", 1000, plain=True) as memories:
        memories.in_session("now").recall("warm")
        memories._later.finish()
        for limit in LIMITS:
            statements.seen.clear()
            memories.in_session("now").recall("harbour note 7", limit=limit)
            memories._later.finish()
            counts.add(len(statements.seen))
    assert len(counts) == 1, counts


def test_reading_many_ids_or_a_timeline_takes_one_statement(tmp_path: Path, statements: Statements) -> None:
    with filled(tmp_path / "memory.db", 1000) as memories:
        ids = [preview.id for preview in memories.timeline(limit=1000)]
        for wanted in (ids[:1], ids[:100], ids):
            statements.seen.clear()
            memories.get(wanted)
            assert len(statements.seen) == 1
        for limit in LIMITS:
            statements.seen.clear()
            memories.timeline(limit=limit)
            assert len(statements.seen) == 1


class Untouchable:
    """An embedder that, once armed, must not be used, nor even looked at."""

    name = "untouchable"
    dimensions = 256
    fingerprint = "untouchable-1"
    query_prefix = ""
    armed = False

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("__") and type(self).armed:
            raise AssertionError(f"the embedder was touched: {name}")
        return object.__getattribute__(self, name)

    def embed(self, texts: object) -> NDArray[np.float32]:
        raise AssertionError("the embedder was used")


def test_a_keyword_recall_never_loads_an_embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    with filled(path, 20):
        pass
    with recollect.open(path, namespace="counted", embedder=Untouchable()) as memories:
        monkeypatch.setattr(Untouchable, "armed", True)
        assert memories.recall("harbour note 7", mode="keyword")
        assert memories.recall('"harbour note"', mode="auto")
        assert memories.search_documents("passage", mode="keyword")
        assert memories.timeline()
        assert memories.context("harbour", mode="keyword").memories
        assert memories.stats().memories == 20
        assert list(memories.export_records(vectors=True))
        assert memories.doctor() == []
        memories.forget(tags="even")
        with pytest.raises(AssertionError, match="touched"):
            memories.recall("harbour", mode="hybrid")


def test_a_keyword_recall_imports_no_model(tmp_path: Path) -> None:
    import subprocess
    import sys

    script = """
import sys, recollect
with recollect.open(sys.argv[1], namespace="counted") as memories:
    assert memories.recall("harbour note 7", mode="keyword")
assert not {"onnxruntime", "tokenizers", "recollect.embed.onnx", "recollect.embed.static"} & set(sys.modules)
"""
    with filled(tmp_path / "memory.db", 20):
        pass
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "memory.db")], check=True)


def test_a_page_of_a_list_reads_no_more_of_a_large_store_than_of_a_small_one(tmp_path: Path) -> None:
    def steps(count: int) -> list[int]:
        """What SQLite does for a first page and for one in the middle."""
        with filled(tmp_path / f"{count}.db", count) as memories:
            middle = memories.timeline(limit=count // 2)[0]
            found = [counted_steps(memories, limit=5)]
            place = Place(middle.created_at, middle.id)
            return [*found, counted_steps(memories, limit=5, older_than=place)]

    assert steps(1000) == pytest.approx(steps(50), rel=0.2)


def counted_steps(memories: Memories, **asked: Any) -> int:
    """How many steps of SQLite's machine a timeline takes."""
    taken: list[int] = []

    def note(event: dict[str, Any]) -> None:
        if "ORDER BY m.created_at DESC" in event["sql"]:
            taken.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    connections = memories._store._connections  # type: ignore[attr-defined]
    assert len(memories.timeline(**asked)) == 5
    for connection in connections._idle:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
    memories.timeline(**asked)
    return taken[-1]
