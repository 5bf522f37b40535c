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
from recollect.store.sqlite.vectors import Arenas
from recollect.store.statements import Statements
from recollect.types import Scope


def ask(
    statements: Statements,
    arenas: Arenas,
    opened: Opened | None,
    namespaces: Namespaces,
    scope: Scope,
    words: Words | None,
    nearness: Nearness | None,
) -> Found:
    """What each leg finds in a scope, with the segments where there are some."""
    allowed = narrowed(statements, namespaces, scope, opened) if opened else None
    are_replaced = nearness is not None and any(space.removed for space in namespaces.values())
    fingerprint = nearness.generation.fingerprint if nearness and are_replaced else None
    jury = Jury(statements, scope, namespaces, fingerprint)
    near = Near(statements, arenas, opened or Opened(), namespaces, nearness, allowed) if nearness else None
    worded = None
    if opened and opened.words and namespaces and words and words.query:
        worded = by_words(statements, namespaces, words, opened, allowed)
    jury.hear(worded.first() if worded else (), near.first() if near else ())
    found = worded.found(jury) if worded else search.match(statements, namespaces, scope, words)
    if near is None:
        return Found(found)
    return Found(found, near.found(jury), near.similarities([each.key for each in found]))
