"""How fast is a store? One or several, by turns, so that the machine's noise falls on all of them alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from recollect.errors import InvalidInput
from recollect.evaluate import texts
from recollect.evaluate.load import Load, Work, put_under_load
from recollect.evaluate.subject import Subject, file_of, id_of, namespace, opened
from recollect.evaluate.timing import Latency, resident_bytes
from recollect.evaluate.vectors import DIMENSIONS, WordVectors
from recollect.types import Draft, Mode, Progress

MODES: tuple[Mode, ...] = ("hybrid", "keyword", "semantic")
SINGLE_WRITES = 100
_AT_ONCE = 2_048
_TURNS = 20
"""A namespace is filled in at most so many turns, since each ends with a look for missing vectors."""

Seconds = defaultdict[Subject, list[float]]
"""How long each call took, by store."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure. `reuse` takes a store's bench namespaces if they fit, `keep` leaves them there."""

    urls: tuple[str, ...]
    namespaces: int = 1
    questions: int = 200
    modes: tuple[Mode, ...] = MODES
    writers: int = 0
    seconds: float = 10.0
    seed: int = 1
    reuse: bool = False
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """One store. `resident_bytes` is what this process grew by while it was at work with the store."""

    url: str
    reused: bool
    written_per_second: float | None
    write_ms: Latency
    recall_ms: dict[str, Latency]
    resident_bytes: int | None
    bytes: int
    load: Load | None


@dataclass(frozen=True, slots=True)
class Report:
    """Every store in the order of the plan, and what they were measured with."""

    memories: int
    namespaces: int
    questions: int
    dimensions: int
    seed: int
    resident_bytes: int | None
    stores: list[Measured]


def run(plan: Plan, drafts: Sequence[Draft], progress: Progress | None = None) -> Report:
    """Fill the stores of a plan with drafts, time them and remove what was written.

    InvalidInput before anything is written if that can't be done without touching what is there.
    """
    if len({file_of(url) or url for url in plan.urls}) < len(plan.urls):
        raise InvalidInput("A store is named twice: give each --url once.")
    if len(drafts) < plan.namespaces:
        raise InvalidInput(
            "There are fewer memories than namespaces: give more memories, or fewer namespaces."
        )
    embedder = WordVectors()
    _import_everything(embedder)
    with ExitStack() as stores:
        subjects = [
            stores.enter_context(opened(url, embedder, keep=plan.keep, progress=progress))
            for url in plan.urls
        ]
        for subject in subjects:
            subject.check(drafts, plan.namespaces, reuse=plan.reuse)
        return _Bench(plan, drafts, embedder, subjects, progress or _untold).measured()


def _untold(_what: str, _done: int, _total: int | None) -> None:
    """Nobody wants to know how far it is."""


def _import_everything(embedder: WordVectors) -> None:
    """So that the first store does not pay, in time and memory, for modules that all of them use."""
    import recollect

    with recollect.open(":memory:", embedder=embedder) as memories:
        memories.remember_many(["Everything is imported by now."])
        memories.recall("imported", reinforce=False)


@dataclass(frozen=True, slots=True)
class _Bench:
    """The stores, what they are filled with, and each phase of the measure."""

    plan: Plan
    drafts: Sequence[Draft]
    embedder: WordVectors
    subjects: Sequence[Subject]
    tell: Progress

    def measured(self) -> Report:
        """Every phase in turn, then the numbers."""
        plan = self.plan
        about = texts.questions([draft.text for draft in self.drafts], plan.questions, plan.seed)
        asked = [(number % plan.namespaces, question) for number, question in about]
        rates = self._fill()
        recalls = self._ask(asked)
        writes = self._write_singly()
        return Report(
            memories=len(self.drafts),
            namespaces=plan.namespaces,
            questions=plan.questions,
            dimensions=DIMENSIONS,
            seed=plan.seed,
            resident_bytes=resident_bytes(),
            stores=[
                Measured(
                    url=subject.url,
                    reused=subject.reused,
                    written_per_second=rates.get(subject),
                    write_ms=Latency.of(writes[subject]),
                    recall_ms={mode: Latency.of(recalls[mode][subject]) for mode in plan.modes},
                    resident_bytes=subject.grown,
                    bytes=subject.memories.stats().bytes,
                    load=self._load(subject, asked) if plan.writers else None,
                )
                for subject in self.subjects
            ],
        )

    def _turns(self, number: int, subjects: Sequence[Subject]) -> Sequence[Subject]:
        """All of them, another one first each time."""
        first = number % len(subjects)
        return (*subjects[first:], *subjects[:first])

    def _fill(self) -> dict[Subject, float]:
        """Memories written a second, all indexes included, by store; not for one that is reused."""
        empty = [subject for subject in self.subjects if not subject.reused]
        seconds = dict.fromkeys(empty, 0.0)
        done = 0
        for turn, (space, batch) in enumerate(self._batches() if empty else ()):
            for subject in self._turns(turn, empty):
                subject.will_fill(namespace(space))
                write = partial(subject.space(space).remember_many, batch, on_duplicate="keep")
                seconds[subject] += subject.timed(write)
            done += len(batch)
            self.tell("writing", done, len(self.drafts))
        return {subject: round(len(self.drafts) / took, 1) for subject, took in seconds.items()}

    def _batches(self) -> Iterator[tuple[int, list[Draft]]]:
        """The drafts dealt to the namespaces, with ids and vectors, as many as are written at once."""
        for space in range(self.plan.namespaces):
            numbers = range(space, len(self.drafts), self.plan.namespaces)
            size = max(_AT_ONCE, -(-len(numbers) // _TURNS))
            for start in range(0, len(numbers), size):
                yield space, self._ready(numbers[start : start + size])

    def _ready(self, numbers: Sequence[int]) -> list[Draft]:
        vectors = self.embedder.embed([self.drafts[number].text for number in numbers])
        return [
            replace(self.drafts[number], id=id_of(number), vector=vector)
            for number, vector in zip(numbers, vectors, strict=True)
        ]

    def _ask(self, asked: Sequence[tuple[int, str]]) -> dict[Mode, Seconds]:
        """Every question in every mode, each asked once before without a clock."""
        seconds: dict[Mode, Seconds] = {mode: defaultdict(list) for mode in self.plan.modes}
        for is_timed in (False, True):
            for number, (space, question) in enumerate(asked):
                for mode in self.plan.modes:
                    for subject in self._turns(number, self.subjects):
                        recall = partial(subject.space(space).recall, question, mode=mode, reinforce=False)
                        took = subject.timed(recall)
                        if is_timed:
                            seconds[mode][subject].append(took)
                self.tell("asking" if is_timed else "warming up", number + 1, len(asked))
        return seconds

    def _write_singly(self) -> Seconds:
        """One memory at a time, each on disk when the call returns."""
        seconds: Seconds = defaultdict(list)
        fresh = islice(texts.made(-1 - self.plan.seed), SINGLE_WRITES)
        for number, text in enumerate(fresh):
            vector = self.embedder.embed([text])[0]
            space, id = number % self.plan.namespaces, f"bench-single-{number + 1:04}"
            for subject in self._turns(number, self.subjects):
                subject.will_remove(namespace(space), id)
                write = partial(subject.space(space).remember, text, id=id, vector=vector)
                seconds[subject].append(subject.timed(write))
            self.tell("writing one by one", number + 1, SINGLE_WRITES)
        return seconds

    def _load(self, subject: Subject, asked: Sequence[tuple[int, str]]) -> Load:
        plan = self.plan
        spaces = [subject.space(number) for number in range(plan.namespaces)]
        questions = [(subject.space(space), question) for space, question in asked]
        self.tell("under load", 0, None)
        work = Work(spaces, questions, self.embedder, subject.will_remove)
        return put_under_load(work, plan.writers, plan.seconds, plan.seed)
