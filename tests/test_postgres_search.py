"""How PostgreSQL is asked for the nearest: always exactly, and without work that leads to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import psycopg
import pytest

import recollect
from recollect import Draft, Memories
from recollect.store import rows
from recollect.store.postgres import search
from recollect.store.postgres.address import Address
from recollect.store.postgres.statements import prepared
from recollect.types import Scope

from .conftest import empty

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
COUNT = 600
SPACE = "searched"


@pytest.fixture(scope="module")
def memories(postgres_store: str) -> Iterator[Memories]:
    """One memory an hour, each with a tag that many have and one that few have."""
    empty(postgres_store)
    with recollect.open(postgres_store, namespace=SPACE, embedder="hash", clock=lambda: NOW) as memories:
        memories.remember_many(
            Draft(
                f"Harbour note {number} says that ship {number * 7919} came in",
                session=f"s{number % 7}",
                tags=["even" if number % 2 == 0 else "odd", f"t{number % 100}"],
                created_at=NOW - timedelta(hours=number),
            )
            for number in range(COUNT)
        )
        address = Address.parse(postgres_store)
        with psycopg.connect(address.conninfo, autocommit=True) as connection:
            connection.execute(f'ANALYZE "{address.schema}".memory, "{address.schema}".vector'.encode())
        yield memories
    empty(postgres_store)


SCOPES: dict[str, dict[str, Any]] = {
    "nothing": {"tags": "nowhere"},
    "a few": {"tags": "t7"},
    "half": {"tags": "even"},
    "a session": {"session": "s3"},
    "lately": {"since": NOW - timedelta(hours=9)},
    "long ago": {"until": NOW - timedelta(hours=COUNT - 5)},
    "nearly all": {"since": NOW - timedelta(hours=COUNT - 5)},
    "a sector": {"sector": "semantic"},
}


@pytest.mark.parametrize("limit", [3, 100])
@pytest.mark.parametrize("scope", SCOPES)
def test_the_nearest_are_the_same_however_they_are_looked_for(
    memories: Memories, monkeypatch: pytest.MonkeyPatch, scope: str, limit: int
) -> None:
    asked = {"mode": "semantic", "limit": limit, "reinforce": False, **SCOPES[scope]}
    found = []
    for few, narrowing in (
        (COUNT, search.NARROWING),  # as in a small namespace
        (COUNT - 1, search.NARROWING),  # those in scope one by one, in a large one
        (1, search.NARROWING),  # by way of the nearest of all
        (1, frozenset[str]()),  # as without any filter that narrows
    ):
        monkeypatch.setattr(search, "FEW", few)
        monkeypatch.setattr(search, "NARROWING", narrowing)
        hits = memories.recall("ship 7919 came in", **asked)
        found.append([(hit.memory.id, hit.score) for hit in hits])
    assert all(each == found[0] for each in found)
    assert bool(found[0]) == (scope != "nothing")


def test_filters_that_leave_few_make_few_vectors_be_looked_at(
    memories: Memories, postgres_store: str
) -> None:
    scope = Scope((SPACE,), NOW, tags=("t7",))
    nodes = executed(postgres_store, scope, "enable_seqscan = off")  # as where there are many vectors
    looked_at = [node for node in nodes if node.get("Relation Name") == "vector"]
    assert sum(node["Actual Rows"] * node["Actual Loops"] for node in looked_at) == COUNT // 100


def test_no_worker_is_started_for_vectors_that_need_not_be_looked_at(
    memories: Memories, postgres_store: str
) -> None:
    nodes = executed(
        postgres_store,
        Scope((SPACE,), NOW),
        "parallel_setup_cost = 0",
        "parallel_tuple_cost = 0",
        "min_parallel_table_scan_size = 0",
    )
    gathering = [
        node
        for node in nodes
        if node["Node Type"].startswith("Gather")
        and any(each.get("Relation Name") == "vector" for each in below(node))
    ]
    assert gathering, "workers are cheap here"
    whole = [node for node in nodes if node.get("Subplan Name") == "CTE nearest"]
    needed = [each for node in whole for each in below(node)]
    assert [node for node in gathering if node not in needed] == []


def executed(url: str, scope: Scope, *settings: str) -> list[dict[str, Any]]:
    """The nodes of a plan for the nearest in a scope that were run."""
    address = Address.parse(url)
    with psycopg.connect(address.conninfo, autocommit=True) as connection:
        for setting in settings:
            connection.execute(f"SET {setting}".encode())
        query = f'SELECT fingerprint, dimensions FROM "{address.schema}".generation WHERE namespace = %s'
        fingerprint, dimensions = connection.execute(query.encode(), [SPACE]).fetchone() or ("", 0)
        vector = str(np.full(dimensions, dimensions**-0.5).tolist())
        given = {"namespace": SPACE, "vector": vector, "fingerprint": fingerprint}
        name, parameters = search._near(rows.scope_parameters(scope) | given, 10, search.Large())
        text = prepared(address.schema, name, parameters["filters"], None).as_string(connection)
        bound = {key: list(value) if isinstance(value, tuple) else value for key, value in parameters.items()}
        asked = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}".encode(), bound)
        answer: Any = asked.fetchone()
        return [node for node in below(answer[0][0]["Plan"]) if node["Actual Loops"]]


def below(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for each in node.get("Plans", ()):
        yield from below(each)
