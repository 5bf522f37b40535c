"""Both legs of one question: each looks for its best, then they are judged together."""

from __future__ import annotations

from recollect.store.base import Found, Nearness, Words
from recollect.store.sqlite import search
from recollect.store.sqlite.derived.shelf import Opened
from recollect.store.sqlite.indexed import by_words
from recollect.store.sqlite.judging import Jury
from recollect.store.sqlite.narrowing import narrowed
from recollect.store.sqlite.near import Near
from recollect.store.sqlite.search import Namespaces
from recollect.store.sqlite.statements import SqliteStatements
from recollect.store.sqlite.vectors import Arenas
from recollect.store.statements import Row
from recollect.types import Scope


def ask(
    statements: SqliteStatements,
    arenas: Arenas,
    opened: Opened | None,
    namespaces: Namespaces,
    scope: Scope,
    words: Words | None,
    nearness: Nearness | None,
) -> Found:
    """What each leg finds in a scope, with the segments where there are some."""
    changed = changes(statements, namespaces, opened) if opened else []
    otherwise = [row[0] for row in changed]
    held = opened.held(otherwise) if opened else []
    allowed = None
    if opened:
        allowed = narrowed(statements, namespaces, scope, held, opened.words_upto, otherwise)
    opened = opened or Opened()
    are_replaced = nearness is not None and any(space.removed for space in namespaces.values())
    fingerprint = nearness.generation.fingerprint if nearness and are_replaced else None
    jury = Jury(statements, scope, namespaces, fingerprint, held)
    near = Near(statements, arenas, opened, namespaces, nearness, allowed) if nearness else None
    worded = None
    if opened.words and namespaces and words and words.query:
        worded = by_words(statements, namespaces, words, opened.words_upto, held, allowed, changed)
    first = [leg.first for leg in (worded, near) if leg is not None]
    judged = iter(jury.judged(first, near.doubtful if near else ()) if first else ())
    if worded is not None:
        found = worded.found(jury, next(judged))
    else:
        found = search.match(statements, namespaces, scope, words)
    if near is None:
        return Found(found)
    return Found(found, near.found(jury, next(judged)), near.similarities(found))


def changes(statements: SqliteStatements, namespaces: Namespaces, opened: Opened) -> list[Row]:
    """Memories that segments have otherwise than they are: number, namespace and terms now, if any."""
    if not namespaces.state.change or not opened.words:
        return []
    return statements.rows("changed_words", upto=opened.words_upto)
