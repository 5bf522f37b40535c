"""What turns texts into vectors: the one Protocol, and finding an embedder by its name.

Finding and constructing are cheap: weights are read, and onnxruntime is imported, by the first ``embed``.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from recollect.embed.models import find_model, is_installed
from recollect.embed.settings import PROVIDERS, EmbedderSettings, Named
from recollect.errors import ConfigError, EmbedderMissing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.embed.provided import Provided

QUICK, QUICK_FOR = "static-s", "arctic-s"
"""Whose package has the table for quick queries, and whose vectors they are for."""


class Embedder(Protocol):
    """Turns texts into unit-length vectors; may be called from several threads at once.

    One that also has `languages` (codes such as "en") is trusted less with questions in any other; one with a
    `weight` (0..1; 0.6 is usual) counts so much beside keywords; one with `unrelated` says how near texts are
    that have nothing to do with a question, which helps to tell whether anything was found.

    One with `embed_query(text)` is asked for a question's vector by that, and puts its prefix before it
    itself; one with `embed_soon(texts)` is given a text by that while somebody waits, and may give up sooner
    than `embed`; one with `prepare()` is told by that before much work; one with a true `keeps_queries` has
    questions kept on disk; one with a true `embeds_at_once` is quick enough to be waited for before many rows
    are written; one with `close()` is closed with the store that found it.
    """

    @property
    def name(self) -> str:
        """What ``find_embedder`` knows it by."""

    @property
    def dimensions(self) -> int:
        """The length of every vector."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would get another vector."""

    @property
    def query_prefix(self) -> str:
        """What the caller puts before a query (never before a stored text); "" when queries take none."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 a text, in order, whatever else is in the call; (0, dimensions) for none."""


def check_name(name: str) -> None:
    """ConfigError unless it is the name of an embedder, installed or not."""
    kind, _, dimensions = name.partition(":")
    if name in ("arctic-s", "static-s", "hash"):
        return None
    if kind in PROVIDERS:
        from recollect.embed.provided import check_dimensions

        return check_dimensions(Named.parse(name))
    if kind != "hash":
        raise ConfigError(
            f"unknown embedder {name!r}: use arctic-s, static-s, hash, hash:<dimensions>, "
            f"{', '.join(f'{provider}:<model>' for provider in PROVIDERS)}, "
            "or none to search by keyword alone"
        )
    if not (dimensions.isascii() and dimensions.isdigit() and 0 < int(dimensions) <= 4096):
        raise ConfigError(f"embedder {name!r}: write hash, or hash:<dimensions> with 1 to 4096 dimensions")
    return None


def find_embedder(
    name: str, settings: EmbedderSettings | None = None, dimensions: int | None = None
) -> Embedder:
    """The embedder of this name: "arctic-s", "static-s", "hash", "hash:64" (its dimensions), or one of a
    provider, such as "ollama:nomic-embed-text" or "openai:text-embedding-3-small@512" (its dimensions).

    What is set for providers comes from ``config.load().embedding`` unless it is given; `dimensions` says how
    long the vectors of an unlisted model are, so that it need not be asked. EmbedderMissing when a package is
    not installed, ConfigError when the name is unknown.
    """
    check_name(name)
    if name.partition(":")[0] in PROVIDERS:
        return _provided(Named.parse(name), settings, dimensions)
    if name == "arctic-s":
        return _arctic()
    return _static() if name == "static-s" else _hashing(name)


def dimensions_of(name: str) -> int | None:
    """How long the vectors of a provider's model are, if that is known without asking it."""
    from recollect.embed.known import find_known

    named = Named.parse(name)
    return named.dimensions or find_known(named.model).dimensions


def find_quick(fingerprint: str) -> Embedder | None:
    """What embeds questions to the vectors with this fingerprint without their model, if it is installed."""
    model = find_model(QUICK) if is_installed(QUICK) else None
    if model is None or model.queries is None or model.queries.serves != fingerprint:
        return None
    from recollect.embed.static import QuickQueries

    return QuickQueries(model, model.queries)


def default_embedder() -> Embedder | None:
    """The best embedder that is installed, or None: then search is by keyword alone."""
    if is_installed("arctic-s") and _onnxruntime_is_here():
        return _arctic()
    if is_installed("static-s"):
        return _static()
    return None


def _onnxruntime_is_here() -> bool:
    return find_spec("onnxruntime") is not None


def _arctic() -> Embedder:
    model = find_model("arctic-s")
    if not _onnxruntime_is_here():
        raise EmbedderMissing(
            "arctic-s runs on onnxruntime, which is not installed: pip install onnxruntime; "
            'where it has no wheels, pip install recollect-static-s and set embedder = "static-s"'
        )
    from recollect.embed.onnx import OnnxEmbedder

    return OnnxEmbedder(model)


def _static() -> Embedder:
    model = find_model("static-s")
    from recollect.embed.static import StaticEmbedder

    return StaticEmbedder(model)


def _hashing(name: str) -> Embedder:
    from recollect.embed.hashing import DEFAULT_DIMENSIONS, HashingEmbedder

    _, _, dimensions = name.partition(":")
    return HashingEmbedder(int(dimensions) if dimensions else DEFAULT_DIMENSIONS)


def _provided(named: Named, settings: EmbedderSettings | None, dimensions: int | None) -> Provided:
    if settings is None:
        from recollect import config

        settings = config.load().embedding
    if named.provider == "ollama":
        from recollect.embed.ollama import OllamaEmbedder

        return OllamaEmbedder(named, settings, dimensions)
    if named.provider == "openai":
        from recollect.embed.openai import OpenAIEmbedder

        return OpenAIEmbedder(named, settings, dimensions)
    if named.provider == "fastembed":
        from recollect.embed.fastembed import FastembedEmbedder

        return FastembedEmbedder(named, settings, dimensions)
    from recollect.embed.sentence_transformers import SentenceTransformersEmbedder

    return SentenceTransformersEmbedder(named, settings, dimensions)
