"""The inner loops: what is compiled finds what numpy finds, and no file can make it read elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.store.sqlite.derived import bm25, codes, kernel
from recollect.store.sqlite.derived.codes import Asked
from recollect.store.sqlite.derived.kernel import Looked, Scoring, Term

from .segmented import by_numpy

compiled = pytest.mark.skipif(
    not kernel.COMPILED and os.environ.get("CI") != "true", reason="there was no compiler to build it"
)
pytestmark = compiled
SEEDS = st.integers(0, 10**9)


def test_it_is_compiled() -> None:
    assert kernel.COMPILED


def both(ask: Callable[[], Any]) -> tuple[Any, Any]:
    """What is found compiled and by numpy."""
    found = ask()
    with by_numpy():
        return found, ask()


def made_terms(chance: np.random.Generator, size: int) -> list[Term]:
    """Who has each of a few terms, some of them common."""
    terms = []
    for _ in range(chance.integers(1, 8)):
        docs = np.flatnonzero(chance.random(size) < chance.random() ** 3).astype(np.int32)
        often, length = chance.integers(1, 5, len(docs)), chance.integers(0, 256, len(docs))
        given_codes = ((often << 8) | length).astype(np.uint16)
        rarity = float(chance.random() * 8)
        terms.append(Term(docs, given_codes, rarity))
    return terms


@settings(max_examples=200)
@given(SEEDS, st.integers(1, 40), st.booleans(), st.sampled_from([0.0, 0.5, 4.0]))
def test_the_best_matches_are_the_same_and_the_best(
    seed: int, most: int, some_are_barred: bool, floor: float
) -> None:
    chance = np.random.default_rng(seed)
    size = int(chance.integers(1, 2_000))
    start = int(chance.integers(0, size))
    end = int(chance.integers(start, size)) + 1
    terms = made_terms(chance, size)
    lengths = chance.integers(1, 60, size).astype(np.int32)
    scoring = Scoring(bm25.weights(20.0), lengths, 20.0, most)
    permitted = chance.random(end - start) < 0.7 if some_are_barred else None

    def found() -> tuple[list[int], list[float]]:
        places, scores = kernel.best(terms, (start, end), scoring, permitted, floor)
        return places.tolist(), scores.tolist()

    compiled_places, by_numpy_places = both(found)
    assert compiled_places == by_numpy_places
    assert all(start <= place < end for place in compiled_places[0])


@given(SEEDS)
def test_nobody_better_is_left_out(seed: int) -> None:
    chance = np.random.default_rng(seed)
    size, most = 600, int(chance.integers(1, 30))
    terms = made_terms(chance, size)
    lengths = bm25.LENGTHS[chance.integers(1, 100, size)].astype(np.int32)
    terms = [
        term._replace(codes=((term.codes >> 8 << 8) | lengths[term.docs]).astype(np.uint16)) for term in terms
    ]
    scoring = Scoring(bm25.weights(20.0), lengths, 20.0, most)
    places, scores = kernel.best(terms, (0, size), scoring, None, 0.0)
    everyone = np.zeros(size)
    for term in terms:
        everyone[term.docs] += bm25.weight(term.codes >> 8, lengths[term.docs], 20.0) * term.rarity
    best = np.sort(everyone[everyone > 0])[-most:]
    assert np.sort(scores)[-most:] == pytest.approx(best)
    assert everyone[places] == pytest.approx(scores)


def test_any_number_may_be_equally_good() -> None:
    size = 70_000
    everyone = np.arange(size, dtype=np.int32)
    term = Term(everyone, np.full(size, (1 << 8) | 12, np.uint16), 2.0)
    scoring = Scoring(bm25.weights(20.0), np.full(size, 12, np.int32), 20.0, 10)
    for span in ((0, size), (17, 40_000)):
        (found, scores), (expected, _) = both(partial(kernel.best, [term], span, scoring, None, 0.0))
        assert found.tolist() == expected.tolist() == list(range(*span))
        assert len(set(scores.tolist())) == 1


@given(st.lists(st.binary(max_size=6).filter(lambda term: term[:1] != b"\0"), unique=True), st.data())
def test_terms_are_found_alike(terms: list[bytes], data: st.DataObject) -> None:
    terms = sorted(terms)
    struck = [bytes(len(term)) if data.draw(st.booleans()) else term for term in terms]
    letters = np.frombuffer(b"".join(struck), np.uint8)
    cuts = np.cumsum([0, *map(len, terms)]).astype(np.int64)
    for wanted in (*terms, data.draw(st.binary(max_size=6)), b"\xff\xff"):
        found, expected = both(partial(kernel.place, letters, cuts, wanted))
        assert found == expected
        if wanted in struck:
            assert struck[found] == wanted


@given(SEEDS, st.sampled_from([1, 7, 16, 17, 384]))
def test_products_are_the_same(seed: int, dimensions: int) -> None:
    chance = np.random.default_rng(seed)
    rows = chance.integers(-127, 128, (60, dimensions)).astype(np.int8)
    scale = chance.random(60).astype(np.float32)
    vector = chance.standard_normal(dimensions).astype(np.float32)
    places = chance.integers(0, 60, 30)
    found, expected = both(lambda: kernel.products(rows, scale, places, vector))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-3)


@settings(max_examples=25)
@given(SEEDS, st.sampled_from([1, 64, 65, 384]), st.sampled_from([3, 900, 5_000, 40_000]))
def test_the_nearest_by_their_signs_are_those_with_the_best_estimates(
    seed: int, dimensions: int, count: int
) -> None:
    chance = np.random.default_rng(seed)
    matrix = chance.standard_normal((count, dimensions)).astype(np.float32)
    if chance.random() < 0.3:
        matrix = matrix[np.argsort(matrix[:, 0])]  # the first say nothing of the others
    coded = codes.code(matrix, matrix.mean(axis=0))
    left = chance.standard_normal(dimensions).astype(np.float32)
    start = int(chance.integers(0, count))
    end = int(chance.integers(start, count)) + 1
    most = int(chance.integers(1, 1200))
    found, products = kernel.nearest(coded, left, left, (start, end), Looked(most, most))
    assert len(set(found.tolist())) == len(found) == min(most, end - start)
    assert products == pytest.approx(kernel.products(coded.bytes, coded.scale, found, left))
    estimates = Asked(left).estimates(coded, np.arange(count))
    best = np.sort(estimates[start:end])[-len(found) :]
    assert np.sort(estimates[found]) == pytest.approx(best, rel=1e-4, abs=1e-4)


def test_many_are_looked_at_by_two_threads_with_the_same_result() -> None:
    chance = np.random.default_rng(5)
    matrix = chance.standard_normal((450_000, 16)).astype(np.float32)
    coded = codes.code(matrix, matrix.mean(axis=0))
    estimates = Asked(matrix[7]).estimates(coded, np.arange(len(matrix)))
    for most in (1, 700, 300_000):
        found, _ = kernel.nearest(coded, matrix[7], matrix[7], (0, len(matrix)), Looked(most, most))
        assert len(set(found.tolist())) == len(found) == most
        best = np.sort(estimates)[-most:]
        assert np.sort(estimates[found]) == pytest.approx(best, rel=1e-4, abs=1e-4)


@given(SEEDS, st.integers(1, 50), st.booleans())
def test_of_those_that_are_looked_at_closely_the_best_are_given(seed: int, most: int, few: bool) -> None:
    chance = np.random.default_rng(seed)
    matrix = chance.standard_normal((3_000, 32)).astype(np.float32)
    coded = codes.code(matrix, matrix.mean(axis=0))
    left = chance.standard_normal(32).astype(np.float32)
    start = int(chance.integers(0, 100))
    permitted = chance.random(3_000 - start) < 0.2 if few else None
    found, products = kernel.nearest(coded, left, left, (start, 3_000), Looked(200, most), permitted)
    closely, _ = kernel.nearest(coded, left, left, (start, 3_000), Looked(200, 200), permitted)
    if permitted is not None:
        assert permitted[closely - start].all()
    expected = np.sort(kernel.products(coded.bytes, coded.scale, closely, left))[-most:]
    assert len(found) == most
    assert np.sort(products) == pytest.approx(expected, rel=1e-5, abs=1e-5)


class TestAFileThatLies:
    """Whatever stands in it: an IndexError, for which a segment is done without, or some answer."""

    def test_a_position_in_no_order(self) -> None:
        for doc in (-1, 10, 2**31 - 1):
            with suppress(IndexError):
                places, _ = self.best(docs=[3, doc, 4])
                assert set(places.tolist()) <= set(range(10))

    def test_a_code_without_a_weight(self) -> None:
        with pytest.raises(IndexError):
            self.best(codes=[1, 500])

    def test_fewer_codes_than_positions(self) -> None:
        with pytest.raises((IndexError, ValueError)):
            self.best(codes=[1])

    def test_fewer_lengths_than_the_span(self) -> None:
        with pytest.raises(IndexError):
            self.best(span=(0, 11))

    def test_a_term_beyond_the_letters(self) -> None:
        for cuts in ([0, 2, 99], [0, 5, 3], [-4, 2, 3]):
            with suppress(IndexError):
                kernel.place(np.frombuffer(b"abc", np.uint8), np.array(cuts, np.int64), b"b")

    def test_a_vector_that_is_not_there(self) -> None:
        rows, scale = np.ones((4, 8), np.int8), np.ones(4, np.float32)
        for place in (-1, 4, 2**40):
            with pytest.raises(IndexError):
                kernel.products(rows, scale, np.array([1, place]), np.ones(8, np.float32))

    def test_arrays_of_different_lengths(self) -> None:
        coded = codes.code(np.eye(8, dtype=np.float32), np.zeros(8, np.float32))
        left = np.ones(8, np.float32)
        for broken in (coded._replace(trust=coded.trust[:3]), coded._replace(offset=coded.offset[:3])):
            with pytest.raises(IndexError):
                kernel.nearest(broken, left, left, (0, 8), Looked(2, 2))

    def test_numbers_that_are_none(self) -> None:
        coded = codes.code(np.eye(8, dtype=np.float32), np.zeros(8, np.float32))
        left = np.ones(8, np.float32)
        nothing = coded._replace(trust=np.full(8, np.nan, np.float32))
        assert len(kernel.nearest(nothing, left, left, (0, 8), Looked(2, 2))[0]) <= 2

    @given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.integers(1, 5))
    def test_positions_in_any_order(self, docs: list[int], most: int) -> None:
        with suppress(IndexError):
            places, scores = self.best(docs=docs, codes=[256] * len(docs), most=most)
            assert len(places) == len(scores)

    def best(
        self,
        docs: Sequence[int] = (3, 4),
        codes: Sequence[int] = (1, 2),
        span: tuple[int, int] = (0, 10),
        most: int = 3,
    ) -> Any:
        term = Term(np.array(docs, np.int32), np.array(codes, np.uint16), 1.0)
        scoring = Scoring(np.ones(300, np.float32), np.ones(10, np.int32), 1.0, most)
        return kernel.best([term], span, scoring, None, 0.0)
