"""Models that people use: how long their vectors are, and what must stand before questions and texts.

A model is known by its name as each provider spells it; see docs/embeddings.md for the table. What is not
listed can be used too: it says itself how long its vectors are, and gets no prefix unless one is set.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.frozen import dataclass

_SENTENCE = "Represent this sentence for searching relevant passages: "
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
_ENGLISH = ("en",)


@dataclass(frozen=True, slots=True)
class Known:
    """Facts about a model. `dimensions` None: they depend on the variant. No `languages`: it knows many."""

    names: tuple[str, ...]
    dimensions: int | None
    max_tokens: int | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    languages: tuple[str, ...] = ()
    shortens: bool = False
    """Whether the first part of its vectors is itself a good vector."""


UNKNOWN = Known((), None)

MODELS = (
    Known(("text-embedding-3-small",), 1536, 8192, shortens=True),
    Known(("text-embedding-3-large",), 3072, 8192, shortens=True),
    Known(("text-embedding-ada-002",), 1536, 8192),
    Known(
        ("nomic-embed-text", "nomic-embed-text-v1.5"),
        768, 8192, "search_query: ", "search_document: ", _ENGLISH, shortens=True,
    ),
    Known(
        ("nomic-embed-text-v2-moe",),
        768, 512, "search_query: ", "search_document: ", shortens=True,
    ),
    Known(
        ("embeddinggemma", "embeddinggemma-300m"),
        768, 2048, "task: search result | query: ", "title: none | text: ", shortens=True,
    ),
    Known(
        ("mxbai-embed-large", "mxbai-embed-large-v1"),
        1024, 512, _SENTENCE, "", _ENGLISH, shortens=True,
    ),
    Known(("snowflake-arctic-embed:22m", "snowflake-arctic-embed-xs"), 384, 512, _SENTENCE, "", _ENGLISH),
    Known(("snowflake-arctic-embed:33m", "snowflake-arctic-embed-s"), 384, 512, _SENTENCE, "", _ENGLISH),
    Known(("snowflake-arctic-embed:110m", "snowflake-arctic-embed-m"), 768, 512, _SENTENCE, "", _ENGLISH),
    Known(
        ("snowflake-arctic-embed", "snowflake-arctic-embed:335m", "snowflake-arctic-embed-l"),
        1024, 512, _SENTENCE, "", _ENGLISH,
    ),
    Known(("snowflake-arctic-embed2", "snowflake-arctic-embed-l-v2.0"), 1024, 8192, "query: ", shortens=True),
    Known(("snowflake-arctic-embed-m-v2.0",), 768, 8192, "query: ", shortens=True),
    Known(("bge-m3",), 1024, 8192),
    Known(("bge-small-en-v1.5",), 384, 512, _SENTENCE, "", _ENGLISH),
    Known(("bge-base-en-v1.5",), 768, 512, _SENTENCE, "", _ENGLISH),
    Known(("bge-large-en-v1.5",), 1024, 512, _SENTENCE, "", _ENGLISH),
    Known(("all-minilm", "all-minilm-l6-v2"), 384, 256, languages=_ENGLISH),
    Known(("multilingual-e5-small",), 384, 512, "query: ", "passage: "),
    Known(("multilingual-e5-base",), 768, 512, "query: ", "passage: "),
    Known(("multilingual-e5-large",), 1024, 512, "query: ", "passage: "),
    Known(("qwen3-embedding:0.6b", "qwen3-embedding-0.6b"), 1024, 32768, _INSTRUCT, shortens=True),
    Known(("qwen3-embedding:4b", "qwen3-embedding-4b"), 2560, 32768, _INSTRUCT, shortens=True),
    Known(("qwen3-embedding:8b", "qwen3-embedding-8b"), 4096, 32768, _INSTRUCT, shortens=True),
    Known(("qwen3-embedding",), None, 32768, _INSTRUCT, shortens=True),
)  # fmt: skip

_BY_NAME = {name: model for model in MODELS for name in model.names}


def find_known(model: str) -> Known:
    """What is known of a model; of another variant than the listed ones, all but its dimensions.

    >>> find_known("nomic-ai/nomic-embed-text-v1.5").query_prefix
    'search_query: '
    >>> find_known("mxbai-embed-large:335m-v1-fp16").dimensions is None
    True
    """
    name = plain_name(model).lower().rpartition("/")[2]
    for spelling in (name, name.removeprefix("text-embedding-")):  # as LM Studio names models of others
        if spelling in _BY_NAME:
            return _BY_NAME[spelling]
    family = _BY_NAME.get(name.partition(":")[0])
    return UNKNOWN if family is None else replace(family, dimensions=None)


def plain_name(model: str) -> str:
    """A model's name without the tag that says nothing.

    >>> plain_name("bge-m3:latest")
    'bge-m3'
    """
    return model.removesuffix(":latest")
