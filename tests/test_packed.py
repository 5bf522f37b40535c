"""Candidates that are numbers until they are looked at are a list like any other."""

from __future__ import annotations

import pytest

from recollect.store.base import Candidate
from recollect.store.packed import LARGEST, Packed, Packing, Scored, Similarities, numbers_of, speakers_of

THREE = [
    Candidate(7, 2.5, 3, 0, "Ann", 12, 1_000),
    Candidate(9, 1.5, None, None, None, 0, -5),
    Candidate(2**40, 0.0, 2**40, 2**30, "Bob", 2**30, 2**60),
]
"""As one backend has them; another one's keys are pairs."""


@pytest.fixture
def packed() -> Packed:
    packing = Packing()
    rows = packing.rows([each._replace(session=None) for each in THREE])
    return Packed(rows, packing.names)


def test_it_has_the_candidates_in_their_order(packed: Packed) -> None:
    expected = [each._replace(key=at, session=None) for at, each in enumerate(THREE)]
    assert list(packed) == expected
    assert packed == expected
    assert [packed[at] for at in range(-3, 3)] == expected * 2
    assert (packed[:2], packed[1:], packed[::2]) == (expected[:2], expected[1:], expected[::2])
    assert repr(packed) == repr(expected)
    assert packed != [*expected, expected[0]]
    for beyond in (3, -4):
        with pytest.raises(IndexError):
            packed[beyond]


def test_it_tells_keys_and_speakers_without_making_candidates(packed: Packed) -> None:
    assert packed.keys() == [0, 1, 2] == _apart(*numbers_of(packed))
    assert speakers_of(packed) == {"Ann", "Bob"} == speakers_of(THREE)
    assert _apart(*numbers_of(THREE)) == [7, 9, 2**40]
    assert speakers_of(Packed(packed[1:2].rows, packed.names)) == set()  # type: ignore[attr-defined]
    assert speakers_of(Packed(b"", ())) == set()


def _apart(numbers: bytes, apart: int) -> list[int]:
    """What stands in the eight bytes at the beginning of each so many."""
    return memoryview(numbers).cast("q")[:: apart // 8].tolist()


def test_who_scores_what_is_told_in_the_order_in_which_it_was_given() -> None:
    scored = Scored.of([7, -4, 2**40], [0.5, 1.5, -2.0])
    assert (len(scored), scored.numbers(), scored.scores()) == (3, [7, -4, 2**40], [0.5, 1.5, -2.0])
    assert scored[:2] == Scored.of([7, -4], [0.5, 1.5])
    assert scored[2:].numbers() == [2**40]
    assert len(Scored()) == 0
    assert scored != Scored.of([7], [0.5])


def test_how_near_memories_are_is_a_mapping_like_any_other() -> None:
    near = Similarities(Scored.of([7, 4], [0.5, 0.25]))
    assert {**near} == dict(near.items()) == {7: 0.5, 4: 0.25} == near
    assert (len(near), 9 in near, near.get(9)) == (2, False, None)
    assert repr(near) == "{7: 0.5, 4: 0.25}"
    with pytest.raises(KeyError):
        near[9]


def test_keys_and_sessions_of_any_kind_are_numbered_alike() -> None:
    packing = Packing()
    numbers = (7, 9, 2**40)
    pairs = [
        each._replace(key=("here", number), session=("here", 1))
        for each, number in zip(THREE, numbers, strict=True)
    ]
    first, second = (Packed(packing.rows(each), packing.names) for each in (pairs, list(reversed(pairs))))
    assert [each.key for each in first] == [0, 1, 2]
    assert [each.key for each in second] == [2, 1, 0]
    assert {each.session for each in (*first, *second)} == {1}
    assert packing.key(("here", 9)) == 1


def test_a_place_or_a_length_that_is_too_large_is_the_largest() -> None:
    """A backup may say anything up to 2**53."""
    packing = Packing()
    huge = THREE[0]._replace(position=2**53, tokens=2**53)
    (found,) = Packed(packing.rows([huge]), packing.names)
    assert (found.position, found.tokens) == (LARGEST, LARGEST)
