"""A store moves to another, and back: nothing is lost, whatever happens on the way."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recollect
from recollect import Draft, InvalidInput, Memories, NotFound, StoreError, migrating
from recollect.migrating import migrate, plan
from recollect.opening import store_at
from recollect.store import text
from recollect.store.postgres.address import Address
from recollect.types import MODES
from tests.conftest import Clock, empty
from tests.test_cli import Cli

NAMESPACES = ("proj1", "Größe 数据库", "only documents", "nothing")
BACK_UP = "Always back up every database of the billing team before somebody migrates it to another server"
SCRIPTS = (
    "Die Größe der Datenbank wächst täglich",
    "数据库的端口是 5432，缓存很热",
    "قاعدة البيانات تعمل الآن",
    "データベースを移行する",
    "Κάθε μνήμη μετακινείται 🦭 \u202e\u200b",
    "a\tb\r\nc 'quoted' \"twice\" \\ {curly} %s :colon $1",
)


def fill(url: str, clock: Clock, namespace: str = "proj1") -> None:
    """One of everything, as a life with it would leave it behind."""
    with recollect.open(url, namespace=namespace, embedder="hash:64", clock=clock) as memories:
        memories.start_session("s", agent="cli", started_at="2026-01-05")
        turns = [Draft(f"Turn {n} at the harbour", session="s", speaker="Ana") for n in range(5)]
        ids = [done.id for done in memories.remember_many(turns)]
        memories.remember_many(
            [Draft(text, id=f"script-{n}", metadata={"n": n}) for n, text in enumerate(SCRIPTS)]
        )
        for n in range(3):
            memories.remember(f"The API listens on port 808{n}", id=f"port-{n}", tags=["net"], files=["a.py"])
        memories.supersede("port-0", "port-1")
        memories.supersede("port-1", "port-2")
        memories.relate(ids[0], ids[2], "leads to", "user")
        memories.relate(ids[0], ids[2], "Ähnlich", "user")
        memories.remember(f"{BACK_UP} by hand", id="near-1")
        memories.remember(f"{BACK_UP} or not", id="near-2")
        memories.remember("early", session="s", created_at="2020-01-01", id="early")
        memories.start_session("s", started_at="2026-01-05")
        memories.ingest("---\ntitle: 'a\x07b'\n---\n\n# Öne\tx\n\nText.\n\n## Two\n\nMore.", name="doc")
        memories.ingest("Plain text alone", name="plain.txt", metadata={"a": [1.5, None, {"b": 10**18}]})
        memories.in_session("t").recall("which port", include_documents=True)
        memories.remember("Short-lived", id="short", expires_at=clock.now + timedelta(hours=1))
        memories.remember("Bounded", valid_from="2026-01-01", valid_until="2026-02-01")
        memories.delete(ids[1])
        memories.forget(ids[3])
        memories.summarise_session("s")
        for semantic in (0.3, 0.4):
            memories.use_weights({"semantic": semantic, "keyword": 1 - semantic})
        memories.end_session("s")
        clock.pass_time(days=1)
        memories.recall("harbour")
    with recollect.open(url, namespace=namespace, embedder="hash", clock=clock) as memories:
        memories.remember("Of the next generation", id="next")
    with recollect.open(url, namespace=namespace, embedder="none", clock=clock) as memories:
        memories.remember("Without a vector", id="waiting")


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, datetime]:
    """A store that is there to be copied, and what time it was at the end."""
    path, clock = tmp_path_factory.mktemp("lived") / "source.db", Clock()
    for namespace in NAMESPACES[:2]:
        fill(str(path), clock, namespace)
    with recollect.open(path, namespace=NAMESPACES[2], embedder="hash", clock=clock) as memories:
        memories.ingest("# One\n\nA passage.", name="one.md")
    with recollect.open(path, namespace=NAMESPACES[3], embedder="none", clock=clock) as memories:
        memories.remember("gone", id="gone")
        memories.forget("gone")
    assert list(path.parent.iterdir()) == [path]
    return path, clock.now


@pytest.fixture
def source(lived: tuple[Path, datetime], tmp_path: Path, clock: Clock) -> str:
    path, clock.now = lived
    return str(shutil.copy(path, tmp_path))


@pytest.fixture
def postgres(postgres_store: str) -> str:
    """An empty PostgreSQL store."""
    empty(postgres_store)
    return postgres_store


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that even a small store takes many."""
    monkeypatch.setattr(migrating, "RECORDS_AT_ONCE", 3)
    monkeypatch.setattr(migrating, "TELL_EVERY", 1)


def exported(url: str) -> dict[str, bytes]:
    """Every namespace as its export is written, vectors too."""
    with recollect.open(url, embedder="none", create=False) as memories:
        return {
            name: "\n".join(
                json.dumps(record, ensure_ascii=False)
                for record in memories.in_namespace(name).export_records(vectors=True)
            ).encode()
            for name in memories.namespaces()
        }


def moved(source: str, target: str, **options: Any) -> migrating.Migrated:
    ours, theirs = store_at(source, create=False), store_at(target)
    try:
        return migrate(ours, theirs, **options)
    finally:
        ours.close()
        theirs.close()


def answers(url: str, clock: Clock) -> list[list[str]]:
    """What every way of asking finds, in order; what scores the same may stand in any."""
    found = []
    asked_at = clock.now
    with recollect.open(url, namespace="proj1", embedder="hash:64", clock=clock) as memories:
        for question in ("which port does the API use?", "数据库", "harbour", "Größe", "back up", "passage"):
            for mode in MODES:
                hits = memories.recall(
                    question, mode=mode, include_documents=True, include_superseded=True, reinforce=False
                )
                ranked = sorted((-round(hit.score, 3), hit.memory.id) for hit in hits)
                found.append([id for _, id in ranked])
    clock.now = asked_at
    return found


# there and back


def test_there_and_back_every_export_is_the_same_to_the_byte(
    source: str, postgres: str, tmp_path: Path
) -> None:
    before = exported(source)
    assert {*before} == {*NAMESPACES}
    assert before["proj1"].count(b'"type": "generation"') == 2
    back = str(tmp_path / "back.db")
    there = moved(source, postgres)
    assert exported(postgres) == before
    again = moved(postgres, back)
    assert exported(back) == before == exported(source)
    assert there.verified and again.verified
    assert [each.digest for each in there.namespaces] == [each.digest for each in again.namespaces]
    for url in (postgres, back):
        with recollect.open(url, embedder="none") as memories:
            assert memories.doctor() == []


def test_the_counts_are_those_of_the_records(source: str, postgres: str) -> None:
    done = {each.namespace: each for each in moved(source, postgres).namespaces}
    for name, lines in exported(source).items():
        records = [json.loads(line) for line in lines.splitlines()]
        for kind in ("generation", "session", "document", "relation", "link", "vector"):
            assert done[name].counts[f"{kind}s"] == sum(each["type"] == kind for each in records)
        assert done[name].written == len(records) == sum(done[name].counts.values())
    assert done["nothing"].written == 0


def test_both_answer_the_same(source: str, postgres: str, tmp_path: Path, clock: Clock) -> None:
    moved(source, postgres)
    moved(source, str(tmp_path / "copy.db"))
    known = answers(source, clock)
    assert sum(map(len, known)) > 50
    for url in (str(tmp_path / "copy.db"), postgres):
        assert answers(url, clock) == known


def test_what_is_remembered_afterwards_goes_on_where_the_source_ended(
    source: str, postgres: str, clock: Clock
) -> None:
    moved(source, postgres)
    asked_at, after = clock.now, []
    for url in (source, postgres):
        clock.now = asked_at
        with recollect.open(url, namespace="proj1", embedder="hash", clock=clock) as memories:
            memories.remember("One more turn", id="later", session="s", speaker="Ana")
            again = memories.remember(f"{BACK_UP} at all", id="near-3")
            assert {*again.near_duplicates} == {"near-1", "near-2"}
            assert memories.remember("The API listens on port 8082").outcome == "reinforced"
            memories.reembed()
        after.append(exported(url)["proj1"])
    assert after[0] == after[1]


def test_a_third_model_stays_one_that_nobody_searches(tmp_path: Path, postgres: str) -> None:
    source = str(tmp_path / "source.db")
    for namespace, model in (("a", "hash"), ("b", "hash:64"), ("c", "hash:32")):
        with recollect.open(source, namespace=namespace, embedder=model) as memories:
            memories.remember("one", id=namespace)
            memories.in_namespace("a").import_records(list(memories.export_records(vectors=True)))
    moved(source, postgres)
    moved(postgres, str(tmp_path / "back.db"))
    assert exported(str(tmp_path / "back.db")) == exported(source)
    for url in (source, postgres, str(tmp_path / "back.db")):
        store = store_at(url)
        assert store.facts(["a"])["a"].next_generation is None
        store.close()


def test_metadata_that_grew_by_merging_comes_along(tmp_path: Path, postgres: str) -> None:
    source = str(tmp_path / "source.db")
    with recollect.open(source, embedder="none") as memories:
        for key in ("a", "b"):
            memories.remember("the same", metadata={key: "x" * 90_000})
    moved(source, postgres)
    assert exported(postgres) == exported(source)


def test_only_the_namespaces_that_were_named(source: str, postgres: str) -> None:
    done = moved(source, postgres, namespaces=["proj1", "proj1"])
    assert [each.namespace for each in done.namespaces] == ["proj1"]
    assert {*exported(postgres)} == {"proj1"}
    with pytest.raises(NotFound, match="There is no namespace 'nope'"):
        moved(source, postgres, namespaces=["nope"])
    moved(source, postgres)
    assert exported(postgres) == exported(source)


def test_a_store_that_can_not_be_written_is_a_good_source(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = exported(source)
    Path(source).chmod(0o444)
    theirs = store_at(str(tmp_path / "copy.db"))
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may always write
    ours = store_at(source, create=False)
    assert ours.read_only
    assert migrate(ours, theirs).verified
    ours.close()
    theirs.close()
    monkeypatch.undo()
    assert exported(str(tmp_path / "copy.db")) == before


def test_a_role_that_may_only_read_is_a_good_source(source: str, postgres: str, tmp_path: Path) -> None:
    moved(source, postgres)
    address = Address.parse(postgres)
    reader = f"reader_{os.getpid()}"
    with psycopg.connect(address.conninfo, autocommit=True) as connection:
        for statement in (
            f"CREATE ROLE {reader} LOGIN PASSWORD 'secret'",
            f'GRANT USAGE ON SCHEMA "{address.schema}" TO {reader}',
            f'GRANT SELECT ON ALL TABLES IN SCHEMA "{address.schema}" TO {reader}',
        ):
            connection.execute(statement.encode())
        try:
            url = postgres.replace("postgres@", f"{reader}:secret@")
            moved(url, str(tmp_path / "back.db"))
        finally:
            connection.execute(f"DROP OWNED BY {reader}".encode())
            connection.execute(f"DROP ROLE {reader}".encode())
    assert exported(str(tmp_path / "back.db")) == exported(source)


# interrupted, and gone on with


class Interrupted(Exception):
    """Somebody pulled the plug."""


def interrupting(after: int) -> Callable[[str, int, int | None], None]:
    """A progress that stops everything when it was called so often."""
    calls = iter(range(after))

    def progress(what: str, done: int, total: int | None) -> None:
        if next(calls, None) is None:
            raise Interrupted

    return progress


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("seed", range(4))
def test_interrupted_anywhere_it_goes_on_and_ends_the_same(
    source: str, postgres: str, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    for ours, theirs in ((source, postgres), (postgres, str(tmp_path / "back.db"))):
        for _ in range(4):
            with pytest.raises(Interrupted):
                moved(ours, theirs, progress=interrupting(chance.randrange(150)))
        moved(ours, theirs)
        assert exported(theirs) == exported(source)
    with recollect.open(postgres, embedder="none") as memories:
        assert memories.doctor() == []


@pytest.mark.usefixtures("small_parts")
def test_what_is_there_is_not_analysed_again(
    source: str, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Interrupted):
        moved(source, postgres, progress=interrupting(60))
    analysed: list[str] = []
    real = text.analyse

    def counting(given: Any) -> Any:
        analysed.append(given.content)
        return real(given)

    monkeypatch.setattr(migrating, "analyse", counting)
    with recollect.open(postgres, embedder="none") as memories:
        there = sum(
            each["type"] == "memory"
            for name in memories.namespaces()
            for each in memories.in_namespace(name).export_records()
        )
    done = moved(source, postgres)
    assert there > 0
    assert len(analysed) == sum(each.counts["memories"] for each in done.namespaces) - there


@pytest.mark.usefixtures("small_parts")
def test_what_happened_to_the_source_meanwhile_comes_along(source: str, postgres: str, clock: Clock) -> None:
    with pytest.raises(Interrupted):
        moved(source, postgres, progress=interrupting(105))
    with recollect.open(source, namespace=NAMESPACES[1], embedder="hash:64", clock=clock) as memories:
        memories.remember("Written meanwhile", session="s", id="meanwhile")
        memories.update("near-1", tags=["new"], metadata={"new": True})
        memories.delete("script-0")
        memories.supersede("script-1", "meanwhile")
        memories.in_session("s").recall("which port")
        memories.end_session("s", summary="It went on")
        memories.ingest("Another text", name="new.txt")
    done = moved(source, postgres)
    assert exported(postgres) == exported(source)
    assert done.verified
    with recollect.open(postgres, embedder="none") as memories:
        assert memories.doctor() == []


KILLED = """
import sys, time
from recollect import migrating
from recollect.opening import store_at
migrating.RECORDS_AT_ONCE, migrating.TELL_EVERY = 3, 1
def slowly(what, done, total):
    print(what, done, flush=True)
    time.sleep(0.01)
migrating.migrate(store_at(sys.argv[1]), store_at(sys.argv[2]), progress=slowly)
"""


@pytest.mark.parametrize("direction", ["there", "back"])
def test_killed_it_goes_on_and_ends_the_same(
    source: str, postgres: str, tmp_path: Path, direction: str
) -> None:
    ours, theirs = source, postgres
    if direction == "back":
        moved(source, postgres)
        ours, theirs = postgres, str(tmp_path / "back.db")
    command = [sys.executable, "-c", KILLED, ours, theirs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            if line.startswith("copying") and line.split()[-1] == "40":
                process.send_signal(signal.SIGKILL)
                break
        assert process.wait(60) == -signal.SIGKILL
    time.sleep(0.2)
    assert 0 < sum(map(len, exported(theirs).values())) < sum(map(len, exported(source).values()))
    moved(ours, theirs)
    assert exported(theirs) == exported(source)


# refused


def in_target(url: str, namespace: str = "proj1", **options: Any) -> Memories:
    return recollect.open(url, namespace=namespace, embedder="none", **options)


def test_the_same_store_twice_is_refused(source: str, postgres: str, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(source)
    for one, other in ((source, source), (source, str(tmp_path / "link.db")), (postgres, postgres)):
        with pytest.raises(InvalidInput, match="source and target at once"):
            moved(one, other)
    other_name = postgres.replace("127.0.0.1", "localhost")
    if other_name != postgres:
        with pytest.raises(InvalidInput, match="source and target at once"):
            moved(postgres, other_name)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_target_that_holds_something_else_is_refused_and_left_alone(
    source: str, kind: str, request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> None:
    target = str(tmp_path / "t.db") if kind == "sqlite" else request.getfixturevalue("postgres")

    def refused(because: str) -> None:
        before = exported(target)
        with pytest.raises(InvalidInput, match=because) as raised:
            moved(source, target)
        assert "is not a part of this copy" in str(raised.value)
        assert exported(target) == before
        with in_target(target) as memories:
            memories.forget(everything=True)

    with in_target(target) as memories:
        memories.remember("something of its own", id="own")
    refused("memory own is there and not in the source")
    with in_target(target) as memories:
        memories.remember("another text", id="near-1")
    refused("memory near-1")
    with in_target(target, namespace="only documents") as memories:
        memories.ingest("# Two\n\nAnother passage.", name="one.md")
    with pytest.raises(InvalidInput, match="'only documents'"):
        moved(source, target)
    assert exported(target).get("proj1", b"") == b""  # which would have come first
    with in_target(target, namespace="only documents") as memories:
        memories.forget(everything=True)
    changes: tuple[tuple[Callable[[Memories], object], str], ...] = (
        (lambda memories: memories.update("near-1", text="Changed there"), "memory near-1 has another text"),
        (lambda memories: memories.recall("harbour"), "was used or changed there since"),
        (lambda memories: memories.remember("more", id="more"), "memory more is there and not in the source"),
        (lambda memories: memories.forget("near-1"), "one that comes before it is not"),
        (lambda memories: memories.relate("near-1", "port-0"), "relation near-1 / port-0"),
        (lambda memories: memories.start_session("new"), "session new"),
    )
    for change, because in changes:
        moved(source, target, namespaces=["proj1"])
        clock.pass_time(hours=1)
        with in_target(target, clock=clock) as memories:
            change(memories)
        refused(because)
    moved(source, target)
    assert exported(target) == exported(source)


# verified


class Meddling:
    """A progress that changes something at the first sign of verification."""

    def __init__(self, change: Callable[[], object]) -> None:
        self.change: Callable[[], object] | None = change

    def __call__(self, what: str, done: int, total: int | None) -> None:
        if done == total and what == "copying proj1" and self.change:
            self.change()
            self.change = None


def test_what_changes_meanwhile_is_noticed_and_comes_along_the_next_time(
    source: str, postgres: str, clock: Clock
) -> None:
    def touch() -> None:
        with in_target(source, clock=clock) as memories:
            memories.update("near-1", importance=0.9)

    with pytest.raises(StoreError, match=r"'proj1', first at memory near-1: .* run it again") as raised:
        moved(source, postgres, progress=Meddling(touch))
    assert not isinstance(raised.value, InvalidInput)
    moved(source, postgres)
    assert exported(postgres) == exported(source)


@pytest.mark.parametrize(
    ("statement", "at"),
    [
        ("UPDATE {}.memory SET salience = salience / 2 WHERE id = 'port-1'", "memory port-1"),
        ("UPDATE {}.session SET summary = 'other' WHERE id = 's'", "session s"),
        ("UPDATE {}.memory SET metadata = '{{\"n\": 2.0}}' WHERE id = 'script-2'", "memory script-2"),
        ("DELETE FROM {}.session_link", "link"),
        ("UPDATE {}.relation SET origin = 'x' WHERE type = 'Ähnlich'", "relation"),
        ("UPDATE {}.vector SET embedding = embedding * embedding", "vector"),
        ("UPDATE {}.namespace SET next_generation = NULL", "generation"),
    ],
)
def test_any_difference_is_found(source: str, postgres: str, statement: str, at: str) -> None:
    address = Address.parse(postgres)

    def damage() -> None:
        with psycopg.connect(address.conninfo, autocommit=True) as connection:
            connection.execute(statement.format(f'"{address.schema}"').encode())

    with pytest.raises(StoreError, match=f"first at {at}"):
        moved(source, postgres, namespaces=["proj1"], progress=Meddling(damage))


def test_a_plan_says_what_is_to_be_written_and_writes_nothing(source: str, postgres: str) -> None:
    ours, theirs = store_at(source), store_at(postgres)
    fresh, there = plan(ours, None), plan(ours, theirs)
    assert fresh == there
    assert [each.namespace for each in fresh] == [*ours.namespaces()]
    assert theirs.namespaces() == {}
    migrate(ours, theirs)
    assert [each.written for each in plan(ours, theirs)] == [0] * len(fresh)
    ours.close()
    theirs.close()


# any life at all

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)
NAME = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(str.strip)
DRAFTS: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.builds(
        dict,
        text=TEXT.filter(str.strip),
        session=st.none() | st.sampled_from("ab"),
        speaker=st.none() | NAME,
        tags=st.lists(NAME, max_size=2),
        importance=st.floats(0, 1),
        metadata=st.dictionaries(
            TEXT,
            st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
            max_size=2,
        ),
        created_at=st.datetimes(),
    ),
    max_size=6,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drafts=DRAFTS, chance=st.randoms(use_true_random=False))
def test_anything_survives(
    drafts: list[dict[str, Any]],
    chance: random.Random,
    postgres_store: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    source, back = str(folder / "source.db"), str(folder / "back.db")
    empty(postgres_store)
    with recollect.open(source, embedder="hash:8") as memories:
        ids = [memories.remember(**draft).id for draft in drafts]
        for _ in range(4 if ids else 0):
            one, other = chance.choice(ids), chance.choice(ids)
            try:
                chance.choice((memories.supersede, memories.relate))(one, other)
            except InvalidInput:
                memories.delete(one)
    moved(source, postgres_store)
    moved(postgres_store, back)
    assert exported(postgres_store) == exported(source) == exported(back)


# the command


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, monkeypatch)


def test_the_command_there_and_back(cli: Cli, source: str, postgres: str) -> None:
    planned = cli.out("migrate", source, postgres, "--dry-run")
    assert "to copy" in planned and "verified" not in planned
    assert exported(postgres) == {}
    text = cli.out("migrate", source, postgres)
    assert text.splitlines()[-1] == "verified: both stores hold the same, record by record"
    assert "proj1" in text and "vectors" in text and "copied" in text
    done = cli.json("migrate", postgres, "back.db")
    assert done["verified"] and {each["namespace"] for each in done["namespaces"]} == {*NAMESPACES}
    assert exported(str(cli.folder / "back.db")) == exported(source)
    assert [each["written"] for each in cli.json("migrate", postgres, "back.db")["namespaces"]] == [0] * 4


def test_the_command_takes_namespaces_on_either_side(cli: Cli, source: str) -> None:
    for arguments in (("-n", "proj1", "migrate", source, "a.db"), ("migrate", source, "b.db", "-n", "proj1")):
        assert [each["namespace"] for each in cli.json(*arguments)["namespaces"]] == ["proj1"]
    both = cli.json("migrate", source, "c.db", "--namespace", "proj1", "--namespace", "nothing")
    assert [each["namespace"] for each in both["namespaces"]] == ["proj1", "nothing"]


def test_the_command_refuses_and_makes_nothing(cli: Cli, source: str) -> None:
    target = cli.folder / "target.db"
    assert "There is no store at" in cli.error("migrate", "nope.db", str(target), code=3)
    assert "no namespace 'nope'" in cli.error("migrate", source, str(target), "-n", "nope", code=1)
    assert "name a file or a URL" in cli.error("migrate", ":memory:", str(target))
    assert "not --store" in cli.error("-s", source, "migrate", source, str(target))
    assert "to copy" in cli.out("migrate", source, str(target), "--dry-run")
    assert not target.exists() and not (cli.folder / "nope.db").exists()
    assert "at once" in cli.error("migrate", source, source)


def test_the_command_never_prints_a_password(cli: Cli, source: str, postgres: str) -> None:
    secret = postgres.replace("postgres@", "postgres:hunter2@")
    for arguments, code in (
        (("migrate", source, secret), 0),
        (("migrate", secret, secret), 2),
        (("migrate", source, secret.replace(":hunter2@", ":hunter2%zz@")), 2),
        (("migrate", "postgresql://me:hunter2@127.0.0.1:1/x", source), 3),
        (("migrate", source, "postgresql://127.0.0.1:1/x?user=me&password=hunter2"), 3),
    ):
        done = cli.run(*arguments, code=code)
        assert "hunter2" not in done.output


def test_ctrl_c_says_how_to_go_on(cli: Cli, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(migrating, "_verify", interrupted)
    done = cli.run("migrate", source, "copy.db", code=130)
    assert "running it again goes on" in done.stderr
    monkeypatch.undo()
    monkeypatch.chdir(cli.folder)
    assert "verified" in cli.out("migrate", source, "copy.db")


def test_a_namespace_is_named_in_the_bar_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.doors.cli import progress

    with progress.shown(wanted=True) as bar:
        assert bar
        for name in ("[bold]", "[/]", "b"):
            for done in (1, 2):
                bar(f"copying {name}", done, 2)
