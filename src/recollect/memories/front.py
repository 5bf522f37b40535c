"""What everything else stands on: the store, the clock, the namespace, the session; and reading by id."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, overload

from recollect import checks, drafting
from recollect.errors import NoSuchMemory
from recollect.later import Later, Marks
from recollect.meaning import Meaning
from recollect.store.base import Store
from recollect.types import Memory, Relation, Remembered

RECALL_REINFORCEMENT = 0.02
PATIENCE_AT_THE_END = 5.0
"""How long closing waits for what was recalled to be marked as used, in seconds."""
Clock = Callable[[], datetime]
Id = str | Memory | Remembered


def local_time() -> datetime:
    """Now, in the zone of this machine: "today" is a day of the people here."""
    return datetime.now().astimezone()


class Front:
    """One namespace of one store."""

    def __init__(
        self,
        store: Store,
        *,
        namespace: str = "default",
        meaning: Meaning | None = None,
        clock: Clock = local_time,
        count_tokens: Callable[[str], int] = drafting.estimate_tokens,
    ) -> None:
        self._store = store
        self._namespace = checks.name(namespace, what="The namespace")
        self._meaning = meaning or Meaning("auto")
        self._clock = clock
        self._count_tokens = count_tokens
        self._later = Later(self._mark)
        self._session: str | None = None
        self._owner = True

    @property
    def namespace(self) -> str:
        """The namespace that everything here happens in."""
        return self._namespace

    @property
    def read_only(self) -> bool:
        """Whether the store can be read but not written."""
        return self._store.read_only

    @property
    def session_id(self) -> str | None:
        """The session that everything here happens in, if there is one."""
        return self._session

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish what goes on in the background and let go of the store; a view only does the first.

        While another process writes for long, what was recalled last is left unmarked.
        """
        self._later.finish(PATIENCE_AT_THE_END)
        if self._owner:
            self._store.close()
            self._meaning.close()

    def settle(self) -> None:
        """Finish now what goes on in the background: marking what was used, and indexes beside the store.

        Nothing needs it for a right answer; a program that has just written much searches faster from now on.
        """
        self._later.finish()
        self._store.settle()

    def in_namespace(self, namespace: str) -> Self:
        """The same store, another namespace."""
        view = self._view()
        view._namespace = checks.name(namespace, what="The namespace")
        view._session = None
        return view

    def _view(self) -> Self:
        view = copy.copy(self)
        view._owner = False
        return view

    def _now(self) -> datetime:
        now = self._clock()
        return now if now.tzinfo else now.replace(tzinfo=UTC)

    def _mark(self, marks: Marks) -> None:
        """Settle what recalls left to be done: raise salience, link to the session."""
        for times in sorted(set(marks.times.values())):
            self._store.touch(
                marks.namespace,
                self._store.keys_of(
                    marks.namespace, [id for id, count in marks.times.items() if count == times]
                ),
                RECALL_REINFORCEMENT * times if marks.raised else 0.0,
                marks.at,
                session=marks.session,
                usage="recalled",
                uses=times if marks.raised else 0,
            )

    @overload
    def get(self, ids: Id) -> Memory: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, ids: Iterable[Id]) -> list[Memory]: ...
    def get(self, ids: Id | Iterable[Id]) -> Memory | list[Memory]:
        """A memory by its id, or several in the order asked for; deleted ones too."""
        wanted = checks.ids(ids)
        found = {memory.id: memory for memory in self._store.get(self._namespace, wanted, self._now())}
        for id in wanted:
            if id not in found:
                raise NoSuchMemory(f"There is no memory {id!r} in the namespace {self._namespace!r}.")
        return found[wanted[0]] if isinstance(ids, Id) else [found[id] for id in wanted]

    def _one(self, id: Id) -> Memory:
        """A memory by its id, where a list of them is a mistake."""
        return self.get(checks.id_of(id))

    def find_id(self, ending: str) -> str:
        """The id that ends so: people type the last few characters."""
        found = self._store.ids_ending(self._namespace, checks.name(ending, what="The id"))
        if ending in found:
            return ending
        if len(found) == 1:
            return found[0]
        trouble = "several ids end" if found else "no id ends"
        raise NoSuchMemory(
            f"In the namespace {self._namespace!r} {trouble} in {ending!r}: give the whole id."
        )

    def relations(self, id: Id, *, limit: int = 1000) -> list[Relation]:
        """The edges of a memory, both ways, the oldest first."""
        return self._store.relations(
            self._namespace, [self._one(id).id], checks.limit(limit, highest=100_000)
        )
