"""Sessions: starting, ending, summarising; and what a session did with a memory."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import Self

from recollect import checks, drafting
from recollect.errors import InvalidInput, NoSuchSession
from recollect.memories.finding import PREVIEW_LENGTH, Finding, shortened
from recollect.memories.front import Id
from recollect.times import moment_or_none
from recollect.types import Place, Session, SessionContext, When


class Sessions(Finding):
    """Conversations and pieces of work."""

    def __enter__(self) -> Self:
        if self._session is not None and not self._owner:
            self.start_session(self._session)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None and not self._owner:
            self.end_session(self._session)
        self.close()

    def in_session(self, id: str) -> Self:
        """The same memories, within a session: what is written belongs to it, what is recalled is noted.

        As a context manager it starts the session and ends it; the store stays open.
        """
        view = self._view()
        view._session = checks.name(id, what="The session")
        return view

    def start_session(
        self, id: str | None = None, *, agent: str | None = None, started_at: When | None = None
    ) -> Session:
        """Begin a session, or go on with one that is there."""
        name = drafting.new_id() if id is None else checks.name(id, what="The session")
        known = self._store.sessions(self._namespace, ids=[name])
        session = known[0] if known else Session(name, self._namespace, self._now())
        begun = replace(
            session,
            started_at=moment_or_none(started_at) or session.started_at,
            ended_at=None,
            agent=checks.optional_name(agent, what="The agent") or session.agent,
        )
        self._store.save_session(begun, self._now())
        return begun

    def end_session(
        self, id: str | None = None, *, summary: str | None = None, ended_at: When | None = None
    ) -> Session:
        """End a session (the current one, if none is named), with a summary if there is one to keep."""
        self._later.finish()
        name = id if id is not None else self._session
        if name is None:
            raise InvalidInput("Say which session to end: there is no current one here.")
        session = self.session(name)
        text = checks.optional_text(summary, what="The summary") or session.summary
        ended = replace(session, ended_at=moment_or_none(ended_at) or self._now(), summary=text)
        if ended.ended_at and ended.ended_at < ended.started_at:
            raise InvalidInput(
                f"The session began at {ended.started_at.isoformat()}: it can't end before that."
            )
        self._store.save_session(ended, self._now())
        return ended

    def summarise_session(self, id: str, summary: str | None = None) -> Session:
        """Keep a summary; without one, the beginnings of the session's most important memories."""
        session = self.session(id)
        text = checks.optional_text(summary, what="The summary")
        summarised = replace(session, summary=text or self._extract(id))
        self._store.save_session(summarised, self._now(), extracted=text is None)
        return summarised

    def _extract(self, session: str) -> str:
        memories = self._store.in_scope(self.scope(session=session, include_superseded=True), 1000)
        if not memories:
            raise InvalidInput(f"The session {session!r} has no memories to summarise: give a summary.")
        telling = sorted(memories, key=lambda memory: (-memory.importance, memory.sector == "episodic"))[:3]
        ordered = [memory for memory in memories if memory in telling]
        return " · ".join(shortened(memory.summary or memory.content, PREVIEW_LENGTH) for memory in ordered)

    def session(self, id: str) -> Session:
        """One session."""
        found = self._store.sessions(self._namespace, ids=[checks.name(id, what="The session")])
        if not found:
            raise NoSuchSession(f"There is no session {id!r} in the namespace {self._namespace!r}.")
        return found[0]

    def sessions(
        self,
        *,
        since: When | None = None,
        until: When | None = None,
        older_than: Place | None = None,
        limit: int = 100,
    ) -> list[Session]:
        """Sessions, newest first; those `older_than` the last one seen (start and id) are the next page."""
        begin, end = moment_or_none(since), moment_or_none(until)
        checks.interval(begin, end)
        return self._store.sessions(
            self._namespace, since=begin, until=end, older_than=older_than, limit=checks.limit(limit)
        )

    def session_context(self, id: Id) -> SessionContext | None:
        """The session that used a memory last, and how; None when none did."""
        self._later.finish()
        found = self._store.last_use(self._namespace, self._one(id).id)
        if found is None:
            return None
        session, usage, touched = found
        return SessionContext(self.session(session), touched, usage)
