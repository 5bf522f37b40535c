"""Frozen objects by the dozen: a dataclass that is frozen takes five times as long to make as another."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import fields, make_dataclass
from functools import cache
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


def maker(kind: Callable[Given, Made]) -> Callable[Given, Made]:
    """What makes objects of a frozen dataclass with slots, from the same arguments, sooner.

    Each is filled while it still belongs to a twin of that class which is not frozen.

    >>> from recollect.types import Leg
    >>> maker(Leg)(1, 0.5) == Leg(1, 0.5)
    True
    """

    def make(*values: Given.args, **named: Given.kwargs) -> Made:
        made = _twin(kind)(*values, **named)
        made.__class__ = kind
        return made  # type: ignore[no-any-return]

    return make


def fill(made: object, **values: Any) -> None:
    """Set fields of a frozen object that nobody else has yet."""
    for name, value in values.items():
        object.__setattr__(made, name, value)


@cache
def _twin(kind: Any) -> Any:
    given = [(each.name, each.type, copy(each)) for each in fields(kind)]
    return make_dataclass(kind.__name__, given, repr=False, eq=False, slots=True)
