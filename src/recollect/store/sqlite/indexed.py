"""Candidates by words from the segments and what is newer: the same as FTS5 finds, sooner."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from recollect.lazy import lazy
from recollect.query.terms import KeywordQuery
from recollect.store.base import Candidate, Words
from recollect.store.packed import Scored
from recollect.store.sqlite.derived import matching, spans
from recollect.store.sqlite.derived.matching import Leaf, Wanted
from recollect.store.sqlite.derived.newer import in_memory
from recollect.store.sqlite.ground import Ground, leaf, of_these
from recollect.store.sqlite.judging import WIDER, Jury, reach
from recollect.store.sqlite.phrases import best_with_phrases
from recollect.store.sqlite.search import Namespaces, match_expression, phrase_expression
from recollect.store.sqlite.statements import SqliteStatements

MOST_PHRASED = 2_000
"""So many memories with a phrase are read and scored one by one; of more, FTS5 finds the best."""
Numbers = NDArray[np.int64]
_NOBODY: Numbers = np.empty(0, np.int64)
_TERMS = attrgetter("terms")


class ByWords:
    """A question to the words of a scope: the same as FTS5 would find."""

    def __init__(
        self,
        ground: Ground,
        leaves: list[Leaf],
        words: Words,
        allowed: Numbers | None,
        quoted: Sequence[str] = (),
    ) -> None:
        """Of `allowed` (ascending) alone, if given.

        Only who has one of the `quoted` terms, if there are any, which count twice, as a phrase does.
        """
        self._limit = words.limit
        self._counted = ground.counted
        self._leaves = leaves
        self._wanted = wanted_terms(words.query)
        self._quoted = len(quoted)
        self._allowed = allowed
        if quoted:
            insisted: list[Wanted] = [(term.encode(), None) for term in quoted]
            self._wanted += insisted
            self._allowed = _together(leaves, insisted, allowed)

    @lazy
    def first(self) -> Scored:
        """Who will be looked at first."""
        return self._best(reach(self._limit), self._allowed)

    def _best(self, most: int, allowed: Numbers | None) -> Scored:
        """The best memories, best first; of those `allowed` (ascending), if given."""
        leaves = self._leaves if allowed is None else of_these(self._leaves, allowed)
        return matching.search(leaves, self._wanted, self._counted, most, self._quoted)

    def found(self, jury: Jury, judged: Sequence[Candidate]) -> Sequence[Candidate]:
        """The best memories in scope, once the first were judged.

        Only if too many of them are not in it, the scope itself says who is.
        """
        limit = self._limit
        if len(judged) >= limit or len(self.first) < reach(limit):
            return judged[:limit]
        most = reach(limit) * WIDER
        wider = self._best(most, self._allowed)
        found = jury.judged(wider)
        if len(found) < limit and len(wider) >= most:
            everyone = jury.everyone
            if self._allowed is not None:
                everyone = everyone[spans.among(everyone, self._allowed)]
            found = jury.judged(self._best(limit, everyone))
        return found[:limit]


class Phrased:
    """Everyone who has the quoted phrases, best first."""

    def __init__(self, ranking: Scored, limit: int) -> None:
        self._ranking, self._limit = ranking, limit
        self.first = ranking[: reach(limit)]

    def found(self, jury: Jury, judged: Sequence[Candidate]) -> Sequence[Candidate]:
        """Those in scope. Those far down the list are read only if they are needed."""
        after = reach(self._limit)
        if len(judged) >= self._limit or len(self._ranking) <= after:
            return judged[: self._limit]
        others = jury.judged(self._ranking[after:])
        return [*judged, *others][: self._limit]


class Insisting:
    """A question with something quoted: whoever has it, or if nobody in scope does, whoever has the words."""

    def __init__(self, quoting: ByWords | Phrased, otherwise: ByWords) -> None:
        self._quoting, self._otherwise = quoting, otherwise
        self.first = quoting.first

    def found(self, jury: Jury, judged: Sequence[Candidate]) -> Sequence[Candidate]:
        """The best memories in scope, once the first were judged."""
        found = self._quoting.found(jury, judged)
        return found or self._otherwise.found(jury, jury.judged(self._otherwise.first))


def by_words(
    statements: SqliteStatements,
    namespaces: Namespaces,
    words: Words,
    ground: Ground,
    allowed: Numbers | None,
) -> ByWords | Insisting | None:
    """A question to the words on the ground; None where FTS5 knows better."""
    phrases = words.query.phrases
    if len(phrases) > 1 or _needs_order(words.query):
        return None
    leaves = ground.leaves
    if ground.upto < namespaces.state.memory:
        expression = match_expression(words.query, [], strict=False)
        newer = in_memory(statements.rows("newer_words", match=expression, upto=ground.upto))
        leaves = [*leaves, leaf(newer, namespaces.numbers, _NOBODY)]
    plainly = ByWords(ground, leaves, words, allowed)
    if not phrases:
        return plainly
    if quoted := _quoted(words.query):
        return Insisting(ByWords(ground, leaves, words, allowed, quoted), plainly)
    phrased = statements.rows("phrased", match=phrase_expression(words.query), limit=MOST_PHRASED + 1)
    if not phrased or len(phrased) > MOST_PHRASED:
        return None if phrased else plainly
    rarity = matching.rarity(leaves, wanted_terms(words.query), ground.counted)
    best = best_with_phrases(phrased, words.query, rarity, ground.counted, namespaces.numbers)
    return Insisting(Phrased(_among(best, allowed), words.limit), plainly)


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
    of_words = chain.from_iterable(map(_TERMS, query.words))
    return " " in "".join(of_words) or (bool(query.phrases) and " " in "".join(query.terms))


def wanted_terms(query: KeywordQuery) -> list[Wanted]:
    """What is looked for, as `sought`: each term and, for a beginning, what no longer begins so."""
    wanted: list[Wanted] = []
    for terms, prefix in query.words:
        for term in terms:
            encoded = term.encode()
            wanted.append((encoded, None))
            if prefix:
                wanted.append((encoded, encoded + b"\xff"))
    return wanted


def _together(leaves: Sequence[Leaf], wanted: Sequence[Wanted], allowed: Numbers | None) -> Numbers:
    """Everyone who has any of these terms and still holds, ascending; of `allowed` (ascending), if given."""
    found = [_NOBODY]
    for each in leaves:
        segment = each.segment
        for term in wanted:
            occurrences = segment.occurrences(matching.find(segment, term))
            for (start, end), permitted in zip(each.spans, each.permitted, strict=True):
                docs = occurrences.inside(start, end).docs
                found.append(segment.numbers[docs if permitted is None else docs[permitted[docs - start]]])
    numbers = np.unique(np.concatenate(found))
    return numbers if allowed is None else numbers[spans.among(numbers, allowed)]


def _among(ranking: Scored, allowed: Numbers | None) -> Scored:
    """Those of `allowed` (ascending) alone, if given."""
    if allowed is None:
        return ranking
    numbers = ranking.numbers()
    inside = spans.among(np.array(numbers, np.int64), allowed).tolist()
    return Scored.of(compress(numbers, inside), compress(ranking.scores(), inside))
