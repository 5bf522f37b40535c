"""What was measured, summed up: over all questions, by category, against another setting; and as tables.

Everything but the fields called `timing` is the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from recollect import __version__
from recollect.evaluate import abstaining, metrics
from recollect.evaluate.abstaining import FOUND, Level, Sureness
from recollect.evaluate.metrics import MAIN_MEASURE, MEASURES, Estimate
from recollect.evaluate.running import Answer, Ask, Outcome, Result, Setting

SHOWN_CHANGES = 5
"""How many of the greatest wins, and of the greatest losses, people are shown."""
BY_CATEGORY = (MAIN_MEASURE, "any@5", "all@5")


@dataclass(frozen=True, slots=True)
class Group:
    """The questions of one category, or all of them, and every measure over them."""

    category: str
    questions: int
    measures: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Speed:
    """How long a setting took to answer."""

    seconds: float
    queries_per_second: float


@dataclass(frozen=True, slots=True)
class Summary:
    """One setting on one set; `remarks` are what recalls said about themselves, and how often."""

    setting: str
    mode: str
    fusion: str
    overall: Group
    categories: tuple[Group, ...]
    confidence: Sureness
    remarks: Mapping[str, int]
    timing: Speed


@dataclass(frozen=True, slots=True)
class Change:
    """A question that one setting answers better or worse than another does."""

    id: str
    text: str
    category: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A setting against another by nDCG@10: how often better and worse, by how much, and where."""

    setting: str
    against: str
    wins: int
    losses: int
    ties: int
    difference: Estimate
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Filling:
    """How long it took to fill the store, or to see that it was filled."""

    seconds: float
    reused: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: the memories that answer it with their grades, and what each setting gave, best first.

    `likelihood` is how likely each setting took it to be that an answer is among the first five.
    """

    id: str
    text: str
    category: str
    relevant: Mapping[str, int]
    ranked: Mapping[str, tuple[str, ...]]
    likelihood: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SetReport:
    """Everything about one set; the questions that nothing answers are in `unanswerable` and nowhere else."""

    name: str
    documents: int
    scopes: int
    questions: int
    embedder: str | None
    notes: tuple[str, ...]
    settings: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    asked: tuple[Asked, ...]
    unanswerable: tuple[Asked, ...]
    timing: Filling


@dataclass(frozen=True, slots=True)
class Report:
    """All that was measured in one run, and with what."""

    recollect: str
    measures: tuple[str, ...]
    confidence: float
    resamples: int
    sets: tuple[SetReport, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows for people; all columns but the first `left` are numbers."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1


def report(results: Sequence[Result], against: Setting | None = None) -> Report:
    """The results, summed up; each setting is compared with `against`, if that is given and was asked."""
    sets = tuple(_of_set(result, against) for result in results)
    return Report(__version__, MEASURES, metrics.CONFIDENCE, metrics.RESAMPLES, sets)


def _of_set(result: Result, against: Setting | None) -> SetReport:
    base = next((each for each in result.outcomes if each.setting == against), None)
    return SetReport(
        name=result.name,
        documents=result.documents,
        scopes=result.scopes,
        questions=len(result.asks),
        embedder=result.embedder,
        notes=result.notes,
        settings=tuple(_summary(result, outcome) for outcome in result.outcomes),
        comparisons=tuple(
            _comparison(result, outcome, base) for outcome in result.outcomes if base and outcome is not base
        ),
        asked=_asked(result.asks, {each.setting.name: each.answers for each in result.outcomes}),
        unanswerable=_asked(
            result.unanswerable, {each.setting.name: each.unanswerable for each in result.outcomes}
        ),
        timing=Filling(result.filling_seconds, result.reused),
    )


def _summary(result: Result, outcome: Outcome) -> Summary:
    rows = [answer.scores for answer in outcome.answers]
    by_category: dict[str, list[Mapping[str, float]]] = {}
    for ask, row in zip(result.asks, rows, strict=True):
        by_category.setdefault(ask.question.category, []).append(row)
    groups = (Group(name, len(part), metrics.estimates(part)) for name, part in sorted(by_category.items()))
    return Summary(
        setting=outcome.setting.name,
        mode=outcome.setting.mode,
        fusion=outcome.setting.fusion,
        overall=Group("", len(rows), metrics.estimates(rows)),
        categories=tuple(groups) if len(by_category) > 1 else (),
        confidence=abstaining.sureness(outcome),
        remarks=outcome.remarks,
        timing=Speed(outcome.seconds, len(rows) / outcome.seconds if outcome.seconds else 0.0),
    )


def _comparison(result: Result, outcome: Outcome, base: Outcome) -> Comparison:
    before = [answer.scores[MAIN_MEASURE] for answer in base.answers]
    after = [answer.scores[MAIN_MEASURE] for answer in outcome.answers]
    changes = [
        Change(ask.question.id, ask.question.text, ask.question.category, old, new)
        for ask, old, new in zip(result.asks, before, after, strict=True)
        if old != new
    ]
    wins = sum(change.after > change.before for change in changes)
    return Comparison(
        setting=outcome.setting.name,
        against=base.setting.name,
        wins=wins,
        losses=len(changes) - wins,
        ties=len(after) - len(changes),
        difference=metrics.difference(after, before),
        changes=tuple(sorted(changes, key=lambda change: (change.before - change.after, change.id))),
    )


def _asked(asks: Sequence[Ask], answers: Mapping[str, Sequence[Answer]]) -> tuple[Asked, ...]:
    return tuple(
        Asked(
            ask.question.id,
            ask.question.text,
            ask.question.category,
            ask.grades,
            {name: given[number].ranked for name, given in answers.items()},
            {name: given[number].likelihood for name, given in answers.items()},
        )
        for number, ask in enumerate(asks)
    )


# for people


def headline(of: SetReport) -> str:
    """What was measured, on one line."""
    scopes = f" in {of.scopes:,} scopes" if of.scopes > 1 else ""
    filled = "filled before" if of.timing.reused else f"filled in {of.timing.seconds:.1f} s"
    more = f" and {len(of.unanswerable):,} without an answer" if of.unanswerable else ""
    parts = [
        f"{of.questions:,} questions{more}, {of.documents:,} documents{scopes}",
        f"embedder {of.embedder or 'none'}",
    ]
    return f"{of.name}: {'; '.join([*parts, filled] if of.timing.seconds else parts)}"


def tables(of: SetReport) -> Iterator[Table]:
    """The measures of every setting, the main ones by category, confidence, and wins and losses.

    Where every question has one answer, all@k says nothing that any@k does not.
    """
    names = tuple(summary.setting for summary in of.settings)
    rows = [
        (measure, *(_estimate(summary.overall.measures[measure]) for summary in of.settings))
        for measure in MEASURES
    ]
    speeds = (f"{summary.timing.queries_per_second:.0f}" for summary in of.settings)
    yield Table("mean [95% interval]", ("measure", *names), (*rows, ("queries/s", *speeds)))
    groups = [summary.categories for summary in of.settings]
    one_each = all(len(each.relevant) == 1 for each in of.asked)
    shown = [measure for measure in BY_CATEGORY if not (one_each and measure.startswith("all"))]
    for measure in shown if groups and groups[0] else ():
        by_category = tuple(
            (row[0].category or "–", f"{row[0].questions:,}", *(_estimate(g.measures[measure]) for g in row))
            for row in zip(*groups, strict=True)
        )
        yield Table(f"{measure} by category", ("category", "questions", *names), by_category)
    yield _levels(of)
    if of.unanswerable:
        aucs = (_estimate(each) if (each := summary.confidence.auc) else "–" for summary in of.settings)
        yield Table(
            "likelihoods of found answers against those of unanswerable questions",
            ("measure", *names),
            (("AUC", *aucs),),
        )
    if of.comparisons:
        yield _compared(of.comparisons)
        yield from map(_changes, of.comparisons)


def remarks(of: SetReport) -> Iterator[str]:
    """What must be known to read the figures."""
    yield from of.notes
    for summary in of.settings:
        for remark, times in summary.remarks.items():
            yield f"{summary.setting}: {remark} ({times:,} of {of.questions:,} questions)"


def _levels(of: SetReport) -> Table:
    """How many questions got each level, and whether that was right."""
    shown = slice(None) if of.unanswerable else slice(-1)
    rows = tuple(
        (f"{summary.setting}, {level.level}", *_level(level, of)[shown])
        for summary in of.settings
        for level in summary.confidence.levels
    )
    headers: tuple[str, ...] = ("confidence", "questions", FOUND, "unanswerable")
    return Table("questions by confidence", headers[shown], rows)


def _level(level: Level, of: SetReport) -> tuple[str, str, str]:
    found = level.measures.get(FOUND)
    return (
        _share(level.answerable, of.questions),
        _estimate(found) if found else "–",
        _share(level.unanswerable, len(of.unanswerable)),
    )


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.0%})" if whole else "–"


def _compared(comparisons: Sequence[Comparison]) -> Table:
    rows = tuple(
        (
            each.setting,
            f"{each.wins:,}",
            f"{each.losses:,}",
            f"{each.ties:,}",
            _estimate(each.difference, "+"),
        )
        for each in comparisons
    )
    title = f"{MAIN_MEASURE} against {comparisons[0].against}, question by question"
    return Table(title, ("setting", "wins", "losses", "ties", "difference"), rows)


def _changes(comparison: Comparison) -> Table:
    rows = tuple(
        (change.text, change.id, f"{change.before:.3f}", f"{change.after:.3f}")
        for change in greatest(comparison)
    )
    title = f"the greatest wins and losses of {comparison.setting}"
    return Table(title, ("question", "id", comparison.against, comparison.setting), rows, left=2)


def greatest(comparison: Comparison) -> tuple[Change, ...]:
    """The greatest wins, then the greatest losses, the worst last."""
    wins = tuple(change for change in comparison.changes if change.after > change.before)
    losses = comparison.changes[len(wins) :]
    return wins[:SHOWN_CHANGES] + losses[-SHOWN_CHANGES:]


def _estimate(value: Estimate, sign: str = "") -> str:
    return f"{value.value:{sign}.3f} [{value.low:{sign}.3f} {value.high:{sign}.3f}]"
