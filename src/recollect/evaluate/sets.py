"""What is measured with: documents, questions, and which documents answer which question, if any does."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    """A question, asked at a moment, within a scope; without a scope it is asked of all documents.

    One that is not `answerable` asks for what no document says: it is better to find nothing.
    """

    id: str
    text: str
    _: KW_ONLY
    scope: str = ""
    category: str = ""
    asked_at: datetime | None = None
    answerable: bool = True


@dataclass(frozen=True, slots=True)
class EvalSet:
    """A labelled set. `relevance` gives, for every question, the grades (above 0) of what answers it.

    `unanswerable` are questions that nothing answers. Where those have documents of their own, which no
    other question searches, they are in a set `apart`, to be filled into another store: rare words are
    counted by store, so these documents would change what the other questions find.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    relevance: Mapping[str, Mapping[str, int]]
    notes: tuple[str, ...] = ()
    unanswerable: tuple[Question, ...] = ()
    apart: EvalSet | None = None

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
    *,
    apart: Iterable[Document] = (),
) -> EvalSet:
    """A set that can be measured with: questions that nothing answers, but should, are left out, and noted.

    `apart` are the documents of scopes that unanswerable questions have to themselves.
    """
    known, alone, asked = tuple(documents), tuple(apart), tuple(questions)
    if not known:
        raise InvalidInput(f"{name} has no documents: there is nothing to search.")
    if len({document.id for document in (*known, *alone)}) < len(known) + len(alone):
        raise InvalidInput(f"{name} has two documents with one id: give each its own.")
    grades = {
        question: relevant
        for question, judged in relevance.items()
        if (relevant := {id: grade for id, grade in judged.items() if grade > 0})
    }
    answerable = tuple(each for each in asked if each.answerable and each.id in grades)
    if not answerable:
        raise InvalidInput(f"{name} has no question that any document answers: there is nothing to measure.")
    unanswerable = tuple(each for each in asked if not each.answerable)
    _check(name, answerable, unanswerable, grades, {document.scope for document in (*known, *alone)})
    left_out = len(asked) - len(answerable) - len(unanswerable)
    note = f"questions left out, since no document answers them: {left_out:,}"
    scopes = {document.scope for document in alone}
    relevant_of = {each.id: grades[each.id] for each in answerable}
    among = tuple(each for each in unanswerable if each.scope not in scopes)
    apart_set = _alone(name, alone, [each for each in unanswerable if each.scope in scopes])
    return EvalSet(name, known, answerable, relevant_of, (note,) if left_out else (), among, apart_set)


def _check(
    name: str,
    answerable: Sequence[Question],
    unanswerable: Sequence[Question],
    grades: Mapping[str, object],
    scopes: Collection[str],
) -> None:
    for question in (*answerable, *unanswerable):
        if question.scope and question.scope not in scopes:
            raise InvalidInput(
                f"{name}: question {question.id!r} is asked of {question.scope!r}, which has no documents."
            )
    for question in unanswerable:
        if question.id in grades:
            raise InvalidInput(f"{name}: question {question.id!r} is not answerable, but has an answer.")


def _alone(name: str, documents: Sequence[Document], unanswerable: Sequence[Question]) -> EvalSet | None:
    if not unanswerable:
        return None
    return EvalSet(f"{name}-unanswerable", tuple(documents), (), {}, (), tuple(unanswerable))


def sampled(whole: EvalSet, number: int | None) -> EvalSet:
    """So many of the questions, always the same ones, and the documents of their scopes.

    Of the unanswerable ones, at most as many; those that search documents which the others need too, or
    have documents to themselves.
    """
    if number is None:
        return whole
    questions = _drawn(whole.questions, number)
    is_whole = len(questions) == len(whole.questions)
    documents = whole.documents if is_whole else _of_scopes(whole.documents, questions)
    scopes = {"", *(document.scope for document in documents)}
    near = [each for each in whole.unanswerable if each.scope in scopes]
    made = replace(
        whole,
        documents=documents,
        questions=questions,
        relevance={question.id: whole.relevance[question.id] for question in questions},
        unanswerable=_drawn(near, number),
        apart=_sampled_apart(whole.apart, number),
    )
    notes = tuple(_sample_notes(whole, made))
    return replace(made, notes=(*whole.notes, *notes)) if notes else whole


def _drawn(questions: Sequence[Question], number: int) -> tuple[Question, ...]:
    if number >= len(questions):
        return tuple(questions)
    return tuple(questions[i] for i in sorted(random.Random(SEED).sample(range(len(questions)), number)))


def _of_scopes(documents: tuple[Document, ...], questions: Iterable[Question]) -> tuple[Document, ...]:
    """What these questions search."""
    scopes = {question.scope for question in questions}
    return documents if "" in scopes else tuple(each for each in documents if each.scope in scopes)


def _sampled_apart(apart: EvalSet | None, number: int) -> EvalSet | None:
    if apart is None:
        return None
    unanswerable = _drawn(apart.unanswerable, number)
    return replace(apart, documents=_of_scopes(apart.documents, unanswerable), unanswerable=unanswerable)


def _sample_notes(whole: EvalSet, made: EvalSet) -> Iterator[str]:
    if len(made.questions) < len(whole.questions):
        yield f"questions asked, as a sample: {len(made.questions):,} of {len(whole.questions):,}"
    before, after = (
        len(each.unanswerable) + len(each.apart.unanswerable if each.apart else ()) for each in (whole, made)
    )
    if after < before:
        yield f"questions without an answer asked, as a sample: {after:,} of {before:,}"
