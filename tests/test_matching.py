"""The inner loops over words: in C they find what numpy finds, and no file can make them read elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.store.base import Candidate
from recollect.store.packed import Packed, Scored, packed_numbers
from recollect.store.sqlite.derived import bm25, facts, matching
from recollect.store.sqlite.derived.bm25 import Statistics
from recollect.store.sqlite.derived.facts import Fact
from recollect.store.sqlite.derived.matching import Leaf, Part, Wanted, Within
from recollect.store.sqlite.derived.words import WordSegment

from .segmented import both

compiled = pytest.mark.skipif(
    not matching.COMPILED and os.environ.get("CI") != "true", reason="there was no compiler to build it"
)
pytestmark = compiled
SEEDS = st.integers(0, 10**9)


def test_it_is_compiled() -> None:
    assert matching.COMPILED


class Term(NamedTuple):
    """Who has a term, with a code for each."""

    docs: Sequence[int]
    codes: Sequence[int]


def segment_of(terms: Sequence[Term], lengths: Sequence[int], /, **others: Any) -> WordSegment:
    """A segment in which so many memories have these terms, called a, b, c …; they are numbered from 100."""
    names = [bytes([97 + number]) for number in range(len(terms))]
    arrays: dict[str, Any] = {
        "numbers": np.arange(100, 100 + len(lengths)),
        "lengths": np.array(lengths, np.int32),
        "spaces": np.array([1]),
        "starts": np.array([0, len(lengths)]),
        "docs": np.array([doc for term in terms for doc in term.docs], np.int32),
        "codes": np.array([code for term in terms for code in term.codes], np.uint16),
        "offsets": np.cumsum([0, *(len(term.docs) for term in terms)]),
        "letters": np.frombuffer(b"".join(names), np.uint8),
        "cuts": np.arange(len(names) + 1),
        "touched": np.empty(0, np.int64),
        **facts.build([Fact("memory", 0, None, None, 1, None)] * len(lengths)),
    }
    return WordSegment({**arrays, **{name: np.array(value) for name, value in others.items()}})


def made_terms(chance: np.random.Generator, lengths: Sequence[int]) -> list[Term]:
    """Who has each of a few terms, some of them common; of memories of these lengths, below 128."""
    terms = []
    for _ in range(chance.integers(1, 8)):
        docs = np.flatnonzero(chance.random(len(lengths)) < chance.random() ** 3)
        given_codes = (chance.integers(1, 5, len(docs)) << 8) | np.array(lengths)[docs]
        terms.append(Term(docs.tolist(), given_codes.tolist()))
    return terms


COUNTED = Statistics(10_000, 200_000)
"""Of the whole store: memories are 20 terms long in the mean."""
NOWHERE = np.empty(0, np.int32)


def leaf_of(
    segment: WordSegment, *spans: tuple[int, int], permitted: Any = None, masked: Any = NOWHERE
) -> Leaf:
    found = list(spans) or [(0, len(segment))]
    return Leaf(segment.handle, found, permitted or [None] * len(found), masked, segment)


def one_by_one(terms: Sequence[Term]) -> list[Wanted]:
    return [(bytes([97 + at]), None) for at in range(len(terms))]


TOGETHER: list[Wanted] = [(b"a", b"\xff")]
"""As all terms that begin alike are wanted."""


def some_segment(chance: np.random.Generator, most: int = 2_000) -> WordSegment:
    lengths = chance.integers(1, 60, int(chance.integers(1, most))).tolist()
    return segment_of(made_terms(chance, lengths), lengths)


def some_leaf(chance: np.random.Generator, first: int, some_are_barred: bool, size: int = 2_000) -> Leaf:
    """A segment of up to so many memories, numbered from the first, of which two spans are asked."""
    segment = some_segment(chance, size)
    segment.numbers += first
    cuts = sorted(chance.integers(0, len(segment) + 1, 4).tolist())
    spans = [(cuts[0], cuts[1]), (cuts[2], cuts[3])]
    barred = [chance.random(end - start) < 0.7 for start, end in spans] if some_are_barred else None
    masked = np.flatnonzero(chance.random(len(segment)) < 0.1).astype(np.int32)
    return leaf_of(segment, *spans, permitted=barred, masked=masked)


def search(
    leaves: list[Leaf],
    wanted: list[Wanted],
    most: int,
    *,
    counted: Statistics = COUNTED,
    doubled: int = 0,
) -> tuple[list[int], list[float]]:
    """The best, and what they score."""
    found = matching.search(leaves, wanted, counted, most, doubled)
    return found.numbers(), found.scores()


@settings(max_examples=200)
@given(SEEDS, st.integers(1, 40), st.booleans(), st.booleans(), st.integers(0, 2), st.integers(1, 3))
def test_the_best_matches_are_the_same_and_the_best(
    seed: int, most: int, some_are_barred: bool, together: bool, doubled: int, segments: int
) -> None:
    chance = np.random.default_rng(seed)
    leaves = [some_leaf(chance, 10_000 * at, some_are_barred) for at in range(segments)]
    one_each: list[Wanted] = [(letter, None) for letter in (b"a", b"c", b"b", b"x")]
    wanted = TOGETHER if together else one_each
    doubled = min(doubled, len(wanted))
    (numbers, scores), (expected, also) = both(partial(search, leaves, wanted, most, doubled=doubled))
    assert numbers == expected
    assert scores == pytest.approx(also) == sorted(scores, reverse=True)
    assert len(numbers) <= most
    allowed = {
        int(leaf.segment.numbers[start + at])
        for leaf in leaves
        for (start, end), flags in zip(leaf.spans, leaf.permitted, strict=True)
        for at in (range(end - start) if flags is None else np.flatnonzero(flags).tolist())
    }
    assert set(numbers) <= allowed


@settings(max_examples=40)
@given(SEEDS, st.integers(1, 200), st.booleans())
def test_the_best_of_many_thousands_are_the_same(seed: int, most: int, some_are_barred: bool) -> None:
    """They are counted in several blocks, and the best are told apart by bins once they are many."""
    leaf = some_leaf(np.random.default_rng(seed), 0, some_are_barred, 20_000)
    wanted: list[Wanted] = [(letter, None) for letter in (b"a", b"b", b"c", b"d")]
    (numbers, scores), (expected, also) = both(partial(search, [leaf], wanted, most))
    assert numbers == expected
    assert scores == pytest.approx(also)


@given(SEEDS)
def test_nobody_better_is_left_out(seed: int) -> None:
    chance = np.random.default_rng(seed)
    size, most = 600, int(chance.integers(1, 30))
    lengths = chance.integers(1, 100, size)
    terms = made_terms(chance, lengths.tolist())
    segment = segment_of(terms, lengths.tolist())
    numbers, scores = search([leaf_of(segment)], one_by_one(terms), most)
    everyone = np.zeros(size)
    for term in terms:
        docs, often = np.array(term.docs, np.intp), np.array(term.codes, np.intp) >> 8
        everyone[docs] += bm25.weight(often, lengths[docs], 20.0) * COUNTED.rarity(len(docs))
    assert scores == pytest.approx(np.sort(everyone[everyone > 0])[::-1][:most].tolist())
    assert everyone[np.array(numbers, np.intp) - 100] == pytest.approx(scores)


def test_of_many_that_are_equally_good_the_first_are_taken() -> None:
    size = 70_000
    segment = segment_of([Term(range(size), [(1 << 8) | 12] * size)], [12] * size)
    for span in ((0, size), (17, 40_000)):
        ask = partial(search, [leaf_of(segment, span)], [(b"a", None)], 10)
        for numbers, scores in both(ask):
            assert numbers == [100 + span[0] + at for at in range(10)]
            assert len(set(scores)) == 1


def test_many_who_were_struck_out_leave_room_for_the_others() -> None:
    size = 4_096
    struck = Term(range(3_000), [0] * 3_000)
    term = Term(range(size), [(1 << 8) | 12] * (size - 1) + [(5 << 8) | 12])
    segment = segment_of([struck, term], [12] * size)
    for numbers, _ in both(partial(search, [leaf_of(segment)], one_by_one([struck, term]), 3)):
        assert numbers == [100 + size - 1, 100, 101]


def test_many_who_were_struck_out_have_many_terms_that_begin_alike() -> None:
    size = 5_000
    terms = [Term(range(size), [0] * (size - 1) + [(1 << 8) | 12]) for _ in range(8)]
    segment = segment_of(terms, [12] * size)
    for numbers, _ in both(partial(search, [leaf_of(segment)], TOGETHER, 10)):
        assert numbers == [100 + size - 1]


@given(SEEDS)
def test_what_a_term_counts_depends_on_how_many_have_it_and_still_hold(seed: int) -> None:
    chance = np.random.default_rng(seed)
    lengths = [12] * int(chance.integers(1, 300))
    terms = made_terms(chance, lengths)
    segment = segment_of(terms, lengths)
    masked = np.flatnonzero(chance.random(len(lengths)) < 0.1).astype(np.int32)
    leaves = [leaf_of(segment, masked=masked), leaf_of(segment)]
    wanted = [*one_by_one(terms), *TOGETHER, (b"x", None)]
    found, expected = both(partial(matching.rarity, leaves, wanted, COUNTED))
    assert found == expected
    others = set(range(len(lengths))) - set(masked.tolist())
    everyone = {doc for term in terms for doc in term.docs}
    for at, docs in ((0, set(terms[0].docs)), (-2, everyone), (-1, set())):
        assert found[at] == COUNTED.rarity(len(docs & others) + len(docs))


EXACT = 2**53  # beyond it, not every number is one that a double can be
ANY_NUMBERS = st.lists(
    st.integers(-50, 50) | st.integers(EXACT - 2, EXACT + 20) | st.integers(-(2**63), 2**63 - 1), unique=True
)


@given(ANY_NUMBERS, ANY_NUMBERS, st.data())
def test_numbers_are_found_alike(numbers: list[int], wanted: list[int], data: st.DataObject) -> None:
    there, asked = np.array(sorted(numbers), np.int64), np.array(sorted(wanted), np.int64)
    start = data.draw(st.integers(0, len(there)))
    end = data.draw(st.integers(start, len(there)))
    found, expected = both(partial(matching.positions, there, (start, end), asked))
    assert found.tolist() == expected.tolist()
    assert there[found].tolist() == [number for number in sorted(numbers)[start:end] if number in wanted]
    for span in ((-1, 0), (0, len(there) + 1)):
        with pytest.raises(IndexError):
            matching.positions(there, span, asked)


TERMS = st.binary(min_size=1, max_size=6).filter(lambda term: term[:1] != b"\0")


@given(st.lists(TERMS, unique=True), st.data())
def test_terms_are_found_alike(terms: list[bytes], data: st.DataObject) -> None:
    terms = sorted(terms)
    struck = [bytes(len(term)) if data.draw(st.booleans()) else term for term in terms]
    segment = segment_of(
        [Term([], []) for _ in terms],
        [],
        letters=np.frombuffer(b"".join(struck), np.uint8),
        cuts=np.cumsum([0, *map(len, terms)]),
    )
    for wanted in (*terms, data.draw(TERMS), b"\xff\xff"):
        found, expected = both(partial(matching.find, segment, (wanted, None)))
        assert found == expected
        assert struck[slice(*found)] == [wanted] * (wanted in struck)
        found, expected = both(partial(matching.find, segment, (wanted, wanted + b"\xff")))
        assert found == expected
        longer = {term for term in struck if term.startswith(wanted) and term < wanted + b"\xff"}
        assert longer <= set(struck[slice(*found)])


def part_of(segment: WordSegment, span: tuple[int, int], stale: frozenset[int] = frozenset()) -> Part:
    return Part(segment.handle, segment.facts.names, packed_numbers(stale), [span], segment)


@given(SEEDS)
def test_what_is_told_of_memories_is_the_same(seed: int) -> None:
    chance = np.random.default_rng(seed)
    size = int(chance.integers(1, 60))
    numbers = np.sort(chance.choice(200, size, replace=False)) + 1
    known = [
        Fact(
            str(chance.choice(["memory", "passage"])),
            int(chance.integers(-50, 50)),
            None if (session := int(chance.integers(0, 4))) == 0 else session,
            None if session == 0 else int(chance.integers(0, 9)),
            int(chance.integers(1, 99)),
            [None, "Ann", "Bob"][int(chance.integers(0, 3))],
        )
        for _ in range(size)
    ]
    lengths = chance.integers(0, 3, size).tolist()
    segment = segment_of([], lengths, numbers=numbers, **facts.build(known))
    start = int(chance.integers(0, size))
    wanted = np.flatnonzero(chance.random(210) < 0.4).tolist()
    within = Within(int(chance.integers(0, 4)), -20, int(chance.integers(-10, 60)))

    stale = frozenset(chance.choice(210, 5).tolist())
    aside = frozenset(chance.choice(210, 5).tolist())
    chance.shuffle(wanted)
    scores = [float(-number) for number in wanted]
    cut = int(chance.integers(start, size + 1))
    parts = [part_of(segment, (start, cut), stale), part_of(segment, (cut, size))]

    def told() -> tuple[list[Candidate], list[int]]:
        assert matching.told(Scored(), parts, within, packed_numbers(aside)) == (b"", [])
        rows, left = matching.told(Scored.of(wanted, scores), parts, within, packed_numbers(aside))
        return list(Packed(rows, [segment.facts.names] * 2)), left

    found, expected = both(told)
    assert found == expected
    candidates = {each.key: each for each in found[0]}
    assert list(candidates) == [number for number in wanted if number in candidates]
    for number in wanted:
        at = int(np.searchsorted(numbers, number))
        is_here = start <= at < size and numbers[at] == number and lengths[at] and number not in aside | stale
        assert (number in found[1]) == (not is_here)
        fact = known[at] if is_here else None
        if fact and within.kinds >> ["memory", "passage"].index(fact.kind) & 1:
            is_wanted = within.since <= fact.created < within.until
            told_of = (fact.session, fact.place, fact.speaker, fact.tokens, fact.created)
            assert candidates.get(number) == (Candidate(number, -number, *told_of) if is_wanted else None)
        else:
            assert number not in candidates


class TestAFileThatLies:
    """Whatever stands in it: an IndexError, for which a segment is done without, or some answer."""

    def test_a_position_in_no_order(self) -> None:
        for doc in (-1, 10, 2**31 - 1):
            with suppress(IndexError):
                numbers, _ = self.best(docs=[3, doc, 4], codes=[256] * 3)
                assert set(numbers) <= set(range(100, 110))

    def test_numbers_that_no_memory_has(self) -> None:
        for numbers in ([EXACT] + [EXACT + 1] * 9, [7, -(2**63), 2**63 - 1, 9], [2**63 - 1, 5, -(2**63)]):
            for wanted in (EXACT + 1, 8, -(2**63), 2**63 - 1):
                there, asked = np.array(numbers, np.int64), np.array([wanted], np.int64)
                found = matching.positions(there, (0, len(there)), asked)
                assert set(there[found].tolist()) <= {wanted}

    def test_a_code_without_a_weight(self) -> None:
        with pytest.raises(IndexError):
            self.best(codes=[1, 65_000])

    def test_terms_that_stand_nowhere_by_their_codes(self) -> None:
        size = 4_096
        segment = segment_of([Term(range(size), [5] * size)] * 2, [12] * size)
        for wanted in (TOGETHER * 3, one_by_one([Term([], [])] * 2)):
            for numbers, _ in both(partial(search, [leaf_of(segment)], wanted, 10)):
                assert numbers == []

    def test_a_store_whose_memories_have_no_length(self) -> None:
        size = 4_096
        segment = segment_of([Term(range(size), [(1 << 8) | 12] * size)] * 3, [12] * size)
        wanted = one_by_one([Term([], [])] * 3)
        for numbers, _ in both(partial(search, [leaf_of(segment)], wanted, 10, counted=Statistics(9, 0))):
            assert numbers == list(range(100, 110))

    @pytest.mark.parametrize("name", ["lengths", "kinds", "created", "places", "speakers", "cuts", "codes"])
    def test_arrays_of_different_lengths(self, name: str) -> None:
        widths = {"kinds": np.uint8, "codes": np.uint16, "created": np.int64, "cuts": np.int64}
        shorter: dict[str, Any] = {name: np.zeros(1, widths.get(name, np.int32))}
        with pytest.raises(IndexError):
            self.best(**shorter)

    def test_a_span_beyond_the_memories(self) -> None:
        for span in ((0, 11), (-1, 4), (5, 4)):
            with pytest.raises(IndexError):
                self.best(span=span)

    def test_a_term_beyond_the_letters_or_the_occurrences(self) -> None:
        for cuts in ([0, 2, 99], [0, 5, 3], [-4, 2, 3]):
            lying = segment_of([Term([], []), Term([], [])], [], cuts=cuts)
            with suppress(IndexError):
                matching.find(lying, (b"b", None))
            with suppress(IndexError):
                matching.find(lying, (b"b", b"c"))
        for offsets in ([0, 99], [5, 3], [-4, 2]):
            with pytest.raises(IndexError):
                self.best(offsets=offsets)

    def test_a_speaker_without_a_name_and_a_kind_that_is_none(self) -> None:
        for column in ({"speakers": np.array([9], np.int32)}, {"kinds": np.array([77], np.uint8)}):
            lying = segment_of([], [3], **column)
            with pytest.raises(IndexError):
                matching.told(Scored.of([100], [1.0]), [part_of(lying, (0, 1))], Within(255), b"")

    @given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.integers(1, 5), st.integers(1, 2))
    def test_positions_in_any_order(self, docs: list[int], most: int, together: int) -> None:
        with suppress(IndexError):
            numbers, scores = self.best(docs=docs, codes=[256] * len(docs), most=most, together=together)
            assert len(numbers) == len(scores)

    def best(
        self,
        docs: Sequence[int] = (3, 4),
        codes: Any = (256, 513),
        span: tuple[int, int] = (0, 10),
        most: int = 3,
        together: int = 1,
        **others: Any,
    ) -> Any:
        terms = [Term(docs, codes)] * together
        segment = segment_of(terms, [3] * 10, **others)
        wanted = TOGETHER if together > 1 else one_by_one(terms)
        return search([leaf_of(segment, span)], wanted, most)
