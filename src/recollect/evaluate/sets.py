"""What is measured with: documents, questions, and which documents answer which question."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime

from recollect.errors import InvalidInput

SEED = 20_260_101


@dataclass(frozen=True, slots=True)
class Document:
    """A text to be remembered; only questions of its scope can find it."""

    id: str
    text: str
    _: KW_ONLY
    scope: str = ""
    session: str | None = None
    speaker: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question, asked at a moment, within a scope; without a scope it is asked of all documents."""

    id: str
    text: str
    _: KW_ONLY
    scope: str = ""
    category: str = ""
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class EvalSet:
    """A labelled set. `relevance` gives, for every question, the grades (above 0) of what answers it."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    relevance: Mapping[str, Mapping[str, int]]
    notes: tuple[str, ...] = ()

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes of the documents, in order."""
        return tuple(dict.fromkeys(document.scope for document in self.documents))

    def by_scope(self) -> dict[str, list[Document]]:
        """The documents of each scope, in order."""
        found: dict[str, list[Document]] = {}
        for document in self.documents:
            found.setdefault(document.scope, []).append(document)
        return found


def assemble(
    name: str,
    documents: Iterable[Document],
    questions: Iterable[Question],
    relevance: Mapping[str, Mapping[str, int]],
    notes: Iterable[str] = (),
) -> EvalSet:
    """A set that can be measured with: questions that nothing answers are left out, and noted."""
    known, asked = tuple(documents), tuple(questions)
    if not known:
        raise InvalidInput(f"{name} has no documents: there is nothing to search.")
    if len({document.id for document in known}) < len(known):
        raise InvalidInput(f"{name} has two documents with one id: give each its own.")
    grades = {
        question: relevant
        for question, judged in relevance.items()
        if (relevant := {id: grade for id, grade in judged.items() if grade > 0})
    }
    answerable = tuple(question for question in asked if question.id in grades)
    if not answerable:
        raise InvalidInput(f"{name} has no question that any document answers: there is nothing to measure.")
    made = EvalSet(name, known, answerable, {each.id: grades[each.id] for each in answerable}, tuple(notes))
    scopes = set(made.scopes)
    for question in answerable:
        if question.scope and question.scope not in scopes:
            raise InvalidInput(
                f"{name}: question {question.id!r} is asked of {question.scope!r}, which has no documents."
            )
    left_out = len(asked) - len(answerable)
    note = f"questions left out, since no document answers them: {left_out:,}"
    return replace(made, notes=(*made.notes, note)) if left_out else made


def sampled(whole: EvalSet, number: int | None) -> EvalSet:
    """So many of the questions, always the same ones, and the documents of their scopes."""
    if number is None or number >= len(whole.questions):
        return whole
    chosen = sorted(random.Random(SEED).sample(range(len(whole.questions)), number))
    questions = tuple(whole.questions[i] for i in chosen)
    scopes = {question.scope for question in questions}
    documents = (
        whole.documents
        if "" in scopes
        else tuple(document for document in whole.documents if document.scope in scopes)
    )
    return replace(
        whole,
        documents=documents,
        questions=questions,
        relevance={question.id: whole.relevance[question.id] for question in questions},
        notes=(*whole.notes, f"questions asked, as a sample: {number:,} of {len(whole.questions):,}"),
    )
