"""Candidates from PostgreSQL: what both legs are asked in each namespace of a scope, and what came back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from recollect.store import rows
from recollect.store.base import Candidate, Found, Key, Nearness, Words
from recollect.store.postgres.indexes import Indexed
from recollect.store.postgres.statements import Asked
from recollect.store.postgres.words import phrases, quoted, tsqueries
from recollect.store.statements import Row
from recollect.types import Scope

FEW = 1_000
"""So many memories, in a namespace or in scope, are looked at one by one rather than in two steps."""
SCATTERED = 20
"""Where less than one memory in so many is in scope, vectors are looked up; else all are read in a row."""
NARROWING = frozenset(
    ("since", "until", "sectors", "tiers", "languages", "speakers", "sessions", "documents", "tags")
)
"""Filters that may leave no more than that."""


class Large(NamedTuple):
    """A namespace that has more than few memories, or an index: how many, and which one."""

    memories: int = 0
    indexed: Indexed | None = None


class Question(NamedTuple):
    """One statement to run: for which scope and namespace, and for which leg."""

    scope: int
    namespace: str
    leg: str
    asked: Asked


def questions(
    scopes: Sequence[Scope],
    words: Words | None,
    nearness: Nearness | None,
    large: Mapping[str, Large],
) -> Iterator[Question]:
    """Everything to ask, in one go: each leg in each namespace; a phrase both insisted on and not.

    Namespaces that are not among the `large` have few memories.
    """
    for number, scope in enumerate(scopes):
        for namespace in scope.namespaces:
            parameters = _parameters(scope, namespace, nearness)
            if words is not None and words.query:
                for leg in ("phrases", "words") if words.query.phrases else ("words",):
                    asked = _match(parameters, namespace, words, strict=leg == "phrases")
                    yield Question(number, namespace, leg, asked)
            if nearness is not None and nearness.limit:
                asked = _near(parameters, nearness.limit, large.get(namespace))
                yield Question(number, namespace, "near", asked)


def again(question: Question, answer: Sequence[Row]) -> Question | None:
    """The same asked of every vector, where the index stopped before it had enough: the scope is narrow."""
    query, parameters = question.asked
    if query != "near_by_index" or len(answer) >= parameters["limit"]:
        return None
    return question._replace(asked=_near(dict(parameters), parameters["limit"], Large()))


def _near(parameters: dict[str, Any], limit: int, large: Large | None) -> Asked:
    if large is None:
        return "near_in_few", parameters | {"limit": limit}
    indexed = large.indexed
    if indexed is None or indexed.fingerprint != parameters["fingerprint"]:
        if parameters["filters"] & NARROWING:
            few = max(FEW, large.memories // SCATTERED)
            return "near_within", parameters | {"limit": limit, "reach": 4 * limit, "few": few}
        return "near", parameters | {"limit": limit, "reach": limit + limit // 4}
    further = {"indexed": indexed.generation, "index_dimensions": indexed.dimensions}
    return "near_by_index", parameters | further | {"limit": limit, "reach": limit + limit // 2}


def _match(parameters: dict[str, Any], namespace: str, words: Words, *, strict: bool) -> Asked:
    return "match", parameters | {
        "here": quoted(f" {namespace}"),
        "words": tsqueries(words.query, strict=strict),
        "phrases": phrases(words.query) if strict else None,
        "limit": words.limit,
    }


def _parameters(scope: Scope, namespace: str, nearness: Nearness | None) -> dict[str, Any]:
    return rows.scope_parameters(scope) | {
        "namespace": namespace,
        "vector": None if nearness is None else nearness.vector,
        "fingerprint": None if nearness is None else nearness.generation.fingerprint,
    }


def found(count: int, answers: Sequence[tuple[Question, list[Row]]]) -> list[Found]:
    """What each of `count` scopes holds; loose words count only where no text has the phrases."""
    scopes = []
    for number in range(count):
        legs: dict[str, list[Candidate]] = {"phrases": [], "words": [], "near": []}
        limits: dict[str, int] = {}
        similarity: dict[Key, float] = {}
        for question, answer in answers:
            if question.scope == number:
                legs[question.leg] += _candidates(question, answer)
                limits[question.leg] = question.asked[1]["limit"]
                similarity |= _similarities(question, answer)
        best = {leg: _best_first(each)[: limits.get(leg)] for leg, each in legs.items()}
        scopes.append(Found(best["phrases"] or best["words"], best["near"], similarity))
    return scopes


def _best_first(candidates: list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda each: -each.score)


def _candidates(question: Question, answer: Sequence[Row]) -> list[Candidate]:
    skipped = 1 if question.leg == "near" else 2
    return [rows.candidate(row[skipped:], row[0], question.namespace) for row in answer]


def _similarities(question: Question, answer: Sequence[Row]) -> dict[Key, float]:
    """How near to the question what the words found is."""
    if question.leg == "near":
        return {}
    return {(question.namespace, row[2]): row[1] for row in answer if row[1] is not None}
