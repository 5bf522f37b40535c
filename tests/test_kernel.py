"""The inner loops: what is compiled finds what numpy finds, and no file can make it read elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.store.sqlite.derived import codes, kernel
from recollect.store.sqlite.derived.codes import Asked

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


@given(SEEDS, st.integers(1, 40), st.booleans())
def test_terms_are_added_alike(seed: int, most: int, some_are_barred: bool) -> None:
    chance = np.random.default_rng(seed)
    size, start = int(chance.integers(1, 300)), int(chance.integers(0, 50))
    docs = np.flatnonzero(chance.random(size) < chance.random()).astype(np.int32) + start
    codes = chance.integers(0, 1000, len(docs)).astype(np.uint16)
    weights = chance.random(1000).astype(np.float32)
    before = chance.random(size).astype(np.float32)
    permitted = chance.random(size) < 0.7 if some_are_barred else None

    def added() -> tuple[list[float], float]:
        scores = before.copy()
        lowest = kernel.add(scores, start, docs, codes, weights, 1.5, permitted, most)
        return scores.tolist(), lowest

    assert len(set(map(repr, both(added)))) == 1


@given(SEEDS, st.sampled_from([0.0, -1.0, 0.25, 0.5, 0.999, 7.0]))
def test_the_promising_are_the_same(seed: int, least: float) -> None:
    chance = np.random.default_rng(seed)
    size = int(chance.integers(0, 2000))
    scores = (chance.random(size) * (chance.random(size) < chance.random())).astype(np.float32)
    found, expected = both(lambda: kernel.promising(scores, least).tolist())
    assert found == expected == [at for at, score in enumerate(scores) if score > 0 and score >= least]


@given(SEEDS)
def test_terms_are_looked_up_alike(seed: int) -> None:
    chance = np.random.default_rng(seed)
    docs, wanted = (np.flatnonzero(chance.random(500) < chance.random()).astype(np.int32) for _ in range(2))
    codes = chance.integers(1, 2**16, len(docs)).astype(np.uint16)
    found, expected = both(lambda: kernel.looked_up(docs, codes, wanted).tolist())
    known = dict(zip(docs.tolist(), codes.tolist(), strict=True))
    assert found == expected == [known.get(each, 0) for each in wanted.tolist()]


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
    found = kernel.nearest(coded, left, (start, end), most)
    assert len(set(found.tolist())) == len(found) == min(most, end - start)
    estimates = Asked.of(left).estimates(coded.bits, coded.trust, coded.offset)
    best = np.sort(estimates[start:end])[-len(found) :]
    assert np.sort(estimates[found]) == pytest.approx(best, rel=1e-4, abs=1e-4)


def test_many_are_looked_at_by_two_threads_with_the_same_result() -> None:
    chance = np.random.default_rng(5)
    matrix = chance.standard_normal((450_000, 16)).astype(np.float32)
    coded = codes.code(matrix, matrix.mean(axis=0))
    estimates = Asked.of(matrix[7]).estimates(coded.bits, coded.trust, coded.offset)
    for most in (1, 700, 300_000):
        found = kernel.nearest(coded, matrix[7], (0, len(matrix)), most)
        assert len(set(found.tolist())) == len(found) == most
        best = np.sort(estimates)[-most:]
        assert np.sort(estimates[found]) == pytest.approx(best, rel=1e-4, abs=1e-4)


class TestAFileThatLies:
    """Whatever stands in it: an IndexError, for which a segment is done without, or some answer."""

    def test_a_position_beyond_the_span(self) -> None:
        for doc in (-1, 10, 2**31 - 1):
            with pytest.raises(IndexError):
                kernel.add(*self.term(docs=[3, doc]))

    def test_a_code_without_a_weight(self) -> None:
        with pytest.raises(IndexError):
            kernel.add(*self.term(codes=[1, 500]))

    def test_fewer_codes_than_positions(self) -> None:
        with pytest.raises((IndexError, ValueError)):
            kernel.add(*self.term(codes=[1]))
        assert len(kernel.looked_up(self.docs(1, 2, 3), np.ones(1, np.uint16), self.docs(2, 3))) == 2

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
                kernel.nearest(broken, left, (0, 8), 2)

    def test_numbers_that_are_none(self) -> None:
        coded = codes.code(np.eye(8, dtype=np.float32), np.zeros(8, np.float32))
        left = np.ones(8, np.float32)
        nothing = coded._replace(trust=np.full(8, np.nan, np.float32))
        assert len(kernel.nearest(nothing, left, (0, 8), 2)) <= 2

    @given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.lists(st.integers(-(2**31), 2**31 - 1)))
    def test_positions_in_no_order(self, docs: list[int], wanted: list[int]) -> None:
        found = kernel.looked_up(self.docs(*docs), np.ones(len(docs), np.uint16), self.docs(*wanted))
        assert len(found) == len(wanted)

    @staticmethod
    def docs(*positions: int) -> Any:
        return np.array(positions, np.int32)

    def term(self, docs: list[int] | None = None, codes: list[int] | None = None) -> Any:
        scores, weights = np.zeros(10, np.float32), np.ones(256, np.float32)
        given = self.docs(*(docs or [3, 4])), np.array(codes or [1, 2], np.uint16)
        return scores, 0, *given, weights, 1.0, None, 3
