"""Finding: recall and what is built on it, timelines, context for a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Unpack, overload

from recollect import checks, recalling, understanding
from recollect.errors import InvalidInput
from recollect.frozen import maker
from recollect.later import Use
from recollect.memories.front import Front, Id
from recollect.query.timeframe import parse_timeframe
from recollect.times import moment, moment_or_none
from recollect.types import (
    CONFIDENCES,
    FACTORS,
    FUSIONS,
    KINDS,
    MODES,
    SECTORS,
    TIERS,
    Confidence,
    Context,
    Filters,
    Fusion,
    Hit,
    Memory,
    Mode,
    Names,
    Place,
    Preview,
    Recall,
    Scope,
    Timeline,
    TimeUsed,
    When,
    WhyNot,
)

PREVIEW_LENGTH = 100
WORTH_TELLING = 0.25
"""What scores less than this share of the best hit is left out of a context or a story."""

TimeGiven = str | tuple[When | None, When | None] | None


def _options(
    mode: Mode,
    fusion: Fusion,
    limit: int,
    weights: Mapping[str, float] | None,
    threshold: float | None,
    rerank: Names,
    neighbours: int,
    prefilter_limit: int,
    min_confidence: Confidence,
    expand: understanding.Expansion = (),
) -> understanding.Options:
    """How to search and rank, checked."""
    return understanding.checked(
        mode=checks.choice(mode, MODES, what="mode"),
        fusion=checks.choice(fusion, FUSIONS, what="fusion"),
        limit=checks.limit(limit),
        weights=weights,
        threshold=threshold,
        factors=checks.choices(rerank, FACTORS, what="factor to rerank by"),
        neighbours=checks.limit(neighbours, what="neighbours", lowest=0, highest=20),
        prefilter_limit=checks.limit(prefilter_limit, what="prefilter_limit", highest=10_000),
        expansion=expand,
        min_confidence=checks.choice(min_confidence, CONFIDENCES, what="min_confidence"),
    )


_known_options: Callable[..., understanding.Options] = lru_cache(maxsize=100, typed=True)(_options)
"""Most recalls ask for the same, in plain values."""
_PLAIN = frozenset({str, int, float, type(None)})
_FILTERS = frozenset(Filters.__annotations__)
_NEEDING_A_VALUE = frozenset({"min_salience", "include_superseded"})
"""Every other filter that is None is none."""


class Finding(Front):
    """What finds memories."""

    def scope(self, **filters: Unpack[Filters]) -> Scope:
        """Which memories may answer, checked; for `forget`."""
        if not _FILTERS.issuperset(filters):
            checks.known(filters, Filters.__annotations__, what="filter")
        given: dict[str, Any] = {
            name: value for name, value in filters.items() if value is not None or name in _NEEDING_A_VALUE
        }
        if not given:
            return maker(Scope)((self._namespace,), self._now())
        since, until = moment_or_none(given.get("since")), moment_or_none(given.get("until"))
        checks.interval(since, until)
        languages = checks.names(given.get("language"), what="A language")
        return Scope(
            namespaces=checks.names(given.get("namespace"), what="The namespace") or (self._namespace,),
            now=self._now(),
            sectors=checks.choices(given.get("sector"), SECTORS, what="sector"),
            tiers=checks.choices(given.get("tier"), TIERS, what="tier"),
            kinds=checks.choices(given.get("kind"), KINDS, what="kind") or ("memory",),
            tags=checks.names(given.get("tags"), what="A tag"),
            speakers=checks.names(given.get("speaker"), what="The speaker"),
            sessions=checks.names(given.get("session"), what="The session"),
            documents=checks.names(given.get("document"), what="The document"),
            languages=tuple(code for name in languages if (code := checks.language(name))),
            min_salience=checks.fraction(given.get("min_salience", 0.0), what="min_salience"),
            since=since,
            until=until,
            as_of=None if given.get("as_of") is None else _end_of(given["as_of"]),
            include_superseded=checks.flag(given.get("include_superseded", False), what="include_superseded"),
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
        timeframe: TimeGiven = None,
        include_documents: bool = False,
        neighbours: int = 0,
        prefilter_limit: int = 100,
        rerank: Names = None,
        expand: understanding.Expansion = (),
        min_confidence: Confidence = "none",
        reinforce: bool = True,
        **filters: Unpack[Filters],
    ) -> Recall:
        """The memories that answer best, each with its score, marks and reasons.

        `filters` are those of `Filters`. A `timeframe` ("last week", or a pair of moments) is a filter; a
        time that stands in the query is a boost. `threshold` is the least cosine of the semantic leg.
        `neighbours` brings what was said that many places before and after. With `min_confidence` "weak" or
        "strong", nothing is returned when no answer seems to be there. What is returned grows more salient,
        unless `reinforce=False`; within a session it is linked as recalled either way.
        """
        given = (mode, fusion, limit, weights, threshold, rerank, neighbours, prefilter_limit, min_confidence)
        is_plain = isinstance(expand, tuple) and not expand and _PLAIN.issuperset(map(type, given))
        options = _known_options(*given) if is_plain else _options(*given, expand)
        found = self._recall(query, options, timeframe, filters, include_documents=include_documents)
        self._note_use(found, raised=checks.flag(reinforce, what="reinforce"))
        return found

    def _recall(
        self,
        query: str,
        options: understanding.Options,
        timeframe: TimeGiven,
        filters: Filters,
        *,
        include_documents: bool,
    ) -> Recall:
        asked = checks.query(query)
        given = self._given_time(timeframe, filters)
        if checks.flag(include_documents, what="include_documents"):
            filters.setdefault("kind", KINDS)
        return recalling.recall(self._store, self._meaning, self.scope(**filters), asked, options, given)

    def _given_time(self, timeframe: TimeGiven, filters: Filters) -> TimeUsed | None:
        """The hard filter that the caller asked for, put among the filters."""
        phrase = ""
        if timeframe is not None:
            if "since" in filters or "until" in filters:
                raise InvalidInput("Give either a timeframe or since/until, not both.")
            if isinstance(timeframe, str):
                frame = parse_timeframe(timeframe, self._now())
                phrase, filters["since"], filters["until"] = frame.phrase, frame.start, frame.end
            elif isinstance(timeframe, tuple) and len(timeframe) == 2:
                filters["since"], filters["until"] = timeframe
            else:
                raise InvalidInput('A timeframe is words such as "last week", or a pair of moments.')
        since, until = filters.get("since"), filters.get("until")
        if since is None and until is None:
            return None
        return TimeUsed(moment_or_none(since), moment_or_none(until), phrase, "given")

    def _note_use(self, hits: Iterable[Hit], *, raised: bool) -> None:
        if self._store.read_only or not (raised or self._session):
            return
        by_namespace: dict[str, list[str]] = {}
        for hit in hits:
            by_namespace.setdefault(hit.memory.namespace, []).append(hit.memory.id)
        for namespace, used in by_namespace.items():
            session = self._session if namespace == self._namespace else None
            self._later.note(Use(namespace, used, session, raised, self._now()))

    def why_not(self, /, query: str, id: Id, **options: Any) -> WhyNot:
        """Why a recall with these options does not return a memory: out of scope, superseded, ranked 37th …

        Options as in `recall`. Nothing is marked as used.
        """
        from recollect import missing

        alone = self.in_namespace(self._namespace)
        memory = alone._one(id)
        options |= {"reinforce": False}
        returned = alone.recall(query, **options)
        deeper = alone.recall(query, **options | {"limit": missing.DEEPEST, "min_confidence": "none"})
        filters: Any = {name: options[name] for name in Filters.__annotations__ if name in options}
        self._given_time(options.get("timeframe"), filters)
        if options.get("include_documents"):
            filters.setdefault("kind", KINDS)
        return missing.why_not(memory, self.scope(**filters), query, returned, deeper)

    def search_documents(self, /, query: str, *, limit: int = 10, **options: Any) -> Recall:
        """The passages of documents that answer best; options as in `recall`."""
        return self.recall(query, limit=limit, **{**options, "kind": "passage"})

    def context(self, /, query: str, max_tokens: int = 1000, **options: Any) -> Context:
        """The best memories that fit a token budget, oldest first, dated and quoted as data for a prompt.

        Only what is in it counts as recalled. Options as in `recall`.
        """
        from recollect import assembling

        checks.limit(max_tokens, what="max_tokens", lowest=50, highest=1_000_000)
        raised = options.pop("reinforce", True)
        alone = self.in_namespace(self._namespace)
        found = alone.recall(query, **{"limit": 50, **options, "reinforce": False})
        worth = _worth_telling(found)
        context = assembling.assemble(worth, max_tokens, self._count_tokens, found)
        taken = {(memory.namespace, memory.id) for memory in context.memories}
        self._note_use(
            [hit for hit in worth if (hit.memory.namespace, hit.memory.id) in taken], raised=raised
        )
        return context

    def conversation_timeline(self, /, topic: str, limit: int = 50, **options: Any) -> list[Memory]:
        """What was said about a topic, oldest first: how a decision came about."""
        found = self.recall(topic, limit=limit, **{"include_superseded": True, **options})
        told = (hit.memory for hit in _worth_telling(found))
        return sorted(told, key=lambda memory: (memory.created_at, memory.id))

    @overload
    def timeline(self, anchor: Id, before: int = 5, after: int = 5) -> Timeline: ...
    @overload
    def timeline(
        self,
        anchor: None = None,
        *,
        timeframe: TimeGiven = None,
        limit: int = 100,
        older_than: Place | None = None,
        **filters: Unpack[Filters],
    ) -> list[Preview]: ...
    def timeline(
        self,
        anchor: Id | None = None,
        before: int = 5,
        after: int = 5,
        *,
        timeframe: TimeGiven = None,
        limit: int = 100,
        older_than: Place | None = None,
        **filters: Unpack[Filters],
    ) -> Timeline | list[Preview]:
        """What was remembered around a memory; or, without one, previews of what lies in an interval.

        `timeframe` ("last week", or a pair of moments) and `filters` (since, until, …) are as in `recall`.
        The newest `limit` are given, oldest first; those `older_than` the first of them, a `Place`, are the
        page before.
        """
        if anchor is not None:
            return self._around(self._one(anchor), before, after)
        self._given_time(timeframe, filters)
        filters.setdefault("include_superseded", True)
        scope = replace(self.scope(**filters), older_than=older_than)
        return [preview(memory) for memory in self._store.in_scope(scope, checks.limit(limit))]

    def _around(self, anchor: Memory, before: int, after: int) -> Timeline:
        checks.limit(before, what="before", lowest=0)
        checks.limit(after, what="after", lowest=0)
        earlier, later = self._store.around(self._namespace, anchor, before, after, self._now())
        ids = {memory.session for memory in (*earlier, anchor, *later) if memory.session}
        sessions = self._store.sessions(self._namespace, ids=sorted(ids)) if ids else []
        return Timeline(anchor, tuple(earlier), tuple(later), {session.id: session for session in sessions})


def _worth_telling(found: Iterable[Hit]) -> list[Hit]:
    hits = list(found)
    return [hit for hit in hits if hit.score >= WORTH_TELLING * hits[0].score]


def _end_of(as_of: When) -> datetime:
    """A moment; for a date alone, the end of that day: what was believed on it."""
    given = moment(as_of)
    is_date = (
        len(as_of.strip()) == len("2026-03-01") if isinstance(as_of, str) else not isinstance(as_of, datetime)
    )
    return given + timedelta(hours=23, minutes=59, seconds=59, microseconds=999_999) if is_date else given


def preview(memory: Memory) -> Preview:
    """One line of a timeline."""
    return Preview(
        memory.id,
        memory.created_at,
        memory.kind,
        memory.sector,
        memory.tags,
        shortened(memory.summary or memory.content, PREVIEW_LENGTH),
        memory.session,
        memory.speaker,
        memory.superseded_by is not None,
        memory.source,
        memory.trust,
    )


def shortened(text: str, length: int) -> str:
    """The beginning of a text, on one line.

    >>> shortened("one  two\\nthree", 9)
    'one two …'
    """
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
