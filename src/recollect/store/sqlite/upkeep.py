"""Looking after a SQLite store: is the file sound, does everything agree, and making it agree again."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from recollect.store import upkeep
from recollect.store.base import Analyser
from recollect.store.sqlite.nearkeys import NearKeys
from recollect.store.sqlite.statements import SqliteStatements
from recollect.types import Finding, Progress

_AT_ONCE = 20_000
_CHECKS = {name: message for name, message in upkeep.CHECKS.items() if name != "counts"}


def check(statements: SqliteStatements, analyse: Analyser) -> Iterator[Finding]:
    """What does not agree, in words."""
    damage = [row[0] for row in statements.connection.execute("PRAGMA quick_check(5)") if row[0] != "ok"]
    if damage:
        yield Finding("file", len(damage), f"the file is damaged: {damage[0]}", mendable=False)
        return
    yield from upkeep.findings(upkeep.counts(statements, _CHECKS, analyse))


def check_words(connection: apsw.Connection) -> Iterator[Finding]:
    """Whether the keyword index says what the rows say; needs the right to write."""
    try:
        connection.execute("INSERT INTO memory_words (memory_words, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError:
        yield Finding("words", 1, "the keyword index does not say what the memories say")


def rebuild(statements: SqliteStatements, analyse: Analyser, progress: Progress | None) -> None:
    """Everything derived, made anew from the rows, in the caller's one transaction."""
    connection = statements.connection
    total = connection.execute("SELECT count(*) FROM memory").get
    connection.execute("PRAGMA defer_foreign_keys = ON")
    connection.execute("INSERT INTO memory_words (memory_words) VALUES ('rebuild')")
    for name in ("vectors", "relations", "links", "successors", "sessions", "documents"):
        statements.count(f"mend_{name}")
    for table in ("near_key", "near_piece", "near_run", "near_kept", "segment"):
        connection.execute(f"DELETE FROM {table}")
    statements.held().clear()
    found: dict[int | str, NearKeys] = {}
    for done, (text, terms) in enumerate(upkeep.texts(statements), 1):
        analysed = analyse(text)
        upkeep.rewrite(statements, text, terms, analysed)
        keys = found.setdefault(text.namespace, NearKeys(statements, text.namespace))
        keys.soon(text.key, analysed.near_keys)
        if done % _AT_ONCE == 0:
            _flush(found)
        if progress and (done % upkeep.BATCH == 0 or done == total):
            progress("rebuilding", done, total)
    _flush(found)
    statements.count("mend_namespaces")
    connection.execute("UPDATE namespace SET languages = replace(languages, ',', ' ')")


def _flush(found: dict[int | str, NearKeys]) -> None:
    """The near-duplicate keys of every namespace, written; nothing is held any more."""
    for keys in found.values():
        keys.flush()
    found.clear()
