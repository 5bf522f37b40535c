"""Records are frozen dataclasses with slots in everything that can be seen of them."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
import typing
from dataclasses import KW_ONLY, FrozenInstanceError, asdict, dataclass, field, fields, replace

import pytest

from recollect import types
from recollect.frozen import maker, record

Leg = types.Leg


@record
class Trip:
    """Somewhere, some time."""

    to: str
    days: int = 3
    stops: list[str] = field(default_factory=list)
    _: KW_ONLY
    secret: str = field(default="none", repr=False, compare=False)

    @property
    def nights(self) -> int:
        return self.days - 1


@dataclass(frozen=True, slots=True)
class Usual:
    """Somewhere, some time."""

    to: str
    days: int = 3
    stops: list[str] = field(default_factory=list)
    _: KW_ONLY
    secret: str = field(default="none", repr=False, compare=False)


def test_it_is_made_and_shown_as_a_dataclass_is() -> None:
    trip = Trip("Rome", stops=["Pisa"], secret="s")
    assert (trip.to, trip.days, trip.stops, trip.secret, trip.nights) == ("Rome", 3, ["Pisa"], "s", 2)
    assert repr(trip) == "Trip(to='Rome', days=3, stops=['Pisa'])"
    assert str(inspect.signature(Trip)) == str(inspect.signature(Usual))
    assert typing.get_type_hints(Trip.__init__) == typing.get_type_hints(Usual.__init__)
    assert [each.name for each in fields(Trip)] == [each.name for each in fields(Usual)]
    assert Trip.__match_args__ == Usual.__match_args__
    assert Trip.__slots__ == Usual.__slots__  # type: ignore[attr-defined]
    assert Trip.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert Trip("a").stops is not Trip("a").stops


@pytest.mark.parametrize(("places", "named"), [((), {}), (("a", 1, [], "s"), {}), (("a",), {"nights": 2})])
def test_wrong_arguments_are_refused_in_the_same_words(places: typing.Any, named: typing.Any) -> None:
    with pytest.raises(TypeError) as refused:
        Trip(*places, **named)
    with pytest.raises(TypeError) as usual:
        Usual(*places, **named)
    assert str(refused.value) == str(usual.value).replace("Usual", "Trip")


def test_it_is_compared_by_what_counts() -> None:
    assert Trip("a", secret="s") == Trip("a", secret="t") != Trip("b")
    assert Trip("a").__eq__(Usual("a")) is NotImplemented
    assert len({Leg(1, 0.5), Leg(1, 0.5), Leg(2, 0.5)}) == 2
    with pytest.raises(TypeError):
        hash(Trip("a"))  # as the list in it


def test_it_can_not_be_changed() -> None:
    trip = Trip("a")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'to'"):
        trip.to = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'to'"):
        del trip.to
    assert not hasattr(trip, "__dict__")


def test_it_is_copied_replaced_and_pickled() -> None:
    trip = Trip("a", 4, ["b"], secret="s")
    for again in (copy.copy(trip), copy.deepcopy(trip), pickle.loads(pickle.dumps(trip))):
        assert asdict(again) == asdict(trip)
    assert replace(trip, to="c") == Trip("c", 4, ["b"])
    assert maker(Trip)("a", 4, ["b"], secret="s") == trip


def test_others_may_be_derived_from_it() -> None:
    @dataclass(frozen=True)
    class Longer(Trip):
        extra: int = 1

    class Own(Trip):
        def __init__(self, to: str) -> None:
            super().__init__(to, 1)

    assert Longer("a", extra=2) == Longer("a", extra=2) != Longer("a")
    assert Own("a").days == 1
    assert repr(Own("a")).endswith("Own(to='a', days=1, stops=[])")


def test_a_method_of_its_own_is_kept() -> None:
    @record
    class Shy:
        """Shows nothing."""

        name: str

        def __repr__(self) -> str:
            return "shy"

    assert repr(Shy("a")) == "shy"
    assert Shy("a") == Shy("a")


@pytest.mark.parametrize("first", ["repr(leg)", "leg == leg", "hash(leg)", "pickle.dumps(leg)", "copy(leg)"])
def test_whatever_is_asked_first_of_a_new_process(first: str) -> None:
    code = f"""
import pickle
from copy import copy
from recollect.types import Leg
leg = Leg(1, 0.5)
{first}
assert leg == Leg(1, 0.5) == pickle.loads(pickle.dumps(leg)) and hash(leg) == hash(Leg(1, 0.5))
assert repr(leg) == "Leg(rank=1, score=0.5, share=0.0)"
"""
    subprocess.run([sys.executable, "-c", code], check=True)
