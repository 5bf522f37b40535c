"""The one front: remember, recall, get, timeline, supersede, relate, forget.

Every door goes through here. A `Memories` is bound to one namespace, and whatever it writes or finds lies
in that namespace unless a caller names others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, overload

from recollect import assembling, checks, drafting, recalling, remembering
from recollect.errors import EmbedderMissing, InvalidInput, NoSuchMemory, NoSuchSession
from recollect.later import Later
from recollect.meaning import Meaning, generation_of
from recollect.query.timeframe import parse_timeframe
from recollect.store.base import Store
from recollect.store.text import analyse
from recollect.times import moment, moment_or_none
from recollect.types import (
    FACTORS,
    FUSIONS,
    MODES,
    SECTORS,
    TIERS,
    Context,
    Document,
    Draft,
    Finding,
    Fusion,
    Ingested,
    Kind,
    Memory,
    Mode,
    OnDuplicate,
    Preview,
    Progress,
    Recall,
    Receipt,
    Relation,
    Remembered,
    Scope,
    Session,
    SessionContext,
    Stats,
    Timeline,
    TimeUsed,
    When,
)

RECALL_REINFORCEMENT = 0.02
_NOT_NARROWING = {"namespaces", "include_superseded"}
PREVIEW_LENGTH = 100
Names = str | Iterable[str] | None
Clock = Callable[[], datetime]


class Memories:
    """The memories of one namespace. Safe to use from several threads; a context manager.

    Get one from `recollect.open()`.
    """

    def __init__(
        self,
        store: Store,
        *,
        namespace: str = "default",
        meaning: Meaning | None = None,
        clock: Clock = lambda: datetime.now(UTC),
        count_tokens: Callable[[str], int] = drafting.estimate_tokens,
    ) -> None:
        self._store = store
        self._namespace = checks.name(namespace, what="The namespace")
        self._meaning = meaning or Meaning("auto")
        self._clock = clock
        self._count_tokens = count_tokens
        self._later = Later()
        self._session: str | None = None
        self._owner = True

    # life

    @property
    def namespace(self) -> str:
        """The namespace that everything here happens in."""
        return self._namespace

    @property
    def session_id(self) -> str | None:
        """The session that everything here happens in, if there is one."""
        return self._session

    def __enter__(self) -> Memories:
        if self._session is not None and not self._owner:
            self.start_session(self._session)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None and not self._owner:
            self.end_session(self._session)
        self.close()

    def close(self) -> None:
        """Finish what goes on in the background and let go of the store; a view only does the first."""
        self._later.finish()
        if self._owner:
            self._store.close()

    def in_namespace(self, namespace: str) -> Memories:
        """The same store, another namespace."""
        view = self._view()
        view._namespace = checks.name(namespace, what="The namespace")
        view._session = None
        return view

    def in_session(self, id: str) -> Memories:
        """The same memories, within a session: what is written belongs to it, what is recalled is noted.

        As a context manager it starts the session and ends it.
        """
        view = self._view()
        view._session = checks.name(id, what="The session")
        return view

    def _view(self) -> Memories:
        view = copy.copy(self)
        view._owner = False
        return view

    def _now(self) -> datetime:
        now = self._clock()
        return now if now.tzinfo else now.replace(tzinfo=UTC)

    # writing

    def remember(self, text: str, *, on_duplicate: OnDuplicate = "reinforce", **fields: Any) -> Remembered:
        """Keep a text; `fields` are those of `Draft`.

        The same text again reinforces the memory that is there (`on_duplicate="keep"` adds another); a turn
        of a conversation, which has a `speaker`, is never merged. Near-duplicates are linked, not dropped.
        """
        draft = self._draft(text, fields)
        checks.choice(on_duplicate, ("reinforce", "keep"), what="way to treat duplicates")
        return remembering.remember(
            self._store, self._meaning, self._namespace, draft, on_duplicate, self._now()
        )

    def _draft(self, text: str, fields: Mapping[str, Any]) -> Draft:
        try:
            return Draft(text, **{"session": self._session, **fields})
        except TypeError:
            unknown = ", ".join(sorted(set(fields) - set(Draft.__dataclass_fields__)))
            raise InvalidInput(
                f"A memory has no field {unknown}: see recollect.Draft for those it has."
            ) from None

    def remember_many(
        self,
        drafts: Iterable[Draft | str],
        *,
        on_duplicate: OnDuplicate = "reinforce",
        progress: Progress | None = None,
    ) -> list[Remembered]:
        """Keep many texts: rows first, found by keyword at once, then vectors, with progress.

        They are written in batches; a draft that can't be used stops the work there, and the error says which
        one it was and what was kept before it.
        """
        checks.choice(on_duplicate, ("reinforce", "keep"), what="way to treat duplicates")
        ready = (self._ready(draft) for draft in drafts)
        sized = [*ready] if isinstance(drafts, Sequence) else ready
        return remembering.remember_many(
            self._store, self._meaning, self._namespace, sized, on_duplicate, self._now(), progress
        )

    def _ready(self, draft: Draft | str) -> Draft:
        if isinstance(draft, str):
            return self._draft(draft, {})
        if not isinstance(draft, Draft):
            raise InvalidInput(f"A draft must be a recollect.Draft or a string, not {type(draft).__name__}.")
        return draft if draft.session or not self._session else replace(draft, session=self._session)

    def update(self, id: str, **changes: Any) -> Memory:
        """Change fields of a memory (those of `Draft`); a new `text` is analysed and embedded anew."""
        now = self._now()
        memory = self.get(id)
        if memory.kind == "passage":
            raise InvalidInput(f"{id} is a passage of {memory.document!r}: change that and ingest it again.")
        record = drafting.changed(memory, changes, now)
        embedder = remembering.writer_of(self._store, self._meaning, self._namespace)
        generation = generation_of(embedder) if embedder else None
        if embedder is not None and {"text", "speaker"} & changes.keys():
            record = replace(record, vector=remembering.vector_of(self._meaning, embedder, record))
        self._store.change(self._namespace, record, generation=generation, now=now, session=self._session)
        return self.get(id)

    def supersede(self, old: str, new: str, *, at: When | None = None) -> None:
        """`new` took the place of `old`: its validity ends when `new` began to hold (or `at`)."""
        if old == new:
            raise InvalidInput("A memory can't supersede itself: give two ids.")
        successor = self.get(new)
        moment_of_change = moment_or_none(at) or successor.valid_from or successor.created_at
        self._store.supersede(self._namespace, old, new, moment_of_change, self._now())

    def relate(self, source: str, target: str, type: str = "related_to", origin: str = "user") -> Relation:
        """Draw a typed edge between two memories; drawing it again changes nothing."""
        if source == target:
            raise InvalidInput("A memory can't be related to itself: give two ids.")
        relation = Relation(
            source,
            target,
            checks.name(type, what="The type of a relation"),
            checks.name(origin, what="The origin of a relation"),
            self._now(),
        )
        self._store.relate(self._namespace, relation)
        return relation

    def unrelate(self, source: str, target: str, type: str | None = None) -> int:
        """Remove the edges from one memory to another, of one type or of all; says how many there were."""
        chosen = checks.optional_name(type, what="The type of a relation")
        return self._store.unrelate(self._namespace, source, target, chosen, self._now())

    def reinforce(self, id: str, amount: float = 0.1) -> Memory:
        """Make a memory more salient, up to 1."""
        return self._touch(id, checks.fraction(amount, what="amount"))

    def deemphasize(self, id: str, amount: float = 0.1) -> Memory:
        """Make a memory less salient, down to 0."""
        return self._touch(id, -checks.fraction(amount, what="amount"))

    def _touch(self, id: str, amount: float) -> Memory:
        self._later.finish()
        self.get(id)
        keys = self._store.keys_of(self._namespace, [id])
        self._store.touch(
            self._namespace, keys, amount, self._now(), session=self._session, usage="reinforced", uses=0
        )
        return self.get(id)

    # forgetting

    def forget(
        self, ids: Names = None, *, everything: bool = False, expired: bool = False, **filters: Any
    ) -> Receipt:
        """Remove for good: row, keyword entry, vector, links and all that was derived, in one transaction.

        Say which: ids; or filters as in `recall` (session, tags, speaker, since, until, …), superseded ones
        included; or `expired=True`; or `everything=True` in this namespace.
        """
        self._later.finish()
        narrowing = {name for name, value in filters.items() if value not in (None, (), [], "", 0, False)}
        ways = [ids is not None, bool(filters), everything, expired]
        if sum(ways) != 1 or (filters and not narrowing - _NOT_NARROWING):
            raise InvalidInput(
                "Say what to forget in one way: ids, filters, expired=True or everything=True."
            )
        if "namespaces" in filters:
            raise InvalidInput("Forgetting stays in one namespace: use in_namespace(name).forget(...).")
        if ids is not None:
            return self._store.forget(self._namespace, checks.names(ids, what="An id"), self._now())
        if filters:
            scope = self.scope(**{"include_superseded": True, "kinds": ("memory", "passage"), **filters})
            return self._store.forget(self._namespace, scope, self._now())
        return self._store.forget(self._namespace, "expired" if expired else "all", self._now())

    def delete(self, ids: Names) -> int:
        """Hide memories; `restore` brings them back, `forget` removes them for good."""
        chosen = checks.names(ids, what="An id")
        return self._store.set_deleted(self._namespace, chosen, self._now(), self._now())

    def restore(self, ids: Names) -> int:
        """Bring back memories that were deleted."""
        return self._store.set_deleted(self._namespace, checks.names(ids, what="An id"), None, self._now())

    # finding

    def scope(
        self,
        *,
        namespaces: Names = None,
        sector: Names = None,
        tier: Names = None,
        kinds: tuple[Kind, ...] = ("memory",),
        tags: Names = None,
        speaker: Names = None,
        session: Names = None,
        document: Names = None,
        language: Names = None,
        min_salience: float = 0.0,
        include_superseded: bool = False,
        since: When | None = None,
        until: When | None = None,
        as_of: When | None = None,
    ) -> Scope:
        """Which memories may answer. Several values of one filter mean any of them; several tags mean all."""
        begin, end = moment_or_none(since), moment_or_none(until)
        checks.interval(begin, end)
        languages = checks.names(language, what="A language")
        return Scope(
            namespaces=checks.names(namespaces, what="The namespace") or (self._namespace,),
            now=self._now(),
            sectors=checks.choices(sector, SECTORS, what="sector"),
            tiers=checks.choices(tier, TIERS, what="tier"),
            kinds=kinds,
            tags=checks.names(tags, what="A tag"),
            speakers=checks.names(speaker, what="The speaker"),
            sessions=checks.names(session, what="The session"),
            documents=checks.names(document, what="The document"),
            languages=tuple(code for name in languages if (code := checks.language(name))),
            min_salience=checks.fraction(min_salience, what="min_salience"),
            since=begin,
            until=end,
            as_of=None if as_of is None else _end_of(as_of),
            include_superseded=include_superseded,
        )

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        mode: Mode = "hybrid",
        fusion: Fusion = "mix",
        weights: Mapping[str, float] | None = None,
        threshold: float | None = None,
        timeframe: str | tuple[When | None, When | None] | None = None,
        include_documents: bool = False,
        neighbours: int = 0,
        prefilter_limit: int = 100,
        rerank: Names = None,
        expand: recalling.Expansion = (),
        reinforce: bool = True,
        **filters: Any,
    ) -> Recall:
        """The memories that answer best, each with its score, marks and reasons.

        `filters` are those of `scope`: namespaces, sector, tier, tags, speaker, session, document, language,
        min_salience, include_superseded, since, until, as_of. A `timeframe` ("last week", or a pair of
        moments) is a filter; a time that stands in the query is a boost. `neighbours` brings what was said
        that many places before and after. What is returned grows more salient, unless `reinforce=False`.
        """
        asked = checks.query(query)
        given = self._given_time(timeframe, filters)
        if include_documents:
            filters.setdefault("kinds", ("memory", "passage"))
        scope = self.scope(**filters)
        options = recalling.Options(
            mode=checks.choice(mode, MODES, what="mode"),
            fusion=checks.choice(fusion, FUSIONS, what="fusion"),
            limit=checks.limit(limit),
            weights=weights,
            threshold=None
            if threshold is None
            else checks.fraction(threshold, what="threshold", lowest=-1.0),
            factors=checks.choices(rerank, FACTORS, what="factor to rerank by"),
            neighbours=checks.limit(neighbours, what="neighbours", lowest=0, highest=20),
            prefilter_limit=checks.limit(prefilter_limit, what="prefilter_limit", highest=10_000),
            expansion=(expand,) if isinstance(expand, str) else expand,
            languages=scope.languages,
        )
        recalling.check_weights(options)
        found, keys = recalling.recall(self._store, self._meaning, scope, asked, options, given)
        if reinforce and found:
            self._note_use(found, keys, scope.now)
        return found

    def _given_time(
        self, timeframe: str | tuple[When | None, When | None] | None, filters: dict[str, Any]
    ) -> TimeUsed | None:
        """The hard filter that the caller asked for, put among the filters."""
        phrase = ""
        if timeframe is not None:
            if "since" in filters or "until" in filters:
                raise InvalidInput("Give either a timeframe or since/until, not both.")
            if isinstance(timeframe, str):
                frame = parse_timeframe(timeframe, self._now())
                phrase, filters["since"], filters["until"] = frame.phrase, frame.start, frame.end
            else:
                filters["since"], filters["until"] = timeframe
        since, until = (moment_or_none(filters.get(name)) for name in ("since", "until"))
        return TimeUsed(since, until, phrase, "given") if since or until else None

    def _note_use(self, found: Recall, keys: Sequence[int], now: datetime) -> None:
        by_namespace: dict[str, list[int]] = {}
        for hit, key in zip(found, keys, strict=True):
            by_namespace.setdefault(hit.memory.namespace, []).append(key)
        session = self._session

        def note() -> None:
            for namespace, used in by_namespace.items():
                self._store.touch(
                    namespace,
                    used,
                    RECALL_REINFORCEMENT,
                    now,
                    session=session if namespace == self._namespace else None,
                    usage="recalled",
                )

        self._later.do(note)

    def search_documents(self, query: str, *, limit: int = 10, **options: Any) -> Recall:
        """The passages of documents that answer best; options as in `recall`."""
        return self.recall(query, limit=limit, **{**options, "kinds": ("passage",)})

    def context(self, query: str, max_tokens: int = 1000, **options: Any) -> Context:
        """The best memories that fit a token budget, oldest first, dated and quoted as data for a prompt."""
        checks.limit(max_tokens, what="max_tokens", lowest=50, highest=1_000_000)
        found = self.recall(query, **{"limit": 50, **options})
        return assembling.assemble(found, max_tokens, self._count_tokens, found.notes)

    # reading

    @overload
    def get(self, ids: str) -> Memory: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, ids: Iterable[str]) -> list[Memory]: ...
    def get(self, ids: str | Iterable[str]) -> Memory | list[Memory]:
        """A memory by its id, or several in the order asked for; deleted ones too."""
        wanted = checks.names(ids, what="An id")
        found = {memory.id: memory for memory in self._store.get(self._namespace, wanted, self._now())}
        for id in wanted:
            if id not in found:
                raise NoSuchMemory(f"There is no memory {id!r} in the namespace {self._namespace!r}.")
        return found[wanted[0]] if isinstance(ids, str) else [found[id] for id in wanted]

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

    @overload
    def timeline(self, anchor: str, before: int = 5, after: int = 5) -> Timeline: ...
    @overload
    def timeline(
        self,
        anchor: None = None,
        *,
        timeframe: str | tuple[When | None, When | None] | None = None,
        limit: int = 100,
        **filters: Any,
    ) -> list[Preview]: ...
    def timeline(
        self,
        anchor: str | None = None,
        before: int = 5,
        after: int = 5,
        *,
        timeframe: str | tuple[When | None, When | None] | None = None,
        limit: int = 100,
        **filters: Any,
    ) -> Timeline | list[Preview]:
        """What was remembered around a memory; or, without one, previews of what lies in an interval.

        `timeframe` ("last week", or a pair of moments) and `filters` (since, until, …) are as in `recall`.
        """
        if anchor is not None:
            return self._around(self.get(anchor), before, after)
        self._given_time(timeframe, filters)
        scope = self.scope(**{"include_superseded": True, **filters})
        return [_preview(memory) for memory in self._store.in_scope(scope, checks.limit(limit))]

    def _around(self, anchor: Memory, before: int, after: int) -> Timeline:
        checks.limit(before, what="before", lowest=0)
        checks.limit(after, what="after", lowest=0)
        earlier, later = self._store.around(self._namespace, anchor, before, after, self._now())
        ids = {memory.session for memory in (*earlier, anchor, *later) if memory.session}
        sessions = self._store.sessions(self._namespace, ids=sorted(ids)) if ids else []
        return Timeline(anchor, tuple(earlier), tuple(later), {session.id: session for session in sessions})

    def conversation_timeline(self, topic: str, limit: int = 50, **options: Any) -> list[Memory]:
        """What was said about a topic, oldest first: how a decision came about."""
        found = self.recall(topic, limit=limit, **{"include_superseded": True, **options})
        return sorted((hit.memory for hit in found), key=lambda memory: (memory.created_at, memory.id))

    def session_context(self, id: str) -> SessionContext | None:
        """The session that used a memory last, and how; None when none did."""
        self._later.finish()
        self.get(id)
        found = self._store.last_use(self._namespace, id)
        if found is None:
            return None
        session, usage, touched = found
        return SessionContext(self.session(session), touched, usage)

    def relations(self, id: str) -> list[Relation]:
        """The edges of a memory, both ways."""
        self.get(id)
        return self._store.relations(self._namespace, id)

    # sessions

    def start_session(
        self, id: str | None = None, *, agent: str | None = None, started_at: When | None = None
    ) -> Session:
        """Begin a session, or go on with one that is there."""
        name = drafting.new_id() if id is None else checks.name(id, what="The session")
        known = self._store.sessions(self._namespace, ids=[name])
        begun = known[0].started_at if known else self._now()
        session = Session(
            name,
            self._namespace,
            moment_or_none(started_at) or begun,
            agent=checks.optional_name(agent, what="The agent") or (known[0].agent if known else None),
            summary=known[0].summary if known else None,
        )
        self._store.save_session(session, self._now())
        return session

    def end_session(
        self, id: str | None = None, *, summary: str | None = None, ended_at: When | None = None
    ) -> Session:
        """End a session (the current one, if none is named), with a summary if there is one to keep."""
        self._later.finish()
        session = self.session(id or self._session or "")
        text = checks.optional_text(summary, what="The summary") or session.summary
        ended = replace(session, ended_at=moment_or_none(ended_at) or self._now(), summary=text)
        if ended.ended_at != ended.started_at:
            checks.interval(ended.started_at, ended.ended_at)
        self._store.save_session(ended, self._now())
        return ended

    def summarise_session(self, id: str, summary: str | None = None) -> Session:
        """Keep a summary; without one, the beginnings of the session's most important memories."""
        session = self.session(id)
        text = checks.optional_text(summary, what="The summary") or self._extract(id)
        summarised = replace(session, summary=text)
        self._store.save_session(summarised, self._now())
        return summarised

    def _extract(self, session: str) -> str:
        memories = self._store.in_scope(self.scope(session=session, include_superseded=True), 1000)
        if not memories:
            raise InvalidInput(f"The session {session!r} has no memories to summarise: give a summary.")
        telling = sorted(memories, key=lambda memory: (-memory.importance, memory.sector == "episodic"))[:3]
        ordered = [memory for memory in memories if memory in telling]
        return " · ".join(_shortened(memory.summary or memory.content, PREVIEW_LENGTH) for memory in ordered)

    def session(self, id: str) -> Session:
        """One session."""
        found = self._store.sessions(self._namespace, ids=[id])
        if not found:
            raise NoSuchSession(f"There is no session {id!r} in the namespace {self._namespace!r}.")
        return found[0]

    def sessions(
        self, *, since: When | None = None, until: When | None = None, limit: int = 100
    ) -> list[Session]:
        """Sessions, newest first."""
        begin, end = moment_or_none(since), moment_or_none(until)
        checks.interval(begin, end)
        return self._store.sessions(self._namespace, since=begin, until=end, limit=checks.limit(limit))

    # documents

    def ingest(
        self,
        source: str | Path,
        *,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Ingested:
        """Split Markdown or plain text into passages along its structure; the same name again replaces them.

        A `Path` is read; a string is the text itself, and then needs a `name`.
        """
        text, label = _document(source, name)
        known = bool(self._store.documents(self._namespace, label))
        now = self._now()
        extra = checks.metadata(metadata or {})
        document, removed, changed = remembering.ingest(
            self._store, self._meaning, self._namespace, label, text, now, extra
        )
        embedder = remembering.writer_of(self._store, self._meaning, self._namespace)
        if embedder is not None:
            remembering.embed_pending(self._store, self._meaning, self._namespace, embedder, now, progress)
        if not changed:
            return Ingested(document, "unchanged")
        return Ingested(document, "replaced" if known else "added", removed)

    def documents(self) -> list[Document]:
        """The documents of this namespace, by name."""
        return [document for document, _ in self._store.documents(self._namespace)]

    def forget_document(self, name: str) -> Receipt:
        """Remove a document, its passages and all that was derived from them."""
        known = checks.name(name, what="The name")
        receipt = self._store.forget_document(self._namespace, known, self._now())
        return replace(receipt, documents=1)

    # upkeep

    def reembed(self, progress: Progress | None = None) -> int:
        """Give every memory a vector of the embedder that is set, then search those; resumable.

        Returns how many still wait (0 unless the embedder failed on the way).
        """
        facts = self._store.facts([self._namespace]).get(self._namespace)
        embedder = self._meaning.writer(facts)
        if embedder is None:
            raise EmbedderMissing(
                "No embedder is installed or set: pip install recollect-arctic-s, or set embedder to another."
            )
        waiting = remembering.embed_pending(
            self._store, self._meaning, self._namespace, embedder, self._now(), progress
        )
        generation = generation_of(embedder)
        if waiting == 0 and facts is not None and (facts.generation != generation or facts.next_generation):
            self._store.switch_generation(self._namespace, generation, self._now())
        return waiting

    def stats(self) -> Stats:
        """This namespace in numbers."""
        self._later.finish()
        numbers = dict(self._store.stats(self._namespace, self._now()))
        facts = self._store.facts([self._namespace]).get(self._namespace)
        active = facts.generation if facts else None
        pending = self._store.count_pending(self._namespace, active) if active else 0
        notes = []
        if pending:
            notes.append(f"{pending:,} memories wait for a vector: run recollect reembed.")
        if facts and facts.next_generation:
            notes.append(f"Vectors of {facts.next_generation.model} are being made: run recollect reembed.")
        return Stats(
            namespace=self._namespace,
            pending_vectors=pending if active else numbers["memories"] + numbers["passages"],
            embedder=active.model if active else None,
            notes=tuple(notes),
            **numbers,
        )

    def namespaces(self) -> Mapping[str, int]:
        """Every namespace of the store and how many live memories it has."""
        return self._store.namespaces()

    def doctor(self, *, rebuild: bool = False, progress: Progress | None = None) -> list[Finding]:
        """What does not agree between rows, keyword index, vectors and links; `rebuild` mends it first."""
        self._later.finish()
        if rebuild:
            self._store.rebuild(analyse, progress)
        return self._store.check(analyse)

    def export_records(self, *, vectors: bool = False) -> Iterator[dict[str, Any]]:
        """Everything in this namespace as plain records, losing nothing; vectors only when asked for."""
        self._later.finish()
        return self._store.dump(self._namespace, vectors=vectors)

    def import_records(self, records: Iterable[Mapping[str, Any]]) -> Mapping[str, int]:
        """Write what `export_records` gave, all or nothing; ids that are there already are left alone."""
        return self._store.undump(self._namespace, records, analyse, self._now())


def _document(source: str | Path, name: str | None) -> tuple[str, str]:
    if isinstance(source, Path):
        try:
            text = source.read_text("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidInput(f"{source} is not UTF-8 text: convert it first.") from None
        except OSError as error:
            raise InvalidInput(f"{source} can't be read: {error.strerror}.") from error
        label = name or str(source)
    elif name is None:
        raise InvalidInput("A document given as text needs a name: ingest(text, name='notes').")
    else:
        text, label = source, name
    what = f"The document {label!r}"
    return checks.text(text, what=what, longest=checks.LONGEST_DOCUMENT), checks.name(label, what="The name")


def _end_of(as_of: When) -> datetime:
    """A moment; for a date alone, the end of that day: what was believed on it."""
    given = moment(as_of)
    if isinstance(as_of, str) and len(as_of.strip()) == len("2026-03-01"):
        return given + timedelta(days=1, microseconds=-1)
    return given


def _preview(memory: Memory) -> Preview:
    return Preview(
        memory.id,
        memory.created_at,
        memory.kind,
        memory.sector,
        memory.tags,
        _shortened(memory.summary or memory.content, PREVIEW_LENGTH),
        memory.session,
        memory.speaker,
        memory.superseded_by is not None,
    )


def _shortened(text: str, length: int) -> str:
    """The beginning of a text, on one line.

    >>> _shortened("one  two\\nthree", 9)
    'one two …'
    """
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
