"""The same memories for asynchronous code: every method runs on a thread, so that the event loop goes on.

`async with await AsyncMemories.open("notes.db") as memories: await memories.recall("which port?")`
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack, overload

from recollect.memories import Memories

if TYPE_CHECKING:
    from recollect.memories.finding import TimeGiven
    from recollect.memories.front import Id
    from recollect.types import Filters, Place, Preview, Timeline

P = ParamSpec("P")
Result = TypeVar("Result")
Item = TypeVar("Item")
BATCH = 200
"""How many records are fetched from a store at a time: a thread is not asked for each of them."""


def _on_a_thread(
    method: Callable[Concatenate[Memories, P], Result],
) -> Callable[Concatenate[AsyncMemories, P], Coroutine[Any, Any, Result]]:
    """A method of Memories, to be awaited."""

    @functools.wraps(method)
    async def run(self: AsyncMemories, /, *given: P.args, **named: P.kwargs) -> Result:
        return await asyncio.to_thread(method, self.memories, *given, **named)

    return run


class AsyncMemories:
    """`Memories` with methods to be awaited; what they take, give and raise is the same.

    A method that was begun is carried through, whoever stops waiting for it: what it wrote is written.
    """

    def __init__(self, memories: Memories) -> None:
        self.memories = memories

    @classmethod
    async def open(cls, *given: Any, **named: Any) -> Self:
        """Open a store; arguments as in `recollect.open`."""
        from recollect.opening import open

        return cls(await asyncio.to_thread(open, *given, **named))

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.memories.__enter__)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.memories.__exit__, kind, error, trace)

    @property
    def namespace(self) -> str:
        """The namespace that everything here happens in."""
        return self.memories.namespace

    @property
    def read_only(self) -> bool:
        """Whether nothing here can be changed."""
        return self.memories.read_only

    @property
    def session_id(self) -> str | None:
        """The session that everything here happens in, if there is one."""
        return self.memories.session_id

    def in_namespace(self, namespace: str) -> Self:
        """The same store, another namespace."""
        return type(self)(self.memories.in_namespace(namespace))

    def in_session(self, id: str) -> Self:
        """The same memories, within a session, which `async with` starts and ends."""
        return type(self)(self.memories.in_session(id))

    async def export_records(self, *, vectors: bool = False) -> AsyncIterator[dict[str, Any]]:
        """Everything in this namespace as plain records, losing nothing; vectors only when asked for."""
        records = await asyncio.to_thread(self.memories.export_records, vectors=vectors)
        batches = Batches(records)
        try:
            while some := await batches.next():
                for record in some:
                    yield record
        finally:
            await batches.close()

    if TYPE_CHECKING:

        @overload
        async def timeline(self, anchor: Id, before: int = 5, after: int = 5) -> Timeline: ...
        @overload
        async def timeline(
            self,
            anchor: None = None,
            *,
            timeframe: TimeGiven = None,
            limit: int = 100,
            older_than: Place | None = None,
            **filters: Unpack[Filters],
        ) -> list[Preview]: ...
        async def timeline(self, *given: Any, **named: Any) -> Timeline | list[Preview]:
            """As `Memories.timeline`: a Timeline around an anchor, else previews."""

    else:
        timeline = _on_a_thread(Memories.timeline)

    backfill = _on_a_thread(Memories.backfill)
    close = _on_a_thread(Memories.close)
    context = _on_a_thread(Memories.context)
    conversation_timeline = _on_a_thread(Memories.conversation_timeline)
    deemphasize = _on_a_thread(Memories.deemphasize)
    delete = _on_a_thread(Memories.delete)
    doctor = _on_a_thread(Memories.doctor)
    documents = _on_a_thread(Memories.documents)
    end_session = _on_a_thread(Memories.end_session)
    find_id = _on_a_thread(Memories.find_id)
    forget = _on_a_thread(Memories.forget)
    forget_document = _on_a_thread(Memories.forget_document)
    get = _on_a_thread(Memories.get)
    growth = _on_a_thread(Memories.growth)
    history = _on_a_thread(Memories.history)
    import_records = _on_a_thread(Memories.import_records)
    ingest = _on_a_thread(Memories.ingest)
    ingest_text = _on_a_thread(Memories.ingest_text)
    namespaces = _on_a_thread(Memories.namespaces)
    neighbourhood = _on_a_thread(Memories.neighbourhood)
    recall = _on_a_thread(Memories.recall)
    reembed = _on_a_thread(Memories.reembed)
    reinforce = _on_a_thread(Memories.reinforce)
    relate = _on_a_thread(Memories.relate)
    relations = _on_a_thread(Memories.relations)
    remember = _on_a_thread(Memories.remember)
    remember_many = _on_a_thread(Memories.remember_many)
    restore = _on_a_thread(Memories.restore)
    scope = _on_a_thread(Memories.scope)
    search_documents = _on_a_thread(Memories.search_documents)
    session = _on_a_thread(Memories.session)
    session_context = _on_a_thread(Memories.session_context)
    sessions = _on_a_thread(Memories.sessions)
    start_session = _on_a_thread(Memories.start_session)
    settle = _on_a_thread(Memories.settle)
    stats = _on_a_thread(Memories.stats)
    summarise_session = _on_a_thread(Memories.summarise_session)
    supersede = _on_a_thread(Memories.supersede)
    tune = _on_a_thread(Memories.tune)
    tuned = _on_a_thread(Memories.tuned)
    undo_weights = _on_a_thread(Memories.undo_weights)
    unrelate = _on_a_thread(Memories.unrelate)
    unsupersede = _on_a_thread(Memories.unsupersede)
    update = _on_a_thread(Memories.update)
    use_weights = _on_a_thread(Memories.use_weights)
    why_not = _on_a_thread(Memories.why_not)


class Batches(Generic[Item]):
    """Whatever an iterator gives, some at a time, fetched on a thread."""

    def __init__(self, items: Iterator[Item], most: int = BATCH) -> None:
        self._items = items
        self._most = most
        self._reading = threading.Lock()

    async def next(self) -> list[Item]:
        """The next few; none at the end."""
        return await asyncio.to_thread(self._fetch)

    async def close(self) -> None:
        """Let go of the iterator, once it has answered: whoever waited may have been cancelled meanwhile."""
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self._close))

    def _fetch(self) -> list[Item]:
        with self._reading:
            return list(islice(self._items, self._most))

    def _close(self) -> None:
        with self._reading:
            close = getattr(self._items, "close", None)
            if close is not None:
                close()
