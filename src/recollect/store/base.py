"""Where is it kept? The Store: narrow, scoped, and the same for every backend.

A store keeps rows and answers with scored candidates; it knows nothing of embedders, fusions or questions.
Every method names its namespace, or takes a Scope that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from recollect.frozen import dataclass
from recollect.query.terms import KeywordQuery
from recollect.types import (
    Document,
    Finding,
    Kind,
    Memory,
    OnDuplicate,
    Place,
    Progress,
    Receipt,
    Relation,
    Scope,
    Sector,
    Session,
    Successor,
    Tier,
    Trust,
    Tuned,
    Usage,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"
"""A vector, or several as rows; numpy is imported only where they are used."""

Key: TypeAlias = int | tuple[str, int]
"""What a backend calls a memory or a session; a number within a namespace comes with its name."""


class Generation(NamedTuple):
    """The model that a set of vectors was made with."""

    model: str
    dimensions: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class NamespaceFacts:
    """What must be known of a namespace before it is searched."""

    languages: tuple[str, ...] = ()
    generation: Generation | None = None
    next_generation: Generation | None = None
    tuned: Tuned | None = None
    tuned_before: Tuned | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A memory, complete, as it is to be written. `vector` is None when it could not be embedded now."""

    id: str
    kind: Kind
    content: str
    terms: str
    hash: bytes
    created_at: datetime
    updated_at: datetime
    sector: Sector
    tier: Tier
    language: str
    importance: float
    salience: float
    salience_at: datetime
    token_count: int
    trust: Trust = "normal"
    access_count: int = 0
    accessed_at: datetime | None = None
    session: str | None = None
    position: int | None = None
    speaker: str | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    metadata: str = "{}"
    source: str | None = None
    summary: str | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    superseded_by: str | None = None
    superseded_at: datetime | None = None
    expires_at: datetime | None = None
    deleted_at: datetime | None = None
    document: str | None = None
    near_keys: tuple[int, ...] = ()
    vector: Vector | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a record."""

    id: str
    outcome: Literal["added", "reinforced"]
    embedded: bool = False
    near_duplicates: tuple[str, ...] = ()


class Candidate(NamedTuple):
    """A memory that may answer, its score in one leg, and what ranking needs to know of all of them.

    There are hundreds for every question, so `created` is as it was read: microseconds since 1970. Whatever
    grows and fades with use is known of those alone that are loaded: their `Standing`.
    """

    key: Key
    score: float
    session: Key | None
    position: int | None
    speaker: str | None
    tokens: int
    created: int


class Words(NamedTuple):
    """What the keyword leg is asked: memories that contain the words, by BM25, at most `limit` of a scope."""

    query: KeywordQuery
    limit: int


class Nearness(NamedTuple):
    """What the semantic leg is asked: memories near a vector of a generation, at most `limit` of a scope."""

    generation: Generation
    vector: Vector
    limit: int


class Found(NamedTuple):
    """What both legs found in a scope, best first, and how near to the vector what the words found is."""

    by_words: Sequence[Candidate] = ()
    by_meaning: Sequence[Candidate] = ()
    similarity: Mapping[Key, float] = {}


class Complete(NamedTuple):
    """A memory with the facts that every hit carries."""

    memory: Memory
    session: Session | None
    successor: Successor | None
    related_count: int
    title: str | None
    """That of the document that a passage is from."""


class Standing(NamedTuple):
    """How a memory stands now. `superseded`: something else has taken its place, or its time is over."""

    sector: Sector
    importance: float
    salience: float
    superseded: bool = False


class Loaded(NamedTuple):
    """A candidate that may win: how it stands, what a second look reads, and the rest for when it does."""

    id: str
    content: str
    language: str
    speaker: str | None
    standing: Standing
    complete: Callable[[], Complete]


@dataclass(frozen=True, slots=True)
class Pending:
    """A memory that waits for its vector."""

    key: int
    hash: bytes
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A memory's text and what else its words are taken from."""

    key: int
    namespace: int | str
    content: str
    speaker: str | None
    language: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    headings: tuple[str, ...]
    kind: Kind
    title: str | None


@dataclass(frozen=True, slots=True)
class Analysed:
    """What is derived from a text: its terms, its hash, and the keys near-duplicates share."""

    terms: str
    hash: bytes
    near_keys: tuple[int, ...]


Analyser = Callable[[Text], Analysed]


class Asking(Protocol):
    """A question on its way: another thread may look for what is near while the words are still read."""

    @property
    def facts(self) -> Mapping[str, NamespaceFacts] | None:
        """What is known of the namespaces of the scopes by now, where that was read again."""

    def search(self, words: Words | None) -> list[Found]:
        """The candidates of both legs in each of the scopes; None if words are not asked for. Once only."""

    def containing(self, scope: Scope, text: str, limit: int) -> list[Candidate]:
        """Memories in scope that contain the text as it stands, newest first."""

    def load(self, keys: Sequence[Key], now: datetime) -> Mapping[Key, Loaded]:
        """Those who may win, in one statement."""


class Store(Protocol):
    """What Recollect asks of a backend."""

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written."""

    @property
    def is_far(self) -> bool:
        """Whether asking once more takes longer than reading a few more memories at once."""

    def identity(self) -> str:
        """The same for two stores that are one, however they were named."""

    def close(self) -> None:
        """Let go of files and connections; every other method raises StoreClosed from now on."""

    def facts(self, namespaces: Sequence[str]) -> Mapping[str, NamespaceFacts]:
        """What must be known of these namespaces; one that is not there yet is left out."""

    def last_facts(self, namespaces: tuple[str, ...]) -> Mapping[str, NamespaceFacts] | None:
        """The same as of the last question, without asking: it may not be so any more. None if unknown."""

    # candidates

    def asking(self, scopes: Sequence[Scope], nearness: Nearness | None) -> AbstractContextManager[Asking]:
        """Begin to look for what is near in each of the scopes, where that is asked; the words come later."""

    def search(self, scopes: Sequence[Scope], words: Words | None, nearness: Nearness | None) -> list[Found]:
        """The candidates of both legs in each of the scopes; None for a leg that is not asked."""

    def containing(self, scope: Scope, text: str, limit: int) -> list[Candidate]:
        """Memories in scope that contain the text as it stands, newest first."""

    def load(self, keys: Sequence[Key], now: datetime) -> Mapping[Key, Loaded]:
        """Those who may win, in one statement."""

    def neighbours(self, keys: Sequence[Key], reach: int, now: datetime) -> Mapping[Key, tuple[Memory, ...]]:
        """What stands within `reach` places of these memories in their sessions."""

    # reading

    def get(self, namespace: str, ids: Sequence[str], now: datetime) -> list[Memory]:
        """These memories, in the order asked for; unknown ids are left out, deleted memories are not."""

    def ids_ending(self, namespace: str, ending: str) -> list[str]:
        """Up to three ids that end so."""

    def around(
        self, namespace: str, anchor: Memory, before: int, after: int, now: datetime
    ) -> tuple[list[Memory], list[Memory]]:
        """What was remembered before and after a memory, oldest first."""

    def in_scope(self, scope: Scope, limit: int) -> list[Memory]:
        """The newest memories in scope, oldest first."""

    def sessions(
        self,
        namespace: str,
        *,
        ids: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        older_than: Place | None = None,
        limit: int = 100,
    ) -> list[Session]:
        """Sessions, newest first; those older than one of them are its next page."""

    def last_use(self, namespace: str, id: str) -> tuple[str, Usage, int] | None:
        """The session that used a memory last, how, and how many memories that session touched."""

    def relations(self, namespace: str, ids: Sequence[str], limit: int) -> list[Relation]:
        """The edges of these memories, both ways, the oldest first."""

    def history(self, namespace: str, id: str, limit: int, now: datetime) -> list[Memory]:
        """What a memory superseded and what superseded it, itself among them, oldest first.

        Of others only what is neither deleted nor expired; of more than `limit` the nearest steps.
        """

    def documents(self, namespace: str, name: str | None = None) -> list[tuple[Document, bytes]]:
        """The documents of a namespace, each with the hash of its text."""

    # writing: each call is one transaction

    def add(
        self,
        namespace: str,
        records: Sequence[Record],
        *,
        generation: Generation | None,
        on_duplicate: OnDuplicate,
        now: datetime,
    ) -> list[Added]:
        """Write records with everything derived from them; a session that is not there yet is made."""

    def replace_document(
        self,
        namespace: str,
        document: Document,
        hash: bytes,
        records: Sequence[Record],
        *,
        generation: Generation | None,
        now: datetime,
    ) -> Receipt:
        """A document and its passages, in the place of what stood under the same name."""

    def change(
        self,
        namespace: str,
        id: str,
        rewrite: Callable[[Memory], Record],
        *,
        generation: Generation | None,
        now: datetime,
        session: str | None,
    ) -> None:
        """Write a memory anew, with everything derived from it: `rewrite` gets it as it is at that moment."""

    def supersede(self, namespace: str, old: str, new: str, at: datetime, now: datetime) -> None:
        """Close the validity of `old` and link both."""

    def unsupersede(self, namespace: str, id: str, now: datetime) -> str | None:
        """Let a memory hold again; says what had superseded it, None when nothing had."""

    def relate(self, namespace: str, relation: Relation) -> None:
        """Draw an edge; drawing it again changes nothing."""

    def unrelate(self, namespace: str, source: str, target: str, type: str | None, now: datetime) -> int:
        """Remove edges and say how many there were."""

    def touch(
        self,
        namespace: str,
        keys: Sequence[int],
        amount: float,
        now: datetime,
        *,
        session: str | None,
        usage: Usage,
        uses: int = 1,
    ) -> None:
        """Raise (or lower) salience, and link the memories to the session that used them."""

    def keys_of(self, namespace: str, ids: Sequence[str]) -> list[int]:
        """The keys of these memories."""

    def set_deleted(self, namespace: str, ids: Sequence[str], at: datetime | None, now: datetime) -> int:
        """Delete softly, or restore with None; says how many changed."""

    def forget(
        self, namespace: str, which: Sequence[str] | Scope | Literal["all", "expired"], now: datetime
    ) -> Receipt:
        """Remove these ids, a scope, all, or what has expired, with everything derived; count each kind.

        Sessions that a scope names go too, once they have no memories left.
        """

    def forget_document(self, namespace: str, name: str, now: datetime) -> Receipt:
        """Remove a document, its passages and everything derived from them."""

    def save_session(self, session: Session, now: datetime, *, extracted: bool = False) -> None:
        """Make a session, or write over the one with its id.

        An `extracted` summary was taken from the session's memories and goes when one of them is forgotten.
        """

    # vectors

    def pending(self, namespace: str, generation: Generation, after: int, limit: int) -> list[Pending]:
        """Memories without a vector of this generation, in the order of their keys."""

    def count_pending(self, namespace: str, generation: Generation) -> int:
        """How many there are."""

    def set_vectors(
        self, namespace: str, generation: Generation, vectors: Sequence[tuple[Pending, Vector]], now: datetime
    ) -> None:
        """Keep vectors; one whose text has changed meanwhile is dropped."""

    def switch_generation(self, namespace: str, generation: Generation, now: datetime) -> int:
        """Search this generation from now on and remove the vectors of others; says how many."""

    def use_weights(self, namespace: str, tuned: Tuned | None, now: datetime) -> None:
        """Weights that hold from now on, None for the default; those that held are kept beside them."""

    # upkeep

    def settle(self) -> None:
        """Finish what a store does in the background to be quicker; nothing needs it for a right answer."""

    def stats(self, namespace: str, now: datetime) -> Mapping[str, Any]:
        """A namespace in numbers; under `notes`, if there are any, what could be done for it."""

    def growth(self, namespace: str, now: datetime) -> tuple[list[tuple[int, str, int]], Mapping[int, int]]:
        """Live memories by day (counted from 1970) and sector; and how many have which tenth of salience."""

    def namespaces(self) -> Mapping[str, int]:
        """Every namespace and how many live memories it has."""

    def check(self, analyse: Analyser) -> list[Finding]:
        """Whether rows, keyword index, vectors and links agree."""

    def rebuild(self, analyse: Analyser, progress: Progress | None = None) -> None:
        """Make everything derived anew from the rows."""

    def contents(self, namespace: str) -> Mapping[str, int]:
        """How many records of each type `dump` gives; nothing for a namespace that is not there."""

    def dump(self, namespace: str, *, vectors: bool) -> Iterator[dict[str, Any]]:
        """Everything in a namespace as plain records, in a fixed order."""

    def undump(
        self,
        namespace: str,
        records: Iterable[Mapping[str, Any]],
        analyse: Analyser,
        now: datetime,
        *,
        as_it_was: bool = False,
    ) -> Mapping[str, int]:
        """Write what `dump` gave; ids that are there already are left alone. Says how many of each.

        `as_it_was` writes a part of a copy: every memory keeps its place in its session, what is there is
        written over, and what a record refers to may have come with an earlier part; only the generations
        come with every part that has vectors of them. A part is held in memory.
        """
