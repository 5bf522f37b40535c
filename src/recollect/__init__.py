"""Memory for AI agents with hybrid search: by meaning, by exact words, by time and by context.

>>> import recollect
>>> with recollect.open(":memory:", embedder="hash") as memories:
...     _ = memories.remember("We chose PostgreSQL 17.2 for the billing service")
...     memories.recall("which database for billing?")[0].memory.content
'We chose PostgreSQL 17.2 for the billing service'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.asynchronous import AsyncMemories
    from recollect.errors import (
        ConfigError,
        EmbedderError,
        EmbedderFailed,
        EmbedderMissing,
        EmbedderUnavailable,
        InvalidInput,
        NoSuchDocument,
        NoSuchMemory,
        NoSuchSession,
        NoSuchStore,
        NotAStore,
        NotFound,
        RecollectError,
        StoreBusy,
        StoreClosed,
        StoreDamaged,
        StoreError,
        StoreFull,
        StoreReadOnly,
        StoreTooNew,
        StoreUnreachable,
    )
    from recollect.memories import Memories
    from recollect.opening import open
    from recollect.types import (
        Context,
        Document,
        Draft,
        Finding,
        Growth,
        Hit,
        Ingested,
        Leg,
        Memory,
        Multiplier,
        Neighbourhood,
        Place,
        Preview,
        Recall,
        Receipt,
        Relation,
        Remembered,
        Scope,
        Session,
        SessionContext,
        Stats,
        Successor,
        Timeline,
        TimeUsed,
        Tuned,
        Why,
        WhyNot,
    )

__version__ = "0.1.0"

_HOMES = {
    "recollect.opening": ("open",),
    "recollect.memories": ("Memories",),
    "recollect.asynchronous": ("AsyncMemories",),
    "recollect.types": (
        "Context", "Document", "Draft", "Finding", "Growth", "Hit", "Ingested", "Leg", "Memory",
        "Multiplier", "Neighbourhood", "Place", "Preview", "Recall", "Receipt", "Relation",
        "Remembered", "Scope", "Session", "SessionContext", "Stats", "Successor", "TimeUsed",
        "Timeline", "Tuned", "Why", "WhyNot",
    ),
    "recollect.errors": (
        "ConfigError", "EmbedderError", "EmbedderFailed", "EmbedderMissing", "EmbedderUnavailable",
        "InvalidInput", "NoSuchDocument", "NoSuchMemory", "NoSuchSession", "NoSuchStore", "NotAStore",
        "NotFound", "RecollectError", "StoreBusy", "StoreClosed", "StoreDamaged", "StoreError", "StoreFull",
        "StoreReadOnly", "StoreTooNew", "StoreUnreachable",
    ),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AsyncMemories",
    "ConfigError",
    "Context",
    "Document",
    "Draft",
    "EmbedderError",
    "EmbedderFailed",
    "EmbedderMissing",
    "EmbedderUnavailable",
    "Finding",
    "Growth",
    "Hit",
    "Ingested",
    "InvalidInput",
    "Leg",
    "Memories",
    "Memory",
    "Multiplier",
    "Neighbourhood",
    "NoSuchDocument",
    "NoSuchMemory",
    "NoSuchSession",
    "NoSuchStore",
    "NotAStore",
    "NotFound",
    "Place",
    "Preview",
    "Recall",
    "Receipt",
    "RecollectError",
    "Relation",
    "Remembered",
    "Scope",
    "Session",
    "SessionContext",
    "Stats",
    "StoreBusy",
    "StoreClosed",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreTooNew",
    "StoreUnreachable",
    "Successor",
    "TimeUsed",
    "Timeline",
    "Tuned",
    "Why",
    "WhyNot",
    "open",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for, so that `import recollect` costs nothing."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value
