"""What is it worth that a recall says how sure it is? Its levels, how well they tell, what a threshold does.

An agent that abstains below a likelihood answers fewer of the questions that have no answer, and fewer of
those that have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recollect.evaluate import metrics
from recollect.evaluate.metrics import Estimate
from recollect.evaluate.running import Answer, Outcome
from recollect.types import CONFIDENCES, Confidence

FOUND = "any@5"
"""What a likelihood is about: an answer is among the first five."""
_STEPS = 20


@dataclass(frozen=True, slots=True)
class Level:
    """The questions whose recall said this; `measures` has any@5 of the answerable ones, if there are any."""

    level: Confidence
    answerable: int
    unanswerable: int
    measures: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Point:
    """What happens to those who answer from this likelihood on; None where there is no such question.

    `answered` is the share of the answerable questions, `found` the any@5 among these, and `misled` the
    share of the unanswerable ones that is answered, too.
    """

    threshold: float
    answered: float
    found: float | None
    misled: float | None


@dataclass(frozen=True, slots=True)
class Sureness:
    """How a setting's likelihoods fared.

    `auc` is how likely a question whose answer was among the first five has a higher likelihood than one
    that nothing answers; None without either of them.
    """

    levels: tuple[Level, ...]
    auc: Estimate | None
    curve: tuple[Point, ...]


def sureness(outcome: Outcome) -> Sureness:
    """What a setting's recalls said of themselves, against what they found."""
    answered = [answer.likelihood for answer in outcome.answers if answer.scores[FOUND]]
    return Sureness(
        levels=tuple(_level(each, outcome) for each in CONFIDENCES),
        auc=metrics.auc(answered, [answer.likelihood for answer in outcome.unanswerable]),
        curve=tuple(_point(step / _STEPS, outcome) for step in range(_STEPS + 1)),
    )


def _level(level: Confidence, outcome: Outcome) -> Level:
    said = [answer for answer in outcome.answers if answer.confidence == level]
    return Level(
        level,
        len(said),
        sum(answer.confidence == level for answer in outcome.unanswerable),
        metrics.estimates([{FOUND: answer.scores[FOUND]} for answer in said]),
    )


def _point(threshold: float, outcome: Outcome) -> Point:
    kept = _from(threshold, outcome.answers)
    others = outcome.unanswerable
    return Point(
        threshold,
        len(kept) / len(outcome.answers),
        sum(answer.scores[FOUND] for answer in kept) / len(kept) if kept else None,
        len(_from(threshold, others)) / len(others) if others else None,
    )


def _from(threshold: float, answers: Sequence[Answer]) -> list[Answer]:
    return [answer for answer in answers if answer.likelihood >= threshold]
