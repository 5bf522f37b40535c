"""Texts to vectors, with the store's generations in mind: which model writes, which one asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from recollect.embed.asked import Asked
from recollect.embed.base import (
    QUICK,
    QUICK_FOR,
    Embedder,
    check_name,
    default_embedder,
    dimensions_of,
    find_embedder,
    find_quick,
)
from recollect.embed.models import USUAL_WEIGHT, Unrelated
from recollect.embed.settings import PROVIDERS, EmbedderSettings
from recollect.errors import ConfigError, EmbedderError, EmbedderFailed, EmbedderMissing
from recollect.store.base import Generation, NamespaceFacts, Vector


class QueryVector(NamedTuple):
    """A query's vector and the generation that it may be compared with; or, in the notes, why there is none.

    `languages` are those that the embedder knows; none means any. `weight` says how much it counts beside
    keywords, `unrelated` how near unrelated texts are.
    """

    generation: Generation | None = None
    vector: Vector | None = None
    notes: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    weight: float = USUAL_WEIGHT
    unrelated: Unrelated | None = None


NO_VECTOR = QueryVector()


class Writer(NamedTuple):
    """An embedder, and the generation that its vectors belong to as long as they are of that length.

    A model behind a server can be replaced at any moment by another of the same name.
    """

    embedder: Embedder
    generation: Generation


class Meaning:
    """One embedder for a store, found when it is first needed.

    `setting` is "auto" (the model that the store was written with, else the best one installed), "none", the
    name of an embedder, or an embedder itself. With `quick`, questions to vectors of arctic-s are embedded by
    a table; without it, only where the model is missing. New memories never are. `settings` are those of
    providers.
    """

    def __init__(
        self, setting: str | Embedder, *, quick: bool = False, settings: EmbedderSettings | None = None
    ) -> None:
        if isinstance(setting, str):
            if setting not in ("auto", "none"):
                check_name(setting)
        elif not {"name", "dimensions", "fingerprint", "embed"} <= {
            *dir(setting)
        }:  # some ask a server for these
            raise ConfigError(
                "An embedder needs a name, dimensions, a fingerprint and embed(): see Embedder."
            )
        self._setting = setting
        self._is_quick = quick
        self._settings = settings
        self.owed: set[str] = set()
        """Namespaces with memories that were kept without a vector here, because the embedder failed."""
        self._tables: dict[str, Embedder | None] = {}
        self._found: dict[tuple[str, int | None, bool], Embedder | EmbedderError] = {}
        self._default: Embedder | None = None
        self._asked = Asked(settings.cache if settings else None)

    def close(self) -> None:
        """Let go of the connections of the embedders that were found here."""
        for found in self._found.values():
            close = getattr(found, "close", None)
            if close is not None:
                close()

    @property
    def is_off(self) -> bool:
        """Whether vectors were switched off on purpose."""
        return self._setting == "none"

    def writer(self, facts: NamespaceFacts | None) -> Embedder | None:
        """The embedder that new memories of this namespace are given vectors by; None where they are off."""
        if self.is_off:
            return None
        if not isinstance(self._setting, str):
            return self._setting
        if self._setting != "auto":
            return self._find(self._setting)
        if facts is not None and facts.generation is not None:
            try:
                return self._find_exactly(facts.generation)
            except EmbedderMissing:
                pass  # the best one that is installed starts a new generation
        if self._default is None:
            self._default = default_embedder() or self._find("arctic-s")  # which says what is missing
        return self._default

    def query(self, text: str, facts: Iterable[NamespaceFacts]) -> QueryVector:
        """The query's vector in the generation that these namespaces are searched in."""
        if self._setting == "none":
            return QueryVector(notes=("vectors are switched off, so keywords answered alone",))
        generations, is_moving = set[Generation](), False
        for fact in facts:
            is_moving |= fact.next_generation is not None
            if fact.generation is not None:
                generations.add(fact.generation)
        if not generations:
            return QueryVector(notes=("no memory has a vector yet, so keywords answered alone",))
        if len(generations) > 1:
            return QueryVector(
                notes=("these namespaces were embedded by different models, so keywords answered alone",)
            )
        generation = generations.pop()
        try:
            embedder, vector, notes = self._answer(generation, text)
        except EmbedderError as error:
            return QueryVector(notes=(f"keywords answered alone: {error}",))
        if is_moving:
            notes = (*notes, "newer memories are found by keyword alone until recollect reembed has run")
        return QueryVector(
            generation,
            vector,
            notes,
            tuple(getattr(embedder, "languages", ())),
            getattr(embedder, "weight", USUAL_WEIGHT),
            getattr(embedder, "unrelated", None),
        )

    def embed(self, writer: Writer, texts: Sequence[str], *, soon: bool = False) -> Vector:
        """Vectors for texts, checked: EmbedderFailed for anything that must not be kept.

        With `soon` somebody waits: an embedder that can may give up sooner.
        """
        embedder, generation = writer
        run = getattr(embedder, "embed_soon", embedder.embed) if soon else embedder.embed
        return _checked(embedder, lambda: run(texts), (len(texts), generation.dimensions))

    def _answer(self, generation: Generation, text: str) -> tuple[Embedder, Vector, tuple[str, ...]]:
        """The question's vector, who made it, and what the caller should know of it."""
        notes: tuple[str, ...] = ()
        if self._is_quick:
            table = self._table(generation)
            if table is not None:
                return table, self._embed_query(table, generation, text), notes
            if generation.model == QUICK_FOR:
                notes = (f"not a quick query: recollect-{QUICK} is missing, or not for this {QUICK_FOR}",)
        try:
            embedder = self._find_exactly(generation)
            return embedder, self._embed_query(embedder, generation, text), notes
        except EmbedderMissing as error:
            table = self._table(generation)
            if table is None:
                raise
            reason = str(error).partition(":")[0]
            notes = (f"a table embedded the question in place of the model: {reason}",)
            return table, self._embed_query(table, generation, text), notes

    def _embed_query(self, embedder: Embedder, generation: Generation, text: str) -> Vector:
        """The vector of a question to the vectors of this generation."""
        on_disk = bool(getattr(embedder, "keeps_queries", False))
        fingerprint = embedder.fingerprint
        known = self._asked.get(fingerprint, text, on_disk=on_disk)
        if known is not None and known.shape == (generation.dimensions,):
            return known
        ask = getattr(embedder, "embed_query", None)
        if ask is not None:
            vector: Vector = _checked(embedder, lambda: [ask(text)], (1, generation.dimensions))[0]
        else:
            prefixed = [getattr(embedder, "query_prefix", "") + text]
            vector = self.embed(Writer(embedder, generation), prefixed, soon=True)[0]
        self._asked.put(fingerprint, text, vector, on_disk=on_disk)
        return vector

    def _find_exactly(self, generation: Generation) -> Embedder:
        """The embedder that made these vectors, whatever is set for new ones."""
        setting = self._setting
        if not isinstance(setting, str) and generation_of(setting).fingerprint == generation.fingerprint:
            return setting
        for embedder in self._candidates(generation):
            if generation_of(embedder).fingerprint == generation.fingerprint:
                return embedder
        raise EmbedderMissing(
            f"the memories were embedded by another version of {generation.model}: run recollect reembed"
        )

    def _candidates(self, generation: Generation) -> Iterable[Embedder]:
        """The one whose name is set, if any; then the one of that name, as it is set and by itself."""
        setting = self._setting
        is_named = isinstance(setting, str) and setting.partition(":")[0] in PROVIDERS
        if is_named and setting != generation.model:
            with suppress(EmbedderMissing):  # perhaps the same model of another provider
                yield self._find(str(setting), generation.dimensions)
        try:
            yield self._find(generation.model, generation.dimensions)
        except ConfigError as error:
            raise EmbedderMissing(
                f"the memories were embedded by {generation.model}, which is not known here: "
                "set that embedder, or run recollect reembed"
            ) from error
        if self._settings and self._settings.has_prefixes:
            yield self._find(generation.model, generation.dimensions, plain=True)

    def _table(self, generation: Generation) -> Embedder | None:
        """What embeds questions to these vectors, and to none but these, without their model."""
        if generation.fingerprint not in self._tables:
            self._tables[generation.fingerprint] = find_quick(generation.fingerprint)
        return self._tables[generation.fingerprint]

    def _find(self, name: str, dimensions: int | None = None, *, plain: bool = False) -> Embedder:
        """An embedder by its name; `dimensions` are those of vectors that it made before."""
        if name.partition(":")[0] not in PROVIDERS or dimensions_of(name) is not None:
            dimensions = None  # known without asking: one and the same embedder writes and asks
        key = (name, dimensions, plain)
        if key not in self._found:
            settings = self._settings.without_prefixes() if plain and self._settings else self._settings
            try:
                self._found.setdefault(key, find_embedder(name, settings, dimensions))
            except EmbedderError as error:
                self._found[key] = error
        found = self._found[key]
        if isinstance(found, EmbedderError):
            raise found
        return found


def generation_of(embedder: Embedder) -> Generation:
    """What vectors of this embedder are kept under; EmbedderError when it can't say that now."""
    try:
        return Generation(embedder.name, embedder.dimensions, embedder.fingerprint)
    except EmbedderError:
        raise
    except Exception as error:  # anybody's embedder, and some ask a server: the row is kept all the same
        raise EmbedderFailed(f"{embedder.name} failed: {error}") from error


def _checked(embedder: Embedder, run: Callable[[], Any], wanted: tuple[int, int]) -> Vector:
    """What it gives, if it has the shape that is wanted: what the embedder says of itself may change."""
    import numpy as np

    try:
        vectors = np.asarray(run(), np.float32)
    except EmbedderError:
        raise
    except Exception as error:  # anybody's embedder: whatever it raises, the row is kept
        raise EmbedderFailed(f"{embedder.name} failed: {error}") from error
    if vectors.shape != wanted:
        raise EmbedderFailed(f"{embedder.name} gave vectors of the shape {vectors.shape}, not {wanted}.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EmbedderFailed(f"{embedder.name} gave a vector without a direction (zeros, or not finite).")
    if np.abs(lengths - 1).max(initial=0) > 1e-4:
        vectors = vectors / lengths
    return vectors
