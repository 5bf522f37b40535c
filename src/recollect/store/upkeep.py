"""Looking after a store: does everything agree, and analysing every text anew. The same on any backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from recollect.store import rows
from recollect.store.base import Analysed, Analyser, Text
from recollect.store.statements import Statements
from recollect.types import Finding

BATCH = 500

CHECKS = {
    "entries": "memories have no keyword entry and can't be found by their words",
    "ghosts": "keyword entries belong to no memory",
    "orphan_vectors": "vectors belong to no memory, or to one of another namespace",
    "vector_sizes": "vectors have the wrong size for their model",
    "relations": "relations lead to a memory that is gone or of another namespace",
    "links": "session links lead to something that is gone or of another namespace",
    "near_keys": "near-duplicate keys belong to no memory",
    "successors": "memories are superseded by a memory that is gone",
    "sessions": "memories name a session or document that is gone or of another namespace",
    "counts": "namespaces have miscounted their words, which ranking counts on",
    "terms": "memories were analysed differently from how queries are now",
}
"""What is checked, by the name of its statement, and what to say when it counts more than none."""

Stored = Callable[[str], Mapping[str, Any]]
"""The columns that a backend keeps the terms of a text in."""


def plainly(terms: str) -> Mapping[str, Any]:
    """Terms kept as they are."""
    return {"terms": terms}


def counts(
    statements: Statements, names: Iterable[str], analyse: Analyser, stored: Stored = plainly, **where: Any
) -> Counter[str]:
    """How many rows fail each check; `where` says of which namespace, if not of all."""
    found = Counter({name: statements.value(f"check_{name}", **where) for name in names if name != "terms"})
    found["terms"] = sum(
        terms is not None and stored(analyse(text).terms)["terms"] != terms
        for text, terms in texts(statements, **where)
    )
    return found


def findings(found: Mapping[str, int]) -> Iterator[Finding]:
    """What does not agree, in words."""
    for name, message in CHECKS.items():
        if count := found.get(name, 0):
            yield Finding(name, count, f"{count} {message}")


def texts(statements: Statements, **where: Any) -> Iterator[tuple[Text, str | None]]:
    """Every memory's text and the terms that are kept of it, if any."""
    after = 0
    while found := statements.rows("texts", after=after, limit=BATCH, **where):
        for number, namespace, content, speaker, language, tags, files, headings, kind, title, terms in found:
            after = number
            labels = (rows.strings(tags), rows.strings(files), rows.strings(headings))
            yield Text(number, namespace, content, speaker, language, *labels, kind, title), terms


def rewrite(
    statements: Statements, text: Text, terms: str | None, analysed: Analysed, stored: Stored = plainly
) -> None:
    """The terms of a text, made anew."""
    kept = stored(analysed.terms)
    if kept["terms"] != terms:
        statements.count("set_terms", namespace=text.namespace, number=text.key, **kept)
