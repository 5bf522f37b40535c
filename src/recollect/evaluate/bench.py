"""How fast is a store, and how does that grow? One or several stores, by turns, so that the machine's noise
falls on all of them alike. Texts are read as they are needed, several times, and never held."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from statistics import fmean, median
from typing import NamedTuple

from recollect.errors import InvalidInput
from recollect.evaluate import dealing, texts
from recollect.evaluate.comparing import Comparison
from recollect.evaluate.dealing import Dealing, id_of, namespace, tag_of
from recollect.evaluate.exactness import Exactness, Seen
from recollect.evaluate.figures import Cold, Measured, Narrow, Report, StoreReport, growth
from recollect.evaluate.load import Load, Work, put_under_load
from recollect.evaluate.subject import Subject, file_of, opened
from recollect.evaluate.timing import Latency, resident_bytes
from recollect.evaluate.vectors import DIMENSIONS, WordVectors
from recollect.types import Draft, Filters, Mode, Progress

MODES: tuple[Mode, ...] = ("hybrid", "keyword", "semantic")
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 2_048, 20_000
_TURNS = 20
"""A size is reached in about so many turns, since each ends with a look for missing vectors."""

Seconds = defaultdict[Subject, list[float]]
"""How long each call took, by store."""
Source = Callable[[], Iterable[Draft]]
"""The texts from the first one on, each time it is called."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure, in sizes that grow. `reuse` takes a store's bench namespaces if they fit, `keep`
    leaves them there. `writes` are written one by one, `exact` is how many questions are compared with
    exact search, `cold` how many processes are started; neither where it is 0."""

    urls: tuple[str, ...]
    sizes: tuple[int, ...] = (10_000,)
    namespaces: int = 1
    questions: int = 200
    modes: tuple[Mode, ...] = MODES
    writes: int = 1_000
    exact: int = 50
    cold: int = 5
    writers: int = 0
    seconds: float = 10.0
    seed: int = 1
    reuse: bool = False
    keep: bool = False


class Asked(NamedTuple):
    """A question: in which namespace, and the tag of the memory that it is about."""

    space: int
    text: str
    tag: str


class Filled(NamedTuple):
    """What filling a store took."""

    per_second: float | None = None
    settling_seconds: float | None = None


def run(plan: Plan, source: Source, progress: Progress | None = None) -> Report:
    """Fill the stores of a plan with the texts of a source, time them and remove what was written.

    InvalidInput before anything is written if that can't be done without touching what is there.
    """
    if len({file_of(url) or url for url in plan.urls}) < len(plan.urls):
        raise InvalidInput("A store is named twice: give each --url once.")
    if plan.sizes[0] < max(2, plan.namespaces):
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
            subject.check(reuse=plan.reuse)
        dealt = Dealing.of(plan.sizes[0], plan.namespaces)
        return _Bench(plan, source, embedder, subjects, progress or _untold, dealt).measured()


def _untold(_what: str, _done: int, _total: int | None) -> None:
    """Nobody wants to know how far it is."""


def _import_everything(embedder: WordVectors) -> None:
    """So that the first store does not pay, in time and memory, for modules that all of them use."""
    import recollect

    with recollect.open(":memory:", embedder=embedder) as memories:
        memories.remember_many(["Everything is imported by now."])
        memories.recall("imported", reinforce=False)


Scoping = Callable[[Asked], Filters]
"""Which memories may answer a question."""


def _slowed_by(before: Sequence[float], after: Sequence[float]) -> float:
    return round(Latency.of(after).p50 / Latency.of(before).p50, 3)


def _anything(_asked: Asked) -> Filters:
    return {}


@dataclass(slots=True)
class _Bench:
    """The stores, what they are filled with, and each phase of the measure."""

    plan: Plan
    source: Source
    embedder: WordVectors
    subjects: Sequence[Subject]
    tell: Progress
    dealing: Dealing
    singles: list[Seen] = field(default_factory=list)

    @property
    def mode(self) -> Mode:
        """The mode that is looked at closely."""
        return self.plan.modes[0]

    def measured(self) -> Report:
        """Every size in turn, then the numbers."""
        plan = self.plan
        asked = self._draw()
        stream, fresh = iter(enumerate(self.source())), texts.made(-1 - plan.seed)
        by_store: dict[Subject, list[Measured]] = {subject: [] for subject in self.subjects}
        for before, size in zip((0, *plan.sizes), plan.sizes, strict=False):
            filled = self._fill(islice(stream, size - before), size - before, size)
            for subject, each in self._at_size(size, filled, asked[size], islice(fresh, plan.writes)).items():
                by_store[subject].append(each)
        return Report(
            memories=list(plan.sizes),
            namespaces=plan.namespaces,
            questions=plan.questions,
            writes=plan.writes,
            dimensions=DIMENSIONS,
            seed=plan.seed,
            resident_bytes=resident_bytes(),
            stores=[
                StoreReport(
                    url=subject.url,
                    reused=subject.reused,
                    sizes=sizes,
                    growth=growth(sizes),
                    load=self._load(subject, asked[plan.sizes[-1]]) if plan.writers else None,
                )
                for subject, sizes in by_store.items()
            ],
        )

    def _draw(self) -> dict[int, list[Asked]]:
        """The questions for each size; and what is reused is looked at, now that the texts are known."""
        draws = {size: self._questions(size) for size in self.plan.sizes}
        counts: Counter[int] = Counter()
        firsts: dict[int, tuple[int, str]] = {}
        last = self.plan.sizes[-1]
        for number, draft in enumerate(islice(self.source(), last)):
            space = self.dealing.space(number)
            counts[space] += 1
            firsts.setdefault(space, (number, draft.text))
            for size, draw in draws.items():
                if number < size:
                    draw.see(number, draft.text)
            if number % _FEWEST_AT_ONCE == 0 or number + 1 == last:
                self.tell("reading texts", number + 1, last)
        for subject in self.subjects:
            subject.check_fit(counts, firsts)
        return {
            size: [Asked(self.dealing.space(n), text, tag_of(n)) for n, text in draw.questions()]
            for size, draw in draws.items()
        }

    def _questions(self, size: int) -> texts.Draw:
        chance = random.Random(f"{self.plan.seed}/{size}")
        places = texts.picked(self.plan.questions, dealing.count_asked_about(size), chance)
        return texts.Draw([dealing.asked_about(place) for place in places], size, chance)

    def _at_size(
        self, size: int, filled: Mapping[Subject, Filled], asked: Sequence[Asked], fresh: Iterable[str]
    ) -> dict[Subject, Measured]:
        """Everything that is measured once a size is reached."""
        at = f"at {size:,}: "
        by_tag = self._ask_narrowly(asked, f"{at}with a tag", lambda each: {"tags": [each.tag]})
        elsewhere = [each._replace(space=self.dealing.small) for each in asked]
        by_name = self._ask_narrowly(elsewhere, f"{at}in a small namespace")
        # the first mode last, right before the writes: it is compared with what comes right after them
        recalls = {mode: self._ask(asked, f"{at}{mode} recall", mode) for mode in self.plan.modes[::-1]}
        writes = self._write_singly(fresh, at)
        after = self._ask(asked, f"{at}after the writes", self.mode)
        exact = self._compare(size, asked, at)
        fresh_bytes = self._in_fresh_processes(asked, at)
        cold = self._start_cold(asked, at)
        return {
            subject: Measured(
                memories=size,
                written_per_second=filled.get(subject, Filled()).per_second,
                settling_seconds=filled.get(subject, Filled()).settling_seconds,
                write_ms=Latency.of(writes[subject]),
                recall_ms={mode: Latency.of(recalls[mode][subject]) for mode in self.plan.modes},
                tag=by_tag[subject],
                namespace=by_name[subject],
                after_writes=Latency.of(after[subject]),
                slowed_by=_slowed_by(recalls[self.mode][subject], after[subject]),
                cold=cold.get(subject),
                exact=exact.get(subject),
                resident_bytes=subject.resident_bytes(),
                fresh_resident_bytes=fresh_bytes.get(subject),
                bytes=subject.bytes(),
                derived_bytes=subject.derived_bytes(),
            )
            for subject in self.subjects
        }

    def _turns(self, number: int, subjects: Sequence[Subject]) -> Sequence[Subject]:
        """All of them, another one first each time."""
        first = number % len(subjects)
        return (*subjects[first:], *subjects[:first])

    # writing

    def _fill(self, stream: Iterator[tuple[int, Draft]], count: int, size: int) -> dict[Subject, Filled]:
        """What filling up to a size took, by store; nothing for one that is reused."""
        empty = [subject for subject in self.subjects if not subject.reused]
        seconds = dict.fromkeys(empty, 0.0)
        done = 0
        for turn, (space, batch) in enumerate(self._batches(stream, count) if empty else ()):
            for subject in self._turns(turn, empty):
                subject.will_fill(namespace(space))
                write = partial(subject.space(space).remember_many, batch, on_duplicate="keep")
                seconds[subject] += subject.timed(write)[0]
            done += len(batch)
            self.tell(f"writing up to {size:,}", done, count)
        settled = {subject: subject.timed(subject.settle)[0] for subject in empty}
        return {
            subject: Filled(round(count / (took + settled[subject]), 1), round(settled[subject], 3))
            for subject, took in seconds.items()
        }

    def _batches(self, stream: Iterator[tuple[int, Draft]], count: int) -> Iterator[tuple[int, list[Draft]]]:
        """What is written at once, and to which namespace, with ids, tags and vectors."""
        at_once = min(_MOST_AT_ONCE, max(_FEWEST_AT_ONCE, count // _TURNS))
        while some := list(islice(stream, at_once)):
            by_space: defaultdict[int, list[tuple[int, Draft]]] = defaultdict(list)
            for number, draft in some:
                by_space[self.dealing.space(number)].append((number, draft))
            for space, numbered in by_space.items():
                yield space, self._ready(numbered)

    def _ready(self, numbered: Sequence[tuple[int, Draft]]) -> list[Draft]:
        vectors = self.embedder.embed([draft.text for _, draft in numbered])
        return [
            replace(draft, id=id_of(number), tags=(tag_of(number),), vector=vector)
            for (number, draft), vector in zip(numbered, vectors, strict=True)
        ]

    def _write_singly(self, fresh: Iterable[str], at: str) -> Seconds:
        """One memory at a time, each on disk when the call returns."""
        seconds: Seconds = defaultdict(list)
        for number, text in enumerate(fresh):
            vector = self.embedder.embed([text])[0]
            space = number % self.plan.namespaces
            self.singles.append(Seen(space, text))
            id = f"bench-single-{len(self.singles):06}"
            for subject in self._turns(number, self.subjects):
                subject.will_remove(namespace(space), id)
                write = partial(subject.space(space).remember, text, id=id, vector=vector)
                seconds[subject].append(subject.timed(write)[0])
            self.tell(f"{at}writing one by one", number + 1, self.plan.writes)
        return seconds

    # asking

    def _ask(self, asked: Sequence[Asked], what: str, mode: Mode) -> Seconds:
        """Every question, each asked once before without a clock."""
        return self._timed(asked, what, mode, _anything)[0]

    def _ask_narrowly(
        self, asked: Sequence[Asked], what: str, scope: Scoping = _anything
    ) -> dict[Subject, Narrow]:
        """The same where few memories may answer."""
        seconds, hits = self._timed(asked, what, self.mode, scope)
        return {
            subject: Narrow(Latency.of(times), round(fmean(hits[subject]), 2))
            for subject, times in seconds.items()
        }

    def _timed(
        self, asked: Sequence[Asked], what: str, mode: Mode, scope: Scoping
    ) -> tuple[Seconds, defaultdict[Subject, list[int]]]:
        """How long each question takes the second time, and how many hits it brings."""
        seconds: Seconds = defaultdict(list)
        hits: defaultdict[Subject, list[int]] = defaultdict(list)
        for number, each in enumerate((*asked, *asked)):
            for subject in self._turns(number, self.subjects):
                recall = partial(subject.space(each.space).recall, each.text, mode=mode, reinforce=False)
                took, found = subject.timed(partial(recall, **scope(each)))
                if number >= len(asked):
                    seconds[subject].append(took)
                    hits[subject].append(len(found))
            self.tell(what, number + 1, 2 * len(asked))
        return seconds, hits

    def _compare(self, size: int, asked: Sequence[Asked], at: str) -> dict[Subject, Exactness]:
        """How exact the legs are among all that was written so far."""
        if not self.plan.exact:
            return {}
        questions = ((each.space, each.text) for each in asked)
        comparison = Comparison(self.subjects, questions, self.plan.exact, self.embedder)
        filled = (
            Seen(self.dealing.space(number), draft.text, (tag_of(number),))
            for number, draft in enumerate(islice(self.source(), size))
        )
        total = size + len(self.singles)

        def tell(done: int) -> None:
            self.tell(f"{at}comparing with exact search", done, total)

        return comparison.exactness(chain(filled, self.singles), tell)

    # processes of their own

    def _in_fresh_processes(self, asked: Sequence[Asked], at: str) -> dict[Subject, int | None]:
        """What a process holds that only asks the questions."""
        questions = [(namespace(each.space), each.text) for each in asked]
        held: dict[Subject, int | None] = {}
        for number, subject in enumerate(self.subjects if self.plan.cold else (), 1):
            if subject.processes:
                held[subject] = subject.processes.ask(questions, self.mode)[1]
            self.tell(f"{at}asking in a process of its own", number, len(self.subjects))
        return held

    def _start_cold(self, asked: Sequence[Asked], at: str) -> dict[Subject, Cold]:
        """The first answer of processes, each with another question."""
        by_keyword: Seconds = defaultdict(list)
        hybrid: Seconds = defaultdict(list)
        for number in range(self.plan.cold):
            each = asked[number % len(asked)]
            for subject in self._turns(number, self.subjects):
                if subject.processes:
                    by_keyword[subject].append(subject.processes.search(namespace(each.space), each.text))
                    once = [(namespace(each.space), each.text)]
                    hybrid[subject].append(subject.processes.ask(once, "hybrid")[0])
            self.tell(f"{at}starting processes", number + 1, self.plan.cold)
        return {
            subject: Cold(round(median(times) * 1000, 1), round(median(hybrid[subject]) * 1000, 1))
            for subject, times in by_keyword.items()
        }

    def _load(self, subject: Subject, asked: Sequence[Asked]) -> Load:
        plan = self.plan
        spaces = [subject.space(number) for number in range(plan.namespaces)]
        questions = [(subject.space(each.space), each.text) for each in asked]
        self.tell("under load", 0, None)
        work = Work(spaces, questions, self.embedder, subject.will_remove)
        return put_under_load(work, plan.writers, plan.seconds, plan.seed)
