"""What a bench comes to: the figures of each store at each size, and how they grow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from recollect.evaluate.exactness import Exactness
from recollect.evaluate.load import Load
from recollect.evaluate.timing import Latency


@dataclass(frozen=True, slots=True)
class Narrow:
    """Recall within one memory of a hundred, and how many hits came back on average."""

    recall_ms: Latency
    hits: float


@dataclass(frozen=True, slots=True)
class Cold:
    """Medians of processes that were just started, Python's start and the exit included.

    `keyword_ms` is `recollect search` from the shell; `hybrid_ms` a program that opens the store and asks
    once, the question's vector given.
    """

    keyword_ms: float
    hybrid_ms: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A store at one size; a figure is None where it was not asked for or can't be told.

    `written_per_second` is of the memories that this size has more than the one before, the
    `settling_seconds` until all indexes were there included. `after_writes` is the first mode's recall once
    `write_ms` was measured, and `slowed_by` its median in proportion to before. `resident_bytes` is what
    this process grew by so far while it was at work with the store, `fresh_resident_bytes` all that a
    process holds which opened the store and asked every question. `derived_bytes`, in files beside the
    database, are part of `bytes`.
    """

    memories: int
    written_per_second: float | None
    settling_seconds: float | None
    write_ms: Latency
    recall_ms: dict[str, Latency]
    tag: Narrow
    namespace: Narrow
    after_writes: Latency
    slowed_by: float
    cold: Cold | None
    exact: Exactness | None
    resident_bytes: int | None
    fresh_resident_bytes: int | None
    bytes: int
    derived_bytes: int | None


@dataclass(frozen=True, slots=True)
class StoreReport:
    """One store: at each size, how each figure grew from the first size to the last, and under load.

    `growth` is empty where there is one size.
    """

    url: str
    reused: bool
    sizes: list[Measured]
    growth: dict[str, float]
    load: Load | None


@dataclass(frozen=True, slots=True)
class Report:
    """Every store in the order of the plan, and what they were measured with."""

    memories: list[int]
    namespaces: int
    questions: int
    writes: int
    dimensions: int
    seed: int
    resident_bytes: int | None
    stores: list[StoreReport]


def growth(sizes: Sequence[Measured]) -> dict[str, float]:
    """How many times each figure of the first size the last one is, by its path in the JSON document."""
    if len(sizes) < 2:
        return {}
    before, after = (dict(_flat(asdict(each))) for each in (sizes[0], sizes[-1]))
    return {path: round(after[path] / value, 3) for path, value in before.items() if value and path in after}


def _flat(figures: Mapping[str, object], above: str = "") -> Iterator[tuple[str, float]]:
    """Every number in a nest of mappings.

    >>> dict(_flat({"a": 1, "b": {"c": 2.0, "d": None}}))
    {'a': 1, 'b.c': 2.0}
    """
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        elif isinstance(value, (int, float)):
            yield f"{above}{name}", value
