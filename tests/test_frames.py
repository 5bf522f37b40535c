"""Many vectors are looked for along the directions in which they differ most; what is found is the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.store.sqlite.derived import codes, comparing, files, vectors
from recollect.store.sqlite.derived.codes import Coded
from recollect.store.sqlite.derived.comparing import Looked
from recollect.store.sqlite.derived.frames import Frame
from recollect.store.sqlite.derived.vectors import Read, VectorSegment

from .segmented import by_numpy

pytestmark = pytest.mark.skipif(not codes.COMPILED, reason="without a compiler there are no directions")


def along_few(count: int, dimensions: int = 384, few: int = 40, seed: int = 1) -> Any:
    """Vectors most of which lies in few directions."""
    chance = np.random.default_rng(seed)
    axes = np.random.default_rng(9).standard_normal((few, dimensions))
    found = chance.standard_normal((count, few)) @ axes + 2.5 * chance.standard_normal((count, dimensions))
    found += axes[0]
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def framed(matrix: Any) -> Frame:
    found = Frame.made(np.asarray(matrix.mean(axis=0)), matrix)
    assert len(found.directions)
    return found


def segment_of(matrix: Any, frame: Frame | None = None, **others: Any) -> VectorSegment:
    """Vectors numbered from 1 on, of memories numbered alike."""
    frame = frame or framed(matrix)
    numbers = np.arange(1, len(matrix) + 1)
    places = {"spaces": np.array([1]), "starts": np.array([0, len(matrix)])}
    arrays = {"numbers": numbers, "memories": numbers, **places, **frame._asdict()}
    return VectorSegment(arrays | codes.code(matrix, frame)._asdict() | others, 0)


def read(matrix: Any, first: int = 1) -> Read:
    numbers = np.arange(first, first + len(matrix))
    return Read(numbers, numbers, np.ones(len(matrix), np.int64), matrix)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands are many."""
    monkeypatch.setattr(vectors, "WORTH_DIRECTIONS", 2_000)


def test_directions_stand_at_right_angles_and_hold_most_of_what_varies() -> None:
    matrix = along_few(5_000)
    frame = framed(matrix)
    directions = frame.directions * frame.steps[:, None]
    assert len(directions) % 32 == 0
    assert np.allclose(directions @ directions.T, np.eye(len(directions)), atol=0.02)
    left = matrix - frame.centre
    assert (frame.along(matrix) ** 2).sum() > 0.75 * (left**2).sum()


def test_where_no_direction_is_better_than_another_there_are_none() -> None:
    matrix = np.random.default_rng(1).standard_normal((3_000, 96)).astype(np.float32)
    assert not len(Frame.made(matrix.mean(axis=0), matrix).directions)
    same = np.tile(matrix[:1], (100, 1))
    assert len(segment_of(same, Frame.made(same.mean(axis=0), same))) == 100


def test_what_is_no_number_has_no_part_in_it() -> None:
    matrix = along_few(3_000, 130)
    centre = matrix.mean(axis=0)
    broken = np.concatenate(
        [matrix, np.full((1, 130), np.nan, np.float32), np.full((1, 130), np.inf, np.float32)]
    )
    assert Frame.made(centre, broken).is_same(Frame.made(centre, matrix))
    assert not len(Frame.made(np.full(130, np.nan, np.float32), matrix).directions)


def test_what_is_coded_along_directions() -> None:
    matrix = along_few(100, 130)
    frame = framed(matrix)
    coded = codes.code(matrix, frame)
    along, left = frame.along(matrix), matrix - frame.centre
    places = np.arange(100)
    signs = coded.signs[places // codes.TOGETHER, :, places % codes.TOGETHER]
    assert np.array_equal(signs[:, :-2], np.packbits(along > 0, axis=1))
    low, step, lowest, size = frame.ranges.tolist()
    trust = (along**2).sum(axis=1) / np.abs(along).sum(axis=1)
    assert signs[:, -2] * step + low == pytest.approx(trust, abs=step)
    assert signs[:, -1] * size + lowest == pytest.approx(left @ frame.centre, abs=size)
    assert np.array_equal(coded.rows[:, :17], np.packbits(left > 0, axis=1))
    numbers = np.ascontiguousarray(coded.rows[:, 24:36]).view(np.float32)
    assert numbers[:, 0] == pytest.approx((left**2).sum(axis=1) / np.abs(left).sum(axis=1), rel=1e-4)
    assert numbers[:, 1] == pytest.approx(left @ frame.centre, abs=1e-5)
    assert np.array_equal(numbers[:, 2], coded.scale)
    assert coded.rows.shape == (100, 64)
    assert not len(coded.trust) and not len(coded.offset)


@pytest.mark.parametrize("loops", [nullcontext, by_numpy])
@pytest.mark.parametrize("dimensions", [130, 384])
def test_the_nearest_ten_are_those_of_an_exact_search(
    tmp_path: Path, small: None, dimensions: int, loops: Callable[[], AbstractContextManager[None]]
) -> None:
    matrix, questions = along_few(30_000, dimensions), along_few(40, dimensions, seed=2)
    path = tmp_path / "vectors.segment"
    vectors.write(path, [read(matrix)])
    segment = VectorSegment(*files.read(path))
    assert len(segment.frame.directions)
    scope = np.flatnonzero(np.random.default_rng(3).random(30_000) < 0.5) + 1
    shared, inside = 0.0, 0.0
    with loops():
        for question in questions:
            found = np.array(segment.near(segment.span(1), question, 50)().columns()[0][:10]) - 1
            shared += _share(matrix, found, question)
            found = np.array(segment.near(segment.span(1), question, 50, scope)().columns()[0][:10]) - 1
            assert np.isin(found + 1, scope).all()
            inside += _share(matrix[scope - 1], np.searchsorted(scope, found + 1), question)
    assert shared / len(questions) >= 0.98
    assert inside / len(questions) >= 0.98


def _share(matrix: Any, found: Any, question: Any) -> float:
    near = matrix @ question
    return float(np.mean(near[found] >= np.sort(near)[-10] - 1e-6))


@pytest.mark.parametrize("span", [(0, 40_000), (7, 39_990), (5, 1_800), (33, 12_000)])
def test_any_span_is_looked_through_and_nobody_else(span: tuple[int, int]) -> None:
    matrix = along_few(40_000, 130)
    segment = segment_of(matrix)
    start, end = span
    for at in range(start, end, (end - start) // 20):
        found = comparing.nearest(segment, matrix[at], span, Looked(1_000, 100, 8))().columns()[1]
        assert found[0] == at + 1
        assert len(found) == 100
        assert min(found) > start
        assert max(found) <= end


def test_what_lies_far_from_the_sample_is_found_as_well() -> None:
    matrix = along_few(40_000, 130)
    matrix = matrix[np.argsort(matrix @ matrix[0])]
    segment = segment_of(matrix)
    for question in (matrix[-1], matrix[0], -matrix[-1]):
        found = comparing.nearest(segment, question, (0, 40_000), Looked(1_000, 100, 8))().columns()[1]
        assert len(found) == 100
        assert _share(matrix, np.array(found[:10]) - 1, question) >= 0.9


@pytest.mark.parametrize("share", [0.03, 0.3, 1.0])
def test_whoever_is_as_near_as_many_others_is_found(share: float) -> None:
    """Such as what is said again and again in a chat: more are equally near than are looked at closely."""
    matrix = along_few(40_000, 130)
    matrix[np.random.default_rng(5).random(40_000) < share] = matrix[7]
    segment = segment_of(matrix, framed(along_few(40_000, 130)))
    found = comparing.nearest(segment, matrix[7], (0, 40_000), Looked(1_000, 100, 8))()
    assert len(found.memories) == 100
    assert min(found.memories.scores()) == pytest.approx(1, abs=0.01)


def test_two_threads_find_what_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = along_few(40_000, 130)
    segment = segment_of(matrix)
    for question in along_few(20, 130, seed=2):
        ask = partial(comparing.nearest, segment, question, (0, 40_000), Looked(1_000, 10, 8))
        monkeypatch.setattr(comparing, "WORTH_HELP", 10**9)
        alone = ask()().columns()[1]
        monkeypatch.setattr(comparing, "WORTH_HELP", 0)
        assert len({*alone} & {*ask()().memories.numbers()}) >= 9


def test_who_was_struck_out_takes_nobodys_place() -> None:
    matrix = along_few(20_000, 130)
    segment = segment_of(matrix)
    gone = np.flatnonzero(np.arange(20_000) % 4 > 0)
    codes.clear(segment.coded._asdict(), gone)
    assert not segment.coded.rows[gone].any()
    for loops in (nullcontext, by_numpy):
        with loops():
            found = comparing.nearest(segment, matrix[8], (0, 20_000), Looked(1_000, 500, 8))().columns()[1]
        assert len(found) == 500
        assert not [number for number in found if (number - 1) % 4]


def test_a_frame_is_kept_when_segments_are_merged_and_what_is_coded_copied(
    tmp_path: Path, small: None
) -> None:
    matrix = along_few(6_000)
    first, second = tmp_path / "first.segment", tmp_path / "second.segment"
    vectors.write(first, [read(matrix[:3_000])])
    old = VectorSegment(*files.read(first))
    vectors.write(second, [read(matrix[3_000:], 3_001)], [old])
    merged = VectorSegment(*files.read(second))
    assert merged.frame.is_same(old.frame)
    for name in Coded._fields[3:]:
        assert np.array_equal(getattr(merged.coded, name)[:3_000], getattr(old.coded, name))
    for at in range(0, 6_000, 97):
        assert merged.near(merged.span(1), matrix[at], 5)().columns()[0][0] == at + 1


def test_what_has_grown_to_many_times_as_much_has_a_frame_of_its_own(tmp_path: Path, small: None) -> None:
    matrix = along_few(18_000, 130)
    path, other = tmp_path / "first.segment", tmp_path / "second.segment"
    vectors.write(path, [read(matrix[:2_000])])
    old = VectorSegment(*files.read(path))
    vectors.write(other, [read(matrix[2_000:], 2_001)], [old])
    merged = VectorSegment(*files.read(other))
    assert len(merged.frame.directions)
    assert not merged.frame.is_same(old.frame)
    for at in range(0, 18_000, 997):
        assert merged.near(merged.span(1), matrix[at], 5)().columns()[0][0] == at + 1


def test_few_have_no_directions_and_a_merge_without_a_compiler_leaves_none(
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = along_few(4_000, 130)
    few, many, both = (tmp_path / f"{name}.segment" for name in ("few", "many", "both"))
    vectors.write(few, [read(matrix[:1_000])])
    assert not len(VectorSegment(*files.read(few)).frame.directions)
    vectors.write(many, [read(matrix[:3_000])])
    monkeypatch.setattr(codes, "COMPILED", False)
    vectors.write(both, [read(matrix[3_000:], 3_001)], [VectorSegment(*files.read(many))])
    merged = VectorSegment(*files.read(both))
    assert not len(merged.frame.directions)
    for at in range(0, 4_000, 97):
        assert merged.near(merged.span(1), matrix[at], 5)().columns()[0][0] == at + 1


class TestAFileThatLies:
    def test_arrays_of_different_lengths(self) -> None:
        matrix = along_few(2_000, 130)
        segment = segment_of(matrix)
        whole = segment.coded._asdict() | segment.frame._asdict()
        for name in {*whole} - {"trust", "offset"}:
            with pytest.raises(IndexError):
                comparing.nearest(
                    segment_of(matrix, **{name: whole[name][:-1]}), matrix[0], (0, 2_000), Looked(9, 2, 2)
                )

    def test_numbers_that_are_none(self) -> None:
        matrix = along_few(9_000, 130)
        for name in ("steps", "ranges"):
            nothing = segment_of(matrix)
            lying = segment_of(matrix, **{name: np.full_like(getattr(nothing.frame, name), np.nan)})
            assert len(comparing.nearest(lying, matrix[0], (0, 9_000), Looked(1_000, 2, 2))().memories) <= 2

    def test_vectors_that_do_not_fit_what_they_are_coded_into(self) -> None:
        matrix = along_few(200, 130)
        frame = framed(matrix)
        plain = codes.code(matrix, Frame.plain(frame.centre))._asdict()
        coded = codes.code(matrix, frame)._asdict()
        with pytest.raises(IndexError):
            codes.put(plain, np.arange(200), matrix, frame)
        with pytest.raises(IndexError):
            codes.put(coded, np.arange(200), matrix, Frame.plain(frame.centre))
        fewer = frame._replace(directions=frame.directions[:-8], steps=frame.steps[:-8])
        with pytest.raises(IndexError):
            codes.put(coded, np.arange(200), matrix, fewer)
