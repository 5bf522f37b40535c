"""Who has a quoted phrase, best first: its rows are read and counted one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recollect.query.terms import KeywordQuery
from recollect.store.packed import Scored
from recollect.store.sqlite.derived import bm25
from recollect.store.sqlite.derived.bm25 import Statistics
from recollect.store.statements import Row


class _Counted(NamedTuple):
    """A memory, its namespace, its length in terms, and how often each of what is wanted stands there."""

    number: int
    namespace: int
    length: int
    times: Sequence[int]

    def score(self, rarity: Sequence[float], average: float) -> float:
        """What that comes to."""
        pairs = zip(self.times, rarity, strict=True)
        return sum(bm25.counts(often, self.length, average) * rare for often, rare in pairs if often)


def best_with_phrases(
    rows: Sequence[Row],
    query: KeywordQuery,
    rarity: Sequence[float],
    counted: Statistics,
    namespaces: Sequence[int],
) -> Scored:
    """Those of the rows (number, namespace, terms) that are in these namespaces, best first.

    They are all that have the phrases of the query. Each of those counts twice, as in the expression that
    FTS5 is given for it. `rarity` is what each of its other terms counts, in the order of `sought`.
    """
    phrases = [terms for phrase in query.phrases for terms in phrase.alternatives]
    wanted = sought(query)
    found = [
        _Counted(
            number,
            namespace,
            len(terms) + 1,
            [
                *(_times(f" {text}", terms, *each) for each in wanted),
                *(_times_following(terms, phrase) for phrase in phrases),
            ],
        )
        for number, namespace, text, terms in ((*row[:3], row[2].split()) for row in rows)
    ]
    having = [sum(each.times[at] > 0 for each in found) for at in range(-len(phrases), 0)]
    counts = [*rarity, *(2 * counted.rarity(count) for count in having)]
    scored = sorted(
        (-each.score(counts, counted.average), each.number) for each in found if each.namespace in namespaces
    )
    return Scored.of([number for _, number in scored], [-score for score, _ in scored])


def sought(query: KeywordQuery) -> list[tuple[str, bool]]:
    """What is looked for, each as FTS5 would count it: terms, and whether longer ones that begin so count."""
    return [
        (term, begins)
        for word in query.words
        for term in word.terms
        for begins in ((False, True) if word.prefix else (False,))
    ]


def _times(text: str, terms: list[str], term: str, begins: bool) -> int:
    """How often a term stands in a text, which has a space before each of its `terms`.

    >>> text, terms = " lost update lost", ["lost", "update", "lost"]
    >>> _times(text, terms, "lo", True), _times(text, terms, "lo", False)
    (2, 0)
    """
    return text.count(f" {term}") if begins else terms.count(term)


def _times_following(terms: list[str], phrase: Sequence[str]) -> int:
    """How often terms stand one after the other.

    >>> _times_following(["a", "b", "a", "b"], ["a", "b"])
    2
    """
    first, whole = phrase[0], list(phrase)
    found, at = 0, -1
    for _ in range(terms.count(first)):
        at = terms.index(first, at + 1)
        found += terms[at : at + len(whole)] == whole
    return found
