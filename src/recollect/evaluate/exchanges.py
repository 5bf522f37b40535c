"""What was said, and what was said next: a memory of a session must find the one that follows it.

A reply goes on with the subject and seldom repeats the words, so this flatters search by meaning, as much as
`probes` made of a text flatter search by words. Pure and deterministic, like those.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.evaluate.probes import SEED, holds

SHORTEST = 20
"""What has fewer characters says too little to find anything by: "Really? How so?"."""
LONGEST = 500
"""How many characters are asked; of a longer memory it is the end, for that is what a reply goes on from."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A memory, what it says, and the memory that follows it."""

    said: str
    text: str
    reply: str


def make(
    records: Iterable[Mapping[str, Any]], now: datetime, number: int, seed: int = SEED
) -> list[Exchange]:
    """At most so many exchanges, always the same ones, from what `Memories.export_records` gives.

    >>> turn = {"type": "memory", "kind": "memory", "session": "s"}
    >>> ana = turn | {"id": "a", "position": 0, "speaker": "Ana", "content": "Which port is staging on?"}
    >>> ben = turn | {"id": "b", "position": 1, "speaker": "Ben", "content": "8080, behind the proxy."}
    >>> make([ana, ben], datetime(2026, 3, 18), 10)
    [Exchange(said='a', text='Which port is staging on?', reply='b')]
    """
    found = sorted(_exchanges(records, now), key=lambda each: each.said)
    chosen = sorted(random.Random(seed).sample(range(len(found)), min(number, len(found))))
    return [found[i] for i in chosen]


def _exchanges(records: Iterable[Mapping[str, Any]], now: datetime) -> Iterator[Exchange]:
    places = {
        (record["session"], record["position"]): record
        for record in records
        if holds(record, now) and "session" in record and "position" in record
    }
    for (session, position), record in places.items():
        following = places.get((session, position + 1))
        text = " ".join(record["content"][-LONGEST:].split())
        if following is not None and _is_reply(record, following) and len(text) >= SHORTEST:
            yield Exchange(record["id"], text, following["id"])


def _is_reply(said: Mapping[str, Any], following: Mapping[str, Any]) -> bool:
    """Nobody replies to himself; where no speaker is known, anybody may."""
    speaker = said.get("speaker")
    return speaker is None or speaker != following.get("speaker")
