"""Looking after a SQLite store: is the file sound, does everything agree, and making it agree again."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from recollect.store import upkeep
from recollect.store.base import Analyser
from recollect.store.sqlite.statements import SqliteStatements
from recollect.types import Finding, Progress

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
    connection.execute("DELETE FROM near_key; DELETE FROM segment")
    for done, (text, terms) in enumerate(upkeep.texts(statements), 1):
        upkeep.rewrite(statements, text, terms, analyse(text))
        if progress and (done % upkeep.BATCH == 0 or done == total):
            progress("rebuilding", done, total)
    statements.count("mend_namespaces")
    connection.execute("UPDATE namespace SET languages = replace(languages, ',', ' ')")
