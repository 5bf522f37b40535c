"""Writing: keeping, changing, superseding, relating, forgetting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Unpack

from recollect import checks, drafting, remembering
from recollect.errors import InvalidInput
from recollect.memories.finding import Finding
from recollect.memories.front import Id
from recollect.store.base import Record
from recollect.times import moment_or_none
from recollect.types import (
    Changes,
    Draft,
    DraftFields,
    Filters,
    Memory,
    OnDuplicate,
    Progress,
    Receipt,
    Relation,
    Remembered,
    Scope,
    When,
)

_NOT_NARROWING = {"namespace", "kind", "include_superseded"}
"""Filters that by themselves would mean nearly everything; that must be said."""


class Writing(Finding):
    """What changes memories."""

    def remember(
        self, text: str, *, on_duplicate: OnDuplicate = "reinforce", **fields: Unpack[DraftFields]
    ) -> Remembered:
        """Keep a text; `fields` are those of `Draft`.

        The same text again reinforces the memory that is there (`on_duplicate="keep"` adds another); a turn
        of a conversation, which has a `speaker`, is never merged. Near-duplicates are linked, not dropped.
        """
        checks.known(fields, DraftFields.__annotations__, what="field")
        checks.choice(on_duplicate, ("reinforce", "keep"), what="way to treat duplicates")
        draft = self._ready(Draft(text, **fields))
        return remembering.remember(
            self._store, self._meaning, self._namespace, draft, on_duplicate, self._now()
        )

    def remember_many(
        self,
        drafts: Iterable[Draft | str],
        *,
        on_duplicate: OnDuplicate = "reinforce",
        progress: Progress | None = None,
    ) -> list[Remembered]:
        """Keep many texts: rows first, found by keyword at once, then vectors, with progress.

        They are written in batches, and the next ones are taken from `drafts` while a batch is being written;
        a draft that can't be used stops the work there, and the error says which one it was and what was kept
        before it.
        """
        checks.choice(on_duplicate, ("reinforce", "keep"), what="way to treat duplicates")
        if isinstance(drafts, str) or not isinstance(drafts, Iterable):
            raise InvalidInput(f"Drafts come in a list or the like, not as {type(drafts).__name__}.")
        ready = (self._ready(draft) for draft in drafts)
        sized = [*ready] if isinstance(drafts, Sequence) else ready
        return remembering.remember_many(
            self._store, self._meaning, self._namespace, sized, on_duplicate, self._now(), progress
        )

    def _ready(self, draft: Draft | str) -> Draft:
        if isinstance(draft, str):
            return Draft(draft, session=self._session)
        if not isinstance(draft, Draft):
            raise InvalidInput(f"A draft must be a Draft or a string, not {type(draft).__name__}.")
        return draft if draft.session or not self._session else replace(draft, session=self._session)

    def update(self, id: Id, **changes: Unpack[Changes]) -> Memory:
        """Change fields of a memory (those of `Changes`); a new text is analysed and embedded anew."""
        now = self._now()
        vector = None
        writer = remembering.writer_of(self._store, self._meaning, self._namespace)
        planned = drafting.changed(self._one(id), dict(changes), now)
        if writer is not None and {"text", "speaker"} & changes.keys():
            vector = remembering.vector_of(self._meaning, writer, self._namespace, planned)
            if vector is None:
                self._meaning.owed.add(self._namespace)

        def rewrite(present: Memory) -> Record:
            return replace(drafting.changed(present, dict(changes), now), vector=vector)

        self._store.change(
            self._namespace,
            planned.id,
            rewrite,
            generation=writer.generation if writer else None,
            now=now,
            session=self._session,
        )
        return self._one(id)

    def supersede(self, old: Id, new: Id, *, at: When | None = None) -> None:
        """`new` took the place of `old`: its validity ends when `new` began to hold (or `at`)."""
        successor = self._one(new)
        if checks.id_of(old) == successor.id:
            raise InvalidInput("A memory can't supersede itself: give two ids.")
        closed = moment_or_none(at) or successor.valid_from or successor.created_at
        self._store.supersede(self._namespace, checks.id_of(old), successor.id, closed, self._now())

    def unsupersede(self, id: Id) -> Memory:
        """Take a supersession back: the memory holds again, as if nothing had taken its place."""
        if self._store.unsupersede(self._namespace, self._one(id).id, self._now()) is None:
            raise InvalidInput(f"{checks.id_of(id)} was not superseded: there is nothing to take back.")
        return self._one(id)

    def relate(self, source: Id, target: Id, type: str = "related_to", origin: str = "user") -> Relation:
        """Draw a typed edge between two memories; drawing it again changes nothing."""
        relation = Relation(
            checks.id_of(source),
            checks.id_of(target),
            checks.name(type, what="The type of a relation"),
            checks.name(origin, what="The origin of a relation"),
            self._now(),
        )
        if relation.source == relation.target:
            raise InvalidInput("A memory can't be related to itself: give two ids.")
        self._store.relate(self._namespace, relation)
        return relation

    def unrelate(self, source: Id, target: Id, type: str | None = None) -> int:
        """Remove the edges from one memory to another, of one type or of all; says how many there were."""
        ends = checks.id_of(source), checks.id_of(target)
        kind = checks.optional_name(type, what="The type of a relation")
        return self._store.unrelate(self._namespace, *ends, kind, self._now())

    def reinforce(self, id: Id, amount: float = 0.1) -> Memory:
        """Make a memory more salient, up to 1."""
        return self._raise(id, checks.fraction(amount, what="amount"))

    def deemphasize(self, id: Id, amount: float = 0.1) -> Memory:
        """Make a memory less salient, down to 0."""
        return self._raise(id, -checks.fraction(amount, what="amount"))

    def _raise(self, id: Id, amount: float) -> Memory:
        self._later.finish()
        keys = self._store.keys_of(self._namespace, [self._one(id).id])
        self._store.touch(
            self._namespace,
            keys,
            amount,
            self._now(),
            session=self._session,
            usage="reinforced" if amount >= 0 else "updated",
            uses=0,
        )
        return self._one(id)

    def forget(
        self,
        which: Id | Iterable[Id] | Scope | None = None,
        *,
        everything: bool = False,
        expired: bool = False,
        **filters: Unpack[Filters],
    ) -> Receipt:
        """Remove for good: row, keyword entry, vector, links and all that was derived, in one transaction.

        Say which: ids; or a scope; or filters as in `recall` (session, tags, since, …), which include what
        was superseded, deleted or has expired, and a session that is named and left empty; or
        `expired=True`; or `everything=True` in this namespace, with its sessions. What a forgotten memory had
        superseded is superseded by its successor, or holds again.
        """
        self._later.finish()
        narrowing = {name for name, value in filters.items() if value not in (None, (), [], "", 0, False)}
        ways = sum((which is not None, bool(filters), everything, expired))
        if ways != 1 or (filters and not narrowing - _NOT_NARROWING):
            raise InvalidInput(
                "Say what to forget in one way: ids, filters, expired=True or everything=True."
            )
        now = self._now()
        if filters:
            wide: Filters = {"include_superseded": True, "kind": ("memory", "passage"), **filters}
            which = self.scope(**wide)
        if isinstance(which, Scope):
            if which.namespaces != (self._namespace,):
                raise InvalidInput(
                    "Only this namespace can be forgotten here: use in_namespace() for another."
                )
            return self._store.forget(self._namespace, which, now)
        if which is not None:
            return self._store.forget(self._namespace, checks.ids(which), now)
        return self._store.forget(self._namespace, "expired" if expired else "all", now)

    def delete(self, ids: Id | Iterable[Id]) -> int:
        """Hide memories; `restore` brings them back, `forget` removes them for good."""
        now = self._now()
        return self._store.set_deleted(self._namespace, checks.ids(ids), now, now)

    def restore(self, ids: Id | Iterable[Id]) -> int:
        """Bring back memories that were deleted."""
        return self._store.set_deleted(self._namespace, checks.ids(ids), None, self._now())
