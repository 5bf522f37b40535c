"""Candidates by words from the segments and what is newer: the same as FTS5 finds, sooner."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache, partial
from itertools import accumulate, compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.query.terms import KeywordQuery
from recollect.store.base import Candidate, Words
from recollect.store.sqlite.derived import bm25, kernel, matching, spans
from recollect.store.sqlite.derived.bm25 import Statistics
from recollect.store.sqlite.derived.kernel import Scoring
from recollect.store.sqlite.derived.matching import Best, Leaf, Wanted, bounds
from recollect.store.sqlite.derived.shelf import Held
from recollect.store.sqlite.judging import WIDER, Jury, Ranking, reach
from recollect.store.sqlite.search import Namespaces, match_expression, phrase_expression
from recollect.store.sqlite.statements import SqliteStatements
from recollect.store.statements import Row

MOST_PHRASED = 2_000
"""So many memories with a phrase are read and scored one by one; of more, FTS5 finds the best."""
FEW_NEWER = 200
"""So many memories that no segment has are read sooner than FTS5 says which of them have the words."""


_COUNTED = {False: (False,), True: (False, True)}
_wanted = partial(tuple.__new__, Wanted)


class ByWords:
    """A question to the words of a scope: the same as FTS5 would find."""

    def __init__(
        self,
        statements: SqliteStatements,
        namespaces: Namespaces,
        words: Words,
        upto: int,
        held: Held,
        allowed: NDArray[np.int64] | None,
        changed: Sequence[Row],
        phrased: Sequence[Row] = (),
        quoted: Sequence[str] = (),
    ) -> None:
        """Of `allowed` (ascending) alone, if given. `phrased`: everyone with the quoted phrase, if any.

        Only who has one of the `quoted` terms, if there are any, which count twice, as a phrase does.
        """
        self._limit = words.limit
        self._searched = _searched(statements, namespaces, words.query, upto, held, changed, quoted)
        self._allowed = self._searched.quoting(allowed) if quoted else allowed
        self._phrased: Best | None = None
        if phrased:
            self._phrased = _among(self._searched.best_with(phrased, words.query), allowed)

    @cached_property
    def _first(self) -> Best:
        return self._searched.best(reach(self._limit), self._allowed)

    @cached_property
    def first(self) -> Ranking:
        """Who will be looked at first."""
        if self._phrased is None:
            return self._first
        numbers, scores = self._phrased
        return numbers[: reach(self._limit)], scores[: reach(self._limit)]

    def found(self, jury: Jury, judged: Sequence[Candidate]) -> Sequence[Candidate]:
        """The best memories in scope, once the first were judged.

        Only if too many of them are not in it, the scope itself says who is. A quoted phrase is insisted on,
        unless nothing in scope has it.
        """
        limit = self._limit
        if self._phrased is not None:
            if found := self._with_phrase(jury, judged):
                return found[:limit]
            (judged,) = jury.judged([self._first])
        if len(judged) >= limit or len(self._first.numbers) < reach(limit):
            return judged[:limit]
        most = reach(limit) * WIDER
        wider = self._searched.best(most, self._allowed)
        (found,) = jury.judged([wider])
        if len(found) < limit and len(wider.numbers) >= most:
            everyone = jury.everyone
            if self._allowed is not None:
                everyone = everyone[spans.among(everyone, self._allowed)]
            (found,) = jury.judged([self._searched.best(limit, everyone)])
        return found[:limit]

    def _with_phrase(self, jury: Jury, judged: Sequence[Candidate]) -> Sequence[Candidate]:
        """Those far down the list are read only if they are needed."""
        assert self._phrased is not None
        numbers, scores = self._phrased
        after = reach(self._limit)
        if len(judged) >= self._limit or len(numbers) <= after:
            return judged
        (others,) = jury.judged([(numbers[after:], scores[after:])])
        return [*judged, *others]


class Insisting:
    """A question with a quoted word: whoever has it, or if nobody in scope does, whoever has the others."""

    def __init__(self, quoting: ByWords, otherwise: ByWords) -> None:
        self._quoting, self._otherwise = quoting, otherwise
        self.first = quoting.first

    def found(self, jury: Jury, judged: Sequence[Candidate]) -> Sequence[Candidate]:
        """The best memories in scope, once the first were judged."""
        found = self._quoting.found(jury, judged)
        return found or self._otherwise.found(jury, jury.judged([self._otherwise.first])[0])


def by_words(
    statements: SqliteStatements,
    namespaces: Namespaces,
    words: Words,
    upto: int,
    held: Held,
    allowed: NDArray[np.int64] | None,
    changed: Sequence[Row],
) -> ByWords | Insisting | None:
    """A question to what is `held`, which has all `upto` a number; None where FTS5 knows better."""
    phrases = words.query.phrases
    if len(phrases) > 1 or _needs_order(words.query):
        return None
    asked = statements, namespaces, words, upto, held, allowed, changed
    if not phrases:
        return ByWords(*asked)
    if quoted := _quoted(words.query):
        return Insisting(ByWords(*asked, quoted=quoted), ByWords(*asked))
    phrased = statements.rows("phrased", match=phrase_expression(words.query), limit=MOST_PHRASED + 1)
    return ByWords(*asked, phrased) if len(phrased) <= MOST_PHRASED else None


def _quoted(query: KeywordQuery) -> list[str]:
    """The terms of a quoted word that is looked for anyway; none for a phrase of several words."""
    terms = [alternative for phrase in query.phrases for alternative in phrase.alternatives]
    looked_for = {term for word in query.words for term in word.terms}
    return (
        [term for term, *_ in terms]
        if all(len(each) == 1 and each[0] in looked_for for each in terms)
        else []
    )


def _needs_order(query: KeywordQuery) -> bool:
    """Whether one of its terms is several words, as a few letters fold to: only FTS5 knows their order."""
    return " " in "".join(query.terms)


def _searched(
    statements: SqliteStatements,
    namespaces: Namespaces,
    query: KeywordQuery,
    upto: int,
    held: Held,
    changed: Sequence[Row],
    quoted: Sequence[str],
) -> Searched:
    newer = _NOTHING_NEWER
    if 0 < namespaces.state.memory - upto <= FEW_NEWER:
        newer = statements.still(("newer", upto), lambda: Texts.of(statements.rows("newer_terms", upto=upto)))
    elif namespaces.state.memory > upto:
        expression = match_expression(query, [], strict=False)
        newer = Texts.of(statements.rows("newer_words", match=expression, upto=upto))
    if changed:
        newer = Texts.of([*newer.rows, *(row for row in changed if row[2] is not None)])
    return Searched.of(held, query, namespaces, newer, quoted)


def wanted_terms(query: KeywordQuery) -> list[Wanted]:
    """What is looked for, each as FTS5 would count it."""
    return [
        _wanted((term, prefix))
        for word in query.words
        for term in word.terms
        for prefix in _COUNTED[word.prefix]
    ]


@lru_cache(maxsize=16)
def statistics(block: bytes) -> Statistics:
    """Of all memories, as FTS5 notes them: the number of rows, then the terms of each column."""
    memories, *terms = _varints(block)
    return Statistics(memories, sum(terms))


def _varints(block: bytes) -> Iterable[int]:
    """SQLite's numbers of variable length (none here is so large that it takes nine bytes).

    >>> list(_varints(bytes([5, 0x81, 0x00])))
    [5, 128]
    """
    number = 0
    for byte in block:
        number = (number << 7) | (byte & 0x7F)
        if byte < 0x80:
            yield number
            number = 0


class Texts(NamedTuple):
    """Memories that no segment has as they are now: number, namespace, terms; and all terms in one text."""

    rows: Sequence[Row]
    together: str
    starts: Sequence[int]
    """Where those of each begin, and the end."""

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Texts:
        """Of these rows."""
        texts = [f" {text} " for *_, text in rows]
        return cls(rows, "".join(texts), [0, *accumulate(map(len, texts))])

    def having(self, sought: Sequence[str]) -> list[int]:
        """Which of the rows have any of these terms, each with a space before it.

        >>> Texts.of([(1, 1, "lost update"), (2, 1, "found"), (3, 1, "lost")]).having([" lost ", " upd"])
        [0, 2]
        """
        found = set()
        for term in sought:
            place = self.together.find(term)
            while place >= 0:
                row = bisect_right(self.starts, place) - 1
                found.add(row)
                place = self.together.find(term, self.starts[row + 1])
        return sorted(found)


_NOTHING_NEWER = Texts((), "", (0,))


class Fresh(NamedTuple):
    """Memories that no segment has as they are now: their numbers, namespaces, lengths and words."""

    rows: Sequence[tuple[int, int, int, Sequence[int]]]
    """Number, namespace, length in terms, and how often each wanted term stands there."""

    @classmethod
    def of(cls, newer: Texts, wanted: Sequence[Wanted]) -> Fresh:
        """Those of the newer ones that have any of the terms."""
        if not newer.rows:
            return cls(())
        counted = []
        for at in newer.having([f" {each.term}" if each.prefix else f" {each.term} " for each in wanted]):
            number, namespace, text = newer.rows[at]
            terms = text.split()
            times = [_times(f" {text}", terms, each) for each in wanted]
            counted.append((number, namespace, len(terms) + 1, times))
        return cls(counted)

    def having(self, wanted: int) -> list[int]:
        """How many of them have each of so many terms."""
        if not self.rows:
            return [0] * wanted
        return [sum(times[at] > 0 for *_, times in self.rows) for at in range(wanted)]

    def best(self, namespaces: Sequence[int], rarity: Sequence[float], average: float) -> Best:
        """Those in these namespaces, best first."""
        found = []
        for number, namespace, length, times in self.rows:
            if namespace in namespaces:
                counts = zip(times, rarity, strict=False)
                score = sum(bm25.counts(often, length, average) * rare for often, rare in counts if often)
                found.append((-score, number))
        found.sort()
        return Best([number for _, number in found], [-score for score, _ in found])


def _times(text: str, terms: list[str], wanted: Wanted) -> int:
    """How often a term stands in a text, which has a space before each of its `terms`.

    >>> text, terms = " lost update lost", ["lost", "update", "lost"]
    >>> _times(text, terms, Wanted("lo", prefix=True)), _times(text, terms, Wanted("lo"))
    (2, 0)
    """
    return text.count(f" {wanted.term}") if wanted.prefix else terms.count(wanted.term)


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


class Searched(NamedTuple):
    """A question's words, looked up everywhere, to be asked for the best of them."""

    leaves: Sequence[Leaf]
    fresh: Fresh
    rarity: Sequence[float]
    counted: Statistics
    namespaces: Sequence[int]
    quoted: int
    """So many of the terms, the last of them, are those of a quoted word."""

    @classmethod
    def of(
        cls,
        held: Held,
        query: KeywordQuery,
        namespaces: Namespaces,
        newer: Texts,
        quoted: Sequence[str] = (),
    ) -> Searched:
        """Look up the words of a question: in segments, and in what is newer or has changed."""
        wanted = [*wanted_terms(query), *map(Wanted, quoted)]
        fresh = Fresh.of(newer, wanted)
        sought, numbers = bounds(wanted), namespaces.numbers
        leaves = [Leaf.looked_up(segment, sought, numbers, stale) for segment, stale in held]
        counted = statistics(namespaces.statistics)
        having = map(sum, zip(fresh.having(len(wanted)), *[leaf.having() for leaf in leaves], strict=True))
        leaves.sort(key=lambda leaf: -len(leaf.segment))
        rarity = list(map(counted.rarity, having))
        for at in range(len(wanted) - len(quoted), len(wanted)):
            rarity[at] *= 2
        return cls(leaves, fresh, rarity, counted, numbers, len(quoted))

    @property
    def average(self) -> float:
        """How long a memory is in the mean."""
        return self.counted.average

    def quoting(self, allowed: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Everyone who has a quoted term, ascending; of `allowed` (ascending), if given."""
        found = [each for leaf in self.leaves for each in leaf.numbers_having(leaf.places[-self.quoted :])]
        fresh = [row[0] for row in self.fresh.rows if any(row[3][-self.quoted :])]
        numbers = np.unique(np.concatenate([*found, np.array(fresh, np.int64)]))
        return numbers if allowed is None else numbers[spans.among(numbers, allowed)]

    def best_with(self, rows: Sequence[Row], query: KeywordQuery) -> Best:
        """Those of the rows that are in these namespaces, best first; they are all that have the phrases.

        A phrase counts twice, as in the expression that FTS5 is given for it.
        """
        phrases = [terms for phrase in query.phrases for terms in phrase.alternatives]
        wanted = wanted_terms(query)
        counted = [
            (
                number,
                namespace,
                len(terms) + 1,
                [
                    *(_times(f" {text}", terms, each) for each in wanted),
                    *(_times_following(terms, phrase) for phrase in phrases),
                ],
            )
            for number, namespace, text, terms in ((*row[:3], row[2].split()) for row in rows)
        ]
        fresh = Fresh(counted)
        having = fresh.having(len(wanted) + len(phrases))[len(wanted) :]
        rarity = [*self.rarity, *(2 * self.counted.rarity(count) for count in having)]
        return Best.of([fresh.best(self.namespaces, rarity, self.average)], len(rows))

    def best(self, most: int, allowed: NDArray[np.int64] | None = None) -> Best:
        """The best memories, best first; of those `allowed` (ascending), if given."""
        scoring = Scoring(self.rarity, bm25.weights(self.average), self.average, most)
        found = self._freshest(most, allowed)
        for leaf in self.leaves:
            for span in leaf.spans:
                floor = found.scores[most - 1] * kernel.NEARLY if len(found.scores) >= most else 0.0
                within = None if allowed is None else leaf.segment.within(span[:2], allowed)
                found = Best.of([found, matching.best(leaf, span, scoring, within, floor)], most)
        return found

    def _freshest(self, most: int, allowed: NDArray[np.int64] | None) -> Best:
        if not self.fresh.rows:
            return Best([], [])
        found = self.fresh.best(self.namespaces, self.rarity, self.average)
        return Best.of([_among(found, allowed)], most)


def _among(best: Best, allowed: NDArray[np.int64] | None) -> Best:
    """Those of `allowed` (ascending) alone, if given."""
    if allowed is None:
        return best
    inside = spans.among(np.array(best.numbers, np.int64), allowed).tolist()
    return Best(list(compress(best.numbers, inside)), list(compress(best.scores, inside)))
