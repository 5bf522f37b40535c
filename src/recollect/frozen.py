"""Frozen objects: classes of them that cost next to nothing to import, and many of them made at once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields, make_dataclass
from functools import cache
from typing import Any, ParamSpec, TypeVar, dataclass_transform

Given = ParamSpec("Given")
Made = TypeVar("Made")

_WRITTEN_LATER = (
    "__init__",
    "__repr__",
    "__eq__",
    "__hash__",
    "__setattr__",
    "__delattr__",
    "__getstate__",
    "__setstate__",
    "__dataclass_params__",
)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[Made]) -> type[Made]:
    """A frozen dataclass with slots, as `dataclass(frozen=True, slots=True)` makes it, but sooner.

    A process that asks one question would spend a quarter of its time on writing methods of dataclasses, most
    of which it never calls. Here they are written when they are first looked for. A class of this kind has a
    docstring, and its `__init__` is no other than that of its fields.

    >>> @record
    ... class Point:
    ...     "A place."
    ...     x: float
    ...     y: float = 0.0
    >>> Point(1.5), Point(1) == Point(1, 0)
    (Point(x=1.5, y=0.0), True)
    """
    own = set(vars(kind))
    made = dataclass(init=False, repr=False, eq=False, slots=True)(kind)
    for name in _WRITTEN_LATER:
        if name not in own:
            setattr(made, name, _Unwritten(made, name))
    return made


class _Unwritten:
    """Stands where a class has something that is to be written, until it is looked for."""

    def __init__(self, kind: type, name: str) -> None:
        self.kind = kind
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        if self.name == "__init__":
            self.kind.__init__ = _initialiser(self.kind)  # type: ignore[misc]
        else:
            self._write_the_rest()
        written = vars(self.kind)[self.name]
        return written.__get__(instance, owner) if hasattr(written, "__get__") else written

    def _write_the_rest(self) -> None:
        written = vars(_twin(self.kind, frozen=True))
        for name, value in [*vars(self.kind).items()]:
            if isinstance(value, _Unwritten) and name != "__init__":
                setattr(self.kind, name, written[name])


class _Factory:
    """What a parameter is, by default, whose default is to be made."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _initialiser(kind: Any) -> Callable[..., None]:
    """`__init__`, which fills the slots themselves: in half the time that it takes past a frozen class."""
    given = fields(kind)
    kept: dict[str, Any] = {"_factory": _FACTORY}
    for each in given:
        kept[f"_set_{each.name}"] = vars(kind)[each.name].__set__
        kept[f"_default_{each.name}"] = each.default
        kept[f"_make_{each.name}"] = each.default_factory
    body = "\n".join(f"  _set_{each.name}(self, {_value(each)})" for each in given)
    places = [_parameter(each) for each in given if not each.kw_only]
    named = [_parameter(each) for each in given if each.kw_only]
    parameters = ", ".join(("self", *places, *(("*", *named) if named else ())))
    source = f"def _write({', '.join(kept)}):\n def __init__({parameters}):\n{body}\n return __init__"
    written: dict[str, Any] = {}
    exec(source, vars(sys.modules[kind.__module__]), written)
    made: Callable[..., None] = written["_write"](**kept)
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    made.__annotations__ = {each.name: each.type for each in given} | {"return": None}
    return made


def _parameter(each: Field[Any]) -> str:
    if each.default is not MISSING:
        return f"{each.name}=_default_{each.name}"
    return each.name if each.default_factory is MISSING else f"{each.name}=_factory"


def _value(each: Field[Any]) -> str:
    name = each.name
    return name if each.default_factory is MISSING else f"_make_{name}() if {name} is _factory else {name}"


def maker(kind: Callable[Given, Made]) -> Callable[Given, Made]:
    """What makes objects of a frozen dataclass with slots, from the same arguments, sooner still.

    Each is filled while it still belongs to a twin of that class which is not frozen.

    >>> from recollect.types import Leg
    >>> maker(Leg)(1, 0.5) == Leg(1, 0.5)
    True
    """

    def make(*values: Given.args, **named: Given.kwargs) -> Made:
        made = _open_twin(kind)(*values, **named)
        made.__class__ = kind
        return made  # type: ignore[no-any-return]

    return make


@cache
def _open_twin(kind: Any) -> Any:
    return _twin(kind, repr=False, eq=False)


def _twin(kind: Any, **how: Any) -> Any:
    """A dataclass with the same fields."""
    given = [(each.name, each.type, copy(each)) for each in fields(kind)]
    where = {"__module__": kind.__module__}
    return make_dataclass(kind.__name__, given, namespace=where, slots=True, **how)
