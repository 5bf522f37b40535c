"""While many memories are written Python looks for garbage seldom, and afterwards as before."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest

import recollect
from recollect.collecting import SELDOM, seldom


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_it_is_seldom_until_the_last_has_left() -> None:
    gc.set_threshold(700, 10, 10)
    with seldom:
        with seldom:
            assert gc.get_threshold() == (SELDOM, 10, 10)
        assert gc.get_threshold() == (SELDOM, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("chosen", [(0, 10, 10), (SELDOM * 2, 5, 5)])
def test_who_wants_it_never_or_more_seldom_is_left_alone(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    with seldom:
        assert gc.get_threshold() == chosen
    assert gc.get_threshold() == chosen


def test_what_is_set_meanwhile_stays() -> None:
    with seldom:
        gc.set_threshold(900, 5, 5)
    assert gc.get_threshold() == (900, 5, 5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_begins_as_before() -> None:
    gc.set_threshold(700, 10, 10)
    with seldom:
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.get_threshold() == (700, 10, 10) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert gc.get_threshold() == (SELDOM, 10, 10)


def test_a_bulk_write_leaves_it_as_it_was() -> None:
    gc.set_threshold(700, 10, 10)
    met = set()

    def drafts() -> Iterator[str]:
        for number in range(2_000):
            met.add(gc.get_threshold()[0])
            yield f"memory number {number}"

    with recollect.open(":memory:", embedder="none") as memories:
        memories.remember_many(drafts())
        with pytest.raises(recollect.InvalidInput):
            memories.remember_many(["well", *[""] * 600])
    assert met == {SELDOM}
    assert gc.get_threshold() == (700, 10, 10)
