"""Frozen dataclasses that cost next to nothing until they are used, and objects of them by the dozen.

The standard library writes and compiles six functions for each such class when its module is imported: most
of a millisecond, and a search imports some sixty of them. Here a class gets the one that fills its objects
when the first of them is made, and all the others, from the standard library, when somebody asks for one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, MISSING, Field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")

_written: dict[type, type] = {}
"""Each class as it was written, with the defaults of its fields."""


def _dataclass(*, frozen: bool = False, slots: bool = False) -> Callable[[type[Made]], type[Made]]:
    """The standard library's, and for a frozen class that inherits no fields the same, put off.

    >>> @dataclass(frozen=True, slots=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1)
    Point(x=1, y=0)
    """
    if not frozen:
        return dataclasses.dataclass(slots=slots)
    return partial(_put_off, slots=slots)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass


class _Awaited:
    """Stands where a class will have something, until that is asked for."""

    def __init__(self, name: str, make: Callable[[type], None]) -> None:
        self._name = name
        self._make = make

    def __get__(self, instance: object, kind: type) -> Any:
        for owner in kind.__mro__:
            if owner.__dict__.get(self._name) is self:
                self._make(owner)
        return getattr(kind if instance is None else instance, self._name)


def _put_off(written: type[Made], slots: bool) -> type[Made]:
    inside = _copied(written)
    if slots:
        names = tuple(name for name, _ in _fields(written) if name)
        inside = {name: value for name, value in inside.items() if name not in names} | {"__slots__": names}
    made: type[Made] = type(written.__name__, written.__bases__, _AWAITED | inside)
    made.__qualname__ = written.__qualname__
    _written[made] = written
    return made


def _complete(kind: type) -> None:
    """Give a class all that the standard library would have given it; twice does no harm."""
    written = _written[kind]
    same = type(written.__name__, written.__bases__, _copied(written))
    same.__qualname__ = written.__qualname__
    made = dataclasses.dataclass(frozen=True, slots="__slots__" in kind.__dict__)(same).__dict__
    for name in _AWAITED:
        if name in made:
            setattr(kind, name, made[name])
        else:
            with suppress(AttributeError):  # another thread was first
                delattr(kind, name)


def _copied(written: type) -> dict[str, Any]:
    """What stands in a class, for another like it."""
    return {
        name: value for name, value in written.__dict__.items() if name not in ("__dict__", "__weakref__")
    }


def _initialise(kind: type) -> None:
    """Give a class its `__init__`, which goes round what keeps objects of it as they are."""
    made: Any = kind
    made.__init__ = _of_fields(_written[kind], "__init__", "self", "_set(self, '{}', {})")


_AWAITED = {"__init__": _Awaited("__init__", _initialise)} | {
    name: _Awaited(name, _complete)
    for name in (
        "__dataclass_fields__", "__dataclass_params__", "__match_args__", "__signature__", "__replace__",
        "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__getstate__", "__setstate__",
    )
}  # fmt: skip


def _fields(written: type) -> Iterator[tuple[str, Any]]:
    """The name and the default of each field, or MISSING; an empty name before those that must be named."""
    for name, kind in written.__annotations__.items():
        if kind in ("KW_ONLY", KW_ONLY):
            yield "", MISSING
        else:
            yield name, written.__dict__.get(name, MISSING)


def _of_fields(
    written: type,
    name: str,
    first: str,
    line: str,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    **known: Any,
) -> Callable[..., Any]:
    """A function of the fields of a class, and of a first argument, if that has a name.

    It does as a line says with the name and the value of each field, and what is said before and after.
    """
    known |= {"_set": object.__setattr__}
    taken, lines = [first] if first else [], []
    for field, default in _fields(written):
        value = field
        if isinstance(default, Field):
            known[f"_make_{field}"] = default.default_factory
            value = f"_make_{field}() if {field} is _default_{field} else {field}"
        if default is not MISSING:
            known[f"_default_{field}"] = default
        taken.append("*" if not field else field if default is MISSING else f"{field}=_default_{field}")
        if field:
            lines.append(line.format(field, value))
    return _function(written, name, taken, [*before, *lines, *after] or ["pass"], known)


def _function(
    written: type, name: str, taken: Sequence[str], lines: Sequence[str], known: dict[str, Any]
) -> Callable[..., Any]:
    """A function of a class, from what it takes, its lines, and what they may speak of."""
    body = "\n ".join(lines)
    exec(f"def {name}({', '.join(taken)}):\n {body}", known)
    made = known[name]
    made.__qualname__ = f"{written.__qualname__}.{name}"
    made.__module__ = written.__module__
    return made  # type: ignore[no-any-return]


_MAKING = ["_made = _new(_twin)"], ["_made.__class__ = _kind", "return _made"]
"""The first line and the last ones of what makes an object."""


def _parts(kind: Any) -> dict[str, Any]:
    """What these lines speak of: an object is filled while it belongs to a twin that is not frozen."""
    twin = type(kind.__name__, kind.__bases__, {"__slots__": kind.__slots__})
    return {"_new": object.__new__, "_twin": twin, "_kind": kind}


def _maker(kind: Callable[Given, Made]) -> Callable[Given, Made]:
    """What makes objects of such a class from the same arguments, five times as fast.

    It is made when it is first asked for, and kept.

    >>> from recollect.types import Leg
    >>> maker(Leg)(1, 0.5) == Leg(1, 0.5)
    True
    """
    known: Any = kind
    before, after = _MAKING
    return _of_fields(_written[known], "made", "", "_made.{} = {}", before, after, **_parts(kind))


if TYPE_CHECKING:
    maker = _maker
else:
    maker = cache(_maker)


class Later:
    """Of such a class an object can be had before what is in it, which is put together when it is asked for.

    >>> from recollect.types import Why
    >>> Why.later(lambda: Why("hybrid", "mix", None, None, 0.5)).base
    0.5
    """

    __slots__ = ("_awaited",)

    @classmethod
    def later(cls, make: Callable[[], Self]) -> Self:
        """An object that is as the one will be that `make` gives when this one is first looked at."""
        made = object.__new__(cls)
        object.__setattr__(made, "_awaited", make)
        return made

    def __getattr__(self, name: str) -> Any:
        """Of a field that nobody has filled yet."""
        kind: Any = type(self)
        if name not in kind.__slots__:
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        made = self._awaited()
        given: Any = type(made)
        _filling(kind, given)(self, made)
        return getattr(made, name)


@cache
def _filling(kind: Any, given: Any) -> Callable[[Later, object], None]:
    """What takes over the fields of a frozen class that an object of another class has, or of the same."""
    shared = [name for name in kind.__slots__ if hasattr(given, name)]
    known = {f"_set_{name}": kind.__dict__[name].__set__ for name in shared}
    lines = [f"_set_{name}(_made, _given.{name})" for name in shared]
    return _function(_written[kind], "fill", ["_made", "_given"], lines, known)


def beginning(kind: type[Made], *fields: str) -> Callable[..., Made]:
    """What makes objects of a class that is `Later` from some of its fields, by place, and then what gives
    an object that has all others, when one of those is first looked at.

    >>> from recollect.types import Why
    >>> begin = beginning(Why, "mode", "base")
    >>> begin("hybrid", 0.5, lambda: Why("hybrid", "mix", None, None, 0.5)).fusion
    'mix'
    """
    taken = [*fields, "_awaited"]
    before, after = _MAKING
    lines = [*before, *(f"_made.{name} = {name}" for name in taken), *after]
    return _function(_written[kind], "begun", taken, lines, _parts(kind))


def fill(made: object, **values: Any) -> None:
    """Set fields of a frozen object that nobody else has yet."""
    for name, value in values.items():
        object.__setattr__(made, name, value)
