"""Looking after a SQLite store: does everything agree, and making it agree again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import apsw

from recollect.store.base import Analysed, Analyser, Text
from recollect.store.sqlite.queries import queries, run
from recollect.types import Finding, Progress

BATCH = 500

_CHECKS = (
    ("check_entries", "memories have no keyword entry and can't be found by their words", True),
    ("check_ghosts", "keyword entries belong to no memory", True),
    ("check_orphan_vectors", "vectors belong to no memory, or to one of another namespace", True),
    ("check_vector_sizes", "vectors have the wrong size for their model", True),
    ("check_relations", "relations lead to a memory that is gone or of another namespace", True),
    ("check_links", "session links lead to something that is gone or of another namespace", True),
    ("check_near_keys", "near-duplicate keys belong to no memory", True),
    ("check_successors", "memories are superseded by a memory that is gone", True),
    ("check_sessions", "memories name a session or document that is gone or of another namespace", True),
)


def check(connection: apsw.Connection, analyse: Analyser) -> Iterator[Finding]:
    """What does not agree, in words."""
    damage = [row[0] for row in connection.execute("PRAGMA quick_check(5)") if row[0] != "ok"]
    if damage:
        yield Finding("file", len(damage), f"the file is damaged: {damage[0]}", mendable=False)
        return
    for name, message, mendable in _CHECKS:
        count = connection.execute(queries()[name]).get
        if count:
            yield Finding(name.removeprefix("check_"), count, f"{count} {message}", mendable)
    stale = sum(analyse(text).terms != terms for text, terms in texts(connection))
    if stale:
        yield Finding("terms", stale, f"{stale} memories were analysed differently from how queries are now")


def check_words(connection: apsw.Connection) -> Iterator[Finding]:
    """Whether the keyword index says what the rows say; needs the right to write."""
    try:
        connection.execute("INSERT INTO memory_words (memory_words, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError:
        yield Finding("words", 1, "the keyword index does not say what the memories say")


def texts(connection: apsw.Connection) -> Iterator[tuple[Text, str]]:
    """Every memory's text and the terms that are kept of it."""
    after = 0
    while rows := run(connection, "texts", after=after, limit=BATCH):
        for row in rows:
            number, namespace, content, speaker, language, tags, files, headings, kind, title, terms = row
            after = number
            yield (
                Text(
                    number,
                    namespace,
                    content,
                    speaker,
                    language,
                    tuple(json.loads(tags)),
                    tuple(json.loads(files)),
                    tuple(json.loads(headings)),
                    kind,
                    title,
                ),
                terms,
            )


def rebuild(connection: apsw.Connection, analyse: Analyser, progress: Progress | None) -> None:
    """Everything derived, made anew from the rows, in the caller's one transaction."""
    total = connection.execute("SELECT count(*) FROM memory").get
    connection.execute("PRAGMA defer_foreign_keys = ON")
    connection.execute("INSERT INTO memory_words (memory_words) VALUES ('rebuild')")
    for name in ("mend_vectors", "mend_relations", "mend_links", "mend_successors", "mend_sessions"):
        connection.execute(queries()[name])
    connection.execute("DELETE FROM near_key")
    for done, (text, terms) in enumerate(texts(connection), 1):
        _analyse_anew(connection, text, terms, analyse(text))
        if progress and (done % BATCH == 0 or done == total):
            progress("rebuilding", done, total)
    connection.execute(queries()["mend_namespaces"])
    connection.execute("UPDATE namespace SET languages = replace(languages, ',', ' ')")


def _analyse_anew(connection: apsw.Connection, text: Text, terms: str, analysed: Analysed) -> None:
    if analysed.terms != terms:
        connection.execute(queries()["set_terms"], {"terms": analysed.terms, "number": text.key})
    keys: list[dict[str, Any]] = [
        {"namespace": text.namespace, "key": key, "memory": text.key} for key in analysed.near_keys
    ]
    connection.executemany(queries()["add_near_key"], keys)
