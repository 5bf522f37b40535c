"""The next thing is prepared while the last one is worked on; what has begun is waited for."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from recollect.overlapping import overlapped


def test_results_come_in_order() -> None:
    assert list(overlapped(str, range(5))) == ["0", "1", "2", "3", "4"]
    assert list(overlapped(str, [])) == []


def test_the_next_is_prepared_while_the_last_is_worked_on() -> None:
    prepared = threading.Event()

    def items() -> Iterator[str]:
        yield "first"
        prepared.set()
        yield "second"

    def work(item: str) -> bool:
        return prepared.wait(10)

    assert list(overlapped(work, items())) == [True, True]


def test_what_has_begun_is_done_when_the_next_can_t_be_prepared() -> None:
    done: list[int] = []

    def items() -> Iterator[int]:
        yield 1
        raise LookupError("no second")

    with pytest.raises(LookupError, match="no second"):
        list(overlapped(done.append, items()))
    assert done == [1]


def test_a_fault_of_the_work_is_raised_and_nothing_more_begun() -> None:
    begun: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        if item == 1:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        list(overlapped(work, range(5)))
    assert begun == [0, 1]


def test_whoever_stops_listening_waits_for_what_has_begun() -> None:
    go_on = threading.Event()
    done: list[int] = []

    def work(item: int) -> None:
        go_on.wait(0.05)
        done.append(item)

    results = overlapped(work, iter(range(5)))
    next(results)
    results.close()
    assert done == [0, 1]


def test_the_work_s_error_comes_before_that_of_preparing_the_next() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise LookupError("no second")

    def work(item: int) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        list(overlapped(work, items()))


WAITING = """
import os, signal, sys, threading, time
from recollect.overlapping import overlapped

done = []

def items():
    yield 1
    if sys.argv[1] == "preparing":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    yield 2

def work(item):
    if sys.argv[1] == "waiting":
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.3)
    done.append(item)
    if sys.argv[2] == "fails":
        raise OSError("disk full")

try:
    list(overlapped(work, items()))
except BaseException as error:
    print(type(error).__name__, done, threading.active_count())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("where", ["preparing", "waiting"])
@pytest.mark.parametrize("end", ["well", "fails"])
def test_an_interrupt_stays_one_and_what_has_begun_is_waited_for(where: str, end: str) -> None:
    said = subprocess.run(
        [sys.executable, "-c", WAITING, where, end], capture_output=True, text=True, check=True, timeout=50
    )
    assert said.stdout.startswith("KeyboardInterrupt [1]"), said


@pytest.mark.parametrize("has_begun", [False, True])
def test_an_interrupt_while_a_thread_is_started_waits_for_what_has_begun_alone(
    monkeypatch: pytest.MonkeyPatch, has_begun: bool
) -> None:
    start = threading.Thread.start
    begun = threading.Event()
    done: list[int] = []

    def interrupted(self: threading.Thread) -> None:
        if has_begun:
            start(self)
            assert begun.wait(60)
        raise KeyboardInterrupt

    def work(item: int) -> None:
        begun.set()
        time.sleep(0.05)
        done.append(item)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(overlapped(work, [1, 2]))
    assert done == [1] * has_begun


def test_where_no_thread_can_be_had_it_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert list(overlapped(str, range(3))) == ["0", "1", "2"]
