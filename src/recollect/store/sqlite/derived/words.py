"""Which memories have these words? A segment of the keyword index: who has each term, and how often."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import chain, compress, count, pairwise, repeat
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.query import compiled
from recollect.store import rows as columns
from recollect.store.sqlite.derived import bm25, facts, files, matching, spans
from recollect.store.sqlite.derived.facts import Fact, Facts, Positions
from recollect.store.sqlite.derived.files import Arrays

_AT_ONCE = 4_000_000


class Row(NamedTuple):
    """A memory as it is indexed."""

    number: int
    namespace: int
    terms: str
    fact: Fact
    tags: tuple[str, ...] = ()

    @classmethod
    def read(cls, row: Sequence[Any]) -> Row:
        """From the columns of `to_index`, with the number first."""
        number, namespace, terms, tags, *fact = row
        return cls(number, namespace, terms, Fact._make(fact), columns.strings(tags))

    @property
    def labels(self) -> tuple[str, ...]:
        """What a scope may ask for, besides its terms."""
        return _labels(self.tags, self.fact.speaker)


TAG, SPEAKER = "\x02", "\x03"


@lru_cache(maxsize=10_000)
def label(kind: str, name: str) -> str:
    """A tag or a speaker as a term: no word is like it, nor is any other label.

    >>> label(TAG, "to do"), label(TAG, "\\\\x20")
    ('\\x02to\\\\x20do', '\\x02\\\\\\\\x20')
    """
    return kind + name.encode("unicode_escape").decode("ascii").replace(" ", "\\x20")


@lru_cache(maxsize=10_000)
def _labels(tags: tuple[str, ...], speaker: str | None) -> tuple[str, ...]:
    """Many memories have the same."""
    said = () if speaker is None else (label(SPEAKER, speaker),)
    return (*(label(TAG, tag) for tag in dict.fromkeys(tags)), *said)


class Occurrences(NamedTuple):
    """Where a term stands: positions within the segment, ascending, and a code for each."""

    docs: Positions
    codes: bm25.Codes

    def inside(self, start: int, end: int) -> Occurrences:
        """Those from one position to another."""
        # of the same type as the positions: for another, numpy would convert all of them first
        first, last = np.searchsorted(self.docs, np.array((start, end), np.int32))
        return Occurrences(self.docs[first:last], self.codes[first:last])


class WordSegment:
    """Memories by position, ordered by namespace and number; terms in the order of their bytes."""

    def __init__(self, arrays: Arrays, size: int = 0) -> None:
        """From a file of that size, if from any."""
        self.numbers: NDArray[np.int64] = arrays["numbers"]
        self.lengths: NDArray[np.int32] = arrays["lengths"]
        self.spaces: NDArray[np.int64] = arrays["spaces"]
        self.starts: NDArray[np.int64] = arrays["starts"]
        self.docs: Positions = arrays["docs"]
        self.codes: bm25.Codes = arrays["codes"]
        self.offsets: NDArray[np.int64] = arrays["offsets"]
        self.letters: NDArray[np.uint8] = arrays["letters"]
        self.cuts: NDArray[np.int64] = arrays["cuts"]
        self.touched: NDArray[np.int64] = arrays["touched"]
        """Memories that older segments have otherwise, or that are gone."""
        self.facts = Facts(arrays)
        self._spans = spans.Spans(self.spaces, self.starts, len(self.numbers))
        self.bytes = size

    def __len__(self) -> int:
        return len(self.numbers)

    def span(self, namespace: int) -> tuple[int, int]:
        """From where to where the memories of a namespace stand."""
        return self._spans.of(namespace)

    def within(self, span: tuple[int, int], numbers: NDArray[np.int64]) -> Positions:
        """Where those of these memories (ascending) stand that are in a span of one namespace."""
        return matching.positions(self.numbers, span, numbers).astype(np.int32)

    def struck_out(self) -> NDArray[np.int64]:
        """The memories that were removed where they stood."""
        found: NDArray[np.int64] = self.numbers[self.lengths == 0]
        return found

    def everywhere(self, numbers: NDArray[np.int64]) -> Positions:
        """Where those of these memories (ascending) stand that it has, in whatever namespace; ascending."""
        if len(self.spaces) <= 1:
            return self.within((0, len(self)), numbers)
        at = np.searchsorted(self.numbers, numbers, sorter=self._by_number)
        found = self._by_number[np.minimum(at, len(self) - 1)]
        return np.sort(found[self.numbers[found] == numbers])

    @cached_property
    def _by_number(self) -> Positions:
        return np.argsort(self.numbers, kind="stable").astype(np.int32)

    @cached_property
    def handle(self) -> Any:
        """The arrays as the compiled loops take them."""
        columns = (self.facts.columns[name] for name in facts.COLUMNS)
        return matching.held(
            self.numbers,
            self.lengths,
            *columns,
            self.docs,
            self.codes,
            self.offsets,
            self.cuts,
            self.letters,
        )

    def occurrences(self, place: matching.Place) -> Occurrences:
        """Where the terms from one place to another stand; several in one memory count together."""
        first, last = place
        span = slice(int(self.offsets[first]), int(self.offsets[last]))
        docs, coded = self.docs[span], self.codes[span]
        if last <= first + 1:
            return Occurrences(docs, coded)
        order = np.argsort(docs, kind="stable")
        docs, coded = docs[order], coded[order]
        starts = np.flatnonzero(np.diff(docs, prepend=-1))
        often = np.minimum(np.add.reduceat(bm25.times(coded).astype(np.int64), starts), bm25.MOST_TIMES)
        together = ((often << 8) | (coded[starts] & 255)).astype(np.uint16)
        return Occurrences(docs[starts], together)

    def terms(self) -> list[bytes]:
        """Every term; an empty one where it was struck out."""
        letters, cuts = self.letters.tobytes(), self.cuts.tolist()
        return [letters[a:b].strip(b"\0") for a, b in pairwise(cuts)]


def build(rows: Sequence[Row], touched: Sequence[int] = ()) -> dict[str, NDArray[Any]]:
    """The arrays of a segment of these memories, which may have touched some that older segments have."""
    rows = sorted(rows, key=attrgetter("namespace", "number"))
    labels = [row.labels for row in rows]
    met, counts, encoded = numbered(
        [" ".join((row.terms, *some)) if some else row.terms for row, some in zip(rows, labels, strict=True)]
    )
    lengths = counts - np.fromiter(map(len, labels), np.int32, len(rows))
    order = sorted(range(len(encoded)), key=encoded.__getitem__)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    size = max(len(rows), 1)
    places, times = np.unique(rank[met] * size + np.repeat(np.arange(len(rows)), counts), return_counts=True)
    docs = (places % size).astype(np.int32)
    return facts.build([row.fact for row in rows]) | _arrays(
        [row.number for row in rows],
        [row.namespace for row in rows],
        [encoded[each] for each in order],
        np.bincount(places // size, minlength=len(order)),
        docs,
        bm25.codes(times, lengths[docs] + 1),
        lengths + 1,
        touched,
    )


def numbered(texts: list[str]) -> tuple[NDArray[Any], NDArray[Any], list[bytes]]:
    """Every word of these texts as a number, how many each text has, and the words by number.

    >>> met, lengths, words = numbered(["lost updat", "updat again"])
    >>> met.tolist(), lengths.tolist(), words
    ([0, 1, 1, 2], [2, 2], [b'lost', b'updat', b'again'])
    """
    if compiled.COMPILED:
        met, lengths, words = compiled._text.numbered(texts, compiled._text.table(()))
        return np.frombuffer(met, np.int32), np.frombuffer(lengths, np.int32), words
    split = [text.split() for text in texts]
    ids: defaultdict[str, int] = defaultdict(count().__next__)
    numbers = list(map(ids.__getitem__, chain.from_iterable(split)))
    return np.array(numbers, np.int32), np.array(list(map(len, split)), np.int32), [*map(str.encode, ids)]


def _arrays(
    numbers: Sequence[int] | NDArray[np.int64],
    namespaces: Sequence[int] | NDArray[np.int64],
    terms: Sequence[bytes],
    having: NDArray[np.int64],
    docs: Positions,
    codes: bm25.Codes,
    lengths: NDArray[Any],
    touched: Iterable[int],
) -> dict[str, NDArray[Any]]:
    spaces, starts = np.unique(np.asarray(namespaces, np.int64), return_index=True)
    offsets = _running(having)
    return {
        "numbers": np.asarray(numbers, np.int64),
        "lengths": lengths.astype(np.int32),
        "spaces": spaces,
        "starts": np.append(starts, len(numbers)).astype(np.int64),
        "docs": docs,
        "codes": codes,
        "offsets": offsets,
        "letters": np.frombuffer(b"".join(terms), np.uint8),
        "cuts": _running(np.fromiter(map(len, terms), np.int64, len(terms))),
        "touched": np.fromiter(touched, np.int64),
    }


def _running(counts: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


class _Part(NamedTuple):
    """A segment that goes into a larger one: where its memories go (-1 for nowhere), and its terms."""

    segment: WordSegment
    moved: Positions
    kept: NDArray[np.bool_]
    """Which occurrences go with it: seen once, since others may strike some out meanwhile."""
    terms: NDArray[np.int64]
    having: NDArray[np.int64]


def merge(segments: Sequence[WordSegment]) -> dict[str, NDArray[Any]]:
    """One segment out of several, the oldest first; what a later one touches is left out of earlier ones."""
    alive = [~mask for mask in masks(segments)]
    numbers = np.concatenate([each.numbers[keep] for each, keep in zip(segments, alive, strict=True)])
    spaces = np.concatenate(
        [
            spans.owners(each.spaces, each.starts, len(each))[keep]
            for each, keep in zip(segments, alive, strict=True)
        ]
    )
    order = np.lexsort((numbers, spaces))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    moved, first = [], 0
    for keep in alive:
        to = np.full(len(keep), -1, np.int32)
        to[keep] = rank[first : first + int(keep.sum())]
        moved.append(to)
        first += int(keep.sum())
    terms, parts = _common_terms(segments, moved)
    having = sum(
        (_spread(part.terms, part.having, len(terms)) for part in parts), np.zeros(len(terms), np.int64)
    )
    docs, codes = _merged(parts, having, len(numbers))
    lengths = np.concatenate([each.lengths[keep] for each, keep in zip(segments, alive, strict=True)])[order]
    touched = np.unique(np.concatenate([each.touched for each in segments]))
    known = facts.merge([(each.facts, keep) for each, keep in zip(segments, alive, strict=True)], order)
    return known | _arrays(
        numbers[order], spaces[order], terms, having, docs, codes, lengths, touched.tolist()
    )


def masks(segments: Sequence[WordSegment]) -> list[NDArray[np.bool_]]:
    """For each segment, oldest first, which of its memories a later one touches."""
    found = []
    touched = np.empty(0, np.int64)
    for segment in reversed(segments):
        found.append(np.isin(segment.numbers, touched))
        touched = spans.union(touched, segment.touched)
    return found[::-1]


def _common_terms(
    segments: Sequence[WordSegment], moved: Sequence[Positions]
) -> tuple[list[bytes], list[_Part]]:
    """All terms that somebody still has, in order, and each segment's own as places among them."""
    named = [segment.terms() for segment in segments]  # before the occurrences: a term goes after its last
    kept = [
        (to[segment.docs] >= 0) & (segment.codes > 0) for segment, to in zip(segments, moved, strict=True)
    ]
    having = [_counted(segment, some) for segment, some in zip(segments, kept, strict=True)]
    had = (compress(names, counts.tolist()) for names, counts in zip(named, having, strict=True))
    terms = list(dict.fromkeys(sorted(chain.from_iterable(had))))  # each is in order: they are only merged
    place = dict(zip(terms, count()))
    parts = []
    for segment, to, some, names, counts in zip(segments, moved, kept, named, having, strict=True):
        at = np.fromiter(map(place.get, names, repeat(-1)), np.int64, len(names))
        parts.append(_Part(segment, to, some, np.maximum.accumulate(at), counts))
    return terms, parts


def _counted(segment: WordSegment, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    running = _running(kept)
    return running[segment.offsets[1:]] - running[segment.offsets[:-1]]


def _spread(places: NDArray[np.int64], counts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    known = places >= 0
    return np.bincount(places[known], counts[known], size).astype(np.int64)


def _merged(parts: Sequence[_Part], having: NDArray[np.int64], size: int) -> tuple[Positions, bm25.Codes]:
    """The occurrences of all parts, by term and memory; a few million at once."""
    offsets = _running(having)
    docs = np.empty(int(offsets[-1]), np.int32)
    codes = np.empty(int(offsets[-1]), np.uint16)
    start = 0
    while start < len(having):
        end = max(start + 1, int(np.searchsorted(offsets, offsets[start] + _AT_ONCE)))
        pieces = [_piece(part, start, min(end, len(having)), size) for part in parts]
        keys = np.concatenate([key for key, _ in pieces])
        order = np.argsort(keys, kind="stable")
        span = slice(int(offsets[start]), int(offsets[min(end, len(having))]))
        docs[span] = keys[order] % max(size, 1)
        codes[span] = np.concatenate([code for _, code in pieces])[order]
        start = end
        for part in parts:
            files.let_go(part.segment.docs)
    return docs, codes


def _piece(part: _Part, start: int, end: int, size: int) -> tuple[NDArray[np.int64], bm25.Codes]:
    """The occurrences of some terms in one part, each as a number that orders by term and memory."""
    segment = part.segment
    first, last = np.searchsorted(part.terms, [start, end])
    span = slice(int(segment.offsets[first]), int(segment.offsets[last]))
    to = part.moved[segment.docs[span]].astype(np.int64)
    terms = np.repeat(part.terms[first:last], np.diff(segment.offsets[first : last + 1]))
    kept = part.kept[span]
    return (terms * max(size, 1) + to)[kept], segment.codes[span][kept]
