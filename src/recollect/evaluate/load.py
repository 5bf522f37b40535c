"""What happens when several write and recall at once, and is everything there afterwards?"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter

from recollect.errors import NotFound, RecollectError
from recollect.evaluate import texts
from recollect.evaluate.timing import Latency
from recollect.evaluate.vectors import WordVectors
from recollect.memories import Memories


@dataclass(frozen=True, slots=True)
class Load:
    """What so many writers did in that time; `lost` counts acknowledged writes that are not there."""

    writers: int
    seconds: float
    operations_per_second: float
    writes: int
    recalls: int
    errors: int
    first_error: str | None
    lost: int
    write_ms: Latency | None
    recall_ms: Latency | None


@dataclass(slots=True)
class Done:
    """What one writer did: the namespace and id of each acknowledged write, and how long each call took."""

    kept: list[tuple[str, str]] = field(default_factory=list)
    writing: list[float] = field(default_factory=list)
    recalling: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Work:
    """Where to write and what to ask where; `note` is told of each memory that was written."""

    spaces: Sequence[Memories]
    asked: Sequence[tuple[Memories, str]]
    embedder: WordVectors
    note: Callable[[str, str], None]


def put_under_load(work: Work, writers: int, seconds: float, seed: int) -> Load:
    """Let threads write and recall in turn until the time is up, then look for every write."""
    with ThreadPoolExecutor(writers, thread_name_prefix="recollect-bench") as pool:
        start = perf_counter()
        end = start + seconds
        running = [pool.submit(_write_and_recall, work, end, f"{seed}/{n}") for n in range(writers)]
        done = [each.result() for each in running]
        took = perf_counter() - start
    kept = [pair for each in done for pair in each.kept]
    return _summed_up(done, took, _lost(work, kept))


def _write_and_recall(work: Work, end: float, seed: str) -> Done:
    chance = random.Random(seed)
    fresh = texts.made(chance.getrandbits(62))
    done = Done()
    while perf_counter() < end:
        space, text = chance.choice(work.spaces), next(fresh)
        vector = work.embedder.embed([text])[0].tolist()
        view, question = chance.choice(work.asked)
        try:
            start = perf_counter()
            id = space.remember(text, vector=vector, on_duplicate="keep").id
            written = perf_counter()
            done.writing.append(written - start)
            done.kept.append((space.namespace, id))
            work.note(space.namespace, id)
            view.recall(question)
            done.recalling.append(perf_counter() - written)
        except RecollectError as error:
            done.errors.append(str(error))
    return done


def _lost(work: Work, kept: Sequence[tuple[str, str]]) -> int:
    spaces = {space.namespace: space for space in work.spaces}
    return sum(not _is_there(spaces[namespace], id) for namespace, id in kept)


def _is_there(space: Memories, id: str) -> bool:
    try:
        return space.get(id).id == id
    except NotFound:
        return False


def _summed_up(done: Sequence[Done], took: float, lost: int) -> Load:
    writing = [time for each in done for time in each.writing]
    recalling = [time for each in done for time in each.recalling]
    errors = [error for each in done for error in each.errors]
    return Load(
        writers=len(done),
        seconds=round(took, 3),
        operations_per_second=round((len(writing) + len(recalling)) / took, 1),
        writes=len(writing),
        recalls=len(recalling),
        errors=len(errors),
        first_error=errors[0] if errors else None,
        lost=lost,
        write_ms=Latency.of(writing) if writing else None,
        recall_ms=Latency.of(recalling) if recalling else None,
    )
