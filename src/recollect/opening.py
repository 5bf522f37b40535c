"""Opening a store from a path, a URL or the settings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from os import PathLike
from pathlib import Path

from recollect import checks, config, drafting
from recollect.embed.base import Embedder
from recollect.errors import ConfigError, StoreError
from recollect.meaning import Meaning
from recollect.memories import Memories
from recollect.memories.front import local_time
from recollect.store.base import Store
from recollect.store.sqlite.store import SqliteStore


def open(
    url: str | Path | None = None,
    *,
    namespace: str | None = None,
    embedder: str | Embedder | None = None,
    quick: bool | None = None,
    create: bool = True,
    clock: Callable[[], datetime] = local_time,
    count_tokens: Callable[[str], int] = drafting.estimate_tokens,
) -> Memories:
    """Open a store, making it when it is not there: `recollect.open("notes.db", namespace="proj1")`.

    Without a path, RECOLLECT_URL, recollect.toml or the platform's data folder say where; ":memory:" keeps
    everything in memory. `embedder` is "auto", "none", a name ("arctic-s", "static-s", "hash", or a
    provider's model such as "ollama:nomic-embed-text") or one of your own; `quick=True` embeds questions
    to memories of arctic-s by a table, without loading the model, and finds a little less; `create=False`
    refuses to make a new store; `clock` and `count_tokens` are for tests and for exact token counts.
    """
    by_name = embedder if isinstance(embedder, str) else None
    if url is not None and not isinstance(url, (str, PathLike)):
        raise ConfigError(
            f"A store is a path or a URL, not {type(url).__name__}: give one, such as memory.db."
        )
    place = None if url is None else str(url)
    settings = config.load(url=place, namespace=namespace, embedder=by_name, quick=quick)
    setting = embedder if embedder is not None and not isinstance(embedder, str) else settings.embedder
    is_default = (settings.origins or {}).get("url") == "default"
    chosen = checks.name(settings.namespace, what="The namespace")  # before a file is made
    return Memories(
        store_at(settings.url, create=create, make_folder=is_default and create),
        namespace=chosen,
        meaning=Meaning(setting, quick=settings.quick, settings=settings.embedding),
        clock=clock,
        count_tokens=count_tokens,
    )


def is_postgres(url: str) -> bool:
    """Whether a URL names a PostgreSQL database."""
    return url.lower().startswith(("postgresql:", "postgres:", "postgresql//", "postgres//"))


def store_at(url: str, *, create: bool = True, make_folder: bool = False) -> Store:
    """The store that a URL names: a PostgreSQL database, a file, or one in memory."""
    if is_postgres(url):
        try:
            from recollect.store.postgres.store import PostgresStore
        except ImportError as error:
            raise ConfigError(
                f"PostgreSQL needs psycopg ({error}): pip install 'recollect[postgres]'."
            ) from error
        scheme, colon, rest = url.partition(":")
        return PostgresStore(f"{scheme.lower()}{colon}{rest}", create=create)
    return SqliteStore(_path(url, make_folder=make_folder), create=create)


def _path(url: str, *, make_folder: bool) -> Path | None:
    if url == ":memory:":
        return None
    scheme, separator, rest = url.partition("://")
    if separator and scheme != "sqlite":
        raise ConfigError(
            f"{scheme}:// is no kind of store known here: give a file, such as memory.db, or postgresql://…"
        )
    if "\0" in url:
        raise ConfigError("The path of a store contains a NUL byte: give a file, such as memory.db.")
    try:
        path = Path(rest if separator else url).expanduser()
    except RuntimeError:
        raise ConfigError(f"{url}: there is no such home folder: write the path in full.") from None
    if make_folder:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # nobody else's to read
        except OSError as error:
            raise StoreError(
                f"The folder {path.parent} can't be made ({error.strerror}): name a store."
            ) from error
    return path
