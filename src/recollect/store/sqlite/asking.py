"""Both legs of one question: each looks for its best, and both are judged at once."""

from __future__ import annotations

from recollect.store.base import Found, Nearness, Words
from recollect.store.sqlite import search
from recollect.store.sqlite.derived.newer import Newer
from recollect.store.sqlite.derived.shelf import Opened
from recollect.store.sqlite.ground import Ground
from recollect.store.sqlite.indexed import by_words
from recollect.store.sqlite.judging import Jury
from recollect.store.sqlite.narrowing import narrowed
from recollect.store.sqlite.near import Near
from recollect.store.sqlite.search import Namespaces
from recollect.store.sqlite.statements import SqliteStatements
from recollect.store.sqlite.vectors import Arenas
from recollect.types import Scope


class Legs:
    """A question to the segments and to what is newer. The vectors are begun with at once."""

    def __init__(
        self,
        statements: SqliteStatements,
        arenas: Arenas,
        newer: Newer,
        opened: Opened,
        namespaces: Namespaces,
        scope: Scope,
        nearness: Nearness | None,
    ) -> None:
        self._statements, self._namespaces, self._scope = statements, namespaces, scope
        self._ground = ground = Ground.of(statements, namespaces, opened, newer)
        self._allowed = allowed = narrowed(statements, namespaces, scope, ground)
        self._near = Near(statements, arenas, ground, namespaces, nearness, allowed) if nearness else None
        self._fingerprint = nearness.generation.fingerprint if nearness and namespaces.have_replaced else None

    def found(self, words: Words | None) -> Found:
        """What each leg finds in the scope, the words first."""
        near, statements, namespaces, ground = self._near, self._statements, self._namespaces, self._ground
        worded = None
        if ground.leaves and namespaces and words and words.query:
            worded = by_words(statements, namespaces, words, ground, self._allowed)
        jury = Jury(statements, self._scope, namespaces, self._fingerprint, ground)
        if worded:
            told = jury.told(worded.first)
            if near and told.left:  # those of both legs are read in one statement
                jury.read([*told.left, *jury.told(near.first).left], self._doubtful(near))
            found = worded.found(jury, jury.settled(told))
        else:
            found = search.match(statements, namespaces, self._scope, words)
        if not near:
            return Found(found)
        similar = near.similarities(found)  # as a rule the vectors are still looked through beside it
        return Found(found, near.found(jury, jury.judged(near.first, self._doubtful(near))), similar)

    def _doubtful(self, near: Near) -> list[int]:
        """Whose vectors may not be theirs any more: nobody's, if no memory ever lost one."""
        return near.doubtful if self._fingerprint else []
