"""Dataclasses that are made when they are used are no other than those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import KW_ONLY, FrozenInstanceError, field
from functools import cached_property, partial
from typing import Any

import pytest

from recollect import config, types
from recollect.embed import settings
from recollect.frozen import beginning, dataclass, maker
from recollect.lazy import lazy
from recollect.query import calendar, terms
from recollect.store import base
from recollect.types import Leg, Why

OURS = [
    kind
    for module in (types, base, settings, terms, calendar, config)
    for kind in vars(module).values()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
]


@dataclass(frozen=True, slots=True)
class Stone:
    """A stone."""

    name: str
    weight: float = 1.0
    _: KW_ONLY
    marks: list[str] = field(default_factory=list)

    @property
    def is_heavy(self) -> bool:
        return self.weight > 10


@dataclass(frozen=True)
class Measured:
    length: int

    @cached_property
    def square(self) -> int:
        return self.length**2


def standard(kind: type) -> type:
    """The same class as the standard library makes it."""

    class Written:
        name: str
        weight: float = 1.0
        _: KW_ONLY
        marks: list[str] = field(default_factory=list)

    Written.__qualname__ = Written.__name__ = kind.__name__
    return dataclasses.dataclass(frozen=True, slots=True)(Written)


def test_objects_are_filled_from_places_names_and_defaults() -> None:
    stone = Stone("flint", marks=["a"])
    assert (stone.name, stone.weight, stone.marks) == ("flint", 1.0, ["a"])
    assert Stone("a").marks == [] and Stone("a").marks is not Stone("a").marks
    assert Stone(weight=11, name="granite").is_heavy


@pytest.mark.parametrize("given", [(), ("a", 1.0, []), ("a", 1.0, [], 2)])
def test_what_is_too_little_or_too_much_is_refused_in_the_same_words(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError) as ours:
        Stone(*given)
    with pytest.raises(TypeError) as theirs:
        standard(Stone)(*given)
    assert str(ours.value) == str(theirs.value)


def test_objects_stay_as_they_are() -> None:
    for stone in (Stone("flint"), maker(Stone)("flint")):
        with pytest.raises(FrozenInstanceError):
            stone.name = "chalk"  # type: ignore[misc]
        with pytest.raises(FrozenInstanceError):
            del stone.name
        assert not hasattr(stone, "__dict__")


def test_equal_objects_are_equal_and_look_alike() -> None:
    assert Leg(1, 0.5) == Leg(1, 0.5) != Leg(2, 0.5)
    assert {Leg(1, 0.5), Leg(1, 0.5)} == {Leg(1, 0.5)}
    assert repr(Stone("flint")) == "Stone(name='flint', weight=1.0, marks=[])"


def test_copies_and_pickles_are_equal() -> None:
    stone = Stone("flint", marks=["a"])
    assert copy.deepcopy(stone) == stone == pickle.loads(pickle.dumps(stone))
    assert dataclasses.replace(stone, name="chalk") == Stone("chalk", marks=["a"])


def test_a_pickle_is_read_by_a_process_that_made_no_such_object() -> None:
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer))"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(Leg(1, 0.5)), capture_output=True)
    assert done.stdout.decode().strip() == repr(Leg(1, 0.5))


def test_without_slots_there_is_room_for_what_is_computed_once() -> None:
    measured = Measured(3)
    assert measured.square == measured.square == 9
    assert measured == Measured(3)
    with pytest.raises(FrozenInstanceError):
        measured.length = 4  # type: ignore[misc]


def asked_for_fields(kind: Any) -> object:
    return [each.name for each in dataclasses.fields(kind)]


def asked_for_its_signature(kind: Any) -> object:
    return list(inspect.signature(kind).parameters)


def matched(kind: Any) -> object:
    match kind("flint"):
        case kind(name):
            return name
    return None


def subclassed(kind: Any) -> object:
    below = dataclasses.make_dataclass("Below", [("age", int, 0)], bases=(kind,), frozen=True)
    return repr(below("flint", 2.0, 3)), [each.name for each in dataclasses.fields(below)]


@pytest.mark.parametrize(
    "asked", [asked_for_fields, asked_for_its_signature, matched, subclassed, dataclasses.is_dataclass]
)
def test_whatever_a_class_is_asked_for_first(asked: Callable[[Any], object]) -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        name: str
        weight: float = 1.0
        _: KW_ONLY
        marks: list[str] = field(default_factory=list)

    assert asked(Fresh) == asked(standard(Fresh))


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_every_class_has_a_slot_for_each_field_and_says_what_it_is(kind: Any) -> None:
    names = [each.name for each in dataclasses.fields(kind)]
    assert not hasattr(kind, "__slots__") or [*kind.__slots__] == names
    assert list(inspect.signature(kind).parameters) == names
    assert kind.__doc__ and kind.__qualname__ == kind.__name__


WHY = Why("hybrid", "mix", Leg(1, 2.5, 0.4), None, 0.4, notes=("so",))


@pytest.mark.parametrize("begin", [Why.later, partial(beginning(Why, "mode", "base"), "hybrid", 0.4)])
@pytest.mark.parametrize(
    "look",
    [
        repr, hash, dataclasses.asdict, copy.copy, copy.deepcopy, lambda why: pickle.loads(pickle.dumps(why)),
        lambda why: why == WHY, lambda why: [WHY].index(why), lambda why: dataclasses.replace(why, base=0.5),
        lambda why: (why.base, why.keyword), lambda why: getattr(why, "nothing", None),
    ],
)  # fmt: skip
def test_what_is_put_together_later_is_no_other(
    look: Callable[[Why], object], begin: Callable[[Callable[[], Why]], Why]
) -> None:
    made: list[Why] = []

    def make() -> Why:
        made.append(WHY)
        return WHY

    later = begin(make)
    assert isinstance(later, Why)
    assert made == []
    assert look(later) == look(WHY)
    assert look(later) == look(WHY)
    assert len(made) <= 1
    with pytest.raises(FrozenInstanceError):
        later.base = 1.0  # type: ignore[misc]
    with pytest.raises(AttributeError, match="'Why' object has no attribute 'nothing'"):
        later.nothing  # noqa: B018


def test_what_is_known_from_the_beginning_is_not_waited_for() -> None:
    begun = beginning(Why, "mode", "base")("hybrid", 0.4, lambda: pytest.fail("nobody asked for more"))
    assert (begun.mode, begun.base) == ("hybrid", 0.4)


def test_what_is_worked_out_once_is_kept_and_says_what_it_is() -> None:
    class Spoon:
        made = 0

        @lazy
        def length(self) -> int:
            """How long it is."""
            self.made += 1
            return 7

    spoon, other = Spoon(), Spoon()
    assert (spoon.length, spoon.length, spoon.made) == (7, 7, 1)
    assert other.made == 0
    assert vars(Spoon)["length"] is Spoon.length
    assert Spoon.length.__doc__ == "How long it is."
