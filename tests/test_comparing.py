"""The inner loops over vectors: in C they find what numpy finds, and no file can make them read elsewhere."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.store.packed import Scored, Similarities
from recollect.store.sqlite.derived import codes, comparing
from recollect.store.sqlite.derived.codes import Asked, Coded
from recollect.store.sqlite.derived.comparing import Looked
from recollect.store.sqlite.derived.frames import Frame
from recollect.store.sqlite.derived.vectors import VectorSegment

from .segmented import both

pytestmark = pytest.mark.skipif(
    not comparing.COMPILED and os.environ.get("CI") != "true", reason="there was no compiler to build it"
)
SEEDS = st.integers(0, 10**9)


def test_it_is_compiled() -> None:
    assert comparing.COMPILED


def vectors_of(matrix: Any, **others: Any) -> VectorSegment:
    """A segment of vectors numbered from 1,000, of memories numbered from 100."""
    frame = Frame.plain(np.asarray(matrix.mean(axis=0), np.float32))
    count = len(matrix)
    arrays = {
        "numbers": np.arange(1_000, 1_000 + count),
        "memories": np.arange(100, 100 + count),
        "spaces": np.array([1]),
        "starts": np.array([0, count]),
        **frame._asdict(),
        **codes.code(matrix, frame)._asdict(),
    }
    return VectorSegment(arrays | others, 0)


def directions(count: int) -> Any:
    matrix = np.random.default_rng(5).standard_normal((count, 16)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def places_in(found: comparing.Nearest) -> Any:
    """Where in the segment they stand; numbers and memories say the same."""
    numbers, memories, _ = found.columns()
    assert [number - 1_000 for number in numbers] == [memory - 100 for memory in memories]
    return np.array(numbers, np.intp) - 1_000


@given(SEEDS, st.sampled_from([1, 7, 16, 17, 384]))
def test_how_near_memories_are_is_the_same_and_right(seed: int, dimensions: int) -> None:
    chance = np.random.default_rng(seed)
    matrix = chance.standard_normal((60, dimensions)).astype(np.float32)
    segment = vectors_of(matrix)
    segment.coded.scale[::7] = 0  # struck out
    vector = chance.standard_normal(dimensions).astype(np.float32)
    wanted = np.flatnonzero(chance.random(200) < 0.3)
    in_any_order, apart = chance.permutation(wanted), int(chance.integers(1, 7))
    numbers = np.repeat(in_any_order, apart)
    numbers[np.arange(len(numbers)) % apart > 0] = 107  # what stands between them is none of them

    def similar() -> Similarities:
        return Similarities(comparing.similar(segment, vector, numbers.tobytes(), 8 * apart, (5, 60)))

    found, expected = both(similar)
    assert list(found) == list(expected)
    assert list(found) == [
        memory for memory in in_any_order.tolist() if 105 <= memory < 160 and memory % 7 != 100 % 7
    ]
    size = float(np.abs(vector).sum() * np.abs(matrix).max()) + 1
    for memory, near in found.items():
        assert near == pytest.approx(expected[memory], abs=1e-5 * size)
        assert near == pytest.approx(float(matrix[memory - 100] @ vector), abs=1e-2 * size)


@pytest.mark.parametrize("count", [1, 2_000, 9_000])
def test_the_nearest_of_many_places_are_the_same_whoever_looks_at_them(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(3)
    matrix = chance.standard_normal((10_000, 48)).astype(np.float32)
    segment = vectors_of(matrix)
    segment.coded.scale[::7] = 0  # struck out

    def begun(question: Any, places: Any, worth_help: int) -> Callable[[], comparing.Nearest]:
        monkeypatch.setattr(comparing, "WORTH_HELP_AT", worth_help)
        return comparing.nearest_at(segment, question, places, Looked(0, 60, 10))

    for question in matrix[:20]:
        places = np.sort(chance.choice(10_000, count, replace=False))
        one, another = begun(question, places, 0), begun(-question, places, 0)
        time.sleep(float(chance.choice([0.0, 0.0005, 0.003])))  # the helper may take all of it, or nothing
        assert one() == begun(question, places, 10**9)()
        assert another() == begun(-question, places, 10**9)()


@given(SEEDS, st.sampled_from([1, 7, 384]), st.integers(1, 70), st.integers(0, 70))
def test_the_nearest_of_some_places_are_the_same_and_right(
    seed: int, dimensions: int, most: int, exact: int
) -> None:
    chance = np.random.default_rng(seed)
    matrix = chance.standard_normal((60, dimensions)).astype(np.float32)
    segment = vectors_of(matrix)
    segment.coded.scale[::7] = 0  # struck out
    vector = chance.standard_normal(dimensions).astype(np.float32)
    places = np.flatnonzero(chance.random(60) < 0.6)
    found, expected = both(lambda: comparing.nearest_at(segment, vector, places, Looked(0, most, exact))())
    assert found.columns()[:2] == expected.columns()[:2]
    alive = places[places % 7 > 0]
    assert len(found.memories) == min(most, len(alive))
    assert set(places_in(found).tolist()) <= set(alive.tolist())
    size = float(np.abs(vector).sum() * np.abs(matrix).max()) + 1
    scores = found.memories.scores()
    assert scores == pytest.approx(expected.memories.scores(), abs=1e-5 * size)
    if exact >= most >= len(alive):
        exactly = sorted((float(matrix[at] @ vector) for at in alive), reverse=True)
        assert scores == pytest.approx(exactly, abs=2e-5 * size)


@settings(max_examples=25)
@given(SEEDS, st.sampled_from([1, 64, 65, 384]), st.sampled_from([3, 900, 5_000, 40_000]))
def test_the_nearest_by_their_signs_are_those_with_the_best_estimates(
    seed: int, dimensions: int, count: int
) -> None:
    chance = np.random.default_rng(seed)
    matrix = chance.standard_normal((count, dimensions)).astype(np.float32)
    if chance.random() < 0.3:
        matrix = matrix[np.argsort(matrix[:, 0])]  # the first say nothing of the others
    segment = vectors_of(matrix)
    vector = chance.standard_normal(dimensions).astype(np.float32)
    start = int(chance.integers(0, count))
    end = int(chance.integers(start, count)) + 1
    most = int(chance.integers(1, 1200))
    found = comparing.nearest(segment, vector, (start, end), Looked(most, most, 0))()
    places = places_in(found)
    assert len(set(places.tolist())) == len(places) == min(most, end - start)
    scores = found.memories.scores()
    assert scores == sorted(scores, reverse=True)
    near = comparing.similar(segment, vector, found.memories.pairs, 16, (start, end))
    assert scores == pytest.approx(sorted(near.scores(), reverse=True), rel=1e-4, abs=1e-3)
    estimates = Asked(vector - segment.frame.centre).estimates(segment.coded, np.arange(count))
    best = np.sort(estimates[start:end])[-len(places) :]
    assert np.sort(estimates[places]) == pytest.approx(best, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("count", [70_000, 200_000])
def test_many_are_looked_at_by_two_threads_with_the_same_result(count: int) -> None:
    chance = np.random.default_rng(5)
    matrix = chance.standard_normal((count, 16)).astype(np.float32)
    segment = vectors_of(matrix)
    vector = matrix[7]
    estimates = Asked(vector - segment.frame.centre).estimates(segment.coded, np.arange(count))
    for most in (1, 700, count // 2):
        for wait in (0.0, 0.05):
            begun = comparing.nearest(segment, vector, (0, count), Looked(most, most, 0))
            time.sleep(wait)  # the helper may take all of it, or nothing
            places = places_in(begun())
            assert len(set(places.tolist())) == len(places) == most
            best = np.sort(estimates)[-most:]
            assert np.sort(estimates[places]) == pytest.approx(best, rel=1e-4, abs=1e-4)


def test_a_question_that_nobody_waits_for_is_dropped() -> None:
    matrix = directions(70_000)
    segment = vectors_of(matrix)
    for _ in range(50):
        comparing.nearest(segment, matrix[0], (0, len(matrix)), Looked(100, 10, 8))
    found = comparing.nearest(segment, matrix[3], (0, len(matrix)), Looked(100, 10, 8))()
    assert found.memories.numbers()[0] == 103


def test_many_may_ask_at_once() -> None:
    matrix = directions(70_000)
    segment = vectors_of(matrix)

    def nearest(at: int) -> int:
        found = comparing.nearest(segment, matrix[at], (0, len(matrix)), Looked(500, 10, 8))()
        return found.memories.numbers()[0] - 100

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(nearest, range(200))) == list(range(200))


def test_a_forked_child_has_no_helper_and_finds_the_same() -> None:
    matrix = directions(70_000)
    segment = vectors_of(matrix)
    ask = partial(comparing.nearest, segment, matrix[7], (0, len(matrix)), Looked(500, 10, 8))
    expected = ask()()
    begun = ask()
    child = os.fork()
    if not child:  # whatever happens here must not reach pytest
        signal.alarm(60)
        os._exit(0 if begun() == expected and all(ask()() == expected for _ in range(5)) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert begun() == expected
    assert ask()() == expected


@given(SEEDS, st.integers(1, 50), st.booleans())
def test_of_those_that_are_looked_at_closely_the_best_are_given(seed: int, most: int, few: bool) -> None:
    chance = np.random.default_rng(seed)
    matrix = chance.standard_normal((3_000, 32)).astype(np.float32)
    segment = vectors_of(matrix)
    vector = chance.standard_normal(32).astype(np.float32)
    start = int(chance.integers(0, 100))
    permitted = chance.random(3_000 - start) < 0.2 if few else None
    ask = partial(comparing.nearest, segment, vector, (start, 3_000))
    found = ask(Looked(200, most, most), permitted)()
    closely = ask(Looked(200, 200, 0), permitted)()
    if permitted is not None:
        assert permitted[places_in(closely) - start].all()
    for score, least in zip(found.memories.scores(), closely.memories.scores()[:most], strict=True):
        assert score >= least - 0.02 * abs(least)  # or better, where signs say little
    exact = matrix[places_in(found)] @ vector
    assert found.memories.scores() == pytest.approx(exact.tolist(), abs=1e-3)


def test_who_was_struck_out_takes_nobodys_place() -> None:
    matrix = directions(3_000)
    segment = vectors_of(matrix)
    ask = partial(comparing.nearest, segment, matrix[7], (0, 3_000), Looked(1_000, 500, 8))
    for found in both(lambda: ask()()):
        assert found.memories.numbers()[0] == 107
    codes.clear(segment.coded._asdict(), np.flatnonzero(np.arange(3_000) % 4 > 0))
    for found in both(lambda: ask()()):
        assert len(found.memories) == 500
        assert not [memory for memory in found.memories.numbers() if memory % 4]


class TestAFileThatLies:
    """Whatever stands in it: an IndexError, for which a segment is done without, or some answer."""

    def test_vectors_of_different_lengths(self) -> None:
        matrix = np.eye(8, dtype=np.float32)
        for name in set(Coded._fields) - {"rows"}:
            broken = vectors_of(matrix, **{name: getattr(vectors_of(matrix).coded, name)[:0]})
            with pytest.raises(IndexError):
                comparing.nearest(broken, matrix[0], (0, 8), Looked(2, 2, 2))
        with pytest.raises(IndexError):
            comparing.nearest(vectors_of(matrix), matrix[0, :7].copy(), (0, 8), Looked(2, 2, 2))
        for span in ((0, 9), (-1, 4), (5, 4)):
            with pytest.raises(IndexError):
                comparing.nearest(vectors_of(matrix), matrix[0], span, Looked(2, 2, 2))
            with pytest.raises(IndexError):
                comparing.similar(vectors_of(matrix), matrix[0], Scored.of([101], [0]).pairs, 16, span)

    def test_lists_that_do_not_fit_each_other(self) -> None:
        memories, scores = np.arange(3), np.zeros(3, np.float32)
        with pytest.raises(IndexError):
            comparing.among(memories, scores[1:], Scored.of([1], [0]).pairs, 16)
        for numbers, apart in ((b"?" * 15, 16), (b"?" * 8, 4), (b"", 0)):
            with pytest.raises(IndexError):
                comparing.among(memories, scores, numbers, apart)
            with pytest.raises(IndexError):
                comparing.similar(vectors_of(np.eye(8, dtype=np.float32)), scores, numbers, apart, (0, 8))
        with pytest.raises(IndexError):
            comparing.best([comparing.Nearest(memories.tobytes(), Scored())], 2)

    def test_a_vector_that_is_not_there(self) -> None:
        matrix = np.eye(8, dtype=np.float32)
        for place in (-1, 8, 2**40):
            with pytest.raises(IndexError):
                comparing.nearest_at(vectors_of(matrix), matrix[0], np.array([1, place]), Looked(2, 2, 2))

    def test_numbers_that_are_none(self) -> None:
        matrix = np.eye(8, dtype=np.float32)
        for name in ("trust", "offset", "scale"):
            nothing = vectors_of(matrix, **{name: np.full(8, np.nan, np.float32)})
            assert len(comparing.nearest(nothing, matrix[0], (0, 8), Looked(2, 2, 2))().memories) <= 2
