"""Asking: every question of a set, in every setting, with the clock of the question."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from recollect.errors import InvalidInput
from recollect.evaluate import filling, metrics, probes
from recollect.evaluate.filling import Clock, Filled
from recollect.evaluate.sets import EvalSet, Question
from recollect.memories import Memories
from recollect.types import FUSIONS, MODES, Confidence, Fusion, Mode, Progress

OpenStore = Callable[[Clock], Memories]
"""Opens the store that is measured, always the same one, with this clock."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to search that is to be measured."""

    mode: Mode = "hybrid"
    fusion: Fusion = "mix"

    @property
    def name(self) -> str:
        """What it is called in reports; the default fusion goes without saying.

        >>> Setting("keyword").name, Setting("hybrid", "rrf").name
        ('keyword', 'hybrid/rrf')
        """
        return self.mode if self.fusion == "mix" else f"{self.mode}/{self.fusion}"


def setting(text: str) -> Setting:
    """The setting of this name.

    >>> setting("hybrid/rrf")
    Setting(mode='hybrid', fusion='rrf')
    """
    mode, _, fusion = text.partition("/")
    for known in (Setting(mode, fusion) for mode in MODES for fusion in FUSIONS):
        if (known.mode, known.fusion) == (mode, fusion or "mix"):
            return known
    raise InvalidInput(
        f"{text!r} is no setting: give a mode ({', '.join(MODES)}), or one with a fusion, such as hybrid/rrf."
    )


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as it is put to a store: where, when, and the grades of the memories that answer it."""

    question: Question
    namespaces: tuple[str, ...]
    at: datetime
    grades: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """The ids that came back for a question, best first, and how good they are by every measure.

    `confidence` and `likelihood` are what the recall said of itself. Where nothing answers the question,
    there are no scores.
    """

    ranked: tuple[str, ...]
    scores: Mapping[str, float]
    confidence: Confidence
    likelihood: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """A setting's answers, in the order of the questions, and how often each remark came with them.

    `unanswerable` are those to questions that nothing answers; neither remarks nor seconds are of them.
    """

    setting: Setting
    answers: tuple[Answer, ...]
    seconds: float
    remarks: Mapping[str, int] = field(default_factory=dict)
    unanswerable: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured on one set, or on a store of one's own."""

    name: str
    documents: int
    scopes: int
    embedder: str | None
    asks: tuple[Ask, ...]
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()
    filling_seconds: float = 0.0
    reused: bool = False
    unanswerable: tuple[Ask, ...] = ()


def evaluate(
    whole: EvalSet,
    settings: Sequence[Setting],
    open_store: OpenStore,
    *,
    mark: str,
    keep: bool,
    progress: Progress | None = None,
) -> Result:
    """Fill the store with a set, unless it holds it already, and ask every question in every setting.

    The set that is `apart` is not looked at: it is evaluated like any other, and `joined`.
    """
    try:
        started = time.perf_counter()
        with open_store(Clock(filling.newest(whole.documents))) as memories:
            filled = filling.fill(memories, whole, mark, progress)
        filling_seconds = time.perf_counter() - started
        asks, unanswerable = (asks_of(whole, filled, of) for of in (whole.questions, whole.unanswerable))
        outcomes = [_outcome(open_store, asks, unanswerable, each, whole.name, progress) for each in settings]
    finally:
        if not keep:
            with open_store(Clock()) as memories:
                filling.forget(memories, whole)
    waiting = f"documents without a vector, since the embedder failed: {filled.waiting:,}"
    return Result(
        name=whole.name,
        documents=len(whole.documents),
        scopes=len(filled.namespaces),
        embedder=filled.embedder,
        asks=tuple(asks),
        outcomes=tuple(outcomes),
        notes=(*whole.notes, waiting) if filled.waiting else whole.notes,
        filling_seconds=filling_seconds,
        reused=filled.reused,
        unanswerable=tuple(unanswerable),
    )


def joined(result: Result, apart: Result) -> Result:
    """A result, and with it that of the set which was apart: nothing but unanswerable questions."""
    note = f"documents of questions without an answer, in a store of their own: {apart.documents:,}"
    outcomes = (
        replace(ours, unanswerable=ours.unanswerable + theirs.unanswerable)
        for ours, theirs in zip(result.outcomes, apart.outcomes, strict=True)
    )
    return replace(
        result,
        outcomes=tuple(outcomes),
        notes=(*result.notes, note, *apart.notes),
        filling_seconds=result.filling_seconds + apart.filling_seconds,
        reused=result.reused and apart.reused,
        unanswerable=result.unanswerable + apart.unanswerable,
    )


def evaluate_own(
    settings: Sequence[Setting], open_store: OpenStore, *, number: int, progress: Progress | None = None
) -> Result:
    """Ask a store for memories of its own by parts of their texts; nothing in it is changed."""
    with open_store(Clock()) as memories:
        namespace = memories.namespace
        stats = memories.stats()
        asked_at = stats.last or filling.WITHOUT_TIME
        made = probes.make(probes.texts_of(memories.export_records(), asked_at), number)
    if not made:
        raise InvalidInput(
            f"No memory in {namespace!r} has {probes.FEWEST_WORDS} words or more: there is nothing to probe."
        )
    asks = [
        Ask(Question(each.id, each.text, category=each.kind), (namespace,), asked_at, {each.memory: 1})
        for each in made
    ]
    outcomes = [run(open_store, asks, each, namespace, progress) for each in settings]
    note = f"memories that probes were made of: {len({each.memory for each in made}):,}"
    return Result(namespace, stats.memories, 1, stats.embedder, tuple(asks), tuple(outcomes), (note,))


def asks_of(whole: EvalSet, filled: Filled, questions: Iterable[Question]) -> list[Ask]:
    """These questions of a set, put to the store that holds it.

    A memory that holds several merged documents has the highest of their grades.
    """
    latest = {scope: filling.newest(documents) for scope, documents in whole.by_scope().items()}
    latest.setdefault("", filling.newest(whole.documents))
    asks = []
    for question in questions:
        grades: dict[str, int] = {}
        for document_id, grade in whole.relevance.get(question.id, {}).items():
            memory = filled.held.get(document_id, document_id)
            grades[memory] = max(grade, grades.get(memory, 0))
        namespace = filled.namespaces.get(question.scope) if question.scope else None
        namespaces = (namespace,) if namespace else tuple(filled.namespaces.values())
        asks.append(Ask(question, namespaces, question.asked_at or latest[question.scope], grades))
    return asks


def _outcome(
    open_store: OpenStore,
    asks: Sequence[Ask],
    unanswerable: Sequence[Ask],
    setting: Setting,
    name: str,
    progress: Progress | None,
) -> Outcome:
    """What a setting answers; the unanswerable ones come last, so that they change nothing for the others."""
    found = run(open_store, asks, setting, name, progress)
    if not unanswerable:
        return found
    others = run(open_store, unanswerable, setting, f"{name}, without an answer", progress)
    return replace(found, unanswerable=others.answers)


def run(
    open_store: OpenStore, asks: Sequence[Ask], setting: Setting, name: str, progress: Progress | None
) -> Outcome:
    """Every question in one setting. The store is opened anew, so that no vector of a question is at hand."""
    clock = Clock()
    answers: list[Answer] = []
    remarks: Counter[str] = Counter()
    seconds = 0.0
    with open_store(clock) as memories:
        for number, ask in enumerate(_with_a_first(asks)):
            clock.now = ask.at
            started = time.perf_counter()
            found = memories.recall(
                ask.question.text,
                limit=metrics.DEPTH,
                mode=setting.mode,
                fusion=setting.fusion,
                reinforce=False,
                namespace=ask.namespaces,
            )
            if number == 0:
                continue  # it loaded the model
            seconds += time.perf_counter() - started
            remarks.update(found.notes)
            ranked = tuple(hit.memory.id for hit in found)
            scores = metrics.measure(ranked, ask.grades) if ask.grades else {}
            answers.append(Answer(ranked, scores, found.confidence, found.likelihood))
            if progress:
                progress(f"{name}: {setting.name}", number, len(asks))
    return Outcome(setting, tuple(answers), seconds, dict(sorted(remarks.items())))


def _with_a_first(asks: Sequence[Ask]) -> Iterable[Ask]:
    """The questions, after one that does not count."""
    yield from asks[:1]
    yield from asks
