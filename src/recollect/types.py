"""The nouns: what goes in, what is kept, what comes back. Frozen and plain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, field
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal, TypedDict, get_args

from recollect.frozen import Later, dataclass

Sector = Literal["episodic", "semantic", "procedural", "emotional", "reflective"]
Tier = Literal["session", "project", "global"]
Kind = Literal["memory", "passage"]
Trust = Literal["high", "normal", "low"]
Mode = Literal["hybrid", "semantic", "keyword", "auto"]
Fusion = Literal["mix", "rrf", "weighted", "rerank", "fallback"]
Match = Literal["semantic", "keyword", "both"]
Confidence = Literal["strong", "weak", "none"]
Usage = Literal["created", "recalled", "updated", "reinforced"]
OnDuplicate = Literal["reinforce", "keep"]
Factor = Literal["similarity", "importance", "recency"]
Reading = Literal["known", "foreign", "unread"]

SECTORS: tuple[Sector, ...] = get_args(Sector)
TIERS: tuple[Tier, ...] = get_args(Tier)
KINDS: tuple[Kind, ...] = get_args(Kind)
TRUSTS: tuple[Trust, ...] = get_args(Trust)
MODES: tuple[Mode, ...] = get_args(Mode)
FUSIONS: tuple[Fusion, ...] = get_args(Fusion)
FACTORS: tuple[Factor, ...] = get_args(Factor)
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)
READINGS: tuple[Reading, ...] = get_args(Reading)

Progress = Callable[[str, int, int | None], None]
"""Called as work goes on: what is being done, how much of it is done, and how much there is, if known."""

When = date | datetime | str
"""A moment: an aware datetime, a naive one (taken as UTC), a date (its beginning), or ISO 8601 text."""

Names = str | Iterable[str] | None
"""One name or several."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory to be written; everything but the text may be left out.

    A `speaker` makes it a turn of a conversation, which is never merged with another. `importance` (0..1)
    is where its salience starts. `vector` is for callers who embed elsewhere, with the store's own model.
    """

    text: str
    _: KW_ONLY
    id: str | None = None
    session: str | None = None
    speaker: str | None = None
    created_at: When | None = None
    sector: Sector | None = None
    tier: Tier = "project"
    tags: Iterable[str] = ()
    files: Iterable[str] = ()
    importance: float = 0.5
    summary: str | None = None
    language: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    trust: Trust = "normal"
    valid_from: When | None = None
    valid_until: When | None = None
    expires_at: When | None = None
    vector: Sequence[float] | None = None


class MemoryFields(TypedDict, total=False):
    """What may be said of a text besides the text."""

    session: str | None
    speaker: str | None
    created_at: When | None
    sector: Sector | None
    tier: Tier
    tags: Iterable[str]
    files: Iterable[str]
    importance: float
    summary: str | None
    language: str | None
    metadata: Mapping[str, Any]
    source: str | None
    trust: Trust
    valid_from: When | None
    valid_until: When | None
    expires_at: When | None


class DraftFields(MemoryFields, total=False):
    """The fields of a `Draft`."""

    id: str | None
    vector: Sequence[float] | None


class Changes(MemoryFields, total=False):
    """What may be changed of a memory."""

    text: str


class Filters(TypedDict, total=False):
    """Which memories may answer. Several values of one filter mean any of them; several tags mean all."""

    namespace: Names
    sector: Names
    tier: Names
    kind: Names
    tags: Names
    speaker: Names
    session: Names
    document: Names
    language: Names
    min_salience: float
    include_superseded: bool
    since: When | None
    until: When | None
    as_of: When | None


@dataclass(frozen=True, slots=True)
class Memory(Later):
    """One thing remembered. `salience` is what it was at the moment of reading, decay included."""

    id: str
    namespace: str
    content: str
    created_at: datetime
    updated_at: datetime
    accessed_at: datetime | None
    sector: Sector
    tier: Tier
    kind: Kind
    importance: float
    salience: float
    access_count: int
    token_count: int
    language: str
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    summary: str | None = None
    speaker: str | None = None
    session: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    trust: Trust = "normal"
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    superseded_by: str | None = None
    expires_at: datetime | None = None
    deleted_at: datetime | None = None
    document: str | None = None
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a draft: `added`, or `reinforced` when the same text was there already.

    `id` is that of the memory which now holds the text. One that is not `embedded` yet is found by its words.
    """

    id: str
    outcome: Literal["added", "reinforced"]
    embedded: bool = True
    near_duplicates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation or a piece of work, from its start to its end."""

    id: str
    namespace: str
    started_at: datetime
    ended_at: datetime | None = None
    agent: str | None = None
    summary: str | None = None
    memories: int = 0


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The session in which a memory was last used, and how."""

    session: Session
    memories_in_session: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed edge from one memory to another, and who drew it."""

    source: str
    target: str
    type: str
    origin: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Document:
    """A file or page that was split into passages; `name` tells it from others in its namespace."""

    id: str
    namespace: str
    name: str
    title: str
    passages: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a document: `unchanged` when its text was the same as before."""

    document: Document
    outcome: Literal["added", "replaced", "unchanged"]
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a list in the order of time was left: the last one seen, and its moment."""

    at: datetime
    id: str


@dataclass(frozen=True, slots=True)
class Scope:
    """Which memories may answer. It is part of every candidate query, never a filter after the cut.

    `since`/`until` bound `created_at` (half open); `as_of` asks what was believed at that moment.
    """

    namespaces: tuple[str, ...]
    now: datetime
    sectors: tuple[Sector, ...] = ()
    tiers: tuple[Tier, ...] = ()
    kinds: tuple[Kind, ...] = ("memory",)
    tags: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    min_salience: float = 0.0
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    include_superseded: bool = False
    older_than: Place | None = None


@dataclass(frozen=True, slots=True)
class Tuned:
    """How much each leg counts in the default fusion, as a namespace was tuned.

    It holds for vectors of one model (`generation` is its fingerprint), and for questions in languages that
    the model reads as well as those it was tuned on: it was made for them, half reads them, or hardly at all.
    """

    semantic: float
    keyword: float
    generation: str
    reading: Reading = "known"

    @property
    def weights(self) -> dict[str, float]:
        """As `recall` takes them."""
        return {"semantic": self.semantic, "keyword": self.keyword}


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg's opinion of a hit: its rank there (from 1), its raw score, and the share it gave."""

    rank: int
    score: float
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Multiplier:
    """One factor that the score was multiplied by, and why."""

    name: str
    value: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class TimeUsed:
    """The interval that was applied: `given` by the caller (a filter) or read in the `query` (a boost)."""

    start: datetime | None
    end: datetime | None
    phrase: str
    origin: Literal["given", "query"]


@dataclass(frozen=True, slots=True)
class Why(Later):
    """How a score came about: base (fused legs), plus what neighbours lent, times the multipliers.

    The base is the sum of the legs' shares and, with `fusion="weighted"`, of what was `added`.
    Where factors were asked for (`rerank=`), their mean takes the place of base and lent.
    """

    mode: Mode
    fusion: Fusion
    keyword: Leg | None
    semantic: Leg | None
    base: float
    lent: float = 0.0
    multipliers: tuple[Multiplier, ...] = ()
    factors: tuple[Multiplier, ...] = ()
    added: tuple[Multiplier, ...] = ()
    timeframe: TimeUsed | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Successor:
    """What took a superseded memory's place."""

    id: str
    content: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Hit(Later):
    """A memory that answers, how well, and why.

    The score (0..1) compares the hits of one recall; it is no probability that the hit is right.

    `highlights` are HTML: the text is escaped, and `<mark>` is the only element in it.
    """

    memory: Memory
    score: float
    match: Match
    highlights: Sequence[str]
    why: Why
    source_session: Session | None = None
    superseded_by: Successor | None = None
    related_count: int = 0
    neighbours: tuple[Memory, ...] = ()

    @property
    def is_superseded(self) -> bool:
        """Whether another memory has taken this one's place."""
        return self.memory.superseded_by is not None


class Recall(list[Hit]):
    """The hits, best first, and how they were found.

    `confidence` says whether an answer is likely to be among the first five: "strong", "weak", or "none",
    when it is better to say that nothing is known; `likelihood` (0..1) is what it comes from. `notes` says in
    words what a caller should know: that keyword search answered alone, and why.
    """

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        *,
        query: str = "",
        mode: Mode = "hybrid",
        fusion: Fusion = "mix",
        timeframe: TimeUsed | None = None,
        notes: tuple[str, ...] = (),
        sureness: Callable[[], tuple[Confidence, float]] | None = None,
    ) -> None:
        """`sureness` gives the confidence and the likelihood when one of them is first asked for."""
        super().__init__(hits)
        self.query = query
        self.mode = mode
        self.fusion = fusion
        self.timeframe = timeframe
        self.notes = notes
        self._sureness = sureness

    @cached_property
    def _sure(self) -> tuple[Confidence, float]:
        return self._sureness() if self._sureness else ("none", 0.0)

    @property
    def confidence(self) -> Confidence:
        """Whether an answer is likely to be among the first five."""
        return self._sure[0]

    @property
    def likelihood(self) -> float:
        """How likely that is."""
        return self._sure[1]

    def __getstate__(self) -> dict[str, Any]:
        """A copy knows how sure it is."""
        return {**self.__dict__, "_sure": self._sure, "_sureness": None}


@dataclass(frozen=True, slots=True)
class WhyNot:
    """What became of a memory in a recall: whether it was returned, its rank, and else the reasons in words.

    `hit` is there when it was ranked at all, with every number of its score.
    """

    memory: Memory
    returned: bool
    rank: int | None
    reasons: tuple[str, ...]
    hit: Hit | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """One line of a timeline: enough to decide whether to `get` the rest."""

    id: str
    created_at: datetime
    kind: Kind
    sector: Sector
    tags: tuple[str, ...]
    text: str
    session: str | None = None
    speaker: str | None = None
    superseded: bool = False
    source: str | None = None
    trust: Trust = "normal"


@dataclass(frozen=True, slots=True)
class Timeline:
    """What was remembered around one memory, oldest first, and the sessions it belongs to."""

    anchor: Memory
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]
    sessions: Mapping[str, Session]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A memory, what lies within two edges of it, and the edges; a session's neighbours are edges too."""

    centre: str
    memories: tuple[Preview, ...]
    edges: tuple[Relation, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Growth:
    """How many memories each day (in UTC) brought, by sector, and how many have which tenth of salience."""

    days: Mapping[str, Mapping[str, int]]
    salience: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """Memories assembled for a prompt: `text` is quoted data, oldest first, within the token budget.

    `confidence` is that of the recall, and the text says so where it is not strong.
    """

    text: str
    tokens: int
    memories: tuple[Memory, ...]
    left_out: int = 0
    notes: tuple[str, ...] = ()
    confidence: Confidence = "none"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What `forget` removed, counted."""

    memories: int = 0
    keyword_entries: int = 0
    vectors: int = 0
    session_links: int = 0
    relations: int = 0
    near_keys: int = 0
    documents: int = 0
    sessions: int = 0


@dataclass(frozen=True, slots=True)
class Stats:
    """A namespace in numbers."""

    namespace: str
    memories: int
    passages: int
    documents: int
    sessions: int
    relations: int
    superseded: int
    deleted: int
    expired: int
    sectors: Mapping[str, int]
    languages: Mapping[str, int]
    vectors: int
    pending_vectors: int
    embedder: str | None
    generations: tuple[str, ...]
    first: datetime | None
    last: datetime | None
    bytes: int
    tuned: Tuned | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """Something `doctor` found: what is wrong, how often, and whether a rebuild mends it."""

    check: str
    count: int
    message: str
    mendable: bool = True
