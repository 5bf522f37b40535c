"""Every backend keeps the contract, and all of them rank alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.store.base import Store
from recollect.store.postgres.store import PostgresStore
from recollect.store.sqlite.store import SqliteStore

from .conftest import empty

pytest.register_assert_rewrite("recollect.testing")
from recollect.testing import StoreContract  # noqa: E402


class TestSqliteInAFile(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path / "memory.db")
        yield store
        store.close()


class TestSqliteInMemory(StoreContract):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = SqliteStore(None)
        yield store
        store.close()


class TestPostgres(StoreContract):
    @pytest.fixture
    def store(self, postgres_store: str) -> Iterator[Store]:
        empty(postgres_store)
        store = PostgresStore(postgres_store)
        yield store
        store.close()
